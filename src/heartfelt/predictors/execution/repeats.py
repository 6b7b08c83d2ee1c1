"""The same question asked several times: one prediction from the repeats, and how far they agree.

Numbers are averaged (value, score, members of a set, samples of a trace). Of categories the most frequent is the answer, of tied
ones that with the smallest code; ``shares`` are the shares of the repeats. A tag is kept where more than half of the repeats have
it. Texts are not combined: the first stands for all. There is no prediction where more than half of the repeats that were asked
failed; repeats that were not asked (a budget ended) do not count as failed.

Conventions: ``spread`` is the standard deviation of the repeats of one item (n - 1 in the denominator), ``agreement`` the share
of an item's repeats that gave the combined answer. Over items, with repeats as exchangeable measurements:

- ``between_items`` is ICC(1,1), the share of the variance of single answers that lies between items; the rest lies between
  repeats. Its interval assumes normal errors of the same size for all items (Searle's F; Wald's where counts differ).
- ``repeat_sd`` is the square root of the mean square within items, with its chi-square interval.
- ``same_answer`` is the share of pairs of repeats of an item with the same answer, mean over items, with the jackknife over items.

Source: Shrout & Fleiss (1979), Psychological Bulletin 86:420; Wang et al. (2023), "Self-consistency improves chain of thought
reasoning in language models" (the majority of repeats).
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.stats.estimate import Estimate
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import FreeText, Tags
from heartfelt.wording import interval, plural

NOT_ASKED = "not asked"
"""How the problem of a question begins that was not put to the predictor."""
_NUMBERS = ("value", "score", "low", "high", "answer_sd")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfConsistency:
    """How far the repeats of a model's answers to one question agree."""

    question: str
    items: int
    """Items with two or more repeats answered."""
    repeats: float
    """Mean number of repeats answered, over these items."""
    between_items: Estimate
    repeat_sd: Estimate
    same_answer: Estimate

    @property
    def words(self) -> str:
        over = f"{self.repeats:g} repeats of {plural(self.items, 'item')}"
        if self.same_answer.value is not None:
            return f"{over}: {interval(self.same_answer)} of pairs of repeats give the same answer"
        if self.repeat_sd.value is None:
            return f"no self-consistency: {self.repeat_sd.why_missing}"
        between = interval(self.between_items)
        return f"{over}: SD between repeats {interval(self.repeat_sd)}, share of variance between items {between}"


def combined(answers: Sequence[Prediction], ask: Ask) -> Prediction:
    if len(answers) == 1:
        return answers[0]
    usable = [answer for answer in answers if answer.problem is None]
    failed = [answer for answer in answers if answer.problem is not None and not answer.problem.startswith(NOT_ASKED)]
    if len(failed) > len(usable) or not usable:
        return _failed(failed, answers, len(usable))
    merged = _merged(usable, ask)
    if merged.problem is not None:
        return merged
    return _noted(merged, f"{len(usable)} of {len(answers)} repeats", repeats=len(usable))


def _failed(failed: Sequence[Prediction], answers: Sequence[Prediction], usable: int) -> Prediction:
    problem = Counter(str(answer.problem) for answer in failed or answers).most_common(1)[0][0]
    if usable or len(failed) > 1:
        problem = f"{len(failed)} of {len(failed) + usable} repeats failed, most often: {problem}"
    return replace((failed or answers)[0], problem=problem)


def _merged(usable: Sequence[Prediction], ask: Ask) -> Prediction:
    none = [answer for answer in usable if answer.answer == NONE]
    agreeing = none if 2 * len(none) > len(usable) else [answer for answer in usable if answer.answer != NONE] or none
    return _of_tags(agreeing) if isinstance(ask.scale, Tags) and not none else _of_answers(agreeing, ask)


def _noted(prediction: Prediction, note: str, *, repeats: int | None = None) -> Prediction:
    return replace(prediction, repeats=repeats, note="; ".join(filter(None, (prediction.note, note))))


def _of_answers(answers: Sequence[Prediction], ask: Ask) -> Prediction:
    """Numbers averaged, or the most frequent category."""
    first = answers[0]
    numbers = {name: _column(answers, name) for name in _NUMBERS}
    means: dict[str, Any] = {name: math.fsum(values) / len(values) for name, values in numbers.items() if values}
    measured = numbers["value"] or numbers["score"]
    spread = statistics.stdev(measured) if len(measured) > 1 else None
    if first.members is not None or (first.shares is not None and first.answer is None):
        return replace(first, **means, **_of_sets(answers))
    if first.samples is not None:
        return replace(first, **means, samples=_mean_trace(answers), spread=spread)
    words = [answer.answer for answer in answers if answer.answer is not None]
    if len(words) < len(answers):
        return replace(first, **means, answer=None, spread=spread)
    if isinstance(ask.scale, FreeText) and words[0] != NONE:
        return _noted(first, "the text of the first repeat", repeats=first.repeats)
    return _most_frequent(answers, words, means.get("score"))


def _most_frequent(answers: Sequence[Prediction], words: Sequence[str], score: float | None) -> Prediction:
    codes = {answer.answer: answer.value for answer in answers}
    counts = Counter(words)
    chosen = min(counts, key=lambda name: (-counts[name], _code(codes[name]), name))
    stands = next(answer for answer in answers if answer.answer == chosen)
    shares = {name: count / len(words) for name, count in sorted(counts.items())}
    return replace(stands, score=score, shares=None if chosen == NONE else shares, agreement=shares[chosen])


def _code(value: float | None) -> float:
    return math.inf if value is None else value


