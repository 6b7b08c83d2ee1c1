"""From the bytes of a submission to a file that is safe to read: CSV or JSON Lines in UTF-8, of limited size.

What is sent may be hostile. Compressed data are unpacked only up to the limit. A Parquet file is read by a process of its own with
limited memory and time, since a few bytes can claim any number of rows, and comes back as JSON Lines. Nothing here depends on
a label.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.scoring.bench.pinned import second_process

_GZIP, _ZIP, _PARQUET = b"\x1f\x8b", b"PK", b"PAR1"
_MAX_LINE_LENGTH = 100_000
_LARGEST = 1e9
_MEMORY = 2 << 30
_SECONDS = 30
_KINDS = "CSV with a header, JSON Lines or Parquet; each may be compressed with gzip"
_FEW_THREADS = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
"""Threads reserve memory of their own."""
_NUMBERS = ("value", "score", "low", "high", "rate", "start")


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How large a submission may be."""

    megabytes: float = 16.0
    """As it is sent, and after unpacking."""
    rows: int = 200_000

    @property
    def bytes(self) -> int:
        return int(self.megabytes * 2**20)


def readable_file(content: bytes, folder: Path, limits: SizeLimits) -> Path:
    """Write the content of a submission to a file that a predictor can read, or raise with a problem and a fix."""
    if content.startswith(_GZIP):
        content = _unpacked(content, limits)
    if content.startswith(_ZIP):
        raise InputError("The submission is a ZIP archive.", f"Send the file itself: {_KINDS}.")
    if content.startswith(_PARQUET):
        content = _from_parquet(content, limits)
    if len(content) > limits.bytes:
        raise too_large(limits)
    if not content.strip():
        raise InputError("The submission is empty.", f"Send a file with one row per item: {_KINDS}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The submission is not UTF-8 text (byte {error.start:,}).", f"Save it as UTF-8: {_KINDS}."
        ) from error
    if "\0" in text:
        raise InputError("The submission holds zero bytes.", f"Send {_KINDS}.")
    lines = text.splitlines()
    if len(lines) > limits.rows + 1:
        raise too_many_rows(len(lines), limits)
    longest = max(lines, key=len)
    if len(longest) > _MAX_LINE_LENGTH:
        raise InputError(
            f"Line {lines.index(longest) + 1:,} has {len(longest):,} characters.",
            f"A line may have {_MAX_LINE_LENGTH:,}; send only the columns that are asked for.",
        )
    if text.lstrip().startswith("["):
        raise InputError("The submission is a JSON list.", "Write one JSON object per line (JSON Lines).")
    path = folder / ("submission.jsonl" if text.lstrip().startswith("{") else "submission.csv")
    path.write_text(text, encoding="utf-8")
    return path


def too_large(limits: SizeLimits) -> InputError:
    """The error for a submission beyond the limit."""
    return InputError(
        f"The submission is larger than {limits.megabytes:g} MB, as it is or unpacked.",
        "Send one row per item, and only the columns that are asked for.",
    )


def too_many_rows(count: int, limits: SizeLimits) -> InputError:
    return InputError(
        f"The submission has {count:,} rows; at most {limits.rows:,} are read.",
        "Send one row per item; /items.csv lists them.",
    )


def _unpacked(content: bytes, limits: SizeLimits) -> bytes:
    unpack, out = zlib.decompressobj(31), b""
    try:
        out = unpack.decompress(content, limits.bytes + 1)
    except zlib.error as error:
        raise InputError("The gzip data are damaged.", "Compress the file again, or send it as it is.") from error
    if len(out) > limits.bytes or unpack.unconsumed_tail:
        raise too_large(limits)
    if not unpack.eof or unpack.unused_data:
        raise InputError("The gzip data are incomplete.", "Compress the file again, or send it as it is.")
    return out


def _from_parquet(content: bytes, limits: SizeLimits) -> bytes:
    """The rows of a Parquet file as JSON Lines, read by a process that may fail without harm."""
    broken = InputError(
        "The Parquet file cannot be read.", "Write it again, or send the same table as CSV or JSON Lines."
    )
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
        source = Path(folder) / "submission.parquet"
        source.write_bytes(content)
        command = [sys.executable, "-m", __name__, str(source), str(limits.rows), str(limits.bytes)]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_SECONDS, check=False, env=second_process(_FEW_THREADS)
            )
        except subprocess.TimeoutExpired:
            raise broken from None
    if done.returncode == 3:
        raise too_many_rows(int(done.stdout), limits)
    if done.returncode == 4:
        raise too_large(limits)
    if done.returncode:
        raise broken
    return done.stdout


def _parquet_rows(path: Path, most_rows: int, most_bytes: int) -> int:
    """Write the rows of a Parquet file to standard output; the status of the process."""
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    if rows > most_rows:
        sys.stdout.write(str(rows))
        return 3
    size, out = 0, []
    for batch in pl.read_parquet(path).iter_slices(1000):
        for row in batch.iter_rows(named=True):
            line = json.dumps({name: _json_cell(cell) for name, cell in row.items()}, default=str)
            size += len(line) + 1
            if size > most_bytes:
                return 4
            out.append(line)
    sys.stdout.write("\n".join(out))
    return 0


def _json_cell(cell: object) -> object:
    """A number that is not finite as a word, which JSON can hold."""
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # no such limits on this system; the time limit holds everywhere
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


def not_usable(predictions: pl.DataFrame, unused: pl.DataFrame) -> HeartfeltError | None:
    """What is wrong with predictions that were read, where that is known before they are scored."""
    answered = predictions["ok"].sum()
    if not answered and unused.height:
        named = ascii(str(unused["stimulus"][0])[:60])
        return InputError(
            f"No row is about an item of this challenge; the first row that was read names the stimulus {named}.",
            "Predict the items of this challenge; /items.csv lists them.",
        )
    for name in _NUMBERS:
        if name not in predictions.columns:
            continue
        numbers = predictions[name].cast(pl.Float64, strict=False)
        wild = (~numbers.is_finite() | (numbers.abs() > _LARGEST)).fill_null(False)
        if wild.any():
            row = predictions.row(int(wild.arg_true()[0]), named=True)
            return InputError(
                f"The {name} of '{row['stimulus']}', '{row['question']}' is {row[name]}.",
                f"Send finite numbers between -{_LARGEST:g} and {_LARGEST:g}.",
            )
    for name in ("shares", "members", "samples"):
        if name in predictions.columns and predictions[name].cast(pl.String).str.contains("NaN|Infinity").any():
            return InputError(f"The column '{name}' holds numbers that are not finite.", "Send finite numbers.")
    missing = predictions.filter(~pl.col("ok"))
    if missing.height:
        row = missing.row(0, named=True)
        reason = str(row["problem"] or "no prediction")[:200]
        return InputError(
            f"{missing.height:,} of {predictions.height:,} items have no prediction; the first is '{row['stimulus']}',"
            f" '{row['question']}': {reason}.",
            "Send one prediction for every item of /items.csv.",
        )
    return None


if __name__ == "__main__":
    _limit_memory()
    sys.exit(_parquet_rows(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
