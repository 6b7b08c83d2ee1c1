"""Sound files: opened, checked, decoded, whole or block by block. Every reader of sound comes through here.

What libsndfile reads is accepted: WAV, AIFF, FLAC, Ogg (Vorbis, Opus), MP3 and more, with any number of channels, at any
rate. A file that is cut off, holds text, or holds samples that are not finite is refused: predictions would otherwise
describe a different clip from the one people heard.

Conventions: samples are float32 in [-1, 1]. Where one channel is wanted, the channels are averaged, unless they cancel each
other: in a recording whose channels are each other's opposite (a cable soldered the wrong way round, a vocal remover) the
mean is silent although everybody hears music. Where the mean has under a tenth of the channels' mean power, the loudest
channel is used instead. Unrelated channels keep half of it, so ordinary recordings are never affected. Resampling is
soxr's high quality.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.containers import what_is_missing
from heartfelt.media.decoded import open_store

Samples: TypeAlias = npt.NDArray[np.float32]
Source: TypeAlias = Path | str | bytes

LEAST_SHARE = 0.1
CANCELS = "the channels cancel each other; only the loudest channel was used"
_REFETCH = "Fetch or generate this clip again."
_BLOCK_SECONDS = 10
_UNKNOWN = 1 << 62
"""From this many frames on, libsndfile reports that a file does not state its length."""


@contextmanager
def open_sound(source: Source, *, reads_all: bool = True) -> Iterator[Any]:
    """The file opened by soundfile, after checking that its end is there; or what was decoded of it, if that is kept.

    Without ``reads_all`` only parts will be read. Those come from the file: after a jump, an MP3's samples are rounded otherwise.
    """
    import soundfile

    if not isinstance(source, bytes):
        source = Path(source)
        if not source.is_file():
            raise InputError(f"There is no audio file at {source}.", "Check the path, and that the media were fetched.")
    if (len(source) if isinstance(source, bytes) else source.stat().st_size) == 0:
        raise InputError(f"{_name(source)} is empty (0 bytes).", _REFETCH)
    try:
        with _binary(source) as raw:
            missing = what_is_missing(raw)
        if missing:
            raise InputError(f"{_name(source)} is cut off: {missing}.", _REFETCH)
        store = open_store() if reads_all else None
        stored = None if store is None else store.sound(source)
        if stored is None and store is not None:
            with _opened(source) as file, suppress(soundfile.LibsndfileError):
                stored = store.sound(source, file)
        if stored is not None:
            yield stored
            return
        with _opened(source) as file:
            yield file
    except (soundfile.LibsndfileError, OSError) as error:
        raise InputError(f"{_name(source)} cannot be read as audio: {_reason(source, error)}.", _fix(source)) from error


def _opened(source: Source) -> Any:
    import soundfile

    return soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else str(source))


def read_samples(source: Source) -> tuple[Samples, int]:
    """The samples of a file, or of its bytes, as ``(frames, channels)``, and their rate."""
    with open_sound(source) as file:
        if file.subtype == "PCM_16":
            # The same bits as libsndfile's own conversion, in a quarter of the time.
            scaled = _read_frames(source, file, "int16").astype(np.float32)
            scaled *= np.float32(2.0**-15)
            return scaled, int(file.samplerate)
        samples = _read_frames(source, file, "float32")
    if not np.isfinite(samples).all():
        raise InputError(f"{_name(source)} holds samples that are not finite numbers.", _REFETCH)
    return samples, int(file.samplerate)


def decode(source: Source, rate: int) -> Samples:
    """Decode a file, or its bytes, to one channel at ``rate``; raise with the reason where it is not a complete clip."""
    return decode_with_doubts(source, rate)[0]


def decode_with_doubts(source: Source, rate: int, needed: int = 0) -> tuple[Samples, tuple[str, ...]]:
    """What :func:`decode` gives, and what is doubtful about the file where ``needed`` samples per second are expected."""
    with open_sound(source) as file:
        # float32 holds sums of 16-bit numbers exactly: scaled after the sum, they give the same bits in far less time.
        frames = _read_frames(source, file, "int16" if file.subtype == "PCM_16" else "float32")
        own_rate = int(file.samplerate)
    channel = loudest_if_cancelling([frames])
    doubts = file_doubts(own_rate, needed, cancels=channel is not None)
    return resample(_one_channel(source, frames, channel), own_rate, rate), doubts


def file_doubts(rate: int, needed: int, *, cancels: bool) -> tuple[str, ...]:
    """What is doubtful about a file with this rate, and with channels that cancel each other or do not."""
    out = [CANCELS] if cancels else []
    if rate < needed:
        out.append(
            f"the file has {rate:,} samples per second, so nothing above {rate // 2:,} Hz is in it; {needed:,} are expected"
        )
    return tuple(out)


def resample(samples: Samples, rate: int, to_rate: int) -> Samples:
    """Change the rate (soxr, high quality). Peaks may rise slightly above the original's."""
    import soxr

    samples = checked_samples(samples)
    if rate <= 0 or to_rate <= 0:
        raise InputError(f"Cannot resample from {rate} to {to_rate} Hz.", "Give two positive rates.")
    if rate == to_rate:
        return samples
    out: Samples = soxr.resample(samples, rate, to_rate, quality="HQ")
    return out


