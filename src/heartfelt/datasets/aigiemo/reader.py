"""AIGIEmo: emotion of AI-generated images as people judge it, and fields a machine filled in first.

JSON Lines or CSV, one record per image (the final human annotation) or per image and annotator. What a person judged
(emotion, valence, arousal, caption, reason) becomes ratings. What a machine filled in goes to the table of fields
with the machine's value, which machine it was, the verdict (accepted, fixed, rejected), the final value and who
verified it. No file of the data set was at hand when this was written: the layout is this project's own, see
``docs/formats/aigiemo.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.datasets.aigiemo.records import EMOTIONS, EMPTY, FIELDS, Record, canonical, flat_part, parse
from heartfelt.datasets.aigiemo.writer import jsonl_line, write_records
from heartfelt.errors import InputError, suggestion
from heartfelt.files import write_text
from heartfelt.formats.columns import moment_expr, moments, read_table
from heartfelt.formats.delimited import line_ends
from heartfelt.formats.format import Format
from heartfelt.formats.lines import parse_json, read_jsonl
from heartfelt.media.probe import IMAGES, find_media, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, System
from heartfelt.study.recipes import recipe_study
from heartfelt.study.scale import Numeric
from heartfelt.tables import lossless_types

JSONL, CSV = "annotations.jsonl", "annotations.csv"
_NEEDED = ("emotion", "valence", "arousal")
_RANGE = re.compile(r"^\s*(-?\d+(?:\.\d+)?)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*$")
_TAKEN = {
    "stimulus", "rater", "question", "value", "answer", "position", "repeat", "found", "duration", "rate",
    "channels", "width", "height", "bytes", "media_problem",
}  # fmt: skip


class AigiemoFormat(Format):
    """Annotations of AI-generated images with many fields."""

    name: ClassVar[str] = "aigiemo"
    about: ClassVar[str] = "emotion of AI-generated images with machine-filled fields (JSON Lines or CSV)"
    options: ClassVar[Mapping[str, str]] = {
        "range": "lowest and highest valence and arousal, such as 1..9; 0..1 if left out",
        "media": "folder of the images, images/ or the annotations' folder if left out",
    }

    def recognises(self, source: Path) -> bool:
        """A file with image, emotion, valence and arousal, and at least one of the machine's fields."""
        try:
            path = _file(source)
            keys = _first_keys(path)
        except InputError:
            return False
        has_fields = bool({"fields", *FIELDS} & keys) or any(flat_part(key) for key in keys)
        return {"image", *_NEEDED} <= keys | ({"image"} if "path" in keys else set()) and has_fields

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read every record and find the images."""
        path = _file(source)
        bounds = _bounds(options)
        records = _records(path, bounds)
        _check_moments(records, path)
        extras = _levels_of_extras(records)
        stimuli = _stimuli(records, extras, path)
        media = _media_root(path, options, stimuli)
        stimuli = _with_paths(stimuli, media)
        if media is not None:
            stimuli = probe_stimuli(stimuli, media, str(path), progress)
        form = "jsonl" if path.suffix.lower() in {".jsonl", ".ndjson"} else "csv"
        where = Source(
            self.name,
            source.name,
            dict(options),
            media,
            {"form": form, path.name: line_ends(path), "file": path.name},
        )
        return Snapshot.build(
            _study(stimuli, bounds), stimuli=stimuli, ratings=_ratings(records, extras, str(path)),
            fields=_field_rows(records, str(path)), ledger=_ledger(records), source=where,
        )  # fmt: skip

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``annotations.jsonl``, or ``annotations.csv`` where that is what was read."""
        own = snapshot.source.format == self.name
        write_records(snapshot, target, snapshot.source.layout if own else {})

    def example(self, folder: Path) -> Path:
        """Three images, two annotators on one; fields accepted, fixed, rejected, and one nobody verified."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / JSONL, "".join(jsonl_line(record) for record in _EXAMPLE))
        return folder / JSONL


_ACCEPTED = {
    "machine": "oil painting",
    "source": "Qwen2-VL-7B",
    "verdict": "accepted",
    "final": "oil painting",
}
_STORM = {"system": "SDXL", "prompt": "a storm at sea", "split": "train"}
_EXAMPLE: list[dict[str, Any]] = [
    {
        "image": "a/0001.png",
        "annotator": "7",
        **_STORM,
        "emotion": "fear",
        "valence": 0.2,
        "arousal": 0.85,
        "caption": "A ship in a storm; waves “like walls”.",
        "reason": "The ship looks lost.",
        "seconds": 41.5,
        "at": "2026-01-05T10:00:00+00:00",
        "fields": {
            "style": _ACCEPTED,
            "objects": {
                "machine": ["ship", "wave", "dog"],
                "source": "Qwen2-VL-7B",
                "verdict": "fixed",
                "final": ["ship", "wave"],
            },
            "facial_expression": {"machine": "smile", "source": "Qwen2-VL-7B", "verdict": "rejected"},
            "brightness": {"machine": "0.31", "source": "opencv"},
        },
    },
    {
        "image": "a/0001.png",
        "annotator": "8",
        **_STORM,
        "emotion": "awe",
        "valence": 0.5,
        "arousal": 0.9,
        "reason": "Nature is strong.",
        "fields": {"style": _ACCEPTED},
    },
    {
        "image": "a/0002.png",
        "system": "Flux",
        "emotion": "amusement",
        "valence": 1.0,
        "arousal": 0.0,
        "caption": "A cat in a hat",
        "fields": {"colour": "red;white", "scene": "kitchen"},
    },
    {"image": "a/0003.png", "system": "Flux", "emotion": "sadness", "valence": 0.0, "arousal": 0.25},
]


def _file(source: Path) -> Path:
    if source.is_file():
        return source
    for name in (JSONL, CSV):
        if (source / name).is_file():
            return source / name
    found = sorted(p for p in source.glob("*") if p.suffix.lower() in {".jsonl", ".ndjson", ".csv"})
    if len(found) != 1:
        raise InputError(
            f"{source} holds {len(found)} files that could be the annotations"
            + (f": {', '.join(p.name for p in found)}." if found else "."),
            f"Point to the file, or call it {JSONL} or {CSV}.",
        )
    return found[0]


def _first_keys(path: Path) -> set[str]:
    """The keys of a file's first record, from its first line alone."""
    kind = path.suffix.lower()
    if kind not in {".jsonl", ".ndjson", ".csv"}:
        return set()
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(1 << 20)
    if kind == ".csv":
        return {canonical(key.strip('"')) for key in line.split(",")}
    try:
        record = parse_json(line)
    except ValueError:
        return set()
    return {canonical(key) for key in record} if isinstance(record, dict) else set()


