"""MiniLM on texts: 384 numbers of length one; texts that mean alike point alike.

Conventions: a text is cut after 256 tokens, as the model was published; the dot product of two rows is their likeness.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.predict.models.convert.minilm import WIDTH
from heartfelt.predict.models.loading import load_model
from heartfelt.predict.models.session import Model
from heartfelt.predict.models.wordpiece import WordPieces

Array = npt.NDArray[np.float32]

LONGEST = 256
_BATCH = 32


def embed(texts: Sequence[str], *, model: str | Model = "minilm") -> Array:
    """One row of 384 per text."""
    if isinstance(texts, str):
        raise InputError("One text was given where several are expected.", "Pass a list of texts.")
    loaded = load_model(model) if isinstance(model, str) else model
    pieces = word_pieces(loaded)
    tokens = [pieces.tokens(text, LONGEST) for text in texts]
    out = np.empty((len(tokens), WIDTH), dtype=np.float32)
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
        out[chosen] = loaded.run({"tokens": numbers, "mask": mask})["embedding"]
    return out


@lru_cache(maxsize=4)
def word_pieces(model: Model) -> WordPieces:
    """The model's tokenizer."""
    return WordPieces(model.content("vocab.txt").decode("utf-8"))
