"""Pictures with a secret in every place their format has for it, one file per place."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageCms, PngImagePlugin

SECRET = "Zq7-Marlowe"
"""What nobody may find in a published file."""
TEXT = SECRET.encode()
WIDE = SECRET.encode("utf-16-be")


def picture(mode: str = "RGB") -> Image.Image:
    """A picture of a width that no row fills."""
    across = np.linspace(0, 255, 37, dtype=np.uint8)
    red = np.tile(across, (19, 1))
    return Image.fromarray(np.dstack([red, red[:, ::-1], np.full_like(red, 90)])).convert(mode)


def profile(version: int = 4) -> bytes:
    """sRGB with the secret as description, copyright, maker, in a private tag and behind a curve."""
    clean = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    (count,) = struct.unpack_from(">I", clean, 128)
    tags = {}
    for row in range(count):
        signature, start, size = struct.unpack_from(">4sII", clean, 132 + 12 * row)
        tags[signature] = clean[start : start + size]
    if version == 4:
        text = b"mluc" + struct.pack(">4xII2s2sII", 1, 12, b"en", b"US", len(WIDE), 28) + WIDE
        tags |= {b"desc": text, b"cprt": text}
    else:
        tags[b"desc"] = b"desc" + struct.pack(">4xI", len(TEXT) + 1) + TEXT + bytes(80)
        tags[b"cprt"] = b"text" + bytes(4) + TEXT + b"\0"
    tags |= {b"dmnd": b"text" + bytes(4) + TEXT + b"\0", b"Zq7M": TEXT, b"rTRC": tags[b"rTRC"] + TEXT}
    head = bytearray(clean[:128])
    head[8] = version
    head[4:8], head[40:44], head[48:56], head[80:84] = TEXT[:4], TEXT[4:8], TEXT[:8], TEXT[4:8]
    head[100:111] = TEXT
    table, body = struct.pack(">I", len(tags)), b""
    for signature, content in tags.items():
        table += struct.pack(">4sII", signature, 132 + 12 * len(tags) + len(body), len(content))
        body += content + bytes(-len(content) % 4)
    head[:4] = struct.pack(">I", 128 + len(table) + len(body))
    return bytes(head) + table + body


def exif() -> bytes:
    """An orientation, and the secret as maker and in the maker's own note."""
    block = Image.Exif()
    block[0x0112] = 6
    block[0x010F] = SECRET
    block.get_ifd(0x8769)[0x927C] = WIDE
    return block.tobytes()


def saved(kind: str, image: Image.Image | None = None, **options: Any) -> bytes:
    """A picture as Pillow writes it."""
    out = io.BytesIO()
    (image or picture()).save(out, kind, **options)
    return out.getvalue()


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG with its checksum."""
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def _png(kind: bytes, content: bytes, place: int = 33) -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("PNG")
        at = place if place >= 0 else len(plain) - 12
        return plain[:at] + png_chunk(kind, content) + plain[at:]

    return build


def _png_text() -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Software", SECRET)
    info.add_itxt("prompt", SECRET, zip=True)
    info.add_text("Comment", SECRET, zip=True)
    return saved("PNG", pnginfo=info, exif=exif())


def _frames() -> dict[str, Any]:
    return {"save_all": True, "append_images": [picture().rotate(180)], "duration": 40, "loop": 0}


def segment(marker: int, content: bytes) -> bytes:
    """A segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def _jpeg(*segments: bytes, tail: bytes = b"") -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("JPEG", quality=90)
        return plain[:20] + b"".join(segments) + plain[20:] + tail

    return build


def _jpeg_thumbnail() -> bytes:
    plain = saved("JPEG")
    content = plain[6:18] + bytes([1, 5]) + (TEXT + bytes(4))[:15]
    return plain[:2] + segment(0xE0, content) + plain[20:]


def _jpeg_restarts() -> bytes:
    return saved("JPEG", restart_marker_blocks=1, comment=TEXT, icc_profile=profile(2))


def _jpeg_profile_parts() -> bytes:
    content = profile()
    halves = (content[:200], content[200:])
    parts = [segment(0xE2, b"ICC_PROFILE\0" + bytes([n + 1, 2]) + halves[n]) for n in (1, 0)]
    return _jpeg(*parts)()


def _gif(*blocks: bytes, tail: bytes = b"") -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("GIF", picture().convert("P"), **_frames())
        return plain[:-1] + b"".join(blocks) + plain[-1:] + tail

    return build


