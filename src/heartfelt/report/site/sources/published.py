"""What may be shown of stimuli and of what people answered: labels, distributions of answers, prompts and media.

It comes from a published folder, a snapshot or a benchmark. An item (stimulus and question) is public where the source has people's
answers to it; stimuli of a part that is held out are not public, whatever the source has on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, LabelOptions, first_answers, labels, load_benchmark
from heartfelt.labels.splits import assigned, groups_of
from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.layout.media import media_paths
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.study import Study

ITEM = ["stimulus", "question"]
_LABEL = ("label", "low", "high", "n", "answer", "share", "method")
LABELS = {
    "stimulus": pl.String,
    "question": pl.String,
    "label": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "answer": pl.String,
    "share": pl.Float64,
    "method": pl.String,
}
COUNTS = {"stimulus": pl.String, "question": pl.String, "value": pl.Float64, "votes": pl.Int64}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PublicFacts:
    """What is public. ``study`` is None where only benches are known: labels then are those that models were scored against."""

    study: Study | None = None
    stimuli: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"stimulus": pl.String}))
    labels: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LABELS))
    """Under the schema ``LABELS``, without held-out items."""
    counts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COUNTS))
    """How many people gave each value, without held-out items."""
    items: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict.fromkeys(ITEM, pl.String)))
    """Every item that people's answers are public of."""
    media: Mapping[str, Path] = field(default_factory=dict)
    confidence: float | None = None
    """That of the labels' intervals; None for a benchmark, which does not say."""

    def public(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows (with stimulus and question) whose people's answers are public; all where only benches are known.

        A set of stimuli is public where all its members are.
        """
        if self.study is None:
            return rows
        pairs = pl.col("stimulus").str.contains(SEPARATOR, literal=True) & ~pl.col("stimulus").is_in(
            self.stimuli["stimulus"].implode()
        )
        members = pl.col("stimulus").str.split(SEPARATOR)
        stimuli = self.items["stimulus"].unique().implode()
        together = rows.filter(pairs).filter(members.list.eval(pl.element().is_in(stimuli)).list.all())
        single = rows.filter(~pairs).join(self.items, on=ITEM, how="semi", maintain_order="left")
        return pl.concat([single, together])


def read_published(folder: Path, hold_out: str | None = None) -> PublicFacts:
    """What a published folder, a snapshot or a benchmark has; without the part that is held out."""
    snapshot, benchmark = _sources(folder)
    if benchmark is not None:
        study, stimuli, root = benchmark.study, benchmark.stimuli, benchmark.media_root
    if snapshot is not None:
        snapshot = snapshot.without_probes
        study, stimuli, root = snapshot.study, snapshot.stimuli, snapshot.source.media_root
    hidden = _hidden(stimuli, benchmark, hold_out, folder)
    visible = ~pl.col("stimulus").is_in(hidden)
    counts, confidence = pl.DataFrame(schema=COUNTS), None
    if benchmark is not None:
        table = benchmark.items
    elif snapshot is not None:
        options = LabelOptions()
        table, confidence = labels(snapshot, options).table.rename({"value": "label"}), options.confidence
    table = table.filter(visible & pl.col("label").is_finite()).select(*ITEM, *_LABEL)
    items = [table.select(ITEM)]
    if snapshot is not None:
        answers = first_answers(snapshot).filter(visible)
        counts = answers.group_by(*ITEM, "value").agg(pl.len().cast(pl.Int64).alias("votes"))
        items.append(snapshot.scan_ratings().filter(visible).select(ITEM).unique().collect())
    elif benchmark is not None and benchmark.choices.height:
        sides = [benchmark.choices.select(pl.col(side).alias("stimulus"), "question") for side in ("first", "second")]
        items.append(pl.concat(sides).filter(visible))
    return PublicFacts(
        study=study,
        stimuli=_with_parts(stimuli, benchmark),
        labels=table.cast(LABELS),  # type: ignore[arg-type]  # polars' own alias is narrower
        counts=counts,
        items=pl.concat(items).unique(maintain_order=True),
        media=media_paths(stimuli, root),
        confidence=confidence,
    )


def _sources(folder: Path) -> tuple[Snapshot | None, Benchmark | None]:
    if is_snapshot(folder):
        return load(folder), None
    if _is_benchmark(folder):
        return None, load_benchmark(folder)
    snapshot = load(folder / "snapshot") if is_snapshot(folder / "snapshot") else None
    benchmark = load_benchmark(folder / "benchmark") if _is_benchmark(folder / "benchmark") else None
    if snapshot is None and benchmark is None:
        raise InputError(
            f"{folder} is not a published folder, a snapshot or a benchmark.",
            "Point to what heartfelt publish, import or freeze wrote.",
        )
    return snapshot, benchmark


def _is_benchmark(folder: Path) -> bool:
    try:
        return '"heartfelt_benchmark"' in (folder / "manifest.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _parts(stimuli: pl.DataFrame, benchmark: Benchmark | None) -> pl.DataFrame | None:
    """``stimulus, split`` of every stimulus; None where there are no parts."""
    if benchmark is not None:
        return assigned(groups_of(stimuli, benchmark.split.by), benchmark.split).select("stimulus", "split")
    return stimuli.select("stimulus", SPLIT) if SPLIT in stimuli.columns else None


def _hidden(stimuli: pl.DataFrame, benchmark: Benchmark | None, hold_out: str | None, folder: Path) -> list[str]:
    """The stimuli of the part that is held out."""
    if hold_out is None:
        return []
    parts = _parts(stimuli, benchmark)
    part_names = [] if parts is None else parts["split"].drop_nulls().unique().sort().to_list()
    if parts is None or hold_out not in part_names:
        hint = f"Parts: {', '.join(part_names)}." if part_names else "Point to a benchmark, which has parts."
        raise InputError(f"{folder} has no part '{hold_out}' to hold out.", hint)
    return parts.filter(pl.col("split") == hold_out)["stimulus"].to_list()


def _with_parts(stimuli: pl.DataFrame, benchmark: Benchmark | None) -> pl.DataFrame:
    parts = _parts(stimuli, benchmark)
    if parts is None:
        return stimuli
    return stimuli.drop(SPLIT, strict=False).join(parts, on="stimulus", how="left", maintain_order="left")
