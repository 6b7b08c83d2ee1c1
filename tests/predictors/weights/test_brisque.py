"""BRISQUE: what blur, noise and blocks do to a photograph, and what cannot be judged."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from heartfelt.errors import InputError
from heartfelt.predictors.networks.images import brisque
from heartfelt.streams import stream
from tests.predictors.weights.conftest import Pulled


@pytest.mark.slow
@pytest.mark.data
def test_distortion_raises_the_score_of_photographs(pulled: Pulled, shared_data: Path) -> None:
    model = pulled("brisque")
    paths = sorted((shared_data / "oasis" / "images").glob("*.jpg"))[10::90]
    images = [Image.open(path).convert("RGB") for path in paths]

    def noise(image: Image.Image) -> Image.Image:
        pixels = np.asarray(image) + 40 * stream(1, "noise").normal(size=(*image.size[::-1], 3))
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

    def blocks(image: Image.Image) -> Image.Image:
        image.save(stored := io.BytesIO(), "JPEG", quality=5)
        return Image.open(stored).convert("RGB")

    plain = np.mean([brisque.brisque(image, model=model) for image in images])
    for distort in (noise, blocks, lambda image: image.filter(ImageFilter.GaussianBlur(3))):
        assert np.mean([brisque.brisque(distort(image), model=model) for image in images]) > plain + 10


@pytest.mark.slow
def test_what_has_no_texture_or_is_too_small_is_refused(pulled: Pulled) -> None:
    model = pulled("brisque")
    for image, words in (
        (Image.new("RGB", (64, 64)), "one colour"),
        (Image.new("RGB", (64, 15), "white"), "too small"),
    ):
        with pytest.raises(InputError, match=words):
            brisque.brisque(image, model=model)


def test_the_table_of_shapes_finds_the_shape_of_a_known_distribution() -> None:
    """A generalised Gaussian of shape 1 is Laplace's, of shape 2 the normal distribution."""
    chance = stream(4, "shapes")
    for shape, values in ((1, chance.laplace(size=400_000)), (2, 3 * chance.normal(size=400_000))):
        fitted, mean, left, right = brisque._fitted(values)
        assert fitted == pytest.approx(shape, rel=0.02)
        assert mean == pytest.approx(0, abs=0.02 * np.sqrt(left))
        assert left == pytest.approx(right, rel=0.02)
