"""Which format a file has, by its first bytes, how it is cleaned, and what to do where it cannot be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from heartfelt.media.metadata import audio, bitmaps, films, frames, images, ogg
from heartfelt.media.metadata.pieces import Piece

Cleaner: TypeAlias = Callable[[bytes], Iterator[Piece]]
_SAVE_AGAIN = "open it and save it again"
_TO_PNG, _TO_WAV, _TO_MP4 = "convert it to PNG", "convert it to WAV or FLAC", "convert it to MP4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A format: its name with an article, what cleans it (None if nothing does), and what the author can do instead."""

    name: str
    cleaner: Cleaner | None
    fix: str


def _cleaned(name: str, cleaner: Cleaner, fix: str = _SAVE_AGAIN) -> Container:
    return Container(name=name, cleaner=cleaner, fix=fix)


def _refused(name: str, fix: str) -> Container:
    return Container(name=name, cleaner=None, fix=fix)


_BOXED_PICTURE = _cleaned("an AVIF or HEIC picture", films.mp4, _TO_PNG)
_FILM = _cleaned("an MP4, M4A or MOV file", films.mp4)
_TIFF = _cleaned("a TIFF picture", bitmaps.tiff, _TO_PNG)
_MP3, _AAC = _cleaned("an MP3 file", frames.mp3), _cleaned("an AAC file", frames.aac)
_FLAC = _cleaned("a FLAC file", audio.flac)
_UNKNOWN = _refused("a file of an unknown format", "convert it to PNG, WAV or FLAC")
_SVG = _refused("an SVG drawing", _TO_PNG)
_STARTS: tuple[tuple[int, bytes, Container], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", _cleaned("a PNG picture", images.png)),
    (0, b"\xff\xd8\xff", _cleaned("a JPEG picture", images.jpeg, _TO_PNG)),
    (0, b"GIF8", _cleaned("a GIF picture", images.gif)),
    (8, b"WEBP", _cleaned("a WebP picture", images.webp)),
    (0, b"BM", _cleaned("a BMP picture", bitmaps.bmp, _TO_PNG)),
    (0, b"II*\0", _TIFF),
    (0, b"MM\0*", _TIFF),
    (8, b"WAVE", _cleaned("a WAV file", audio.wav)),
    (8, b"AIF", _cleaned("an AIFF file", audio.aiff)),
    (0, b"OggS", _cleaned("an Ogg file", ogg.ogg)),
    (0, b"fLaC", _FLAC),
    (0, b".snd", _cleaned("an AU file", audio.au)),
    (0, b"caff", _cleaned("a CAF file", audio.caf)),
    (0, b"riff", _cleaned("a Wave64 file", audio.wave64)),
    *((4, kind, _FILM) for kind in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")),
    (0, b"II+\0", _refused("a BigTIFF picture", _TO_PNG)),
    (0, b"MM\0+", _refused("a BigTIFF picture", _TO_PNG)),
    (0, b"8BPS", _refused("a Photoshop picture", _TO_PNG)),
    (0, b"\xff\x0a", _refused("a JPEG XL picture", _TO_PNG)),
    (4, b"JXL ", _refused("a JPEG XL picture", _TO_PNG)),
    (4, b"jP  ", _refused("a JPEG 2000 picture", _TO_PNG)),
    (0, b"\xff\x4f\xff\x51", _refused("a JPEG 2000 picture", _TO_PNG)),
    (0, b"%PDF", _refused("a PDF file", _TO_PNG)),
    (0, b"\x1a\x45\xdf\xa3", _refused("a WebM or Matroska file", f"{_TO_MP4}, or {_TO_WAV[11:]} if it is sound")),
    (8, b"AVI ", _refused("an AVI file", _TO_MP4)),
    (0, bytes.fromhex("3026b2758e66cf11"), _refused("a WMA or WMV file", f"{_TO_MP4}, WAV or FLAC")),
    (0, b"MThd", _refused("a MIDI file", _TO_WAV)),
    (0, b"wvpk", _refused("a WavPack file", _TO_WAV)),
    (0, b"MAC ", _refused("a Monkey's Audio file", _TO_WAV)),
    (0, b"MPCK", _refused("a Musepack file", _TO_WAV)),
    (0, b"MP+", _refused("a Musepack file", _TO_WAV)),
    (0, b"TTA", _refused("a True Audio file", _TO_WAV)),
    (0, b"#!AMR", _refused("an AMR file", _TO_WAV)),
)  # fmt: skip
_BOXED_BRANDS = frozenset(
    {b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"miaf"}
)
_DRAWING = re.compile(rb"\s*(?:<\?xml|<!--|<!DOCTYPE svg|<svg)", re.IGNORECASE)


def container_of(data: bytes) -> Container:
    """The format of a file that begins so."""
    if data[4:8] == b"ftyp" and data[8:12] in _BOXED_BRANDS:
        return _BOXED_PICTURE
    for at, start, container in _STARTS:
        if data[at : at + len(start)] == start:
            return container
    if _DRAWING.match(data[:200].removeprefix(b"\xef\xbb\xbf")) and b"<svg" in data[:100_000]:
        return _SVG
    return _bare_sound(data)


def _bare_sound(data: bytes) -> Container:
    """The format of sound without a container of its own, behind tags or not."""
    begin = audio.after_tags(data, 0)
    if begin and data[begin : begin + 4] == b"fLaC":
        return _FLAC
    if frames.aac_frame(data, begin):
        return _AAC
    if begin or (data[:1] == b"\xff" and len(data) > 1 and data[1] & 0xE0 == 0xE0):
        return _MP3
    return _UNKNOWN
