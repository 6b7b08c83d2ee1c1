"""Annotation tools: Label Studio and Potato. Their JSON holds the answers of each annotator to each item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.format import FORMATS
from heartfelt.formats.proposals.column_profiles import determined_by
from heartfelt.formats.ratings.set_rows import joined_ledgers
from heartfelt.formats.tables.json_files import read_json, read_jsonl
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.source_table import SourceTable, rows_of
from heartfelt.formats.tools.export import (
    Layout,
    ToolExport,
    glance,
    media_columns,
    selected,
    stimulus_column,
    without_empty,
)
from heartfelt.study.scales.scale import Tags
from heartfelt.tables import LEDGER

_UPLOADED = re.compile(r".*/upload/\d+/[0-9a-f]{8}-(.+)")
_LOCAL = re.compile(r".*[?&]d=([^&]+)")
_SINGLE = {"rating": "rating", "number": "number", "datetime": "datetime", "pairwise": "selected"}
"""Kinds of controls whose value is one answer, and the key it has."""
_LISTS = {"choices": "choices", "textarea": "text"}
"""Kinds of controls whose value is a list of answers."""
_OWN = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history"}


@dataclass(slots=True)
class Collected:
    """Answers read so far, and what was left out with the reasons."""

    rows: list[dict[str, object]] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    """Questions to which somebody gave several answers."""
    lost: list[dict[str, str | None]] = field(default_factory=list)

    def leave_out(self, kind: str, reason: str, rater: str | None = None, stimulus: str | None = None) -> None:
        self.lost.append({"what": kind, "rater": rater, "stimulus": stimulus, "reason": reason, "stage": "import"})

    def answer(self, question: str, values: list[str], **about: object) -> None:
        """Add an answer; several answers to one question make it a question of tags."""
        if len(values) > 1:
            self.tags.add(question)
        self.rows.append({**about, "question": question, "value": Tags(type="tags").separator.join(values)})

    def table(self, path: Path, notes: list[str], stimulus_columns: list[str]) -> SourceTable:
        if not self.rows:
            reasons = "; ".join(sorted({str(line["reason"]) for line in self.lost})) or "there are no annotations"
            raise InputError(f"{path} holds no answers ({reasons}).", "Export the annotations, not the tasks alone.")
        frame = without_empty(pl.DataFrame(self.rows, infer_schema_length=None, strict=False))
        facts = [name for name in stimulus_columns if name in frame.columns]
        options = {"rater": "rater", "stimulus": "stimulus", "question": "question", "value": "value"}
        options |= {"seconds": "seconds"} if "seconds" in frame.columns else {}
        options |= {"at": "at"} if "at" in frame.columns else {}
        options |= {"stimulus_columns": ",".join(facts)} if facts else {}
        options |= {f"scale.{question}": "tags" for question in sorted(self.tags)}
        return SourceTable(path=path, rows=frame.lazy(), options=options, notes=tuple(notes), ledger=self.ledger(path))

    def ledger(self, path: Path) -> pl.DataFrame | None:
        schema = dict.fromkeys(("what", "rater", "stimulus", "reason", "stage"), pl.String)
        return LEDGER.check(pl.DataFrame(self.lost, schema=schema), str(path)) if self.lost else None


class LabelStudio(ToolExport):
    """An export of Label Studio."""

    name = "label-studio"
    title = "Label Studio"
    about = "Label Studio: an export as JSON, JSON-MIN, CSV or TSV"
    example_data = "example/label_studio.json"

    def recognises(self, source: Path) -> bool:
        look = glance(source)
        if look is None:
            return False
        return (
            look.has_keys("annotations", "result", "from_name")
            or look.has_keys("annotator", "annotation_id", "lead_time")
            or look.columns >= {"annotator", "annotation_id", "lead_time"}
        )

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per annotator, item and question."""
        if source.is_dir():
            exports = sorted(p for p in source.iterdir() if p.suffix == ".json")
            if len(exports) != 1:
                raise InputError(f"{source} holds {len(exports)} JSON files.", "Point to the export itself.")
            source = exports[0]
        look = glance(source)
        if look is not None and look.is_json and '"annotations"' in look.head:
            return "long", selected(_label_studio_tasks(source, read_json(source)), options)
        return "long", self._small(source, options)

    def _small(self, source: Path, options: Mapping[str, str]) -> SourceTable:
        """JSON-MIN, CSV and TSV: a row per annotation with a column per control, and the task's data."""
        table, rows = _annotations(source, options)
        if not {"annotator", "annotation_id"} <= set(rows.columns):
            raise InputError(f"{source} is not an export of Label Studio.", "Export it as JSON, JSON-MIN, CSV or TSV.")
        controls = [n for n in rows.columns if n not in _OWN and any(map(_is_result, rows[n].drop_nulls()))]
        values_of = {name: [_values(cell) for cell in rows[name]] for name in controls}
        tags = [name for name in controls if max(map(len, values_of[name])) > 1]
        collected = Collected()
        for name in controls:
            _leave_out_regions(collected, name, rows)
        rows = without_empty(rows.with_columns(_tag_column(name, cells) for name, cells in values_of.items()))
        columns = [name for name in rows.columns if name not in _OWN]
        task_data = [name for name in columns if name not in controls]
        stimulus = stimulus_column(rows, media_columns(rows, columns) or task_data, table)
        facts = _facts_of_items(rows, [name for name in task_data if name != stimulus])
        values = options.get("value") or ",".join(name for name in columns if name not in {stimulus, *facts})
        rows = rows.with_columns(pl.col(stimulus).map_elements(_file_name, return_dtype=pl.String))
        more = {"rater": "annotator", "stimulus": stimulus, "value": values}
        more |= {"seconds": "lead_time"} if "lead_time" in rows.columns else {}
        more |= {"stimulus_columns": ",".join(facts)} if facts else {}
        more |= {"at": "created_at"} if "created_at" in rows.columns else {}
        more |= {f"scale.{name}": "tags" for name in tags if name in rows.columns}
        ledger = joined_ledgers(table.ledger, collected.ledger(source))
        return SourceTable(path=source, rows=rows.lazy(), options=more, notes=table.notes, ledger=ledger)


