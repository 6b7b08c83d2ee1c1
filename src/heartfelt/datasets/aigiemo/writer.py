"""Writing AIGIEmo records: JSON Lines with nested fields, or CSV with flat columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.datasets.aigiemo.records import EMPTY, EVIDENCE, JUDGED, PARTS
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text, with_line_ends
from heartfelt.media.probe import PROBED
from heartfelt.snapshot import Snapshot
from heartfelt.study.scale import Tags

_MOMENT = "%Y-%m-%dT%H:%M:%S%.f+00:00"
_OURS = {"rater", "stimulus", "question", "value", "answer", "repeat", "position"}


def write_records(snapshot: Snapshot, target: Path, layout: Mapping[str, str]) -> None:
    """Write all records, in the form they were read in; CSV only where every record fits one row."""
    if "emotion" not in {question.id for question in snapshot.study.asked}:
        raise InputError(
            "The study has no question 'emotion', so it cannot be written as aigiemo.",
            f"It needs the questions {', '.join(JUDGED[:3])}; choose another format.",
        )
    records = _records(snapshot)
    nested = any(_is_nested(value) for record in records for value in record.get("fields", {}).values())
    nested = nested or any("planted" in record for record in records)
    form = "csv" if layout.get("form") == "csv" and not nested else "jsonl"
    ends = layout.get(layout.get("file", ""), "lf") if layout.get("form", "jsonl") == form else "lf"
    study = snapshot.study
    tags = {question.id for question in study.asked if isinstance(study.scales[question.scale], Tags)}
    text = _csv(records) if form == "csv" else "".join(_line(record, tags) for record in records)
    write_text(target / f"annotations.{form}", with_line_ends(text, ends))


def _records(snapshot: Snapshot) -> list[dict[str, Any]]:
    """One flat-text record per image and rater, those of images without ratings last."""
    about: dict[str, dict[str, Any]] = {}
    for row in snapshot.stimuli.drop(PROBED, strict=False).iter_rows(named=True):
        image = row.pop("stimulus")
        about[image] = {k: v for k, v in row.items() if v is not None and (k, v) != ("path", image)}
    records: dict[tuple[str, str | None], dict[str, Any]] = {}

    def record(image: str, rater: str | None) -> dict[str, Any]:
        named = {} if rater is None else {"annotator": rater}
        return records.setdefault((image, rater), {"image": image, **named, **about.get(image, {})})

    for row in _plain(snapshot.ratings).iter_rows(named=True):
        rater_record = record(row["stimulus"], row["rater"])
        if row["question"] in JUDGED:
            rater_record[row["question"]] = row["value"] if row.get("answer") is None else row["answer"]
        for name, value in row.items():
            if value is not None and name not in _OURS:
                rater_record.setdefault(name, value)
    for row in snapshot.ledger.filter(pl.col("reason") == EMPTY).iter_rows(named=True):
        record(row["stimulus"], row["rater"])
    raters: dict[str, list[str | None]] = {}
    for image, rater in records:
        raters.setdefault(image, []).append(rater)
    for row in _plain(snapshot.fields).iter_rows(named=True):
        image_raters = raters.get(row["stimulus"], [None])
        by = row.get("verified_by")
        # What was planted says nothing of the image, so it stands next to the fields and not among them.
        where = "planted" if row.get("shown") == "planted" else "fields"
        _add_field(record(row["stimulus"], by if by in image_raters else image_raters[0]), row, where)
    for row in _decided_fields(snapshot).iter_rows(named=True):
        _add_field(record(row["stimulus"], raters.get(row["stimulus"], [None])[0]), row, "fields")
    for image in about:
        if image not in raters:
            record(image, None)
    return [_ordered(image_record) for image_record in records.values()]


def _decided_fields(snapshot: Snapshot) -> pl.DataFrame:
    """What senior raters decided about fields, as further verifications: the last one of a field is final."""
    decisions = snapshot.adjudications.filter(~pl.col("question").is_in(JUDGED))
    if not decisions.height:
        return decisions
    number = pl.col("value").round_sig_figs(12).cast(pl.String)
    words = [pl.col("answer")] if "answer" in decisions.columns else []
    decisions = decisions.with_columns(pl.coalesce(*words, number).alias("final"))
    return _plain(
        decisions.drop("value", "answer", strict=False).rename({"question": "field", "by": "verified_by"}, strict=False)
    )


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    moments = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    return frame.with_columns(pl.col(name).dt.strftime(_MOMENT) for name in moments)


def _is_nested(value: Any) -> bool:
    """Whether a field's value fits no row of a CSV file: several values, or more parts than it has columns for."""
    return isinstance(value, list) or (isinstance(value, dict) and not value.keys() <= set(PARTS))


def _add_field(record: dict[str, Any], row: Mapping[str, Any], where: str) -> None:
    parts = {part: row[part] for part in (*PARTS, *EVIDENCE) if row.get(part) is not None}
    if parts.get("verified_by") == record.get("annotator") and {"verdict", "final"} & parts.keys():
        parts.pop("verified_by", None)
    value: Any = parts["final"] if set(parts) == {"final"} else parts
    fields = record.setdefault(where, {})
    name = row["field"]
    if name not in fields:
        fields[name] = value
    else:
        before = fields[name] if isinstance(fields[name], list) else [fields[name]]
        fields[name] = [part if isinstance(part, dict) else {"final": part} for part in [*before, value]]


def _ordered(record: dict[str, Any]) -> dict[str, Any]:
    first = ("image", "annotator", "path", "system", "intent", "prompt", "split")
    last = (*JUDGED, "seconds", "at", "fields", "planted")
    middle = [name for name in record if name not in {*first, *last}]
    return {name: record[name] for name in (*first, *middle, *last) if name in record}


def _line(record: dict[str, Any], tags: set[str]) -> str:
    """A record as a line of JSON, with tags as lists where a field's parts are given."""
    content = dict(record)
    for where in ("fields", "planted"):
        fields = dict(record.get(where, {}))
        for name, value in fields.items():
            if name in tags and isinstance(value, dict):
                fields[name] = {
                    part: text.split(";") if part in {"machine", "final"} and ";" in text else text
                    for part, text in value.items()
                }
        if fields:
            content[where] = fields
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _csv(records: list[dict[str, Any]]) -> str:
    rows: list[dict[str, Any]] = []
    for record in records:
        row = {name: value for name, value in record.items() if name != "fields"}
        for name, value in record.get("fields", {}).items():
            parts = value if isinstance(value, dict) else {"final": value}
            row.update({name if part == "final" else f"{name}_{part}": cell for part, cell in parts.items()})
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    texts = [[None if (value := row.get(name)) is None else str(value) for name in names] for row in rows]
    return csv_text(pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row"))