def _bounds(options: Mapping[str, str]) -> tuple[float, float]:
    text = options.get("range", "0..1")
    match = _RANGE.match(text)
    if match is None or float(match[1]) >= float(match[2]):
        raise InputError(f"'{text}' is no range.", "Write the lowest and the highest value as 0..1 or -1..1.")
    return float(match[1]), float(match[2])


def _raw(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        yield from read_jsonl(path)
        return
    frame = read_table(path)
    if not frame.height:
        raise InputError(f"{path} has a header but no rows.", "Point to a file with annotations.")
    for row, record in enumerate(frame.iter_rows(named=True)):
        yield (
            row + 2,
            {key: value for key, value in record.items() if value is not None}
            | dict.fromkeys(_only_needed(record), None),
        )


def _only_needed(record: Mapping[str, Any]) -> list[str]:
    return [key for key in record if canonical(key) in _NEEDED and record[key] is None]


def _records(path: Path, bounds: tuple[float, float]) -> list[Record]:
    """All records; emotion, valence and arousal must be there, and each annotator once per image."""
    records: list[Record] = []
    lines: dict[tuple[str, str | None], int] = {}
    keys: set[str] = set()
    for number, raw in _raw(path):
        keys.update(raw)
        record = parse(raw, bounds, f"{path}, line {number}")
        key = (record.image, record.annotator)
        if key in lines:
            by = f" by annotator '{record.annotator}'" if record.annotator else ""
            raise InputError(
                f"{path}, line {number}: image '{record.image}'{by} is there already, on line {lines[key]}.",
                "Keep one record per image and annotator; name the annotators where there are several.",
            )
        lines[key] = record.line = number
        records.append(record)
    usual = {canonical(key) for key in keys}
    for name in _NEEDED:
        if name not in usual:
            raise InputError(f"{path} has no '{name}'.", suggestion(name, keys, "It has"))
    taken = sorted({key for record in records for key in record.extras} & _TAKEN)
    if taken:
        raise InputError(
            f"{path} has a key '{taken[0]}', a name that is kept for something else here.", "Rename the key."
        )
    return records


def _check_moments(records: list[Record], path: Path) -> None:
    given = [
        (one.line, text)
        for one in records
        for text in (one.at, *(f.at for f in one.fields))
        if text is not None
    ]
    frame = pl.DataFrame(given, schema={"line": pl.Int64, "at": pl.String}, orient="row")
    bad = frame.filter(frame.select(moment_expr("at", pl.String)).to_series().is_null())
    if bad.height:
        raise InputError(
            f"{path}, line {bad['line'][0]}: '{bad['at'][0]}' is not a date and time.",
            "Write moments as 2026-01-05T10:00:00+00:00.",
        )


def _levels_of_extras(records: list[Record]) -> dict[str, bool]:
    """For every further key, whether it is the same in all records of an image (then it is the image's)."""
    seen: dict[str, dict[str, str | None]] = {name: {} for record in records for name in record.extras}
    of_image = dict.fromkeys(seen, True)
    for record in records:
        for name, values in seen.items():
            value = record.extras.get(name)
            if values.setdefault(record.image, value) != value:
                of_image[name] = False
    return of_image


def _stimuli(records: list[Record], extras: Mapping[str, bool], path: Path) -> pl.DataFrame:
    own = [name for name, of_image in extras.items() if of_image]
    rows: dict[str, dict[str, str]] = {}
    for record in records:
        facts = {**record.about, **{name: record.extras[name] for name in own if name in record.extras}}
        before = rows.setdefault(record.image, {"stimulus": record.image})
        for name, value in facts.items():
            if before.setdefault(name, value) != value:
                raise InputError(
                    f"{path}, line {record.line}: image '{record.image}' has the {name} '{value}' here"
                    f" and '{before[name]}' above.",
                    "What is known of an image must be the same in all its records.",
                )
    names = ["stimulus", *dict.fromkeys(name for row in rows.values() for name in row if name != "stimulus")]
    frame = pl.DataFrame(list(rows.values()), schema=dict.fromkeys(names, pl.String))
    return lossless_types(frame, keep=["stimulus", "system", "intent", "prompt", "path", "split"])


def _media_root(path: Path, options: Mapping[str, str], stimuli: pl.DataFrame) -> Path | None:
    if "media" in options:
        root = path.parent / options["media"]
        if not root.is_dir():
            raise InputError(
                f"There is no folder {root} (option 'media').",
                "Check the path; it is relative to the annotations.",
            )
        return root
    for root in (path.parent, path.parent / "images"):
        names = stimuli["path" if "path" in stimuli.columns else "stimulus"].drop_nulls().head(20)
        if any((root / name).is_file() for name in names):
            return root
    return path.parent / "images" if (path.parent / "images").is_dir() else None


def _with_paths(stimuli: pl.DataFrame, media: Path | None) -> pl.DataFrame:
    """Each image's file: the path given, the image's name if that is a file's, or the only file of that stem."""
    given = stimuli["path"].to_list() if "path" in stimuli.columns else [None] * stimuli.height
    names = stimuli["stimulus"].to_list()
    lost = [
        path is None and Path(name).suffix.lower() not in IMAGES
        for path, name in zip(given, names, strict=True)
    ]
    stems = find_media(media, IMAGES) if media is not None and any(lost) else {}
    paths = [
        stems.get(name) if gone else (path or name)
        for path, name, gone in zip(given, names, lost, strict=True)
    ]
    return stimuli.with_columns(pl.Series("path", paths, pl.String))


def _study(stimuli: pl.DataFrame, bounds: tuple[float, float]) -> Study:
    base = recipe_study("aigiemo")
    systems = (
        [System(id=name) for name in sorted(stimuli["system"].drop_nulls().unique())]
        if "system" in stimuli.columns
        else []
    )
    scales = dict(base.scales)
    if bounds != (0.0, 1.0):
        # The recipe's labels stand at places of its own range, so another range goes without them.
        stated = Numeric(type="numeric", low=bounds[0], high=bounds[1])
        scales |= {base.question(axis).scale: stated for axis in ("valence", "arousal")}
    return base.changed(systems=systems, prompts=[], scales=scales)


def _ratings(records: list[Record], extras: Mapping[str, bool], where: str) -> pl.DataFrame:
    """One row per judgement a person gave."""
    own = [name for name, of_image in extras.items() if not of_image]
    codes = {name: float(code) for code, name in enumerate(EMOTIONS)}
    rows: list[tuple[Any, ...]] = []
    for record in records:
        tail = (record.seconds, record.at, *(record.extras.get(name) for name in own))
        head = (record.annotator, record.image)
        if record.emotion is not None:
            rows.append((*head, "emotion", codes[record.emotion], record.emotion, *tail))
        rows += [(*head, name, number, None, *tail) for name, number in record.numbers.items()]
        rows += [(*head, name, None, text, *tail) for name, text in record.texts.items()]
    texts = ("rater", "stimulus", "question", "answer", "at", *own)
    names = ("rater", "stimulus", "question", "value", "answer", "seconds", "at", *own)
    schema = {name: pl.String if name in texts else pl.Float64 for name in names}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = (
        frame.with_columns(moments(frame, "at", where))
        if frame["at"].null_count() < frame.height
        else frame.drop("at")
    )
    return lossless_types(frame, keep=["rater", "stimulus", "question", "answer"])


def _field_rows(records: list[Record], where: str) -> pl.DataFrame | None:
    rows = [
        (record.image, one.name, one.machine, one.source, one.verdict, one.final, one.verified_by, one.at)
        for record in records
        for one in record.fields
    ]
    if not rows:
        return None
    names = ("stimulus", "field", "machine", "source", "verdict", "final", "verified_by", "at")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row").unique(
        maintain_order=True
    )
    return (
        frame.with_columns(moments(frame, "at", where))
        if frame["at"].null_count() < frame.height
        else frame.drop("at")
    )


def _ledger(records: list[Record]) -> pl.DataFrame | None:
    rows = [
        ("row", one.annotator, one.image, EMPTY, "source")
        for one in records
        if one.annotator and not one.judged
    ]
    names = ("what", "rater", "stimulus", "reason", "stage")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row") if rows else None
