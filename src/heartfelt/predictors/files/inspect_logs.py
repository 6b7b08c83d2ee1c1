"""Logs of inspect_ai, ``.eval`` (a zip of JSON files) and ``.json``: their samples, and whether the run was finished.

A sample's id is the stimulus, unless its metadata name a ``stimulus`` (and a ``question``). What samples answer is read in
:mod:`heartfelt.predictors.files.inspect_answers`.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError
from heartfelt.wording import plural

LOG = "eval"
_ZSTD = 93
_ZSTD_HEAD = b"\x28\xb5\x2f\xfd"
_BEGUN = "_journal/start.json"
"""What a log holds of itself before the run ends."""
COMPARES = "compares"
"""In the metadata of a log that heartfelt wrote: whether it is about pairs and sets."""


def is_log(path: Path) -> bool:
    """Whether a file is a log: by its ending, or a JSON file that begins with what only a log has."""
    if path.suffix.lower() == f".{LOG}":
        return True
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return head.lstrip().startswith(b"{") and all(name in head for name in (b'"version"', b'"eval"', b'"run_id"'))


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What is used of a log."""

    rows: list[dict[str, object]]
    """One for each sample and epoch: the stimulus, the question where the sample names one, and what is used of the sample."""
    unfinished: str | None
    """What is to be said of a log that is not complete."""
    compares: bool
    """Whether heartfelt wrote it about pairs and sets."""


def read_log(path: Path) -> Log:
    rows: list[dict[str, object]] = []
    identities: set[tuple[str, Any]] = set()
    header, samples = _parts_of_log(path)
    for where, sample in samples:
        identity = (str(sample["id"]), sample.get("epoch", 1))
        if identity in identities:
            raise InputError(f"{where}: the sample '{identity[0]}' has epoch {identity[1]} twice.", _COMPLETE)
        identities.add(identity)
        facts = part_of(sample, "metadata")
        used = {name: sample.get(name) for name in ("id", "error", "invalidation", "scores", "choices")}
        used["output"] = {"completion": part_of(sample, "output").get("completion")}
        stimulus, question = facts.get("stimulus"), facts.get("question")
        rows.append(
            {"stimulus": str(sample["id"] if stimulus is None else stimulus), "question": question, "sample": used}
        )
    compares = bool(part_of(part_of(header, "eval"), "metadata").get(COMPARES))
    return Log(rows=rows, unfinished=_unfinished(header, len(rows)), compares=compares)


def _unfinished(header: Mapping[str, Any], count: int) -> str | None:
    """That a run was broken off or lacks samples; None for a complete log."""
    plan = part_of(header, "eval")
    dataset, epochs = part_of(plan, "dataset"), part_of(plan, "config").get("epochs")
    ids = dataset.get("sample_ids")
    planned = len(ids) if isinstance(ids, list) and ids else dataset.get("samples")
    planned = planned * (epochs if isinstance(epochs, int) else 1) if isinstance(planned, int) else None
    status = str(header.get("status", "success"))
    if status == "success" and (planned is None or count >= planned):
        return None
    sample_count = f"{count:,} of {plural(planned, 'sample')}" if planned is not None else plural(count, "sample")
    was = "the log is not complete" if status == "success" else f"the run was not finished (status '{status}')"
    return f"{was}: it holds {sample_count}"


_COMPLETE = "Get a complete copy of the log."


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError, struct.error) as error:
        raise InputError(f"{path} is not a complete log of inspect_ai: {error}.", _COMPLETE) from error


def _parts_of_log(path: Path) -> tuple[Mapping[str, Any], Iterator[tuple[str, dict[str, object]]]]:
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Check the path.")
    if path.suffix.lower() == f".{LOG}":
        return _header(path), _zipped_samples(path)
    log = _object(path.read_bytes(), str(path))
    samples: Any = log.get("samples") or []
    return log, (_checked(sample, f"{path}, sample {number}") for number, sample in enumerate(samples, 1))


def _header(path: Path) -> Mapping[str, Any]:
    with _opened(path) as archive:
        by_name = {info.filename: info for info in archive.infolist()}
        name = next((name for name in ("header.json", _BEGUN) if name in by_name), None)
        if name is None:
            return {}
        about = _object(_member(archive, path, by_name[name]), f"{path}, {name}")
        return {"status": "started", **about} if name == _BEGUN else about


def _zipped_samples(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    with _opened(path) as archive:
        members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
        for info in sorted(members, key=lambda info: info.header_offset):
            where = f"{path}, {info.filename}"
            yield _checked(_object(_member(archive, path, info), where), where)


def _checked(sample: Any, where: str) -> tuple[str, dict[str, object]]:
    if not isinstance(sample, dict) or "id" not in sample:
        raise InputError(f"{where}: this is no sample of inspect_ai.", _COMPLETE)
    return where, sample


def _object(content: bytes, where: str) -> dict[str, object]:
    try:
        record = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: this is not valid JSON ({error}).", _COMPLETE) from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: this is no object.", _COMPLETE)
    return record


def _member(archive: zipfile.ZipFile, path: Path, info: zipfile.ZipInfo) -> bytes:
    """A file of the zip. Newer logs are compressed with Zstandard, which Python's zipfile learns in 3.14; Polars reads it."""
    if info.compress_type != _ZSTD:
        return archive.read(info)
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        file.seek(name + extra, 1)
        packed = file.read(info.compress_size)
    if not packed.startswith(_ZSTD_HEAD):
        raise zipfile.BadZipFile(f"{info.filename} is damaged")
    try:
        lines = pl.read_lines(io.BytesIO(packed)).to_series()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise zipfile.BadZipFile(f"{info.filename} is damaged") from error
    return "\n".join(lines.to_list()).encode()


def part_of(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a log that is an object; an empty one where it is none."""
    part = mapping.get(name)
    return part if isinstance(part, Mapping) else {}
