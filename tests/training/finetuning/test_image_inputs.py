"""What image networks are given: pixels of any file, attributes of any kind, the polarity of categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.streams import stream
from heartfelt.study import parse_study
from heartfelt.training.finetuning.recipes.images.attributes import (
    Attribute,
    attribute_values,
    chosen_attributes,
    fitted_attribute,
)
from heartfelt.training.finetuning.recipes.images.pictures import ImagePreprocessing, random_box
from heartfelt.training.finetuning.recipes.images.recipe import group_numbers, polarity_of
from heartfelt.training.heads.targets import vote_weights
from tests.training.finetuning.painted import STUDY, painted

RED, BLUE = (255, 0, 0), (0, 0, 255)


def halves(width: int = 96, height: int = 64) -> Image.Image:
    """Red above blue."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (0, height // 2, width, height))
    return image


def test_the_evaluation_crop_is_the_central_square(tmp_path: Path) -> None:
    """A white square of the size that is seen, in a black image: all that is seen is white, and nothing of the rest."""
    image = Image.new("RGB", (180, 90), "black")
    image.paste("white", (50, 5, 130, 85))
    image.save(tmp_path / "square.png")
    seen = ImagePreprocessing(side=40).evaluation(tmp_path / "square.png")
    assert seen.shape == (3, 40, 40)
    assert seen.dtype == np.uint8
    assert (seen[:, 1:-1, 1:-1] == 255).all()
    assert seen.min() > 180  # interpolation at the edge
    whole = ImagePreprocessing(side=40, crop=1).evaluation(tmp_path / "square.png")
    assert whole[0, 20, 0] == 0
    assert whole[0, 20, 20] == 255


def test_training_crops_follow_their_stream(tmp_path: Path) -> None:
    halves().save(tmp_path / "image.png")
    ready = ImagePreprocessing(side=24)
    first, again, other = (ready.training(tmp_path / "image.png", stream(1, "crop", name)) for name in ("a", "a", "b"))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(("width", "height"), [(640, 480), (50, 50), (2000, 100), (100, 1500)])
def test_random_boxes_lie_inside_and_are_large_enough(width: int, height: int) -> None:
    draw = stream(2, "boxes")
    shares, ratios = [], []
    for _ in range(300):
        left, top, right, bottom = random_box(width, height, 0.5, draw)
        assert 0 <= left < right <= width + 1e-9
        assert 0 <= top < bottom <= height + 1e-9
        shares.append((right - left) * (bottom - top) / (width * height))
        ratios.append((right - left) / (bottom - top))
    assert min(ratios) >= 3 / 4 - 1e-9
    assert max(ratios) <= 4 / 3 + 1e-9
    if max(width, height) < 2 * min(width, height):
        assert min(shares) >= 0.5 - 1e-9
        assert np.ptp(shares) > 0.2
    else:
        # Half of a panorama is never that square: its middle is used.
        assert np.ptp(shares) == 0


@pytest.mark.parametrize(
    ("name", "mode", "options"),
    [
        ("plain.jpg", "RGB", {"quality": 95}),
        ("four.jpg", "CMYK", {"quality": 95}),
        ("alpha.png", "RGBA", {}),
        ("palette.png", "P", {}),
        ("turned.jpg", "RGB", {"quality": 95, "exif": 6}),
        ("moving.gif", "P", {"save_all": True, "append_images": [Image.new("RGB", (96, 64), "green")]}),
    ],
)
def test_files_of_every_kind_are_seen_alike(name: str, mode: str, options: dict[str, Any], tmp_path: Path) -> None:
    image = halves()
    if "exif" in options:
        # Stored on its side, with a note that says so.
        exif = Image.Exif()
        exif[0x0112] = options["exif"]
        options, image = {**options, "exif": exif}, image.transpose(Image.Transpose.ROTATE_90)
    image.convert(mode).save(tmp_path / name, **options)
    seen = ImagePreprocessing(side=16).evaluation(tmp_path / name).astype(int)
    assert abs(seen[:, 2, 8] - RED).max() < 12
    assert abs(seen[:, 13, 8] - BLUE).max() < 12


