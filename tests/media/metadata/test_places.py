"""Exact bytes where a test of whole files could miss a fault: flags, dates, sizes and what stands beside a tag."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.media.metadata.planted_pictures import TEXT, exif, picture, png_chunk, profile, saved, segment, webp_chunk
from tests.media.metadata.planted_sounds import (
    DATES,
    OFFSET,
    SAMPLES,
    SOUNDS,
    ape,
    chunk,
    dated,
    flac_block,
    id3,
    movie,
    mp3,
    sound_entry,
    track,
)  # fmt: skip
from tests.media.metadata.planted_sounds import saved as sound
from tests.media.metadata.test_planted_pictures import cleaned

from heartfelt.media.metadata import UnknownMetadataError
from heartfelt.media.metadata.colour_profiles import cleaned_profile
from heartfelt.media.metadata.images import only_orientation


@pytest.mark.parametrize("version", [0, 1])
def test_dates_of_both_versions_are_zero_and_what_follows_them_stays(tmp_path: Path, version: int) -> None:
    plain = movie(track(b"soun", sound_entry(), OFFSET, version), version=version)
    sent = cleaned(tmp_path / "a.m4a", plain)
    width = 8 if version else 4
    for kind in (b"mvhd", b"tkhd", b"mdhd"):
        at = plain.index(kind) + 4
        assert sent[at : at + 4] == bytes([version, 0, 0, 0])
        assert plain[at + 4 : at + 4 + 2 * width].lstrip(b"\0")
        assert sent[at + 4 : at + 4 + 2 * width] == bytes(2 * width)
        assert sent[at + 4 + 2 * width : at + 24 + 2 * width] == plain[at + 4 + 2 * width : at + 24 + 2 * width]
    assert plain.count(struct.pack(">I", DATES[0])) == 3


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("footer", [False, True])
def test_exactly_the_tags_are_cut_off(tmp_path: Path, version: int, footer: bool) -> None:
    plain = mp3()
    assert cleaned(tmp_path / "a.mp3", id3(version, footer=footer) + plain) == plain
    assert cleaned(tmp_path / "a.mp3", plain + id3(version, footer=True)) == plain
    assert cleaned(tmp_path / "a.mp3", id3(version) + ape() + plain + ape(header=footer)) == plain


def test_the_last_block_of_a_flac_is_marked(tmp_path: Path) -> None:
    plain = sound("FLAC")
    frames = plain[-(len(plain) - plain.index(b"\xff\xf8")) :]
    seek = flac_block(3, bytes(18))
    for extra, kinds in ((b"", [0x80]), (seek, [0, 0x83])):
        sent = cleaned(tmp_path / "a.flac", plain[:42] + extra + flac_block(2, TEXT) + plain[42:])
        at = 4
        marks: list[int] = []
        while not marks or not marks[-1] & 0x80:
            marks.append(sent[at])
            at += 4 + int.from_bytes(sent[at + 1 : at + 4], "big")
        assert marks == kinds
        assert sent[at:] == frames


def test_what_only_begins_like_a_frame_is_no_end_of_a_flac(tmp_path: Path) -> None:
    plain = sound("FLAC")
    sent = cleaned(tmp_path / "a.flac", plain)
    first = plain[plain.index(b"\xff\xf8") :][:4]
    # A frame's head of six bytes at the end, with a number of one byte, of two and of none.
    for number in (b"\0\0", b"\xc2\x80", b"\xfe\xff"):
        assert cleaned(tmp_path / "b.flac", plain + first + number) == sent
        assert cleaned(tmp_path / "b.flac", plain + first + number + TEXT) == sent
    assert cleaned(tmp_path / "b.flac", plain + first) == sent


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"exif": exif()}, 0x08),
        ({"xmp": TEXT}, 0),
        ({"exif": b"Exif\0\0" + b"MM\0*\0\0\0\x08\0\1" + struct.pack(">HHII", 271, 2, 4, 0x5A71372D) + bytes(4)}, 0),
        ({"icc_profile": profile()}, 0x20),
        ({"icc_profile": profile(), "exif": exif(), "xmp": TEXT}, 0x28),
        ({"icc_profile": TEXT * 20, "xmp": TEXT}, 0),
    ],
)
def test_the_flags_of_a_webp_say_what_is_in_it(tmp_path: Path, options: dict[str, Any], flags: int) -> None:
    sent = cleaned(tmp_path / "a.webp", saved("WEBP", lossless=True, **options))
    assert sent[12:16] == b"VP8X"
    assert sent[20] & 0x2C == flags
    assert (b"EXIF" in sent, b"ICCP" in sent, b"XMP " in sent) == (bool(flags & 8), bool(flags & 0x20), False)
    assert struct.unpack_from("<I", sent, 4)[0] == len(sent) - 8
    Image.open(io.BytesIO(sent)).load()
    alpha = picture("RGBA")
    alpha.putalpha(90)
    with_alpha = cleaned(tmp_path / "b.webp", saved("WEBP", alpha, lossless=True, xmp=TEXT))
    assert with_alpha[20] & 0x3C == 0x10


def test_what_looks_like_a_turn_or_a_profile_elsewhere_is_none(tmp_path: Path) -> None:
    extended = webp_chunk(b"VP8X", bytes([0]) + bytes(3) + struct.pack("<I", 47)[:3] + struct.pack("<I", 31)[:3])
    plain = saved("WEBP", lossless=True)
    base = plain[:12] + extended + plain[12:]

    def sent(*chunks: bytes) -> bytes:
        whole = base + b"".join(chunks)
        return cleaned(tmp_path / "a.webp", whole[:4] + struct.pack("<I", len(whole) - 8) + whole[8:])

    bare = sent()
    turned, other = (webp_chunk(b"EXIF", only_orientation(value)) for value in (6, 3))
    coloured = webp_chunk(b"ICCP", profile())
    for kind in (b"abcd", b"XMP "):
        assert sent(webp_chunk(kind, only_orientation(6)), webp_chunk(kind, profile())) == bare
    assert sent(webp_chunk(b"VP8X", bytes(9))) == bare, "a header that is too short is none"
    assert sent(webp_chunk(b"VP8X", b"\x10" + bytes(9))) == bare, "nor is a second one"
    # Of two the first counts.
    assert sent(turned, other) == sent(turned) != sent(other)
    assert sent(coloured, webp_chunk(b"ICCP", profile(2))) == sent(coloured) != bare
    # A turn in a PNG is read in its chunk alone: not in the checksum behind it, nor in the next chunk.
    picture_file = saved("PNG")
    for size in range(14, 22):
        cut = png_chunk(b"eXIf", only_orientation(6)[:size])
        assert cleaned(tmp_path / "a.png", picture_file[:33] + cut + picture_file[33:]) == picture_file
    whole = png_chunk(b"eXIf", only_orientation(6))
    assert cleaned(tmp_path / "a.png", picture_file[:33] + whole + picture_file[33:]).count(whole) == 1


@pytest.mark.parametrize("version", [2, 4])
def test_a_profile_says_what_it_is(version: int) -> None:
    clean = cleaned_profile(profile(version))
    assert clean is not None
    assert struct.unpack_from(">I", clean)[0] == len(clean)
    assert clean[8] == version
    assert clean[12:24] == b"mntrRGB XYZ "
    assert clean[36:40] == b"acsp"
    assert clean[64:80] == profile(version)[64:80]
    assert (clean[84:100] == bytes(16)) == (version == 2)
    assert clean[100:128] == bytes(28)
    (count,) = struct.unpack_from(">I", clean, 128)
    rows = [struct.unpack_from(">4sII", clean, 132 + 12 * row) for row in range(count)]
    assert {row[0] for row in rows} >= {b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC", b"gTRC", b"bTRC", b"wtpt", b"desc", b"cprt"}
    for _, start, size in rows:
        assert start % 4 == 0
        assert start + size <= len(clean)


def test_media_data_that_no_track_has_are_zero(tmp_path: Path) -> None:
    plain = movie(track(b"soun", sound_entry(), OFFSET, 0), unused=TEXT)
    sent = cleaned(tmp_path / "a.m4a", plain)
    at = plain.index(SAMPLES)
    assert sent[at : at + 200 + len(TEXT)] == SAMPLES + bytes(len(TEXT))


def test_formats_of_wave_files(tmp_path: Path) -> None:
    plain = sound("WAV")
    for coding, content, expected in (
        (1, b"", b""),
        (3, bytes(2), bytes(2)),
        (7, b"Zq7-Marlowe\0", bytes(2)),
        (0xFFFE, struct.pack("<H", 34) + bytes(range(22)) + TEXT + b"\0", struct.pack("<H", 22) + bytes(range(22))),
        (2, struct.pack("<H", 4) + b"abcd" + TEXT + b"\0", struct.pack("<H", 4) + b"abcd"),
        (0xFFFF, struct.pack("<H", 0) + TEXT + b"\0", struct.pack("<H", 0)),
    ):
        head = struct.pack("<H", coding) + plain[22:36]
        content = chunk(b"fmt ", head + content) + chunk(b"fact", b"1234" + TEXT) + chunk(b"data", b"samples")
        sent = cleaned(tmp_path / "a.wav", b"RIFF" + struct.pack("<I", len(content) + 4) + b"WAVE" + content)
        assert sent[12:] == chunk(b"fmt ", head + expected) + chunk(b"fact", b"1234") + chunk(b"data", b"samples")


def test_sizes_that_are_stated_or_not(tmp_path: Path) -> None:
    for stated, samples in ((4, b"abcd"), (0xFFFFFFFF, b"abcdefgh"), (100, b"abcdefgh")):
        numbers = struct.pack(">III", 3, 8000, 1)
        plain = b".snd" + struct.pack(">II", 36, stated) + numbers + b"Zq7-Marlowe\0" + b"abcdefgh"
        expected = b".snd" + struct.pack(">II", 28, stated) + numbers + bytes(4) + samples
        assert cleaned(tmp_path / "a.au", plain) == expected
    wave = sound("W64")
    empty = b"fact" + wave[44:56] + struct.pack("<Q", 24)
    sent = cleaned(tmp_path / "a.w64", wave[:40] + empty + wave[40:])
    assert sent[40:64] == empty
    assert sent[64:] == wave[40:]


def _parts_of_profile(plain: bytes, order: tuple[int, ...]) -> bytes:
    content = profile()
    parts = {1: content[:100], 2: content[100:300], 3: content[300:]}
    segments = [segment(0xE2, b"ICC_PROFILE\0" + bytes([number, 3]) + parts[number]) for number in order]
    return plain[:20] + segments[0] + b"\xff\x01" + segments[1] + segment(0xFE, TEXT) + segments[2] + plain[20:]


def test_only_loops_of_a_gif_stay(tmp_path: Path) -> None:
    plain = saved("GIF", picture().convert("P"))
    loop = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x05\0\0"
    other = loop.replace(b"NETSCAPE2.0", b"Zq7-Marlowe")
    assert cleaned(tmp_path / "a.gif", plain[:-1] + loop + other + plain[-1:]) == plain[:-1] + loop + plain[-1:]
    anim = loop.replace(b"NETSCAPE2.0", b"ANIMEXTS1.0")
    assert cleaned(tmp_path / "a.gif", plain[:-1] + anim + plain[-1:]) == plain[:-1] + anim + plain[-1:]


def test_segments_of_a_jpeg(tmp_path: Path) -> None:
    plain = saved("JPEG")
    longer = [segment(marker, TEXT * 2) for marker in (*range(0xE0, 0xF0), 0xFE, 0xF0, 0xC8, 0x02)]
    assert cleaned(tmp_path / "a.jpg", plain[:20] + b"".join(longer) + plain[20:]) == plain
    adobe = segment(0xEE, b"Adobe" + bytes(range(7)))
    assert cleaned(tmp_path / "b.jpg", plain[:20] + adobe + plain[20:]) == plain[:20] + adobe + plain[20:]
    short = segment(0xEE, b"Adobe123456") + segment(0xE0, b"JFIF\0123456")
    assert cleaned(tmp_path / "c.jpg", plain[:20] + short + plain[20:]) == plain
    exact = plain[:2] + segment(0xE0, plain[6:18]) + plain[20:]
    assert cleaned(tmp_path / "e.jpg", exact) == plain
    profiles = _parts_of_profile(plain, (1, 2, 3))
    assert cleaned(tmp_path / "f.jpg", _parts_of_profile(plain, (3, 1, 2))) == cleaned(tmp_path / "g.jpg", profiles)
    filled = plain[:20] + b"\xff\xff" + plain[20:]
    assert cleaned(tmp_path / "d.jpg", filled) == plain


def test_sizes_of_chunks(tmp_path: Path) -> None:
    for name in ("list.wav", "odd.wav", "format.wav", "extensible.wav"):
        sent = cleaned(tmp_path / name, SOUNDS[name]())
        assert struct.unpack_from("<I", sent, 4)[0] == len(sent) - 8
    large = cleaned(tmp_path / "large.wav", SOUNDS["large.wav"]())
    riff, data, frames = struct.unpack_from("<QQQ", large, 20)
    assert (riff, data, frames) == (len(large) - 8, 4000, 2000)
    aiff = cleaned(tmp_path / "a.aiff", SOUNDS["texts.aiff"]())
    assert struct.unpack_from(">I", aiff, 4)[0] == len(aiff) - 8
    w64 = cleaned(tmp_path / "a.w64", SOUNDS["note.w64"]())
    assert struct.unpack_from("<Q", w64, 16)[0] == len(w64)


def test_dated_boxes_that_are_too_short_are_refused(tmp_path: Path) -> None:
    box = dated(b"mdhd", 0, struct.pack(">IIHH", 8000, 2000, 0x55C4, 0))
    plain = movie(track(b"soun", sound_entry(), OFFSET, 0))
    assert plain.count(box) == 1
    short = struct.pack(">I4sII", 16, b"mdhd", 0, 0)
    short += struct.pack(">I4s", len(box) - 16, b"free") + bytes(len(box) - 24)
    with pytest.raises(UnknownMetadataError, match="a box is too short"):
        cleaned(tmp_path / "b.m4a", plain.replace(box, short))


def test_chunks_of_an_aiff(tmp_path: Path) -> None:
    common = struct.pack(">hIh10s", 1, 4, 16, bytes(range(10)))
    samples = struct.pack(">II", 0, 0) + b"abcdefgh"
    for kind, version, written in (
        (b"AIFF", b"", common),
        (b"AIFC", chunk(b"FVER", b"1234", ">"), common + b"NONE" + bytes(2)),
    ):
        stated = common if kind == b"AIFF" else common + b"NONE" + bytes([11]) + TEXT
        content = version + chunk(b"NAME", TEXT, ">") + chunk(b"COMM", stated, ">") + chunk(b"SSND", samples, ">")
        sent = cleaned(tmp_path / "a.aiff", b"FORM" + struct.pack(">I", len(content) + 4) + kind + content)
        assert sent[12:] == version + chunk(b"COMM", written, ">") + chunk(b"SSND", samples, ">")
        assert sent[:12] == b"FORM" + struct.pack(">I", len(sent) - 8) + kind


def test_sound_that_is_empty_or_was_never_measured(tmp_path: Path) -> None:
    form = chunk(b"fmt ", sound("WAV")[20:36])
    behind = chunk(b"LIST", TEXT)
    for size, content, expected in (
        (None, chunk(b"data", b"") + behind, chunk(b"data", b"")),
        (0, b"data\0\0\0\0samples", b"data\0\0\0\0samples\0"),
        (0xFFFFFFFF, b"data\xff\xff\xff\xffsamples", b"data\xff\xff\xff\xffsamples\0"),
        (None, b"data\xff\xff\xff\xffsample", b"data\xff\xff\xff\xffsample"),
    ):
        stated = len(form + content) + 4 if size is None else size
        sent = cleaned(tmp_path / "a.wav", b"RIFF" + struct.pack("<I", stated) + b"WAVE" + form + content)
        assert sent[12:] == form + expected
    for wrong in (23, 41):
        with pytest.raises(UnknownMetadataError, match="an AU file"):
            cleaned(tmp_path / "a.au", b".snd" + struct.pack(">II", wrong, 4) + bytes(28))
    assert len(cleaned(tmp_path / "b.au", b".snd" + struct.pack(">II", 24, 4) + bytes(28))) == 32
