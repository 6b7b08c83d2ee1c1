"""What the pixels of an image say: brightness, contrast, saturation, colourfulness, warmth and a palette of named colours.

Every pixel counts, at full resolution, upright, with transparency on white; of an animation, the first frame. Colours are
sRGB (IEC 61966-2-1), CIELAB is that of the D65 white point (CIE 15).

*brightness*: the mean of L*, from 0 (black) to 100 (white).
*contrast*: the standard deviation of L* over the pixels (root mean square contrast, Peli 1990, on lightness), 0 to 50.
*saturation*: the mean of HSV's saturation (Smith 1978), (max - min) / max of R, G and B, 0 to 1; 0 for black.
*colourfulness*: M3 of Hasler and Suesstrunk (2003) on R, G and B from 0 to 255; their words run from 0 (not colourful) over 15, 33,
45, 59 and 82 to 109 (extremely colourful).
*warmth*: the mean over the pixels of the warm-cool scale of Ou, Luo, Woodcock and Wright (2004), -0.5 + 0.02 C*^1.07 cos(h - 50
degrees): neutral greys have -0.5, more is warmer.
*palette*: at most five colours. Every pixel has a basic colour term; the pixels of a term are one colour, named after their mean
(:mod:`heartfelt.media.images.colour_names`); terms with under 4% of the pixels are left out, so shares may add up to less than 1.

Warmth and palette use the pixels' counts on a grid of 32 steps per channel; brightness and contrast look L* up at 65,536 steps of
luminance. Against scikit-image on every pixel of 47 images, brightness and contrast agree within 0.01, warmth within 0.02,
saturation and colourfulness within 0.00001.

Sources: Peli (1990), J Opt Soc Am A 7, 2032-2040. Smith (1978), SIGGRAPH 12, 12-19. Hasler and Suesstrunk (2003), Proc SPIE 5007,
87-95. Ou, Luo, Woodcock and Wright (2004), Color Res Appl 29, 232-240.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.images.colour_names import TERMS, name_within, terms_of
from heartfelt.media.images.image import decode_image
from heartfelt.media.images.lab import TO_XYZ, cube_root, lab_of, linear
from heartfelt.progress import Progress
from heartfelt.stats.columns.triples import Floats

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_COLOURS = 5
LEAST_SHARE = 0.04
_STEPS = 32
_STRIP_PIXELS = 4_000_000
_UNKNOWN = 255


@dataclass(frozen=True, slots=True)
class PaletteColour:
    """A dominant colour of an image."""

    name: str
    """One of :func:`heartfelt.media.images.colour_names.name_table`."""
    share: float
    """Of the image's pixels, 0 to 1."""
    lab: tuple[float, float, float]
    """L*, a* and b* of the mean of its pixels."""
    term: str = ""
    """The basic colour term it belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelMeasures:
    """The measures of one image; the module says how each is defined."""

    width: int
    height: int
    brightness: float
    contrast: float
    saturation: float
    colourfulness: float
    warmth: float
    palette: tuple[PaletteColour, ...]
    """The largest share first."""


@dataclass(frozen=True, slots=True)
class MeasuredImage:
    """An image of many: its measures, or why there are none."""

    path: Path
    measures: PixelMeasures | None = None
    problem: str | None = None


class _Tables(NamedTuple):
    """What is computed once: everything that depends on a pixel's value alone. The kernels say how it is used."""

    packed: npt.NDArray[np.uint64]
    lightness: npt.NDArray[np.uint16]
    lab: npt.NDArray[np.float32]
    warmth: npt.NDArray[np.float32]
    terms: npt.NDArray[np.uint8]
    """The basic colour term of each bin, filled in when an image first has the bin."""


def warmth_of(lab: Floats) -> Floats:
    """The warm-cool scale of Ou et al. (2004) of CIELAB colours; the last axis is the coordinate."""
    chroma = np.hypot(lab[..., 1], lab[..., 2])
    hue = np.arctan2(lab[..., 2], lab[..., 1])
    return np.asarray(-0.5 + 0.02 * chroma**1.07 * np.cos(hue - np.deg2rad(50)))


