"""Survey tools: Qualtrics, LimeSurvey, REDCap and Google Forms.

They write one row per response and one column per question and stimulus. What the tool itself adds (dates, states, language)
describes the response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import as_option
from heartfelt.formats.format import FORMATS
from heartfelt.formats.tables.delimited import open_delimited
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.source_table import SourceTable
from heartfelt.formats.tables.workbooks import WORKBOOKS
from heartfelt.formats.tools.export import (
    Layout,
    ToolExport,
    filled,
    glance,
    left_out,
    media_columns,
    rater_column,
    selected,
    stimulus_column,
    without_empty,
)

_BRACKETS = re.compile(r"(?P<outer>.+?)\s*\[(?P<inner>[^\[\]]+)\]\.?\s*(?P<text>.*)")
_PREFIXED = re.compile(r"(?P<outer>[^:–]{1,60}?)\s*(?::|\s[-–]\s)\s*(?P<inner>.+)")
_LOOKS_NUMBERED = re.compile(r"(?i)\d|\.(?:wav|mp3|ogg|flac|png|jpe?g|mp4)$")


def _is_stimulus(names: set[str], other_names: set[str]) -> bool:
    """Whether these names are the stimuli and the others the questions: numbered names, else the more of the two."""
    numbered = [
        sum(bool(_LOOKS_NUMBERED.search(name)) for name in group) / len(group) for group in (names, other_names)
    ]
    return numbered[0] > numbered[1] if numbered[0] != numbered[1] else len(names) > len(other_names)


def _split_columns(columns: Sequence[str], shape: re.Pattern[str]) -> dict[str, tuple[str, str]]:
    """The columns that fit, each with its question and its stimulus."""
    fitting = {name: match for name in columns if (match := shape.fullmatch(name))}
    outer, inner = ({match[part].strip() for match in fitting.values()} for part in ("outer", "inner"))
    if not fitting or len(fitting) < 2:
        return {}
    inner_first = _is_stimulus(outer, inner)
    return {
        name: (match["inner"].strip(), match["outer"].strip())
        if inner_first
        else (match["outer"].strip(), match["inner"].strip())
        for name, match in fitting.items()
    }


MARK = " @ "
"""Between question and stimulus in the names of columns that were split."""


def _renamed(table: SourceTable, cells: Mapping[str, tuple[str, str]]) -> SourceTable:
    """The table with answer columns named ``question @ stimulus``, and the pattern that says so."""
    names = {column: f"{question}{MARK}{stimulus}" for column, (question, stimulus) in cells.items()}
    return replace(
        table,
        rows=table.rows.rename(names),
        options={**table.options, "pattern": f"{{question}}{MARK}{{stimulus}}"},
        texts={names.get(name, name): text for name, text in table.texts.items()},
        delimited=None,
    )


def _coded(rows: pl.DataFrame, columns: Sequence[str], shape: str) -> pl.DataFrame:
    """Answers such as ``A3`` or ``5 - very pleasant`` as their numbers, where all of a column's answers are such."""
    out = []
    for name in columns:
        cells = rows[name].cast(pl.String).str.strip_chars().replace("", None)
        fitting = cells.str.extract(shape)
        if cells.drop_nulls().len() and fitting.null_count() == cells.null_count():
            out.append(fitting.alias(name))
    return rows.with_columns(out)


_PREVIEWS = {"Status": ["1", "Survey Preview"], "DistributionChannel": ["preview"]}
"""How Qualtrics marks a preview; the channel is the same in every language, the status as choice text is not."""


