"""Files of lines that only grow: one process at a time writes, and what is there after a crash is complete lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from heartfelt.errors import InputError


def lock(file: IO[bytes], folder: Path) -> None:
    """Keep other runs out of ``folder`` while ``file`` is open, where the system has such locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise InputError(
            f"Another run is writing to {folder}.", "Wait for it to end, or choose another folder."
        ) from error
    except (ImportError, OSError):
        return


def open_locked(path: Path) -> IO[bytes]:
    """A file to append to, in a folder that is made if it is missing and that no other run writes to while it is open."""
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Unbuffered: what was appended outlives a killed process.
        file = path.open("ab+", buffering=0)
    except OSError as error:
        raise InputError(f"Cannot write to {folder}: {error.strerror}.", "Choose a folder you can write to.") from error
    lock(file, folder)
    return file


class GrowingFile:
    """A file of lines open for one run; a last line that was cut off is removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_locked(path)
        end = self._content().rfind(b"\n") + 1
        self.was_cut_off = end < self.size
        """Whether the machine went down while the last line was written."""
        if self.was_cut_off:
            self._file.truncate(end)

    def _content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def read_lines(self) -> list[bytes]:
        return self._content().split(b"\n")[:-1]

    @property
    def size(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def append(self, lines: bytes, *, sync: bool = True) -> None:
        """Add complete lines, all of them or, where the disk is full, none; with ``sync`` they are on disk when this returns."""
        start = self.size
        unwritten = memoryview(lines)
        try:
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]
            if sync:
                self.sync()
        except OSError:
            self._file.truncate(start)
            raise

    def sync(self) -> None:
        """Bring everything to the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Bring everything to the disk and let others write."""
        if not self._file.closed:
            self.sync()
            self._file.close()
