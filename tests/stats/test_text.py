"""Caption metrics: published examples, and a plain re-telling of each definition, held to each other on random texts."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.texts.segmentation import words
from heartfelt.stats.texts.text import bleu, bleu_counts, cider, corpus, distinct, lexical, mtld, rouge_l
from heartfelt.streams import stream

SOURCE = (
    "Papineni et al. 2002, section 2.1 (clipped precision); Lin 2004, section 3.1 (police and gunman); "
    "the definitions of BLEU, ROUGE-L and CIDEr-D re-told below, n-gram by n-gram"
)
VOCABULARY = ("a", "the", "cat", "dog", "sat", "ran", "on", "under", "mat", "it's", "sunny", "today")


def sentences(name: str, n: int, low: int = 1, high: int = 12, kinds: int = 12) -> list[str]:
    draw = stream(7, "tests", "text", name)
    return [" ".join(draw.choice(VOCABULARY[:kinds], int(draw.integers(low, high)))) for _ in range(n)]


def grams(text: str, order: int) -> Counter[tuple[str, ...]]:
    own = words(text)
    return Counter(tuple(own[i : i + order]) for i in range(len(own) - order + 1))


def slow_bleu(candidates: list[str], references: list[list[str]], order: int) -> float:
    matches, totals, answer, due = [0] * order, [0] * order, 0, 0
    for text, own in zip(candidates, references, strict=True):
        length = len(words(text))
        answer += length
        due += min((abs(len(words(r)) - length), len(words(r))) for r in own)[1]
        for n in range(1, order + 1):
            counts = grams(text, n)
            most: Counter[tuple[str, ...]] = Counter()
            for reference in own:
                most |= grams(reference, n)
            matches[n - 1] += sum((counts & most).values())
            totals[n - 1] += sum(counts.values())
    if not all(matches):
        return 0.0
    mean = sum(math.log(m / t) for m, t in zip(matches, totals, strict=True)) / order
    return math.exp(min(0.0, 1 - due / answer)) * math.exp(mean)


def slow_cider(candidates: list[str], references: list[list[str]]) -> list[float]:
    out = []
    for place, text in enumerate(candidates):
        total = 0.0
        for order in range(1, 5):
            seen = [set().union(*(grams(r, order) for r in own)) for own in references]

            def weigh(
                sentence: str, n: int = order, seen: list[set[tuple[str, ...]]] = seen
            ) -> dict[tuple[str, ...], float]:
                rarity = {
                    g: math.log(len(seen)) - math.log(max(sum(g in s for s in seen), 1)) for g in grams(sentence, n)
                }
                return {g: times * rarity[g] for g, times in grams(sentence, n).items()}

            mine = weigh(text)
            for reference in references[place]:
                other = weigh(reference)
                dot = sum(min(mine[g], other[g]) * other[g] for g in mine.keys() & other.keys())
                below = math.sqrt(sum(v * v for v in mine.values()) * sum(v * v for v in other.values()))
                gap = len(words(text)) - len(words(reference))
                if below > 0:
                    total += dot / below * math.exp(-gap * gap / 72) / len(references[place])
        out.append(10 * total / 4)
    return out


def test_words_are_lower_case_without_punctuation() -> None:
    assert words("It\u2019s a CAT, isn't it? (no_way) 3.5!") == [
        "it's",
        "a",
        "cat",
        "isn't",
        "it",
        "no",
        "way",
        "3",
        "5",
    ]
    assert words("  ...  ") == []


def test_clipped_precision_of_the_published_example() -> None:
    counts = bleu_counts(
        corpus(["the the the the the the the"], [["The cat is on the mat.", "There is a cat on the mat."]]), 1
    )
    assert counts[0].tolist() == [2, 7, 7, 7]


@pytest.mark.parametrize("order", [1, 2, 4])
def test_bleu_is_its_definition(order: int) -> None:
    answer, *others = (sentences(name, 60, 3, 20, 4) for name in ("said", "one", "two"))
    heard = [list(pair) for pair in zip(*others, strict=True)]
    result = bleu(answer, heard, order=order, resamples=200)
    assert result.value == pytest.approx(slow_bleu(answer, heard, order), abs=1e-12)
    assert 0 < (result.low or 0.0) <= float(result) <= (result.high or 0.0)


def test_bleu_of_the_reference_itself_is_one_and_of_nothing_zero() -> None:
    texts = sentences("same", 8, 5, 9)
    assert bleu(texts, [[t] for t in texts], resamples=100).value == 1.0
    assert bleu([""] * 8, [[t] for t in texts], resamples=100).value == 0.0
    assert bleu([], []).why_missing == "no texts"


def test_rouge_of_the_published_example() -> None:
    result = rouge_l(["police kill the gunman", "the gunman kill police", ""], [["police killed the gunman"]] * 3)
    assert result.tolist() == pytest.approx([0.75, 0.5, 0.0])


@pytest.mark.slow
def test_cider_is_its_definition() -> None:
    answer = sentences("said", 30)
    heard = [[a, b, c] for a, b, c in zip(*(sentences(name, 30) for name in ("x", "y", "z")), strict=True)]
    assert cider(answer, heard).tolist() == pytest.approx(slow_cider(answer, heard), abs=1e-10)


def test_cider_of_a_particular_caption_repeated_is_ten() -> None:
    texts = ["one two three four five", "six seven eight nine ten"]
    assert cider(texts, [[t] for t in texts]).tolist() == pytest.approx([10.0, 10.0])
    assert cider(texts[:1], [texts[:1]]).tolist() == [0.0]


def test_mtld_by_hand() -> None:
    # a b a a: shares 1, 1, 2/3 end a factor; the last word starts another with share 1. Backwards: a a ends one at 1/2,
    # then b a is whole. One factor each way over four words.
    assert mtld(["a b a a", "x y z", ""])[:2].tolist() == [4.0, 3.0]
    assert np.isnan(mtld([""])[0])
    # One factor of "a b a" and a part of "c c" (share 1/2 ends a factor): 2 factors forwards; backwards "c c", then
    # "a b a" ends one: 2 factors. Five words.
    assert mtld(["a b a c c"])[0] == 2.5


def test_lexical_figures_count_words() -> None:
    result = lexical(["the cat sat", "the cat ran"])
    assert (result.words, result.kinds, result.words_per_text) == (6, 4, 3.0)
    assert result.distinct_1 == pytest.approx(4 / 6)
    assert result.distinct_2 == pytest.approx(3 / 4)
    assert distinct([], 2) is None
    assert lexical([""]).mtld is None


def test_bad_input_is_said() -> None:
    with pytest.raises(InputError, match="one list of references"):
        corpus(["a"], [])
    with pytest.raises(InputError, match="no reference"):
        corpus(["a"], [[]])