class Qualtrics(ToolExport, layouts=("wide",)):
    """A CSV or Excel export of Qualtrics."""

    name = "qualtrics"
    title = "Qualtrics"
    about = "Qualtrics: an export as CSV, TSV or Excel with its three header lines"
    example_data = "example/qualtrics.csv"

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        if look is None or source.is_dir():
            return False
        return look.columns >= {"ResponseId", "Finished", "StartDate"}

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per response; previews are left out."""
        table = open_source(source, options)
        rows = table.rows.collect()
        tests = [
            pl.col(name).cast(pl.String).str.strip_chars().is_in(cells).fill_null(False)
            for name, cells in _PREVIEWS.items()
            if name in rows.columns
        ]
        preview = pl.any_horizontal(tests) if tests else pl.lit(False)
        table = left_out(replace(table, rows=rows.lazy()), {"preview of the survey": preview}, "ResponseId")
        notes = list(table.notes)
        if "Finished" in rows.columns and "where" not in options:
            done = rows["Finished"].cast(pl.String).str.to_lowercase().is_in(["1", "true"])
            if (open_ := int((~done).sum())) > 0:
                notes.append(
                    f"{open_:,} of {rows.height:,} responses are unfinished and are read too; leave them out with"
                    f" {as_option('where', 'Finished=' + str(rows['Finished'].filter(done).first() or 'True'))}."
                )
        more = {"id": "ResponseId"} if "ResponseId" in rows.columns else {}
        return "wide", replace(table, options=more, notes=tuple(notes))


class LimeSurvey(ToolExport, layouts=("wide",)):
    """An export of LimeSurvey's responses."""

    name = "limesurvey"
    title = "LimeSurvey"
    about = "LimeSurvey: responses exported as CSV or Excel, with question codes, texts or both as headings"
    example_data = "example/limesurvey.csv"
    _CODES: ClassVar[tuple[str, ...]] = ("id", "submitdate", "lastpage", "startlanguage")
    _TEXTS: ClassVar[tuple[str, ...]] = ("Response ID", "Date submitted", "Last page", "Start language")

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        return look is not None and len(self._own(list(look.columns))) == len(self._CODES)

    def _own(self, columns: Sequence[str]) -> dict[str, str]:
        """LimeSurvey's own columns by their code: headings are codes, texts or ``code. text``."""
        out = {}
        for code, text in zip(self._CODES, self._TEXTS, strict=True):
            for name in columns:
                if name in {code, text, f"{code}. {text}"}:
                    out[code] = name
        return out

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per response; ``clip01[valence]`` is a question and a stimulus, whichever way round."""
        table, repeated = _with_repeated_names(source, options)
        own_columns = self._own(table.columns)
        rows = table.rows.collect()
        cells = {} if "pattern" in options else {**_split_columns(rows.columns, _BRACKETS), **repeated}
        rows = _coded(rows, list(cells), r"^A[OA]?0*(\d+)$")
        table = replace(table, rows=rows.lazy(), options={"id": own_columns["id"]} if "id" in own_columns else {})
        if "submitdate" in own_columns and (
            unsubmitted := int((~rows.select(filled(own_columns["submitdate"])).to_series()).sum())
        ):
            note = f"{unsubmitted:,} of {rows.height:,} responses were not submitted and are read as far as they go."
            table = replace(table, notes=(*table.notes, note))
        return "wide", _renamed(table, cells) if cells else table


_REDCAP_LABELS = {
    "Event Name": "redcap_event_name",
    "Repeat Instrument": "redcap_repeat_instrument",
    "Repeat Instance": "redcap_repeat_instance",
    "Survey Identifier": "redcap_survey_identifier",
    "Data Access Group": "redcap_data_access_group",
}
"""REDCap's own columns where labels are exported, and their names in raw data."""
_REDCAP_STATE = re.compile(r".+_(?:complete|timestamp)|(?:Complete\?|Survey Timestamp)(?: \[\d+\])?")


class RedCap(ToolExport, layouts=("wide", "long")):
    """An export of REDCap's records."""

    name = "redcap"
    title = "REDCap"
    about = "REDCap: records exported as CSV (raw data or labels), with or without repeating instruments"
    example_data = "example/redcap.csv"
    _INSTRUMENT: ClassVar[str] = "redcap_repeat_instrument"
    _INSTANCE: ClassVar[str] = "redcap_repeat_instance"

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        if look is None or not look.rows:
            return False
        complete = any(name.endswith("_complete") or name == "Complete?" for name in look.columns)
        return complete and (
            look.rows[0][0] in {"record_id", "Record ID"}
            or any(name.startswith("redcap_") for name in look.columns)
            or "Repeat Instance" in look.columns
        )

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per record, or one per instance of a repeating instrument, which is then one stimulus."""
        table, _ = _with_repeated_names(source, options)
        rows = without_empty(table.rows.collect())
        if "Complete?" in table.columns or "Complete? [1]" in table.columns:
            rows = rows.rename(_REDCAP_LABELS, strict=False)
        record = rows.columns[0]
        tool_columns = [n for n in rows.columns if n.startswith("redcap_") or _REDCAP_STATE.fullmatch(n)]
        table = replace(table, rows=rows.lazy(), options={"id": record, "rater_columns": ",".join(tool_columns)})
        if self._INSTANCE not in rows.columns:
            return "wide", table
        return "long", self._instances(table, rows, tool_columns, options)

    def _instances(
        self, table: SourceTable, rows: pl.DataFrame, tool_columns: Sequence[str], options: Mapping[str, str]
    ) -> SourceTable:
        """The instances of the instrument with the stimulus, each with the facts about its record."""
        record, repeated = rows.columns[0], filled(self._INSTANCE)
        answers = without_empty(rows.filter(repeated))
        stimulus = self._stimulus(answers, {record, *tool_columns}, table, options)
        without_stimulus = ~filled(stimulus)
        if self._INSTRUMENT in answers.columns:
            reasons = {
                f"row of the instrument '{name}', which has no stimulus": without_stimulus
                & (pl.col(self._INSTRUMENT) == name)
                for name in answers[self._INSTRUMENT].drop_nulls().unique(maintain_order=True)
            }
        else:
            reasons = {"row without a stimulus": without_stimulus}
        table = left_out(replace(table, rows=answers.lazy()), reasons, record)
        answers = without_empty(table.rows.collect())
        fields = [name for name in answers.columns if name not in {record, stimulus, *tool_columns}]
        answers = _coded(answers, fields, r"^(\d+)(?:\s*[-–=:)]?\s+\D.*)?$")
        numeric = _numeric(answers, fields)
        people = without_empty(rows.filter(~repeated)).drop(tool_columns, strict=False)
        people = people.group_by(record, maintain_order=True).agg(pl.all().drop_nulls().first())
        facts = [name for name in people.columns if name not in answers.columns]
        if people.height:
            answers = answers.join(people.select(record, *facts), on=record, how="left", maintain_order="left")
        notes = (
            *table.notes,
            f"Each instance of a repeating instrument is an answer; '{stimulus}' names the stimulus.",
        )
        more = {"rater": record, "stimulus": stimulus, "value": options.get("value") or ",".join(numeric or fields)}
        more |= {"rater_columns": ",".join(facts)} if facts else {}
        return replace(table, rows=answers.lazy(), options=more, notes=notes)

    def _stimulus(
        self, answers: pl.DataFrame, used_columns: set[str], table: SourceTable, options: Mapping[str, str]
    ) -> str:
        """The field that names the stimulus: of media files, the only text, or the number of the instance."""
        fields = [name for name in answers.columns if name not in used_columns]
        named = [name for name in fields if name not in _numeric(answers, fields)] or [self._INSTANCE]
        only = media_columns(answers, named)[:1] or (named if len(named) == 1 else [])
        return options.get("stimulus") or (only[0] if only else stimulus_column(answers, named, table))


def _numeric(rows: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Those of the columns that hold numbers only."""
    return [n for n in names if rows[n].cast(pl.Float64, strict=False).null_count() == rows[n].null_count()]


