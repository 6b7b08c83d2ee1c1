"""``votes``: one row per item, and a count per category.

Who voted is not known, so each vote becomes a rating without a rater. Statistics that only need the votes of an item
(Fleiss kappa, alpha, label distributions) work; those that need to know who rated what say why they are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.anchors import with_anchors
from heartfelt.formats.columns import ids, numbers, unique_keys
from heartfelt.formats.delimited import csv_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.source_table import id_notes
from heartfelt.formats.tabular import (
    COMMON_OPTIONS,
    compile_pattern,
    describe,
    locate,
    new_names,
    opened,
    pick,
    stated_references,
    tidy_name,
    with_media,
)
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.scale import AnyScale, Categories, Category, Ordered
from heartfelt.tables import number_types

TOTALS = {
    "n",
    "total",
    "votes",
    "count",
    "n_raters",
    "num_raters",
    "num_annotators",
    "n_votes",
    "total_votes",
    "sum",
}


class Votes(Format):
    """A count per category for each item."""

    name: ClassVar[str] = "votes"
    about: ClassVar[str] = "one row per item with a count per category; no raters"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "column of the stimulus id; rows are numbered if there is none",
        "question": "column that names the question, or the name of the only question",
        "categories": "the count columns, with commas; every column of whole numbers that is no total if left out",
        "pattern": "how count columns are named, such as {category}_votes",
        "ordered": "yes if the categories are in order, lowest first",
        "values": "the code of each category, with commas; 0, 1, 2 … if left out",
        **{key: text for key, text in COMMON_OPTIONS.items() if key != "scale"},
    }

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the counts; each vote becomes a rating whose rater is unknown."""
        path = locate(source)
        where = str(path)
        table = opened(path, options)
        frame = table.collect()
        if not frame.height:
            raise InputError(f"{path} has a header but no rows.", "Point to a table with one row per item.")
        key = options.get("stimulus") or pick(frame.columns, "stimulus", {}, where, required=False)
        if key is None:
            key = "item_row"
            frame = frame.with_columns(pl.format("item{}", pl.int_range(1, pl.len() + 1)).alias(key))
        pick(frame.columns, "stimulus", {"stimulus": key}, where)
        asked = options.get("question", "question")
        question = asked if asked in frame.columns and asked != key else None
        unique_keys(frame, [key] if question is None else [key, question], where)
        columns = _columns(frame, [key, *([question] if question else [])], options, where)
        counts = [_counts(frame, column, where) for column in columns]
        asked_in = (
            frame[question].cast(pl.String).drop_nulls().unique().to_list()
            if question
            else [options.get("question", "category")]
        )
        renamed = new_names(options, asked_in)
        base = frame.select(
            ids(frame[key]).alias("stimulus"),
            (pl.col(question).cast(pl.String) if question else pl.lit(options.get("question", "category")))
            .replace(renamed)
            .alias("question"),
        ).with_columns(count.alias(f"\0{name}") for name, count in zip(columns.values(), counts, strict=True))
        scale = _scale(list(columns.values()), options)
        codes = {name: code for code, name in scale.labels().items()}
        tall = base.unpivot(
            pl.selectors.starts_with("\0"),
            index=["stimulus", "question"],
            variable_name="answer",
            value_name="votes",
        )
        tall = tall.with_columns(pl.col("answer").str.strip_prefix("\0")).filter(pl.col("votes") > 0)
        ratings = tall.select(pl.exclude("votes").repeat_by("votes").explode(empty_as_null=False)).select(
            pl.lit(None, dtype=pl.String).alias("rater"),
            "stimulus",
            "question",
            pl.col("answer").replace_strict(codes, return_dtype=pl.Float64).alias("value"),
            "answer",
        )
        extras = [n for n in frame.columns if n not in {key, question, *columns}]
        items = number_types(
            base.select("stimulus", "question").with_columns(frame.select(extras).get_columns()),
            keep=["stimulus", "question"],
        )
        stimuli = base.select("stimulus").unique(maintain_order=True)
        stimuli, items = _move_constant(stimuli, items, ("system", "intent", "prompt", "path"))
        stimuli, root, kind = with_media(stimuli, source, path, options, progress)
        study = describe(
            tidy_name(path, options),
            dict.fromkeys(base["question"].unique(maintain_order=True), scale),
            stimuli,
            kind,
            stated_references(options, path.parent),
        )
        study = with_anchors(study, stimuli, options, str(path))
        notes = (*table.notes, *id_notes(frame[key], "stimulus"))
        return Snapshot.build(
            study,
            stimuli=stimuli,
            ratings=ratings,
            items=items,
            source=Source(self.name, path.name, dict(options), root, notes=notes),
            ledger=table.ledger,
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``votes.csv``: stimulus, question, and a count per category."""
        ratings = snapshot.ratings.filter(pl.col("value").is_not_null())
        labels = {q.id: snapshot.study.scale_of(q.id).labels() for q in snapshot.study.asked}
        if "answer" not in ratings.columns:
            ratings = ratings.with_columns(pl.lit(None, dtype=pl.String).alias("answer"))
        names = {(q, v): name for q, found in labels.items() for v, name in found.items()}
        ratings = ratings.with_columns(
            pl.coalesce("answer", pl.col("value").cast(pl.String).str.strip_suffix(".0")).alias("answer")
        )
        order = list(dict.fromkeys(names.values())) or ratings["answer"].unique().sort().to_list()
        wide = ratings.pivot(
            "answer",
            index=["stimulus", "question"],
            values="value",
            aggregate_function="len",
            maintain_order=True,
        )
        wide = wide.with_columns(pl.lit(0).alias(name) for name in order if name not in wide.columns)
        listed = snapshot.table("items")
        if listed.height:
            wide = listed.join(wide, on=["stimulus", "question"], how="left", maintain_order="left")
        counts = [name for name in wide.columns if name in order or name in set(ratings["answer"])]
        write_text(
            target / "votes.csv", csv_text(wide.with_columns(pl.col(counts).fill_null(0).cast(pl.Int64)))
        )

    def example(self, folder: Path) -> Path:
        """Five images, three emotions, one image nobody agreed on, and a total."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "votes.csv"
        write_text(
            path,
            "image,awe,fear,sadness,total\na.png,5,0,1,6\nb.png,2,2,2,6\nc.png,0,6,0,6\nd.png,0,1,4,5\ne.png,0,0,0,0\n",
        )
        return path


def _columns(
    frame: pl.DataFrame, taken: Sequence[str], options: Mapping[str, str], where: str
) -> dict[str, str]:
    """The count columns, each with the category it counts."""
    if "categories" in options:
        names = [name.strip() for name in options["categories"].split(",") if name.strip()]
        for name in names:
            pick(frame.columns, "value", {"value": name}, where)
        columns = {name: name for name in names}
    elif "pattern" in options:
        shape = compile_pattern(options["pattern"], ["category"])
        found = {name: shape.fullmatch(name) for name in frame.columns if name not in taken}
        columns = {name: match["category"] for name, match in found.items() if match}
    else:
        usual = compile_pattern("{category}_votes", ["category"])
        found = {name: usual.fullmatch(name) for name in frame.columns}
        columns = {name: match["category"] for name, match in found.items() if match} or _whole_columns(
            frame, taken
        )
    if len(columns) < 2:
        raise InputError(
            f"{where}: fewer than two columns hold counts.",
            f"Name them with --map categories=a,b,c. The columns are: {', '.join(frame.columns[:30])}.",
        )
    return columns


def _whole_columns(frame: pl.DataFrame, taken: Sequence[str]) -> dict[str, str]:
    whole: dict[str, pl.Series] = {}
    for name in frame.columns:
        if name in taken or name.casefold() in TOTALS:
            continue
        number = frame[name].cast(pl.Float64, strict=False)
        if number.null_count() == 0 and (number >= 0).all() and (number == number.floor()).all():
            whole[name] = number
    for name, column in list(whole.items()):
        rest = [other for key, other in whole.items() if key != name]
        if len(rest) > 1 and (sum(rest[1:], rest[0]) == column).all():
            del whole[name]
            break
    return {name: name for name in whole}


def _counts(frame: pl.DataFrame, name: str, where: str) -> pl.Series:
    counts = numbers(frame, name, where).fill_null(0)
    bad = (counts < 0) | (counts != counts.floor())
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + 2}, column '{name}': {counts[row]:g} is not a number of votes.",
            "Counts are whole numbers from 0. For proportions, multiply by the number of raters.",
        )
    return counts.cast(pl.Int64)


def _scale(names: list[str], options: Mapping[str, str]) -> AnyScale:
    values = (
        [float(v) for v in options["values"].split(",")]
        if "values" in options
        else [float(i) for i in range(len(names))]
    )
    if len(values) != len(names):
        raise InputError(
            f"There are {len(names)} categories and {len(values)} values.", f"Categories: {', '.join(names)}."
        )
    listed: list[Category | str] = [
        Category(id=n, value=v) if v != i else n for i, (n, v) in enumerate(zip(names, values, strict=True))
    ]
    if options.get("ordered", "no").lower() in {"yes", "true", "1"}:
        return Ordered(type="ordered", categories=listed)
    return Categories(type="categories", categories=listed)


def _move_constant(
    stimuli: pl.DataFrame, items: pl.DataFrame, names: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    for name in names:
        if name in items.columns:
            facts = items.select("stimulus", pl.col(name).cast(pl.String)).unique(maintain_order=True)
            if not facts["stimulus"].is_duplicated().any():
                stimuli = stimuli.join(facts, on="stimulus", how="left", maintain_order="left")
                items = items.drop(name)
    return stimuli, items


FORMATS.add(Votes.name, Votes())
