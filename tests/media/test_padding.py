"""Padding: files of every format get any size, other bytes for every seed, and decode to the same sound or picture."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image
from tests.cases import check_all
from tests.media.metadata.planted_sounds import FILMS, ogg_flac, ogg_page

from heartfelt.media.metadata import SMALLEST, padded, read_range, stripped
from heartfelt.media.metadata.boxes import children
from heartfelt.media.metadata.ogg import checksum
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


@check_all("suffix", [*SOUNDS, *PICTURES])
@check_all("more", [SMALLEST, SMALLEST + 1, 65_537, 300_001])
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


@check_all("suffix", [suffix for suffix in (*SOUNDS, *PICTURES) if suffix not in {"ogg", "opus"}])
@check_all("more", [SMALLEST, SMALLEST + 1, 70_001])
def test_padding_is_what_cleaning_takes_away(tmp_path: Path, suffix: str, more: int) -> None:
    path = write(tmp_path, suffix)
    plain = stripped(path)
    longer = content_of(path, plain.size + more, b"seed")
    again = tmp_path / f"again.{suffix}"
    again.write_bytes(longer)
    once_more = stripped(again)
    assert read_range(again, once_more, 0, once_more.size) == read_range(path, plain, 0, plain.size)
    if suffix in {"wav", "aiff", "webp"}:
        (size,) = struct.unpack_from(">I" if suffix == "aiff" else "<I", longer, 4)
        assert size == len(longer) - 8 - more % 2
    if suffix == "jpg":
        assert longer[2:4] == b"\xff\xe0"
        assert longer[20:22] == b"\xff\xfe"
    if suffix == "mp3":
        assert longer[:6] == b"ID3\x04\0\0"
        assert longer[10:14] == b"PRIV"
        tag = sum(byte << 7 * place for place, byte in enumerate(reversed(longer[6:10])))
        frame = sum(byte << 7 * place for place, byte in enumerate(reversed(longer[14:18])))
        assert tag == more - 10 == frame + 10
    if suffix == "png":
        kinds, at = [], 8
        while at < len(longer):
            (size,) = struct.unpack_from(">I", longer, at)
            kinds.append(longer[at + 4 : at + 8])
            (stated,) = struct.unpack_from(">I", longer, at + 8 + size)
            assert stated == zlib.crc32(longer[at + 4 : at + 8 + size])
            at += 12 + size
        assert kinds[-2:] == [b"fiLl", b"IEND"]


def test_a_film_is_padded_with_free_space(tmp_path: Path) -> None:
    path = tmp_path / "clip.m4a"
    path.write_bytes(FILMS["handler.m4a"]())
    plain = stripped(path)
    longer = content_of(path, plain.size + SMALLEST, b"seed")
    *_, last = children(longer, 0, len(longer))
    assert (last.kind, last.start, last.stop) == (b"free", plain.size, plain.size + SMALLEST)


def test_an_empty_file_is_padded_too(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    assert len(content_of(tmp_path / "empty.wav", 5000, b"seed")) == 5000


@pytest.mark.parametrize("suffix", ["ogg", "opus"])
@pytest.mark.parametrize("more", [SMALLEST, 64_300, 70_001, 200_000])
def test_padded_pages_follow_each_other(tmp_path: Path, suffix: str, more: int) -> None:
    path = write(tmp_path, suffix)
    longer = content_of(path, stripped(path).size + more, b"seed")
    at, number, unfinished = 0, 0, False
    while longer[at : at + 4] == b"OggS":
        lacing = longer[at + 27 : at + 27 + longer[at + 26]]
        stop = at + 27 + len(lacing) + sum(lacing)
        flags, position, _, sequence, stated = struct.unpack_from("<BqIII", longer, at + 5)
        assert sequence == number
        assert bool(flags & 1) == unfinished, "a page that continues a packet says so"
        assert (position == -1) == (not any(size < 255 for size in lacing)), "no position where no packet ends"
        assert checksum(longer[at : at + 22] + bytes(4) + longer[at + 26 : stop]) == stated
        at, number, unfinished = stop, number + 1, lacing[-1] == 255
    assert number > 3
    assert len(longer) - at < 1500, "little is left behind the last page"


def second_packet(content: bytes) -> bytes:
    """The packet behind the first page, from as many pages as it is on."""
    at, packet = 27 + content[26] + sum(content[27 : 27 + content[26]]), b""
    while True:
        body = at + 27 + content[at + 26]
        for size in content[at + 27 : body]:
            packet += content[body : body + size]
            body += size
            if size < 255:
                return packet
        at = body


@pytest.mark.parametrize("more", [SMALLEST, 70_001])
@pytest.mark.parametrize("kind", ["vorbis", "opus", "flac", "theora", "speex"])
def test_padding_of_an_ogg_file_is_one_comment(tmp_path: Path, kind: str, more: int) -> None:
    path = tmp_path / f"a.{'ogv' if kind == 'theora' else 'ogg'}"
    if kind in {"vorbis", "opus"}:
        path.write_bytes(write(tmp_path, "ogg" if kind == "vorbis" else "opus").read_bytes())
    elif kind == "flac":
        path.write_bytes(ogg_flac())
    else:
        first, about = (
            (b"\x80theora" + bytes(35), b"\x81theora") if kind == "theora" else (b"Speex   " + bytes(72), b"")
        )
        packets = ((2, first), (0, about + bytes(8)), (4, bytes(range(200))))
        path.write_bytes(b"".join(ogg_page(6, at, flags, packet) for at, (flags, packet) in enumerate(packets)))
    plain = stripped(path)
    longer = content_of(path, plain.size + more, b"seed")
    packet = second_packet(longer)
    start = {"vorbis": b"\x03vorbis", "opus": b"OpusTags", "theora": b"\x81theora", "speex": b""}.get(kind)
    if start is None:
        assert packet[0] & 0x7F == 4
        assert int.from_bytes(packet[1:4], "big") == len(packet) - 4, "the block of a FLAC says its length"
        start = packet[:4]
    assert packet.startswith(start)
    vendor, count, size = struct.unpack_from("<III", packet, len(start))
    assert (vendor, count) == (0, 1)
    end = packet[len(start) + 12 + size :]
    assert end == (b"\1" if kind == "vorbis" else b"")
    assert packet[len(start) + 12 :].startswith(b"-=")
    assert size > more * 0.9 - 800, "most of the padding is in it"
