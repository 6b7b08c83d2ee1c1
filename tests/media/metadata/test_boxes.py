"""Boxes and pages that no library at hand writes, and the first bytes by which every format is known."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.cases import check_all
from tests.media.metadata.planted_pictures import TEXT, box
from tests.media.metadata.planted_sounds import OFFSET, movie, ogg_page, ogg_pages, sound_entry, track
from tests.media.metadata.test_planted_pictures import cleaned, holds

from heartfelt.media.metadata import UnknownMetadataError
from heartfelt.media.metadata.boxes import Box, children, joined, masked, trimmed
from heartfelt.media.metadata.containers import container_of
from heartfelt.media.metadata.ogg import checksum
from heartfelt.media.metadata.picture_items import item_ranges, picture_items
from heartfelt.media.metadata.pieces import Piece, read_pieces


def written(data: bytes, pieces: list[Piece]) -> bytes:
    return read_pieces(data, pieces)


@check_all(
    ("kind", "size"),
    [(b"pasp", 8), (b"clap", 32), (b"fiel", 2), (b"gama", 4), (b"clli", 4), (b"mdcv", 24), (b"btrt", 12), (b"frma", 4),
     (b"enda", 2), (b"ispe", 12), (b"irot", 1), (b"imir", 1), (b"a1op", 1), (b"lsel", 2), (b"rloc", 12), (b"vmhd", 12),
     (b"smhd", 8), (b"trex", 24), (b"mfhd", 8), (b"mehd", 12), (b"tfdt", 12), (b"mfro", 8), (b"ccst", 8), (b"pitm", 8)],
)  # fmt: skip
def test_boxes_of_a_fixed_size(kind: bytes, size: int) -> None:
    numbers = bytes(range(1, size + 1))
    data = box(kind, numbers + TEXT)
    (only,) = children(data, 0, len(data))
    assert written(data, list(trimmed(data, only))) == box(kind, numbers + bytes(len(TEXT)))
    exact = box(kind, numbers)
    assert written(exact, list(trimmed(exact, Box(kind, 0, 8, 8 + size)))) == exact


@pytest.mark.parametrize(
    ("kind", "row"), [(b"stts", 8), (b"ctts", 8), (b"stsc", 12), (b"stco", 4), (b"co64", 8), (b"stss", 4), (b"stps", 4)]
)
def test_tables(kind: bytes, row: int) -> None:
    numbers = struct.pack(">II", 0, 3) + bytes(range(1, 3 * row + 1))
    data = box(kind, numbers + TEXT)
    (only,) = children(data, 0, len(data))
    assert written(data, list(trimmed(data, only))) == box(kind, numbers + bytes(len(TEXT)))


def test_boxes_are_read_with_sizes_of_all_kinds() -> None:
    data = (
        box(b"aaaa", b"xy") + struct.pack(">I4sQ", 1, b"bbbb", 20) + b"1234" + struct.pack(">I4s", 0, b"cccc") + b"rest"
    )
    assert list(children(data, 0, len(data))) == [
        Box(b"aaaa", 0, 8, 10), Box(b"bbbb", 10, 26, 30), Box(b"cccc", 30, 38, 42),
    ]  # fmt: skip
    empty = box(b"free", b"")
    assert list(children(empty, 0, 8)) == [Box(b"free", 0, 8, 8)]
    assert list(children(empty[:7], 0, 7)) == []
    for wrong in (
        struct.pack(">I4s", 7, b"tiny"),
        struct.pack(">I4s", 9, b"long"),
        struct.pack(">I4sQ", 1, b"tiny", 15),
    ):
        with pytest.raises(ValueError, match="beyond its place"):
            list(children(wrong, 0, len(wrong)))


def test_ranges() -> None:
    assert joined([(5, 9), (1, 3), (3, 4), (6, 7), (12, 12)]) == [(1, 4), (5, 9)]
    data = bytes(range(1, 21))
    assert written(data, list(masked(2, 15, [(0, 4), (6, 8), (14, 30)]))) == bytes(
        [3, 4, 0, 0, 7, 8, 0, 0, 0, 0, 0, 0, 15]
    )
    assert written(data, list(masked(2, 15, None))) == data[2:15]
    assert written(data, list(masked(2, 15, []))) == bytes(13)


# --- tracks ------------------------------------------------------------------------------------------------------------


def media(name: str, sizes: bytes, chunks: bytes, entry: bytes, begin: bytes, payload: bytes) -> bytes:
    """A track whose samples lie as these boxes say."""
    table = box(b"stsd", struct.pack(">II", 0, 1) + entry) + sizes + chunks + begin
    handler = box(b"hdlr", bytes(8) + name.encode() + bytes(13))
    trak = box(b"trak", box(b"mdia", handler + box(b"minf", box(b"stbl", table))))
    return box(b"ftyp", b"M4A \0\0\0\0M4A isom") + box(b"mdat", payload) + box(b"moov", trak)


def at(*offsets: int) -> bytes:
    return box(b"stco", struct.pack(f">II{len(offsets)}I", 0, len(offsets), *(OFFSET + offset for offset in offsets)))


PAYLOAD = bytes(range(1, 101))


def left(content: bytes) -> list[int]:
    """Which bytes of the payload are still there."""
    return [number for number in range(100) if content[OFFSET + number] == PAYLOAD[number]]


@pytest.mark.parametrize("coding", ["stsz", "bytes", "words"])
def test_samples_in_runs_of_chunks(tmp_path: Path, coding: str) -> None:
    """Two chunks of two samples, then chunks of one."""
    lengths = (3, 4, 5, 6, 7, 8)
    sizes = {
        "stsz": box(b"stsz", struct.pack(">III6I", 0, 0, 6, *lengths)),
        "bytes": box(b"stz2", struct.pack(">IIII", 0, 8, 6, 0)[:12] + bytes(lengths)),
        "words": box(b"stz2", struct.pack(">III6H", 0, 16, 6, *lengths)),
    }[coding]
    runs = box(b"stsc", struct.pack(">IIIIIIII", 0, 2, 1, 2, 1, 3, 1, 1))
    plain = media("soun", sizes, runs, sound_entry(), at(10, 30, 50, 70), PAYLOAD)
    sent = cleaned(tmp_path / "a.m4a", plain)
    assert left(sent) == [*range(10, 17), *range(30, 41), *range(50, 57), *range(70, 78)]
    wide = box(b"co64", struct.pack(">IIQ", 0, 1, OFFSET + 90))
    assert left(cleaned(tmp_path / "b.m4a", media("soun", sizes, runs, sound_entry(), wide, PAYLOAD))) == list(
        range(90, 97)
    )


@pytest.mark.parametrize(
    ("version", "more", "frame"),
    [
        (0, b"", 4),
        (1, struct.pack(">IIII", 1, 2, 6, 2), 6),
        (2, bytes(12) + struct.pack(">IIIIII", 3, 0, 16, 0, 0, 0), 6),
    ],
)
def test_uncompressed_sound_of_quicktime(tmp_path: Path, version: int, more: bytes, frame: int) -> None:
    """Sizes are stated as one byte, whatever a moment of sound takes."""
    head = bytes(6) + struct.pack(">HHH4sHHHHI", 1, version, 0, bytes(4), 2, 16, 0, 0, 8000 << 16) + more
    sizes = box(b"stsz", struct.pack(">III", 0, 1, 5))
    runs = box(b"stsc", struct.pack(">IIIII", 0, 1, 1, 5, 1))
    plain = media("soun", sizes, runs, box(b"sowt", head), at(20), PAYLOAD)
    assert left(cleaned(tmp_path / "a.mov", plain)) == list(range(20, 20 + 5 * frame))


def test_samples_of_one_size(tmp_path: Path) -> None:
    sizes = box(b"stsz", struct.pack(">III", 0, 7, 4))
    runs = box(b"stsc", struct.pack(">IIIII", 0, 1, 1, 4, 1))
    assert left(cleaned(tmp_path / "a.m4a", media("soun", sizes, runs, sound_entry(), at(5), PAYLOAD))) == list(
        range(5, 33)
    )
    no_runs = media("soun", sizes, b"", sound_entry(), at(5), PAYLOAD)
    no_offsets = media("soun", sizes, runs, sound_entry(), b"", PAYLOAD)
    for missing in (no_runs, no_offsets):
        with pytest.raises(UnknownMetadataError, match="samples"):
            cleaned(tmp_path / "b.m4a", missing)


def test_several_boxes_of_media_data(tmp_path: Path) -> None:
    plain = movie(track(b"soun", sound_entry(), OFFSET, 0))
    more = plain + box(b"mdat", TEXT) + box(b"sidx", bytes(20)) * 2
    sent = cleaned(tmp_path / "a.m4a", more)
    assert sent.endswith(box(b"mdat", bytes(len(TEXT))) + box(b"sidx", bytes(20)) * 2)


def test_fragments_keep_their_data(tmp_path: Path) -> None:
    plain = movie(track(b"soun", sound_entry(), OFFSET, 0), unused=b"more")
    fragment = box(b"moof", box(b"mfhd", bytes(8)) + box(b"traf", box(b"tfhd", bytes(8)) + box(b"uuid", TEXT * 2)))
    sent = cleaned(tmp_path / "a.mp4", plain + fragment + box(b"mdat", PAYLOAD) + box(b"emsg", TEXT))
    assert b"more" in sent
    assert PAYLOAD in sent
    assert not holds(sent)
    assert sent.count(b"tfhd") == sent.count(b"mfhd") == 1


# --- items of pictures -------------------------------------------------------------------------------------------------


def infe(number: int, kind: bytes, name: bytes, version: int = 2) -> bytes:
    head = bytes([version, 0, 0, 0]) + struct.pack(">IH" if version == 3 else ">HH", number, 0)
    return box(b"infe", head + kind + name + b"\0")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_lists_of_items_of_every_version(version: int) -> None:
    wide = version == 2
    number = "I" if wide else "H"
    items = infe(1, b"av01", TEXT, 3 if wide else 2) + infe(2, b"Exif", TEXT, 3 if wide else 2)
    items += infe(3, b"grid", b"", 3 if wide else 2)
    head = bytes([1 if wide else 0, 0, 0, 0]) + struct.pack(f">{number}", 3)
    info = box(b"iinf", head + items)
    method = b"\0\0" if version else b""
    inner = b"\0\1" if version else b""

    def location(item: int, how: bytes, *extents: tuple[int, int]) -> bytes:
        index = b"\7\7" if version else b""
        rows = b"".join(index + struct.pack(">II", *extent) for extent in extents)
        return struct.pack(f">{number}", item) + how + struct.pack(">HIH", 0, 100, len(extents)) + rows

    rows = [location(1, method, (5, 10), (40, 2)), location(2, method, (20, 9)), location(3, inner, (0, 4))]
    # Extents have an index of two bytes; in version 0 the same bits are reserved, and say nothing.
    sizes = bytes([version, 0, 0, 0, 0x44, 0x42])
    places = box(b"iloc", sizes + struct.pack(f">{number}", 3) + b"".join(rows))
    link = "I" if version else "H"
    links = [
        box(b"cdsc", struct.pack(f">{link}H{link}", 2, 1, 1)),
        box(b"dimg", struct.pack(f">{link}H{link}{link}", 3, 2, 1, 1)),
    ]
    references = box(b"iref", bytes([1 if version else 0, 0, 0, 0]) + b"".join(links))
    other = box(b"idat", bytes(range(1, 110))) + box(b"grpl", TEXT) + box(b"hdlr", bytes(8) + b"pict" + TEXT)
    meta = box(b"meta", bytes(4) + info + places + references + other + box(b"iprp", box(b"ipco", box(b"udes", TEXT))))
    whole = Box(b"meta", 0, 8, len(meta))
    assert item_ranges(meta, whole) == [(105, 115), (140, 142), *([(100, 104)] if not version else [])]
    sent = written(meta, list(picture_items(meta, whole)))
    assert len(sent) == len(meta)
    assert not holds(sent)
    assert b"Exif" not in sent
    assert box(b"iloc", sizes + struct.pack(f">{number}", 2) + rows[0] + rows[2]) in sent
    assert links[1] in sent
    assert links[0] not in sent
    kept_names = [infe(1, b"av01", bytes(len(TEXT)), 3 if wide else 2), infe(3, b"grid", b"", 3 if wide else 2)]
    assert box(b"iinf", head[:4] + struct.pack(f">{number}", 2) + b"".join(kept_names)) in sent
    data = bytes(range(101, 105)).rjust(104, b"\0") + bytes(5) if version else bytes(109)
    assert box(b"idat", data) in sent
    assert [inner.kind for inner in children(sent, 12, len(sent))][-1] == b"free"
    assert sent[-20:] == bytes(20)


# --- Ogg ---------------------------------------------------------------------------------------------------------------


def test_speex_and_theora(tmp_path: Path) -> None:
    speex = b"Speex   " + TEXT.ljust(20, b"\0") + bytes(range(52))
    comments = struct.pack("<I", len(TEXT)) + TEXT + bytes(4)
    sound = bytes(range(200))
    pages = [ogg_page(5, 0, 2, speex), ogg_page(5, 1, 0, comments), ogg_page(5, 2, 4, sound)]
    assert cleaned(tmp_path / "a.spx", b"".join(pages)) == (
        ogg_page(5, 0, 2, b"Speex   " + b"1.2".ljust(20, b"\0") + bytes(range(52)))
        + ogg_page(5, 1, 0, bytes(len(comments)))
        + pages[2]
    )
    film = b"\x80theora" + bytes(35)
    about = b"\x81theora" + comments
    blank = b"\x81theora" + bytes(len(comments))
    pages = [ogg_page(6, 0, 2, film), ogg_page(6, 1, 0, about), ogg_page(6, 2, 0, b"\x82theora" + sound)]
    assert cleaned(tmp_path / "a.ogv", b"".join(pages)) == pages[0] + ogg_page(6, 1, 0, blank) + pages[2]
    with pytest.raises(UnknownMetadataError, match="no stream of a known kind"):
        cleaned(tmp_path / "b.ogg", ogg_page(7, 0, 2, b"fishead\0" + TEXT))
    cut = b"".join(pages)[:-1]
    assert cleaned(tmp_path / "c.ogv", cut) == pages[0] + ogg_page(6, 1, 0, blank), "no decoder reads half a page"
    # A page that claims more than there is, with the checksum of what there is.
    short = bytearray(ogg_page(6, 3, 0, TEXT.ljust(250, b"\0"))[: 28 + len(TEXT)])
    short[22:26] = bytes(4)
    short[22:26] = struct.pack("<I", checksum(short))
    assert cleaned(tmp_path / "e.ogv", b"".join(pages) + short) == pages[0] + ogg_page(6, 1, 0, blank) + pages[2]
    many = b"OpusHead\1\2" + bytes(8) + b"\1" + bytes([1, 1, 0, 1])
    tags = b"OpusTags" + comments
    stream = ogg_page(8, 0, 2, many + TEXT) + ogg_page(8, 1, 0, tags)
    assert cleaned(tmp_path / "d.opus", stream) == ogg_page(8, 0, 2, many + bytes(len(TEXT))) + ogg_page(
        8, 1, 0, b"OpusTags" + bytes(len(comments))
    )
    assert len(ogg_pages(stream)) == 2


# --- the first bytes ---------------------------------------------------------------------------------------------------


@check_all(
    ("start", "name"),
    [
        (b"\x89PNG\r\n\x1a\n", "a PNG"), (b"\xff\xd8\xff\xe0", "a JPEG picture"), (b"GIF89a", "a GIF"), (b"RIFF....WEBP", "a WebP"),
        (b"BM....", "a BMP"), (b"II*\0", "a TIFF"), (b"MM\0*", "a TIFF"), (b"RIFF....WAVE", "a WAV"), (b"RF64....WAVE", "a WAV"),
        (b"FORM....AIFF", "an AIFF"), (b"FORM....AIFC", "an AIFF"), (b"OggS", "an Ogg"), (b"fLaC", "a FLAC"), (b".snd", "an AU"),
        (b"caff", "a CAF"), (b"riff", "a Wave64"), (b"....ftypM4A ", "an MP4"), (b"....moov", "an MP4"), (b"....mdat", "an MP4"),
        (b"....wide", "an MP4"), (b"....free", "an MP4"), (b"....skip", "an MP4"), (b"....pnot", "an MP4"),
        (b"....ftypavif", "an AVIF"), (b"....ftypheic", "an AVIF"), (b"....ftypmif1", "an AVIF"), (b"....ftypavis", "an AVIF"),
        (b"II+\0", "a BigTIFF"), (b"MM\0+", "a BigTIFF"), (b"8BPS", "a Photoshop"), (b"\xff\x0a", "a JPEG XL"),
        (b"\0\0\0\x0cJXL ", "a JPEG XL"), (b"\0\0\0\x0cjP  ", "a JPEG 2000"), (b"\xff\x4f\xff\x51", "a JPEG 2000"),
        (b"%PDF", "a PDF"),
        (b"\x1a\x45\xdf\xa3", "a WebM"), (b"RIFF....AVI ", "an AVI file"), (b"MThd", "a MIDI"), (b"wvpk", "a WavPack"),
        (b"MAC ", "a Monkey"), (b"MPCK", "a Musepack"), (b"MP+", "a Musepack"), (b"TTA1", "a True Audio"), (b"#!AMR", "an AMR"),
        (bytes.fromhex("3026b2758e66cf11"), "a WMA"), (b"<svg>", "an SVG"), (b"\xef\xbb\xbf <!-- x --><svg>", "an SVG"),
        (b"<!DOCTYPE svg><svg>", "an SVG"), (b"<?xml?><html>", "a file of an unknown"), (b"<html>", "a file of an unknown"),
        (b"\xff\xfb\x90\0", "an MP3"), (b"\xff\xe3\x48\xc4", "an MP3"), (b"ID3\4\0\0\0\0\0\1xfLaC", "a FLAC"),
        (b"ID3\4\0\0\0\0\0\1x\xff\xfb\x90\0", "an MP3"), (bytes.fromhex("fff1508007fffc") + bytes(60), "an AAC"),
        (b"\xff", "a file of an unknown"), (b"\xff\x10ab", "a file of an unknown"), (b"x\xfbab", "a file of an unknown"),
        (b"", "a file"),
    ],
)  # fmt: skip
def test_formats_by_their_first_bytes(start: bytes, name: str) -> None:
    container = container_of(start)
    assert container.name.startswith(name)
    assert container.fix.startswith(("convert it to", "open it"))
