"""``long``: any table with one answer per row, or one row per rater and stimulus with a column per question.

Which column plays which part is given as options or told from usual names. Files of any size are read in bounded memory:
the rows stream into the snapshot's own Parquet file. Columns nobody asked for stay with the ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.anchors import with_anchors
from heartfelt.formats.coded_answers import coded_answers
from heartfelt.formats.columns import (
    MISSING,
    moment_expr,
    number_expr,
    numbers,
    unparsed_moment,
    whole_numbers,
)
from heartfelt.formats.delimited import csv_text, spreadsheet_safe
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.list_cells import NO_RATER, single_answers
from heartfelt.formats.source_table import TABLES, SourceTable, id_notes, open_table
from heartfelt.formats.tabular import (
    COMMON_OPTIONS,
    describe,
    locate,
    new_names,
    opened,
    pick,
    side_table,
    stated_references,
    stated_scale,
    study_beside,
    tidy_name,
    with_media,
)
from heartfelt.media.probe import PROBED
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source, Spooled, spool
from heartfelt.snapshot.survey import get_ready
from heartfelt.study import study_text
from heartfelt.tables import RATERS, STIMULI, number_schema

ABOUT_STIMULUS = ("system", "intent", "prompt", "path")
OWN_COLUMNS = {"rater", "stimulus", "question", "value"}
"""In a table with these very columns, as this format writes them, ``answer`` is the answer in words."""
LARGE = 1 << 26
"""Bytes of a table from which the survey's compiled kernels are loaded while the file is still being looked through."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column of the table plays which part."""

    rater: str | None
    """None where nobody knows who rated."""
    stimulus: str
    question: str | None
    values: tuple[str, ...]
    others: Mapping[str, str] = field(default_factory=dict)
    """position, seconds, at, repeat, system, intent, prompt, path: by part."""
    stimulus_columns: tuple[str, ...] = ()
    rater_columns: tuple[str, ...] = ()

    @property
    def taken(self) -> set[str]:
        """Every column that plays a part."""
        return {
            *([self.rater] if self.rater else []),
            self.stimulus,
            *([self.question] if self.question else []),
            *self.values,
            *self.others.values(),
            *self.stimulus_columns,
            *self.rater_columns,
        }


