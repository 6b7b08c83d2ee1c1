"""Anchor: answers to stimuli whose answer is known within limits.

The limits are those of the study's anchor probes, such as MusicEval's "a real recording must not score below 3". A
rater with any answer beyond them is flagged, batch by batch where ratings have a ``batch``. The limit is the
researcher's, so it has no p-value and no false-positive rate of its own: the rule reports how many of how many
anchors were missed. Unit: scale points.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.panel.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions
from heartfelt.panel.view import RatingsView
from heartfelt.study.probe import AnchorProbe


class Anchor(Rule):
    """Stimuli with a known answer."""

    name: ClassVar[str] = "anchor"
    about: ClassVar[str] = "answers to the study's anchor probes, against the limits the study sets"
    statistic: ClassVar[str] = "answer to an anchor"
    error_controlled: ClassVar[bool] = False

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater, probe (and batch)."""
        del options
        probes = [probe for probe in view.study.probes if isinstance(probe, AnchorProbe)]
        if not probes:
            return self.cannot("the study has no anchor probes")
        tables = [table for table in (self._probe(view, probe) for probe in probes) if table is not None]
        return pl.concat(tables) if tables else self.cannot("nobody answered an anchor")

    def _probe(self, view: RatingsView, probe: AnchorProbe) -> pl.DataFrame | None:
        if probe.question not in view.questions:
            return None
        stimuli = [code for code, name in enumerate(view.stimulus_names) if name in set(probe.stimuli)]
        rows = np.flatnonzero(
            (view.question == view.questions.index(probe.question)) & np.isin(view.stimulus, stimuli)
        )
        if not rows.size:
            return None
        low = -np.inf if probe.at_least is None else probe.at_least
        high = np.inf if probe.at_most is None else probe.at_most
        value = view.value[rows]
        batch = [None] * rows.size if view.batch is None else [view.batch[row] for row in rows.tolist()]
        table = (
            pl.DataFrame(
                {
                    "rater": [view.raters[r] for r in view.rater[rows].tolist()],
                    "batch": pl.Series(batch, dtype=pl.String),
                    "value": value,
                    "beyond": np.maximum(low - value, value - high),
                }
            )
            .group_by("rater", "batch", maintain_order=True)
            .agg(
                pl.col("value").sort_by("beyond").last().alias("worst"),
                pl.len().alias("n"),
                (pl.col("beyond") > 0).sum().alias("missed"),
            )
        )
        allowed = " and ".join(
            [
                *([] if probe.at_least is None else [f"at least {probe.at_least:g}"]),
                *([] if probe.at_most is None else [f"at most {probe.at_most:g}"]),
            ]
        )
        words = [
            f"{missed} of {n} answers to '{probe.question}' on anchor '{probe.id}' are not {allowed} (the furthest {worst:g})."
            if missed
            else f"All {n} answers to '{probe.question}' on anchor '{probe.id}' are {allowed}."
            for worst, n, missed in table.select("worst", "n", "missed").iter_rows()
        ]
        flagged = (table["missed"] > 0).to_list()
        limit = [
            low if np.isfinite(low) and (worst < low or not np.isfinite(high)) else high
            for worst in table["worst"]
        ]
        return self.rows(
            rater=table["rater"],
            question=[probe.question] * table.height,
            batch=table["batch"],
            value=table["worst"],
            threshold=limit,
            flagged=flagged,
            evidence=[MOST_EVIDENCE / 2 if one else 0.0 for one in flagged],
            words=words,
            n=table["n"],
        )


RULES.add(Anchor.name, Anchor())
