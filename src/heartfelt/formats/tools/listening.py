"""Listening tests: BeaqleJS and Go Listen. Both are read with the columns that webMUSHRA gives its results."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.format import FORMATS
from heartfelt.formats.tables.json_files import read_json, text_of
from heartfelt.formats.tables.source_table import SourceTable
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
        tests = [(path.stem, test) for path in paths for test in _tests(path)]
        rows = [grade for listener, test in tests for grade in _grades(test, listener)]
        if not rows:
            raise InputError(
                f"{source} holds no MUSHRA ratings.", "ABX results of BeaqleJS do not name the files compared."
            )
        notes = (
            f"{len(paths)} files were read; each is a listener, named after the file. Names and e-mail addresses were not read.",
        )
        reason = "test that was not taken, or an ABX test, whose result does not name its files"
        lost = [("row", listener, reason, "import") for listener, test in tests if _is_without_grades(test)]
        ledger = LEDGER.check(pl.DataFrame(lost, schema=_LEDGER, orient="row"), str(source)) if lost else None
        where = source / source.name if source.is_dir() else source
        graded = pl.DataFrame(rows, schema=_MUSHRA, strict=False).lazy()
        return "webmushra", selected(
            SourceTable(path=where, rows=graded, options={}, notes=notes, ledger=ledger), options
        )


def _tests(path: Path) -> list[object]:
    content: object = read_json(path)
    if not isinstance(content, list):
        raise InputError(f"{path} holds no list of tests.", "Point to results of BeaqleJS.")
    return content


def _is_without_grades(test: object) -> bool:
    return isinstance(test, bool) or (isinstance(test, dict) and "TestID" in test and "rating" not in test)


def _grades(test: object, listener: str) -> Iterator[dict[str, str | None]]:
    """The grades of one test; ``Runtime`` is the time of the whole test, in milliseconds."""
    if not isinstance(test, dict) or not isinstance(test.get("rating"), dict):
        return
    for condition, grade in test["rating"].items():
        if grade is not None:
            yield {
                "session_test_id": "beaqlejs",
                "session_uuid": listener,
                "trial_id": str(test["TestID"]),
                "rating_stimulus": "reference" if str(condition).lower() == "reference" else str(condition),
                "rating_score": str(grade),
                "rating_time": None if test.get("Runtime") is None else str(test["Runtime"]),
            }


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
        tags, titles, files, body = _go_listen_lines(source)
        rows = list(_listened(titles, _conditions(titles, files), tags, body))
        if not rows:
            raise InputError(f"{source} holds no ratings.", "A/B tests of Go Listen do not name the files compared.")
        notes = ("Listeners are numbered in the order of the rows; the names they entered were not read.",)
        answers = pl.DataFrame(rows, schema=_MUSHRA, strict=False).lazy()
        if not files:
            seconds = pl.col("rating_time").cast(pl.Float64, strict=False) / 1000
            answers = answers.select(
                rater="session_uuid",
                stimulus="trial_id",
                question=pl.lit("rating"),
                value="rating_score",
                seconds=seconds,
            )
        table = selected(SourceTable(path=source, rows=answers, options={}, notes=notes), options)
        return "webmushra" if files else "long", table


def _go_listen_lines(source: Path) -> tuple[list[str], list[str], list[str], list[list[str]]]:
    """The lines of tags, of titles and, in a MUSHRA test, of files, and those of listeners."""
    try:
        lines = [row for row in csv.reader(text_of(source).split("\n"), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"{source} cannot be read as CSV ({error}).", "Get a complete copy of the file.") from error
    if len(lines) < 3 or lines[1][:2] != ["Name", "Date"]:
        raise InputError(f"{source} is not a CSV of Go Listen.", "Its second line begins with Name and Date.")
    tags, titles, files = lines[0], lines[1], lines[2] if lines[2][:2] == ["", ""] else []
    first = 3 if files else 2
    for number, row in enumerate(lines[first:], first + 1):
        if len(row) != len(titles):
            raise InputError(
                f"{source}, line {number}: {len(row)} fields where the header has {len(titles)}.",
                "Get a complete copy of the file.",
            )
    return tags, titles, files, lines[first:]


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


def _listened(
    titles: list[str], files: list[str], tags: list[str], body: list[list[str]]
) -> Iterator[dict[str, str | None]]:
    """A row per grade; a title ends in ``rating``, holds for the unnamed columns to its right, and its time may follow."""
    trials: list[str | None] = []
    for title in map(str.strip, titles):
        continues = not title and bool(trials and files)
        named = title.removesuffix(" rating") if title.endswith(" rating") else None
        trials.append(trials[-1] if continues else named)
    times = [_time_column(titles, trials, start) for start in range(len(titles))]
    for number, row in enumerate(body, 1):
        graded = [(at, trial) for at, trial in enumerate(trials) if trial is not None and row[at].strip()]
        for at, trial in graded:
            time = times[at]
            yield {
                "session_test_id": "golisten",
                "session_uuid": f"listener{number}",
                "trial_id": trial,
                "rating_stimulus": files[at] if files else tags[at] or trial,
                "rating_score": row[at].strip(),
                "rating_time": None if time is None or not row[time].strip() else str(float(row[time]) * 1000),
            }


def _time_column(titles: list[str], trials: list[str | None], start: int) -> int | None:
    """The column of the time of a grade: the next one called so, with grades of trials alone between."""
    after = (at for at in range(start, len(titles)) if titles[at] == _TIME and None not in trials[start:at])
    return next(after, None)


for _format in (BeaqleJS(), GoListen()):
    FORMATS.add(_format.name, _format)