class Long(Format):
    """Any CSV, TSV, Parquet or JSON table of ratings."""

    name: ClassVar[str] = "long"
    about: ClassVar[str] = "any CSV, TSV, Parquet or JSON table with one answer per row"
    options: ClassVar[Mapping[str, str]] = {
        "rater": "column of the rater id; none if the table does not say who rated",
        "stimulus": "column of the stimulus id",
        "question": "column that names the question; left out, each value column is a question",
        "value": "column of the answer, or several with commas between them",
        "position": "column of the presentation order",
        "seconds": "column of the answer time in seconds",
        "at": "column of the moment of the answer",
        "repeat": "column that numbers repeated presentations from 0",
        "system": "column of the system",
        "intent": "column of the intent",
        "prompt": "column of the prompt",
        "path": "column of the media path",
        "stimulus_columns": "further columns that describe the stimulus, with commas",
        "rater_columns": "further columns that describe the rater, with commas",
        "stimuli": "a table of stimuli beside this one",
        "stimuli_id": "the id's column in the table of stimuli",
        "raters": "a table of raters beside this one",
        "raters_id": "the id's column in the table of raters",
        **COMMON_OPTIONS,
    }

    def recognises(self, source: Path) -> bool:
        """A table with exactly named columns rater, stimulus, question and value, or a folder this format wrote."""
        path = source / "ratings.csv" if source.is_dir() else source
        if not path.is_file() or path.suffix.lower() not in TABLES - {".txt"}:
            return False
        try:
            return set(open_table(path, {}).columns) >= OWN_COLUMNS
        except InputError:
            return False

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the table; the study beside it is used if there is one, else one is described from the data."""
        path = locate(source, ("ratings.csv", "ratings.parquet"))
        if path.stat().st_size > LARGE:
            get_ready()
        table = opened(path, options)
        roles = _roles(table.columns, options, str(path))
        table, tagged = single_answers(table, roles.values, known_raters=roles.rater is not None)
        spooled, notes = _spooled(table, roles, _renamed(table, roles, options))
        if not spooled.found.ratings:
            raise InputError(f"{path} holds no ratings.", "Point to a table with one answer per row.")
        scales = {q: stated_scale(q, options) or tagged for q in spooled.found.questions}
        references = stated_references(options, path.parent)
        stated = any(scales.values()) or references
        known = None if stated else study_beside(path, spooled.found.questions)
        if known is not None:
            scales = {q: known.scales[known.question(q).scale] for q in spooled.found.questions}
        spooled, inferred = coded_answers(spooled, scales, str(path))
        stimuli = _stimuli(table.rows, roles, spooled, path, options)
        raters = _raters(table.rows, roles, spooled, path, options)
        stimuli, root, kind = with_media(stimuli, source, path, options, progress)
        study = known or describe(tidy_name(path, options), inferred, stimuli, kind, references)
        study = with_anchors(study, stimuli, options, str(path))
        made = Source(self.name, path.name, dict(options), root, notes=(*table.notes, *notes))
        return Snapshot.build(
            study, stimuli=stimuli, ratings=spooled, raters=raters, source=made, ledger=table.ledger
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``ratings.csv``, ``stimuli.csv``, ``raters.csv`` and ``study.yaml``."""
        ratings = snapshot.scan_ratings()
        if "at" in ratings.collect_schema():
            ratings = ratings.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"))
        spreadsheet_safe(ratings).sink_csv(target / "ratings.csv")
        stimuli = snapshot.stimuli.drop(PROBED, strict=False)
        write_text(target / "stimuli.csv", csv_text(stimuli))
        write_text(target / "raters.csv", csv_text(snapshot.raters))
        write_text(target / "study.yaml", study_text(snapshot.study))

    def example(self, folder: Path) -> Path:
        """Three raters, four clips, two questions, and a column nobody asked for."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "ratings.csv"
        rows = ["rater,stimulus,question,value,position,device"]
        for r in range(3):
            rows += [
                f"{r + 1},clip{c},{q},{1 + (r * 3 + c * 2 + len(q)) % 9},{c + 1},phone"
                for c in range(4)
                for q in ("valence", "arousal")
            ]
        write_text(path, "\n".join(rows) + "\n")
        return path


def _roles(columns: Sequence[str], options: Mapping[str, str], where: str) -> Roles:
    listed = [name.strip() for name in options.get("value", "").split(",") if name.strip()]
    for name in listed:
        pick(columns, "value", {"value": name}, where)
    question = pick(columns, "question", options, where, required=False)
    values = tuple(listed) or (str(pick(columns, "value", options, where)),)
    if len(values) > 1:
        question = None
    others: dict[str, str] = {}
    for role in ("position", "seconds", "at", "repeat", *ABOUT_STIMULUS):
        column = options.get(role, role if role in columns else None)
        if column is not None:
            others[role] = str(pick(columns, role, {role: column}, where))
    split = {
        key: tuple(n.strip() for n in options.get(key, "").split(",") if n.strip())
        for key in ("stimulus_columns", "rater_columns")
    }
    if options.get("anchors") in columns and options["anchors"] not in split["stimulus_columns"]:
        split["stimulus_columns"] += (options["anchors"],)
    for name in (*split["stimulus_columns"], *split["rater_columns"]):
        pick(columns, "value", {"value": name}, where)
    rater = _rater(columns, options, where)
    stimulus = str(pick(columns, "stimulus", options, where))
    parts = [*([rater] if rater else []), stimulus, *values, *([question] if question else [])]
    for name in parts:
        if parts.count(name) > 1:
            raise InputError(
                f"{where}: the column '{name}' cannot play two parts.",
                "Name the columns with --map rater=… stimulus=… value=…",
            )
    return Roles(rater, stimulus, question, values, others, split["stimulus_columns"], split["rater_columns"])


def _rater(columns: Sequence[str], options: Mapping[str, str], where: str) -> str | None:
    """The column of the rater id, or None where the options say that there is none."""
    if options.get("rater") == NO_RATER and NO_RATER not in columns:
        return None
    try:
        return pick(columns, "rater", options, where)
    except InputError as error:
        raise InputError(
            error.problem, f"{error.fix} If the table does not say who rated: --map rater={NO_RATER}."
        ) from error


def _renamed(table: SourceTable, roles: Roles, options: Mapping[str, str]) -> dict[str, str]:
    if not any(option.startswith("rename.") for option in options):
        return {}
    if roles.question is None:
        return new_names(options, roles.values)
    asked = table.rows.select(pl.col(roles.question).cast(pl.String).unique()).collect()
    return new_names(options, asked[roles.question].drop_nulls().to_list())


def _spooled(table: SourceTable, roles: Roles, renamed: Mapping[str, str]) -> tuple[Spooled, list[str]]:
    """The ratings under their contract, with notes on ids: numbers made strictly first, forgivingly where that fails."""
    where = str(table.path)
    try:
        fast = table.delimited is not None and len(roles.values) == 1
        parsed = table.delimited.scan(_numbers(roles)) if fast and table.delimited else table.rows
        spooled = spool(_shaped(parsed, roles, renamed, strict=True), where)
        if "at" in roles.others and spooled.lazy().select(pl.col("at").is_null().any()).collect().item():
            unparsed_moment(table.rows, roles.others["at"], where)
        names = pl.Series([*spooled.found.raters, *spooled.found.stimuli], dtype=pl.String)
        if not names.str.contains(r"^\s|\s$").any():
            return spooled, []
    except pl.exceptions.PolarsError:
        _explain(table.rows, roles, where)
    notes = [
        note
        for role, column in (("rater", roles.rater), ("stimulus", roles.stimulus))
        if column is not None
        for note in id_notes(table.rows.select(pl.col(column).unique()).collect()[column], role)
    ]
    return spool(_shaped(table.rows, roles, renamed, strict=False), where), notes


def _numbers(roles: Roles) -> dict[str, type[pl.DataType]]:
    """The columns that hold numbers if all is well, to be parsed as such right away."""
    kinds: dict[str, type[pl.DataType]] = {"position": pl.Int64, "seconds": pl.Float64, "repeat": pl.Int64}
    return {
        roles.values[0]: pl.Float64,
        **{roles.others[role]: kind for role, kind in kinds.items() if role in roles.others},
    }


def _shaped(table: pl.LazyFrame, roles: Roles, renamed: Mapping[str, str], *, strict: bool) -> pl.LazyFrame:
    schema = table.collect_schema()
    identified = [
        (name, role) for name, role in ((roles.rater, "rater"), (roles.stimulus, "stimulus")) if name
    ]
    head = table.select(name for name, _ in identified).head(2000).collect()
    moved = {
        *(name for name, _ in identified),
        *roles.stimulus_columns,
        *roles.rater_columns,
        *(roles.others.get(role, "") for role in ABOUT_STIMULUS),
    }
    extras = [name for name in schema.names() if name not in roles.taken and name not in moved]
    columns = [] if roles.rater else [pl.lit(None, dtype=pl.String).alias("rater")]
    columns += [_id(name, role, head, schema[name], strict=strict) for name, role in identified]
    if roles.question:
        columns.append(_named(pl.col(roles.question).cast(pl.String), renamed).alias("question"))
    for role, dtype in (("position", pl.Int64), ("seconds", pl.Float64), ("repeat", pl.Int64)):
        if role in roles.others:
            name = roles.others[role]
            number = pl.col(name).cast(dtype) if strict else number_expr(name).cast(dtype)
            columns.append(number.alias(role))
    if "at" in roles.others:
        columns.append(moment_expr(roles.others["at"], schema[roles.others["at"]]).alias("at"))
    if "answer" in extras and set(schema.names()) >= OWN_COLUMNS:
        extras.remove("answer")
        columns.append(pl.col("answer").cast(pl.String))
    typed = number_schema(table, extras)
    columns += [pl.col(name).cast(typed.get(name, schema[name])).alias(_free(name)) for name in extras]
    if roles.question or len(roles.values) == 1:
        value = roles.values[0]
        named = [] if roles.question else [pl.lit(renamed.get(value, value)).alias("question")]
        answers = _value(value, "value", schema[value], strict=strict)
        if any(column.meta.output_name() == "answer" for column in columns):
            answers = answers[:1]
        return table.select(*columns, *named, *answers)
    wide = table.select(*columns, *(pl.col(name).cast(pl.String).alias(f"\0{name}") for name in roles.values))
    kept = [name for name in wide.collect_schema().names() if not name.startswith("\0")]
    tall = wide.unpivot(
        [f"\0{name}" for name in roles.values], index=kept, variable_name="question", value_name="\0value"
    )
    tall = tall.with_columns(_named(pl.col("question").str.strip_prefix("\0"), renamed))
    answers = _value("\0value", "value", pl.String(), strict=strict)
    return tall.select(*kept, "question", *answers).filter(
        pl.any_horizontal(
            pl.col("value").is_not_null(), *([] if strict else [pl.col("answer").is_not_null()])
        )
    )


def _named(question: pl.Expr, renamed: Mapping[str, str]) -> pl.Expr:
    """Questions under their new names; replacing nothing would still cost a fifth of the reading time."""
    return question.replace(renamed) if renamed else question


def _free(name: str) -> str:
    """An extra column must not take the name of one the contract gives meaning to."""
    return (
        f"source_{name}"
        if name in {"rater", "stimulus", "question", "value", "answer", "position", "seconds", "at", "repeat"}
        else name
    )


def _id(column: str, name: str, head: pl.DataFrame, dtype: pl.DataType, *, strict: bool) -> pl.Expr:
    if dtype.is_float():
        return pl.col(column).alias(name)
    text = pl.col(column).cast(pl.String)
    if not strict:
        text = text.str.strip_chars()
    some = head[column].cast(pl.String).drop_nulls()
    if some.len() and some.str.contains(r"^\d+\.0$").all():
        text = text.str.replace(r"\.0$", "")
    return text.alias(name)


def _value(column: str, name: str, dtype: pl.DataType, *, strict: bool) -> list[pl.Expr]:
    if strict or dtype.is_numeric():
        return [pl.col(column).cast(pl.Float64).fill_nan(None).alias(name)]
    number = number_expr(column)
    text = pl.col(column).cast(pl.String).str.strip_chars()
    answer = pl.when(number.is_null() & ~text.is_in(MISSING)).then(text).otherwise(None)
    return [number.alias(name), answer.alias("answer")]


def _explain(table: pl.LazyFrame, roles: Roles, where: str) -> None:
    """Name the cell that is no number in a column that must hold numbers."""
    for role in ("position", "repeat", "seconds"):
        if role in roles.others:
            name = roles.others[role]
            (numbers if role == "seconds" else whole_numbers)(table.select(name).collect(), name, where)
    if "at" in roles.others:
        unparsed_moment(table, roles.others["at"], where)


def _described(
    table: pl.LazyFrame, key: str, columns: Mapping[str, str], where: str, role: str
) -> pl.DataFrame:
    """What the rows say about each stimulus or rater; two rows that contradict each other are a mistake."""
    facts = (
        table.select(
            pl.col(key).cast(pl.String).str.strip_chars().alias(role),
            *(pl.col(c).alias(n) for n, c in columns.items()),
        )
        .unique(maintain_order=True)
        .collect()
    )
    doubled = facts.filter(pl.col(role).is_duplicated())
    if doubled.height:
        first = doubled[role][0]
        rows = doubled.filter(pl.col(role) == first)
        name = next(n for n in columns if rows[n].n_unique() > 1)
        raise InputError(
            f"{where}: {role} '{first}' has two values of '{columns[name]}': '{rows[name][0]}' and '{rows[name][1]}'.",
            f"A column that describes the {role} must be the same in all of its rows.",
        )
    return facts


def _stimuli(
    table: pl.LazyFrame, roles: Roles, spooled: Spooled, path: Path, options: Mapping[str, str]
) -> pl.DataFrame:
    base = pl.DataFrame({"stimulus": spooled.found.stimuli}, schema={"stimulus": pl.String})
    columns = {role: roles.others[role] for role in ABOUT_STIMULUS if role in roles.others} | {
        n: n for n in roles.stimulus_columns
    }
    if columns:
        base = base.join(
            _described(table, roles.stimulus, columns, str(path), "stimulus"),
            on="stimulus",
            how="left",
            maintain_order="left",
        )
    beside = path.parent / options.get("stimuli", "stimuli.csv")
    if "stimuli" in options or (path.name.startswith("ratings.") and beside.is_file()):
        listed = side_table(beside, "stimulus", options.get("stimuli_id"), roles.stimulus)
        new = base.filter(~pl.col("stimulus").is_in(listed["stimulus"].implode()))
        base = pl.concat([listed, new], how="diagonal_relaxed") if new.height else listed
    return STIMULI.check(base, str(path))


def _raters(
    table: pl.LazyFrame, roles: Roles, spooled: Spooled, path: Path, options: Mapping[str, str]
) -> pl.DataFrame | None:
    if roles.rater is None:
        return None
    if roles.rater_columns:
        return _described(table, roles.rater, {n: n for n in roles.rater_columns}, str(path), "rater")
    beside = path.parent / options.get("raters", "raters.csv")
    if "raters" in options or (path.name.startswith("ratings.") and beside.is_file()):
        listed = side_table(beside, "rater", options.get("raters_id"), roles.rater)
        if listed.height and spooled.found.raters and not set(listed["rater"]) & set(spooled.found.raters):
            raise InputError(
                f"No rater of {path.name} is in {beside.name}: '{spooled.found.raters[0]}' here, '{listed['rater'][0]}' there.",
                f"Use the same ids in both files, or name the id's column in {beside.name} with --map raters_id=COLUMN.",
            )
        return RATERS.check(listed, str(beside))
    return None


FORMATS.add(Long.name, Long())
