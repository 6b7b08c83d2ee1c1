"""Strengths from choices out of sets: rankings (Plackett-Luce) and best-worst choices.

A ranking is read as successive choices: the best of all, the best of the rest, and so on (Luce 1959; Plackett 1975). A best-worst
answer is two choices: the best of the set, with odds that grow with exp(strength), and the worst of the rest, with odds
that grow with exp(-strength). Strengths are log odds with mean zero. Rank 1 is the best; each item of a shared rank counts as
chosen from a set that still holds the others of that rank. Of m items that share the last rank each choice counts (m - 1) / m, so
that they count as often as m items in some order would. Two items ranked are a paired comparison, a shared rank is half a win for
each, and the strengths are Bradley and Terry's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_array, as_floats, code
from heartfelt.stats.comparison.pairs import connection
from heartfelt.stats.comparison.spread import covariance, ratio_over_raters
from heartfelt.stats.comparison.strengths.fit import ascend, regularised, solve
from heartfelt.stats.comparison.strengths.links import BRADLEY_TERRY
from heartfelt.stats.comparison.strengths.models import StrengthReport, Strengths
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Choices:
    """Choices out of sets, one after another; the chosen item stands first in its set."""

    starts: Ints
    items: Ints
    sign: Floats
    """1 where the best was chosen, -1 where the worst was."""
    weight: Floats
    """How much each choice counts: 1, but for items that share the last rank."""
    answer: Ints
    """The answer (ranking, best-worst pair) each choice belongs to."""
    names: Sequence[Any]
    rater: Ints
    """The rater of each answer."""
    raters: int
    stimulus: Ints | None = None
    stimuli: int = 0
    left_out: int = 0

    @property
    def answers(self) -> int:
        return int(self.rater.size)

    @property
    def counts(self) -> dict[str, int]:
        counts = {"answers": self.answers, "contestants": len(self.names), "raters": self.raters}
        counts |= {} if self.stimulus is None else {"stimuli": self.stimuli}
        return counts | ({"left_out": self.left_out} if self.left_out else {})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Answers:
    """The rows of a long table of sets, grouped by answer: where each begins, and its rows in the order of their values."""

    starts: Ints
    item: Ints
    value: Floats
    names: Sequence[Any]
    rater: Ints
    raters: int
    stimulus: Ints | None
    stimuli: int
    left_out: int

    def choices(
        self,
        starts: list[int],
        items: list[int],
        sign: list[float],
        weight: list[float],
        answer: list[int],
        unusable: int,
    ) -> Choices:
        """The choices that the answers are made of; ``unusable`` answers gave none."""
        return Choices(
            starts=np.array(starts, np.int64),
            items=np.array(items, np.int64),
            sign=np.array(sign),
            weight=np.array(weight),
            answer=np.array(answer, np.int64),
            names=self.names,
            rater=self.rater,
            raters=self.raters,
            stimulus=self.stimulus,
            stimuli=self.stimuli,
            left_out=self.left_out + unusable,
        )


def _answers(rater: Ids, trial: Ids, item: Ids, value: Values, name: str, stimulus: Ids | None = None) -> _Answers:
    values = as_floats(value, name)
    # Without stimuli every trial is one of its own, which nothing looks at.
    columns = [as_array(column) for column in (rater, trial, item, trial if stimulus is None else stimulus)]
    if any(column.size != values.size for column in columns):
        sizes = ", ".join(str(column.size) for column in columns)
        raise InputError(
            f"The columns differ in length: rater, trial, item, stimulus {sizes}; {name} {values.size}.",
            "Pass parallel arrays: one entry per rater, trial and item.",
        )
    keep = np.isfinite(values)
    values, columns = values[keep], [column[keep] for column in columns]
    raters, trials, items, stimuli = (code(column) for column in columns)
    key = raters.codes * max(trials.count, 1) + trials.codes
    order = np.lexsort((values, key))
    sorted_key = key[order]
    starts = np.flatnonzero(np.diff(sorted_key, prepend=-1))
    ordering = np.lexsort((items.codes, key))
    twice = np.flatnonzero((np.diff(key[ordering]) == 0) & (np.diff(items.codes[ordering]) == 0))
    if twice.size:
        row = ordering[twice[0]]
        raise InputError(
            f"{items.names[items.codes[row]]!r} appears twice in trial {trials.names[trials.codes[row]]!r} of rater"
            f" {raters.names[raters.codes[row]]!r}.",
            "Give each item of a set one row.",
        )
    return _Answers(
        starts=np.append(starts, values.size).astype(np.int64),
        item=items.codes[order],
        value=values[order],
        names=items.names,
        rater=raters.codes[order][starts] if values.size else np.zeros(0, np.int64),
        raters=raters.count,
        stimulus=stimuli.codes[order][starts] if values.size and stimulus is not None else None,
        stimuli=stimuli.count,
        left_out=int(keep.size - keep.sum()),
    )


def plackett_luce(
    rater: Ids,
    trial: Ids,
    item: Ids,
    rank: Values,
    *,
    stimulus: Ids | None = None,
    penalty: float = 0.0,
    confidence: float = 0.95,
) -> Strengths:
    """Strengths from rankings: one row per rater, trial and item, with its rank (1 is the best).

    A trial may rank any part of the items; one with a single item says nothing and is left out. Intervals are over raters
    and, where ``stimulus`` names what each trial presented, such as the prompt of the items, over these too.
    """
    data = _answers(rater, trial, item, rank, "rank", stimulus)
    starts, items, answer, weight = [0], [], [], []
    alone = 0
    for number in range(data.starts.size - 1):
        begin, end = int(data.starts[number]), int(data.starts[number + 1])
        alone += end - begin < 2
        position = begin
        while position < end - 1:
            same = position
            while same < end and data.value[same] == data.value[position]:
                same += 1
            for chosen in range(position, same):
                not_chosen = [data.item[k] for k in range(position, end) if k != chosen]
                items += [data.item[chosen], *not_chosen]
                starts.append(len(items))
                answer.append(number)
                weight.append(1.0 if same < end else 1.0 - 1.0 / (same - position))
            position = same
    choices = data.choices(starts, items, [1.0] * len(weight), weight, answer, alone)
    return _fit("Plackett-Luce", choices, penalty, confidence)


def best_worst(
    rater: Ids,
    trial: Ids,
    item: Ids,
    choice: Values,
    *,
    stimulus: Ids | None = None,
    penalty: float = 0.0,
    confidence: float = 0.95,
) -> Strengths:
    """Strengths from best-worst choices: one row per rater, trial and item, 1 for the best, -1 for the worst, 0 for the rest.

    ``stimulus`` as in :func:`plackett_luce`.
    """
    data = _answers(rater, trial, item, choice, "choice", stimulus)
    starts, items, sign, answer = [0], [], [], []
    incomplete = 0
    for number in range(data.starts.size - 1):
        rows = slice(int(data.starts[number]), int(data.starts[number + 1]))
        members, values = data.item[rows], data.value[rows]
        best, worst = members[values == 1], members[values == -1]
        if best.size != 1 or worst.size != 1 or members.size < 2:
            incomplete += 1
            continue
        for chosen, of, direction in ((best[0], members, 1.0), (worst[0], members[members != best[0]], -1.0)):
            if of.size > 1:
                items += [chosen, *of[of != chosen]]
                starts.append(len(items))
                sign.append(direction)
                answer.append(number)
    choices = data.choices(starts, items, sign, [1.0] * len(sign), answer, incomplete)
    return _fit("best-worst logit", choices, penalty, confidence)


@dataclass(frozen=True, slots=True)
class BestWorstCounts:
    """How often each item was best less how often it was worst, per time shown: -1 to 1."""

    names: tuple[Any, ...]
    scores: tuple[Estimate, ...]


def best_worst_counts(
    rater: Ids, trial: Ids, item: Ids, choice: Values, *, confidence: float = 0.95
) -> BestWorstCounts:
    """Best-worst scores by counting, with a jackknife interval over raters. Columns as in :func:`best_worst`."""
    data = _answers(rater, trial, item, choice, "choice")
    size = len(data.names)
    row_rater = np.repeat(data.rater, np.diff(data.starts))
    key = row_rater * size + data.item
    shape = (data.raters, size)
    balance = np.bincount(key, data.value, minlength=data.raters * size).reshape(shape)
    shown = np.bincount(key, minlength=data.raters * size).reshape(shape)
    totals, times = balance.sum(axis=0), shown.sum(axis=0)
    method = "best less worst per time shown"
    out = []
    for index in range(size):
        counts = {"shown": int(times[index]), "raters": int((shown[:, index] > 0).sum())}
        score = Estimate(value=float(totals[index] / times[index]), method=method, counts=counts)
        if counts["raters"] < 2:
            out.append(score.without_interval("one rater saw it"))
            continue
        wide = ratio_over_raters(score, balance[:, index], shown[:, index], confidence, (-1.0, 1.0))
        out.append(wide or score.without_interval("nothing varies"))
    return BestWorstCounts(tuple(data.names), tuple(out))


# --- the search -------------------------------------------------------------------------------------------------------


def _fit(model: str, data: Choices, penalty: float, confidence: float) -> Strengths:
    check_confidence(confidence)
    names = list(data.names)
    report = StrengthReport.of(model, penalty, names, data.counts, confidence)
    if not data.sign.size:
        return report.nothing("there are no complete answers")
    first, second = _edges(data)
    linked = connection(first, second, np.ones(first.size), np.zeros(first.size), names)
    core = np.arange(len(names)) if penalty else np.flatnonzero(linked.core)
    if core.size < 2:
        return report.nothing("", linked.why)
    inner = data if core.size == len(names) else _within(data, core)
    point, converged = _fitted(inner, core.size, penalty)
    if not converged:
        return report.nothing("the search for the maximum does not end")
    strengths = point.at - point.at.mean()
    stimuli = None if inner.stimulus is None else (inner.stimulus, inner.stimuli)
    spread = covariance(_Parts(inner, strengths), point.matrix, inner.answers, (inner.rater, inner.raters), stimuli)
    reasons = (None,) * len(names) if penalty else linked.why
    return replace(report, counts=inner.counts).gathered(strengths, core, reasons, spread, point.likelihood)


def _edges(data: Choices) -> tuple[Ints, Ints]:
    """Who was preferred to whom: the best to the others of its set, the others to the worst."""
    sizes = np.diff(data.starts)
    chosen = np.repeat(data.items[data.starts[:-1]], sizes)
    up = np.repeat(data.sign > 0, sizes)
    is_other = chosen != data.items
    first, second = np.where(up, chosen, data.items), np.where(up, data.items, chosen)
    return first[is_other], second[is_other]


def _within(data: Choices, core: Ints) -> Choices:
    """The choices among some of the items; a choice of another item is left out."""
    position = np.full(len(data.names), -1)
    position[core] = np.arange(core.size)
    starts, items, keep = [0], [], []
    for number in range(data.sign.size):
        members = position[data.items[data.starts[number] : data.starts[number + 1]]]
        if members[0] < 0 or (members >= 0).sum() < 2:
            continue
        items += members[members >= 0].tolist()
        starts.append(len(items))
        keep.append(number)
    left_out = data.left_out + int(data.sign.size - len(keep))
    return replace(
        data,
        starts=np.array(starts, np.int64),
        items=np.array(items, np.int64),
        sign=data.sign[keep],
        weight=data.weight[keep],
        answer=data.answer[keep],
        names=[data.names[i] for i in core],
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Strengths with the likelihood, its slope and the information there."""

    at: Floats
    likelihood: float
    slope: Floats
    matrix: Floats


