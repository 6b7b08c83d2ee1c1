"""Images as they should not be, and what is said about those that cannot be read."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from heartfelt.predictors.networks.fixed_inputs import picture

REFUSED = {
    "text.png": "no known image format",
    "empty.png": "no known image format",
    "cut off.jpg": "truncated",
    "20000 x 20000.png": "more than 89,478,485 pixels",
    "16-bit grey.png": "single numbers",
}
READ = (
    "animated.gif",
    "cmyk.jpg",
    "16-bit colour.tif",
    "transparent.png",
    "rotated.jpg",
    "1 x 1.png",
    "1 x 3000.png",
    "palette.png",
    "wrong suffix.png",
)
HOSTILE = (*REFUSED, *READ)


def write_hostile(name: str, folder: Path) -> tuple[Path, str | None]:
    """The file, and part of the problem it has; None for what can be read."""
    path, photo = folder / name, Image.fromarray(picture(48, 64))
    match name:
        case "text.png":
            path.write_text("this is no image", encoding="utf-8")
        case "empty.png":
            path.touch()
        case "cut off.jpg":
            memory = io.BytesIO()
            photo.save(memory, "JPEG")
            path.write_bytes(memory.getvalue()[:-300])
        case "20000 x 20000.png":
            memory = io.BytesIO()
            Image.new("1", (20_000, 20_000)).save(memory, "PNG")
            path.write_bytes(memory.getvalue())
        case "16-bit grey.png":
            Image.fromarray(np.arange(64 * 48, dtype=np.uint16).reshape(48, 64) * 20).save(path)
        case "animated.gif":
            photo.save(path, save_all=True, append_images=[photo.rotate(90), photo.rotate(180)])
        case "cmyk.jpg":
            photo.convert("CMYK").save(path)
        case "16-bit colour.tif":
            _write_16_bit_tiff(path)
        case "transparent.png":
            photo.putalpha(Image.linear_gradient("L").resize(photo.size))
            photo.save(path)
        case "rotated.jpg":
            exif = Image.Exif()
            exif[0x0112] = 6
            photo.save(path, exif=exif)
        case "1 x 1.png" | "1 x 3000.png":
            photo.resize((1, 1 if name == "1 x 1.png" else 3000)).save(path)
        case "palette.png":
            photo.quantize(16).save(path)
        case "wrong suffix.png":
            photo.save(path, "JPEG")
    return path, REFUSED.get(name)


def _write_16_bit_tiff(path: Path) -> None:
    """RGB with 16 bits a channel, which Pillow reads and does not write: an uncompressed TIFF of one strip."""
    pixels = (picture(4, 6).astype("<u2") * 257).tobytes()
    entries = [
        (256, 3, 1, 6),
        (257, 3, 1, 4),
        (258, 3, 3, 8 + 2 + 12 * 8 + 4),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, 8 + 2 + 12 * 8 + 4 + 6),
        (277, 3, 1, 3),
        (279, 4, 1, len(pixels)),
    ]
    out = b"II*\0" + (8).to_bytes(4, "little") + len(entries).to_bytes(2, "little")
    for tag, kind, count, value in entries:
        out += tag.to_bytes(2, "little") + kind.to_bytes(2, "little") + count.to_bytes(4, "little")
        out += value.to_bytes(4, "little")
    path.write_bytes(out + bytes(4) + b"\x10\0" * 3 + pixels)
