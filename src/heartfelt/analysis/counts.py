"""What there is: stimuli, raters, ratings, and how many ratings an item has.

A *rating* is counted as published studies count it: one rater's answers to one stimulus at one presentation, however
many questions were asked together; where the study lists which question is asked of which stimulus, and neither order
nor time is known, each answer is one. ``answers`` counts every single answer. ``raters`` are those who gave at least one;
those who are listed and gave none are ``raters_without_ratings``.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt.analysis.material import Material
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import probe_counts


def counts(material: Material, everything: Snapshot) -> dict[str, Any]:
    """Counts of the whole snapshot and of what was kept; probes are counted by themselves."""
    probes = probe_counts(everything)
    everything = everything.without_probes
    whole = everything.counts
    trials, per_trial = _trials(everything)
    kept, _ = _trials(material.snapshot)
    items = material.labels.table.filter(pl.col("value").is_not_null())
    raters = len(everything.survey.raters)
    return {
        "stimuli": whole["stimuli"],
        "rated": whole["rated"],
        "unrated": whole["unrated"],
        "raters": raters,
        "raters_kept": len(material.snapshot.survey.raters),
        "raters_without_ratings": whole["raters"] - raters,
        "ratings": trials,
        "ratings_kept": kept,
        "answers": whole["ratings"],
        "answers_kept": material.snapshot.counts["ratings"],
        "answers_of_unknown_raters": everything.survey.unknown_raters,
        "probe_stimuli": probes.height,
        "answers_to_probes": int(probes["ratings"].sum()),
        "means": whole["means"],
        "questions": whole["questions"],
        "systems": _distinct(everything, "system"),
        "intents": whole["intents"],
        "labels": items.height,
        "items_without_label": material.labels.ledger.filter(pl.col("what") == "item").height,
        "ratings_by_question": {name: facts.ratings for name, facts in everything.survey.questions.items()},
        "ratings_per_item": _histogram(everything, per_trial),
    }


def _distinct(snapshot: Snapshot, column: str) -> int:
    return snapshot.stimuli[column].drop_nulls().n_unique() if column in snapshot.stimuli.columns else 0


def _trials(snapshot: Snapshot) -> tuple[int, bool]:
    """How many presentations were answered, and whether each was answered under every question."""
    table = snapshot.scan_ratings()
    have = table.collect_schema().names()
    answers = snapshot.survey.ratings
    marked = [name for name in ("position", "at") if name in have][:1]
    apart = not marked and snapshot.table("items").height > 0
    if snapshot.survey.unknown_raters == answers or apart:
        return answers, len(snapshot.survey.questions) == 1
    key = ["rater", "stimulus", *(["repeat"] if "repeat" in have else []), *marked]
    named = table.filter(pl.col("rater").is_not_null())
    trials = int(named.select(pl.struct(key).n_unique()).collect().item()) + snapshot.survey.unknown_raters
    return trials, trials * len(snapshot.survey.questions) == answers


def _histogram(snapshot: Snapshot, together: bool) -> dict[str, int]:
    """How many items have how many first ratings; stimuli, where all questions are asked together."""
    table = snapshot.scan_ratings()
    if "repeat" in table.collect_schema():
        table = table.filter(pl.col("repeat").fill_null(0) == 0)
    table = table.filter(pl.col("value").is_not_null())
    if together:
        first = next(iter(snapshot.survey.questions), "")
        table = table.filter(pl.col("question") == first)
    found = table.group_by("stimulus", "question").len("n").group_by("n").len("items").sort("n").collect()
    return {str(n): int(items) for n, items in found.iter_rows()}
