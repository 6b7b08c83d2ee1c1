"""AIGIEmo: emotion of AI-generated images as people judge it, and fields a machine filled in first.

JSON Lines or CSV, one record per image (the final human annotation) or per image and annotator. What a person judged
(emotion, valence, arousal, caption, reason) becomes ratings. What a machine filled in goes to the table of fields
with the machine's value, which machine it was, the verdict (accepted, fixed, rejected), the final value and who
verified it. No file of the dataset was available when this was written: the layout is this project's own, see
``docs/datasets/aigiemo.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.datasets.aigiemo.records import (
    EMOTIONS,
    EMPTY,
    EVIDENCE,
    FIELDS,
    PARTS,
    AnnotationRecord,
    canonical,
    flat_part,
    parse,
)
from heartfelt.datasets.aigiemo.writer import write_records
from heartfelt.errors import InputError, suggestion
from heartfelt.formats.format import FORMATS, Format, option_path
from heartfelt.formats.tables.columns import moment_expr, read_table
from heartfelt.formats.tables.delimited import header_of, line_ends
from heartfelt.formats.tables.json_files import parse_json, read_jsonl
from heartfelt.formats.tables.source_table import locate
from heartfelt.media.probe import IMAGES, PROBED, find_media, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, System
from heartfelt.study.recipes import recipe_study
from heartfelt.study.scales.scale import Numeric
from heartfelt.tables import RATINGS, lossless_types

JSONL, CSV = "annotations.jsonl", "annotations.csv"
JSON = {".jsonl", ".ndjson"}
_NEEDED = ("emotion", "valence", "arousal")
_RANGE = re.compile(r"^\s*(-?\d+(?:\.\d+)?)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*$")
_FIELD_COLUMNS = ("stimulus", "field", *PARTS, *EVIDENCE)
_RESERVED = {*RATINGS.names, *PROBED} - {"seconds", "at"}


class AigiemoFormat(Format):
    """Annotations of AI-generated images with many fields."""

    name = "aigiemo"
    about = "emotion of AI-generated images with machine-filled fields (JSON Lines or CSV)"
    options: ClassVar[Mapping[str, str]] = {
        "range": "lowest and highest valence and arousal, such as 1..9; 0..1 if left out",
        "media": "folder of the images, images/ or the annotations' folder if left out",
    }

    example_data = "example/annotations.jsonl"

    def recognises(self, source: Path) -> bool:
        try:
            path = locate(source, (JSONL, CSV), {*JSON, ".csv"})
            keys = _first_keys(path)
        except InputError:
            return False
        has_fields = bool({"fields", *FIELDS} & keys) or any(flat_part(key) for key in keys)
        return {"image", *_NEEDED} <= keys | ({"image"} if "path" in keys else set()) and has_fields

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        path = locate(source, (JSONL, CSV), {*JSON, ".csv"})
        bounds = _bounds(options)
        records = _records(path, bounds)
        of_image, of_record = _extras(records)
        stimuli = _stimuli(records, of_image, path)
        media = _media_root(path, options, stimuli)
        stimuli = _with_paths(stimuli, media)
        if media is not None:
            stimuli = probe_stimuli(stimuli, media, str(path), progress)
        form = "jsonl" if path.suffix.lower() in JSON else "csv"
        layout = {"form": form, path.name: line_ends(path), "file": path.name}
        fields = [(record.image, *astuple(field)) for record in records for field in record.fields]
        empty = [record for record in records if record.annotator and not record.judged]
        left_out = [("row", record.annotator, record.image, EMPTY, "source") for record in empty]
        return Snapshot.build(
            _study(stimuli, bounds),
            stimuli=stimuli,
            ratings=_ratings(records, of_record),
            fields=_fields(fields),
            ledger=_texts(("what", "rater", "stimulus", "reason", "stage"), left_out),
            source=Source(format=self.name, name=source.name, options=dict(options), media_root=media, layout=layout),
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        is_own_format = snapshot.source.format == self.name
        write_records(snapshot, target, snapshot.source.layout if is_own_format else {})


def _first_keys(path: Path) -> set[str]:
    """The keys of a file's first record, from its first line alone."""
    kind = path.suffix.lower()
    if kind not in {*JSON, ".csv"}:
        return set()
    if kind == ".csv":
        return {canonical(key) for key in header_of(path)}
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            record = parse_json(file.readline(1 << 20))
    except ValueError:
        return set()
    return {canonical(key) for key in record} if isinstance(record, dict) else set()


