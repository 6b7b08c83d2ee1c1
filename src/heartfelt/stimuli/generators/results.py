"""What comes back from a generator, examined before it may become a stimulus.

A result is refused that cannot be read, holds values that are not numbers, is silent, or has another length or size than asked for.
What is left has a hash and, where it is long enough, the fingerprint of :mod:`heartfelt.media.sounds.checks` or
:mod:`heartfelt.media.images.duplicates`, by which the runner sees the same stimulus twice.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heartfelt.errors import InputError
from heartfelt.files import write_bytes
from heartfelt.media.audio import read_audio
from heartfelt.media.images.duplicates import image_hash
from heartfelt.media.images.image import decode_image
from heartfelt.media.sounds.checks import check_sound, sound_hash
from heartfelt.stimuli.prompts.prompt import GeneratedMedium

_SLACK = 0.25
"""Seconds by which any clip may be longer or shorter than asked for."""
_INFORMATIVE = 16
"""A fingerprint with fewer bits of either kind says nothing: a steady tone or a plain picture."""
_SIGNATURES = (
    (b"RIFF", ".wav"), (b"fLaC", ".flac"), (b"OggS", ".ogg"), (b"ID3", ".mp3"), (b"\xff\xfb", ".mp3"), (b"\xff\xf3", ".mp3"),
    (b"\xff\xf2", ".mp3"), (b"\x89PNG", ".png"), (b"\xff\xd8\xff", ".jpg"),
)  # fmt: skip


LARGEST = 512 * 2**20
"""Bytes of a file that a generator may hand over."""
_PICTURES = {".png", ".jpg", ".jpeg", ".webp"}


def media_kind(suffix: str) -> str:
    """``image`` for the suffix of a picture, ``audio`` for any other."""
    return "image" if suffix in _PICTURES else "audio"


@dataclass(frozen=True, slots=True)
class FileMedia:
    """Media that arrived as the bytes of a file; they are stored as they are."""

    content: bytes
    kind: str
    suffix: str
    source: str = ""
    """The file they were taken from, where there is one."""

    def save(self, path: Path | str) -> Path:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, self.content)
        return path


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a stimulus must be like."""

    kind: str
    seconds: float | None = None
    size: int | None = None
    tolerance: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A result that may become a stimulus."""

    content: bytes
    suffix: str
    sha256: str
    fingerprint: str
    """In hexadecimal; empty where there is none."""
    seconds: float | None = None


def suffix_of(content: bytes) -> str | None:
    """The suffix of a file by its first bytes, for the formats browsers can play or show; None for any other."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return ".webp"
    if content[:4] == b"OggS" and b"OpusHead" in content[:64]:
        return ".opus"
    return next((suffix for start, suffix in _SIGNATURES if content.startswith(start)), None)


def encoded(media: GeneratedMedium, suffix: str) -> tuple[bytes, str]:
    if isinstance(media, FileMedia):
        return media.content, media.suffix
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
        return media.save(Path(folder) / f"made{suffix}").read_bytes(), suffix


def examine(content: bytes, suffix: str, expected: Expectation) -> Examined:
    """The bytes of a file as a result; an error says why it may not become a stimulus."""
    if not content:
        raise InputError("It is empty.", "Make it again.")
    seconds, bits = _sound(content, expected) if expected.kind == "audio" else _picture(content, expected)
    ones = 0 if bits is None else int(np.bitwise_count(bits).sum())
    informative = bits is not None and _INFORMATIVE <= ones <= 8 * bits.size - _INFORMATIVE
    fingerprint = bits.tobytes().hex() if bits is not None and informative else ""
    return Examined(
        content=content,
        suffix=suffix,
        sha256=hashlib.sha256(content).hexdigest(),
        fingerprint=fingerprint,
        seconds=seconds,
    )


def _sound(content: bytes, expected: Expectation) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.uint8]] | None]:
    clip = read_audio(content)
    if not clip.frames or check_sound(clip.samples, clip.rate).silent:
        raise InputError("It is silent.", "Make it again.")
    wanted = expected.seconds
    if wanted is not None and abs(clip.seconds - wanted) > max(_SLACK, expected.tolerance * wanted):
        raise InputError(
            f"It lasts {clip.seconds:.2f} s, not {wanted:g} s.", "Correct 'seconds', or 'tolerance', in make.yaml."
        )
    return clip.seconds, sound_hash(clip.samples, clip.rate)


def _picture(content: bytes, expected: Expectation) -> tuple[None, np.ndarray[tuple[int], np.dtype[np.uint8]] | None]:
    image = decode_image(content)
    if expected.size is not None and expected.size not in image.size:
        raise InputError(
            f"It has {image.width} x {image.height} pixels, not {expected.size} on a side.",
            "Correct 'size' in make.yaml.",
        )
    if len(set(image.resize((64, 64)).getcolors(64 * 64) or ())) == 1:
        raise InputError("Every pixel has the same colour.", "Make it again.")
    return None, image_hash(image)
