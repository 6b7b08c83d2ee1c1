"""Listening tests: BeaqleJS and Go Listen. Both are read with the columns that webMUSHRA gives its results."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.format import FORMATS
from heartfelt.formats.json_files import read_json, text_of
from heartfelt.formats.source_table import SourceTable
from heartfelt.formats.tools.export import Layout, ToolExport, glance, selected
from heartfelt.tables import LEDGER

_LEDGER = dict.fromkeys(("what", "rater", "reason", "stage"), pl.String)
_MUSHRA = dict.fromkeys(
    ("session_test_id", "session_uuid", "trial_id", "rating_stimulus", "rating_score", "rating_time"), pl.String
)
_TIME = "Time (s)"


class BeaqleJS(ToolExport, layouts=("webmushra",)):
    """Results of BeaqleJS: a JSON text file per listener."""

    name = "beaqlejs"
    title = "BeaqleJS"
    about = "BeaqleJS: the folder 'results' with a text file per listener (MUSHRA)"
    example_data = "example/beaqlejs"

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        return look is not None and look.has_keys("TestID") and look.head.lstrip().startswith("[")

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per listener, test and file; the listener is the file, because names and e-mail addresses are personal."""
        paths = sorted(p for p in source.iterdir() if p.suffix in {".txt", ".json"}) if source.is_dir() else [source]
        if not paths:
            raise InputError(f"{source} holds no results.", "Point to the folder 'results' of BeaqleJS.")
        rows: list[dict[str, Any]] = []
        lost: list[dict[str, str]] = []
        for path in paths:
            content = read_json(path)
            if not isinstance(content, list):
                raise InputError(f"{path} holds no list of tests.", "Point to results of BeaqleJS.")
            for test in content:
                if isinstance(test, bool) or (isinstance(test, dict) and "TestID" in test and "rating" not in test):
                    reason = "test that was not taken, or an ABX test, whose result does not name its files"
                    lost.append({"what": "row", "rater": path.stem, "reason": reason, "stage": "import"})
                elif isinstance(test, dict) and isinstance(test.get("rating"), dict):
                    rows += _grades(test, path.stem)
        if not rows:
            raise InputError(
                f"{source} holds no MUSHRA ratings.", "ABX results of BeaqleJS do not name the files compared."
            )
        notes = [
            f"{len(paths)} files were read; each is a listener, named after the file. Names and e-mail addresses were not read."
        ]
        ledger = LEDGER.check(pl.DataFrame(lost, schema=_LEDGER), str(source)) if lost else None
        where = source / source.name if source.is_dir() else source
        graded = pl.DataFrame(rows, schema=_MUSHRA, strict=False).lazy()
        return "webmushra", selected(
            SourceTable(path=where, rows=graded, options={}, notes=tuple(notes), ledger=ledger), options
        )


def _grades(test: Mapping[str, Any], listener: str) -> list[dict[str, Any]]:
    """The grades of one test; ``Runtime`` is the time of the whole test, in milliseconds."""
    return [
        {
            "session_test_id": "beaqlejs",
            "session_uuid": listener,
            "trial_id": str(test["TestID"]),
            "rating_stimulus": "reference" if str(condition).lower() == "reference" else str(condition),
            "rating_score": str(grade),
            "rating_time": None if test.get("Runtime") is None else str(test["Runtime"]),
        }
        for condition, grade in test["rating"].items()
        if grade is not None
    ]