def test_grey_is_seen_in_three_channels_and_sixteen_bits_are_refused(tmp_path: Path) -> None:
    Image.new("L", (30, 30), 77).save(tmp_path / "grey.png")
    assert set(ImagePreprocessing(side=8).evaluation(tmp_path / "grey.png").ravel()) == {77}
    Image.fromarray(np.full((30, 30), 9000, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(InputError, match="single numbers of mode I;16"):
        ImagePreprocessing(side=8).evaluation(tmp_path / "deep.png")


def test_attributes_are_the_final_values_of_fields(tmp_path: Path) -> None:
    snapshot = painted(tmp_path, per_category=5, side=8)
    scenes = attribute_values(snapshot, "scene")
    assert scenes["awea.png"] == ("outdoors",)
    assert scenes["aweb.png"] == ("indoors",)  # fixed by a person
    assert "awed.png" not in attribute_values(snapshot, "brightness")  # rejected
    objects = attribute_values(snapshot, "objects")
    assert objects["feard.png"] == ("sky", "fe")
    assert "feara.png" not in objects
    assert attribute_values(snapshot, "hue")["sadnessa.png"] == ("s",)  # a column of the stimuli
    with pytest.raises(InputError, match=r"column.*'scenes'"):
        attribute_values(snapshot, "scenes")


def test_attributes_as_columns() -> None:
    study = parse_study(STUDY, "painted")
    tags = fitted_attribute("objects", study, [("sky", "dog"), ("sky",), ("dog", "cat"), ()])
    assert tags == Attribute("objects", ("dog", "sky"))  # the cat is rare
    # Missing, other, dog, sky.
    assert tags.encode(("sky", "dog")).tolist() == [0, 0, 1, 1]
    assert tags.encode(("cat", "sky", "fish")).tolist() == [0, 1, 0, 1]
    assert tags.encode(()).tolist() == [1, 0, 0, 0]
    scene = fitted_attribute("scene", study, [("indoors",)])
    assert scene.names == ("indoors", "outdoors")  # every category of the scale, seen or not
    number = fitted_attribute("brightness", study, [("0.2",), ("0.6",), ()])
    assert (number.mean, number.spread) == pytest.approx((0.4, 0.2))
    assert number.encode(("0.8",)).tolist() == pytest.approx([1, 2])
    assert number.encode(("0.4", "0.8")).tolist() == pytest.approx([1, 1])  # two people: their mean
    assert number.encode(("bright",)).tolist() == [0, 0]
    assert number.encode(()).tolist() == [0, 0]


def test_which_attributes_are_used() -> None:
    study = parse_study(STUDY, "painted")
    assert chosen_attributes(study, ("all",), ["emotion"]) == ("objects", "scene", "brightness")
    assert chosen_attributes(study, ("all",), ["emotion", "brightness"]) == ("objects", "scene")
    assert chosen_attributes(study, ("scene", "system"), ["emotion"]) == ("scene", "system")
    with pytest.raises(InputError, match=r"'valence'.*predicted"):
        chosen_attributes(study, ("valence",), ["valence"])
    plain = parse_study(STUDY.replace(", machine_first: true", ""), "plain")
    with pytest.raises(InputError, match=r"field.*machine"):
        chosen_attributes(plain, ("all",), ["emotion"])


def test_weights_of_votes_by_hand() -> None:
    """Two categories; of three stimuli two have two votes, one has eight, and a fourth has none."""
    counts = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 6.0], [0.0, 0.0]])
    # Single votes about their stimulus: 8 (1 - .0625 - .5625) = 3 over 1 + 1 + 7 degrees of freedom.
    single = 3 / 9
    noise = np.array([single / 2, single / 2, single / 8])
    whole = 2 * np.var([1.0, 0.0, 0.25])
    left = max(0.35 * (whole - noise.mean()), 0.1 * whole)
    weight = left / (left + noise)
    expected = [*(weight / weight.mean()), 0.0]
    np.testing.assert_allclose(vote_weights(counts), expected)
    assert expected[2] > expected[0]
    # Labels of a single vote each, or of as many votes each, count alike.
    np.testing.assert_allclose(vote_weights(np.eye(3)), 1)
    np.testing.assert_allclose(vote_weights(np.array([[3.0, 1], [2, 2], [0, 4]])), 1)


def test_polarity_is_given_or_known() -> None:
    study = parse_study(STUDY, "painted")
    # SOURCE: Mikels et al. (2005): awe and contentment are positive, fear and sadness negative.
    mikels = polarity_of(study, ["fear", "awe", "sadness", "contentment"])
    assert mikels == ("negative", "positive", "negative", "positive")
    assert group_numbers(mikels) == (0, 1, 0, 1)
    assert polarity_of(study, ["left", "right"]) == ()
    assert polarity_of(study, ["left", "right"], {"left": "a", "right": "b"}) == ("a", "b")
    with pytest.raises(InputError, match=r"'right'.*missing"):
        polarity_of(study, ["left", "right"], {"left": "a"})
    with pytest.raises(InputError, match="no category 'up'"):
        polarity_of(study, ["left", "right"], {"up": "a"})
