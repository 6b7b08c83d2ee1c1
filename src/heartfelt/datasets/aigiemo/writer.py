"""Writing AIGIEmo records: JSON Lines with nested fields, or CSV with flat columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from heartfelt.datasets.aigiemo.records import EMPTY, EVIDENCE, JUDGED, PARTS, verifications
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text, with_line_ends
from heartfelt.media.probe import PROBED
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.scale import Tags

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
    form = "csv" if layout.get("form") == "csv" and all(map(_fits_a_row, records)) else "jsonl"
    ends = layout.get(layout.get("file", ""), "lf") if layout.get("form", "jsonl") == form else "lf"
    tags = {q.id for q in snapshot.study.asked if isinstance(snapshot.study.scales[q.scale], Tags)}
    text = _csv(records) if form == "csv" else "".join(_line(record, tags) for record in records)
    write_text(target / f"annotations.{form}", with_line_ends(text, ends))


def _records(snapshot: Snapshot) -> list[dict[str, object]]:
    """One flat-text record per image and rater, those of images without ratings last."""
    records = _RecordsByRater(snapshot.stimuli)
    for row in _plain(snapshot.ratings).iter_rows(named=True):
        rater_record = records.of(row["stimulus"], row["rater"])
        if row["question"] in JUDGED:
            rater_record[row["question"]] = row["value"] if row.get("answer") is None else row["answer"]
        for name, value in row.items():
            if value is not None and name not in _OURS:
                rater_record.setdefault(name, value)
    for row in snapshot.ledger.filter(pl.col("reason") == EMPTY).iter_rows(named=True):
        records.of(row["stimulus"], row["rater"])
    _add_fields(records, snapshot)
    return records.ordered()


def _add_fields(records: _RecordsByRater, snapshot: Snapshot) -> None:
    """Give each verification to the record of the rater who made it, or to the image's first."""
    raters = records.raters()
    for row in _plain(snapshot.fields).iter_rows(named=True):
        image_raters = raters.get(row["stimulus"], [None])
        by = row.get("verified_by")
        # What was planted says nothing of the image, so it stands next to the fields and not among them.
        where = "planted" if row.get("shown") == "planted" else "fields"
        _add_field(records.of(row["stimulus"], by if by in image_raters else image_raters[0]), row, where)
    for row in _decided_fields(snapshot).iter_rows(named=True):
        _add_field(records.of(row["stimulus"], raters.get(row["stimulus"], [None])[0]), row, "fields")


class _RecordsByRater:
    """The records so far, by image and rater; each begins with what is known of its image."""

    def __init__(self, stimuli: pl.DataFrame) -> None:
        self.by_rater: dict[tuple[str, str | None], dict[str, object]] = {}
        self.about: dict[str, dict[str, object]] = {}
        for row in stimuli.drop(PROBED, strict=False).iter_rows(named=True):
            image = row.pop("stimulus")
            self.about[image] = {k: v for k, v in row.items() if v is not None and (k, v) != ("path", image)}

    def of(self, image: str, rater: str | None) -> dict[str, object]:
        """The record of a rater, which is begun where there is none."""
        named = {} if rater is None else {"annotator": rater}
        return self.by_rater.setdefault((image, rater), {"image": image, **named, **self.about.get(image, {})})

    def raters(self) -> dict[str, list[str | None]]:
        """The raters of each image that has any."""
        out: dict[str, list[str | None]] = {}
        for image, rater in self.by_rater:
            out.setdefault(image, []).append(rater)
        return out

    def ordered(self) -> list[dict[str, object]]:
        """All records with their keys in order; those of images that nobody rated come last."""
        rated = self.raters()
        for image in self.about:
            if image not in rated:
                self.of(image, None)
        return [_ordered(record) for record in self.by_rater.values()]


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


def _fits_a_row(record: dict[str, object]) -> bool:
    """Whether a CSV file can hold a record: no field has several values, or more parts than there are columns for."""
    nested = (
        isinstance(value, list) or (isinstance(value, dict) and not value.keys() <= set(PARTS))
        for _, value in _parts(record, "fields")
    )
    return "planted" not in record and not any(nested)


def _add_field(record: dict[str, object], row: Mapping[str, object], where: str) -> None:
    parts = {part: row[part] for part in (*PARTS, *EVIDENCE) if row.get(part) is not None}
    if parts.get("verified_by") == record.get("annotator") and {"verdict", "final"} & parts.keys():
        parts.pop("verified_by", None)
    value: object = parts["final"] if set(parts) == {"final"} else parts
    fields = record.setdefault(where, {})
    assert isinstance(fields, dict), "fields are added by name"
    name = row["field"]
    if name not in fields:
        fields[name] = value
    else:
        parts_so_far = [*verifications(fields[name]), value]
        fields[name] = [part if isinstance(part, dict) else {"final": part} for part in parts_so_far]


def _ordered(record: dict[str, object]) -> dict[str, object]:
    first = ("image", "annotator", "path", "system", "intent", "prompt", "split")
    last = (*JUDGED, "seconds", "at", "fields", "planted")
    middle = [name for name in record if name not in {*first, *last}]
    return {name: record[name] for name in (*first, *middle, *last) if name in record}


def _line(record: Mapping[str, object], tags: set[str]) -> str:
    """A record as a line of JSON, with tags as lists where a field's parts are given."""
    content = dict(record)
    for where in ("fields", "planted"):
        fields = {name: _with_tag_list(value) if name in tags else value for name, value in _parts(record, where)}
        if fields:
            content[where] = fields
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _parts(record: Mapping[str, object], where: str) -> Iterable[tuple[str, object]]:
    """The fields of a record, or what was planted in it, each with its value or its parts."""
    fields = record.get(where, {})
    assert isinstance(fields, dict), "fields are added by name"
    return fields.items()


def _with_tag_list(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {
        part: text.split(";") if part in {"machine", "final"} and ";" in text else text for part, text in value.items()
    }


def _flat(record: Mapping[str, object]) -> dict[str, object]:
    """A record with the parts of its fields as keys of their own: ``style``, ``style_machine``."""
    row = {name: value for name, value in record.items() if name != "fields"}
    for name, value in _parts(record, "fields"):
        parts = value if isinstance(value, dict) else {"final": value}
        row.update({name if part == "final" else f"{name}_{part}": cell for part, cell in parts.items()})
    return row


def _csv(records: list[dict[str, object]]) -> str:
    rows = [_flat(record) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    texts = [[None if (value := row.get(name)) is None else str(value) for name in names] for row in rows]
    return csv_text(pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row"))
