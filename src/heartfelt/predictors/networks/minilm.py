"""MiniLM on texts: 384 numbers of length one; texts that mean alike point alike.

Conventions: a text is cut after 256 tokens, as the model was published; the dot product of two rows is their likeness.

``bert_score`` is the BERTScore of Zhang et al. (2020) on this model's last layer, without idf weights or rescaling: every
token takes its most alike token of the other text, precision is the mean over the candidate's tokens, recall over the
reference's, and their F1 with the best reference is the score. Values of other models are not comparable.

Tokens are BERT's: clean the text, lower-case it, drop accents, split at spaces and punctuation, then take the longest pieces
the vocabulary has. Source: J. Devlin et al., BERT (2019), and its ``tokenization.py``; the tests compare with the
``tokenizers`` library, which would be a large dependency for this one use.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from string import punctuation

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError, InputError
from heartfelt.predictors.networks.fixed_inputs import TEXTS, Tensors
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

Array = npt.NDArray[np.float32]

WIDTH = 384
LONGEST = 256
_BATCH = 32
_LONGEST_WORD = 100


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
    texts = list(dict.fromkeys([*candidates, *(text for several in references for text in several)]))
    vectors: dict[str, Array] = {}
    for chosen, lengths, rows in _batches(texts, model, "token_vectors"):
        for index, length, row in zip(chosen, lengths, rows, strict=True):
            # Without the marks at both ends, which every text has.
            vectors[texts[index]] = row[1 : length - 1].copy()
    return matched_f1(candidates, references, vectors)


def matched_f1(
    candidates: Sequence[str], references: Sequence[Sequence[str]], vectors: Mapping[str, Array]
) -> npt.NDArray[np.float64]:
    """BERTScore's F1 of each candidate with its best reference, from the token vectors (of length one) of every text."""
    out = np.zeros(len(candidates))
    for index, several in enumerate(references):
        candidate = vectors[candidates[index]]
        for theirs in (vectors[text] for text in several):
            if not len(candidate) or not len(theirs):
                continue
            alike = candidate @ theirs.T
            precision, recall = float(alike.max(axis=1).mean()), float(alike.max(axis=0).mean())
            if precision + recall > 0:
                out[index] = max(out[index], 2 * precision * recall / (precision + recall))
    return out


def _batches(texts: Sequence[str], model: str | Model, wanted: str) -> Iterator[tuple[list[int], list[int], Array]]:
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
        output = loaded.run({"tokens": numbers, "mask": mask}, [wanted])[wanted]
        yield chosen, [len(tokens[i]) for i in chosen], output


@lru_cache(maxsize=4)
def word_pieces(model: Model) -> WordPieces:
    return WordPieces(model.content("vocab.txt").decode("utf-8"))


class WordPieces:
    """A vocabulary, and the cutting of texts by it."""

    def __init__(self, vocabulary: str) -> None:
        self.vocabulary = {piece: number for number, piece in enumerate(vocabulary.split("\n"))}
        try:
            self._unknown, self._first, self._last = (self.vocabulary[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        except KeyError as error:
            raise DamagedError(f"The vocabulary has no {error}.", "Pull the model again.") from error

    def tokens(self, text: str, most: int) -> list[int]:
        """The text's token numbers between the two marks, ``most`` of them at most."""
        out = [self._first]
        for word in _words(text):
            out += self._pieces(word)
            if len(out) >= most:
                break
        return [*out[: most - 1], self._last]

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        out: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in self.vocabulary), None)
            if end is None:
                return [self._unknown]
            out.append(self.vocabulary[mark + word[start:end]])
            start = end
        return out


def _words(text: str) -> Iterator[str]:
    characters = (f" {c} " if c in punctuation or unicodedata.category(c)[0] == "P" else c for c in _normal(text))
    yield from "".join(characters).split()


def _normal(text: str) -> str:
    clean = []
    for character in text:
        code = ord(character)
        if code in (0, 0xFFFD) or (character not in "\t\n\r" and unicodedata.category(character)[0] == "C"):
            continue
        clean.append(f" {character} " if _is_chinese(code) else " " if character.isspace() else character)
    parts = unicodedata.normalize("NFD", "".join(clean))
    # Letter by letter: a text's own lower() would end Greek words with another sigma than the vocabulary's.
    return "".join(c.lower() for c in parts if unicodedata.category(c) != "Mn")


_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def _is_chinese(code: int) -> bool:
    return code >= 0x3400 and any(low <= code <= high for low, high in _CHINESE)


def reference_answers(model: Model) -> Tensors:
    return {"texts": embed(TEXTS, model=model)}
