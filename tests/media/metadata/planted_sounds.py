"""Sounds and films with a secret in every place their format has for it, one file per place."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable

import numpy as np
import soundfile
from tests.media.metadata.planted_pictures import SECRET, TEXT, WIDE, box

from heartfelt.media.metadata.ogg import checksum

RATE = 8000


def sound() -> np.ndarray:
    """A quarter of a second of a tone."""
    return 0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE // 4) / RATE)


def saved(kind: str, subtype: str | None = "PCM_16", **facts: str) -> bytes:
    """A sound as libsndfile writes it, with such strings."""
    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", RATE, 1, subtype=subtype, format=kind) as file:
        for name, value in facts.items():
            setattr(file, name, value)
        file.write(sound())
    return out.getvalue()


# --- WAV, AIFF and others made of chunks -------------------------------------------------------------------------------


def chunk(kind: bytes, content: bytes, order: str = "<") -> bytes:
    """A chunk of a WAV or AIFF."""
    return struct.pack(f"{order}4sI", kind, len(content)) + content + bytes(len(content) % 2)


def _resized(content: bytes, order: str = "<") -> bytes:
    return content[:4] + struct.pack(f"{order}I", len(content) - 8) + content[8:]


def _wav(*before: bytes, after: bytes = b"") -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("WAV")
        return _resized(plain[:12] + b"".join(before) + plain[12:] + after)

    return build


def _wav_format(coding: str, size: int) -> Callable[[], bytes]:
    """A format that is longer than its coding needs."""

    def build() -> bytes:
        plain = saved(*coding.split())
        (old,) = struct.unpack_from("<I", plain, 16)
        content = plain[20 : 20 + old][:size].ljust(size, b"\0") + TEXT + b"\0"
        return _resized(plain[:12] + chunk(b"fmt ", content) + plain[20 + old :])

    return build


def _wav_streamed() -> bytes:
    plain = saved("WAV")
    head = plain[:4] + b"\xff" * 4 + plain[8:12] + chunk(b"LIST", b"INFOISFT" + TEXT) + plain[12:36]
    return head + b"data" + b"\xff" * 4 + plain[44:]


def rf64() -> bytes:
    """A WAV with sizes of 64 bits, and the secret in the list of sizes and behind the samples."""
    plain = saved("WAV")
    samples = plain[44:]
    sizes = struct.pack("<QQQI", len(plain), len(samples), len(samples) // 2, 1) + TEXT + b"\0"
    head = b"RF64" + b"\xff" * 4 + b"WAVE" + chunk(b"ds64", sizes) + plain[12:36]
    return head + b"data" + b"\xff" * 4 + samples + chunk(b"bext", TEXT)


def _aiff(*chunks: bytes) -> Callable[[], bytes]:
    return lambda: _resized(saved("AIFF") + b"".join(chunks), ">")


def _aiff_gap() -> bytes:
    plain = saved("AIFF")
    at = plain.index(b"SSND")
    content = struct.pack(">II", len(TEXT), 0) + TEXT + plain[at + 16 :]
    return _resized(plain[:at] + chunk(b"SSND", content, ">"), ">")


def aifc() -> bytes:
    """An AIFF-C, which names its compression."""
    plain = saved("AIFF")
    at = plain.index(b"COMM")
    (size,) = struct.unpack_from(">I", plain, at + 4)
    content = plain[at + 8 : at + 8 + 18] + b"NONE" + bytes([len(TEXT)]) + TEXT
    common = chunk(b"COMM", content, ">")
    version = chunk(b"FVER", bytes.fromhex("a2805140"), ">")
    return _resized(b"FORM\0\0\0\0AIFC" + version + common + plain[at + 8 + size :], ">")


def _au() -> bytes:
    plain = saved("AU")
    (begin,) = struct.unpack_from(">I", plain, 4)
    return plain[:4] + struct.pack(">I", begin + 12) + plain[8:begin] + TEXT + b"\0" + plain[begin:] + TEXT


def _caf(kind: bytes) -> Callable[[], bytes]:
    return lambda: saved("CAF") + struct.pack(">4sq", kind, len(TEXT)) + TEXT


def _w64() -> bytes:
    plain = saved("W64")
    note = b"junk" + plain[44:56] + struct.pack("<Q", 24 + len(TEXT)) + TEXT
    return plain[:40] + note + bytes(-len(note) % 8) + plain[40:] + note + TEXT


# --- FLAC --------------------------------------------------------------------------------------------------------------


def flac_block(kind: int, content: bytes) -> bytes:
    """A block of a FLAC that others follow."""
    return bytes([kind]) + len(content).to_bytes(3, "big") + content


def _flac(kind: int, content: bytes = TEXT, tail: bytes = b"", front: bytes = b"") -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("FLAC")
        return front + plain[:42] + flac_block(kind, content) + plain[42:] + tail

    return build


# --- MP3 and AAC -------------------------------------------------------------------------------------------------------


def _synchsafe(size: int) -> bytes:
    return bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127])


def id3(version: int, *, footer: bool = False, text: bytes = TEXT) -> bytes:
    """An ID3 tag of version 2.2, 2.3 or 2.4, with room behind its frame and perhaps a footer."""
    content = b"\0" + text
    if version == 2:
        frame = b"TP1" + len(content).to_bytes(3, "big") + content
    else:
        frame = b"TPE1" + struct.pack(">I", len(content)) + b"\0\0" + content
    room = b"" if footer else bytes(200)
    rest = bytes([version, 0, 0x10 if footer else 0]) + _synchsafe(len(frame) + len(room))
    return b"ID3" + rest + frame + room + (b"3DI" + rest if footer else b"")


def ape(*, header: bool = True) -> bytes:
    """An APE tag, with a header of its own or without."""
    item = struct.pack("<II", len(TEXT), 0) + b"Artist\0" + TEXT
    flags = 0x80000000 if header else 0
    ends = [b"APETAGEX" + struct.pack("<IIII8x", 2000, len(item) + 32, 1, flags | bit) for bit in (0x20000000, 0)]
    return (ends[0] if header else b"") + item + ends[1]


def _lyrics() -> bytes:
    content = b"LYRICSBEGININD00002" + b"10" + b"LYR%05d" % len(TEXT) + TEXT
    return content + b"%06d" % len(content) + b"LYRICS200"


_OLD_TAG = b"TAG" + TEXT.ljust(125, b"\0")


def mp3() -> bytes:
    """An MP3 without tags."""
    return saved("MP3", None)


def mp3_frames(content: bytes) -> list[int]:
    """Where the frames of this MP3, all of one kind, begin."""
    return [at for at in range(len(content)) if content[at : at + 2] == content[:2]]


def _mp3_between() -> bytes:
    plain = mp3()
    at = mp3_frames(plain)[4]
    return plain[:at] + id3(4) + plain[at:] + TEXT


def _info_tail() -> bytes:
    """The secret behind the numbers of the frame that describes the others."""
    plain = mp3()
    stop = mp3_frames(plain)[1]
    return plain[: stop - len(TEXT)] + TEXT + plain[stop:]


def _info_encoder() -> bytes:
    plain = mp3()
    return plain.replace(b"LAME3.100", TEXT[:9], 1) + TEXT


# --- Ogg ---------------------------------------------------------------------------------------------------------------


def ogg_page(serial: int, number: int, flags: int, packet: bytes, position: int = 0) -> bytes:
    """A page with one packet."""
    lacing = b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255])
    head = b"OggS\0" + bytes([flags]) + struct.pack("<qIII", position, serial, number, 0) + bytes([len(lacing)])
    page = head + lacing + packet
    return page[:22] + struct.pack("<I", checksum(page)) + page[26:]


def ogg_pages(content: bytes) -> list[tuple[int, int]]:
    """Where the pages of a file begin and end."""
    pages, at = [], 0
    while at < len(content):
        segments = content[at + 26]
        stop = at + 27 + segments + sum(content[at + 27 : at + 27 + segments])
        pages.append((at, stop))
        at = stop
    return pages


def _ogg(subtype: str, between: bytes = b"", tail: bytes = b"") -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("OGG", subtype, title=SECRET, comment=SECRET * 60)
        at = ogg_pages(plain)[1][1]
        return plain[:at] + between + plain[at:] + tail

    return build


def _ogg_first(behind: bytes) -> Callable[[], bytes]:
    """An Opus header with more behind it than its version has."""

    def build() -> bytes:
        plain = saved("OGG", "OPUS")
        start, stop = ogg_pages(plain)[0]
        (serial,) = struct.unpack_from("<I", plain, 14)
        return ogg_page(serial, 0, 2, plain[start + 28 : stop] + behind) + plain[stop:]

    return build


def ogg_flac() -> bytes:
    """FLAC in Ogg: a picture and padding with texts behind the comments."""
    plain = saved("FLAC")
    at, blocks = 4, []
    while True:
        stop = at + 4 + int.from_bytes(plain[at + 1 : at + 4], "big")
        blocks.append(plain[at:stop])
        if plain[at] & 0x80:
            break
        at = stop
    headers = [flac_block(4, struct.pack("<II", 11, 0)[:4] + TEXT + bytes(4)), flac_block(6, TEXT * 60)]
    first = b"\x7fFLAC\1\0" + struct.pack(">H", len(headers) + 1) + b"fLaC" + bytes([0]) + blocks[0][1:]
    last = bytes([0x81]) + len(WIDE).to_bytes(3, "big") + WIDE
    packets = [first, *headers, last]
    pages = [ogg_page(7, number, 2 if number == 0 else 0, packet) for number, packet in enumerate(packets)]
    return b"".join(pages) + ogg_page(7, len(packets), 4, plain[stop:], RATE // 4)


# --- MP4 and MOV -------------------------------------------------------------------------------------------------------

SAMPLES = bytes(range(1, 201))
DATES = (0xDA7E5AFE, 0xDA7E5AFF)


def dated(kind: bytes, version: int, rest: bytes) -> bytes:
    """A box with dates, of four or eight bytes each."""
    return box(kind, bytes([version, 0, 0, 0]) + struct.pack(">QQ" if version else ">II", *DATES) + rest)


def track(handler: bytes, entry: bytes, offset: int, version: int, extra: bytes = b"", reference: bytes = b"") -> bytes:
    """A track of one chunk with two samples of a hundred bytes."""
    table = box(b"stsd", struct.pack(">II", 0, 1) + entry)
    table += box(b"stts", struct.pack(">IIII", 0, 1, 2, 1000)) + box(b"stsc", struct.pack(">5I", 0, 1, 1, 2, 1))
    table += box(b"stsz", struct.pack(">III", 0, 0, 2) + struct.pack(">II", 100, 100))
    table += box(b"co64", struct.pack(">IIQ", 0, 1, offset)) + box(b"zq7t", TEXT)
    reference = reference or box(b"url ", b"\0\0\0\1")
    data = box(b"dinf", box(b"dref", struct.pack(">II", 0, 1) + reference))
    named = box(b"hdlr", bytes(8) + handler + TEXT + b"\0" + TEXT + b"\0")
    media = dated(b"mdhd", version, struct.pack(">IIHH", RATE, 2000, 0x55C4, 0)) + named
    media += box(b"elng", bytes(4) + TEXT) + box(b"minf", box(b"smhd", bytes(8) + TEXT) + data + box(b"stbl", table))
    edits = box(b"edts", box(b"elst", struct.pack(">IIIiI", 0, 1, 2000, 0, 65536)) + box(b"note", TEXT))
    head = dated(b"tkhd", version, struct.pack(">II", 1, 0) + bytes(64))
    return box(b"trak", head + edits + box(b"mdia", media) + extra)


def sound_entry(*parts: bytes, version: int = 0) -> bytes:
    """How sound is coded, with the secret as the vendor."""
    more = bytes({0: 0, 1: 16, 2: 36}[version])
    head = bytes(6) + struct.pack(">HHH4sHHHHI", 1, version, 0, TEXT[:4], 1, 16, 0, 0, RATE << 16)
    return box(b"mp4a", head + more + b"".join(parts))


def film_entry(*parts: bytes) -> bytes:
    """How a film is coded, with the secret as the name of its compressor."""
    head = bytes(6) + struct.pack(">HHH4sIIHH", 1, 0, 0, TEXT[:4], 0, 0, 64, 48)
    head += (
        struct.pack(">IIIH", 0x480000, 0x480000, 0, 1) + bytes([len(TEXT)]) + TEXT.ljust(31, b"\0") + b"\0\x18\xff\xff"
    )
    return box(b"avc1", head + b"".join(parts))


def movie(*tracks: bytes, version: int = 0, extra: bytes = b"", unused: bytes = b"", tail: bytes = b"") -> bytes:
    """A file with its media data first: two hundred bytes that the tracks share, and some that none has."""
    head = dated(b"mvhd", version, struct.pack(">II", 1000, 2000) + bytes(80))
    return (
        box(b"ftyp", b"M4A \0\0\0\0M4A isom") + box(b"mdat", SAMPLES + unused)
        + box(b"moov", head + b"".join(tracks) + extra) + tail
    )  # fmt: skip


OFFSET = len(box(b"ftyp", bytes(16))) + 8


def sounding(**options: bytes) -> bytes:
    """A track of sound."""
    return track(b"soun", sound_entry(box(b"esds", bytes(20))), OFFSET, 0, **options)


FILMS: dict[str, Callable[[], bytes]] = {
    "handler.m4a": lambda: movie(sounding()),
    "wide-dates.m4a": lambda: movie(track(b"soun", sound_entry(), OFFSET, 1), version=1),
    "user-data.m4a": lambda: movie(sounding(extra=box(b"udta", TEXT)), extra=box(b"udta", TEXT) + box(b"meta", TEXT)),
    "boxes.m4a": lambda: movie(sounding(), tail=b"".join(box(k, TEXT) for k in (b"free", b"skip", b"uuid", b"Xtra"))),
    "second.m4a": lambda: movie(sounding()) + box(b"moov", box(b"mvhd", TEXT * 4)) + box(b"emsg", TEXT),
    "behind.m4a": lambda: movie(sounding(), tail=b"Zq7-Mar"),
    "unused.m4a": lambda: movie(sounding(), unused=TEXT),
    "text-track.m4a": lambda: movie(sounding(), track(b"text", box(b"tx3g", TEXT * 2), OFFSET + 200, 0), unused=TEXT * 20),
    "chapters.m4a": lambda: movie(sounding(extra=box(b"tref", box(b"chap", TEXT)))),
    "alias.mov": lambda: movie(sounding(reference=box(b"alis", b"\0\0\0\1" + TEXT * 3))),
    "entry.m4a": lambda: movie(track(b"soun", sound_entry(box(b"zq7e", TEXT)), OFFSET, 0)),
    "entry-1.mov": lambda: movie(track(b"soun", sound_entry(
        box(b"wave", box(b"frma", b"mp4a") + box(b"zq7e", TEXT) + struct.pack(">II", 8, 0)), version=1), OFFSET, 0)),
    "entry-2.mov": lambda: movie(track(b"soun", sound_entry(box(b"chan", bytes(12)), box(b"zq7e", TEXT), version=2), OFFSET, 0)),
    "flac.mp4": lambda: movie(track(b"soun", sound_entry(box(
        b"dfLa", bytes(4) + flac_block(0, bytes(34)) + bytes([0x84, 0, 0, len(TEXT)]) + TEXT)), OFFSET, 0)),
    "compressor.mp4": lambda: movie(track(b"vide", film_entry(
        box(b"avcC", bytes(9)), box(b"colr", b"nclx" + bytes(7) + TEXT), box(b"pasp", bytes(8) + TEXT)), OFFSET, 0)),
}  # fmt: skip
SOUNDS: dict[str, Callable[[], bytes]] = {
    "list.wav": _wav(chunk(b"LIST", b"INFOISFT" + TEXT), chunk(b"bext", TEXT), chunk(b"iXML", WIDE)),
    "behind.wav": _wav(after=chunk(b"id3 ", id3(4)) + chunk(b"LIST", b"adtllabl" + TEXT) + chunk(b"axml", TEXT)),
    "odd.wav": _wav(chunk(b"JUNK", TEXT), after=chunk(b"data", TEXT)),
    "outside.wav": lambda: saved("WAV") + TEXT,
    "format.wav": _wav_format("WAV PCM_16", 18),
    "extensible.wav": _wav_format("WAVEX PCM_16", 40),
    "fact.wav": _wav(chunk(b"fact", struct.pack("<I", RATE // 4) + TEXT)),
    "streamed.wav": _wav_streamed,
    "large.wav": rf64,
    "texts.aiff": _aiff(*(chunk(kind, TEXT, ">") for kind in (b"NAME", b"AUTH", b"(c) ", b"ANNO", b"COMT", b"APPL", b"ID3 "))),
    "second.aiff": _aiff(chunk(b"SSND", bytes(8) + TEXT, ">")),
    "gap.aiff": _aiff_gap,
    "compression.aifc": aifc,
    "annotation.au": _au,
    "info.caf": _caf(b"info"),
    "second.caf": _caf(b"data"),
    "unused.caf": _caf(b"free"),
    "note.w64": _w64,
    "comments.flac": lambda: saved("FLAC", title=SECRET, comment=SECRET),
    "application.flac": _flac(2, b"zq7m" + TEXT),
    "padding.flac": _flac(1),
    "cuesheet.flac": _flac(5),
    "picture.flac": _flac(6, TEXT * 900),
    "seek-points.flac": _flac(3),
    "description.flac": _flac(0, bytes(34) + TEXT),
    "tags.flac": _flac(2, tail=_OLD_TAG, front=id3(4)),
    "behind.flac": _flac(2, tail=TEXT),
    "v22.mp3": lambda: id3(2) + mp3(),
    "v23.mp3": lambda: id3(3, text=WIDE) + mp3(),
    "v24.mp3": lambda: id3(4, footer=True) + mp3(),
    "two.mp3": lambda: id3(4) + ape() + mp3(),
    "appended.mp3": lambda: mp3() + id3(4, footer=True),
    "ape.mp3": lambda: mp3() + ape(),
    "ape-1.mp3": lambda: mp3() + ape(header=False) + _OLD_TAG,
    "lyrics.mp3": lambda: mp3() + _lyrics() + _OLD_TAG,
    "enhanced.mp3": lambda: mp3() + b"TAG+" + TEXT.ljust(223, b"\0") + _OLD_TAG,
    "between.mp3": _mp3_between,
    "behind.mp3": lambda: mp3() + TEXT,
    "before.mp3": lambda: id3(4) + TEXT + mp3(),
    "info.mp3": _info_tail,
    "encoder.mp3": _info_encoder,
    "comments.ogg": _ogg("VORBIS"),
    "comments.opus": _ogg("OPUS"),
    "between.ogg": _ogg("VORBIS", TEXT, TEXT),
    "damaged-page.ogg": _ogg("VORBIS", ogg_page(0, 9, 0, TEXT)[:-1] + b"x"),
    "stranger.ogg": _ogg("VORBIS", ogg_page(99, 0, 0, TEXT)),
    "skeleton.ogg": _ogg("VORBIS", ogg_page(99, 0, 2, b"fishead\0" + TEXT) + ogg_page(99, 1, 4, b"fisbone\0" + TEXT)),
}  # fmt: skip
UNPLAYABLE: dict[str, Callable[[], bytes]] = {"header.opus": _ogg_first(TEXT), "flac.oga": ogg_flac}
"""What libsndfile does not read."""
PLAIN: dict[str, Callable[[], bytes]] = {
    ".wav": lambda: saved("WAV"),
    ".aiff": lambda: saved("AIFF"),
    ".aifc": lambda: saved("AIFF"),
    ".au": lambda: saved("AU"),
    ".caf": lambda: saved("CAF"),
    ".w64": lambda: saved("W64"),
    ".flac": lambda: saved("FLAC"),
    ".mp3": mp3,
    ".ogg": lambda: saved("OGG", "VORBIS"),
    ".opus": lambda: saved("OGG", "OPUS"),
}
"""The same sound without any secret."""
