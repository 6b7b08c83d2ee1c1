"""The map of intended against perceived: two questions with reference coordinates, one small map a system."""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.study.model import say
from heartfelt.study.question import Question

COLOURS = ("#c2410c", "#7c3aed", "#0f766e", "#2563eb", "#be185d", "#4d7c0f", "#a16207", "#475569")


def mapped_questions(snapshot: Snapshot) -> tuple[Question, Question] | None:
    """The first two questions that measure an axis of the intents, if there are such."""
    axes = {axis for intent in snapshot.study.intents for axis in intent.reference}
    found = [q for q in snapshot.study.asked if q.axis in axes and snapshot.study.scale_of(q.id).bounds() is not None]
    return (found[0], found[1]) if len(found) >= 2 else None


def stimulus_means(snapshot: Snapshot, question: str) -> pl.DataFrame:
    """Mean, spread and count of a question's ratings for each stimulus; first presentations only."""
    ratings = snapshot.scan_ratings().filter((pl.col("question") == question) & pl.col("value").is_not_null())
    if "repeat" in ratings.collect_schema():
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    return ratings.group_by("stimulus").agg(pl.mean("value").alias("mean"), pl.std("value").alias("sd"), pl.len().alias("n")).sort("stimulus").collect()


def va_map(snapshot: Snapshot) -> dict[str, Any] | None:
    """The data of the map, or None where the study has no two questions with reference coordinates."""
    pair = mapped_questions(snapshot)
    if pair is None or not {"system", "intent"} <= set(snapshot.stimuli.columns):
        return None
    across, up = pair
    study = snapshot.study
    groups = list(dict.fromkeys(intent.group or intent.id for intent in study.intents))
    colour = {intent.id: COLOURS[groups.index(intent.group or intent.id) % len(COLOURS)] for intent in study.intents}
    means = {q.id: stimulus_means(snapshot, q.id) for q in pair}
    joined = (
        snapshot.stimuli.select("stimulus", "system", "intent")
        .join(means[across.id].rename({"mean": "x", "sd": "sx", "n": "nx"}), on="stimulus")
        .join(means[up.id].rename({"mean": "y", "sd": "sy", "n": "ny"}), on="stimulus")
        .sort("stimulus")
    )
    references = {q.id: study.reference(str(q.axis)) for q in pair}
    names = {system.id: system.name or system.id for system in study.systems}
    systems = []
    for system in joined["system"].unique().sort():
        mine = joined.filter(pl.col("system") == system)
        by_intent = {row["intent"]: row for row in mine.group_by("intent").agg(pl.mean("x"), pl.mean("y"), pl.len().alias("n")).iter_rows(named=True)}
        intents = [
            {
                "id": intent.id, "colour": colour[intent.id],
                "rx": references[across.id].get(intent.id), "ry": references[up.id].get(intent.id),
                "mx": by_intent.get(intent.id, {}).get("x"), "my": by_intent.get(intent.id, {}).get("y"),
                "n": by_intent.get(intent.id, {}).get("n", 0),
            }
            for intent in study.intents
        ]
        points = [{**row, "colour": colour.get(row["intent"], COLOURS[-1])} for row in mine.drop("system").iter_rows(named=True)]
        systems.append({"id": system, "label": names.get(system, system), "note": f"{mine.height} stimuli", "points": points, "intents": intents})
    axes = []
    for question in pair:
        low, high = study.scale_of(question.id).bounds() or (0.0, 1.0)
        axes.append({"id": question.id, "label": question.id, "low": low, "high": high, "text": say(question.text)})
    return {
        "type": "map", "axes": axes, "systems": systems,
        "groups": [{"label": group, "colour": COLOURS[place % len(COLOURS)]} for place, group in enumerate(groups)],
    }
