"""Holding out a part: what people said about its stimuli stays private, everything else is published.

The public snapshot has the held-out stimuli and media, and nothing that people said about them: no ratings, traces, adjudications,
published means, verified fields or ledger entries. A trial in which stimuli were judged together goes as a whole if any of them is
held out. The public benchmark is frozen from the public snapshot alone, so that labels which pool over items (Dawid-Skene,
ITU-T P.910, strengths) carry nothing of the held-out ratings either. The private benchmark has the labels of every part.

Stimuli and items may bring columns of their own, and one of them may repeat the labels, as published means do. Such a column is
emptied for the held-out stimuli: one whose rank correlation with the held-out labels of a question is at least ``GIVES_AWAY``, or
one of few values that decide the category in at least that share of the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import Benchmark, LabelOptions, SplitOptions, freeze
from heartfelt.publishing.release import Step
from heartfelt.publishing.splits import placed_by
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import TRIAL, has_sets
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.tables import STIMULI
from heartfelt.wording import plural

GIVES_AWAY = 0.9
"""How closely a column must agree with held-out labels to count as a copy of them."""
LEAST_ITEMS = 8
"""A correlation over fewer items says nothing about a copy."""
BY_PEOPLE = ("verdict", "final", "verified_by", "first")
"""Columns of a field that only a person fills in."""
_ABOUT = {
    "ratings": "ratings",
    "traces": "traces",
    "fields": "fields that people verified",
    "means": "published means",
    "adjudications": "adjudications",
    "ledger": "ledger entries",
}


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A snapshot divided into what is published and what is not."""

    part: str
    snapshot: Snapshot
    """To be published."""
    benchmark: Benchmark | None
    """Labels and splits to be published; it lists the held-out stimuli, without labels. None where nothing else has a label."""
    why_no_benchmark: str | None
    private: Benchmark
    """The labels of every part, never to be published."""
    to_predict: pl.DataFrame
    """``stimulus, question`` of everything asked in the held-out part, whether or not it has a label."""
    steps: tuple[Step, ...]


def hold_out(
    snapshot: Snapshot, part: str, split: SplitOptions | None = None, labels: LabelOptions | None = None
) -> HeldOut:
    """Divide a snapshot (already anonymised) by holding out one part of a split."""
    split = split or SplitOptions()
    if part not in split.shares:
        raise InputError(
            f"The split has no part '{part}' to hold out.", suggestion(part, split.shares, "Parts")
        )
    private = freeze(snapshot, labels, split)
    placed = placed_by(snapshot.without_probes.stimuli, split)
    hidden = placed.filter(pl.col("split") == part)["stimulus"].to_list()
    if not private.part(part).height and not (private.choices["split"] == part).any():
        raise InputError(
            f"The part '{part}' has no labels to hold out: {plural(len(hidden), 'stimulus', 'stimuli')} fell into it.",
            "Choose another seed or grouping, larger shares, or name the groups to hold out.",
        )
    public, steps = _public(snapshot, part, hidden, private)
    benchmark, why = _public_benchmark(public, part, private, labels)
    asked = public.items.filter(pl.col("stimulus").is_in(hidden)).select("stimulus", "question")
    return HeldOut(part, public, benchmark, why, private, asked.sort("stimulus", "question"), tuple(steps))


