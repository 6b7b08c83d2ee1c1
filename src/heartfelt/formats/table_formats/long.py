"""``long``: any table with one answer per row, or one row per rater and stimulus with a column per question.

The columns are named by options or found by their usual names. Files of any size are read in bounded memory:
the rows stream into the snapshot's own Parquet file. Columns that play no role stay with the ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import EmptyIdError, InputError, UnclearColumnError, as_option
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.proposals.roles import NO_RATER
from heartfelt.formats.ratings.answers import coded_answers, single_answers
from heartfelt.formats.ratings.described import (
    COMMON_OPTIONS,
    build,
    new_names,
    stated_references,
    stated_scale,
    study_next_to,
)
from heartfelt.formats.ratings.long_facts import Roles, known_raters, rated_stimuli, stated_prompts
from heartfelt.formats.ratings.pair_tables import PAIR_OPTIONS, is_pairs, pair_columns, read_pairs
from heartfelt.formats.ratings.set_rows import apart_by, further_answers, write_beside
from heartfelt.formats.ratings.set_tables import (
    MEMBER_OPTIONS,
    TRIAL_OPTIONS,
    checked_trials,
    read_members,
    set_type,
    trial_sets,
    with_roles,
    with_ties,
)
from heartfelt.formats.ratings.trace_tables import (
    TRACE_OPTIONS,
    TRACES_FILE,
    gathered,
    read_traces,
    traces_text,
    written_traces,
)
from heartfelt.formats.tables.columns import (
    ABOUT_STIMULUS,
    MISSING,
    NamedTable,
    id_notes,
    moment_expr,
    need,
    number_expr,
)
from heartfelt.formats.tables.delimited import spreadsheet_safe
from heartfelt.formats.tables.json_files import JSON, has_keys
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.side_tables import LISTED_SYSTEM, own_columns, roles_beside, with_listed_system
from heartfelt.formats.tables.source_table import TABLES, SourceTable, joined_columns, named_parts, open_table, pick
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Spooled, spool
from heartfelt.snapshot.survey import raise_doubled
from heartfelt.study import Study
from heartfelt.study.scales.scale import AnyScale
from heartfelt.tables import RATINGS, number_schema
from heartfelt.wording import listed

NUMBERS: Mapping[str, type[pl.DataType]] = {
    "position": pl.Int64,
    "seconds": pl.Float64,
    "repeat": pl.Int64,
    "place": pl.Int64,
}
ABOUT_TRIAL = ("trial", "set", "role")
OWN_COLUMNS = {"rater", "stimulus", "question", "value"}
"""In a table with these very columns, as this format writes them, ``answer`` is the answer in words."""
ORDER = "order"
"""As the option ``repeat``: repeated presentations are numbered in the order of the rows."""
_CELL = "\0cell"
"""The answers of several value columns while they are stacked."""


class Long(Format):
    """Any CSV, TSV, Parquet or JSON table of ratings."""

    name = "long"
    example_data = "example/ratings.csv"
    writes_comparisons = True
    about = "any table with one answer per row: CSV, TSV, Parquet, JSON, Excel or SPSS"
    options: ClassVar[Mapping[str, str]] = {
        "rater": "column of the rater id; none if the table does not say who rated",
        "stimulus": "column of the stimulus id",
        "question": "column that names the question; left out, each value column is a question",
        "value": "column of the answer, or several with commas between them",
        "names": "what the names of the stimuli say, such as clips/{system}/{prompt}.wav; the id is then its parts",
        "position": "column of the presentation order",
        "seconds": "column of the answer time in seconds",
        "at": "column of the moment of the answer",
        "repeat": "column that numbers repeated presentations from 0; order if they are to be numbered as they come",
        "system": "column of the system",
        "intent": "column of the intent",
        "prompt": "column of the prompt",
        "path": "column of the media path",
        "stimulus_columns": "further columns that describe the stimulus, with commas",
        "rater_columns": "further columns that describe the rater, with commas",
        "stimuli": "a table of stimuli beside this one",
        "stimuli_id": "the id's column in the table of stimuli",
        "prompts": "a table of prompts beside this one: their ids and texts",
        "raters": "a table of raters beside this one",
        "raters_id": "the id's column in the table of raters",
        **TRIAL_OPTIONS,
        **PAIR_OPTIONS,
        **MEMBER_OPTIONS,
        **TRACE_OPTIONS,
        **COMMON_OPTIONS,
    }

    def recognises(self, source: Path) -> bool:
        path = source / "ratings.csv" if source.is_dir() else source
        if not path.is_file() or path.suffix.lower() not in TABLES - {".txt"}:
            return False
        if path.suffix.lower() in JSON and not has_keys(path, OWN_COLUMNS):
            return False
        try:
            return set(open_table(path, {}).columns) >= OWN_COLUMNS
        except InputError:
            return False

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        if source.is_dir() and options.get("stimulus") == "filename":
            return read_traces(self.name, gathered(source, options), source, progress)
        table = open_source(source, options, ("ratings.csv", "ratings.parquet"))
        return read_long(self.name, table, source, progress)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        ratings = snapshot.scan_ratings()
        if "at" in ratings.collect_schema():
            ratings = ratings.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"))
        spreadsheet_safe(ratings).sink_csv(target / "ratings.csv")
        if snapshot.traces.height:
            write_text(target / TRACES_FILE, traces_text(snapshot.traces))
        write_beside(snapshot, target)


def read_long(format: str, table: SourceTable, source: Path, progress: Progress | None) -> Snapshot:
    """The snapshot of a table that was opened, with one answer per row or a column per question."""
    table = _numbered(named_parts(joined_columns(table)))
    options = table.options
    if is_pairs(table):
        return read_pairs(format, table, source, progress, pair_columns(table))
    if "members" in options:
        return read_members(format, table, source, progress)
    if {"time", "samples"} & set(options):
        return read_traces(format, table, source, progress)
    return _read_answers(format, table, source, progress)


def _with_set_roles(table: SourceTable, roles: Roles) -> tuple[SourceTable, Roles]:
    """The table with a column ``role``, where options name the hidden reference or the anchors of sets."""
    if not {"hidden_reference", "low_anchors"} & set(table.options):
        return table, roles
    system = roles.others.get("system")
    if system is None and "system" in table.options:
        table, system = with_listed_system(table, roles.stimulus), LISTED_SYSTEM
    in_roles = with_roles(table, system, roles.stimulus).drop(LISTED_SYSTEM, strict=False)
    return replace(table, rows=in_roles, delimited=None), replace(roles, others={**roles.others, "role": "role"})


def _read_answers(format: str, table: SourceTable, source: Path, progress: Progress | None) -> Snapshot:
    """The snapshot of a table with an answer per row or per question, of single stimuli or of stimuli in trials."""
    options, path = table.options, table.path
    table, roles = _with_set_roles(table, _roles(table))
    table, tagged = single_answers(table, roles.values, known_raters=roles.rater is not None)
    spooled, notes = _spooled(table, roles, _renamed(table, roles), progress)
    questions = spooled.survey.questions
    if not questions:
        raise InputError(f"{path} holds no ratings.", "Point to a table with one answer per row.")
    scales, study = _scales(questions, tagged, table)
    spooled, coded = coded_answers(spooled, scales, table.where)
    sets, ledger = None, None
    if "trial" in roles.others and (study is None or study.sets is None):
        kind = set_type(next(iter(coded.values())), options, table.where)
        rows, ledger, more = checked_trials(spooled.lazy().collect(), coded, kind, table.where, options)
        spooled, sets, notes = spool(rows, table.where), trial_sets(kind, options), [*notes, *more]
        coded = with_ties(coded, rows)
    else:
        notes = [*notes, *_further_answers(spooled, table, roles, study)]
    traced = path.parent / TRACES_FILE
    stimuli = rated_stimuli(table, roles, spooled)
    raters, about_raters = known_raters(table, roles, spooled)
    return build(
        format,
        table,
        source,
        progress,
        stimuli=stimuli,
        prompts=stated_prompts(table, stimuli),
        scales=coded,
        notes=[*notes, *about_raters],
        study=study,
        sets=sets,
        ratings=spooled,
        raters=raters,
        traces=written_traces(traced) if path.name.startswith("ratings.") and traced.is_file() else None,
        ledger=ledger,
        reading=[_understood(roles)],
    )


def _scales(
    questions: Iterable[str], tagged: AnyScale | None, table: SourceTable
) -> tuple[dict[str, AnyScale | None], Study | None]:
    """The stated scale of each question, or that of the study beside the table where nothing is stated."""
    scales = {question: stated_scale(question, table.options) or tagged for question in questions}
    stated = any(scales.values()) or stated_references(table.options, table.path.parent)
    study = None if stated else study_next_to(table.path, set(scales))
    if study is None:
        return scales, None
    return {question: study.scales[study.question(question).scale] for question in scales}, study


def _understood(roles: Roles) -> str:
    named = {"rater": roles.rater, "stimulus": roles.stimulus, "question": roles.question, **roles.others}
    parts = [f"{column} as {role}" for role, column in named.items() if column]
    return f"read {', '.join([*parts, f'{listed(roles.values)} as answers'])}"


def _further_answers(spooled: Spooled, table: SourceTable, roles: Roles, study: Study | None) -> list[str]:
    """A note on raters who answered the same more than once; an error where the table does not say what to do with that."""
    numbered = "repeat" in roles.others
    if study is not None or roles.rater is None or not (numbered or spooled.survey.doubled):
        return []
    rows = spooled.lazy().collect()
    further, differ = further_answers(rows, ("stimulus", "question"))
    if not further:
        return []
    more = apart_by(differ, as_option("stimulus", f"{roles.stimulus}+{{column}}"))
    if spooled.survey.doubled:
        raise_doubled(spooled.lazy(), table.where, f"To use all of them: {as_option('repeat', ORDER)}.{more}")
    text = f"{further:,} of {rows.height:,} answers are a rater's further answers to the same stimulus and question"
    return [f"{text}; they are averaged (of categories the first counts).{more}"]


def _numbered(table: SourceTable) -> SourceTable:
    """The table with repeated presentations numbered from 0: in the order of its rows, where ``repeat=order`` asks for that."""
    if table.options.get("repeat") != ORDER or ORDER in table.columns:
        return _from_zero(table)
    names = [table.pick_optional(role) for role in ("rater", "stimulus", "question")]
    key = [pl.col(name).cast(pl.String).str.strip_chars() for name in names if name is not None]
    rows = table.rows.with_columns(pl.int_range(pl.len()).over(key).alias(ORDER))
    return replace(table, rows=rows, delimited=None)


def _from_zero(table: SourceTable) -> SourceTable:
    """The table with the numbers of repeated presentations from 0, where the source begins at 1."""
    column = table.options.get("repeat", "repeat")
    if column not in table.columns:
        return table
    number = pl.col(column).cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
    if table.rows.select(number.min()).collect(engine="streaming").item() != 1:
        return table
    return replace(table, rows=table.rows.with_columns((number - 1).alias(column)), delimited=None)


def _roles(table: SourceTable) -> Roles:
    columns, options, where = table.columns, table.options, table.where
    answers, of_stimulus, of_rater = (table.names_in(key) for key in ("value", "stimulus_columns", "rater_columns"))
    if options.get("anchors") in columns and options["anchors"] not in of_stimulus:
        of_stimulus.append(options["anchors"])
    need(columns, answers, where)
    listed_roles = roles_beside(table)
    of_stimulus = own_columns(table, of_stimulus, "stimuli")
    of_rater = own_columns(table, of_rater, "raters")
    question = table.pick_optional("question")
    values = tuple(answers) or (table.pick("value"),)
    further_roles = _further_roles(table, listed_roles)
    roles = Roles(
        rater=_rater(table),
        stimulus=table.pick("stimulus"),
        question=question if len(values) == 1 else None,
        values=values,
        others=further_roles,
        stimulus_columns=tuple(of_stimulus),
        rater_columns=tuple(of_rater),
    )
    _refuse_two_parts(roles, where)
    table.refuse_nested(column for column in roles.taken if column is not None and column not in values)
    table.refuse_nested(values, lists=True)
    return roles


def _further_roles(table: SourceTable, listed_roles: set[str]) -> dict[str, str]:
    """Columns of moments, trials and facts about stimuli: those that options name, else those with these very names."""
    columns, options = table.columns, table.options
    # Trials, places and roles are known by their names only in a table that this format wrote.
    ours = OWN_COLUMNS | {"trial", "place"} <= set(columns)
    unnamed = set() if ours else {*ABOUT_TRIAL, "place"}
    roles = [
        role
        for role in (*NUMBERS, "at", *ABOUT_STIMULUS, *ABOUT_TRIAL)
        if role not in listed_roles and (role in options or (role in columns and role not in unnamed))
    ]
    return {role: pick(columns, role, {role: options.get(role, role)}, table.where) for role in roles}


def _refuse_two_parts(roles: Roles, where: str) -> None:
    parts = [name for name in (roles.rater, roles.stimulus, *roles.values, roles.question) if name is not None]
    for name in parts:
        if parts.count(name) > 1:
            raise InputError(
                f"{where}: the column '{name}' cannot play two parts.",
                f"Name the columns with {as_option('rater', '…')}, {as_option('stimulus', '…')} and {as_option('value', '…')}.",
            )


def _rater(table: SourceTable) -> str | None:
    """The column of the rater id, or None where the options say that there is none."""
    if table.options.get("rater") == NO_RATER and NO_RATER not in table.columns:
        return None
    try:
        return table.pick("rater")
    except UnclearColumnError as error:
        raise UnclearColumnError(
            error.problem, f"{error.fix} If the table does not say who rated: {as_option('rater', NO_RATER)}."
        ) from error


def _renamed(table: SourceTable, roles: Roles) -> dict[str, str]:
    if not any(option.startswith("rename.") for option in table.options):
        return {}
    if roles.question is None:
        return new_names(table.options, roles.values)
    questions = table.rows.select(pl.col(roles.question).cast(pl.String).unique()).collect().to_series()
    return new_names(table.options, questions.drop_nulls())


def _spooled(
    table: SourceTable, roles: Roles, renamed: Mapping[str, str], progress: Progress | None
) -> tuple[Spooled, list[str]]:
    """The ratings under their contract, with notes on ids; an empty id is an error that names its line."""
    try:
        spooled = _spooled_strictly(table, roles, renamed, progress)
        if spooled is not None:
            return spooled, []
        notes = [
            note
            for role, column in (("rater", roles.rater), ("stimulus", roles.stimulus))
            if column is not None
            for note in id_notes(table.rows.select(pl.col(column).unique()).collect()[column], role)
        ]
        return spool(_shaped(table.rows, roles, renamed, strict=False), table.where, progress), notes
    except EmptyIdError:
        names = [name for name in (roles.stimulus, roles.question) if name is not None]
        NamedTable(table.rows.select(names).collect(), table.where, position=table.position).filled(*names)
        raise


def _spooled_strictly(
    table: SourceTable, roles: Roles, renamed: Mapping[str, str], progress: Progress | None
) -> Spooled | None:
    """The ratings, where every cell of a number holds one and no id has spaces around it; None where they must be trimmed."""
    rows = table.rows
    try:
        if table.delimited is not None and len(roles.values) == 1:
            typed = {roles.others[role]: kind for role, kind in NUMBERS.items() if role in roles.others}
            rows = table.delimited.scan({roles.values[0]: pl.Float64, **typed})
        spooled = spool(_shaped(rows, roles, renamed, strict=True), table.where, progress)
        if "at" in roles.others and spooled.lazy().select(pl.col("at").is_null().any()).collect().item():
            _explain(table, roles, ["at"])
    except pl.exceptions.PolarsError:
        _explain(table, roles, [*NUMBERS, "at"])
        return None
    names = pl.Series([*spooled.survey.raters, *spooled.survey.stimuli], dtype=pl.String)
    return None if names.str.contains(r"^\s|\s$").any() else spooled


def _explain(table: SourceTable, roles: Roles, wanted: Sequence[str]) -> None:
    """Name the cell that is not a number or not a moment in a column that must hold such."""
    for role in wanted:
        if role in roles.others:
            column = table.rows.select(roles.others[role]).collect()
            sheet = NamedTable(column, table.where, position=table.position)
            check = {"at": sheet.moments, "seconds": sheet.numbers}.get(role, sheet.whole_numbers)
            check(roles.others[role])


def _shaped(table: pl.LazyFrame, roles: Roles, renamed: Mapping[str, str], *, strict: bool) -> pl.LazyFrame:
    """The table with the columns of the ratings, one answer per row."""
    schema = table.collect_schema()
    extras = [name for name in schema.names() if name not in roles.taken]
    has_answer = "answer" in extras and set(schema.names()) >= OWN_COLUMNS
    columns = _columns_of_roles(table, roles, renamed, strict=strict)
    if has_answer:
        extras.remove("answer")
        columns.append(pl.col("answer").cast(pl.String))
    typed = number_schema(table, extras)
    free = {name: f"source_{name}" for name in extras if name in RATINGS.names}
    columns += [pl.col(n).cast(typed.get(n, schema[n])).alias(free.get(n, n)) for n in extras]
    if len(roles.values) == 1:
        value = roles.values[0]
        named = [] if roles.question else [pl.lit(renamed.get(value, value)).alias("question")]
        answers = _value(value, schema[value], strict=strict)
        return table.select(*columns, *named, *(answers[:1] if has_answer else answers))
    stacked = {f"\0{name}": pl.col(name).cast(pl.String) for name in roles.values}
    wide = table.select(*columns, **stacked)
    index = [name for name in wide.collect_schema().names() if name not in stacked]
    tall = wide.unpivot(list(stacked), index=index, variable_name="question", value_name=_CELL)
    tall = tall.with_columns(_named(pl.col("question").str.strip_prefix("\0"), renamed))
    answers = _value(_CELL, pl.String(), strict=strict)
    answered = pl.any_horizontal(pl.col(answer.meta.output_name()).is_not_null() for answer in answers)
    return tall.select(*index, "question", *answers).filter(answered)


def _columns_of_roles(table: pl.LazyFrame, roles: Roles, renamed: Mapping[str, str], *, strict: bool) -> list[pl.Expr]:
    """Who rated what when, as the ratings call it."""
    schema, further = table.collect_schema(), roles.others
    columns = [] if roles.rater else [pl.lit(None, dtype=pl.String).alias("rater")]
    ids = {"rater": roles.rater, "stimulus": roles.stimulus}
    columns += [_id(table, name, role, schema[name], strict=strict) for role, name in ids.items() if name]
    if roles.question:
        columns.append(_named(pl.col(roles.question).cast(pl.String), renamed).alias("question"))
    for role, dtype in NUMBERS.items():
        if role in further:
            columns.append((pl.col(further[role]) if strict else number_expr(further[role])).cast(dtype).alias(role))
    columns += [pl.col(further[role]).cast(pl.String).alias(role) for role in ABOUT_TRIAL if role in further]
    if "at" in further:
        columns.append(moment_expr(further["at"], schema[further["at"]]).alias("at"))
    return columns


def _named(question: pl.Expr, renamed: Mapping[str, str]) -> pl.Expr:
    """Questions under their new names; replacing nothing would still cost a fifth of the reading time."""
    return question.replace(renamed) if renamed else question


def _id(table: pl.LazyFrame, column: str, role: str, dtype: pl.DataType, *, strict: bool) -> pl.Expr:
    if dtype.is_float():
        return pl.col(column).alias(role)
    text = pl.col(column).cast(pl.String)
    if not strict:
        text = text.str.strip_chars()
    some = table.select(column).head(2000).collect()[column].cast(pl.String).drop_nulls()
    if some.len() and some.str.contains(r"^\d+\.0$").all():
        text = text.str.replace(r"\.0$", "")
    return text.alias(role)


def _value(column: str, dtype: pl.DataType, *, strict: bool) -> list[pl.Expr]:
    """The answer as a number, and in words where it is none."""
    if strict or dtype.is_numeric():
        return [pl.col(column).cast(pl.Float64).fill_nan(None).alias("value")]
    number = number_expr(column)
    text = pl.col(column).cast(pl.String).str.strip_chars()
    answer = pl.when(number.is_null() & ~text.is_in(MISSING)).then(text).otherwise(None)
    return [number.alias("value"), answer.alias("answer")]


FORMATS.add(Long.name, Long())
