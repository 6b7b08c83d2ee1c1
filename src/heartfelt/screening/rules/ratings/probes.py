"""Rules about trials that test the rater: known anchors and repeated stimuli.

*Anchor*: answers to stimuli whose answer is known within limits. The limits are those of the study's anchor probes, such as
MusicEval's "a real recording must not score below 3", and those that the settings put on the mean or the sum of a rater's
answers to each probe's anchors. A rater beyond any of them is flagged, batch by batch where ratings have a ``batch``. The
limits are the researcher's, so there is no p-value and no false-positive rate. Unit: scale points. Anchors are used
here and nowhere else: labels and analyses leave them out.

*Repeat difference*: how far apart a rater's answers to the same stimulus lie when it is shown again. Where the study has a
repeat probe, its own limit counts: a rater with any difference above ``at_most_apart`` is flagged, batch by batch where
ratings have a ``batch`` (the rule of MusicEval). No p-value belongs to a limit set in advance. Otherwise the square root of
the mean absolute difference is compared with the panel's norm. Unit: scale points; for unordered categories, the share of
answers that changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.screening.norm import RaterMeasure, compare_with_norm
from heartfelt.screening.rule import LIMIT_EVIDENCE, Reasons, RuleOptions, RuleVerdicts
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.study.model import AnchorProbe, RepeatProbe
from heartfelt.wording import number

NO_LIMITS = "the anchors have no limits"


@dataclass(frozen=True, slots=True)
class ProbeLimits:
    """The least and the most that is allowed; infinite where there is no limit."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def set(self) -> bool:
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    def beyond(self, value: float) -> float:
        """How far a value lies outside, in points; negative inside."""
        return max(self.low - value, value - self.high)

    def nearest(self, value: float) -> float:
        """The limit that a value passes, or comes nearest to."""
        return self.low if self.low - value >= value - self.high else self.high

    def __str__(self) -> str:
        parts = [f"at least {self.low:g}"] if np.isfinite(self.low) else []
        parts += [f"at most {self.high:g}"] if np.isfinite(self.high) else []
        return " and ".join(parts)


def _by_batch(view: RatingsView, rows: Ints, value: Floats) -> pl.DataFrame:
    """``rater`` (code), ``batch`` and the list ``value``: one row per rater and batch, in order of appearance."""
    batch = [None] * rows.size if view.batch is None else [view.batch[row] for row in rows.tolist()]
    table = pl.DataFrame({"rater": view.rater[rows], "batch": pl.Series(batch, dtype=pl.String), "value": value})
    return table.group_by("rater", "batch", maintain_order=True).agg("value")


def _beyond_limit(
    groups: pl.DataFrame,
    worst: Callable[[list[float]], float],
    limit: ProbeLimits,
    words: Callable[[list[float], float], str],
    question: str | None = None,
) -> RuleVerdicts:
    """Verdicts on whether ``worst`` of each group's values lies beyond a limit the study set."""
    values: list[list[float]] = groups["value"].to_list()
    figures = [float(worst(rater_values)) for rater_values in values]
    missed = np.array([limit.beyond(figure) > 0 for figure in figures], dtype=bool)
    return RuleVerdicts(
        rater=groups["rater"].to_numpy(),
        n=[len(rater_values) for rater_values in values],
        words=lambda row: words(values[row], figures[row]),
        value=figures,
        threshold=[limit.nearest(figure) for figure in figures],
        flagged=missed,
        evidence=np.where(missed, LIMIT_EVIDENCE, 0.0),
        question=question,
        batch=groups["batch"].to_list(),
        error_controlled=False,
    )


