"""Strengths from paired comparisons: Bradley-Terry, Thurstone, Davidson, Rao-Kupper, and graded comparisons.

Strengths are on the scale of the model (log odds, but for Thurstone and graded comparisons) with mean zero over the
contestants that have one. A contestant that won or lost all its comparisons, or that no chain of comparisons links with the others,
has no finite estimate: its strength is missing and says why. A ``penalty`` gives it a finite, shrunken one: that many ties of each
contestant with an imaginary one of average strength. ``docs/stats/comparison.md`` has formulas, sources and coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.comparison.pairs import Comparisons, add_up, as_comparisons, check_choices, connection, listed
from heartfelt.stats.comparison.spread import Covariance, covariance
from heartfelt.stats.comparison.strengths.fit import (
    StrengthFit,
    StrengthProblem,
    border_columns,
    fit,
    laplacian,
    regularised,
    solve,
)
from heartfelt.stats.comparison.strengths.links import (
    BRADLEY_TERRY,
    DAVIDSON,
    GRADED,
    RAO_KUPPER,
    THURSTONE,
    Derivatives,
    Link,
    graded_columns,
    outcome_columns,
)
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

COVARIANCE_AT_MOST = 3_000
_ALL_TIES = "every comparison within its connected group was a tie"
BLOCK = 1_000_000


@dataclass(frozen=True, slots=True)
class TestedEffect:
    """An effect with a test of the hypothesis that it is zero."""

    estimate: Estimate
    p_value: float | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Strengths:
    """The strength of each contestant, on the scale of the model, mean zero."""

    model: str
    names: tuple[Any, ...]
    strengths: tuple[Estimate, ...]
    order_effect: TestedEffect
    """The advantage of being first, on the scale of the strengths."""
    tie: Estimate
    """Davidson's nu or Rao and Kupper's theta."""
    log_likelihood: float | None = None
    counts: dict[str, int]
    penalty: float = 0.0
    covariance: Covariance | None = field(default=None, repr=False)
    core: tuple[int, ...] = field(default=(), repr=False)
    """The places in ``names`` that the covariance is about."""

    def strength(self, name: Any) -> Estimate:
        return self.strengths[self._index(name)]

    def _index(self, name: Any) -> int:
        if name not in self.names:
            raise InputError(
                f"No contestant is called {name!r}.", suggestion(str(name), [str(n) for n in self.names], "Names")
            )
        return self.names.index(name)

    def difference(self, first: Any, second: Any, confidence: float = 0.95) -> TestedEffect:
        """How much stronger one contestant is than another, with a test of equality."""
        a, b = self._index(first), self._index(second)
        for contestant in (a, b):
            if self.strengths[contestant].is_missing:
                reason = self.strengths[contestant].why_missing or ""
                return TestedEffect(Estimate.missing(f"{self.names[contestant]}: {reason}", self.model, self.counts))
        value = float(self.strengths[a]) - float(self.strengths[b])
        estimate = Estimate(value=value, method=f"{self.model}, difference of strengths", counts=self.counts)
        if self.covariance is None:
            return TestedEffect(estimate.without_interval(self.strengths[a].why_no_interval or "no covariance"))
        contrast = {self.core.index(a): 1.0, self.core.index(b): -1.0}
        bounds = self.covariance.bounds(value, contrast, confidence)
        if bounds is None:
            return TestedEffect(estimate.without_interval("nothing varies"))
        with_bounds = estimate.with_interval(*bounds, self.covariance.interval, confidence)
        return TestedEffect(with_bounds, self.covariance.p_value(value, contrast))

    def rank_probabilities(self, draws: int = 10_000, seed: int = 0) -> Floats:
        """The probability of each contestant (row) to have each rank (column, best first), by draws from the normal
        approximation; rows of contestants without a strength are NaN.
        """
        size = len(self.names)
        out = np.full((size, size), np.nan)
        if self.covariance is None:
            return out
        contestants = np.array(self.core)
        m = contestants.size
        values = np.array([float(self.strengths[contestant]) for contestant in contestants])
        eigenvalues, vectors = np.linalg.eigh(self.covariance.total[:m, :m])
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        sampled = values + stream(seed, "comparison", "ranks").standard_normal((draws, m)) @ root.T
        ranks = np.argsort(np.argsort(-sampled, axis=1), axis=1)
        out[contestants] = 0.0
        for column, contestant in enumerate(contestants):
            out[contestant, :m] = np.bincount(ranks[:, column], minlength=m) / draws
        return out


class PairModel:
    """A model of choices between two: call it with parallel columns, one entry per comparison."""

    def __init__(self, name: str, link: Link, about: str) -> None:
        self._link = link
        self.__name__, self.__doc__ = name, about

    def __call__(
        self,
        rater: Ids | None,
        first: Ids,
        second: Ids,
        value: Values,
        *,
        stimulus: Ids | None = None,
        order_effect: bool = False,
        penalty: float = 0.0,
        intervals: bool = True,
        confidence: float = 0.95,
    ) -> Strengths:
        """The strengths.

        ``value`` is 1 where the first was chosen, 0 where the second was, 0.5 for a tie. Intervals are over raters, and over
        stimuli as well if ``stimulus`` names what was presented (such as the prompt two systems were compared on); with
        neither, from the model's information. ``order_effect`` adds the advantage of being first to the model.
        ``intervals=False`` gives the values alone, sooner.
        """
        if penalty < 0:
            raise InputError(f"penalty must be at least 0; got {penalty:g}.", "Use 1, or leave it out.")
        data = as_comparisons(rater, first, second, value, stimulus)
        check_choices(data.value)
        return _estimate(self._link, data, order_effect, penalty, confidence, intervals)

    def __repr__(self) -> str:
        return f"<{self._link.name}: strengths from paired comparisons>"


bradley_terry = PairModel(
    "bradley_terry",
    BRADLEY_TERRY,
    "Bradley-Terry strengths: log odds of being chosen. A tie counts as half a win for each.",
)
davidson = PairModel(
    "davidson", DAVIDSON, "Strengths with ties as an outcome of their own, likelier between equals (Davidson 1970)."
)
rao_kupper = PairModel(
    "rao_kupper", RAO_KUPPER, "Strengths with ties where the difference stays below a threshold (Rao and Kupper 1967)."
)
thurstone = PairModel("thurstone", THURSTONE, "Thurstone's Case V: strengths in standard deviations of a difference.")


def cmos(
    rater: Ids | None,
    first: Ids,
    second: Ids,
    value: Values,
    *,
    stimulus: Ids | None = None,
    order_effect: bool = False,
    confidence: float = 0.95,
) -> Strengths:
    """Graded comparisons, such as -3 to +3 in favour of the first: strengths on the scale of the grades by least squares."""
    data = as_comparisons(rater, first, second, value, stimulus)
    return _estimate(GRADED, data, order_effect, 0.0, confidence)


def _estimate(
    link: Link, data: Comparisons, with_order: bool, penalty: float, confidence: float, intervals: bool = True
) -> Strengths:
    check_confidence(confidence)
    report = StrengthReport.of(link.name, penalty, data.names, data.counts, confidence)
    if not data.size:
        return report.nothing("there are no comparisons")
    if link.ties and (data.value == 0.5).all():
        return report.nothing("every comparison was a tie")
    cells = add_up(data, graded=link is GRADED, ordered=with_order)
    # Any graded comparison links two contestants; of choices only a win or a tie does.
    won, lost = (
        cells.sums[:, 0] if link is GRADED else cells.sums[:, outcome] + cells.sums[:, 1] for outcome in (0, 2)
    )
    linked = connection(cells.first, cells.second, won, lost, data.names)
    core = np.arange(len(data.names)) if penalty else np.flatnonzero(linked.core)
    if core.size < 2:
        return report.nothing("", linked.why)
    inner = data
    if core.size < len(data.names):
        inner = _within(data, core)
        cells = add_up(inner, graded=link is GRADED, ordered=with_order)
    tied = inner.value == 0.5
    with_tie = link.ties and bool(tied.any())
    if with_tie and not penalty and bool(tied.all()):
        return report.nothing("", [reason or _ALL_TIES for reason in linked.why])
    # Without ties both models of ties are Bradley and Terry's.
    used = BRADLEY_TERRY if link.ties and not with_tie else link
    problem = StrengthProblem(
        cells=cells, link=used, size=core.size, with_order=with_order, with_tie=with_tie, penalty=penalty
    )
    result = _fitted(problem, [data.names[i] for i in core.tolist()])
    if isinstance(result, str):
        return report.nothing(result)
    spread = _covariance(problem, result, inner) if intervals and core.size <= COVARIANCE_AT_MOST else None
    reasons = (None,) * len(data.names) if penalty else linked.why
    report = replace(report, counts=inner.counts)
    out = report.gathered(result.strengths, core, reasons, spread, result.likelihood)
    return replace(out, **_borders(link, problem, result, report, spread))


def _fitted(problem: StrengthProblem, names: Sequence[Any]) -> StrengthFit | str:
    """The fit, or why there is no finite one."""
    if problem.with_order and not problem.penalty and _order_is_fixed(problem):
        return (
            "the order of presentation and the strengths explain the same answers: "
            "some line of contestants accounts for it fully"
        )
    result = fit(problem)
    return result if result.converged else _divergence(result, names, problem.with_order)


def _order_is_fixed(problem: StrengthProblem) -> bool:
    """Whether being first is a difference of some strengths in every pair, as where each pair came in one order only."""
    cells, ones = problem.cells, np.ones(problem.cells.first.size)
    lead = np.bincount(cells.first, minlength=problem.size) - np.bincount(cells.second, minlength=problem.size)
    slope = lead.astype(np.float64)
    _, matrix = regularised(0.0, np.zeros_like(slope), slope, laplacian(cells, ones, problem.size))
    line = solve(matrix, slope[:, None])[:, 0]
    return bool(np.abs(line[cells.first] - line[cells.second] - 1.0).max() < 1e-6)


def _within(data: Comparisons, core: Ints) -> Comparisons:
    """The comparisons among some of the contestants, with ids coded afresh."""
    position = np.full(len(data.names), -1)
    position[core] = np.arange(core.size)
    first, second = position[data.first], position[data.second]
    keep = (first >= 0) & (second >= 0)
    names = [data.names[i] for i in core.tolist()]
    rater = None if data.rater is None else data.rater[keep]
    stimulus = None if data.stimulus is None else data.stimulus[keep]
    inner = as_comparisons(rater, first[keep], second[keep], data.value[keep], stimulus)
    return replace(inner, names=names, left_out=data.left_out + int(keep.size - keep.sum()))


def _divergence(result: StrengthFit, names: Sequence[Any], with_order: bool) -> str:
    if with_order and abs(result.order) > np.abs(result.strengths).max():
        side = "first" if result.order > 0 else "second"
        return f"the {side} of two was chosen so consistently that the order effect has no finite estimate"
    extreme = [str(names[i]) for i in np.argsort(-np.abs(result.strengths))[:2].tolist()]
    return f"the search for the maximum does not end; the strengths of {listed(extreme)} have no finite estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthReport:
    """What every strength of one fit says: model and method in words, counts, the contestants and the confidence."""

    model: str
    method: str
    names: tuple[Any, ...]
    counts: dict[str, int]
    penalty: float
    confidence: float

    @classmethod
    def of(
        cls, model: str, penalty: float, names: Sequence[Any], counts: dict[str, int], confidence: float
    ) -> StrengthReport:
        method = f"{model}, {penalty:g} ties with an average contestant added to each" if penalty else model
        return cls(
            model=model, method=method, names=tuple(names), counts=counts, penalty=penalty, confidence=confidence
        )

    def missing(self, reason: str) -> Estimate:
        return Estimate.missing(reason, self.method, self.counts)

    def nothing(self, overall_reason: str, reasons: Sequence[str | None] = ()) -> Strengths:
        """The result where no contestant has a strength."""
        texts = [
            reason or overall_reason or "fewer than two contestants are connected"
            for reason in reasons or [overall_reason] * len(self.names)
        ]
        by_reason = {text: self.missing(text) for text in dict.fromkeys(texts)}
        none = self.missing(overall_reason or "there are no strengths")
        return Strengths(
            model=self.model,
            names=self.names,
            strengths=tuple(by_reason[text] for text in texts),
            order_effect=TestedEffect(none),
            tie=none,
            counts=self.counts,
        )

    def gathered(
        self, values: Floats, core: Ints, reasons: Sequence[str | None], spread: Covariance | None, likelihood: float
    ) -> Strengths:
        """The result for contestants in the ``core``, and the reasons why the others have no strength."""
        position_of = {contestant: position for position, contestant in enumerate(core.tolist())}
        strengths = [
            self.estimate(float(values[position_of[contestant]]), position_of[contestant], spread)
            if contestant in position_of
            else self.missing(reason or "")
            for contestant, reason in enumerate(reasons)
        ]
        return Strengths(
            model=self.model,
            names=self.names,
            strengths=tuple(strengths),
            order_effect=TestedEffect(self.missing("no order effect was fitted")),
            tie=self.missing(f"{self.model} has no tie parameter"),
            log_likelihood=likelihood,
            counts=self.counts,
            penalty=self.penalty,
            covariance=spread,
            core=tuple(core.tolist()),
        )

    def estimate(self, value: float, position: int, spread: Covariance | None) -> Estimate:
        """One parameter with its interval; ``position`` is its place in the covariance."""
        estimate = Estimate(value=value, method=self.method, counts=self.counts)
        if spread is None:
            return estimate.without_interval(
                f"intervals were not asked for, or there are more than {COVARIANCE_AT_MOST:,} contestants"
            )
        bounds = spread.bounds(value, {position: 1.0}, self.confidence)
        if bounds is None:
            return estimate.without_interval("nothing varies")
        return estimate.with_interval(*bounds, spread.interval, self.confidence)


def no_strengths(model: str, names: Sequence[Any], counts: dict[str, int], reason: str) -> Strengths:
    """The result where no contestant has a strength."""
    return StrengthReport.of(model, 0.0, names, counts, 0.95).nothing(reason)


class _Borders(TypedDict, total=False):
    order_effect: TestedEffect
    tie: Estimate


def _borders(
    link: Link, problem: StrengthProblem, result: StrengthFit, report: StrengthReport, spread: Covariance | None
) -> _Borders:
    """The order effect and the tie parameter, where they belong to the model."""
    out: _Borders = {}
    if problem.with_order:
        p_value = None if spread is None else spread.p_value(result.order, {problem.size: 1.0})
        out["order_effect"] = TestedEffect(report.estimate(result.order, problem.size, spread), p_value)
    if problem.with_tie:
        log_tie = report.estimate(result.tie, problem.size + problem.borders - 1, spread)
        value, low, high = (
            None if number is None else float(np.exp(number)) for number in (log_tie.value, log_tie.low, log_tie.high)
        )
        out["tie"] = replace(log_tie, value=value, low=low, high=high)
    elif link.ties:
        none = 0.0 if link is DAVIDSON else 1.0
        out["tie"] = Estimate(
            value=none, method=report.method, counts=report.counts, why_no_interval="no comparison was a tie"
        )
    return out


def _covariance(problem: StrengthProblem, result: StrengthFit, data: Comparisons) -> Covariance:
    size, borders = problem.size, problem.borders
    parts = problem.link.evaluate(problem.differences(result.strengths, result.order), problem.cells.sums, result.tie)
    matrix = np.zeros((size + borders, size + borders))
    laplace = laplacian(problem.cells, parts.curvature, size)
    _, matrix[:size, :size] = regularised(problem.penalty, result.strengths, np.zeros(size), laplace)
    if borders:
        _, crosses, border = border_columns(problem, parts)
        matrix[size:, :size], matrix[:size, size:], matrix[size:, size:] = crosses, crosses.T, border
    d = result.strengths[data.first] - result.strengths[data.second] + result.order
    columns = graded_columns(data.value) if problem.link is GRADED else outcome_columns(data.value)
    single = problem.link.evaluate(d, np.column_stack(columns), result.tie)
    scores = ScoreContributions(
        data=data, size=size, parts=single, with_order=problem.with_order, with_tie=problem.with_tie
    )
    rater = None if data.rater is None else (data.rater, data.raters)
    stimulus = None if data.stimulus is None else (data.stimulus, data.stimuli)
    if problem.link is not GRADED:
        return covariance(scores, matrix, data.size, rater, stimulus)
    df = max(data.size - problem.size - problem.borders + 1, 1)
    residual = float(np.sum((data.value - d) ** 2)) / df
    return covariance(scores, matrix, data.size, rater, stimulus, residual, df)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreContributions:
    """What each comparison adds to slope and information: by its difference of strengths, then by each border."""

    data: Comparisons
    size: int
    """Contestants; the borders come after them."""
    parts: Derivatives
    with_order: bool
    with_tie: bool

    def directions(self, rows: Ints | slice = slice(None)) -> tuple[Ints, Floats, Floats]:
        """Columns touched, slopes there and information there, for some comparisons."""
        first, second, parts = self.data.first[rows], self.data.second[rows], self.parts
        columns = [first, second]
        weights = [np.ones(first.size), -np.ones(first.size)]
        if self.with_order:
            columns.append(np.full(first.size, self.size))
            weights.append(np.ones(first.size))
        direction = np.column_stack(weights)
        slopes = parts.slope[rows][:, None] * direction
        information = parts.curvature[rows][:, None, None] * direction[:, :, None] * direction[:, None, :]
        if self.with_tie and parts.tie_slope is not None:
            columns.append(np.full(first.size, self.width - 1))
            slopes = np.column_stack([slopes, parts.tie_slope[rows]])
            cross = parts.tie_cross[rows][:, None] * direction  # type: ignore[index]  # comes with the slope
            tie_information = parts.tie_curvature[rows][:, None]  # type: ignore[index]  # comes with the slope
            information = np.block([[information, cross[:, :, None]], [cross[:, None, :], tie_information[:, :, None]]])
        return np.column_stack(columns), slopes, information

    @property
    def contestants(self) -> int:
        return self.size

    @property
    def width(self) -> int:
        return self.size + int(self.with_order) + int(self.with_tie)

    def squares(self) -> Floats:
        """The sum of the squared scores of single comparisons, added up by the columns they touch."""
        width = self.width
        out = np.zeros(width * width)
        for start in range(0, self.data.size, BLOCK):
            columns, slopes, _ = self.directions(slice(start, start + BLOCK))
            for a in range(columns.shape[1]):
                for b in range(columns.shape[1]):
                    key = columns[:, a] * width + columns[:, b]
                    out += np.bincount(key, slopes[:, a] * slopes[:, b], minlength=width * width)
        return out.reshape(width, width)

    def by_unit(self, codes: Ints, units: int) -> Floats:
        """The slope of each unit's comparisons."""
        width = self.width
        columns, slopes, _ = self.directions()
        key = codes[:, None] * width + columns
        summed = np.bincount(key.ravel(), slopes.ravel(), minlength=units * width)
        return np.asarray(summed.reshape(units, width), np.float64)

    def part(self, rows: Ints) -> tuple[Floats, Floats]:
        columns, slopes, information = self.directions(rows)
        slope, information_sum = np.zeros(self.width), np.zeros((self.width, self.width))
        np.add.at(slope, columns, slopes)
        np.add.at(information_sum, (columns[:, :, None], columns[:, None, :]), information)
        return slope, information_sum