_SUB = bytes([len(TEXT)]) + TEXT


def _gif_loop() -> bytes:
    plain = saved("GIF", picture().convert("P"), **_frames())
    at = plain.index(b"NETSCAPE2.0") + 15
    return plain[:at] + _SUB + plain[at:]


def _gif_timing() -> bytes:
    plain = saved("GIF", picture().convert("P"), **_frames())
    at = plain.index(b"\x21\xf9\x04") + 7
    return plain[:at] + _SUB + plain[at:]


def _resized(content: bytes) -> bytes:
    return content[:4] + struct.pack("<I", len(content) - 8) + content[8:]


def webp_chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a WebP."""
    return struct.pack("<4sI", kind, len(content)) + content + bytes(len(content) % 2)


def _webp(tail: bytes) -> Callable[[], bytes]:
    return lambda: _resized(saved("WEBP", lossless=True, exif=exif()) + tail)


def _webp_frame() -> bytes:
    plain = saved("WEBP", lossless=True, **_frames())
    at = plain.index(b"ANMF")
    (size,) = struct.unpack_from("<I", plain, at + 4)
    extra = webp_chunk(b"NOTE", TEXT)
    frame = struct.pack("<4sI", b"ANMF", size + len(extra)) + plain[at + 8 : at + 8 + size] + extra
    return _resized(plain[:at] + frame + plain[at + 8 + size :])


def bmp_v5(kind: bytes, content: bytes) -> bytes:
    """A BMP with the longest header and a profile, or the name of one, behind the pixels."""
    plain = saved("BMP")
    pixels = plain[54:]
    head = struct.pack("<I", 124) + plain[18:54] + bytes(16) + kind + TEXT.ljust(48) + bytes(4)
    head += struct.pack("<III", 124 + len(pixels), len(content), 0)
    total = 14 + 124 + len(pixels) + len(content)
    return b"BM" + struct.pack("<I4xI", total, 138) + head + pixels + content


def _bmp_gap() -> bytes:
    plain = bytearray(saved("BMP"))
    plain[6:10] = TEXT[:4]
    plain[10:14] = struct.pack("<I", 54 + len(TEXT))
    return bytes(plain[:54]) + TEXT + bytes(plain[54:])


def _bmp_rows() -> bytes:
    plain = bytearray(saved("BMP"))
    for row in range(19):  # 37 pixels are 111 bytes of 112
        plain[54 + 112 * row + 111] = TEXT[row % len(TEXT)]
    return bytes(plain) + TEXT


def _bmp_palette() -> bytes:
    plain = bytearray(saved("BMP", picture("P")))
    for row in range(256):
        plain[54 + 4 * row + 3] = TEXT[row % len(TEXT)]
    return bytes(plain) + TEXT


def tiff(**options: Any) -> bytes:
    """A TIFF with texts in tags that are for texts, and in ones that are nobody's."""
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    tags = ImageFileDirectory_v2()
    for tag in (269, 270, 271, 285, 305, 306, 315, 33432, 65000):
        tags[tag] = SECRET
    for tag in (700, 33723, 34377, 65001):
        tags.tagtype[tag] = 7
        tags[tag] = WIDE
    tags[274] = 6
    image = options.pop("image", None)
    return saved("TIFF", image, tiffinfo=tags, icc_profile=profile(2), **options) + TEXT


def _tiff_pages() -> bytes:
    return tiff(save_all=True, append_images=[picture().rotate(180)])


def box(kind: bytes, content: bytes) -> bytes:
    """A box of an AVIF or MP4."""
    return struct.pack(">I4s", len(content) + 8, kind) + content


def _avif(*boxes: bytes, tail: bytes = b"") -> Callable[[], bytes]:
    def build() -> bytes:
        plain = saved("AVIF", exif=exif(), xmp=f"<x>{SECRET}</x>".encode(), icc_profile=profile())
        return plain + b"".join(boxes) + tail

    return build


def _avif_film() -> bytes:
    # Pillow crashes on EXIF in a film.
    return saved("AVIF", xmp=f"<x>{SECRET}</x>".encode(), **_frames()) + box(b"uuid", TEXT * 2)