def _public(
    snapshot: Snapshot, part: str, hidden: list[str], private: Benchmark
) -> tuple[Snapshot, list[Step]]:
    held, settings = pl.col("stimulus").is_in(hidden), {"part": part, "by": private.split.by}
    ratings = snapshot.scan_ratings().filter(~held)
    if has_sets(ratings):
        trials = snapshot.scan_ratings().filter(held).select(*TRIAL).drop_nulls("trial").unique()
        ratings = ratings.join(trials, on=TRIAL, how="anti", nulls_equal=True, maintain_order="left")
    people = [name for name in BY_PEOPLE if name in snapshot.fields.columns]
    by_people = pl.any_horizontal(pl.col(people).is_not_null()) if people else pl.lit(False)
    public_rows = dict.fromkeys(("traces", "means", "adjudications"), ~held)
    public_rows |= {"fields": ~(held & by_people), "ledger": ~held.fill_null(False)}
    tables = {name: snapshot.table(name) for name in public_rows}
    tables = {
        name: frame.filter(public_rows[name]) if "stimulus" in frame.columns else frame
        for name, frame in tables.items()
    }
    stimuli, items = snapshot.stimuli, snapshot.table("items")
    copies = list(_copies(stimuli, items, private, part))
    for table, column in copies:
        emptied = pl.when(~held).then(pl.col(column)).alias(column)
        if table == "stimuli":
            stimuli = stimuli.with_columns(emptied)
        else:
            items = items.with_columns(emptied)
    public = Snapshot.build(
        snapshot.study,
        stimuli=stimuli,
        ratings=ratings if snapshot.ratings_file is not None else ratings.collect(),
        raters=snapshot.raters,
        source=snapshot.source,
        items=items,
        **tables,
    )
    removed = {"ratings": snapshot.survey.ratings - public.survey.ratings}
    removed |= {name: snapshot.table(name).height - frame.height for name, frame in tables.items()}
    of_part = f"of the {plural(len(hidden), 'stimulus', 'stimuli')} in the part '{part}'"
    steps = [
        Step("hold-out", name, None, f"{rows:,} {_ABOUT[name]} {of_part} are held out.", rows, None, settings)
        for name, rows in removed.items()
        if rows
    ]
    for table, column in copies:
        about = f"The column '{column}' is emptied for {of_part[3:]}: it repeats their labels."
        steps.append(Step("hold-out", table, column, about, len(hidden), None, settings))
    return public, steps


def _public_benchmark(
    public: Snapshot, part: str, private: Benchmark, labels: LabelOptions | None
) -> tuple[Benchmark | None, str | None]:
    """The benchmark of the public ratings, with the held-out stimuli listed so that the whole split can be validated."""
    split = private.split
    present = {group: place for group, place in split.fixed.items() if place != part}
    try:
        made = freeze(public, labels, replace(split, fixed=present))
    except InputError as error:
        return None, error.problem
    listed = pl.concat([made.stimuli["stimulus"], private.stimuli["stimulus"]]).unique().to_list()
    stimuli = public.stimuli.filter(pl.col("stimulus").is_in(listed))
    note = f"The labels of the part '{part}' are held out: its stimuli are listed without labels."
    return replace(made, stimuli=stimuli, split=split, notes=(*made.notes, note)), None


def _copies(
    stimuli: pl.DataFrame, items: pl.DataFrame, private: Benchmark, part: str
) -> Iterator[tuple[str, str]]:
    """``table, column`` of every column that repeats the held-out labels of a question."""
    labels = private.part(part).select("stimulus", "question", pl.col("label").alias("_label"))
    known = {*STIMULI.names, "question", SPLIT, private.split.by}
    categories = [q.id for q in private.study.asked if private.study.scale_of(q.id).labels()]
    for table, frame, on in (
        ("stimuli", stimuli, ["stimulus"]),
        ("items", items, ["stimulus", "question"]),
    ):
        columns = [name for name in frame.columns if name not in known]
        both = frame.select(*on, *columns).join(labels, on=on, how="inner")
        for name in columns:
            own = both.select("question", "_label", pl.col(name).alias("_own")).drop_nulls()
            for _, rows in own.group_by("question"):
                if rows.height >= LEAST_ITEMS and (
                    _follows(rows) or (rows["question"][0] in categories and _decides(rows))
                ):
                    yield table, name
                    break


def _follows(rows: pl.DataFrame) -> bool:
    """Whether a column of numbers, or of texts that are numbers, rises or falls with the labels."""
    if not (rows["_own"].dtype.is_numeric() or rows["_own"].dtype == pl.String):
        return False
    numbers = rows.select("_label", pl.col("_own").cast(pl.Float64, strict=False).fill_nan(None)).drop_nulls()
    if numbers.height < max(LEAST_ITEMS, 0.9 * rows.height):
        return False
    agreement = numbers.select(pl.corr("_own", "_label", method="spearman")).item()
    return agreement is not None and abs(agreement) >= GIVES_AWAY


def _decides(rows: pl.DataFrame) -> bool:
    """Whether a column of few values says which category the label is."""
    values = rows["_own"].n_unique()
    if rows["_own"].dtype not in (pl.String, pl.Boolean) or values > rows.height / 4:
        return False
    most = rows["_label"].value_counts()["count"].to_list()
    right = rows.group_by("_own").agg(pl.col("_label").value_counts().struct.field("count").max().alias("n"))
    return max(most) <= 0.8 * rows.height and right["n"].sum() >= GIVES_AWAY * rows.height
