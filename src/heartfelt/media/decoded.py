"""Decoded media for several models that look at the same files: each file is decoded once, whichever model asks first.

While :func:`keep_decoded` is open, decoded sound and images are kept in one temporary file without a name, so that memory does
not grow with them and nothing is left behind by a process that is killed. What no longer fits into the file is decoded again, as
without it. Files are recognised by their content. Samples and pixels are the same bits as those decoded from the file.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_MOST_BYTES = 8 * 1024**3
_BLOCK_FRAMES = 1 << 18
_ALIGNED = 64
_Source: TypeAlias = Path | str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sound:
    """Where the samples of a sound file are, and what its header says."""

    start: int
    count: int
    frames: int
    """As the header states."""
    channels: int
    samplerate: int
    subtype: str


class KeptSound:
    """A decoded sound file that is read like one of the library soundfile."""

    def __init__(self, about: _Sound, samples: npt.NDArray[Any]) -> None:
        self.frames, self.channels = about.frames, about.channels
        self.samplerate, self.subtype = about.samplerate, about.subtype
        self._samples, self._at = samples, 0

    def read(self, frames: int = -1, dtype: str = "float32", always_2d: bool = True) -> npt.NDArray[Any]:
        """So many frames from here, all if negative, as ``(frames, channels)``."""
        del always_2d
        end = len(self._samples) if frames < 0 else min(len(self._samples), self._at + frames)
        part = self._samples[self._at : end]
        self._at = max(self._at, end)
        if part.dtype == dtype:
            return np.array(part)
        # The same bits as libsndfile's own conversion of 16-bit numbers.
        return part.astype(np.float32) * np.float32(2.0**-15)


class DecodedStore:
    """Decoded media in a temporary file; see the module."""

    def __init__(self, folder: Path | None = None, most: int | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by close()
        room = shutil.disk_usage(folder or tempfile.gettempdir()).free // 2
        self._most = min(_MOST_BYTES, room) if most is None else most
        self._lock = threading.Lock()
        self._end = 0
        self._sounds: dict[str, _Sound] = {}
        self._images: dict[tuple[str, int], tuple[int, tuple[int, ...]]] = {}
        self._hashes: dict[tuple[str, int, int], str] = {}

    def close(self) -> None:
        """Give the space back."""
        self._file.close()

    def sound(self, source: _Source, file: Any = None) -> KeptSound | None:
        """The samples of a sound file; None where they are not kept.

        With ``file``, the same file opened at its beginning, they are decoded if need be; None is then for a file that does not
        fit or has less than its header promises.
        """
        key = self._key(source)
        with self._lock:
            about = self._sounds.get(key) or (None if file is None else self._decoded(file))
            if about is None:
                return None
            self._sounds[key] = about
            dtype = np.int16 if about.subtype == "PCM_16" else np.float32
            return KeptSound(about, self._mapped(about.start, (about.count, about.channels), dtype))

    def image(self, source: _Source, least: int) -> npt.NDArray[np.uint8] | None:
        """The pixels of an image that was decoded before; None where it was not."""
        key = self._key(source)
        with self._lock:
            stored = self._images.get((key, least))
            return None if stored is None else np.array(self._mapped(stored[0], stored[1], np.uint8))

    def keep_image(self, source: _Source, least: int, pixels: npt.NDArray[np.uint8]) -> None:
        """Keep the pixels of an image, where there is room."""
        key = self._key(source)
        with self._lock:
            if self._end + _ALIGNED + pixels.nbytes <= self._most:
                start = self._begin()
                self._file.write(np.ascontiguousarray(pixels).data)
                self._file.flush()
                self._end = start + pixels.nbytes
                self._images[key, least] = start, pixels.shape

    def _decoded(self, file: Any) -> _Sound | None:
        """Decode a whole file into the store; None where it does not fit, or has less than its header promises."""
        kind = "int16" if file.subtype == "PCM_16" else "float32"
        size = np.dtype(kind).itemsize * file.channels
        length_known = file.frames < 1 << 62
        if length_known and self._end + file.frames * size > self._most:
            return None
        start, count = self._begin(), 0
        while len(frames := file.read(_BLOCK_FRAMES, dtype=kind, always_2d=True)):
            count += len(frames)
            if start + count * size > self._most:
                return None
            self._file.write(np.ascontiguousarray(frames).data)
        if not count or (length_known and count < file.frames):
            return None
        self._file.flush()
        self._end = start + count * size
        return _Sound(
            start=start,
            count=count,
            frames=file.frames,
            channels=file.channels,
            samplerate=int(file.samplerate),
            subtype=file.subtype,
        )

    def _begin(self) -> int:
        """Go to where the next entry begins, and return that place."""
        start = -(-self._end // _ALIGNED) * _ALIGNED
        self._file.seek(start)
        return start

    def _mapped(self, start: int, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        # Under the lock: mapping moves the file's position.
        mapped: npt.NDArray[Any] = np.memmap(self._file, dtype, "r", start, shape)
        return mapped

    def _key(self, source: _Source) -> str:
        if isinstance(source, bytes):
            return hashlib.sha256(source).hexdigest()
        status = Path(source).stat()
        stamp = (str(source), status.st_size, status.st_mtime_ns)
        if stamp not in self._hashes:
            with Path(source).open("rb") as file:
                self._hashes[stamp] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._hashes[stamp]


_store: DecodedStore | None = None


def open_store() -> DecodedStore | None:
    """The store that is open, if one is."""
    return _store


@contextmanager
def keep_decoded(folder: Path | None = None) -> Iterator[DecodedStore]:
    """Keep what is decoded until the block ends; within another such block, that one's store is used."""
    global _store
    if _store is not None:
        yield _store
        return
    store = _store = DecodedStore(folder)
    try:
        yield store
    finally:
        _store = None
        store.close()
