"""A snapshot at a glance, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from rich.table import Table

from heartfelt.cli.command import bar, out
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import TRIAL, has_sets
from heartfelt.tables import answered

SHADES = " ░▒▓█"
LONGEST_NAME = 120
MOST_QUESTIONS, MOST_BARS, MOST_SYSTEMS, MOST_INTENTS = 12, 20, 30, 24


def print_overview(snapshot: Snapshot, folder: Path) -> None:
    """Print what a snapshot holds, with a picture of its coverage."""
    counts, source = snapshot.counts, snapshot.source
    name = f"[bold]{snapshot.study.name}[/bold]"
    out.print(f"{name}  from {source.format} '{source.name}'  hash {snapshot.hash[:16]}")
    for line in _amounts(snapshot):
        out.print(f"  {line}")
    _media(snapshot.stimuli)
    for line in (*source.reading, *_first_rating(snapshot)):
        out.print(f"  {line}", markup=False)
    for note in source.notes:
        out.print(f"  note: {note}", markup=False)
    for (kind, reason), rows in snapshot.ledger.group_by("what", "reason", maintain_order=True):
        out.print(f"  left out: {rows.height:,} x {kind}: {reason}")
    if snapshot.survey.questions:
        _questions(snapshot)
    if counts["ratings"]:
        _coverage(snapshot)
        if {"system", "intent"} <= set(snapshot.stimuli.columns) and counts["systems"] <= MOST_SYSTEMS:
            _cells(snapshot)
    out.print(f"  {folder}")


def _amounts(snapshot: Snapshot) -> Iterator[str]:
    """How much there is of everything, a line each."""
    counts = snapshot.counts
    groups = f"  ({counts['systems']} systems, {counts['intents']} intents)" if counts["systems"] else ""
    yield f"{counts['rated']:,} rated stimuli, {counts['unrated']:,} unrated{groups}"
    if counts["ratings"]:
        yield _rating_amounts(snapshot)
    if has_sets(snapshot.scan_ratings()):
        trials = snapshot.scan_ratings().filter(pl.col("trial").is_not_null())
        amounts = trials.select(pl.struct(*TRIAL).n_unique(), pl.col("set").n_unique().alias("sets")).collect().row(0)
        type_ = "" if snapshot.study.sets is None else f" ({snapshot.study.sets.type})"
        yield f"{amounts[0]:,} trials with {amounts[1]:,} sets of stimuli{type_}"
    if snapshot.traces.height:
        sizes = snapshot.traces["samples"].list.len().to_list()
        yield f"{len(sizes):,} traces of {min(sizes)} to {max(sizes)} samples"
    if counts["means"]:
        limits = "no single ratings: what needs to know who rated what is not available"
        yield f"{counts['means']:,} published means, {limits}"
    if counts["fields"]:
        yield f"{counts['fields']:,} field values filled in by a machine"


def _rating_amounts(snapshot: Snapshot) -> str:
    counts, survey = snapshot.counts, snapshot.survey
    per_question = {facts.ratings for facts in survey.questions.values()}
    times = f"{per_question.pop():,} x {len(survey.questions)}" if len(per_question) == 1 else f"{counts['ratings']:,}"
    raters = "raters unknown" if survey.unknown_raters else f"{counts['raters']:,} raters"
    blank = f", {survey.blank:,} blank" if survey.blank else ""
    return f"{times} ratings{blank}, {raters}"


def _first_rating(snapshot: Snapshot) -> list[str]:
    """The first rating in words, so that a wrong reading is seen at once."""
    head = snapshot.scan_ratings().head(1).collect()
    if not head.height:
        return []
    row = head.row(0, named=True)
    value = row.get("answer") or ("blank" if row["value"] is None else f"{row['value']:g}")
    rater = "" if row["rater"] is None else f"rater '{row['rater']}', "
    names = (f"{name} '{_shortened(row[name])}'" for name in ("stimulus", "question"))
    return [f"first rating: {rater}{', '.join(names)}, value {value}"]


def _shortened(name: str) -> str:
    """An id, or the beginning and the end of a long one, such as a caption."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 2]}…{name[-LONGEST_NAME // 4 :]}"


