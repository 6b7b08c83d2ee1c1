"""The map of intended against perceived: two questions with reference coordinates, one small map a system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from heartfelt.report.palette import SOFT
from heartfelt.report.quadrants import QuadrantLook, quadrant_look
from heartfelt.report.words import number
from heartfelt.snapshot import Snapshot
from heartfelt.study.question import Question


def mapped_questions(snapshot: Snapshot) -> tuple[Question, Question] | None:
    """The first two questions that measure an axis of the intents, if there are such."""
    axes = {axis for intent in snapshot.study.intents for axis in intent.reference}
    found = [
        q
        for q in snapshot.study.asked
        if q.axis in axes and snapshot.study.scale_of(q.id).bounds() is not None
    ]
    return (found[0], found[1]) if len(found) >= 2 else None


def stimulus_means(snapshot: Snapshot, question: str) -> pl.DataFrame:
    """Mean, spread and count of a question's ratings for each stimulus; first presentations only."""
    ratings = snapshot.without_probes.scan_ratings().filter(
        (pl.col("question") == question) & pl.col("value").is_not_null()
    )
    if "repeat" in ratings.collect_schema():
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    return (
        ratings.group_by("stimulus")
        .agg(pl.mean("value").alias("mean"), pl.std("value").alias("sd"), pl.len().alias("n"))
        .sort("stimulus")
        .collect()
    )


def va_map(
    snapshot: Snapshot, means: Mapping[str, pl.DataFrame] | None = None, said: str = "perceived"
) -> dict[str, Any] | None:
    """The map for the page's script, or None where the study has no two questions with reference coordinates.

    ``means`` are by question, as of :func:`stimulus_means`; those of the ratings if left out. ``said`` is what they are.
    """
    pair = mapped_questions(snapshot)
    if pair is None or not {"system", "intent"} <= set(snapshot.stimuli.columns):
        return None
    across, up = pair
    study = snapshot.study
    look = quadrant_look(study)
    means = means or {q.id: stimulus_means(snapshot, q.id) for q in pair}
    if not {q.id for q in pair} <= set(means):
        return None
    joined = (
        snapshot.stimuli.select("stimulus", "system", "intent")
        .join(means[across.id].rename({"mean": "x", "sd": "sx", "n": "nx"}), on="stimulus")
        .join(means[up.id].rename({"mean": "y", "sd": "sy", "n": "ny"}), on="stimulus")
        .drop_nulls("system")
        .sort("system", "stimulus")
    )
    names = {system.id: system.name or system.id for system in study.systems}
    axes = [map_axis(snapshot, question) for question in pair]
    panels = []
    for (system,), mine in joined.group_by("system", maintain_order=True):
        points = [
            {**row, "group": look.of_intent.get(row["intent"])}
            for row in mine.drop("system").iter_rows(named=True)
        ]
        panels.append(
            {
                "title": names.get(str(system), str(system)),
                "note": f"{mine.height} stimuli",
                "x": axes[0],
                "y": axes[1],
                "colours": {**look.colours, "": SOFT},
                "points": points,
                **_intents(snapshot, mine, pair, look, said),
            }
        )
    key = f"✕ intended   ● {said} mean of an intent   · one stimulus (select it to hear or see it)"
    return {
        "type": "map",
        "title": f"Intended and {said}",
        "axes": axes,
        "panels": panels,
        "legend": look.legend(),
        "key": key,
    }


def map_axis(snapshot: Snapshot, question: Question) -> dict[str, Any]:
    """The axis of a question: its scale from end to end."""
    low, high = snapshot.study.scale_of(question.id).bounds() or (0.0, 1.0)
    return {"label": question.id, "low": low, "high": high, "ticks": [low, (low + high) / 2, high]}


def references(
    snapshot: Snapshot, seen: set[str], pair: tuple[Question, Question], look: QuadrantLook
) -> list[dict[str, Any]]:
    """A cross where each intent should be, for the intents in ``seen``."""
    across, up = pair
    out = []
    for intent in snapshot.study.intents:
        if intent.id in seen and {across.axis, up.axis} <= set(intent.reference):
            x, y = intent.reference[str(across.axis)], intent.reference[str(up.axis)]
            words = f"{intent.id}: intended\n{across.id} {number(x, 2)}, {up.id} {number(y, 2)}"
            out.append(
                {"x": x, "y": y, "group": look.of_intent.get(intent.id), "label": intent.id, "words": words}
            )
    return out


def _intents(
    snapshot: Snapshot, mine: pl.DataFrame, pair: tuple[Question, Question], look: QuadrantLook, said: str
) -> dict[str, Any]:
    """Where each intent should be, where it was found to be, and a line from one to the other."""
    crosses = references(snapshot, set(mine["intent"].drop_nulls().to_list()), pair, look)
    meant = {cross["label"]: cross for cross in crosses}
    means, lines = [], []
    by_intent = (
        mine.drop_nulls("intent")
        .group_by("intent")
        .agg(pl.mean("x"), pl.mean("y"), pl.len().alias("n"))
        .sort("intent")
    )
    for intent, x, y, n in by_intent.iter_rows():
        group = look.of_intent.get(intent)
        words = (
            f"{intent}: {said}, mean of {n} stimuli\n{pair[0].id} {number(x, 2)}, {pair[1].id} {number(y, 2)}"
        )
        means.append({"x": x, "y": y, "group": group, "words": words})
        if intent in meant:
            lines.append(
                {"x1": meant[intent]["x"], "y1": meant[intent]["y"], "x2": x, "y2": y, "group": group}
            )
    return {"crosses": crosses, "means": means, "lines": lines, "stars": [], "ellipses": []}