PICTURES: dict[str, Callable[[], bytes]] = {
    "texts.png": _png_text,
    "profile.png": lambda: saved("PNG", icc_profile=profile()),
    "old-profile.png": lambda: saved("PNG", icc_profile=profile(2)),
    "profile-name.png": _png(b"iCCP", TEXT + b"\0\0" + zlib.compress(profile()) + TEXT),
    "broken-profile.png": _png(b"iCCP", b"x\0\0" + TEXT),
    "private.png": _png(b"caBX", WIDE),
    "private-behind.png": _png(b"zqRt", TEXT, -1),
    "palette-name.png": _png(b"sPLT", TEXT + b"\0\x08"),
    "long-gamma.png": _png(b"gAMA", bytes(4) + TEXT),
    "long-density.png": _png(b"pHYs", TEXT, -1),
    "long-end.png": lambda: saved("PNG")[:-12] + png_chunk(b"IEND", TEXT),
    "behind.png": lambda: saved("PNG") + TEXT,
    "moving.png": lambda: saved("PNG", **_frames()) + png_chunk(b"tEXt", b"Author\0" + TEXT),
    "comment.jpg": _jpeg(segment(0xFE, TEXT), segment(0xFE, WIDE)),
    "exif.jpg": lambda: saved("JPEG", exif=exif(), xmp=TEXT),
    "profile.jpg": lambda: saved("JPEG", icc_profile=profile()),
    "profile-parts.jpg": _jpeg_profile_parts,
    "no-profile.jpg": _jpeg(segment(0xE2, b"ICC_PROFILE\0\1\1" + TEXT)),
    "applications.jpg": _jpeg(*(segment(marker, TEXT) for marker in range(0xE0, 0xF0))),
    "more-pictures.jpg": lambda: saved("MPO", comment=TEXT, **_frames()),
    "extension.jpg": _jpeg(segment(0xE0, b"JFXX\0\x10" + TEXT)),
    "thumbnail.jpg": _jpeg_thumbnail,
    "adobe.jpg": lambda: saved("JPEG", picture("CMYK"))[:2] + segment(0xEE, b"Adobe\0d\0\0\0\0\0" + TEXT)
    + saved("JPEG", picture("CMYK"))[2:],
    "behind.jpg": _jpeg(tail=TEXT),
    "restarts.jpg": _jpeg_restarts,
    "comment.gif": _gif(b"\x21\xfe" + _SUB + b"\0"),
    "application.gif": _gif(b"\x21\xff\x0bXMP DataXMP" + _SUB + b"\0"),
    "text.gif": _gif(b"\x21\x01\x0c" + bytes(12) + _SUB + b"\0"),
    "loop.gif": _gif_loop,
    "timing.gif": _gif_timing,
    "behind.gif": _gif(tail=TEXT),
    "exif.webp": lambda: saved("WEBP", lossless=True, exif=exif(), xmp=TEXT, icc_profile=profile()),
    "unknown.webp": _webp(webp_chunk(b"NOTE", TEXT)),
    "two.webp": _webp(webp_chunk(b"EXIF", exif()) + webp_chunk(b"XMP ", WIDE)),
    "behind.webp": lambda: saved("WEBP", quality=80) + TEXT,
    "frame.webp": _webp_frame,
    "behind.bmp": lambda: saved("BMP") + TEXT,
    "gap.bmp": _bmp_gap,
    "rows.bmp": _bmp_rows,
    "palette.bmp": _bmp_palette,
    "grey.bmp": lambda: saved("BMP", picture("1")) + TEXT,
    "linked.bmp": lambda: bmp_v5(b"KNIL", b"C:\\Users\\" + TEXT + b"\0"),
    "profile.bmp": lambda: bmp_v5(b"DEBM", profile()),
    "texts.tif": tiff,
    "packed.tiff": lambda: tiff(compression="tiff_lzw"),
    "deflated.tiff": lambda: tiff(compression="tiff_adobe_deflate"),
    "fax.tiff": lambda: tiff(image=picture("1"), compression="group4"),
    "colours.tiff": lambda: tiff(image=picture("P")),
    "pages.tiff": _tiff_pages,
    "texts.avif": _avif(),
    "boxes.avif": _avif(box(b"free", TEXT), box(b"skip", WIDE), box(b"uuid", TEXT * 2), box(b"zq7 ", TEXT)),
    "behind.avif": _avif(tail=TEXT[:7]),
    "moving.avif": _avif_film,
}  # fmt: skip
