"""Texts: how close captions are to what raters wrote, and how rich their words are.

The words of a text are in lower case, without punctuation. BLEU, ROUGE-L and CIDEr-D follow the definitions
of the COCO caption evaluation, on these words. METEOR and SPICE need external word lists and a parser and are not included.
"""

from heartfelt.stats.text.captions import bleu, bleu_counts, bleu_value, cider, rouge_l
from heartfelt.stats.text.corpus import Corpus, corpus, words
from heartfelt.stats.text.lexical import Lexical, distinct, lexical, mtld

__all__ = [
    "Corpus",
    "Lexical",
    "bleu",
    "bleu_counts",
    "bleu_value",
    "cider",
    "corpus",
    "distinct",
    "lexical",
    "mtld",
    "rouge_l",
    "words",
]
