"""Vocabulary, entropy and diversity: recorded values of a peer, values by hand, intervals that cover, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.texts.diversity import MEASURES, Diversity, compared, diversity, expected_types
from heartfelt.streams import stream
from tests.facts import mentions

SOURCE = (
    "lexicalrichness 0.5.1 (ttr, mattr, mtld, hdd) on the texts made below; Efron and Stein 1981 (the jackknife's"
    " variance is not too small); Busing et al. 1999, equation 5"
)
# Words, limit: type-token ratio, MATTR over 100 and 25 words, MTLD, HD-D of 42 and 10 words.
RECORDED = {
    (400, 97): (0.16, 0.4620265780730895, 0.7576595744680853, 24.444444444444443, 0.6463512855781581, 0.8929517306937585),
    (150, 61): (0.25333333333333335, 0.3672549019607844, 0.7038095238095244, 20.089285714285715, 0.593075254881, 0.876402241345),
    (1000, 211): (0.082, 0.4882130965593775, 0.7703688524590143, 23.53266888150609, 0.6920841623793729, 0.9119495987604394),
}  # fmt: skip


def made_text(number: int, limit: int) -> str:
    codes = ((i * i * 7 + 3 * i) % limit % (5 + i % 89) for i in range(number))
    return " ".join("w" + "".join(chr(97 + int(digit)) for digit in str(code)) for code in codes)


def zipf_texts(name: str, number: int, kinds: int = 2000) -> list[str]:
    draw = stream(14, "tests", "diversity", name)
    weight = 1 / (np.arange(kinds) + 2.7) ** 1.2
    edges = np.cumsum(weight / weight.sum())
    return [
        " ".join(map(str, np.searchsorted(edges, draw.random(5 + draw.poisson(10))).tolist())) for _ in range(number)
    ]


def estimates(result: Diversity) -> dict[str, Estimate]:
    return {name: getattr(result, name) for name in MEASURES}


@pytest.mark.parametrize("key", RECORDED)
def test_values_equal_lexicalrichness(key: tuple[int, int]) -> None:
    ratio, wide, narrow, mtld, hdd, few = RECORDED[key]
    text = made_text(*key)
    result, other = diversity([text]), diversity([text], window=25, draws=10)
    values = [result.type_token_ratio, result.mattr, other.mattr, result.mtld, result.hdd, other.hdd]
    assert [float(value) for value in values] == pytest.approx([ratio, wide, narrow, mtld, hdd, few], rel=1e-10)


def test_values_by_hand() -> None:
    result = diversity(["a b a c", "", "b b"], window=2, draws=2)
    assert (result.texts, result.without_words, result.unit) == (3, 1, "words")
    assert float(result.words) == 6
    assert float(result.words_per_text) == 2
    assert float(result.vocabulary) == 3
    shares = np.array([2, 3, 1]) / 6
    assert float(result.entropy) == pytest.approx(-(shares * np.log2(shares)).sum())
    # Windows ab, ba, ac, cb, bb.
    assert float(result.mattr) == pytest.approx((1 + 1 + 1 + 1 + 0.5) / 5)
    # Two of six words are alike in 1 + 3 of 15 pairs.
    assert float(result.hdd) * 2 == pytest.approx(1 + 11 / 15)


def test_the_vocabulary_at_equal_size() -> None:
    counts = np.array([3, 1, 1, 0])
    assert expected_types(counts, 5) == pytest.approx(3)
    assert expected_types(counts, 1) == pytest.approx(1)
    assert expected_types(counts, 2) == pytest.approx(2 - 3 / 10)
    results = compared({"long": zipf_texts("long", 200), "short": zipf_texts("short", 60), "none": [""]})
    size = int(float(results["short"].words))
    assert {result.size for result in results.values()} == {size}
    assert float(results["short"].vocabulary_at) == pytest.approx(float(results["short"].vocabulary))
    assert float(results["long"].vocabulary_at) < float(results["long"].vocabulary)
    assert mentions(results["none"].vocabulary_at.why_missing, "texts", "words")


def test_intervals_contain_their_value_and_stay_in_range() -> None:
    for number in (20, 60, 120):
        result = diversity(zipf_texts("bounds", number))
        for name, estimate in estimates(result).items():
            assert estimate.value is not None
            assert estimate.low is not None, (name, estimate.why_no_interval)
            assert estimate.high is not None
            assert 0 <= estimate.low <= estimate.value <= estimate.high, name
        assert result.words.interval == (
            "jackknife over texts, Student's t"
            if number == 20
            else "jackknife over 50 groups of consecutive texts, Student's t"
        )


def test_groups_of_unequal_size_do_not_widen_the_interval() -> None:
    texts = zipf_texts("unequal", 150)
    widths = []
    for number in (100, 101):
        vocabulary = diversity(texts[:number]).vocabulary
        assert vocabulary.low is not None
        assert vocabulary.high is not None
        widths.append(vocabulary.high - vocabulary.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.5)


@pytest.mark.slow
def test_intervals_cover() -> None:
    results = [estimates(diversity(zipf_texts(f"set {k}", 40))) for k in range(300)]
    for name in MEASURES:
        target = float(np.mean([float(result[name]) for result in results]))
        covered = [
            result[name].low <= target <= result[name].high  # type: ignore[operator]  # each has an interval
            for result in results
        ]
        # 95% within three standard errors of 300 sets, and not needlessly wide.
        assert 0.912 <= float(np.mean(covered)) <= 1.0, name


@pytest.mark.parametrize(
    ("texts", "why"), [([], "no texts"), (["", "…"], "the texts have no words")], ids=["none", "empty"]
)
def test_no_words(texts: list[str], why: str) -> None:
    result = diversity(texts)
    assert {estimate.why_missing for estimate in estimates(result).values()} == {why}
    assert result.without_words == len(texts)


def test_one_word() -> None:
    result = diversity(["word"])
    assert float(result.entropy) == 0
    assert float(result.vocabulary) == float(result.mtld) == float(result.type_token_ratio) == 1
    assert mentions(result.mattr.why_missing, "1 words", "100")
    assert mentions(result.hdd.why_missing, "1 words", "42")
    assert result.words.why_no_interval == "fewer than 20 texts"


def test_texts_that_are_all_the_same_have_no_interval_of_the_vocabulary() -> None:
    result = diversity(["the same five words again"] * 40)
    assert mentions(result.vocabulary.why_no_interval, "leaving", "texts")
    assert diversity(["x"] * 100).mattr.why_no_interval is not None


def test_mixed_languages_are_stated() -> None:
    result = diversity(["a bright picture", "一只猫"])
    assert result.unit == "words and characters"
    assert result.characters == 0.5


@pytest.mark.parametrize("option", ["window", "draws"])
def test_a_window_without_words_is_refused(option: str) -> None:
    with pytest.raises(InputError):
        diversity(["a"], **{option: 0})


@pytest.mark.slow
def test_a_million_words() -> None:
    texts = zipf_texts("many", 7000, kinds=20_000)
    result = diversity(texts * 10)
    assert float(result.words) > 1_000_000
    assert math.isfinite(float(result.mtld))