def _column(answers: Sequence[Prediction], name: str) -> list[Any]:
    """A part of every answer; empty where some have none."""
    values = [getattr(answer, name) for answer in answers]
    return [] if None in values else values


def _of_tags(answers: Sequence[Prediction]) -> Prediction:
    sets = [frozenset((answer.answer or "").split(";")) - {""} for answer in answers]
    counts = Counter(tag for tags in sets for tag in tags)
    order = dict.fromkeys(tag for answer in answers for tag in (answer.answer or "").split(";") if tag)
    frequent = [tag for tag in order if 2 * counts[tag] > len(sets)]
    if not frequent:
        return Prediction(problem="no tag is in more than half of the repeats", call=answers[0].call)
    shares = {tag: count / len(sets) for tag, count in sorted(counts.items())}
    same = sum(tags == frozenset(frequent) for tags in sets) / len(sets)
    return replace(answers[0], answer=";".join(frequent), shares=shares, agreement=same)


def _of_sets(answers: Sequence[Prediction]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in ("members", "shares"):
        if mappings := _column(answers, name):
            merged[name] = _mean_mapping(mappings)
    if orders := _column(answers, "orders"):
        merged["orders"] = tuple(math.fsum(order[position] for order in orders) / len(orders) for position in (0, 1))
    verdicts = Counter(verdict_of(answer) for answer in answers)
    merged["agreement"] = max(verdicts.values()) / len(answers)
    return merged


def _mean_mapping(mappings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean by name, 0 where one has no such name."""
    keys = dict.fromkeys(key for values in mappings for key in values)
    return {key: math.fsum(values.get(key, 0.0) for values in mappings) / len(mappings) for key in keys}


def verdict_of(answer: Prediction) -> str:
    """Which stimulus of a set an answer puts first; several where they are tied."""
    values: Mapping[str, float] = answer.members or answer.shares or {}
    most = max(values.values(), default=0.0)
    return "|".join(sorted(name for name, value in values.items() if value == most))


def _mean_trace(answers: Sequence[Prediction]) -> tuple[float | None, ...] | None:
    """The mean of the traces, sample by sample; the first where they have other lengths or rates."""
    first = answers[0]
    traces = [answer.samples or () for answer in answers]
    shapes = {(len(trace), answer.rate, answer.start) for trace, answer in zip(traces, answers, strict=True)}
    if len(shapes) > 1 or first.samples is None:
        return first.samples
    columns = zip(*traces, strict=True)
    return tuple(
        math.fsum(present) / len(present) if (present := [value for value in column if value is not None]) else None
        for column in columns
    )


def self_consistency(repeats: pl.DataFrame) -> dict[str, SelfConsistency]:
    answered = repeats.filter("ok")
    out = {}
    for question in repeats["question"].unique(maintain_order=True):
        rows = answered.filter(pl.col("question") == question)
        counts = rows.group_by("stimulus").len().filter(pl.col("len") > 1)
        rows = rows.join(counts, on="stimulus", maintain_order="left")
        items = counts.height
        between, sd, same = _agreement(rows) if items else (_none(), _none(), _none())
        out[question] = SelfConsistency(
            question=question,
            items=items,
            repeats=round(rows.height / items, 3) if items else 0.0,
            between_items=between,
            repeat_sd=sd,
            same_answer=same,
        )
    return out


def _none(reason: str = "no item has two repeats") -> Estimate:
    return Estimate.missing(reason)


def _agreement(rows: pl.DataFrame) -> tuple[Estimate, Estimate, Estimate]:
    from heartfelt.stats.agreement.votes import exact_agreement

    answers = rows["answer"].to_list()
    for name in ("members", "shares"):
        if name in rows.columns and rows[name].null_count() == 0 and rows["answer"].null_count() == rows.height:
            answers = [verdict_of(Prediction(members=json.loads(text))) for text in rows[name]]
    if None not in answers:
        same = exact_agreement(None, rows["stimulus"].to_list(), answers).pairwise
        return _none("the answers are no numbers"), _none("the answers are no numbers"), same
    column = "value" if rows["value"].null_count() == 0 else "score"
    numbers = rows.filter(pl.col(column).is_not_null())
    sizes = numbers.group_by("stimulus").len()
    numbers = numbers.join(sizes.filter(pl.col("len") > 1), on="stimulus", maintain_order="left")
    if not numbers.height:
        return _none(), _none(), _none("the answers are numbers")
    return *_of_numbers(numbers, column), _none("the answers are numbers")


def _of_numbers(rows: pl.DataFrame, column: str) -> tuple[Estimate, Estimate]:
    from scipy.stats import chi2

    from heartfelt.stats.ratings import as_ratings
    from heartfelt.stats.reliability.intraclass import icc

    ratings = as_ratings(rows["repeat"].to_list(), rows["stimulus"].to_list(), rows[column].to_list())
    between = icc(ratings, interval="f").icc1
    counts = {"items": len(ratings.items), "repeats": ratings.size}
    between = replace(between, counts=counts)
    df = ratings.size - len(ratings.items)
    squares = float(np.square(ratings.value - ratings.item_means[ratings.item]).sum())
    sd = Estimate(value=math.sqrt(squares / df), method="SD of answers around their item's mean", counts=counts)
    if squares == 0.0:
        return between, sd.without_interval("the repeats of every item are equal")
    low, high = (math.sqrt(squares / float(chi2.ppf(share, df))) for share in (0.975, 0.025))
    return between, sd.with_interval(low, high, "chi-square")
