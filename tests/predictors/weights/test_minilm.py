"""Texts to tokens to vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripts.weights.readers import read_safetensors

from heartfelt.errors import DamagedError, InputError
from heartfelt.predictors.networks.minilm import LONGEST, WordPieces, bert_score, embed, word_pieces
from heartfelt.predictors.weights import MODELS
from heartfelt.predictors.weights.store import archive_of, read_members
from tests.predictors.weights.conftest import Pulled

pytestmark = pytest.mark.slow  # they load libraries that take seconds

TEXTS = [
    "A calm piano piece that slowly turns sad.",
    "",
    "  spaces\tand\nlines  ",
    "Élan, naïve café — “quotes” … ½ ﬁne",
    "我喜欢音乐 and 音楽",
    "don't-stop@100%!!!",
    "Antidisestablishmentarianism qwxzjk \U0001f3b5 \u200b\x00 end",
    "a" * 101,
    "Größe İstanbul ΑΣΣ ÅNGSTRÖM",
    "한국어 텍스트",
]


@pytest.fixture(scope="module")
def theirs() -> Any:
    return pytest.importorskip("tokenizers")


def library(theirs: Any, pieces: WordPieces) -> Any:
    """BERT's tokenizer as the library builds it, over the same vocabulary."""
    vocabulary = dict(pieces.vocabulary)
    tokenizer = theirs.BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_the_librarys(pulled: Pulled, theirs: Any, text: str) -> None:
    pieces = word_pieces(pulled("minilm"))
    assert pieces.tokens(text, LONGEST) == library(theirs, pieces).encode(text).ids


def test_tokens_of_any_text_are_the_librarys(pulled: Pulled, theirs: Any) -> None:
    pieces = word_pieces(pulled("minilm"))
    other = library(theirs, pieces)
    letters = st.characters(codec="utf-8", exclude_categories=("Cs", "Cn", "Co"), max_codepoint=0x2FFF)

    @settings(max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.text(letters, max_size=60))
    def agree(text: str) -> None:
        assert pieces.tokens(text, LONGEST) == other.encode(text).ids

    agree()


def test_long_texts_are_cut(pulled: Pulled) -> None:
    model = pulled("minilm")
    long = " ".join(["music"] * 1_000)
    tokens = word_pieces(model).tokens(long, LONGEST)
    assert len(tokens) == LONGEST
    assert tokens[-1] == 102
    np.testing.assert_allclose(embed([long], model=model), embed([" ".join(["music"] * 254)], model=model), atol=1e-5)


def test_texts_that_mean_alike_point_alike(pulled: Pulled) -> None:
    rows = embed(
        ["a cheerful, happy song", "joyful upbeat music", "the stock market fell on Tuesday", ""],
        model=pulled("minilm"),
    )
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    alike = rows @ rows.T
    assert alike[0, 1] > 0.5 > 0.3 > alike[0, 2]


def test_a_text_gives_the_same_alone_and_among_others(pulled: Pulled) -> None:
    model = pulled("minilm")
    texts = [f"{text} number {number}" for number in range(5) for text in TEXTS]
    together = embed(texts, model=model)
    assert together.shape == (50, 384)
    for number in (0, 7, 33):
        np.testing.assert_allclose(together[number], embed([texts[number]], model=model)[0], atol=1e-5)
    assert embed([], model=model).shape == (0, 384)


def test_one_text_instead_of_several_is_refused(pulled: Pulled) -> None:
    with pytest.raises(InputError, match="One text was given"):
        embed("a text", model=pulled("minilm"))


def test_a_vocabulary_without_marks_is_refused() -> None:
    with pytest.raises(DamagedError, match="UNK"):
        WordPieces("a\nb")


def test_bert_score_is_what_transformers_vectors_give(pulled: Pulled, tmp_path: Path) -> None:
    """SOURCE: the published weights in Transformers' own BertModel, matched token by token in plain loops."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    model, pretrained = pulled("minilm"), MODELS["minilm"]
    members = read_members(pretrained, archive_of(pretrained, tmp_path))
    weights = next(content for name, content in members.items() if name.endswith(".safetensors"))
    bert = transformers.BertModel(
        transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    ).eval()
    tensors = {name: torch.tensor(np.array(value)) for name, value in read_safetensors(weights).items()}
    bert.load_state_dict(tensors, strict=False)

    def vectors(text: str) -> Any:
        numbers = torch.tensor([word_pieces(model).tokens(text, LONGEST)])
        with torch.no_grad():
            states = bert(numbers).last_hidden_state[0, 1:-1]
        return torch.nn.functional.normalize(states, dim=1)

    answer = "a calm piano melody at dusk"
    references = ["soft piano music in the evening", "loud drums"]
    best = 0.0
    for reference in references:
        alike = [[float(a @ b) for b in vectors(reference)] for a in vectors(answer)]
        precision = sum(max(row) for row in alike) / len(alike)
        recall = sum(max(column) for column in zip(*alike, strict=True)) / len(alike[0])
        best = max(best, 2 * precision * recall / (precision + recall))
    result = bert_score([answer, answer, ""], [references, [answer], references], model=model)
    assert result[0] == pytest.approx(best, abs=1e-4)
    assert result[1] == pytest.approx(1.0, abs=1e-5)
    assert result[2] == 0.0
