"""Clips on their way to a rater: read, crop, mix down, resample, level, trim, hash, write.

Conventions: samples are float32 in [-1, 1], shaped ``(frames, channels)`` or ``(frames,)``; what a function
is given in one shape it returns in the same. Rates are in samples a second, levels in dB relative to full
scale, loudness in LUFS.

Source: ITU-R BS.1770-4 for loudness and true peak; the AImoclips study for the random crop between two marks.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.files import sha256_of, write_bytes
from heartfelt.media.containers import settle_ogg
from heartfelt.media.sound import Samples, channel_mean, checked_samples, read_samples, resample
from heartfelt.media.sounds.levels import CHANNEL_GAINS, integrated_loudness
from heartfelt.media.sounds.levels import RATE as LOUDNESS_RATE
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

AUDIO_SUFFIXES = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".opus": "OGG"}
_LOUDNESS_METHOD = "integrated loudness, ITU-R BS.1770-4 (LUFS)"
_OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
# libsndfile encodes Vorbis on the stack; long clips in one call overflow it.
_WRITE_FRAMES = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class Audio:
    """A clip in memory: ``samples`` are float32, ``(frames, channels)``."""

    samples: Samples
    rate: int
    kind: ClassVar[str] = "audio"

    def __post_init__(self) -> None:
        samples = checked_samples(self.samples)
        object.__setattr__(self, "samples", samples[:, None] if samples.ndim == 1 else samples)

    @property
    def frames(self) -> int:
        """How many samples a channel has."""
        return int(self.samples.shape[0])

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return int(self.samples.shape[1])

    @property
    def seconds(self) -> float:
        """How long the clip lasts."""
        return self.frames / self.rate

    def save(self, path: Path | str) -> Path:
        """Write the clip in the format its suffix names."""
        return write_audio(path, self.samples, self.rate)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Levelled:
    """A clip brought to a loudness. ``held_back`` says why the target was not reached, where it was not."""

    samples: Samples
    gain_db: float
    before: Estimate
    true_peak: float
    """With the gain; 1.0 is full scale."""
    held_back: str | None = None


def read_audio(source: Path | str | bytes) -> Audio:
    """Read a clip whole, from a file or from its bytes, or say which cannot be used and why."""
    return Audio(*read_samples(source))


def write_audio(path: Path | str, samples: Samples, rate: int, *, bits: int = 16) -> Path:
    """Write ``samples`` as the suffix says (.wav, .flac, .ogg Vorbis, .opus), complete or not at all.

    ``bits`` (16 or 24) counts for WAV and FLAC. Opus knows five rates only; other rates become 48 kHz. The
    same samples give the same bytes.
    """
    import soundfile

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in AUDIO_SUFFIXES:
        raise InputError(
            f"Cannot write audio to {path}: '{path.suffix}' names no format that can be written.",
            suggestion(suffix, AUDIO_SUFFIXES, "Suffixes that can"),
        )
    if bits not in (16, 24):
        raise InputError(f"Cannot write {bits}-bit audio to {path}.", "Use 16 or 24 bits.")
    samples = checked_samples(samples)
    peak = float(np.abs(samples).max(initial=0.0))
    if peak > 1.0:
        raise InputError(
            f"Writing {path} would clip: the samples reach {peak:.3f} times full scale.",
            "Bring them down first, for example with normalise_loudness.",
        )
    if suffix == ".opus" and rate not in _OPUS_RATES:
        samples, rate = np.clip(resample(samples, rate, 48_000), -1.0, 1.0), 48_000
    subtype = {".ogg": "VORBIS", ".opus": "OPUS"}.get(suffix, f"PCM_{bits}")
    memory = io.BytesIO()
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    with soundfile.SoundFile(
        memory, "w", samplerate=rate, channels=channels, format=AUDIO_SUFFIXES[suffix], subtype=subtype
    ) as file:
        for start in range(0, samples.shape[0], _WRITE_FRAMES):
            part = samples[start : start + _WRITE_FRAMES]
            file.write(_sixteen_bits(part) if (suffix, subtype) == (".wav", "PCM_16") else part)
    content = memory.getvalue()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, settle_ogg(content) if AUDIO_SUFFIXES[suffix] == "OGG" else content)
    return path


def _sixteen_bits(samples: Samples) -> npt.NDArray[np.int16]:
    """Samples as the 16-bit numbers that libsndfile makes of them for WAV, bit for bit, in a fifth of its time."""
    scaled = samples * np.float32(2.0**31)
    np.rint(scaled, out=scaled)
    scaled *= np.float32(2.0**-16)
    np.floor(scaled, out=scaled)
    out: npt.NDArray[np.int16] = np.minimum(scaled, np.float32(32_767), out=scaled).astype(np.int16)
    return out


def content_hash(path: Path | str) -> str:
    """The file's SHA-256 as hexadecimal, read in pieces."""
    path = Path(path)
    try:
        return sha256_of(path)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", "Check the path and its permissions.") from error


def crop(
    samples: Samples,
    rate: int,
    seconds: float,
    *,
    seed: int = 0,
    name: str = "",
    between: tuple[float, float] = (0.15, 0.85),
) -> Samples:
    """Cut ``seconds`` at a random place between two marks, given as shares of the clip.

    Pass the stimulus id as ``name``: it names the random stream, so adding a clip moves no other clip's crop. The whole
    crop lies between the marks. Where the marks leave less than ``seconds``, it is centred between them, moved only as far
    as the clip's ends ask.
    """
    samples = checked_samples(samples)
    start = crop_start(samples.shape[0], rate, seconds, seed=seed, name=name, between=between)
    return samples[start : start + crop_length(samples.shape[0], rate, seconds, name)].copy()


