"""Kinds of files that Pillow and libsndfile do not write: frames of every rate, bitmaps of every header, TIFF tags."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image, ImageCms
from tests.cases import check_all
from tests.media.metadata.planted_pictures import TEXT, picture, png_chunk, profile, saved
from tests.media.metadata.planted_sounds import mp3, mp3_frames
from tests.media.metadata.test_planted_pictures import cleaned, holds

from heartfelt.media.metadata import UnknownMetadataError
from heartfelt.media.metadata.audio import after_tags, before_tags
from heartfelt.media.metadata.bitmaps import tiff
from heartfelt.media.metadata.colour_profiles import cleaned_profile
from heartfelt.media.metadata.frames import aac_frame, mpeg_frame
from heartfelt.media.metadata.images import only_orientation, orientation

# --- MPEG audio (ISO/IEC 11172-3, table of bit rates; 13818-3 for the lower rates) --------------------------------------

BIT_RATES = """
32 32 32 32 8
64 48 40 48 16
96 56 48 56 24
128 64 56 64 32
160 80 64 80 40
192 96 80 96 48
224 112 96 112 56
256 128 112 128 64
288 160 128 144 80
320 192 160 160 96
352 224 192 176 112
384 256 224 192 128
416 320 256 224 144
448 384 320 256 160
"""
"""By row: version 1 layer I, II and III, version 2 layer I, version 2 layer II and III."""
RATES = {1: (44100, 48000, 32000), 2: (22050, 24000, 16000), 2.5: (11025, 12000, 8000)}


@pytest.mark.parametrize("version", [1, 2, 2.5])
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_the_length_of_every_frame(version: float, layer: int) -> None:
    column = layer - 1 if version == 1 else 3 if layer == 1 else 4
    samples = {1: 384, 2: 1152, 3: 1152 if version == 1 else 576}[layer]
    for row, line in enumerate(BIT_RATES.split("\n")[1:-1], 1):
        for number, rate in enumerate(RATES[version]):
            for padded in (0, 1):
                second = 0xE0 | {1: 3, 2: 2, 2.5: 0}[version] << 3 | (4 - layer) << 1 | 1
                head = bytes([0xFF, second, row << 4 | number << 2 | padded << 1, 0])
                kilobits = int(line.split()[column])
                slot = 4 if layer == 1 else 1
                assert mpeg_frame(b"x" + head, 1) == (samples * kilobits * 125 // rate // slot + padded) * slot


@pytest.mark.parametrize(
    "head", ["fefb9000", "ffdb9000", "ffeb9000", "fff99000", "fffb0000", "fffbf000", "fffb9c00", "fffb90"]
)
def test_what_is_no_frame(head: str) -> None:
    assert mpeg_frame(bytes.fromhex("fffb9000"), 0) == 417
    assert mpeg_frame(bytes.fromhex(head), 0) == 0


def adts(content: bytes) -> bytes:
    """A frame of AAC."""
    size = len(content) + 7
    head = bytes([0xFF, 0xF1, 0x50, 0x80 | size >> 11, size >> 3 & 0xFF, (size & 7) << 5 | 0x1F, 0xFC])
    return head + content


def test_aac(tmp_path: Path) -> None:
    frames = [adts(bytes([number]) * (60 + 300 * number)) for number in range(8)]
    assert [aac_frame(frame, 0) for frame in frames] == [len(frame) for frame in frames]
    assert aac_frame(b"xx" + frames[3], 2) == len(frames[3])
    for wrong in (b"\xfe", b"\xff\xe1", b"\xff\xf3", b"\xff\xf5"):
        assert aac_frame(wrong + frames[0][len(wrong) :], 0) == 0
    assert aac_frame(frames[0][:6], 0) == aac_frame(bytes.fromhex("fff15080001ffc"), 0) == 0
    assert aac_frame(bytes.fromhex("fff1508000fffc"), 0) == 7
    tag = b"ID3\x04\0\0\0\0\0\x0b" + TEXT
    planted = tag + b"".join(frames[:4]) + TEXT + b"".join(frames[4:]) + TEXT
    assert cleaned(tmp_path / "a.aac", planted) == b"".join(frames)


def test_mp3_without_a_frame_that_describes_the_others(tmp_path: Path) -> None:
    plain = mp3()
    second = mp3_frames(plain)[1]
    assert cleaned(tmp_path / "a.mp3", plain[second:]) == plain[second:]
    assert cleaned(tmp_path / "b.mp3", plain) == plain
    lavc = plain.replace(b"LAME3.100", b"Lavc58.13", 1)
    assert cleaned(tmp_path / "c.mp3", lavc) == plain.replace(b"LAME3.100", b"Lavc3.100", 1)
    unnamed = plain.replace(b"LAME3.100", bytes(9), 1)
    assert cleaned(tmp_path / "d.mp3", unnamed) == unnamed
    named = plain.replace(b"LAME3.100", TEXT[:9], 1)
    assert cleaned(tmp_path / "e.mp3", named) == plain.replace(b"LAME3.100", b"encoder\0\0", 1)
    for rate, channels in ((44_100, 2), (44_100, 1), (22_050, 2), (22_050, 1)):
        out = io.BytesIO()
        soundfile.write(out, np.zeros((rate // 4, channels)), rate, format="MP3")
        whole = out.getvalue()
        first = whole[: mpeg_frame(whole, 0)]
        assert first.count(b"LAME3.100") == 1
        other = whole.replace(b"LAME3.100", TEXT[:9], 1)
        assert cleaned(tmp_path / "g.mp3", other) == whole.replace(b"LAME3.100", b"encoder\0\0", 1)
    for kind, fields in ((b"Info", 0), (b"Xing", 1), (b"Xing", 7)):
        size = 8 + 4 * (fields & 1) + 4 * (fields >> 1 & 1) + 100 * (fields >> 2 & 1)
        start = plain[:13] + kind + bytes([0, 0, 0, fields]) + bytes(range(1, size - 7))
        numbers = bytes(range(100, 127))
        frame = (start + b"LAME3.99r" + numbers + TEXT).ljust(second, b"x")
        expected = (start + b"LAME3.100" + numbers).ljust(second, b"\0")
        assert cleaned(tmp_path / "f.mp3", frame + plain[second:]) == expected + plain[second:]


def test_where_tags_end_and_begin() -> None:
    assert after_tags(b"ID3\x04\0\0\0\0\x01\x02" + bytes(130) + b"x", 0) == 140
    assert after_tags(b"ID3\x04\0\x10\0\0\0\x02abfooter-10x", 0) == 22
    assert after_tags(b"ID3\x04\0\0\0\0\0\x7f", 0) == 10, "a tag that reaches beyond the file"
    assert after_tags(b"APETAGEX" + struct.pack("<II", 2000, 5) + bytes(16) + b"abcdeXY", 0) == 37
    assert after_tags(b"plain", 0) == after_tags(b"ID3\4\0", 0) == after_tags(b"APETAGEX", 0) == 0
    old = b"TAG".ljust(128, b"a")
    assert before_tags(b"sound" + old) == 5
    assert before_tags(b"sound" + b"TAG+".ljust(227, b"a") + old) == 5
    assert before_tags(b"s" * 300 + old) == 300
    assert before_tags(b"TAG" + b"a" * 20) == 0
    foot = b"APETAGEX" + struct.pack("<III", 2000, 40, 1)
    assert before_tags(b"sound" + bytes(8) + foot + struct.pack("<I8x", 0)) == 5
    assert before_tags(b"sound" + bytes(40) + foot + struct.pack("<I8x", 0x80000000)) == 5
    assert before_tags(b"sound" + b"LYRICSBEGINabc000014LYRICS200") == 5
    assert before_tags(b"soundLYRICS200") == 14, "without a size it is no tag"
    assert before_tags(b"sound" + b"ID3\x04\0\x10\0\0\0\x02ab" + b"3DI\x04\0\x10\0\0\0\x02") == 5
    assert before_tags(b"") == 0


# --- bitmaps -----------------------------------------------------------------------------------------------------------


def bitmap(info: bytes, masks: bytes, palette: bytes, rows: bytes, gap: bytes = b"") -> bytes:
    """A BMP with a gap before its pixels and a text behind them."""
    start = 14 + len(info) + len(masks) + len(palette) + len(gap)
    return b"BM" + struct.pack("<IHHI", start + len(rows), 7, 9, start) + info + masks + palette + gap + rows + TEXT


def pixels(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"))


ROWS = bytes(range(16 * 4)) * 2
INFO = struct.pack("<IiiHHIIiiII", 40, 8, 8, 1, 16, 3, 0, 2835, 2835, 0, 0)
MASKS = struct.pack("<III", 0xF800, 0x07E0, 0x001F)


def test_masks_stay(tmp_path: Path) -> None:
    plain = bitmap(INFO, MASKS, b"", ROWS, TEXT)
    sent = cleaned(tmp_path / "a.bmp", plain)
    assert sent[54:] == MASKS + ROWS
    assert struct.unpack_from("<IIII", sent, 2) == (len(sent), 0, 66, 40)
    assert struct.unpack_from("<I", sent, 34)[0] == len(ROWS)
    assert np.array_equal(pixels(sent), pixels(plain))
    longer = struct.pack("<I", 56) + INFO[4:] + MASKS + bytes(4)
    with_masks = bitmap(longer, b"", b"", ROWS, TEXT)
    sent = cleaned(tmp_path / "b.bmp", with_masks)
    assert sent[14:54] == longer[:20] + struct.pack("<I", len(ROWS)) + longer[24:40]
    assert sent[54:] == MASKS + bytes(4) + ROWS
    assert np.array_equal(pixels(sent), pixels(plain))


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_palettes_of_every_size(tmp_path: Path, bits: int) -> None:
    colours = b"".join(bytes([n, 255 - n, n // 2]) for n in range(1 << bits))
    quads = b"".join(colours[3 * n : 3 * n + 3] + b"Z" for n in range(1 << bits))
    rows = bytes(range(4)) * 8
    old = struct.pack("<IHHHH", 12, 32 // bits, 8, 1, bits)
    sent = cleaned(tmp_path / "old.bmp", bitmap(old, b"", colours, rows, TEXT))
    assert sent[14:] == old + colours + rows
    for used in (0, 2):
        table = quads[: 4 * (used or 1 << bits)]
        info = struct.pack("<IiiHHIIiiII", 40, 32 // bits, -8, 1, bits, 0, 0, 0, 0, used, 99)
        sent = cleaned(tmp_path / "new.bmp", bitmap(info, b"", table, rows, TEXT))
        blank = b"".join(table[n : n + 3] + b"\0" for n in range(0, len(table), 4))
        assert sent[54:] == blank + rows
        assert struct.unpack_from("<II", sent, 46) == (used, 0)
    coded = struct.pack("<IiiHHIIiiII", 40, 8, 8, 1, 8, 1, 6, 0, 0, 2, 0)
    runs = b"\x08\x01\0\0\0\x01"
    sent = cleaned(tmp_path / "runs.bmp", bitmap(coded, b"", quads[:8], runs))
    assert sent[62:] == runs
    with pytest.raises(UnknownMetadataError, match=r"pixels.*wrong"):
        cleaned(tmp_path / "runs.bmp", bitmap(coded.replace(b"\x06\0\0\0", b"\xff\0\0\0"), b"", quads[:8], runs))


def test_a_palette_that_is_only_a_suggestion_goes(tmp_path: Path) -> None:
    info = struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 32, 0, 0, 0, 0, 3, 0)
    sent = cleaned(tmp_path / "a.bmp", bitmap(info, b"", (TEXT + b"Z"), bytes(range(16))))
    assert sent[54:] == bytes(range(16))
    assert struct.unpack_from("<I", sent, 46)[0] == 0


def test_profiles_of_bitmaps(tmp_path: Path) -> None:
    head = INFO.replace(struct.pack("<HHI", 1, 16, 3), struct.pack("<HHI", 1, 32, 0))
    rows = bytes(range(256))
    space = bytes(16)
    for kind, clean in ((b"DEBM", cleaned_profile(profile()) or b""), (b"KNIL", b""), (b"BGRs", b"")):
        behind = profile() if kind == b"DEBM" else TEXT
        more = kind + TEXT.ljust(48) + struct.pack("<IIII", 4, 124 + len(rows) + 5, len(behind), 3)
        info = struct.pack("<I", 124) + head[4:40] + space + more
        plain = b"BM" + struct.pack("<IHHI", 0, 0, 0, 138) + info + rows + b"Zq7-M" + behind + TEXT
        sent = cleaned(tmp_path / "a.bmp", plain)
        expected = b"DEBM" if clean else b"BGRs"
        assert sent[70:74] == expected
        assert sent[74:122] == bytes(48)
        assert struct.unpack_from("<III", sent, 126) == (124 + len(rows) if clean else 0, len(clean), 0)
        assert sent[138:] == rows + clean
        assert struct.unpack_from("<I", sent, 2)[0] == len(sent)
    numbers = bytes(range(1, 49))
    own = struct.pack("<I", 108) + head[4:40] + space + bytes(4) + numbers
    sent = cleaned(tmp_path / "b.bmp", bitmap(own, b"", b"", rows))
    assert sent[70:122] == bytes(4) + numbers, "primaries of its own"


# --- TIFF --------------------------------------------------------------------------------------------------------------


def tags_of(content: bytes, at: int = 8) -> dict[int, tuple[int, int, int]]:
    (count,) = struct.unpack_from("<H", content, at)
    rows = (struct.unpack_from("<HHII", content, at + 2 + 12 * row) for row in range(count))
    return {tag: (kind, values, value) for tag, kind, values, value in rows}


def directory(*rows: tuple[int, int, int, int], following: int = 0) -> bytes:
    entries = b"".join(struct.pack("<HHII", *row) for row in rows)
    return struct.pack("<H", len(rows)) + entries + struct.pack("<I", following)


def read(content: bytes) -> bytes:
    parts = tiff(content)
    return b"".join(p if isinstance(p, bytes) else content[p.start : p.stop] for p in parts)  # type: ignore[union-attr]  # a span


BASIC = [(256, 4, 1, 4), (257, 4, 1, 4), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]


def plain_tiff(*rows: tuple[int, int, int, int], rows_per_strip: int = 4, tail: bytes = b"") -> bytes:
    """Sixteen grey pixels behind one directory with further tags."""
    strip = [(273, 4, 1, 0), (277, 3, 1, 1), (278, 4, 1, rows_per_strip), (279, 4, 1, 16 + len(tail))]
    every = sorted([*BASIC, *strip, *rows])
    begin = 8 + 6 + 12 * len(every)
    every = [row if row[0] != 273 else (273, 4, 1, begin) for row in every]
    return b"II*\0" + struct.pack("<I", 8) + directory(*every) + bytes(range(16)) + tail


def test_tags_of_a_tiff() -> None:
    clean = read(plain_tiff())
    assert clean == plain_tiff()
    assert read(plain_tiff(tail=TEXT)) == clean, "no more pixels than the picture has"
    assert read(plain_tiff((254, 4, 1, 2))) == clean
    text = (270, 2, 4, int.from_bytes(b"Zq7M", "little"))
    wide = (282, 1, 4, int.from_bytes(b"Zq7M", "little"))
    unknown = (65000, 4, 1, 7)
    undefined = (266, 7, 1, 90)
    assert read(plain_tiff(text, wide, unknown, undefined)) == clean, "tags of texts, too long ones, unknown ones"
    assert tags_of(read(plain_tiff((274, 3, 1, 6), (317, 3, 1, 1)))).keys() == tags_of(clean).keys() | {274, 317}
    bits = plain_tiff((338, 3, 2, 0x00010001), (339, 3, 2, 0x00020001))
    assert tags_of(read(bits)) == tags_of(bits)
    for many in ((338, 1, 9, 0), (532, 5, 7, 0), (320, 3, 5, 0)):
        assert many[0] not in tags_of(read(plain_tiff(many)))


def test_small_copies_and_several_pages() -> None:
    first, second = saved("TIFF"), saved("TIFF", picture().rotate(180))
    both = saved("TIFF", save_all=True, append_images=[picture().rotate(180)])
    sent = read(both)
    with Image.open(io.BytesIO(sent)) as image:
        assert getattr(image, "n_frames", 1) == 2
        assert np.array_equal(np.asarray(image), pixels(first))
        image.seek(1)
        assert np.array_equal(np.asarray(image), pixels(second))
    page = plain_tiff((254, 4, 1, 1))
    with pytest.raises(ValueError, match="no picture in it"):
        read(page)
    with pytest.raises(ValueError, match="lead back"):
        read(page[:8] + directory(*[(254, 4, 1, 1)], following=8) + page[8:])


@pytest.mark.parametrize(
    ("tag", "value", "reason"), [(259, 7, "coded in a way"), (273, 4000, "beyond the file"), (259, 6, "coded in a way")]
)
def test_what_a_tiff_may_not_say(tag: int, value: int, reason: str) -> None:
    content = plain_tiff()
    at = next(8 + 2 + 12 * row for row in range(20) if struct.unpack_from("<H", content, 10 + 12 * row)[0] == tag)
    broken = content[: at + 8] + struct.pack("<I", value) + content[at + 12 :]
    with pytest.raises(ValueError, match=reason):
        read(broken)


def test_big_endian_tiles_and_palettes(tmp_path: Path) -> None:
    for name, options in (("a.tiff", {"tiffinfo": {322: 16, 323: 16}}), ("b.tiff", {"big_endian": True})):
        content = saved("TIFF", **options)
        assert np.array_equal(pixels(cleaned(tmp_path / name, content)), pixels(content))
    content = saved("TIFF", picture("P"))
    sent = cleaned(tmp_path / "p.tiff", content)
    assert tags_of(sent)[320][1] == 768
    assert np.array_equal(pixels(sent), pixels(content))


# --- profiles and orientations -----------------------------------------------------------------------------------------


def table_profile(kind: bytes, content: bytes, *, signature: bytes = b"A2B0") -> bytes:
    """sRGB with one more element."""
    clean = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    element = kind + bytes(4) + content
    table = struct.pack(">I4sII", 1, signature, 144, len(element))
    return struct.pack(">I", 144 + len(element)) + clean[4:128] + table + element


@check_all(
    ("kind", "size", "content"),
    [
        (b"mft1", 48 + 256 * 3 + 8 * 3 + 256 * 3, bytes([3, 3, 2])),
        (b"mft1", 48 + 256 * 1 + 5 * 2 + 256 * 2, bytes([1, 2, 5])),
        (b"mft2", 52 + 2 * (4 * 3 + 8 * 3 + 6 * 3), bytes([3, 3, 2, 0]) + bytes(36) + struct.pack(">HH", 4, 6)),
        (b"curv", 12 + 2 * 5, struct.pack(">I", 5)),
        (b"para", 12 + 4 * 1, struct.pack(">HH", 0, 0)),
        (b"para", 12 + 4 * 3, struct.pack(">HH", 1, 0)),
        (b"para", 12 + 4 * 4, struct.pack(">HH", 2, 0)),
        (b"para", 12 + 4 * 5, struct.pack(">HH", 3, 0)),
        (b"para", 12 + 4 * 7, struct.pack(">HH", 4, 0)),
        (b"XYZ ", 20, b""),
        (b"sf32", 44, b""),
        (b"sig ", 12, b""),
        (b"cicp", 12, b""),
    ],
)
def test_elements_have_exactly_their_size(kind: bytes, size: int, content: bytes) -> None:
    numbers = content.ljust(size - 8, b"\x07")
    clean = cleaned_profile(table_profile(kind, numbers + TEXT))
    assert clean is not None
    assert struct.unpack_from(">4sII", clean, 132) == (b"A2B0", 144, size)
    assert clean[144 : 144 + size] == kind + bytes(4) + numbers
    assert clean[144 + size :] == bytes(-size % 4)
    with pytest.raises(ValueError, match=r"profile.*element"):
        cleaned_profile(table_profile(kind, numbers[:-1]))


def test_what_is_no_profile() -> None:
    whole = profile()
    assert cleaned_profile(whole[:131]) is None
    assert cleaned_profile(whole[:36] + b"acsx" + whole[40:]) is None
    assert cleaned_profile(whole[:-200]) is None
    assert cleaned_profile(whole[:128] + struct.pack(">I", 101) + bytes(2000)) is None
    for kind in (b"mAB ", b"text", b"para\0\0\0\0\0\x05"):
        with pytest.raises(ValueError, match=r"profile.*element"):
            cleaned_profile(table_profile(kind[:4], kind[8:] + bytes(60) if len(kind) > 4 else bytes(60)))
    grown = cleaned_profile(whole, 2000)
    assert grown is not None
    assert struct.unpack_from(">I", grown)[0] == len(grown) == 2000
    assert cleaned_profile(grown, 2000) == grown
    assert struct.unpack_from(">6H", grown, 24) == (2000, 1, 1, 0, 0, 0), "a day that every profile has"


def test_orientations_of_both_orders() -> None:
    little = b"II*\0\x08\0\0\0" + directory((271, 2, 3, 0), (274, 3, 1, 8))
    assert orientation(little) == 8
    assert orientation(only_orientation(3)) == 3
    assert orientation(little[:30]) is None
    assert orientation(b"II*\0" + struct.pack("<I", 4000) + bytes(20)) is None
    assert orientation(b"XX" + little[2:]) is None
    assert orientation(b"II*\0\x08\0\0\0" + directory((274, 4, 1, 6))) is None
    for upright in (0, 1, 9):
        assert orientation(b"II*\0\x08\0\0\0" + directory((274, 3, 1, upright))) is None
    assert orientation(b"MM" + bytes(5)) is None


def test_png_chunks_of_the_longest_kind_stay(tmp_path: Path) -> None:
    plain = saved("PNG")
    sizes = {
        b"cHRM": 32,
        b"gAMA": 4,
        b"sBIT": 3,
        b"sRGB": 1,
        b"cICP": 4,
        b"mDCV": 24,
        b"cLLI": 8,
        b"bKGD": 6,
        b"pHYs": 9,
    }
    for kind, size in sizes.items():
        shown = plain[:33] + png_chunk(kind, bytes(size)) + plain[33:]
        assert cleaned(tmp_path / "a.png", shown) == shown
        longer = plain[:33] + png_chunk(kind, bytes(size) + TEXT) + plain[33:]
        assert cleaned(tmp_path / "a.png", longer) == plain
    cut = plain[:-12]
    assert cleaned(tmp_path / "a.png", cut) == cut
    assert not holds(cleaned(tmp_path / "a.png", cut + png_chunk(b"tEXt", TEXT)))
