"""Media files that name what made them, in every place their format has for it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image, PngImagePlugin

MARK = "Quillbox"
"""The system no rater may learn of."""
RATE = 8000


def sound() -> np.ndarray:
    """A quarter of a second of a tone."""
    return 0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE // 4) / RATE)


def picture() -> Image.Image:
    """A picture whose turns and colours can be told apart."""
    across = np.linspace(0, 255, 48, dtype=np.uint8)
    red = np.tile(across, (32, 1))
    return Image.fromarray(np.dstack([red, red[:, ::-1], np.full_like(red, 90)]))


def exif(orientation: int = 6) -> Image.Exif:
    """EXIF with a turn, and the mark in three places."""
    made = Image.Exif()
    made[0x0112] = orientation
    made[0x010F] = made[0x0110] = made[0x0131] = MARK
    return made


def png(path: Path) -> None:
    """Text chunks of all three kinds, EXIF, a private chunk, bytes after the end."""
    info = PngImagePlugin.PngInfo()
    info.add_text("Software", MARK)
    info.add_itxt("parameters", f"made with {MARK}")
    info.add_text("prompt", f"{MARK} " * 9, zip=False)
    info.add(b"caBX", MARK.encode())
    picture().save(path, pnginfo=info, exif=exif())
    path.write_bytes(path.read_bytes() + MARK.encode())


def jpeg(path: Path) -> None:
    """EXIF, XMP, a comment, Photoshop's block, bytes after the end."""
    picture().save(path, quality=90, exif=exif(), comment=MARK.encode(), xmp=f"<x>{MARK}</x>".encode())
    content = path.read_bytes()
    block = b"Photoshop 3.0\0" + MARK.encode()
    extra = b"\xff\xed" + struct.pack(">H", len(block) + 2) + block
    path.write_bytes(content[:2] + extra + content[2:] + MARK.encode())


def progressive(path: Path) -> None:
    """Several scans."""
    picture().save(path, quality=90, progressive=True, exif=exif(), comment=MARK.encode())


def webp(path: Path) -> None:
    """EXIF, XMP and a chunk nobody knows."""
    picture().save(path, lossless=True, exif=exif(), xmp=f"<x>{MARK}</x>".encode())
    content = path.read_bytes() + b"NOTE" + struct.pack("<I", len(MARK)) + MARK.encode()
    path.write_bytes(content[:4] + struct.pack("<I", len(content) - 8) + content[8:])


def gif(path: Path) -> None:
    """A comment, another application's block, two frames."""
    frames = [picture().convert("P"), picture().rotate(180).convert("P")]
    frames[0].save(path, save_all=True, append_images=frames[1:], comment=MARK.encode(), loop=0, duration=40)
    content = path.read_bytes()
    block = b"\x21\xff\x0b" + b"XMP DataXMP" + bytes([len(MARK)]) + MARK.encode() + b"\0"
    path.write_bytes(content[:-1] + block + content[-1:] + MARK.encode())


def tagged_sound(kind: str, subtype: str | None = None) -> Callable[[Path], None]:
    """Whatever strings libsndfile can write into a format."""

    def write(path: Path) -> None:
        with soundfile.SoundFile(path, "w", RATE, 1, subtype=subtype, format=kind) as file:
            for name in ("title", "artist", "comment", "software", "album"):
                try:
                    setattr(file, name, f"{MARK} {name}")
                except (soundfile.LibsndfileError, AttributeError):
                    continue
            file.write(sound())

    return write


def wav(path: Path) -> None:
    """LIST/INFO, bext, iXML, id3 and an unknown chunk, before and after the samples."""
    tagged_sound("WAV", "PCM_16")(path)
    content = path.read_bytes()
    before = b"".join(_chunk(kind, MARK) for kind in (b"bext", b"iXML"))
    content = content[:12] + before + content[12:] + _chunk(b"id3 ", MARK) + _chunk(b"zzzz", MARK)
    path.write_bytes(content[:4] + struct.pack("<I", len(content) - 8) + content[8:])


def _chunk(kind: bytes, text: str) -> bytes:
    content = text.encode() + b"\0" * (len(text) % 2)
    return kind + struct.pack("<I", len(content)) + content