def crop_length(frames: int, rate: int, seconds: float, name: str = "") -> int:
    """How many frames a crop has; an error where the clip has fewer."""
    if not (math.isfinite(seconds) and seconds > 0 and rate > 0):
        raise InputError(f"Cannot crop {seconds} s at {rate} Hz.", "Give a positive length and a positive rate.")
    length = round(seconds * rate)
    if length > frames:
        raise InputError(
            f"A crop of {seconds:g} s does not fit the clip {name or '(unnamed)'} of {frames / rate:.2f} s.",
            "Ask for a shorter crop or generate longer clips.",
        )
    return length


def crop_start(
    frames: int,
    rate: int,
    seconds: float,
    *,
    seed: int = 0,
    name: str = "",
    between: tuple[float, float] = (0.15, 0.85),
) -> int:
    """The first frame of the crop that :func:`crop` makes."""
    low, high = between
    if not 0.0 <= low < high <= 1.0:
        raise InputError(
            f"A crop between {low} and {high} of a clip is empty.", "Give two marks, 0 <= low < high <= 1."
        )
    length = crop_length(frames, rate, seconds, name)
    first, last = math.ceil(low * frames), math.floor(high * frames) - length
    if last < first:
        return min(max(round((low + high) / 2 * frames - length / 2), 0), frames - length)
    return int(stream(seed, "make", "crop", name).integers(first, last + 1))


def to_mono(samples: Samples) -> Samples:
    """Average the channels: one column, ``(frames,)``. A clip on both channels keeps its level."""
    samples = checked_samples(samples)
    return samples if samples.ndim == 1 else channel_mean(samples)


def loudness(samples: Samples, rate: int) -> Estimate:
    """Integrated loudness in LUFS, or why there is none (shorter than one 400 ms block, or silent).

    Metered at 48 kHz, the one rate for which the standard gives its filters. A single channel counts once: a
    mono clip measures 3 dB below the same sound on two channels.
    """
    samples = checked_samples(samples)
    counts = {"frames": samples.shape[0]}
    columns = samples[:, None] if samples.ndim == 1 else samples
    if columns.shape[1] > len(CHANNEL_GAINS):
        reason = f"BS.1770 gives no weights for {columns.shape[1]} channels"
        return Estimate.missing(reason, _LOUDNESS_METHOD, counts)
    if samples.shape[0] < 0.4 * rate:
        reason = f"the clip lasts {samples.shape[0] / rate:.3f} s, less than one block of 0.4 s"
        return Estimate.missing(reason, _LOUDNESS_METHOD, counts)
    full = resample(columns, rate, LOUDNESS_RATE)
    short = round(0.4 * LOUDNESS_RATE) - full.shape[0]
    full = np.pad(full, ((0, short), (0, 0))) if short > 0 else full
    if not full.any():
        return Estimate.missing("the clip is silent", _LOUDNESS_METHOD, counts)
    value = integrated_loudness(full)
    if value is None:
        return Estimate.missing("no part of the clip passes the gate at -70 LUFS", _LOUDNESS_METHOD, counts)
    return Estimate(value=value, method=_LOUDNESS_METHOD, counts=counts)


def true_peak(samples: Samples, rate: int) -> float:
    """The largest value between the samples too, found by four-fold oversampling; 1.0 is full scale."""
    samples = checked_samples(samples)
    if samples.shape[0] == 0:
        return 0.0
    between = resample(samples, rate, 4 * rate)
    return float(max(between.max(initial=0.0), -between.min(initial=0.0), np.abs(samples).max()))


def normalise_loudness(samples: Samples, rate: int, target: float = -23.0, *, peak_db: float = -1.0) -> Levelled:
    """Bring a clip to ``target`` LUFS by one gain, held back where its true peak would pass ``peak_db``.

    A clip without a loudness comes back as it was, with the reason.
    """
    before = loudness(samples, rate)
    samples = checked_samples(samples)
    peak = true_peak(samples, rate)
    if before.value is None:
        return Levelled(
            samples=samples,
            gain_db=0.0,
            before=before,
            true_peak=peak,
            held_back=f"it has no loudness: {before.why_missing}",
        )
    gain = target - before.value
    headroom = peak_db - 20.0 * math.log10(peak)
    held_back = None
    if gain > headroom:
        held_back = f"its peaks would pass {peak_db:g} dB; it stays {gain - headroom:.1f} LU below {target:g} LUFS"
        gain = headroom
    factor = 10.0 ** (gain / 20.0)
    return Levelled(
        samples=samples * np.float32(factor), gain_db=gain, before=before, true_peak=peak * factor, held_back=held_back
    )


def is_silent(samples: Samples, rate: int, *, floor_db: float = -60.0) -> bool:
    """Whether no 20 ms of the clip, on any channel, rise above ``floor_db``."""
    return len(trim_silence(samples, rate, floor_db=floor_db)) == 0


def trim_silence(samples: Samples, rate: int, *, floor_db: float = -60.0) -> Samples:
    """Cut silence off both ends, in steps of 20 ms. A clip that is silent throughout becomes empty."""
    samples = checked_samples(samples)
    frames, size = samples.shape[0], max(1, round(0.02 * rate))
    columns = samples[:, None] if samples.ndim == 1 else samples
    loudest = np.abs(columns).max(axis=1, initial=0.0).astype(np.float64)
    blocks = np.pad(loudest**2, (0, -frames % size)).reshape(-1, size)
    heard = np.flatnonzero(blocks.mean(axis=1) > 10.0 ** (floor_db / 10.0))
    return samples[heard[0] * size : (heard[-1] + 1) * size].copy() if heard.size else samples[:0].copy()
