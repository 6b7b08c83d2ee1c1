"""Media as a model wants it: sound as one channel at the model's rate, a picture as upright RGB.

Conventions: samples are float32 in [-1, 1], ``(frames,)``. The channels are averaged (where they cancel each other,
the loudest is taken: see ``heartfelt.media.downmix``), then resampled (soxr, high quality); the bits are those of
soxr HQ on the channel mean, whichever way the file was read.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.audio import resample
from heartfelt.media.downmix import loudest_if_cancelling, one_channel
from heartfelt.media.sound_file import not_finite, opened, read_frames

if TYPE_CHECKING:
    from PIL.Image import Image


def decode(source: Path | str | bytes, rate: int) -> npt.NDArray[np.float32]:
    """Decode a file, or its bytes, to one channel at ``rate``; raise with the reason where it is no whole clip."""
    with opened(source) as file:
        # float32 holds sums of 16-bit numbers exactly: scaled after the sum, they give the same bits in far less time.
        short = file.subtype == "PCM_16"
        frames = read_frames(source, file, "int16" if short else "float32")
        found = int(file.samplerate)
    with np.errstate(over="ignore", invalid="ignore"):
        mono = one_channel(frames, loudest_if_cancelling([frames]))
    if not short and not np.isfinite(mono.sum(dtype=np.float64)):
        raise not_finite(source)
    return resample(mono, found, rate)


def decode_image(source: Path | str | bytes) -> Image:
    """Decode a picture, or its bytes, to RGB: turned as its camera says, transparency on white."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    name = "The image sent" if isinstance(source, bytes) else str(source)
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise InputError(f"There is no image at {name}.", "Check the path, and that the media were fetched.")
    try:
        with warnings.catch_warnings():
            # Pillow warns before it refuses; a picture of that size is refused outright.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as image:
                upright = ImageOps.exif_transpose(image)
                return _on_white(upright)
    except UnidentifiedImageError:
        problem = "its content is in no known image format"
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        problem = f"it has more than {Image.MAX_IMAGE_PIXELS:,} pixels"
    except (OSError, SyntaxError, ValueError) as error:
        problem = str(error).strip().rstrip(".") or type(error).__name__
    raise InputError(
        f"{name} cannot be read as an image: {problem}.", "Replace it with a whole PNG, JPEG or WebP file."
    )


def _on_white(image: Image) -> Image:
    from PIL import Image

    if image.mode in {"I", "I;16", "F"}:
        raise ValueError(f"its pixels are single numbers of mode {image.mode}, not colours")
    if not image.has_transparency_data:
        return image.convert("RGB")
    page = Image.new("RGBA", image.size, "white")
    page.alpha_composite(image.convert("RGBA"))
    return page.convert("RGB")
