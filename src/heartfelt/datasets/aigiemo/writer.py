"""Writing AIGIEmo records: JSON Lines with nested fields, or CSV with flat columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.datasets.aigiemo.records import EMPTY, JUDGED, PARTS
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text, with_line_ends
from heartfelt.media.probe import PROBED
from heartfelt.snapshot import Snapshot
from heartfelt.study.scale import Tags

_MOMENT = "%Y-%m-%dT%H:%M:%S%.f+00:00"
_Key = tuple[str, str | None]


def jsonl_line(record: Mapping[str, Any]) -> str:
    """One record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def write_records(snapshot: Snapshot, target: Path, layout: Mapping[str, str]) -> None:
    """Write all records, in the form they were read in; CSV only where every record fits one row."""
    if "emotion" not in {question.id for question in snapshot.study.asked}:
        raise InputError(
            "The study has no question 'emotion', so it cannot be written as aigiemo.",
            f"It needs the questions {', '.join(JUDGED[:3])}; choose another format.",
        )
    records = _records(snapshot)
    flat = layout.get("form") == "csv" and all(
        not isinstance(v, list) for r in records for v in r.get("fields", {}).values()
    )
    name = "annotations.csv" if flat else "annotations.jsonl"
    same_form = layout.get("form", "jsonl") == ("csv" if flat else "jsonl")
    ends = layout.get(layout.get("file", ""), "lf") if same_form else "lf"
    text = (
        _csv(records)
        if flat
        else "".join(jsonl_line(_with_lists(record, _tag_fields(snapshot))) for record in records)
    )
    write_text(target / name, with_line_ends(text, ends))


def _records(snapshot: Snapshot) -> list[dict[str, Any]]:
    """One flat-text record per image and rater, those of images without ratings last."""
    about = _about(snapshot)
    records: dict[_Key, dict[str, Any]] = {}

    def record(image: str, rater: str | None) -> dict[str, Any]:
        key = (image, rater)
        if key not in records:
            records[key] = {
                "image": image,
                **({"annotator": rater} if rater is not None else {}),
                **about.get(image, {}),
            }
        return records[key]

    for row in _plain(snapshot.ratings).iter_rows(named=True):
        own = record(row["stimulus"], row["rater"])
        question, value, answer = row["question"], row["value"], row.get("answer")
        if question in JUDGED:
            own[question] = answer if answer is not None else value
        further = {
            k: v
            for k, v in row.items()
            if v is not None
            and k not in {"rater", "stimulus", "question", "value", "answer", "repeat", "position"}
        }
        own.update({k: v for k, v in further.items() if k not in own})
    for row in snapshot.ledger.filter(pl.col("reason") == EMPTY).iter_rows(named=True):
        record(row["stimulus"], row["rater"])
    raters: dict[str, list[str | None]] = {}
    for image, rater in records:
        raters.setdefault(image, []).append(rater)
    for row in _plain(snapshot.fields).iter_rows(named=True):
        mine = raters.get(row["stimulus"], [None])
        by = row.get("verified_by")
        _add_field(record(row["stimulus"], by if by in mine else mine[0]), row)
    for image in about:
        if image not in raters:
            record(image, None)
    return [_ordered(own) for own in records.values()]


def _about(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    stimuli = snapshot.stimuli.drop([name for name in PROBED if name in snapshot.stimuli.columns])
    out: dict[str, dict[str, Any]] = {}
    for row in stimuli.iter_rows(named=True):
        image = row.pop("stimulus")
        out[image] = {
            name: value
            for name, value in row.items()
            if value is not None and not (name == "path" and value == image)
        }
    return out


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    moments = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    return frame.with_columns(pl.col(name).dt.strftime(_MOMENT) for name in moments)


def _add_field(record: dict[str, Any], row: Mapping[str, Any]) -> None:
    parts = {part: row[part] for part in PARTS if row.get(part) is not None}
    if parts.get("verified_by") == record.get("annotator") and {"verdict", "final"} & parts.keys():
        parts.pop("verified_by", None)
    value: Any = parts["final"] if set(parts) == {"final"} else parts
    fields = record.setdefault("fields", {})
    name = row["field"]
    if name not in fields:
        fields[name] = value
    else:
        before = fields[name] if isinstance(fields[name], list) else [fields[name]]
        fields[name] = [part if isinstance(part, dict) else {"final": part} for part in [*before, value]]


def _ordered(record: dict[str, Any]) -> dict[str, Any]:
    first = ("image", "annotator", "path", "system", "intent", "prompt", "split")
    last = (*JUDGED, "seconds", "at", "fields")
    middle = [name for name in record if name not in {*first, *last}]
    return {name: record[name] for name in (*first, *middle, *last) if name in record}


def _tag_fields(snapshot: Snapshot) -> set[str]:
    return {
        question.id
        for question in snapshot.study.asked
        if isinstance(snapshot.study.scales[question.scale], Tags)
    }


def _with_lists(record: dict[str, Any], tags: set[str]) -> dict[str, Any]:
    """Tags as lists, where a field's parts are given."""
    fields = {}
    for name, value in record.get("fields", {}).items():
        if name in tags and isinstance(value, dict):
            value = {
                part: v.split(";") if part in {"machine", "final"} and ";" in v else v
                for part, v in value.items()
            }
        fields[name] = value
    return {**record, **({"fields": fields} if fields else {})}


def _csv(records: list[dict[str, Any]]) -> str:
    rows: list[dict[str, Any]] = []
    for record in records:
        row = {name: value for name, value in record.items() if name != "fields"}
        for name, value in record.get("fields", {}).items():
            parts = value if isinstance(value, dict) else {"final": value}
            row.update({name if part == "final" else f"{name}_{part}": cell for part, cell in parts.items()})
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    texts = {
        name: [None if (value := row.get(name)) is None else str(value) for row in rows] for name in names
    }
    return csv_text(pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String)))
