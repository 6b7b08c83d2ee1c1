"""Pictures on their way into the network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.predictors.networks.fixed_inputs import picture
from heartfelt.predictors.networks.images.efficientnet import embed, look, prepared
from tests.predictors.weights.conftest import Pulled


@pytest.mark.slow
def test_a_picture_comes_in_every_form(pulled: Pulled, tmp_path: Path) -> None:
    model = pulled("efficientnet-lite0")
    pixels = picture(300, 400)
    path = tmp_path / "waves.png"
    Image.fromarray(pixels).save(path)
    rows = embed([pixels, path, str(path), Image.fromarray(pixels)], model=model)
    assert rows.shape == (4, 1280)
    for row in rows[1:]:
        np.testing.assert_allclose(row, rows[0], atol=1e-4)


@pytest.mark.slow
def test_many_pictures_are_taken_a_few_at_a_time(pulled: Pulled) -> None:
    model = pulled("efficientnet-lite0")
    pictures = [picture(230 + 3 * i, 260) for i in range(10)]
    rows = embed((p for p in pictures), model=model)
    assert rows.shape == (10, 1280)
    np.testing.assert_allclose(rows[9], embed([pictures[9]], model=model)[0], atol=1e-4)
    assert embed([], model=model).shape == (0, 1280)


@pytest.mark.slow
def test_the_larger_variants_see_more_pixels(pulled: Pulled) -> None:
    pixels = picture(300, 300)
    rows = [embed([pixels], model=pulled(f"efficientnet-lite{i}"))[0] for i in range(3)]
    assert np.corrcoef(rows)[0, 1] < 0.99
    assert prepared(pixels, 260).shape == (3, 260, 260)


def test_the_view() -> None:
    """The centre leaves the borders out; the whole squeezes them in."""
    pixels = np.zeros((200, 600, 3), dtype=np.uint8)
    pixels[:, 200:400] = 255
    centre, whole = prepared(pixels, 224), prepared(pixels, 224, "whole")
    np.testing.assert_allclose(centre, 1.0)
    assert whole[:, :, :60].max() < -0.9
    np.testing.assert_allclose(whole[:, :, 100:120], 1.0)
    with pytest.raises(InputError, match="No view is called"):
        prepared(pixels, 224, "top")  # type: ignore[arg-type]  # what a caller may get wrong


def test_units_and_order_of_colours() -> None:
    red = np.zeros((50, 50, 3), dtype=np.uint8)
    red[..., 0] = 255
    ready = prepared(red, 224)
    assert ready.dtype == np.float32
    np.testing.assert_allclose(ready[0], 1.0)
    np.testing.assert_allclose(ready[1:], -127 / 128)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1", "CMYK"])
def test_other_kinds_of_pictures(mode: str, tmp_path: Path) -> None:
    image = Image.fromarray(picture(64, 64)).convert(mode)
    assert np.isfinite(prepared(image, 224)).all()


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (3000, 2)])
def test_strange_sizes(size: tuple[int, int]) -> None:
    assert prepared(picture(*size), 224).shape == (3, 224, 224)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("not a picture")
    with pytest.raises(InputError, match="cannot be read as an image"):
        prepared(tmp_path / "text.jpg", 224)
    with pytest.raises(InputError, match="no image at"):
        prepared(tmp_path / "nowhere.png", 224)
    strange: list[npt.NDArray[np.uint8]] = [np.zeros((4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)]
    for array in strange:
        with pytest.raises(InputError, match="no RGB picture"):
            prepared(array, 224)


def test_an_acorn_is_an_acorn(pulled: Pulled, shared_data: Path) -> None:
    """Class 988 of ImageNet is the acorn."""
    paths = [shared_data / "oasis" / "images" / f"Acorns_{number}.jpg" for number in (1, 2, 3)]
    if not all(path.is_file() for path in paths):
        pytest.skip("the OASIS pictures are not at hand")
    for variant in range(3):
        logits = look(paths, model=pulled(f"efficientnet-lite{variant}"))["logits"]
        assert (logits.argmax(axis=1) == 988).all()
