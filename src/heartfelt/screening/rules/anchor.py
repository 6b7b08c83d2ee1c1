"""Anchor: answers to stimuli whose answer is known within limits.

The limits are those of the study's anchor probes, such as MusicEval's "a real recording must not score below 3", and
those that the settings put on the mean or the sum of a rater's answers to each probe's anchors. A rater beyond any of them
is flagged, batch by batch where ratings have a ``batch``. The limits are the researcher's, so there is no p-value and no
false-positive rate: the rule reports how many of how many anchors were missed, or the mean or sum. Unit: scale points.
Anchors are used here and nowhere else: labels and analyses leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions, Setting
from heartfelt.screening.view import RatingsView
from heartfelt.study.probe import AnchorProbe

NO_LIMITS = "the anchors have no limits"


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the most that is allowed; infinite where there is no limit."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def set(self) -> bool:
        """Whether there is any limit."""
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


class Anchor(Rule):
    """Stimuli with a known answer."""

    name: ClassVar[str] = "anchor"
    about: ClassVar[str] = "answers to the study's anchor probes, against the limits the study sets"
    statistic: ClassVar[str] = "answer to an anchor"
    error_controlled: ClassVar[bool] = False
    settings: ClassVar[Mapping[str, Setting]] = {
        "mean_at_least": ("", "least mean of a rater's answers to a probe's anchors"),
        "mean_at_most": ("", "largest mean of a rater's answers to a probe's anchors"),
        "sum_at_least": ("", "least sum of a rater's answers to a probe's anchors"),
        "sum_at_most": ("", "largest sum of a rater's answers to a probe's anchors"),
    }

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater, probe (and batch), and kind of limit."""
        probes = [probe for probe in view.study.probes if isinstance(probe, AnchorProbe)]
        if not probes:
            return self.cannot("the study has no anchor probes")
        limits = {kind: self._limits(options, kind) for kind in ("mean", "sum")}
        tables = [table for probe in probes for table in self._probe(view, probe, limits)]
        return pl.concat(tables) if tables else self.cannot("nobody answered an anchor")

    def _limits(self, options: RuleOptions, kind: str) -> Limits:
        ends = []
        for side, none in (("at_least", -np.inf), ("at_most", np.inf)):
            given = str(options.settings.get(f"{kind}_{side}", "")).strip()
            ends.append(self.number(options, f"{kind}_{side}") if given else none)
        if ends[0] > ends[1]:
            raise InputError(
                f"The anchors' {kind} cannot be at least {ends[0]:g} and at most {ends[1]:g}.",
                f"Give {kind}_at_least no larger than {kind}_at_most.",
            )
        return Limits(*ends)

    def _probe(
        self, view: RatingsView, probe: AnchorProbe, limits: Mapping[str, Limits]
    ) -> list[pl.DataFrame]:
        given = _answers(view, probe)
        if not given.height:
            return []
        each = Limits(
            -np.inf if probe.at_least is None else probe.at_least,
            np.inf if probe.at_most is None else probe.at_most,
        )
        groups = given.group_by("rater", "batch", maintain_order=True).agg("value")
        tables = [self._each(probe, groups, each)] if each.set else []
        for kind, limit in limits.items():
            if limit.set:
                tables.append(self._together(probe, groups, kind, limit))
        if tables:
            return tables
        return [
            self.rows(
                rater=groups["rater"],
                question=[probe.question] * groups.height,
                batch=groups["batch"],
                words=[f"Not judged: {NO_LIMITS}."] * groups.height,
                why_missing=[NO_LIMITS] * groups.height,
            )
        ]

    def _each(self, probe: AnchorProbe, groups: pl.DataFrame, limit: Limits) -> pl.DataFrame:
        value, missed, words = [], [], []
        for answers in groups["value"].to_list():
            worst = max(answers, key=limit.beyond)
            beyond = sum(limit.beyond(answer) > 0 for answer in answers)
            value.append(worst)
            missed.append(beyond > 0)
            words.append(
                f"{beyond} of {len(answers)} answers to '{probe.question}' on anchor '{probe.id}' are not {limit}"
                f" (the furthest {worst:g})."
                if beyond
                else f"All {len(answers)} answers to '{probe.question}' on anchor '{probe.id}' are {limit}."
            )
        return self._table(probe, groups, limit, (value, missed, words))

    def _together(self, probe: AnchorProbe, groups: pl.DataFrame, kind: str, limit: Limits) -> pl.DataFrame:
        value, missed, words = [], [], []
        for answers in groups["value"].to_list():
            figure = float(np.mean(answers) if kind == "mean" else np.sum(answers))
            value.append(figure)
            missed.append(limit.beyond(figure) > 0)
            words.append(
                f"The {kind} of {len(answers)} answers to '{probe.question}' on anchor '{probe.id}' is {figure:g},"
                f" {'not ' if missed[-1] else ''}{limit}."
            )
        return self._table(probe, groups, limit, (value, missed, words))

    def _table(
        self,
        probe: AnchorProbe,
        groups: pl.DataFrame,
        limit: Limits,
        found: tuple[list[float], list[bool], list[str]],
    ) -> pl.DataFrame:
        value, missed, words = found
        return self.rows(
            rater=groups["rater"],
            question=[probe.question] * groups.height,
            batch=groups["batch"],
            value=value,
            threshold=[limit.nearest(one) for one in value],
            flagged=missed,
            evidence=[MOST_EVIDENCE / 2 if one else 0.0 for one in missed],
            words=words,
            n=groups["value"].list.len(),
        )


def _answers(view: RatingsView, probe: AnchorProbe) -> pl.DataFrame:
    """``rater, batch, value`` of every answer to a probe's anchors, in order."""
    schema = {"rater": pl.String, "batch": pl.String, "value": pl.Float64}
    if probe.question not in view.questions:
        return pl.DataFrame(schema=schema)
    wanted = set(probe.stimuli)
    stimuli = [code for code, name in enumerate(view.stimulus_names) if name in wanted]
    rows = np.flatnonzero(
        (view.question == view.questions.index(probe.question)) & np.isin(view.stimulus, stimuli)
    )
    batch = [None] * rows.size if view.batch is None else [view.batch[row] for row in rows.tolist()]
    return pl.DataFrame(
        {
            "rater": [view.raters[r] for r in view.rater[rows].tolist()],
            "batch": batch,
            "value": view.value[rows],
        },
        schema=schema,
    )


RULES.add(Anchor.name, Anchor())
