"""Columns that look as if they marked answers which should not count: anchors, practice, attention checks, exclusions.

A column is reported where its name and its cells both say so, and some but not all answers are marked. Every word of the name
must belong to the vocabulary of marks (``anchor label``, ``is_practice``; not ``musical training`` or ``passed_exam``), or the
name must be that of a kind (``trial_type``, ``status``) and a cell a mark (``practice``, ``rejected``). Practice trials and anchors
differ within a rater: a column that is the same in all rows of a rater describes the rater.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import polars as pl

from heartfelt.formats.proposals.column_profiles import words_of
from heartfelt.formats.ratings.described import marks_anchors
from heartfelt.formats.tables.columns import MISSING
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.marked_column import MarkedColumn
from heartfelt.snapshot.snapshot import probe_counts
from heartfelt.tables import RATERS, RATINGS, STIMULI

ANCHOR, PRACTICE, ATTENTION, EXCLUSION = "anchors", "practice trials", "attention checks", "exclusions"
_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        ANCHOR: "anchor",
        PRACTICE: "practice practise warmup tutorial",
        ATTENTION: "attention catch instructed imc golden trap honeypot",
        EXCLUSION: "exclude excluded exclusion reject rejected rejection invalid discard discarded dropped removed outlier bot"
        " spam spammer careless disqualified fail failed",
        "passing": "include included inclusion valid keep kept pass passed ok approved accepted",
        "failing": "missed wrong incorrect bad",
        "trial": "trial phase block round",
        "helper": "is was to be been from for of the by not label flag mark marker marked row item stimulus clip rater participant"
        " subject worker listener user response answer rating question check test type kind status result data analysis low mid"
        " high qc screening headphone hearing manipulation comprehension reason task",
        "what a row is": "type kind status phase stage block part section task condition decision trial round",
    }.items()
}
_MARKS = (ANCHOR, PRACTICE, ATTENTION, EXCLUSION)
_PASSING, _FAILING = _WORDS["passing"], _WORDS["failing"] | _WORDS[EXCLUSION]
_HELPERS, _KINDS = _WORDS["helper"] | _WORDS["trial"], _WORDS["what a row is"]
_VOCABULARY = _HELPERS | _PASSING | _FAILING | frozenset().union(*(_WORDS[kind] for kind in _MARKS)) | {"training"}
_YES, _NO = {"true", "t", "yes", "y", "1", "1.0", "x"}, {"false", "f", "no", "n", "0", "0.0"}
_EMPTY = {text.casefold() for text in MISSING}
_MOST_CELLS = 200
"""A column with more different cells names or describes something."""


def with_marked_columns(snapshot: Snapshot, options: Collection[str]) -> Snapshot:
    """The snapshot with notes on columns that look like marks and are not used; ``options`` are those its format takes."""
    columns = tuple(_marked_columns(snapshot)) if "where" in options else ()
    return snapshot.noted(*(column.note for column in columns), marked_columns=columns) if columns else snapshot


def _marked_columns(snapshot: Snapshot) -> Iterator[MarkedColumn]:
    ordinary = {name.strip() for name in snapshot.source.options.get("ordinary", "").split(",")}
    tables = {
        "ratings": (snapshot.scan_ratings().collect_schema().names(), RATINGS),
        "stimulus": (snapshot.stimuli.columns, STIMULI),
        "rater": (snapshot.raters.columns, RATERS),
    }
    for table, (names, contract) in tables.items():
        for name in names:
            if name not in {*contract.names, *ordinary} and _may_mark(_words(name)):
                marked = _marked(snapshot, table, name)
                if marked is not None:
                    yield marked


def _may_mark(words: frozenset[str]) -> bool:
    return _kind_of(words) is not None or _names_kinds(words)


def _marked(snapshot: Snapshot, table: str, column: str) -> MarkedColumn | None:
    """The column with the answers it marks; None where its cells mark none, or all."""
    rows = _answers(snapshot, table, column)
    cells = rows[column].unique().to_list()
    if len(cells) > _MOST_CELLS:
        return None
    of_rater = _is_fact_of(rows, column, "rater")
    words = _words(column)
    kind = _kind_of(words)
    if kind is not None:
        marks = _marks(words, kind, cells, of_rater=of_rater)
    else:
        kind, marks = _marks_by_kind(cells)
    if not marks or (kind in {ANCHOR, PRACTICE} and of_rater):
        return None
    count = rows.filter(pl.col(column).is_in(marks)).height
    if count in {0, rows.height}:
        return None
    option, value = _use(snapshot, table, rows, column, kind, sorted(marks))
    return MarkedColumn(
        column=column,
        marks=kind,
        cells=tuple(sorted(marks)),
        answers=count,
        total=rows.height,
        counted="answers" if snapshot.survey.ratings else "means",
        option=option,
        value=value,
    )


def _answers(snapshot: Snapshot, table: str, column: str) -> pl.DataFrame:
    """The answers that count, or published means, one row each (a trial is one answer), with the column's cell as text."""
    ratings = snapshot.scan_ratings()
    if not snapshot.survey.ratings:
        ratings = snapshot.means.lazy().select(pl.lit(None, pl.String).alias("rater"), "stimulus")
    ratings = ratings.filter(~pl.col("stimulus").is_in(probe_counts(snapshot)["stimulus"].to_list()))
    trial = ["trial"] if "trial" in ratings.collect_schema().names() else []
    if table == "ratings":
        ratings = ratings.select("rater", "stimulus", *trial, column)
    else:
        facts = (snapshot.stimuli if table == "stimulus" else snapshot.raters).lazy().select(table, column)
        ratings = ratings.select("rater", "stimulus", *trial).join(facts, on=table, how="left", maintain_order="left")
    if trial:
        ratings = pl.concat(
            [
                ratings.filter(pl.col("trial").is_null()),
                ratings.filter(pl.col("trial").is_not_null()).unique(["rater", "trial", column]),
            ]
        )
    cell = pl.col(column)
    if ratings.collect_schema()[column].is_float():
        integers = cell.cast(pl.Int64, strict=False)
        cell = pl.when(integers == cell).then(integers.cast(pl.String)).otherwise(cell.cast(pl.String))
    return ratings.with_columns(cell.cast(pl.String).str.strip_chars().fill_null("").alias(column)).collect()