def _media(stimuli: pl.DataFrame) -> None:
    if "found" not in stimuli.columns:
        return
    result = stimuli.filter(pl.col("found"))
    facts = f"  media: {result.height:,} of {stimuli.height:,} found"
    lengths = result["duration"].drop_nulls().to_list() if "duration" in result.columns else []
    if lengths:
        rates = ", ".join(f"{rate / 1000:g} kHz" for rate in result["rate"].drop_nulls().unique().sort())
        facts += f", {min(lengths):.3g} to {max(lengths):.4g} s, {rates}"
    out.print(facts)
    lost = stimuli.filter(~pl.col("found").fill_null(False))["stimulus"].to_list()
    if lost:
        more = f" and {len(lost) - 3:,} more" if len(lost) > 3 else ""
        out.print(f"  missing media: {', '.join(lost[:3])}{more}")


def _questions(snapshot: Snapshot) -> None:
    table = Table("question", "scale", box=None, padding=(0, 2, 0, 2))
    for name in ("ratings", "lowest", "highest"):
        table.add_column(name, justify="right")
    questions = list(snapshot.survey.questions.items())
    for name, facts in questions[:MOST_QUESTIONS]:
        scale = snapshot.study.scale_of(name)
        limits = scale.bounds()
        ends = f" {limits[0]:g} to {limits[1]:g}" if limits and not scale.labels() else ""
        numbers = ("" if v is None else f"{v:g}" for v in (facts.low, facts.high))
        table.add_row(name, f"{getattr(scale, 'type', '')}{ends}", f"{facts.ratings:,}", *numbers)
    out.print(table)
    if len(questions) > MOST_QUESTIONS:
        out.print(f"    and {len(questions) - MOST_QUESTIONS} more questions")


def _coverage(snapshot: Snapshot) -> None:
    keys = ["stimulus", "question"]
    counted = answered(snapshot.scan_ratings()).group_by(keys).len("ratings").collect(engine="streaming")
    rated = snapshot.items.select(keys).join(counted, on=keys, how="left", maintain_order="left")
    rows = rated.group_by(pl.col("ratings").fill_null(0)).len("items").sort("ratings").rows()
    most = max(items for _, items in rows)
    out.print("  ratings per item")
    for ratings, items in rows[:MOST_BARS]:
        out.print(f"  {ratings:>6} {bar(items / most, 40)} {items:,}")
    if len(rows) > MOST_BARS:
        out.print(f"    and {len(rows) - MOST_BARS} higher counts, up to {rows[-1][0]:,}")


def _cells(snapshot: Snapshot) -> None:
    stimuli = snapshot.stimuli
    counted = (
        answered(snapshot.scan_ratings())
        .group_by("stimulus")
        .len("ratings")
        .collect()
        .join(stimuli, on="stimulus", maintain_order="left")
    )
    summed = counted.group_by("system", "intent").agg(pl.sum("ratings"))
    ratings_of = {(system, intent): ratings for system, intent, ratings in summed.iter_rows()}
    most = max(ratings_of.values(), default=1)
    systems, intents = (
        stimuli[name].drop_nulls().unique(maintain_order=True).to_list() for name in ("system", "intent")
    )
    title = "  ratings per intent and system"
    table = Table("", box=None, padding=(0, 1, 0, 1), title=title, title_justify="left", title_style="")
    for system in systems:
        table.add_column(system, justify="right")
    for intent in intents[:MOST_INTENTS]:
        counts = [ratings_of.get((system, intent), 0) for system in systems]
        table.add_row(f" {intent}", *(f"{SHADES[round(4 * count / most)]} {count}" for count in counts))
    out.print(table)
