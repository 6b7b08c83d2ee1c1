"""An image in memory, on its way to a rater."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from heartfelt.errors import InputError, suggestion
from heartfelt.files import write_bytes

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE_SUFFIXES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A Pillow image that saves itself whole."""

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
        if path.suffix.lower() not in PICTURE_SUFFIXES:
            raise InputError(
                f"Cannot write an image to {path}: '{path.suffix}' names no format that can be written.",
                suggestion(path.suffix.lower(), PICTURE_SUFFIXES, "Suffixes that can"),
            )
        memory = io.BytesIO()
        self.image.save(memory, format=PICTURE_SUFFIXES[path.suffix.lower()])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, memory.getvalue())
        return path
