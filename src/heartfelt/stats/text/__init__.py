"""Texts: how close captions are to what people wrote, and how rich their words are.

Words are what is left of a text in lower case when punctuation is gone. BLEU, ROUGE-L and CIDEr-D follow the definitions
of the COCO caption evaluation, on these words. METEOR and SPICE need word lists and a parser from elsewhere and are not
here.
"""

from heartfelt.stats.text.bleu import bleu, bleu_counts, bleu_value
from heartfelt.stats.text.cider import cider
from heartfelt.stats.text.corpus import Corpus, corpus, words
from heartfelt.stats.text.lexical import Lexical, distinct, lexical, mtld
from heartfelt.stats.text.rouge import rouge_l

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