def checked_samples(samples: npt.NDArray[Any]) -> Samples:
    """Samples as float32; raise where they are not a clip or not finite."""
    array = np.asarray(samples)
    if array.ndim not in (1, 2) or array.dtype.kind not in "f":
        raise InputError(
            f"Samples of shape {array.shape} and type {array.dtype} are not a clip.",
            "Pass floating-point samples in [-1, 1], shaped (frames,) or (frames, channels).",
        )
    if not np.isfinite(array).all():
        raise InputError(
            "The samples hold values that are not finite numbers.", "Leave this clip out or make it again."
        )
    return array.astype(np.float32, copy=False)


def channel_mean(frames: npt.NDArray[np.float32] | npt.NDArray[np.int16]) -> Samples:
    """The mean over the channels of ``(frames, channels)``; 16-bit numbers become shares of full scale, to the same bits."""
    scale = frames.shape[1] * (32_768 if frames.dtype == np.int16 else 1)
    frames = frames.astype(np.float32, copy=False)
    # Adding slices is several times faster than NumPy's mean over the short axis, and gives the same bits.
    total: Samples = frames[:, 0] + frames[:, 1] if frames.shape[1] > 1 else frames[:, 0].copy()
    for channel in range(2, frames.shape[1]):
        total += frames[:, channel]
    if scale > 1:
        total /= np.float32(scale)
    return total


def to_one_channel(samples: Samples) -> Samples:
    """The mean over the channels of a clip, or its loudest channel where they cancel each other."""
    if samples.ndim == 1:
        return samples
    channel = loudest_if_cancelling([samples])
    return channel_mean(samples if channel is None else samples[:, channel : channel + 1])


def loudest_if_cancelling(blocks: Iterable[npt.NDArray[Any]]) -> int | None:
    """The channel to use where the mean of all would lose the sound; None where it does not.

    ``blocks`` are stretches of ``(frames, channels)``.
    """
    mean_power, powers = 0.0, np.zeros(0)
    for block in blocks:
        if block.shape[1] < 2:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            mixed = channel_mean(block)
            squares = np.square(block.astype(np.float32, copy=False), dtype=np.float32)
            # Column by column: several times faster than NumPy's sum along the long axis of a narrow table.
            column_powers = np.array([column.sum(dtype=np.float64) for column in squares.T])
        if block.dtype == np.int16:
            column_powers = column_powers / 32_768.0**2
        # Not a dot product: the linear algebra library would start threads for it, which wait long after it is done.
        mean_power += float(np.einsum("i,i->", mixed, mixed, dtype=np.float64))
        powers = column_powers if not powers.size else powers + column_powers
    if not powers.size or not np.isfinite(powers).all() or powers.mean() <= 0.0:
        return None
    return int(np.argmax(powers)) if mean_power < LEAST_SHARE * float(powers.mean()) else None