def _leave_out_regions(collected: Collected, control: str, rows: pl.DataFrame) -> None:
    """Put annotations about parts of items into the ledger."""
    for cell, rater in rows.select(control, "annotator").iter_rows():
        if any(map(_is_region, _result(cell))):
            collected.leave_out("rating", f"annotation '{control}', which is about a part of the item", str(rater))


def _tag_column(name: str, cells: list[list[str]]) -> pl.Series:
    separator = Tags(type="tags").separator
    return pl.Series(name, [separator.join(values) or None for values in cells], pl.String)


def _facts_of_items(rows: pl.DataFrame, columns: list[str]) -> list[str]:
    """The columns that are the same in all rows of an item, where items have several rows."""
    return determined_by(rows, ["id"], columns) if "id" in rows.columns else []


def _annotations(source: Path, options: Mapping[str, str]) -> tuple[SourceTable, pl.DataFrame]:
    """The rows of a small export as text; annotators named by their e-mail address are numbered."""
    look = glance(source)
    if look is not None and look.is_json:
        table = _json_rows(source)
    else:
        file_options = {option: value for option, value in options.items() if option != "where"}
        table = open_source(source, {**file_options, "personal": "keep"})
    rows = table.rows.collect()
    if "annotator" in rows.columns:
        people = rows["annotator"].cast(pl.String).unique(maintain_order=True).drop_nulls()
        if people.str.contains("@", literal=True).any():
            numbers = {name: f"annotator{at}" for at, name in enumerate(people, 1)}
            rows = rows.with_columns(pl.col("annotator").cast(pl.String).replace(numbers))
            note = "Annotators are named by their e-mail addresses, which are replaced by numbers."
            table = replace(table, notes=(*table.notes, note))
    table = selected(replace(table, rows=rows.lazy(), options={}), options)
    return table, without_empty(table.rows.collect())


def _json_rows(source: Path) -> SourceTable:
    content = read_json(source)
    records = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
    names = dict.fromkeys(name for record in records for name in record)
    cells = {name: [_cell_text(record.get(name)) for record in records] for name in names}
    frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String))
    return SourceTable(path=source, rows=frame.lazy(), options={})