def mp3(path: Path) -> None:
    """ID3v2 before, APE, Lyrics3 and ID3v1 after."""
    soundfile.write(path, sound(), RATE, format="MP3")
    text = b"\0" + MARK.encode()
    frame = b"TPE1" + struct.pack(">I", len(text)) + b"\0\0" + text
    front = b"ID3\x03\0\0" + bytes([0, 0, 0, len(frame) + 8]) + frame + b"\0" * 8
    value = MARK.encode()
    item = struct.pack("<II", len(value), 0) + b"Artist\0" + value
    head = b"APETAGEX" + struct.pack("<IIII8x", 2000, len(item) + 32, 1, 0xA0000000)
    foot = b"APETAGEX" + struct.pack("<IIII8x", 2000, len(item) + 32, 1, 0x80000000)
    lyrics = b"LYRICSBEGIN" + b"LYR" + b"%05d" % len(value) + value
    tail = lyrics + b"%06d" % len(lyrics) + b"LYRICS200"
    old = b"TAG" + value.ljust(30, b"\0") + bytes(95)
    path.write_bytes(front + path.read_bytes() + head + item + foot + tail + old)


def flac(path: Path) -> None:
    """Comments, an application block and an ID3 tag in front."""
    tagged_sound("FLAC", "PCM_16")(path)
    content = path.read_bytes()
    block = b"test" + MARK.encode()
    first = 4 + 4 + int.from_bytes(content[5:8], "big")
    application = bytes([2]) + len(block).to_bytes(3, "big") + block
    front = b"ID3\x03\0\0" + bytes([0, 0, 0, len(MARK)]) + MARK.encode()
    path.write_bytes(front + content[:first] + application + content[first:])


def long_comments(path: Path) -> None:
    """Ogg comments that reach over several pages."""
    with soundfile.SoundFile(path, "w", RATE, 1, subtype="VORBIS", format="OGG") as file:
        file.title = f"{MARK} " * 12_000
        file.write(sound())


def au(path: Path) -> None:
    """An annotation between header and samples."""
    soundfile.write(path, sound(), RATE, format="AU", subtype="PCM_16")
    content = path.read_bytes()
    (begin,) = struct.unpack_from(">I", content, 4)
    path.write_bytes(
        content[:4] + struct.pack(">I", begin + 16) + content[8:begin] + MARK.encode().ljust(16) + content[begin:]
    )


def w64(path: Path) -> None:
    """A list chunk before the samples."""
    soundfile.write(path, sound(), RATE, format="W64", subtype="PCM_16")
    content = path.read_bytes()
    note = b"junk" + content[44:56] + struct.pack("<Q", 24 + len(MARK)) + MARK.encode()
    content = content[:40] + note + bytes(-len(note) % 8) + content[40:]
    path.write_bytes(content[:16] + struct.pack("<Q", len(content)) + content[24:])


def m4a(path: Path) -> None:
    """Boxes as an M4A has them: handler names, dates, user data with tags, free space. No codec is described in it."""

    def box(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I4s", len(content) + 8, kind) + content

    handler = box(b"hdlr", bytes(8) + b"soun" + bytes(12) + MARK.encode() + b"\0")
    dated = struct.pack(">IIIII", 0, 0xDA7E0001, 0xDA7E0002, RATE, 2000)
    sample = bytes(range(64))
    begin = len(box(b"ftyp", bytes(12))) + len(box(b"free", MARK.encode())) + 8
    table = box(b"stsz", struct.pack(">4xII", len(sample), 1)) + box(b"stsc", struct.pack(">4x4I", 1, 1, 1, 1))
    table += box(b"stco", struct.pack(">4xII", 1, begin))
    media = box(b"mdia", box(b"mdhd", dated) + handler + box(b"minf", box(b"stbl", table)))
    tags = box(b"udta", box(b"meta", bytes(4) + box(b"ilst", box(b"\xa9nam", MARK.encode()))))
    movie = box(b"moov", box(b"mvhd", dated) + box(b"trak", media + tags) + tags)
    path.write_bytes(
        box(b"ftyp", b"M4A \0\0\0\0M4A ")
        + box(b"free", MARK.encode())
        + box(b"mdat", sample + MARK.encode())
        + movie
        + box(b"uuid", MARK.encode() * 2)
    )


PICTURES = {"png": png, "jpg": jpeg, "jpeg": progressive, "webp": webp, "gif": gif}
SOUNDS: dict[str, Callable[[Path], None]] = {
    "wav": wav,
    "mp3": mp3,
    "flac": flac,
    "ogg": tagged_sound("OGG", "VORBIS"),
    "oga": long_comments,
    "opus": tagged_sound("OGG", "OPUS"),
    "aiff": tagged_sound("AIFF", "PCM_16"),
    "caf": tagged_sound("CAF", "PCM_16"),
    "w64": w64,
    "au": au,
}
