"""``means``: one row per stimulus with mean, spread and count; no single ratings.

Many data sets publish no more than this. The snapshot then holds means and no ratings; whatever needs to know who rated
what says so in place of a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.anchors import with_anchors
from heartfelt.formats.columns import ids, numbers, unique_keys, whole_numbers
from heartfelt.formats.delimited import csv_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.source_table import id_notes
from heartfelt.formats.tabular import (
    COMMON_OPTIONS,
    UNSTATED,
    compile_pattern,
    describe,
    locate,
    new_names,
    opened,
    pick,
    stated_references,
    stated_scale,
    tidy_name,
    with_media,
)
from heartfelt.media.probe import PROBED
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.tables import number_types

ONE_QUESTION = "rating"
MEAN_WORDS, SD_WORDS, N_WORDS = ("mean", "mos", "avg"), ("sd", "std", "stdev"), ("n", "count", "num", "votes")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where one question's mean, spread and count stand."""

    mean: str
    sd: str | None = None
    n: str | None = None


class Means(Format):
    """Published means, with spread and count where they are given."""

    name: ClassVar[str] = "means"
    about: ClassVar[str] = "one row per stimulus with mean, spread and count; no raters"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "column of the stimulus id",
        "mean": "the mean's column, or its pattern such as {question}_mean or mos_{question}",
        "sd": "the standard deviation's column or pattern",
        "n": "the count's column or pattern",
        "question": "the name of the only question, where the pattern has no {question}",
        "system": "column of the system",
        "intent": "column of the intent",
        "prompt": "column of the prompt",
        **COMMON_OPTIONS,
    }

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the means; there are no ratings and no raters in such data."""
        path = locate(source)
        where = str(path)
        table = opened(path, options)
        frame = table.collect()
        if not frame.height:
            raise InputError(
                f"{path} has a header but no rows.", "Point to a table with one row per stimulus."
            )
        key = str(pick(frame.columns, "stimulus", options, where))
        unique_keys(frame, [key], where)
        questions = _questions(frame.columns, options, where)
        renamed = new_names(options, questions)
        questions = {renamed.get(question, question): columns for question, columns in questions.items()}
        tables = []
        for question, columns in questions.items():
            parts = [numbers(frame, columns.mean, where).alias("mean")]
            if columns.sd:
                parts.append(_not_negative(numbers(frame, columns.sd, where), columns.sd, where).alias("sd"))
            if columns.n:
                parts.append(
                    _not_negative(whole_numbers(frame, columns.n, where), columns.n, where).alias("n")
                )
            tables.append(
                pl.DataFrame([ids(frame[key]).alias("stimulus"), *parts]).with_columns(
                    pl.lit(question).alias("question")
                )
            )
        means = pl.concat(tables, how="diagonal")
        used = {c for columns in questions.values() for c in (columns.mean, columns.sd, columns.n) if c}
        rename = {options[role]: role for role in ("system", "intent", "prompt") if role in options}
        for column, role in rename.items():
            pick(frame.columns, role, {role: column}, where)
        stimuli = (
            frame.with_columns(ids(frame[key]).alias(key)).drop(used).rename({key: "stimulus", **rename})
        )
        stimuli = number_types(stimuli, keep=["stimulus", "system", "intent", "prompt", "path"])
        stimuli, root, kind = with_media(stimuli, source, path, options, progress)
        scales = {question: stated_scale(question, options) or UNSTATED for question in questions}
        for question, scale in scales.items():
            _on_scale(means, question, scale.bounds(), where)
        references = stated_references(options, path.parent)
        study = describe(tidy_name(path, options), scales, stimuli, kind, references)
        study = with_anchors(study, stimuli, options, str(path))
        notes = (*table.notes, *id_notes(frame[key], "stimulus"))
        made = Source(self.name, path.name, dict(options), root, notes=notes)
        return Snapshot.build(study, stimuli=stimuli, means=means, source=made, ledger=table.ledger)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``means.csv``; where there are ratings, their means, standard deviations and counts."""
        means = published_or_computed(snapshot)
        wide = snapshot.stimuli.drop([c for c in PROBED if c in snapshot.stimuli.columns])
        for question in means["question"].unique(maintain_order=True):
            mine = means.filter(pl.col("question") == question).drop("question")
            mine = mine.select(
                "stimulus",
                *(pl.col(c).alias(f"{question}_{c}") for c in ("mean", "sd", "n") if c in mine.columns),
            )
            wide = wide.join(mine, on="stimulus", how="left", maintain_order="left")
        write_text(target / "means.csv", csv_text(wide))

    def example(self, folder: Path) -> Path:
        """Three photographs with norms."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "norms.csv"
        write_text(
            path,
            "file,category,valence_mean,valence_sd,valence_n,arousal_mean,arousal_sd,arousal_n\n"
            "a.jpg,Object,4.7,0.95,102,2.3,1.6,101\nb.jpg,Person,6.1,1.2,99,4.4,1.5,100\nc.jpg,Animal,2.25,1.3,101,5.0,1.7,98\n",
        )
        return path


def published_or_computed(snapshot: Snapshot) -> pl.DataFrame:
    """The published means, or those of the ratings."""
    if snapshot.means.height:
        return snapshot.means
    return (
        snapshot.ratings.filter(pl.col("value").is_not_null())
        .group_by("stimulus", "question", maintain_order=True)
        .agg(pl.mean("value").alias("mean"), pl.std("value").alias("sd"), pl.len().cast(pl.Int64).alias("n"))
    )


def _questions(columns: list[str], options: Mapping[str, str], where: str) -> dict[str, Columns]:
    given = {role: options[role] for role in ("mean", "sd", "n") if role in options}
    if "mean" in given:
        found = {role: _matching(columns, pattern, where, options) for role, pattern in given.items()}
    else:
        found = {
            role: _usual(columns, words)
            for role, words in (("mean", MEAN_WORDS), ("sd", SD_WORDS), ("n", N_WORDS))
        }
        if not found["mean"] and (only := [c for c in columns if c.casefold() in MEAN_WORDS]):
            found = {"mean": {options.get("question", ONE_QUESTION): only[0]}}
            for role, words in (("sd", SD_WORDS), ("n", N_WORDS)):
                one = [c for c in columns if c.casefold() in words]
                found[role] = {options.get("question", ONE_QUESTION): one[0]} if one else {}
    if not found["mean"]:
        raise InputError(
            f"{where}: no column is unmistakably a mean.",
            "Give a pattern such as --map mean={question}_mean. The columns are: "
            + ", ".join(columns[:30])
            + ".",
        )
    return {
        q: Columns(c, found.get("sd", {}).get(q), found.get("n", {}).get(q)) for q, c in found["mean"].items()
    }


def _matching(columns: list[str], pattern: str, where: str, options: Mapping[str, str]) -> dict[str, str]:
    if "{" not in pattern:
        pick(columns, "value", {"value": pattern}, where)
        return {options.get("question", ONE_QUESTION): pattern}
    shape = compile_pattern(pattern, ["question"])
    out = {match["question"]: column for column in columns if (match := shape.fullmatch(column))}
    if not out:
        raise InputError(
            f"{where}: no column name fits the pattern '{pattern}'.",
            f"The columns are: {', '.join(columns[:30])}.",
        )
    return out


def _usual(columns: list[str], words: tuple[str, ...]) -> dict[str, str]:
    out: dict[str, str] = {}
    for column in columns:
        for word in words:
            match = re.fullmatch(rf"(?P<q>.+)[_. ]{word}|{word}[_. ](?P<p>.+)", column, re.IGNORECASE)
            if match:
                out[match["q"] or match["p"]] = column
    return out


def _not_negative(series: pl.Series, column: str, where: str) -> pl.Series:
    bad = (series < 0).fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + 2}, column '{column}': {series[row]:g} is below 0.",
            "Correct the cell, or leave it empty.",
        )
    return series


def _on_scale(means: pl.DataFrame, question: str, bounds: tuple[float, float] | None, where: str) -> None:
    if bounds is None:
        return
    off = means.filter((pl.col("question") == question) & ~pl.col("mean").is_between(*bounds))
    if off.height:
        row = off.row(0, named=True)
        raise InputError(
            f"{where}: the mean of '{question}' for '{row['stimulus']}' is {row['mean']:g}, off its scale"
            f" ({bounds[0]:g} to {bounds[1]:g}; {off.height} such means).",
            "Correct the means, or state the scale that was used.",
        )


FORMATS.add(Means.name, Means())