def _is_result(cell: object) -> bool:
    """Whether a cell of a small export is a result of a control: ``[{"rating": 4}]``, ``{"choices": ["a", "b"]}``."""
    parts = _result(cell)
    return bool(parts) and all(_is_answer(part) or _is_region(part) for part in parts)


def _is_answer(part: object) -> bool:
    """Whether this is an answer about the whole item; texts are a list, unlike those of a dialogue in the task's data."""
    if not isinstance(part, dict) or len(keys := part.keys() - {"original_width", "original_height"}) != 1:
        return False
    key = keys.pop()
    return key in _SINGLE.values() or (key in _LISTS.values() and isinstance(part[key], list))


def _is_region(part: object) -> bool:
    return isinstance(part, dict) and any(key.endswith("labels") for key in part)


def _result(cell: object) -> list[Any]:
    text = str(cell).strip()
    if not text.startswith(("[", "{")):
        return []
    try:
        content = json.loads(text)
    except ValueError:
        return []
    return content if isinstance(content, list) else [content]


def _values(cell: object) -> list[str]:
    """The answers in a cell; none where it is empty or about parts of the item."""
    if cell is None or not _is_result(cell):
        return [] if cell is None else [str(cell)]
    answers = [value for part in _result(cell) if _is_answer(part) for value in part.values()]
    return [str(value) for answer in answers for value in (answer if isinstance(answer, list) else [answer])]


def _cell_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _label_studio_tasks(path: Path, content: object) -> SourceTable:
    tasks = [task for task in content if isinstance(task, dict)] if isinstance(content, list) else []
    data: list[Mapping[str, object]] = [task["data"] if isinstance(task.get("data"), dict) else {} for task in tasks]
    names = list(dict.fromkeys(name for item in data for name in item))
    cells = {name: [_text(item.get(name)) for item in data] for name in names}
    media = media_columns(pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String)), names)
    key = media[0] if len(media) == 1 else ""
    collected = Collected()
    for task, item in zip(tasks, data, strict=True):
        stimulus = _file_name(str(item[key])) if key and item.get(key) else str(task.get("id"))
        facts = {name: _text(item[name]) for name in item if name != key and not isinstance(item[name], dict | list)}
        for annotation in task.get("annotations") or []:
            _annotation(collected, annotation, stimulus, facts)
    notes = [f"'{key}' names the stimulus." if key else "The task's id names the stimulus."]
    predictions = sum(len(task.get("predictions") or []) for task in tasks)
    if predictions:
        notes.append(f"{predictions:,} predictions of models were not read: they are no answers of people.")
    return collected.table(path, notes, [name for name in names if name != key])


def _annotation(
    collected: Collected, annotation: Mapping[str, Any], stimulus: str, facts: Mapping[str, str | None]
) -> None:
    by = annotation.get("completed_by")
    rater = str(by.get("id", "unknown")) if isinstance(by, dict) else str(by)
    if annotation.get("was_cancelled"):
        collected.leave_out("rating", "task that the annotator skipped", rater, stimulus)
        return
    about = {
        "rater": rater,
        "stimulus": stimulus,
        **{name: value for name, value in facts.items() if name not in {"rater", "stimulus", "question", "value"}},
        "seconds": annotation.get("lead_time"),
        "at": annotation.get("created_at"),
    }
    for result in annotation.get("result") or []:
        kind = str(result.get("type", ""))
        answers = _answers_of(kind, result.get("value") or {})
        if answers:
            collected.answer(str(result.get("from_name")), answers, **about)
        else:
            reason = f"annotation of type '{kind}', which is about a part of the item"
            collected.leave_out("rating", reason, rater, stimulus)


def _answers_of(kind: str, value: Mapping[str, object]) -> list[str]:
    """The answers of a control about the whole item; none of one about a part of it."""
    if kind in _SINGLE:
        return [str(value[_SINGLE[kind]])] if _SINGLE[kind] in value else []
    answer = value.get(_LISTS.get(kind, "")) or []
    return [str(part) for part in answer] if isinstance(answer, list) else [str(answer)]


def _text(value: object) -> str | None:
    return None if value is None or isinstance(value, dict | list) else str(value)


def _file_name(path: str) -> str:
    """The name a file had before Label Studio stored it."""
    for shape in (_UPLOADED, _LOCAL):
        if match := shape.fullmatch(path):
            return match[1]
    return path