def _bounds(options: Mapping[str, str]) -> tuple[float, float]:
    text = options.get("range", "0..1")
    match = _RANGE.match(text)
    if match is None or float(match[1]) >= float(match[2]):
        raise InputError(f"'{text}' is not a range.", "Write the lowest and the highest value as 0..1 or -1..1.")
    return float(match[1]), float(match[2])


def _raw(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """The records of a file, each with its line; empty cells of a CSV are left out, but for the judgements."""
    if path.suffix.lower() in JSON:
        yield from read_jsonl(path)
        return
    frame = read_table(path)
    if not frame.height:
        raise InputError(f"{path} has a header but no rows.", "Point to a file with annotations.")
    for line, record in enumerate(frame.iter_rows(named=True), 2):
        yield line, {k: v for k, v in record.items() if v is not None or canonical(k) in _NEEDED}


def _records(path: Path, bounds: tuple[float, float]) -> list[AnnotationRecord]:
    """All records; emotion, valence and arousal must be there, and each annotator once per image."""
    records: dict[tuple[str, str | None], AnnotationRecord] = {}
    keys: set[str] = set()
    for number, raw in _raw(path):
        keys.update(raw)
        record = parse(raw, bounds, f"{path}, line {number}")
        key = (record.image, record.annotator)
        if key in records:
            by = f" by annotator '{record.annotator}'" if record.annotator else ""
            raise InputError(
                f"{path}, line {number}: image '{record.image}'{by} is there already, on line {records[key].line}.",
                "Keep one record per image and annotator; name the annotators where there are several.",
            )
        record.line = number
        records[key] = record
    usual = {canonical(key) for key in keys}
    for name in _NEEDED:
        if name not in usual:
            raise InputError(f"{path} has no '{name}'.", suggestion(name, keys, "It has"))
    reserved_keys = sorted({key for record in records.values() for key in record.extras} & _RESERVED)
    if reserved_keys:
        raise InputError(f"{path} has a key '{reserved_keys[0]}', a name that is reserved.", "Rename the key.")
    _check_moments(records.values(), path)
    return list(records.values())


def _check_moments(records: Iterable[AnnotationRecord], path: Path) -> None:
    """Raise for a text that should be a moment and is none; all are read at once, which is much faster."""
    moments = [
        (record.line, text)
        for record in records
        for text in (record.at, *(at for field in record.fields for at in (field.at, field.drafted_at)))
        if text is not None
    ]
    moment_rows = pl.DataFrame(moments, schema={"line": pl.Int64, "at": pl.String}, orient="row")
    bad = moment_rows.filter(moment_rows.select(moment_expr("at", pl.String)).to_series().is_null())
    if bad.height:
        raise InputError(
            f"{path}, line {bad['line'][0]}: '{bad['at'][0]}' is not a date and time.",
            "Write moments as 2026-01-05T10:00:00+00:00.",
        )


def _extras(records: list[AnnotationRecord]) -> tuple[list[str], list[str]]:
    """Further keys: those that are the same in all records of an image, and those that differ between annotators."""
    values_by_name: dict[str, dict[str, str | None]] = {name: {} for record in records for name in record.extras}
    varying = {
        name
        for name, values in values_by_name.items()
        for record in records
        if values.setdefault(record.image, record.extras.get(name)) != record.extras.get(name)
    }
    return [name for name in values_by_name if name not in varying], [
        name for name in values_by_name if name in varying
    ]


def _stimuli(records: list[AnnotationRecord], extras: list[str], path: Path) -> pl.DataFrame:
    rows: dict[str, dict[str, str]] = {}
    for record in records:
        facts = {**record.about, **{name: record.extras[name] for name in extras if name in record.extras}}
        before = rows.setdefault(record.image, {"stimulus": record.image})
        for name, value in facts.items():
            if before.setdefault(name, value) != value:
                raise InputError(
                    f"{path}, line {record.line}: image '{record.image}' has the {name} '{value}' here"
                    f" and '{before[name]}' above.",
                    "What is known of an image must be the same in all its records.",
                )
    names = dict.fromkeys(name for row in rows.values() for name in row)
    frame = pl.DataFrame(list(rows.values()), schema=dict.fromkeys(names, pl.String))
    return lossless_types(frame, keep=["stimulus", "system", "intent", "prompt", "path", "split"])


def _media_root(path: Path, options: Mapping[str, str], stimuli: pl.DataFrame) -> Path | None:
    named, images = option_path(options, "media", path.parent), path.parent / "images"
    if named is not None:
        return named
    names = stimuli["path" if "path" in stimuli.columns else "stimulus"].drop_nulls().head(20)
    for root in (path.parent, images):
        if any((root / name).is_file() for name in names):
            return root
    return images if images.is_dir() else None


def _with_paths(stimuli: pl.DataFrame, media: Path | None) -> pl.DataFrame:
    """Each image's file: the path given, the image's name if that is a file's, or the only file with that stem."""
    stated_paths = stimuli.get_column("path", default=pl.Series([None] * stimuli.height))
    pairs = list(zip(stated_paths, stimuli["stimulus"], strict=True))
    unnamed = {name for path, name in pairs if path is None and Path(name).suffix.lower() not in IMAGES}
    stems = find_media(media, IMAGES) if media is not None and unnamed else {}
    paths = [stems.get(name) if path is None and name in unnamed else path or name for path, name in pairs]
    return stimuli.with_columns(pl.Series("path", paths, pl.String))


def _study(stimuli: pl.DataFrame, bounds: tuple[float, float]) -> Study:
    base = recipe_study("aigiemo")
    names = stimuli.get_column("system", default=pl.Series(dtype=pl.String)).drop_nulls().unique()
    systems = [System(id=name) for name in sorted(names)]
    scales = dict(base.scales)
    if bounds != (0.0, 1.0):
        # The recipe's labels stand at places of its own range, so another range goes without them.
        stated = Numeric(type="numeric", low=bounds[0], high=bounds[1])
        scales |= {base.question(axis).scale: stated for axis in ("valence", "arousal")}
    # Published annotations have no answer 'none'; without it, their snapshots keep the hash they had.
    questions = [question.model_copy(update={"none": False}) for question in base.questions]
    return base.changed(systems=systems, prompts=[], scales=scales, questions=questions)


def _ratings(records: list[AnnotationRecord], extras: list[str]) -> pl.DataFrame:
    """One row per judgement a person gave."""
    rows: list[tuple[Any, ...]] = []
    for record in records:
        answers: list[tuple[str, float | None, str | None]] = []
        if record.emotion is not None:
            answers.append(("emotion", float(EMOTIONS.index(record.emotion)), record.emotion))
        answers += [(name, number, None) for name, number in record.numbers.items()]
        answers += [(name, None, text) for name, text in record.texts.items()]
        tail = (record.seconds, record.at, *(record.extras.get(name) for name in extras))
        rows += [(record.annotator, record.image, *answer, *tail) for answer in answers]
    names = ("rater", "stimulus", "question", "value", "answer", "seconds", "at", *extras)
    frame = _texts(names, rows, value=pl.Float64, seconds=pl.Float64)
    return lossless_types(_with_moments(frame), keep=["rater", "stimulus", "question", "answer"])


def _fields(rows: Sequence[Any]) -> pl.DataFrame:
    """The table of fields, without parts that no record gives."""
    numbers = {"seconds": pl.Float64, "keystrokes": pl.Float64, "confidence": pl.Float64}
    frame = _with_moments(_texts(_FIELD_COLUMNS, rows, **numbers).unique(maintain_order=True))
    frame = frame.drop(name for name in EVIDENCE if frame[name].null_count() == frame.height)
    if "drafted_at" in frame.columns:
        frame = frame.with_columns(moment_expr("drafted_at", pl.String))
    return frame.with_columns(pl.col("keystrokes").cast(pl.Int64)) if "keystrokes" in frame.columns else frame


def _texts(names: Sequence[str], rows: Sequence[Any], **typed_columns: type[pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), **typed_columns}, orient="row")


def _with_moments(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with its moments parsed; without the column if there are none."""
    if frame["at"].null_count() == frame.height:
        return frame.drop("at")
    return frame.with_columns(moment_expr("at", pl.String))


FORMATS.add(AigiemoFormat.name, AigiemoFormat())