def judge_anchors(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    probes = [probe for probe in view.study.probes if isinstance(probe, AnchorProbe)]
    if not probes:
        return "the study has no anchor probes"
    together = {
        kind: ProbeLimits(options.number(f"{kind}_at_least"), options.number(f"{kind}_at_most"))
        for kind in ("mean", "sum")
    }
    for kind, limit in together.items():
        if limit.low > limit.high:
            raise InputError(
                f"The anchors' {kind} cannot be at least {limit.low:g} and at most {limit.high:g}.",
                f"Give {kind}_at_least no larger than {kind}_at_most.",
            )
    verdicts = [
        verdicts_of_anchor for probe in probes for verdicts_of_anchor in _anchor_verdicts(view, probe, together)
    ]
    return verdicts or "nobody answered an anchor"


def _anchor_verdicts(view: RatingsView, probe: AnchorProbe, together: dict[str, ProbeLimits]) -> list[RuleVerdicts]:
    if probe.question not in view.questions:
        return []
    anchors = [code for code, name in enumerate(view.stimulus_names) if name in set(probe.stimuli)]
    of_anchors = (view.question == view.questions.index(probe.question)) & np.isin(view.stimulus, anchors)
    rows = np.flatnonzero(of_anchors)
    if not rows.size:
        return []
    groups = _by_batch(view, rows, view.value[rows])
    where = f"answers to '{probe.question}' on anchor '{probe.id}'"
    limits = ProbeLimits(
        -np.inf if probe.at_least is None else probe.at_least, np.inf if probe.at_most is None else probe.at_most
    )

    def one_by_one(answers: list[float], worst: float) -> str:
        beyond = sum(limits.beyond(answer) > 0 for answer in answers)
        if beyond:
            return f"{beyond} of {len(answers)} {where} are not {limits} (the furthest {worst:g})."
        return f"All {len(answers)} {where} are {limits}."

    def jointly(kind: str, limit: ProbeLimits) -> RuleVerdicts:
        def words(answers: list[float], figure: float) -> str:
            missed = "not " if limit.beyond(figure) > 0 else ""
            return f"The {kind} of {len(answers)} {where} is {figure:g}, {missed}{limit}."

        figure = np.mean if kind == "mean" else np.sum
        return _beyond_limit(groups, lambda answers: float(figure(answers)), limit, words, probe.question)

    verdicts = []
    if limits.set:
        verdicts.append(
            _beyond_limit(groups, lambda answers: max(answers, key=limits.beyond), limits, one_by_one, probe.question)
        )
    verdicts += [jointly(kind, limit) for kind, limit in together.items() if limit.set]
    if verdicts:
        return verdicts
    reasons: Reasons = [NO_LIMITS] * groups.height
    batch = groups["batch"].to_list()
    return [RuleVerdicts(rater=groups["rater"].to_numpy(), n=0, why=reasons, question=probe.question, batch=batch)]


def repeats(view: RatingsView) -> tuple[Ints, Floats]:
    """The row of every repeated answer, and its distance from the first answer."""
    again, firsts = np.flatnonzero(~view.first), np.flatnonzero(view.first)
    if not again.size or not firsts.size:
        return again[:0], np.zeros(0)
    width, height = len(view.stimulus_names), len(view.questions)
    key = (view.rater * width + view.stimulus) * height + view.question
    firsts = firsts[np.argsort(key[firsts], kind="stable")]
    position = np.minimum(np.searchsorted(key[firsts], key[again]), firsts.size - 1)
    matched = key[firsts[position]] == key[again]
    again, firsts = again[matched], firsts[position[matched]]
    difference = np.abs(view.value[again] - view.value[firsts])
    unordered = view.unordered[view.question[again]]
    return again, np.where(unordered, difference > 0, difference).astype(np.float64)


def judge_repeats(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    row, difference = repeats(view)
    if not row.size:
        return "no stimulus was shown to a rater twice"
    limits = [probe.at_most_apart for probe in view.study.probes if isinstance(probe, RepeatProbe)]
    if not limits:
        return compare_with_norm([_repeat_measure(view, view.rater[row], difference)], "high", options.alpha)
    limit = ProbeLimits(high=min(limits))

    def words(differences: list[float], worst: float) -> str:
        beyond = sum(difference > limit.high for difference in differences)
        if beyond:
            return (
                f"{beyond} of {len(differences)} repeated answers lie more than {limit.high:g} apart"
                f" (the furthest {worst:g})."
            )
        return f"All {len(differences)} repeated answers lie within {limit.high:g}."

    return [_beyond_limit(_by_batch(view, row, difference), max, limit, words)]


def _repeat_measure(view: RatingsView, rater: Ints, difference: Floats) -> RaterMeasure:
    n = np.bincount(rater, minlength=len(view.raters))
    count = np.maximum(n, 1)
    mean = np.bincount(rater, difference, n.size) / count
    # The square root steadies a number whose spread grows with its size; its error by the delta method.
    overall = float(difference.mean())
    within = float(np.sqrt(np.mean((difference - mean[rater]) ** 2)))
    error = (within / (2 * np.sqrt(overall)) if overall > 0 else 0.0) / np.sqrt(count)

    return RaterMeasure(
        question=None,
        asked=np.flatnonzero(n),
        value=np.sqrt(mean),
        error=error,
        n=n,
        why=[None] * n.size,
        finding=lambda rater: f"{int(n[rater])} repeated answers lie {number(mean[rater], 2)} apart on average",
        shown=np.square,
    )
