"""Colours that somebody saw in 60 images, next to the colours that are drafted for them.

``seen/images.csv`` was written by looking at the images before the colours were named: ``main`` is the colour that takes most of
the image (several where that is open), ``seen`` what a list of its colours must have (``pink/orange`` is one of the two), ``may``
what it may have. Images of ``../shared/data`` and of installed packages are recognised by their hashes and are no part of
heartfelt.
"""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from heartfelt.media.images.pixels import measure_image

HERE = Path(__file__).parent
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
FROM_PACKAGES = ("matplotlib/", "sklearn/")
Row = dict[str, str]


@cache
def labelled() -> tuple[Row, ...]:
    with (HERE / "seen" / "images.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def image_path(row: Row) -> Path | None:
    """Where an image is; None where it is not, or another image is there."""
    name = row["image"]
    root: Path | None = SHARED
    if name.startswith(FROM_PACKAGES):
        package = find_spec(name.partition("/")[0])
        root = Path(package.origin).parents[1] if package and package.origin else None
    path = None if root is None else root / name
    if path is None or not path.is_file():
        return None
    return path if hashlib.sha256(path.read_bytes()).hexdigest().startswith(row["sha256"]) else None


def judged(path: Path, row: Row) -> tuple[bool, int, int, int, int]:
    """Whether the first colour is the main one; how many colours are named, and right; how many are to be named, and are."""
    colours = [
        {"blue", "green"} if colour.term == "turquoise" else {colour.term} for colour in measure_image(path).palette
    ]
    main, seen = set(row["main"].split()), [set(part.split("/")) for part in row["seen"].split()]
    allowed = set(row["may"].split()).union(main, *seen)
    return (
        bool(colours[0] & main),
        len(colours),
        sum(bool(colour & allowed) for colour in colours),
        len(seen),
        sum(any(colour & part for colour in colours) for part in seen),
    )


def test_sixty_images_are_labelled() -> None:
    rows = labelled()
    assert len({row["sha256"] for row in rows}) == len(rows) == 63
    assert sum(not row["image"].startswith(FROM_PACKAGES) for row in rows) == 60


@pytest.mark.slow
@pytest.mark.parametrize("image", [row["image"] for row in labelled() if row["image"].startswith(FROM_PACKAGES)])
def test_colours_of_images_that_come_with_packages(image: str) -> None:
    row = next(row for row in labelled() if row["image"] == image)
    path = image_path(row)
    if path is None:
        pytest.skip(f"{image} is not installed, or is another image in this version")
    main, named, right, to_name, hits = judged(path, row)
    assert main
    assert right == named
    assert hits >= to_name / 2


@pytest.mark.slow
def test_colours_of_sixty_images() -> None:
    rows = [row for row in labelled() if not row["image"].startswith(FROM_PACKAGES)]
    paths = [image_path(row) for row in rows]
    if None in paths:
        pytest.skip("the images of ../shared/data are not here")
    results = [judged(path, row) for path, row in zip(paths, rows, strict=True) if path is not None]
    main, named, right, to_name, hits = (sum(part) for part in zip(*results, strict=True))
    # Before the terms (48 names, nearest in CIELAB, k-means): 52 main colours, 100 of 126 colours to be named.
    assert (main, to_name) == (55, 126)
    assert right / named >= 0.98
    assert hits >= 116
