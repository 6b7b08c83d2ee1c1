"""Images: decoded to upright RGB for models, and written for raters."""

from __future__ import annotations

import io
import struct
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.files import write_bytes
from heartfelt.media.decoded import open_store

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
_OPENING = threading.Lock()
_SMALL = 32
"""Pixels of the shorter side below which an image shows too little."""
_ONE_COLOUR = 2
"""Steps of 255 by which the pixels of one colour may differ, as in a JPEG."""


@dataclass(frozen=True, slots=True, eq=False)
class PictureFile:
    """A Pillow image whose file is either complete or absent."""

    image: Image
    kind: ClassVar[str] = "image"

    @property
    def width(self) -> int:
        """Pixels across."""
        return int(self.image.width)

    @property
    def height(self) -> int:
        """Pixels down."""
        return int(self.image.height)

    def save(self, path: Path | str) -> Path:
        """Write the image in the format its suffix names."""
        path = Path(path)
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(
                f"Cannot write an image to {path}: '{path.suffix}' is not a format that can be written.",
                suggestion(path.suffix.lower(), SUFFIXES, "Suffixes that can"),
            )
        memory = io.BytesIO()
        self.image.save(memory, format=SUFFIXES[path.suffix.lower()])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, memory.getvalue())
        return path


def decode_image(source: Path | str | bytes, *, name: str | None = None, least: int = 0) -> Image:
    """Decode an image, or its bytes, to RGB: turned as its camera says, transparency on white. Errors call it ``name``.

    With ``least``, a JPEG may be decoded at a half, a quarter or an eighth of its size, which takes less time, as long as both
    sides have at least so many pixels.
    """
    from PIL import Image, UnidentifiedImageError

    name = name or ("The image sent" if isinstance(source, bytes) else str(source))
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise InputError(f"There is no image at {name}.", "Check the path, and that the media were fetched.")
    store = open_store()
    pixels = None if store is None else store.image(source, least)
    if pixels is not None:
        return Image.fromarray(pixels)
    try:
        decoded = _decoded(source, least)
        if store is not None:
            store.keep_image(source, least, np.asarray(decoded))
        return decoded
    except UnidentifiedImageError:
        problem = "its content is in no known image format"
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        problem = f"it has more than {Image.MAX_IMAGE_PIXELS:,} pixels"
    except (OSError, EOFError, SyntaxError, ValueError, struct.error) as error:
        problem = str(error).strip().rstrip(".") or type(error).__name__
    raise InputError(
        f"{name} cannot be read as an image: {problem}.", "Replace it with a complete PNG, JPEG or WebP file."
    )


def _decoded(source: Path | str | bytes, least: int) -> Image:
    from PIL import Image, ImageOps

    # Pillow warns before it refuses; an image of that size is refused outright. What a warning does is decided for the
    # whole process, so headers are read in turn; pixels are decoded by as many threads as ask.
    with _OPENING, warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        opened = Image.open(io.BytesIO(source) if isinstance(source, bytes) else source)
    with opened as image:
        if not image.width * image.height:
            raise ValueError("it has no pixels")
        if least:
            image.draft(None, (least, least))
        ImageOps.exif_transpose(image, in_place=True)
        return _on_white(image)


def image_doubts(source: Path | str | bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Flags for an image that can be decoded but shows nothing, and what to know about it, in words."""
    from PIL import Image

    with _OPENING, Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as image:
        width, height = image.size
        # Cameras add a preview or a second view to a JPEG; of those the first is the picture.
        frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
    flags, words = [], []
    pixels = np.asarray(decode_image(source, least=_SMALL))
    if int(np.ptp(pixels, axis=(0, 1)).max()) <= _ONE_COLOUR:
        flags.append("blank")
        words.append("the image has one colour; its prediction is meaningless")
    if min(width, height) < _SMALL:
        flags.append("too small")
        words.append(f"the image has {width} x {height} pixels, too few to show what people see")
    if frames > 1:
        words.append(f"only the first of {frames} frames or pages was looked at")
    return tuple(flags), tuple(words)


def thumbnail(source: Path | str | bytes, side: int = 128) -> bytes:
    """A JPEG of the image with at most ``side`` pixels on either side."""
    small = decode_image(source)
    small.thumbnail((side, side))
    memory = io.BytesIO()
    small.save(memory, format="JPEG", quality=72)
    return memory.getvalue()


def _on_white(image: Image) -> Image:
    from PIL import Image

    if image.mode in {"I", "I;16", "F"}:
        raise ValueError(f"its pixels are single numbers of mode {image.mode}, not colours")
    if not image.has_transparency_data:
        image.load()
        return image if image.mode == "RGB" else image.convert("RGB")
    page = Image.new("RGBA", image.size, "white")
    page.alpha_composite(image.convert("RGBA"))
    return page.convert("RGB")
