"""``wide``: one row per rater, or per stimulus, and one column per item.

``rows=rater`` (the usual survey export): the columns that fit the pattern, ``{question}_{stimulus}`` if none is given, hold
answers; the others describe the rater. ``rows=stimulus``: the columns that fit hold one rater's answers each
(``{rater}`` or ``{question}_{rater}``); the others describe the stimulus. An empty cell is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.files import write_text
from heartfelt.formats.columns import ids, numbers, read_table, unique_keys
from heartfelt.formats.delimited import csv_text
from heartfelt.formats.format import FORMATS, Format, Progress
from heartfelt.formats.tabular import (
    COMMON_OPTIONS,
    UNSTATED,
    compile_pattern,
    describe,
    locate,
    pick,
    side_table,
    stated_scale,
    tidy_name,
    with_media,
)
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.scale import AnyScale, Categories
from heartfelt.tables import lossless_types

PATTERN = "{question}_{stimulus}"
ONE_QUESTION = "rating"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one column of answers is about: the question, and the stimulus or the rater."""

    column: str
    question: str
    other: str


class Wide(Format):
    """One row per rater or stimulus, one column per item."""

    name: ClassVar[str] = "wide"
    about: ClassVar[str] = "one row per rater (or stimulus), one column per item"
    options: ClassVar[Mapping[str, str]] = {
        "rows": "rater or stimulus: what a row is; rater if left out",
        "id": "column of the row's id; rows are numbered if there is none",
        "pattern": "how answer columns are named: {question}_{stimulus}, {stimulus}, {question}_{rater}, {rater}",
        "question": "the name of the only question, where the pattern has no {question}",
        "stimuli": "a table of stimuli beside this one",
        **COMMON_OPTIONS,
    }

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the table; cells that are empty are no ratings."""
        path = locate(source)
        frame = read_table(path, options.get("delimiter"))
        rows = options.get("rows", "rater")
        if rows not in {"rater", "stimulus"}:
            raise InputError(
                f"rows={rows} is not possible.", suggestion(rows, ["rater", "stimulus"], "A row is a")
            )
        other = "stimulus" if rows == "rater" else "rater"
        frame, key = _with_id(frame, rows, options, str(path))
        cells = _cells(frame, key, rows, other, options, path)
        described = lossless_types(
            frame.select(pl.col(key).alias(rows), pl.exclude(key, *(c.column for c in cells))), keep=[rows]
        )
        ratings, scales = _ratings(frame, key, rows, other, cells, options, str(path))
        names = pl.DataFrame(
            {other: list(dict.fromkeys(cell.other for cell in cells))}, schema={other: pl.String}
        )
        stimuli, raters = (names, described) if rows == "rater" else (described, names)
        if "stimuli" in options:
            listed = side_table(path.parent / options["stimuli"], "stimulus", {})
            stimuli = stimuli.join(listed, on="stimulus", how="full", coalesce=True, maintain_order="left")
        stimuli, root, kind = with_media(stimuli, source, path, options, progress)
        study = describe(tidy_name(path, options), scales, stimuli, kind)
        return Snapshot.build(
            study,
            stimuli=stimuli,
            ratings=ratings,
            raters=raters,
            source=Source(self.name, path.name, dict(options), root),
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``ratings.csv`` with one row per rater, columns named ``{question}_{stimulus}``."""
        ratings = snapshot.ratings
        if ratings["rater"].null_count():
            raise InputError("These ratings do not say who gave them.", "Write them as 'votes' instead.")
        if "repeat" in ratings.columns:
            ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
        answer = pl.col("value").cast(pl.String).str.strip_suffix(".0")
        cell = pl.coalesce("answer", answer) if "answer" in ratings.columns else answer
        tall = ratings.select(
            "rater", pl.format("{}_{}", "question", "stimulus").alias("item"), cell.alias("cell")
        )
        wide = tall.pivot("item", index="rater", values="cell", maintain_order=True)
        write_text(
            target / "ratings.csv",
            csv_text(snapshot.raters.join(wide, on="rater", how="left", maintain_order="left")),
        )

    def example(self, folder: Path) -> Path:
        """Four people, three photographs, valence and arousal, with gaps and their ages."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "survey.csv"
        write_text(
            path,
            "person,age,valence_1,valence_2,valence_3,arousal_1,arousal_2,arousal_3\n"
            "p1,31,7,2,,4,6,\np2,24,6,,3,5,,5\np3,45,,1,4,,7,4\np4,52,7,3,4,3,6,5\n",
        )
        return path

    def example_options(self) -> Mapping[str, str]:
        """The scale is stated."""
        return {"scale": "1-7"}


def _with_id(
    frame: pl.DataFrame, rows: str, options: Mapping[str, str], where: str
) -> tuple[pl.DataFrame, str]:
    key = options.get("id")
    if key is not None:
        pick(frame.columns, rows, {rows: key}, where)
    else:
        key = pick(frame.columns, rows, {}, where, required=False)
        if key is not None and (frame[key].null_count() or frame[key].is_duplicated().any()):
            key = None
    if key is None:
        key = f"{rows}_row"
        frame = frame.with_columns(pl.format("row{}", pl.int_range(1, pl.len() + 1)).alias(key))
    frame = frame.with_columns(ids(frame[key]).alias(key))
    unique_keys(frame, [key], where)
    return frame, key


def _cells(
    frame: pl.DataFrame, key: str, rows: str, other: str, options: Mapping[str, str], path: Path
) -> list[Cell]:
    pattern = options.get("pattern", PATTERN if rows == "rater" else "{question}_{rater}")
    shape = compile_pattern(pattern, ["question", other])
    guess = "pattern" not in options
    cells: list[Cell] = []
    for column in frame.columns:
        found = shape.fullmatch(column)
        if column == key or found is None or (guess and not re.search(r"\d$", column)):
            continue
        parts = found.groupdict()
        cells.append(
            Cell(
                column,
                parts.get("question") or options.get("question", ONE_QUESTION),
                parts.get(other) or ONE_QUESTION,
            )
        )
    if guess:
        cells = _repeated(cells)
    if not cells:
        raise InputError(
            f"{path}: no column name fits the pattern '{pattern}'.",
            f"Give the pattern with --map pattern=…. The columns are: {', '.join(frame.columns[:20])}.",
        )
    return cells


def _repeated(cells: list[Cell]) -> list[Cell]:
    """Without a pattern given, a question must come with at least two items: ``age_1`` alone is no question."""
    times: dict[str, int] = {}
    for cell in cells:
        times[cell.question] = times.get(cell.question, 0) + 1
    return [cell for cell in cells if times[cell.question] > 1]


def _ratings(
    frame: pl.DataFrame,
    key: str,
    rows: str,
    other: str,
    cells: list[Cell],
    options: Mapping[str, str],
    where: str,
) -> tuple[pl.DataFrame, dict[str, AnyScale]]:
    tables: list[pl.DataFrame] = []
    scales: dict[str, AnyScale] = {}
    for question in dict.fromkeys(cell.question for cell in cells):
        mine = {cell.column: cell.other for cell in cells if cell.question == question}
        scale = stated_scale(question, options)
        if scale is None and _in_words(frame, list(mine)):
            words = (
                frame.select(list(mine)).unpivot().get_column("value").drop_nulls().unique().sort().to_list()
            )
            scale = Categories(type="categories", categories=words) if len(words) > 1 else None
        scales[question] = scale or UNSTATED
        if scale is not None and scale.level in {"nominal", "ordinal", "text"}:
            answers = frame.select(key, *(pl.col(c).cast(pl.String) for c in mine))
        else:
            answers = frame.select(key, *(numbers(frame, c, where) for c in mine))
        tall = answers.unpivot(list(mine), index=key, variable_name="column", value_name="given").drop_nulls(
            "given"
        )
        tall = tall.with_columns(
            pl.col("column").replace_strict(mine, return_dtype=pl.String).alias(other),
            pl.lit(question).alias("question"),
        )
        tall = tall.rename({key: rows})
        tables.append(_coded(tall, scales[question], where))
    return pl.concat(tables, how="diagonal"), scales


def _in_words(frame: pl.DataFrame, columns: list[str]) -> bool:
    texts = [frame[c] for c in columns if frame.schema[c] == pl.String]
    present = [t.drop_nulls() for t in texts]
    return (
        bool(texts)
        and all(p.cast(pl.Float64, strict=False).is_null().all() for p in present)
        and any(p.len() for p in present)
    )


def _coded(tall: pl.DataFrame, scale: AnyScale, where: str) -> pl.DataFrame:
    if tall.schema["given"].is_numeric():
        return tall.select("rater", "stimulus", "question", pl.col("given").alias("value"))
    coded: dict[str, tuple[float | None, str | None]] = {}
    for given in tall["given"].unique():
        try:
            coded[given] = scale.read(given)
        except InputError as error:
            row = tall.filter(pl.col("given") == given).row(0, named=True)
            raise InputError(
                f"{where}, column '{row['column']}', rater '{row['rater']}': {error.problem}", error.fix
            ) from error
    value = pl.Series("value", [coded[g][0] for g in tall["given"]], dtype=pl.Float64)
    answer = pl.Series("answer", [coded[g][1] for g in tall["given"]], dtype=pl.String)
    return tall.select("rater", "stimulus", "question").with_columns(value, answer)


FORMATS.add(Wide.name, Wide())