class GoListen(ToolExport, layouts=("webmushra", "long")):
    """A CSV of Go Listen."""

    name = "golisten"
    title = "Go Listen"
    about = "Go Listen: the CSV of a MUSHRA or ACR test"
    example_data = "example/golisten.csv"

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        rows = () if look is None else look.rows
        return len(rows) > 1 and rows[0][:1] == ("Tags",) and rows[1][:2] == ("Name", "Date")

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per listener and file; listeners are numbered, because what they enter as name is personal."""
        if source.is_dir():
            tables = sorted(source.glob("*.csv"))
            if len(tables) != 1:
                raise InputError(f"{source} holds {len(tables)} CSV files.", "Point to the one to read.")
            source = tables[0]
        try:
            lines = [row for row in csv.reader(text_of(source).split("\n"), strict=True) if row]
        except csv.Error as error:
            raise InputError(
                f"{source} cannot be read as CSV ({error}).", "Get a complete copy of the file."
            ) from error
        if len(lines) < 3 or lines[1][:2] != ["Name", "Date"]:
            raise InputError(f"{source} is not a CSV of Go Listen.", "Its second line begins with Name and Date.")
        files = lines[2][:2] == ["", ""]
        titles, names, body = lines[1], lines[2] if files else [], lines[3 if files else 2 :]
        for number, row in enumerate(body, 4 if files else 3):
            if len(row) != len(titles):
                raise InputError(
                    f"{source}, line {number}: {len(row)} fields where the header has {len(titles)}.",
                    "Get a complete copy of the file.",
                )
        rows = _listened(titles, _conditions(titles, names), lines[0], body)
        if not rows:
            raise InputError(f"{source} holds no ratings.", "A/B tests of Go Listen do not name the files compared.")
        notes = ("Listeners are numbered in the order of the rows; the names they entered were not read.",)
        answers = pl.DataFrame(rows, schema=_MUSHRA, strict=False)
        if files:
            return "webmushra", selected(
                SourceTable(path=source, rows=answers.lazy(), options={}, notes=notes), options
            )
        seconds = (pl.col("rating_time").cast(pl.Float64, strict=False) / 1000).alias("seconds")
        acr = answers.select(
            pl.col("session_uuid").alias("rater"), pl.col("trial_id").alias("stimulus"),
            pl.lit("rating").alias("question"), pl.col("rating_score").alias("value"), seconds,
        )  # fmt: skip
        return "long", selected(SourceTable(path=source, rows=acr.lazy(), options={}, notes=notes), options)


def _conditions(titles: list[str], files: list[str]) -> list[str]:
    """What is rated in each column: the file's name, without what all files of its trial have in common."""
    starts = [at for at, title in enumerate(titles) if title.strip().endswith(" rating")]
    ends = [*starts[1:], len(titles)]
    short = [*files]
    for start, end in zip(starts, ends, strict=True) if files else ():
        stems = {at: Path(files[at]).stem for at in range(start, end) if files[at]}
        shared = _shared_start(list(stems.values()))
        cut = max(shared.rfind("_"), shared.rfind("-")) + 1
        for at, stem in stems.items():
            short[at] = stem[cut:]
    return short


def _shared_start(names: list[str]) -> str:
    """The characters with which all names begin."""
    alike = [len(set(letters)) == 1 for letters in zip(*names, strict=False)]
    return names[0][: [*alike, False].index(False)] if names else ""


def _listened(titles: list[str], files: list[str], tags: list[str], body: list[list[str]]) -> list[dict[str, Any]]:
    """A row per grade; a title ends in ``rating``, holds for the unnamed columns to its right, and its time may follow."""
    rows: list[dict[str, Any]] = []
    trials: list[str | None] = []
    for title in titles:
        named = title.strip()
        if named.endswith(" rating"):
            trials.append(named.removesuffix(" rating"))
        elif not named and trials and files:
            trials.append(trials[-1])
        else:
            trials.append(None)
    times = [
        next((at for at in range(start, len(titles)) if titles[at] == _TIME and None not in trials[start:at]), None)
        for start in range(len(titles))
    ]
    for number, row in enumerate(body, 1):
        for at, trial in enumerate(trials):
            grade = row[at].strip()
            if trial is None or not grade:
                continue
            time_column = times[at]
            seconds = float(row[time_column]) if time_column is not None and row[time_column].strip() else None
            rows.append(
                {
                    "session_test_id": "golisten",
                    "session_uuid": f"listener{number}",
                    "trial_id": trial,
                    "rating_stimulus": files[at] if files else tags[at] or trial,
                    "rating_score": grade,
                    "rating_time": None if seconds is None else str(seconds * 1000),
                }
            )
    return rows


for _format in (BeaqleJS(), GoListen()):
    FORMATS.add(_format.name, _format)
