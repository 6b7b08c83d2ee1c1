"""Pixel measures of 1,000 JPEG files on two cores, beside bare decoding and a per-image scikit-image script; near-duplicates.

Bare decoding is Pillow's ``Image.open(path).load()`` on two threads. The script is what one would write first: scikit-image's
``imread``, ``rgb2lab`` and ``rgb2hsv``, k-means of the CIELAB pixels with SciPy, one image after the other. scikit-image is no
dependency: install it anywhere (``pip install --no-deps --target DIR scikit-image imageio tifffile networkx``) and set
``SKIMAGE_FOLDER=DIR``; without it that row is left out with a note.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from heartfelt.media.images.duplicates import duplicate_groups
from heartfelt.media.images.pixels import MOST_COLOURS, measure_images
from heartfelt.streams import stream

IMAGES, FILES, SIDE, RUNS, SCRIPT_IMAGES = 1_000, 50, 512, 3, 4


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        files = _pictures(Path(name))
        paths = files * (IMAGES // FILES)
        measure_images(files)
        bare, ours = [], []
        for _ in range(RUNS):
            bare.append(_seconds(_decode, paths))
            ours.append(_seconds(partial(measure_images, workers=2), paths))
        (decoding, used), (measuring, needed) = (tuple(map(min, zip(*rows, strict=True))) for rows in (bare, ours))
        print(f"{IMAGES:,} JPEG images of {SIDE} x {SIDE}, two threads, best of {RUNS} rounds, in turn")
        print(f"bare decoding: {IMAGES / decoding:,.0f} images/s   measures: {IMAGES / measuring:,.0f} images/s")
        print(f"speed against bare decoding: {decoding / measuring:.2f} (wanted: at least 0.50)")
        print(f"in processor time, which other work on the machine disturbs less: {used / needed:.2f}")
        if folder := os.environ.get("SKIMAGE_FOLDER"):
            sys.path.append(folder)
        if importlib.util.find_spec("skimage") is None:
            print("scikit-image is not here (set SKIMAGE_FOLDER); its row is left out")
        else:
            _script(files[:1], palette=True)
            for palette in (True, False):
                theirs = _seconds(partial(_script, palette=palette), files[:SCRIPT_IMAGES])[0] / SCRIPT_IMAGES
                words = "with a palette" if palette else "without a palette"
                print(
                    f"scikit-image script {words}: {1 / theirs:.1f} images/s; "
                    f"ours {theirs * IMAGES / measuring:.0f} times as fast (wanted: at least 20)"
                )
    for size in (20_000, 80_000):
        hashes = list(stream(0, "benchmark", "hashes").integers(0, 256, (size, 32), dtype=np.uint8))
        duplicate_groups(hashes[:2])
        print(f"near-duplicates among {size:,} hashes: {_seconds(duplicate_groups, hashes)[0]:.2f} s")


def _pictures(folder: Path) -> list[Path]:
    """Smooth mixtures of four colours with grain: as many bytes and different colours as the AVT images have per pixel."""
    files = []
    for place in range(FILES):
        rng = stream(0, "benchmark", "picture", place)
        colours = rng.integers(0, 256, (4, 3))
        field = Image.fromarray(colours[rng.integers(0, 4, (12, 12))].astype(np.uint8))
        field = field.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        grain = rng.normal(0, 6, (SIDE, SIDE, 1))
        pixels = np.clip(np.asarray(field, np.float64) + grain, 0, 255).astype(np.uint8)
        files.append(folder / f"{place:02d}.jpg")
        Image.fromarray(pixels).save(files[-1], quality=90)
    return files


def _decode(paths: Sequence[Path]) -> None:
    def once(path: Path) -> None:
        with Image.open(path) as image:
            image.load()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(once, paths))


def _script(paths: Sequence[Path], *, palette: bool) -> list[Any]:
    from scipy.cluster.vq import kmeans2
    from skimage import color, io  # type: ignore[import-not-found,unused-ignore]  # optional

    rows = []
    for path in paths:
        image = io.imread(path)
        lab, hsv = color.rgb2lab(image), color.rgb2hsv(image)
        red, green, blue = np.moveaxis(image.astype(np.float64), -1, 0)
        rg, yb = red - green, (red + green) / 2 - blue
        colourfulness = np.hypot(rg.std(), yb.std()) + 0.3 * np.hypot(rg.mean(), yb.mean())
        chroma, hue = np.hypot(lab[..., 1], lab[..., 2]), np.arctan2(lab[..., 2], lab[..., 1])
        warmth = (-0.5 + 0.02 * chroma**1.07 * np.cos(hue - np.deg2rad(50))).mean()
        if palette:
            kmeans2(lab.reshape(-1, 3), MOST_COLOURS, seed=0, minit="++")
        rows.append((lab[..., 0].mean(), lab[..., 0].std(), hsv[..., 1].mean(), colourfulness, warmth))
    return rows


def _seconds(work: Callable[[Sequence[Any]], object], values: Sequence[Any]) -> tuple[float, float]:
    """Time on the clock, and time of the processor over all threads."""
    begun, used = time.perf_counter(), time.process_time()
    work(values)
    return time.perf_counter() - begun, time.process_time() - used


if __name__ == "__main__":
    main()
