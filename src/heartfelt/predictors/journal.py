"""The journal of a run: a line for every finished case, on disk before the next is reported.

A line is JSON with a checksum. A torn line (the machine went down in the middle of it) is dropped when the journal is opened
again, and its case asked again; so is a line whose checksum does not hold. Later lines go before earlier ones.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from heartfelt.errors import InputError
from heartfelt.predictors.model_call import Call
from heartfelt.predictors.record import Entry, from_plain, plain

NAME = "journal.jsonl"
_HEAD, _NECK = b'{"crc":"', b'","row":'
_SYNC_EVERY = 1.0


class Journal:
    """Finished cases in a folder. One run at a time writes to it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.dropped = 0
        """Lines that could not be read again."""
        self.calls: dict[str, tuple[str, Call]] = {}
        """Every request to a hosted model, those whose answers were asked for again included, by id: (stimulus, call)."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self.path.open("ab+")
        except OSError as error:
            raise InputError(
                f"Cannot write to {folder}: {error.strerror}.", "Choose a folder you can write to."
            ) from error
        self._locked()
        self.entries = self._read()
        self._synced = time.monotonic()

    def _locked(self) -> None:
        """Keep others out; where the system or the disk knows no such lock, nobody is kept out."""
        try:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise InputError(
                f"Another run is writing to {self.path.parent}.",
                "Wait for it to end, or choose another folder.",
            ) from error
        except (ImportError, OSError):
            return

    def _read(self) -> dict[str, Entry]:
        """Every finished item by its key; what is torn off at the end is cut away."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self.dropped += 1
            self._file.truncate(whole)
        found: dict[str, Entry] = {}
        for line in content[:whole].split(b"\n")[:-1]:
            try:
                row = _row(line)
                found.update(
                    (key, Entry(from_plain(said), attempts, row["seconds"]))
                    for key, attempts, said in row["answers"]
                )
                self._note_calls(row["stimulus"], (found[answer[0]] for answer in row["answers"]))
            except (ValueError, KeyError, TypeError):
                self.dropped += 1
        self._file.seek(0, os.SEEK_END)
        return found

    def add(self, stimulus: str, entries: Mapping[str, Entry], seconds: float) -> None:
        """Write one finished case: its entries by key."""
        self._note_calls(stimulus, entries.values())
        answers = [[key, entry.attempts, plain(entry.prediction)] for key, entry in entries.items()]
        row = {"stimulus": stimulus, "seconds": seconds, "answers": answers}
        body = json.dumps(row, allow_nan=False, separators=(",", ":")).encode()
        self._file.write(b"%s%08x%s%s}\n" % (_HEAD, zlib.crc32(body), _NECK, body))
        self._file.flush()
        now = time.monotonic()
        if now - self._synced > _SYNC_EVERY:
            os.fsync(self._file.fileno())
            self._synced = now

    def _note_calls(self, stimulus: str, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if (call := entry.prediction.call) is not None:
                self.calls[call.id] = (stimulus, call)

    def close(self) -> None:
        """Bring everything to the disk and let others write."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


def _row(line: bytes) -> dict[str, Any]:
    """What a line holds; an error if it is not what was written."""
    start = len(_HEAD)
    crc, body = line[start : start + 8], line[start + 8 + len(_NECK) : -1]
    if int(crc, 16) != zlib.crc32(body):
        raise ValueError("the checksum does not hold")
    found: dict[str, Any] = json.loads(body)
    return found
