"""Experiment builders: PsychoPy, jsPsych, Gorilla and PsyToolkit.

They write one row per trial or event, usually a file per participant, with practice, instructions and fixations among the
answers. What is no answer is counted in the ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.formats.format import FORMATS
from heartfelt.formats.tables.columns import number_expr
from heartfelt.formats.tables.delimited import read_delimited
from heartfelt.formats.tables.json_files import text_of
from heartfelt.formats.tables.participant_files import open_source, participants_table
from heartfelt.formats.tables.source_table import SourceTable
from heartfelt.formats.tools.export import (
    ATTENTION,
    NOT_RATED,
    PRACTICE,
    Layout,
    ToolExport,
    filled,
    glance,
    left_out,
    matches,
    media_columns,
    rater_column,
    selected,
    stimulus_column,
    without_empty,
)

_FILE = "participant_file"
"""The column of a participant's file while the survey's answers are joined."""
_RESPONSES = ("response", "responses", "button_pressed")
"""Columns of jsPsych's answers; the last two are of version 6, which wrote forms and buttons apart."""
_EVENT_COLUMNS = {
    "Attempt", "Correct", "Incorrect", "Dishonest", "X Coordinate", "Y Coordinate", "Timed Out", "randomise_blocks",
    "randomise_trials",
}  # fmt: skip
"""Columns of Gorilla that stand between the response and the spreadsheet's own columns, or among these."""
_GORILLA_SCREENS = {"display", "screen", "screen name", "spreadsheet: display"}
_PART_NAMES = r"(?i)^(?:task|phase|part|block|stage|section|test_part|trial_part|trial_name|condition_type|screen)$"
"""Columns in which a researcher marks practice and attention trials."""


def _rater(table: SourceTable) -> str:
    stated = table.options.get("rater")
    column = stated or rater_column(table.columns)
    if column is None:
        raise InputError(
            f"{table.where}: no column names the participant.",
            f"Name it with {as_option('rater', 'COLUMN')}, or read the folder with one file per participant.",
        )
    return column


class PsychoPy(ToolExport):
    """Trial-by-trial CSV files of PsychoPy and Pavlovia."""

    name = "psychopy"
    title = "PsychoPy"
    about = "PsychoPy and Pavlovia: the folder 'data' with a CSV file per participant"
    example_data = "example/psychopy"
    _INFO: ClassVar[set[str]] = {
        "participant", "session", "date", "expName", "expVersion", "psychopyVersion", "frameRate", "expStart", "OS", "notes",
        "thisN", "thisTrialN", "thisRepN",
    }  # fmt: skip

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        return (
            look is not None
            and bool(look.columns & {"psychopyVersion", "expName", "thisRow.t"})
            and any(name.endswith((".thisN", ".thisRepN")) for name in look.columns)
        )

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per trial; the components' ``.response`` columns are the questions."""
        table = open_source(source, options, suffixes={".csv", ".tsv", ".xlsx"})
        rows = without_empty(table.rows.collect())
        table = replace(table, rows=rows.lazy())
        rater = _rater(table)
        values = _psychopy_answers(table, rows.columns)
        practice = _in_practice_loop(rows.columns)
        conditions = [name for name in rows.columns if "." not in name and name not in {*self._INFO, rater}]
        answered = _any_filled(values)
        stimulus = stimulus_column(rows.filter(answered & ~practice), conditions, table)
        table = left_out(
            table,
            {
                "practice trial": practice | matches(_part_columns(conditions), PRACTICE),
                "no answer in the row (instructions, fixation, breaks)": ~answered,
                "answer without a stimulus": ~filled(stimulus),
            },
            rater,
        )
        short = {} if "value" in options else _without_component(values, rows.columns)
        more = {"rater": rater, "stimulus": stimulus, "value": ",".join(short.get(name, name) for name in values)}
        time = f"{values[0].rpartition('.')[0]}.rt"
        if len(values) == 1 and time in rows.columns:
            more["seconds"] = time
        return "long", replace(table, rows=table.rows.rename(short), options=more)


