"""Sound files: read whole, or refused with the reason.

What libsndfile reads is taken: WAV, AIFF, FLAC, Ogg (Vorbis, Opus), MP3 and more, with any number of channels, at any
rate. A file that is cut off, holds text, or holds numbers that are not finite is refused: a shorter or stranger clip
than the one people heard would be predicted from.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.containers import what_is_missing

Source: TypeAlias = Path | str | bytes


def read_samples(source: Source) -> tuple[npt.NDArray[np.float32], int]:
    """The samples of a file, or of its bytes, as float32 ``(frames, channels)``, and their rate."""
    with opened(source) as file:
        samples = read_frames(source, file, "float32")
    if not np.isfinite(samples).all():
        raise not_finite(source)
    return samples, int(file.samplerate)


def read_frames(source: Source, file: Any, kind: str) -> npt.NDArray[Any]:
    """Every frame of an opened file as numbers of this ``kind``, ``(frames, channels)``."""
    promised = int(file.frames)
    samples: npt.NDArray[Any] = file.read(dtype=kind, always_2d=True)
    if samples.shape[0] < promised and promised < 1 << 62:
        raise InputError(
            f"{_name(source)} is cut off: its header promises {promised} frames and {samples.shape[0]} can be read.",
            "Fetch or generate this clip again.",
        )
    if samples.shape[0] == 0:
        raise InputError(f"{_name(source)} holds no sound (0 frames).", "Fetch or generate this clip again.")
    return samples


def not_finite(source: Source) -> InputError:
    """The error for samples that are not finite numbers."""
    return InputError(
        f"{_name(source)} holds samples that are not finite numbers.", "Fetch or generate this clip again."
    )


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    """The file opened by soundfile, its end checked first."""
    import soundfile

    if not isinstance(source, bytes):
        source = Path(source)
        if not source.is_file():
            raise InputError(
                f"There is no audio file at {source}.", "Check the path, and that the media were fetched."
            )
    if (len(source) if isinstance(source, bytes) else source.stat().st_size) == 0:
        raise InputError(f"{_name(source)} is empty (0 bytes).", "Fetch or generate this clip again.")
    try:
        with _binary(source) as raw:
            missing = what_is_missing(raw)
        if missing:
            raise InputError(f"{_name(source)} is cut off: {missing}.", "Fetch or generate this clip again.")
        with soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else str(source)) as file:
            yield file
    except (soundfile.LibsndfileError, OSError) as error:
        raise InputError(
            f"{_name(source)} cannot be read as audio: {_reason(source, error)}.", _fix(source)
        ) from error


def _binary(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _name(source: Source) -> str:
    return "The audio sent" if isinstance(source, bytes) else str(source)


def _head(source: Path | bytes) -> bytes:
    with _binary(source) as raw:
        return raw.read(512)


def _reason(source: Path | bytes, error: Exception) -> str:
    head = _head(source)
    printable = sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in head)
    if head and printable == len(head):
        first = head.decode("ascii").strip().split("\n")[0][:60].strip()
        return f"it holds text, beginning '{first}'"
    text = str(getattr(error, "error_string", error)).strip().rstrip(".")
    if "lost sync" in text:
        return f"its sound is cut off or damaged ({text.removeprefix('Error : ')})"
    # libsndfile calls bytes it can make nothing of a missing file.
    if "does not exist" in text or "not recognised" in text:
        return "its content is in no known audio format"
    return text[:1].lower() + text[1:]


def _fix(source: Path | bytes) -> str:
    if _head(source).startswith(b"version https://git-lfs"):
        return "This is a Git LFS pointer: run 'git lfs pull' where the file came from."
    if isinstance(source, Path) and source.suffix.lower() == ".flac":
        return "Fetch or generate this clip again."
    return "Replace it with a WAV, FLAC, Ogg (Vorbis, Opus) or MP3 file; convert other formats first."
