"""MiniLM on texts: 384 numbers of length one; texts that mean alike point alike.

Conventions: a text is cut after 256 tokens, as the model was published; the dot product of two rows is their likeness.

``bert_score`` is the BERTScore of Zhang et al. (2020) on this model's last layer, without idf weights or rescaling: every
token takes its most alike token of the other text, precision is the mean over the candidate's tokens, recall over the
reference's, and their F1 with the best reference is the score. Values of other models are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.models.convert.minilm import WIDTH
from heartfelt.models.loading import load_model
from heartfelt.models.session import Model
from heartfelt.models.wordpiece import WordPieces

Array = npt.NDArray[np.float32]

LONGEST = 256
_BATCH = 32


def embed(texts: Sequence[str], *, model: str | Model = "minilm") -> Array:
    """One row of 384 per text."""
    if isinstance(texts, str):
        raise InputError("One text was given where several are expected.", "Pass a list of texts.")
    out = np.empty((len(texts), WIDTH), dtype=np.float32)
    for chosen, _, rows in _batches(texts, model, "embedding"):
        out[chosen] = rows
    return out


def bert_score(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, model: str | Model = "minilm"
) -> npt.NDArray[np.float64]:
    """The BERTScore F1 of each candidate with its best reference; 0 where either has no words."""
    pairs = [(place, one) for place, several in enumerate(references) for one in several]
    texts = list(dict.fromkeys([*candidates, *(one for _, one in pairs)]))
    vectors: dict[str, Array] = {}
    for chosen, lengths, rows in _batches(texts, model, "token_vectors"):
        for place, length, row in zip(chosen, lengths, rows, strict=True):
            # Without the marks at both ends, which every text has.
            vectors[texts[place]] = row[1 : length - 1].copy()
    out = np.zeros(len(candidates))
    for place, reference in pairs:
        mine, theirs = vectors[candidates[place]], vectors[reference]
        if len(mine) and len(theirs):
            alike = mine @ theirs.T
            precision, recall = float(alike.max(axis=1).mean()), float(alike.max(axis=0).mean())
            if precision + recall > 0:
                out[place] = max(out[place], 2 * precision * recall / (precision + recall))
    return out


def _batches(
    texts: Sequence[str], model: str | Model, wanted: str
) -> Iterator[tuple[list[int], list[int], Array]]:
    """The places of some texts, their lengths in tokens, and what the model says of them."""
    loaded = load_model(model) if isinstance(model, str) else model
    pieces = word_pieces(loaded)
    tokens = [pieces.tokens(text, LONGEST) for text in texts]
    # Texts of like length go together, so that little is filled up.
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        length = max(len(tokens[i]) for i in chosen)
        numbers = np.zeros((len(chosen), length), dtype=np.int64)
        mask = np.zeros((len(chosen), length), dtype=np.float32)
        for row, i in enumerate(chosen):
            numbers[row, : len(tokens[i])] = tokens[i]
            mask[row, : len(tokens[i])] = 1.0
        said = loaded.run({"tokens": numbers, "mask": mask}, [wanted])[wanted]
        yield chosen, [len(tokens[i]) for i in chosen], said


@lru_cache(maxsize=4)
def word_pieces(model: Model) -> WordPieces:
    """The model's tokenizer."""
    return WordPieces(model.content("vocab.txt").decode("utf-8"))