def _psychopy_answers(table: SourceTable, columns: Sequence[str]) -> list[str]:
    """The columns of answers: those the options name, else those of responses, else those of keys."""
    rated = [name for name in columns if name.endswith((".response", ".rating"))]
    values = table.names_in("value") or rated or [name for name in columns if name.endswith(".keys")]
    if not values:
        raise InputError(
            f"{table.where}: no component has a response.",
            f"Name the columns of answers with {as_option('value', 'COLUMN')}.",
        )
    return values


def _without_component(names: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The names without their last part, where no column is called so: ``valence`` for ``valence.response``."""
    short = {name: name.rpartition(".")[0] for name in names}
    return {old: new for old, new in short.items() if new not in columns}


def _in_practice_loop(columns: Iterable[str]) -> pl.Expr:
    return _any_filled(name for name in columns if name.endswith(".thisN") and re.search(PRACTICE, name))


def _part_columns(columns: Iterable[str]) -> list[str]:
    """The columns that say which part of the experiment a trial belongs to."""
    return [name for name in columns if re.match(_PART_NAMES, name)]


def _any_filled(names: Iterable[str]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(False), *map(filled, names))


class JsPsych(ToolExport):
    """Data of jsPsych: CSV or JSON, a file per participant or all in one."""

    name = "jspsych"
    title = "jsPsych"
    about = "jsPsych: CSV or JSON, one file or a folder with a file per participant"
    example_data = "example/jspsych"
    _COLUMNS: ClassVar[tuple[str, ...]] = ("trial_type", "trial_index", "time_elapsed")

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        return look is not None and (look.columns >= set(self._COLUMNS) or look.has_keys(*self._COLUMNS))

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per trial with a stimulus and a response; a form's fields are a question each."""
        table = open_source(source, options, suffixes={".csv", ".tsv", ".json", ".jsonl", ".txt", ".xlsx"})
        if not {*self._COLUMNS} <= {*table.columns}:
            raise InputError(
                f"{table.where} is not data of jsPsych.", f"It needs the columns {', '.join(self._COLUMNS)}."
            )
        rows, fields = _unfolded(without_empty(table.rows.collect()))
        rater = _rater(replace(table, rows=rows.lazy()))
        responses = [name for name in ("response", *fields) if name in rows.columns]
        rows = rows.with_columns(_asks(rows, responses).alias("\0asks"))
        values = table.names_in("value") or responses
        stimulus, rows = _shown(rows, table)
        parts = _part_columns(rows.columns)
        kind = pl.col("trial_type").cast(pl.String)
        of_other_types = {
            f"trial of type '{name}'" if name else "trial without a type": ~pl.col("\0asks")
            & kind.eq_missing(pl.lit(name, dtype=pl.String))
            for name in rows["trial_type"].cast(pl.String).unique(maintain_order=True)
        }
        table = left_out(
            replace(table, rows=rows.lazy()),
            {
                "practice trial": matches(parts, PRACTICE),
                "attention check": matches(parts, ATTENTION),
                "instructions, consent or fixation": matches(parts, NOT_RATED),
                **of_other_types,
                "no answer in the row": ~_any_filled(values),
                "answer without a stimulus (questions about the participant)": ~filled(stimulus),
            },
            rater,
        )
        answers = without_empty(table.rows.drop("\0asks").collect())
        values = [name for name in values if name in answers.columns]
        answers, more = _jspsych_columns(answers, values)
        return "long", replace(table, rows=answers.lazy(), options={"rater": rater, "stimulus": stimulus, **more})


def _asks(rows: pl.DataFrame, responses: Sequence[str]) -> pl.Series:
    """Whether a trial asks something; trials that take keys only where no other is answered."""
    types = rows["trial_type"].cast(pl.String)
    asks = types.str.contains(r"slider|button|survey|likert|rating|multi|form|select").fill_null(False)
    asking = rows.filter(asks)
    return asks if any(asking[name].count() for name in responses) else types.str.contains("response").fill_null(False)


def _jspsych_columns(answers: pl.DataFrame, values: list[str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """The answers with the time in seconds, and the options that say what their columns are."""
    more = {"value": ",".join(values), "position": "trial_index"}
    if "rt" in answers.columns and "seconds" not in answers.columns:
        answers = answers.with_columns((number_expr("rt") / 1000).alias("seconds")).drop("rt")
        more["seconds"] = "seconds"
    question = next((name for name in ("question", "dimension", "scale") if name in answers.columns), None)
    if len(values) == 1 and question is not None:
        more["question"] = question
    elif values == ["response"] and "rating" not in answers.columns:
        answers, more["value"] = answers.rename({"response": "rating"}), "rating"
    return answers, more


def _unfolded(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The rows with the fields of a form's response (``{"Q0": 3}``) as columns of their own, and these columns."""
    old = [name for name in rows.columns if name.startswith("responses.")]
    rows = rows.rename({name: f"response.{name.partition('.')[2]}" for name in old}, strict=False)
    responses = [name for name in _RESPONSES if name in rows.columns]
    rows = _with_form_fields(_with_one_response(rows, responses)) if responses else rows
    fields = [name for name in rows.columns if name.startswith("response.")]
    short = {name: new for name in fields if (new := name.partition(".")[2]) not in rows.columns}
    return rows.rename(short), [short.get(name, name) for name in fields]


def _with_one_response(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    cells = [pl.when(filled(name)).then(pl.col(name).cast(pl.String)) for name in columns]
    return rows.with_columns(pl.coalesce(cells).alias("response")).drop(set(columns) - {"response"})


def _with_form_fields(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a column for each field of a form, and ``response`` where it is no form."""
    records = [_form(cell) for cell in rows["response"]]
    names = dict.fromkeys(name for record in records for name in record)
    columns = [
        pl.Series(f"response.{name}", [_cell(record.get(name)) for record in records], pl.String) for name in names
    ]
    is_form = pl.Series(map(bool, records), dtype=pl.Boolean)
    return rows.with_columns(*columns, response=pl.when(~is_form).then("response"))


def _form(cell: str | None) -> dict[str, object]:
    if cell is None or not cell.lstrip().startswith("{"):
        return {}
    try:
        content = json.loads(cell)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _cell(value: object) -> str | None:
    if value is None or value == "":
        return None
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def _shown(rows: pl.DataFrame, table: SourceTable) -> tuple[str, pl.DataFrame]:
    """The column of the stimulus: jsPsych's own, without HTML, else one the researcher added."""
    if "stimulus" in table.options:
        return table.options["stimulus"], rows
    used_columns = {"trial_type", "internal_node_id", "view_history", "plugin_version", "response", "\0asks"}
    added = [name for name in rows.columns if name not in used_columns and rows[name].dtype == pl.String]
    asking_rows = rows.filter(pl.col("\0asks"))
    if "stimulus" in rows.columns and asking_rows["stimulus"].drop_nulls().len():
        text = pl.col("stimulus").cast(pl.String)
        shown = pl.coalesce(
            text.str.extract(r"""(?i)<(?:img|audio|video|source)[^>]*?src\s*=\s*["']([^"']+)["']"""),
            text.str.replace_all(r"<[^>]+>", " ").str.replace_all(r"\s+", " ").str.strip_chars(),
        )
        return "stimulus", rows.with_columns(shown.alias("stimulus"))
    return stimulus_column(asking_rows, media_columns(asking_rows, added) or added, table), rows


class Gorilla(ToolExport):
    """Task data of Gorilla Experiment Builder."""

    name = "gorilla"
    title = "Gorilla"
    about = "Gorilla: the CSV or Excel file of a task (Task Builder 1 and 2)"
    example_data = "example/gorilla.csv"
    _BEFORE: ClassVar[str] = "Participant Private ID"

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        return look is not None and look.columns >= {"Event Index", self._BEFORE}

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per response of a zone (or object); the spreadsheet's columns name the stimulus."""
        table = open_source(source, options)
        rows = without_empty(table.rows.collect())
        if not {"Event Index", self._BEFORE, "Response"} <= set(rows.columns):
            raise InputError(
                f"{table.where} is not the data of a task in Gorilla.",
                "Download the data of the task node: it has the columns Event Index, Participant Private ID and Response.",
            )
        zone, answer = _gorilla_answers(rows.columns)
        marks = [name for name in rows.columns if name.lower() in _GORILLA_SCREENS]
        stimulus = stimulus_column(rows.filter(answer), _spreadsheet_columns(rows.columns, marks), table)
        table = left_out(
            replace(table, rows=rows.lazy()),
            {
                "end of the file": pl.col("Event Index").cast(pl.String) == "END OF FILE",
                "practice trial": matches(marks, PRACTICE),
                "attention check": matches(marks, ATTENTION),
                "event that is no response (fixation, instructions, continue)": ~answer | ~filled("Response"),
                "answer without a stimulus": ~filled(stimulus),
            },
            self._BEFORE,
        )
        answers = without_empty(table.rows.collect())
        more = {"rater": self._BEFORE, "stimulus": stimulus, "value": "Response"}
        if zone in answers.columns:
            more["question"] = zone
        if "Reaction Time" in answers.columns:
            answers = answers.with_columns((number_expr("Reaction Time") / 1000).alias("seconds"))
            more["seconds"] = "seconds"
        if "Trial Number" in answers.columns:
            more["position"] = "Trial Number"
        return "long", replace(table, rows=answers.lazy(), options=more)


def _gorilla_answers(columns: Sequence[str]) -> tuple[str, pl.Expr]:
    """The column of the question, and whether a row is a response: zones in the first task builder, objects in the second."""
    kind, zone, pattern = "Zone Type", "Zone Name", "(?i)response|rating|slider"
    if "Object Name" in columns:  # both builders have a column 'Response Type'
        kind, zone, pattern = "Response Type", "Object Name", "(?i)^response"
    return zone, matches([kind], pattern) if kind in columns else filled("Response")


def _spreadsheet_columns(columns: list[str], marks: Sequence[str]) -> list[str]:
    """The columns of the experiment's own spreadsheet, but for those that mark what a row is."""
    added = [name for name in columns if name.startswith("Spreadsheet: ")]
    added = added or columns[columns.index("Response") + 1 :]
    return [name for name in added if name not in {*marks, *_EVENT_COLUMNS}]


class PsyToolkit(ToolExport, layouts=("long", "wide")):
    """A download of PsyToolkit: ``data.csv`` of the survey, and ``experiment_data`` with a file per participant."""

    name = "psytoolkit"
    title = "PsyToolkit"
    about = "PsyToolkit: the unpacked download, with data.csv and the folder experiment_data"
    example_data = "example/psytoolkit"
    own_options: ClassVar[Mapping[str, str]] = {
        "columns": "the names of the experiment's columns, with commas, as its script saves them; guessed if left out"
    }
    _TIMES: ClassVar[set[str]] = {"TIME_start", "TIME_end", "TIME_total"}

    def recognises(self, source: Path) -> bool:
        if source.is_dir() and (source / "experiment_data").is_dir():
            return True
        survey = source / "data.csv" if source.is_dir() else source
        look = glance(survey)
        return look is not None and "participant" in look.columns and bool(look.columns & self._TIMES)

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """The trials of the experiment where there are such, with what the survey asked; else the survey."""
        folder = source / "experiment_data"
        survey = source / "data.csv" if source.is_dir() else source
        if not folder.is_dir():
            return "wide", replace(open_source(survey, options), options={"id": "participant"})
        files = sorted(folder.glob("*.txt"))
        if not files:
            raise InputError(f"{folder} holds no data files.", "Unpack the whole download of PsyToolkit.")
        joined = participants_table(source, {path: _plain_rows(path) for path in files})
        rows, named = _named_columns(joined.rows.collect().rename({"participant": _FILE}), options, folder)
        notes = (f"{len(files)} files of {folder.name} were read as one table.", *named)
        more = {"rater": _FILE} | ({} if "columns" in options else {"stimulus": "stimulus", "value": "rating"})
        if survey.is_file():
            rows, facts = _with_survey(rows, files, read_delimited(survey))
            more |= {"rater_columns": ",".join(facts)} if facts else {}
        if "rt" in rows.columns:
            rows = rows.with_columns((number_expr("rt") / 1000).alias("seconds")).drop("rt")
        table = SourceTable(path=source / source.name, rows=rows.lazy(), options=more, notes=notes)
        return "long", selected(table, options)


def _plain_rows(path: Path) -> pl.DataFrame:
    """The lines of a data file: cells with spaces between them, without a header."""
    lines = [line.split() for line in text_of(path).split("\n") if line.strip()]
    if not lines:
        return pl.DataFrame()
    width = max(map(len, lines))
    cells = [[*line, *[None] * (width - len(line))] for line in lines]
    return pl.DataFrame(cells, schema={f"column_{at}": pl.String for at in range(1, width + 1)}, orient="row")


def _named_columns(rows: pl.DataFrame, options: Mapping[str, str], folder: Path) -> tuple[pl.DataFrame, list[str]]:
    """The rows with names: those that ``columns`` gives, or stimulus, rating and rt where they are unmistakable."""
    data_columns = [name for name in rows.columns if name != _FILE]
    if "columns" in options:
        names = [name.strip() for name in options["columns"].split(",") if name.strip()]
        if len(names) != len(data_columns):
            raise InputError(
                f"{folder}: the files have {len(data_columns)} columns, and {len(names)} are named.",
                f"Name all of them, in order. The first row is: {' '.join(map(str, rows.row(0)))}.",
            )
        return rows.rename(dict(zip(data_columns, names, strict=True))), []
    named = _unmistakable(rows, data_columns)
    if named is None:
        first = " ".join(str(cell) for cell in rows.row(0)[: len(data_columns)])
        raise InputError(
            f"{folder}: the files have no header, and the columns cannot be identified from the first row: {first}",
            "Name the columns in the order in which the experiment's script saves them, such as"
            f" {as_option('columns', ','.join(['block', 'stimulus', 'rating', 'rt'][: len(data_columns)]))}.",
        )
    listed = ", ".join(f"column {data_columns.index(old) + 1} is {new}" for old, new in named.items())
    return rows.rename(named), [f"The files have no header: {listed}. Name them with {as_option('columns', '…')}."]


def _unmistakable(rows: pl.DataFrame, columns: list[str]) -> dict[str, str] | None:
    """The only columns that can be the stimulus and the rating, and the only one of times if there is one."""
    numbers = {name: rows[name].cast(pl.Float64, strict=False) for name in columns}
    words = [name for name in columns if numbers[name].is_null().all() and rows[name].n_unique() > 1]
    media = media_columns(rows, words) or words
    whole = {name: cells for name, cells in numbers.items() if not cells.null_count() and (cells % 1 == 0).all()}
    ratings = [name for name, cells in whole.items() if cells.is_between(0, 10).all() and 1 < cells.n_unique() <= 11]
    times = [name for name, cells in whole.items() if cells.gt(100).all()]
    if len(media) != 1 or len(ratings) != 1 or len(times) > 1:
        return None
    return {media[0]: "stimulus", ratings[0]: "rating"} | dict.fromkeys(times, "rt")


def _with_survey(rows: pl.DataFrame, files: list[Path], survey: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The trials with the participant's id and answers to the survey: a column of it holds the names of data files."""
    stems = {path.stem for path in files}
    cells = {name: survey[name].cast(pl.String).str.strip_suffix(".txt") for name in survey.columns}
    linked = [name for name, column in cells.items() if set(column.drop_nulls()) & stems]
    if not linked:
        return rows, []
    people = survey.with_columns(cells[linked[0]].alias(_FILE)).drop(linked)
    people = people.drop_nulls(_FILE).unique(_FILE, keep="first", maintain_order=True)
    joined = rows.join(people, on=_FILE, how="left", maintain_order="left")
    facts = [name for name in people.columns if name not in {_FILE, "participant"}]
    if "participant" in people.columns and joined["participant"].null_count() == 0:
        joined = joined.with_columns(pl.col("participant").alias(_FILE)).drop("participant")
    return joined, facts


for _format in (PsychoPy(), JsPsych(), Gorilla(), PsyToolkit()):
    FORMATS.add(_format.name, _format)
