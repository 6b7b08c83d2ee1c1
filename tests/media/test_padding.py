"""Padding: files of every format get any size, other bytes for every seed, and decode to the same sound or picture."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from heartfelt.media.metadata import SMALLEST, padded, read_range, stripped
from heartfelt.media.metadata.audio import checksum
from heartfelt.streams import stream

SOUNDS = {
    "wav": ("WAV", "PCM_16"),
    "aiff": ("AIFF", "PCM_16"),
    "au": ("AU", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
}
PICTURES = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP", "gif": "GIF", "bmp": "BMP"}


def write(folder: Path, suffix: str, seed: int = 1) -> Path:
    path, draw = folder / f"clip{seed}.{suffix}", stream(seed, "padding")
    if suffix in SOUNDS:
        kind, coding = SOUNDS[suffix]
        samples = np.sin(np.arange(24_000 * 2) / 20) * 0.3 + draw.normal(0, 0.05, 48_000)
        with soundfile.SoundFile(path, "w", 24_000, 1, coding, format=kind) as file:
            if suffix not in {"au"}:
                file.title = "made by a secret system"
            file.write(samples)
    else:
        pixels = draw.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path, PICTURES[suffix])
    return path


def decoded(content: bytes, suffix: str) -> bytes:
    if suffix in SOUNDS:
        samples, rate = soundfile.read(io.BytesIO(content))
        return bytes(struct.pack("I", rate) + samples.tobytes())
    with Image.open(io.BytesIO(content)) as image:
        return image.convert("RGB").tobytes()


def content_of(path: Path, size: int, seed: bytes) -> bytes:
    pieces = padded(path, size, seed)
    assert pieces.size == size
    whole = read_range(path, pieces, 0, size)
    assert len(whole) == size
    middle = read_range(path, pieces, 3000, size - 1000)
    assert middle == whole[3000 : size - 1000], "ranges are parts of the whole"
    return whole


@pytest.mark.parametrize("suffix", [*SOUNDS, *PICTURES])
@pytest.mark.parametrize("more", [SMALLEST, SMALLEST + 1, 65_537, 300_001])
def test_a_padded_file_is_the_same_to_a_decoder(tmp_path: Path, suffix: str, more: int) -> None:
    path = write(tmp_path, suffix)
    plain = stripped(path)
    expected = decoded(read_range(path, plain, 0, plain.size), suffix)
    first, second = (content_of(path, plain.size + more, seed) for seed in (b"one", b"two"))
    assert decoded(first, suffix) == decoded(second, suffix) == expected
    assert first != second
    assert b"made by" not in first


def test_a_flac_file_that_is_a_description_and_sound_only(tmp_path: Path) -> None:
    path = write(tmp_path, "flac")
    plain = stripped(path)
    bare = tmp_path / "bare.flac"
    bare.write_bytes(read_range(path, plain, 0, plain.size))
    assert bare.read_bytes()[4] & 0x80, "one block"
    assert decoded(content_of(bare, 900_000, b"x"), "flac") == decoded(bare.read_bytes(), "flac")


def test_the_quick_checksum_is_that_of_ogg() -> None:
    draw = stream(3, "checksum")
    for size in (0, 1, 27, 4000):
        page = draw.bytes(size)
        value = 0
        for byte in page:
            value ^= byte << 24
            for _ in range(8):
                value = (value << 1) ^ (0x104C11DB7 if value & 0x80000000 else 0)
        assert checksum(page) == value


@pytest.mark.parametrize("damage", [lambda _: b"unknown", lambda data: data[:60]])
def test_what_cannot_be_parsed_is_padded_behind(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path, "flac")
    path.write_bytes(damage(path.read_bytes()))
    assert content_of(path, 9000, b"x").startswith(path.read_bytes()[:4])