def _is_fact_of(rows: pl.DataFrame, column: str, key: str) -> bool:
    """Whether the cell is the same in all rows of a rater or stimulus, where some have several rows."""
    keyed = rows.filter(pl.col(key).is_not_null())
    groups = keyed.group_by(key).agg(pl.len().alias("rows"), pl.col(column).n_unique().alias("cells"))
    return bool((groups["rows"] > 1).any()) and bool((groups["cells"] == 1).all())


def _words(text: str) -> frozenset[str]:
    joined = text.replace("warm-up", "warmup").replace("warm_up", "warmup").replace("warm up", "warmup")
    return frozenset(word for word in words_of(joined) if not word.isdigit())


def _kind_of(words: frozenset[str]) -> str | None:
    """What a name, or a cell in words, says is marked; None where any of its words says something else."""
    kinds = [kind for kind in _MARKS if words & _WORDS[kind]]
    if "training" in words and words & _WORDS["trial"]:  # alone it may be a rater's or a model's
        kinds.append(PRACTICE)
    elif words & _PASSING:
        kinds.append(EXCLUSION)
    return kinds[0] if kinds and words <= _VOCABULARY else None


def _names_kinds(words: frozenset[str]) -> bool:
    return bool(words & _KINDS) and words <= _KINDS | _HELPERS


def _marks(words: frozenset[str], kind: str, cells: Collection[str], *, of_rater: bool) -> set[str]:
    """The cells that mark an answer, where all of them are yes or no, pass or fail, or (of anchors) limits."""
    classes = {cell: _class_of(cell) for cell in cells}
    meanings = set(classes.values())
    if kind == EXCLUSION and "reason" in words:
        return _cells_of(classes, meanings - {"empty", "no", "pass"})
    if kind == ANCHOR:
        marks = _cells_of(classes, {"yes", None})
        return marks if all(classes[cell] == "yes" or _says_anchor(cell) for cell in marks) else set()
    if None in meanings:
        return set()
    if {"pass", "fail"} & meanings:
        return _cells_of(classes, {"fail"})
    passing = bool(words & _PASSING) or (kind == ATTENTION and of_rater and not words & _FAILING)
    return _cells_of(classes, {"no" if passing != ("not" in words) else "yes"})


def _cells_of(classes: Mapping[str, str | None], meanings: Collection[str | None]) -> set[str]:
    return {cell for cell, meaning in classes.items() if meaning in meanings}


def _says_anchor(cell: str) -> bool:
    return marks_anchors(cell) or _words(cell) <= {"low", "mid", "high", "anchor"}


def _class_of(cell: str) -> str | None:
    text = cell.casefold()
    if text in _EMPTY:
        return "empty"
    if text in _YES or text in _NO:
        return "yes" if text in _YES else "no"
    words = _words(cell)
    if words and words <= _PASSING | _FAILING | _HELPERS:
        return "fail" if words & _FAILING else "pass" if words & _PASSING else None
    return None


def _marks_by_kind(cells: Collection[str]) -> tuple[str, set[str]]:
    """What the cells of a column such as ``trial_type`` mark, and which ones do."""
    kinds = {cell: _kind_of(_words(cell)) for cell in cells}
    passed = {cell for cell in cells if _words(cell) & _PASSING}
    for kind in (PRACTICE, ATTENTION, ANCHOR, EXCLUSION):
        marks = {cell for cell, meaning in kinds.items() if meaning == kind} - passed
        if marks:
            return kind, marks
    return "", set()


def _use(
    snapshot: Snapshot, table: str, rows: pl.DataFrame, column: str, kind: str, marks: list[str]
) -> tuple[str, str]:
    """The import option that uses a column, and its value; empty where there is none."""
    source = snapshot.source
    side_table = {"stimulus": "stimuli", "rater": "raters"}.get(table, "")
    single = source.format == "long" and not {"first", "members", "trial"} & {*source.options}
    by_stimulus = table == "stimulus" or _is_fact_of(rows, column, "stimulus")
    if kind == ANCHOR and single and by_stimulus and all(marks_anchors(cell) for cell in marks):
        return "anchors", column
    if side_table in source.options or {*"".join(marks), *column} & {*";|<>="}:
        return "", ""
    return "where", f"{column}!={'|'.join(marks)}"