def _one_channel(source: Source, frames: npt.NDArray[Any], channel: int | None) -> Samples:
    """The mean over the channels, or the channel chosen; an error where it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        mono = channel_mean(frames if channel is None else frames[:, channel : channel + 1])
    if not np.isfinite(mono.sum(dtype=np.float64)):
        raise InputError(f"{_name(source)} holds samples that are not finite numbers.", _REFETCH)
    return mono


@dataclass(frozen=True, slots=True)
class SoundFile:
    """A sound file that is read in blocks, so that an hour takes no more memory than a minute."""

    path: Path | str
    frames: int
    """As its header states; 0 where it does not say."""
    rate: int
    channel: int | None = None
    """The channel to use where the channels cancel each other; None for their mean."""

    @classmethod
    def of(cls, path: Path | str) -> SoundFile:
        """What the file says of itself; an error where it is not a sound file."""
        with open_sound(path) as file:
            frames, rate = int(file.frames) if file.frames < _UNKNOWN else 0, int(file.samplerate)
            channel = loudest_if_cancelling(_blocks(file)) if file.channels > 1 else None
        return cls(path, frames, rate, channel)

    @property
    def seconds(self) -> float:
        """How long it says it lasts; 0 where it does not say."""
        return self.frames / self.rate

    def samples(self) -> Iterator[Samples]:
        """One channel at the file's own rate, in blocks; an error where there is less than the header promises."""
        count = 0
        with open_sound(self.path) as file:
            for frames in _blocks(file):
                count += len(frames)
                yield _one_channel(self.path, frames, self.channel)
        _check_count(self.path, self.frames, count)

    def resampled(self, rate: int) -> Iterator[Samples]:
        """One channel at ``rate``, in blocks: the same samples as decoding the file whole."""
        import soxr

        if self.rate == rate:
            yield from self.samples()
            return
        stream = soxr.ResampleStream(self.rate, rate, 1, dtype="float32", quality="HQ")
        for block in self.samples():
            yield stream.resample_chunk(block)
        yield stream.resample_chunk(np.zeros(0, np.float32), last=True)

    def excerpts(self, starts: Iterable[int], length: int, rate: int) -> Iterator[Samples]:
        """Stretches of ``length`` samples at ``rate``, each read where it stands; the last is followed by zeros."""
        with open_sound(self.path, reads_all=False) as file:
            for start in starts:
                at = start * self.rate // rate
                wanted = min(-(-length * self.rate // rate) + 1, self.frames - at)
                file.seek(at)
                frames = file.read(wanted, dtype="float32", always_2d=True)
                if len(frames) < wanted:
                    _check_count(self.path, self.frames, at + len(frames))
                mono = _one_channel(self.path, frames, self.channel)
                samples = resample(mono, self.rate, rate)[:length]
                yield np.pad(samples, (0, length - len(samples)))


def _read_frames(source: Source, file: Any, kind: str) -> npt.NDArray[Any]:
    """Every frame of an opened file as numbers of this ``kind``, ``(frames, channels)``."""
    promised = int(file.frames)
    samples: npt.NDArray[Any] = file.read(dtype=kind, always_2d=True)
    _check_count(source, promised if promised < _UNKNOWN else 0, samples.shape[0])
    return samples


def _blocks(file: Any) -> Iterator[Samples]:
    while len(frames := file.read(_BLOCK_SECONDS * file.samplerate, dtype="float32", always_2d=True)):
        yield frames


def _check_count(source: Source, promised: int, count: int) -> None:
    if count < promised:
        raise InputError(
            f"{_name(source)} is cut off: its header promises {promised} frames and {count} can be read.", _REFETCH
        )
    if count == 0:
        raise InputError(f"{_name(source)} holds no sound (0 frames).", _REFETCH)


def _binary(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _name(source: Source) -> str:
    return "The sound" if isinstance(source, bytes) else str(source)


def _head(source: Path | bytes) -> bytes:
    with _binary(source) as raw:
        return raw.read(512)


def _reason(source: Path | bytes, error: Exception) -> str:
    head = _head(source)
    if head and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        first = head.decode("ascii").strip().split("\n")[0][:60].strip()
        return f"it holds text, beginning '{first}'"
    text = str(getattr(error, "error_string", error)).strip().rstrip(".")
    if "lost sync" in text:
        return f"its sound is cut off or damaged ({text.removeprefix('Error : ')})"
    # libsndfile calls bytes it cannot recognise a missing file.
    if "does not exist" in text or "not recognised" in text:
        return "its content is in no known audio format"
    return text[:1].lower() + text[1:]


def _fix(source: Path | bytes) -> str:
    if _head(source).startswith(b"version https://git-lfs"):
        return "This is a Git LFS pointer: run 'git lfs pull' where the file came from."
    if isinstance(source, Path) and source.suffix.lower() == ".flac":
        return _REFETCH
    return "Replace it with a WAV, FLAC, Ogg (Vorbis, Opus) or MP3 file; convert other formats first."