def _fitted(data: Choices, size: int, penalty: float) -> tuple[_Point, bool]:
    """The strengths of highest likelihood, and whether there is a highest."""
    from heartfelt.stats.comparison._kernels_comparison import choice_pass

    stages = np.arange(data.sign.size)

    def look(strengths: Floats) -> _Point:
        likelihood, slope, matrix = choice_pass(
            data.starts, data.items, data.sign, data.weight, stages, strengths, size
        )
        return _Point(strengths, likelihood, *regularised(penalty, strengths, slope, matrix))

    def step(point: _Point) -> Floats:
        return solve(point.matrix, point.slope[:, None])[:, 0]

    return ascend(np.zeros(size), look, step, BRADLEY_TERRY.far)


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """What each answer adds to slope and information."""

    data: Choices
    strengths: Floats

    @property
    def width(self) -> int:
        return int(self.strengths.size)

    contestants = width

    def by_unit(self, codes: Ints, units: int) -> Floats:
        from heartfelt.stats.comparison._kernels_comparison import choice_slopes

        data = self.data
        unit = codes[data.answer]
        return np.asarray(choice_slopes(data.starts, data.items, data.sign, data.weight, unit, units, self.strengths))

    def squares(self) -> Floats:
        slopes = self.by_unit(np.arange(self.data.answers), self.data.answers)
        return np.asarray(slopes.T @ slopes)

    def part(self, rows: Ints) -> tuple[Floats, Floats]:
        from heartfelt.stats.comparison._kernels_comparison import choice_pass

        data = self.data
        # The choices of an answer stand together, so those of some answers are a few ranges.
        begin = np.searchsorted(data.answer, rows)
        sizes = np.searchsorted(data.answer, rows, side="right") - begin
        before = np.cumsum(sizes) - sizes
        stages = np.arange(sizes.sum()) + np.repeat(begin - before, sizes)
        _, slope, matrix = choice_pass(
            data.starts, data.items, data.sign, data.weight, stages, self.strengths, self.width
        )
        return slope, matrix
