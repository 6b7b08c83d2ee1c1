"""Faces and their expressions, with the real networks on photographs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heartfelt.media.images.image import decode_image
from heartfelt.predictors.networks.fixed_inputs import picture
from heartfelt.predictors.networks.images.expressions import EXPRESSIONS, SIDE, recognise_expressions
from heartfelt.predictors.networks.images.expressions import _square as square_of
from heartfelt.predictors.networks.images.faces import LONGEST, Face, _separate_order, detect_faces
from tests.predictors.weights.conftest import Pulled

PACKAGE = {
    "Dog_attack_1": [(23.4, 11.2, 41.6, 31.9)],
    "Dog_attack_2": [(191.0, 22.7, 205.7, 39.2)],
    "Zebra_1": [],
    "Acorns_1": [],
}
"""SOURCE: what ``MTCNN(keep_all=True).detect`` of facenet-pytorch 2.6.0 answers, faces with a probability of 0.9 and more."""


def photo(shared_data: Path, name: str) -> Image.Image:
    path = shared_data / "oasis" / "images" / f"{name}.jpg"
    if not path.is_file():
        pytest.skip("the OASIS pictures are not at hand")
    return decode_image(path)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", PACKAGE)
def test_faces_are_where_the_package_sees_them(name: str, pulled: Pulled, shared_data: Path) -> None:
    faces = detect_faces(photo(shared_data, name), model=pulled("mtcnn"))
    assert len(faces) == len(PACKAGE[name])
    for face, expected in zip(faces, PACKAGE[name], strict=True):
        assert [face.left, face.top, face.right, face.bottom] == pytest.approx(expected, abs=2.5)
        assert 0.9 <= face.score <= 1


@pytest.mark.slow
@pytest.mark.data
def test_a_face_is_the_same_in_a_larger_image(pulled: Pulled, shared_data: Path) -> None:
    """Larger images are reduced first; boxes are in the pixels of the image given."""
    small, model = photo(shared_data, "Dog_attack_1"), pulled("mtcnn")
    (face,) = detect_faces(small, model=model)
    large = small.resize((small.width * 5, small.height * 5), Image.Resampling.BICUBIC)
    assert max(large.size) > LONGEST
    (again,) = detect_faces(large, model=model)
    for side in ("left", "top", "right", "bottom"):
        assert getattr(again, side) / 5 == pytest.approx(getattr(face, side), abs=2.5)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (19, 400), (20, 20), (300, 400)])
def test_images_without_faces(size: tuple[int, int], pulled: Pulled) -> None:
    image = Image.fromarray(picture(*size))
    assert detect_faces(image, model=pulled("mtcnn")) == ()
    assert recognise_expressions(image, (), model="no model is needed").shape == (0, 7)


@pytest.mark.slow
@pytest.mark.data
def test_expressions_are_probabilities(pulled: Pulled, shared_data: Path) -> None:
    image, model = photo(shared_data, "Dog_attack_1"), pulled("fer")
    faces = [
        Face(left=25, top=12, right=42, bottom=31, score=1.0),
        Face(left=-20, top=-20, right=60, bottom=60, score=1.0),
        Face(left=250, top=200, right=300, bottom=260, score=1.0),
    ]
    rows = recognise_expressions(image, faces, model=model)
    assert rows.shape == (3, len(EXPRESSIONS))
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    alone = recognise_expressions(image, faces[1:2], model=model)
    np.testing.assert_allclose(alone[0], rows[1], atol=1e-5)


def test_a_face_is_a_square_with_its_own_mean_beyond_the_image() -> None:
    grey = Image.fromarray(np.full((40, 60), 200, np.uint8))
    ready = square_of(grey, Face(left=-30, top=-10, right=10, bottom=30, score=1.0))
    assert ready.shape == (1, SIDE, SIDE)
    np.testing.assert_allclose(ready, 200 / 127.5 - 1, atol=1e-6)
    half = np.zeros((40, 40), np.uint8)
    half[:, 20:] = 255
    ready = square_of(Image.fromarray(half), Face(left=10, top=0, right=30, bottom=40, score=1.0))
    np.testing.assert_allclose(ready[0, :, :30], -1, atol=1e-6)
    np.testing.assert_allclose(ready[0, :, 34:], 1, atol=1e-6)


def test_of_overlapping_boxes_the_best_stays() -> None:
    boxes = np.array(
        [
            [0, 0, 10, 10, 0.8],
            [1, 0, 11, 10, 0.9],  # shares 9/11 of the union with the first
            [2, 2, 4, 4, 0.7],  # inside both: 4% of the union, all of the smaller
            [20, 20, 30, 30, 0.6],
        ]
    )
    assert _separate_order(boxes, 0.7) == [1, 2, 3]
    assert _separate_order(boxes, 0.85) == [1, 0, 2, 3]
    assert _separate_order(boxes, 0.7, of_smaller=True) == [1, 3]
    assert _separate_order(np.empty((0, 5)), 0.7) == []