_NO_ITEM = re.compile(r"(?i)attention|_testing_|gold_standard_test|prestudy|consent")


class _Instance(NamedTuple):
    """What one annotator said of one item: the labels of each scheme, and the seconds it took."""

    rater: str
    instance: str
    schemes: Mapping[str, Mapping[str, object]]
    seconds: float | None


class Potato(ToolExport):
    """The output folder of Potato, or one of its files."""

    name = "potato"
    title = "Potato"
    about = "Potato: the folder annotation_output, or its annotated_instances as JSONL, CSV or TSV"
    example_data = "example/potato"
    _FILE: ClassVar[str] = "annotated_instances.jsonl"

    def recognises(self, source: Path) -> bool:
        if source.is_dir():
            return any(source.glob(f"*/{self._FILE}"))
        look = glance(source)
        return look is not None and (look.has_keys("label_annotations") or any(":::" in name for name in look.columns))

    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """One row per annotator, item and scheme."""
        collected = Collected()
        for rater, instance, schemes, seconds in self._instances(source):
            if _NO_ITEM.search(instance):
                collected.leave_out("rating", "attention check or page that is no item", rater, instance)
                continue
            for scheme, labels in schemes.items():
                values = [value for label, answer in labels.items() if (value := _potato_answer(label, answer))]
                if values:
                    collected.answer(scheme, values, rater=rater, stimulus=instance, seconds=seconds)
        path = source / source.name if source.is_dir() else source
        return "long", selected(collected.table(path, [], []), options)

    def _instances(self, source: Path) -> Iterator[_Instance]:
        """Every annotated instance."""
        paths = sorted(source.glob(f"*/{self._FILE}")) if source.is_dir() else [source]
        if not paths:
            raise InputError(f"{source} holds no {self._FILE}.", "Point to Potato's folder annotation_output.")
        for path in paths:
            if path.suffix.lower() in {".jsonl", ".json"}:
                for _, record in read_jsonl(path):
                    yield _potato_record(record, path)
            else:
                yield from _potato_table(path)


def _potato_record(record: Mapping[str, Any], path: Path) -> _Instance:
    schemes = (record.get("label_annotations") or {}).items()
    return _Instance(
        rater=str(record.get("user_id") or path.parent.name),
        instance=str(record.get("instance_id") or record.get("id")),
        schemes={name: answer if isinstance(answer, dict) else {"": answer} for name, answer in schemes},
        seconds=_potato_seconds(record.get("behavioral_data")),
    )


def _potato_table(path: Path) -> Iterator[_Instance]:
    """The instances of a CSV or TSV: a column ``scheme:::label`` per label."""
    rows = rows_of(path, {})
    rater, instance = (
        next((name for name in names if name in rows.columns), None)
        for names in (("user", "user_id", "annotator"), ("instance_id", "id"))
    )
    if rater is None or instance is None:
        raise InputError(f"{path} has no columns 'user' and 'instance_id'.", "Point to Potato's annotated_instances.")
    for row in rows.iter_rows(named=True):
        schemes: dict[str, dict[str, object]] = {}
        for name, cell in row.items():
            scheme, mark, label = name.partition(":::")
            if mark and cell not in (None, ""):
                schemes.setdefault(scheme, {})[label] = cell
        yield _Instance(rater=str(row[rater]), instance=str(row[instance]), schemes=schemes, seconds=None)


def _potato_answer(label: str, answer: object) -> str | None:
    """One answer: what was typed or slid, the point of a Likert scale, or the label that was chosen."""
    if answer in (None, "", False, "false"):
        return None
    if match := re.fullmatch(r"scale_(-?\d+)", label):
        return match[1]
    typed = re.fullmatch(r"(?:text_?box|slider|number|free_response|value|)", label) is not None
    return str(answer) if typed else label


def _potato_seconds(behaviour: object) -> float | None:
    """The seconds in ``Time spent: 0d 0h 0m 7s``."""
    text = str(behaviour.get("time_string", "")) if isinstance(behaviour, dict) else ""
    match = re.search(r"(\d+)d (\d+)h (\d+)m (\d+)s", text)
    if match is None:
        return None
    days, hours, minutes, seconds = map(int, match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


for _format in (LabelStudio(), Potato()):
    FORMATS.add(_format.name, _format)