class GoogleForms(ToolExport, layouts=("wide",)):
    """Responses of a form in Google Forms, from Google Sheets."""

    name = "google-forms"
    title = "Google Forms"
    about = "Google Forms: the responses, downloaded from Google Sheets as CSV or Excel"
    example_data = "example/google_forms.csv"
    _STAMPS: ClassVar[set[str]] = {
        "Timestamp", "Zeitstempel", "Horodateur", "Marca temporal", "Carimbo de data/hora", "Informazioni cronologiche",
        "타임스탬프", "タイムスタンプ", "时间戳记", "時間戳記", "Отметка времени", "Tijdstempel",
    }  # fmt: skip

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        if look is None or source.is_dir() or not look.rows or look.rows[0][0] not in self._STAMPS:
            return False
        headings = [name for name in look.rows[0][1:] if name]
        return sum(bool(re.search(r"[\s\[?]", name)) for name in headings) > len(headings) / 2

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per response; the rows of a grid, or what stands before a colon, are the stimuli."""
        table, repeated = _with_repeated_names(source, options)
        rows = table.rows.collect()
        used_columns = {rows.columns[0], options.get("id", "")}
        question_columns = [name for name in rows.columns if name not in used_columns]
        notes = list(table.notes)
        cells = dict[str, tuple[str, str]]()
        if "pattern" not in options:
            cells = _split_columns(question_columns, _BRACKETS) or _split_columns(question_columns, _PREFIXED)
            cells |= repeated
        if repeated:
            notes.append(
                f"{len(repeated):,} columns have the name of another: they were numbered in order, and each number is a stimulus."
            )
        rows = _coded(rows, list(cells), r"^(\d+)(?:\D.*)?$")
        rater = rater_column(question_columns)
        more = {"id": rater} if rater else {}
        if not rater:
            notes.append("No question asks for the participant's id: raters are numbered by row.")
        table = replace(table, rows=rows.lazy(), options=more, notes=tuple(notes))
        return "wide", _renamed(table, cells) if cells else table


def _with_repeated_names(source: Path, options: Mapping[str, str]) -> tuple[SourceTable, dict[str, tuple[str, str]]]:
    """The table of a form; questions with one text get a number each, which is the stimulus."""
    if source.suffix.lower() in WORKBOOKS:
        return open_source(source, options), {}
    look = glance(source)
    names = list(look.rows[0]) if look is not None and look.rows else []
    twice = {name for name in names if names.count(name) > 1}
    if not twice:
        return open_source(source, options), {}
    counts: dict[str, int] = {}
    numbered: list[str] = []
    cells: dict[str, tuple[str, str]] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        numbered.append(f"{name} [{counts[name]}]" if name in twice else name)
        if name in twice:
            cells[numbered[-1]] = (name, str(counts[name]))
    opened = open_delimited(source, options.get("delimiter"), numbered, options.get("encoding"))
    rows = opened.scan().slice(1).collect()
    table = SourceTable(path=source, rows=rows.lazy(), options={}, notes=opened.notes)
    return selected(table, options), cells


for _format in (Qualtrics(), LimeSurvey(), RedCap(), GoogleForms()):
    FORMATS.add(_format.name, _format)