def measure_image(source: Path | str | bytes | Image) -> PixelMeasures:
    """The measures of an image: a path, the bytes of a file, or what ``decode_image`` returned."""
    from heartfelt.media.images._kernels_pixels import add_pixels, main_colours

    image = decode_image(source) if isinstance(source, Path | str | bytes) else source
    image = image if image.mode == "RGB" else image.convert("RGB")
    tables = _tables()
    sums, bins = np.zeros(7, np.int64), np.zeros(_STEPS**3, np.int32)
    rows = max(1, _STRIP_PIXELS // image.width)
    for top in range(0, image.height, rows):
        # In strips, so that a large image is not held in memory twice.
        bottom = min(top + rows, image.height)
        strip = image if rows >= image.height else image.crop((0, top, image.width, bottom))
        pixels = np.frombuffer(strip.tobytes("raw", "RGBX"), "<u4")
        add_pixels(pixels, tables.packed, tables.lightness, sums, bins)
    count = image.width * image.height
    light, light2, saturation, rg, rg2, yb, yb2 = (int(value) / count for value in sums)
    spread = max(rg2 - rg**2, 0.0) + max(yb2 - yb**2, 0.0) / 4
    new = np.flatnonzero((bins > 0) & (tables.terms == _UNKNOWN))
    if new.size:
        tables.terms[new] = terms_of(tables.lab[new].astype(np.float64))
    warmth, by_term = main_colours(bins, tables.lab, tables.warmth, tables.terms, len(TERMS))
    return PixelMeasures(
        width=image.width,
        height=image.height,
        brightness=light * 100 / 65_535,
        contrast=max(light2 - light**2, 0.0) ** 0.5 * 100 / 65_535,
        saturation=saturation / 65_536,
        colourfulness=spread**0.5 + 0.3 * (rg**2 + yb**2 / 4) ** 0.5,
        warmth=warmth / count,
        palette=_palette(by_term, count),
    )


def measure_images(
    paths: Sequence[Path | str], progress: Progress | None = None, workers: int | None = None
) -> tuple[MeasuredImage, ...]:
    """The measures of many images, in their order, several at a time; one that cannot be read says why."""
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}.", "Leave it out to use every core.")
    results: list[MeasuredImage] = []
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        for result in pool.map(_measured, map(Path, paths)):
            results.append(result)
            if progress is not None:
                progress("measuring images", len(results), len(paths))
    return tuple(results)


def _measured(path: Path) -> MeasuredImage:
    try:
        return MeasuredImage(path, measure_image(path))
    except InputError as error:
        return MeasuredImage(path, problem=error.problem)


def _palette(by_term: Floats, count: int) -> tuple[PaletteColour, ...]:
    """The terms with the most pixels, each with the name of the mean of its pixels."""
    palette = []
    for term in np.argsort(-by_term[:, 3], kind="stable")[:MOST_COLOURS].tolist():
        pixels = by_term[term, 3]
        if pixels >= LEAST_SHARE * count:
            mean = by_term[term, :3] / pixels
            light, a, b = mean.tolist()
            palette.append(PaletteColour(name_within(mean, term), pixels / count, (light, a, b), TERMS[term]))
    return tuple(palette)


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    values = np.arange(256)
    luminance = np.rint(65_535 * TO_XYZ[1][:, None] * linear(values / 255)[None]).astype(np.int64)
    lightness = 116 * cube_root(np.minimum(np.arange(65_540) / 65_535, 1.0)) - 16
    steps = np.rint(values * (_STEPS - 1) / 255).astype(np.int64)
    grid_steps = np.stack(np.unravel_index(np.arange(_STEPS**3), (_STEPS,) * 3), axis=-1)
    lab = lab_of(grid_steps * 255 / (_STEPS - 1))
    return _Tables(
        packed=((luminance << 15) + steps * np.array([[_STEPS**2], [_STEPS], [1]])).astype(np.uint64),
        lightness=np.rint(lightness * 655.35).astype(np.uint16),
        lab=lab.astype(np.float32),
        warmth=warmth_of(lab).astype(np.float32),
        terms=np.full(_STEPS**3, _UNKNOWN, np.uint8),
    )
