"""Files that are damaged or lie about their sizes: cleaning ends, and either gives a file or names what is the matter."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path

import pytest
from tests.cases import check_all
from tests.media.metadata.planted_pictures import PICTURES, SECRET, TEXT, box, picture, png_chunk, saved, segment
from tests.media.metadata.planted_sounds import (
    FILMS,
    OFFSET,
    SOUNDS,
    chunk,
    flac_block,
    movie,
    sound_entry,
    sounding,
    track,
)
from tests.media.metadata.test_planted_pictures import cleaned, holds

from heartfelt.media.metadata import SMALLEST, UnknownMetadataError, has_metadata, padded, read_range, without_metadata

FILES = {**PICTURES, **SOUNDS, **FILMS}


def survives(path: Path, content: bytes) -> bytes | None:
    """What is published of the file, which cleaning again leaves alone; None if it is refused by name."""
    path.write_bytes(content)
    try:
        pieces = without_metadata(path)
    except UnknownMetadataError:
        return None
    sent = read_range(path, pieces, 0, pieces.size)
    assert len(sent) == pieces.size <= len(content) + 4096
    return sent


@pytest.mark.slow
@check_all("name", FILES)
def test_files_cut_off_anywhere(tmp_path: Path, name: str) -> None:
    content, draw = FILES[name](), random.Random(name)
    for stop in {0, 1, 9, 17, *(draw.randrange(len(content)) for _ in range(6))}:
        sent = survives(tmp_path / name, content[:stop])
        if sent:
            again = survives(tmp_path / f"again-{name}", sent)
            assert again in {sent, None}, "cleaning twice is cleaning once"
        assert padded(tmp_path / name, 2 * len(content) + 2 * SMALLEST, b"x").size == 2 * len(content) + 2 * SMALLEST


@pytest.mark.slow
@check_all("name", FILES)
def test_files_with_sizes_that_are_not_true(tmp_path: Path, name: str) -> None:
    content, draw = FILES[name](), random.Random(name)
    for _ in range(12):
        at = draw.randrange(len(content)) if draw.random() < 0.5 else draw.randrange(min(64, len(content)))
        lie = draw.choice(
            [b"\xff\xff\xff\xff", b"\x7f" + b"\xff" * 7, bytes(4), bytes([draw.randrange(256)]), b"\0\0\0\1"]
        )
        survives(tmp_path / name, content[:at] + lie + content[at + len(lie) :])


HUGE = 1 << 63
LIES = {
    "box.mp4": box(b"ftyp", b"isom") + struct.pack(">I4sQ", 1, b"moov", HUGE),
    "table.mp4": movie(track(b"soun", sound_entry(), OFFSET, 0)).replace(
        struct.pack(">III", 0, 2, 100), struct.pack(">III", 0, 0xFFFFFFFF, 100)),
    "chunk.wav": b"RIFF\xff\xff\xff\xffWAVE" + chunk(b"fmt ", bytes(3)) + b"data" + b"\xff" * 4,
    "annotation.au": b".snd" + struct.pack(">IIIII", 0xFFFFFFF0, 8, 3, 8000, 1),
    "block.flac": b"fLaC\0\xff\xff\xff",
    "no-frames.mp3": b"ID3\x04\0\0\0\0\0\x02xy" + TEXT,
    "pages.tiff": b"II*\0" + struct.pack("<IHI", 8, 0, 8),
    "strips.tiff": re.sub(rb"(\x11\x01\x04\0\x01\0\0\0)....", b"\\1\xff\xff\xff\x7f", saved("TIFF"), flags=re.DOTALL),
    "width.bmp": saved("BMP")[:18] + struct.pack("<ii", 1 << 30, 1 << 30) + saved("BMP")[26:],
    "header.bmp": b"BM" + bytes(12) + struct.pack("<I", 64) + bytes(64),
    "no-header.png": b"\x89PNG\r\n\x1a\n" + png_chunk(b"IDAT", b""),
    "no-pixels.webp": b"RIFF\x04\0\0\0WEBP",
    "marker.jpg": b"\xff\xd8\xff\xe0\0\x10" + TEXT * 2,
    "drawing.svg": f"<svg xmlns='http://www.w3.org/2000/svg'><text>{SECRET}</text></svg>".encode(),
    "declared.svg": f"\ufeff<?xml version='1.0'?><!-- {SECRET} --><svg/>".encode(),
    "layers.psd": b"8BPS\0\1" + TEXT,
    "large.tif": b"II+\0\x08\0\0\0" + TEXT,
    "film.webm": b"\x1a\x45\xdf\xa3" + TEXT,
    "film.avi": b"RIFF\0\0\0\0AVI " + TEXT,
    "sound.wma": bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c") + TEXT,
    "score.mid": b"MThd" + TEXT,
    "text.txt": TEXT,
}  # fmt: skip
NAMES = {
    "drawing.svg": "an SVG drawing: convert it to PNG",
    "declared.svg": "an SVG drawing: convert it to PNG",
    "layers.psd": "a Photoshop picture: convert it to PNG",
    "large.tif": "a BigTIFF picture: convert it to PNG",
    "film.webm": "a WebM or Matroska file: convert it to MP4",
    "film.avi": "an AVI file: convert it to MP4",
    "sound.wma": "a WMA or WMV file: convert it to",
    "score.mid": "a MIDI file: convert it to WAV or FLAC",
    "text.txt": "a file of an unknown format: convert it to PNG, WAV or FLAC",
    "pages.tiff": "a TIFF picture (its pages lead back to each other): convert it to PNG",
    "header.bmp": "a BMP picture (a header of an unknown kind): convert it to PNG",
    "box.mp4": "an MP4, M4A or MOV file (a box reaches beyond its place): open it and save it again",
}


@check_all("name", LIES)
def test_what_cannot_be_cleaned_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(LIES[name])
    with pytest.raises(UnknownMetadataError) as refused:
        without_metadata(path)
    assert f"metadata cannot be removed from {NAMES.get(name, 'a')}" in refused.value.reason
    assert has_metadata(path)


CODED = {
    "jpeg.tiff": lambda: saved("TIFF", compression="jpeg"),
    "box.heic": lambda: box(b"ftyp", b"heic") + box(b"meta", bytes(4) + box(b"hdlr", bytes(24))),
    "fragments.mp4": lambda: movie(sounding(), track(b"text", box(b"tx3g", TEXT), OFFSET, 0)) + box(b"moof", b""),
    "elsewhere.mov": lambda: movie(sounding(reference=box(b"url ", bytes(4) + TEXT))),
}


@pytest.mark.parametrize("name", CODED)
def test_content_that_may_hide_metadata_is_refused(tmp_path: Path, name: str) -> None:
    assert survives(tmp_path / name, CODED[name]()) is None


@pytest.mark.parametrize("seed", range(4))
def test_chunks_in_any_order_give_the_same_file(tmp_path: Path, seed: int) -> None:
    """What is removed leaves no trace: the same picture and sound with other metadata have the same hash."""
    draw = random.Random(seed)
    extra = [png_chunk(kind, TEXT) for kind in (b"tEXt", b"zTXt", b"iTXt", b"tIME", b"prVt")]
    draw.shuffle(extra)
    plain = saved("PNG")
    planted = plain[:33] + b"".join(extra[:3]) + plain[33:-12] + b"".join(extra[3:]) + plain[-12:] + TEXT
    assert cleaned(tmp_path / "a.png", planted) == cleaned(tmp_path / "b.png", plain)

    jpeg = saved("JPEG", picture())
    segments = [segment(marker, TEXT) for marker in (0xE1, 0xE2, 0xED, 0xFE, 0xEE)]
    draw.shuffle(segments)
    assert cleaned(tmp_path / "a.jpg", jpeg[:20] + b"".join(segments) + jpeg[20:] + TEXT) == cleaned(
        tmp_path / "b.jpg", jpeg
    )

    sound = SOUNDS["comments.flac"]()
    blocks = [flac_block(kind, TEXT) for kind in (1, 2, 4, 5, 6, 90)]
    draw.shuffle(blocks)
    planted = sound[:42] + b"".join(blocks) + sound[42:]
    assert cleaned(tmp_path / "a.flac", planted) == cleaned(tmp_path / "b.flac", sound)

    wave = SOUNDS["list.wav"]()
    chunks = [chunk(kind, TEXT) for kind in (b"LIST", b"bext", b"JUNK", b"cue ")]
    draw.shuffle(chunks)
    planted = wave[:12] + b"".join(chunks[:2]) + wave[12:] + b"".join(chunks[2:])
    assert cleaned(tmp_path / "a.wav", planted) == cleaned(tmp_path / "b.wav", wave)


def test_a_clean_file_is_left_as_it_is(tmp_path: Path) -> None:
    for name in ("plain.png", "plain.jpg", "plain.gif", "plain.webp", "plain.bmp"):
        kind = {"jpg": "JPEG"}.get(name[-3:], name.partition(".")[2].upper())
        content = saved(kind)
        assert cleaned(tmp_path / name, content) == content
        assert not holds(content)
