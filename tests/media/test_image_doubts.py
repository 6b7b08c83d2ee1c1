"""What is doubtful about an image that can be decoded, and that a head of images says so."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

from heartfelt.media.images.image import image_doubts
from heartfelt.predictors.trained.domain import DomainDistance
from heartfelt.predictors.trained.embeddings import Features
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.predictors.trained.predictor import doubt_of
from heartfelt.streams import stream

NOISE = Image.fromarray(stream(3, "noise").integers(0, 256, (64, 64, 3), dtype="uint8"))


def stored(image: Image.Image, path: Path, **options: Any) -> Path:
    image.save(path, **options)
    return path


@pytest.mark.parametrize(
    ("image", "name", "flags"),
    [
        (NOISE, "noise.png", ()),
        (NOISE, "noise.jpg", ()),
        (NOISE.convert("L"), "grey.png", ()),
        (NOISE.convert("P"), "palette.gif", ()),
        (NOISE.resize((32, 200)), "narrow.png", ()),
        (NOISE.resize((31, 200)), "narrower.png", ("too small",)),
        (Image.new("RGB", (64, 64), "navy"), "navy.jpg", ("blank",)),
        (Image.new("L", (64, 64), 0), "black.png", ("blank",)),
        (Image.new("RGBA", (64, 64), (9, 9, 9, 0)), "transparent.png", ("blank",)),
        (NOISE.resize((1, 1)), "pixel.png", ("blank", "too small")),
    ],
)
def test_images_that_show_nothing_are_flagged(
    image: Image.Image, name: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    path = stored(image, tmp_path / name)
    assert image_doubts(path) == image_doubts(path.read_bytes())
    found, words = image_doubts(path)
    assert found == flags
    assert len(words) == len(flags)


@pytest.mark.parametrize(("name", "count"), [("a.gif", 3), ("a.webp", 3), ("a.png", 3), ("a.tiff", 3), ("a.mpo", 1)])
def test_frames_that_are_not_looked_at_are_counted(name: str, count: int, tmp_path: Path) -> None:
    """A camera's second view is no second picture."""
    turned = [NOISE.rotate(90), NOISE.rotate(180)]
    _, words = image_doubts(stored(NOISE, tmp_path / name, save_all=True, append_images=turned))
    assert words == ((f"only the first of {count} frames or pages was looked at",) if count > 1 else ())


def test_a_head_of_images_flags_them(tmp_path: Path) -> None:
    head = cast(
        TrainedModel, SimpleNamespace(place=lambda _: DomainDistance(), look=lambda: SimpleNamespace(media="image"))
    )
    features = Features(np.zeros((1, 3), np.float32), np.zeros(1), 0.0)
    doubt = doubt_of(head, features, stored(Image.new("RGB", (8, 8)), tmp_path / "black.png"))
    assert doubt.flag == "blank; too small"
    assert doubt.words[0].startswith("the image has one colour")
    assert doubt_of(head, features, stored(NOISE, tmp_path / "noise.png")).flag is None
