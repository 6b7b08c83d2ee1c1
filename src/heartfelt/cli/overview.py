"""A snapshot at a glance, for the terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.table import Table

from heartfelt.cli.screen import bar, out
from heartfelt.snapshot import Snapshot

SHADES = " ░▒▓█"


def print_overview(snapshot: Snapshot, folder: Path) -> None:
    """Print what a snapshot holds, with a picture of its coverage."""
    c = snapshot.counts
    out.print(
        f"[bold]{snapshot.study.name}[/bold]  from {snapshot.source.format} '{snapshot.source.name}'  hash {snapshot.hash[:16]}"
    )
    out.print(
        f"  {c['rated']:,} rated stimuli, {c['unrated']:,} unrated"
        + (f"  ({c['systems']} systems, {c['intents']} intents)" if c["systems"] else "")
    )
    if c["ratings"]:
        names = list(snapshot.survey.questions)
        per = sorted({facts.ratings for facts in snapshot.survey.questions.values()})
        times = f"{per[0]:,} x {len(names)}" if len(per) == 1 else f"{c['ratings']:,}"
        who = f"{c['raters']:,} raters" if not snapshot.survey.unknown_raters else "raters unknown"
        out.print(f"  {times} ratings, {who}")
    if c["means"]:
        out.print(
            f"  {c['means']:,} published means, no single ratings: what needs to know who rated what is not available"
        )
    if c["fields"]:
        out.print(f"  {c['fields']:,} field values filled in by a machine")
    _media(snapshot)
    for note in snapshot.source.notes:
        out.print(f"  note: {note}", markup=False)
    _ledger(snapshot)
    _questions(snapshot)
    _coverage(snapshot)
    _cells(snapshot)
    out.print(f"  {folder}")


def _media(snapshot: Snapshot) -> None:
    stimuli = snapshot.stimuli
    if "found" not in stimuli.columns:
        return
    result = stimuli.filter(pl.col("found"))
    facts = f"  media: {result.height:,} of {stimuli.height:,} found"
    if "duration" in result.columns and result["duration"].drop_nulls().len():
        rates = ", ".join(f"{rate / 1000:g} kHz" for rate in result["rate"].drop_nulls().unique().sort())
        lengths = result["duration"].drop_nulls().to_list()
        facts += f", {min(lengths):.3g} to {max(lengths):.4g} s, {rates}"
    out.print(facts)
    lost = stimuli.filter(~pl.col("found").fill_null(False))["stimulus"].to_list()
    if lost:
        out.print(
            f"  missing media: {', '.join(lost[:3])}{f' and {len(lost) - 3:,} more' if len(lost) > 3 else ''}"
        )


def _ledger(snapshot: Snapshot) -> None:
    if snapshot.ledger.height:
        for row in (
            snapshot.ledger.group_by("what", "reason", maintain_order=True).len().iter_rows(named=True)
        ):
            out.print(f"  left out: {row['len']:,} x {row['what']}: {row['reason']}")


def _questions(snapshot: Snapshot) -> None:
    if not snapshot.survey.questions:
        return
    table = Table(box=None, padding=(0, 2, 0, 2))
    for name in ("question", "scale", "ratings", "lowest", "highest"):
        table.add_column(name, justify="left" if name in {"question", "scale"} else "right")
    for name, facts in list(snapshot.survey.questions.items())[:12]:
        scale = snapshot.study.scale_of(name)
        limits = scale.bounds()
        words = f"{getattr(scale, 'type', '')}" + (
            f" {limits[0]:g} to {limits[1]:g}" if limits and not scale.labels() else ""
        )
        table.add_row(
            name,
            words,
            f"{facts.ratings:,}",
            *("" if v is None else f"{v:g}" for v in (facts.low, facts.high)),
        )
    out.print(table)
    if len(snapshot.survey.questions) > 12:
        out.print(f"    and {len(snapshot.survey.questions) - 12} more questions")


def _per_item(snapshot: Snapshot) -> pl.DataFrame:
    counted = (
        snapshot.scan_ratings().group_by("stimulus", "question").len("ratings").collect(engine="streaming")
    )
    return (
        snapshot.items.select("stimulus", "question")
        .join(counted, on=["stimulus", "question"], how="left")
        .with_columns(pl.col("ratings").fill_null(0))
    )


def _coverage(snapshot: Snapshot) -> None:
    if not snapshot.counts["ratings"]:
        return
    histogram = _per_item(snapshot).group_by("ratings").len("items").sort("ratings")
    most = int(histogram["items"].max() or 1)  # type: ignore[arg-type]  # a column of integers
    out.print("  ratings per item")
    rows = histogram.rows()
    for ratings, items in rows[:20]:
        out.print(f"  {ratings:>6} {bar(items / most, 40)} {items:,}")
    if len(rows) > 20:
        out.print(f"    and {len(rows) - 20} higher counts, up to {rows[-1][0]:,}")


def _cells(snapshot: Snapshot) -> None:
    stimuli = snapshot.stimuli
    if (
        not snapshot.counts["ratings"]
        or not {"system", "intent"} <= set(stimuli.columns)
        or snapshot.counts["systems"] > 30
    ):
        return
    grid = (
        snapshot.scan_ratings()
        .group_by("stimulus")
        .len("ratings")
        .collect()
        .join(stimuli, on="stimulus")
        .group_by("system", "intent")
        .agg(pl.sum("ratings"))
    )
    intents = stimuli["intent"].drop_nulls().unique(maintain_order=True).to_list()[:24]
    most = int(grid["ratings"].max() or 1)  # type: ignore[arg-type]  # a column of integers
    table = Table(
        box=None,
        padding=(0, 1, 0, 1),
        title="  ratings per intent and system",
        title_justify="left",
        title_style="",
    )
    table.add_column("")
    systems = stimuli["system"].drop_nulls().unique(maintain_order=True).to_list()
    for system in systems:
        table.add_column(system, justify="right")
    for intent in intents:
        counts = dict(grid.filter(pl.col("intent") == intent).select("system", "ratings").iter_rows())
        table.add_row(
            f" {intent}",
            *(f"{SHADES[round(4 * counts.get(s, 0) / most)]} {counts.get(s, 0)}" for s in systems),
        )
    out.print(table)
