"""``pixels``: measures on the scales of questions, one decode per image, and images that are hostile."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.media.images.pixels import PixelMeasures, measure_image
from heartfelt.predictors import Ask, Case, Media, Prediction, predictor_from, run
from heartfelt.predictors.measures.pictures.pixels import ENDS, MEASURES, Pixels, measure_named
from heartfelt.study.scales.scale import Categories, Numeric, Points, Tags
from tests.facts import mentions
from tests.predictors.hostile_images import HOSTILE, write_hostile

UNIT = Numeric(type="numeric", low=0, high=1)
PLAIN = Numeric(type="numeric")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """Three fifths orange, two fifths dark blue."""
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, :36], pixels[:, 36:] = (249, 115, 6), (0, 3, 91)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


class Counting(Pixels):
    """Counts how often an image is looked at."""

    looks = 0

    def look(self, image: Image.Image) -> PixelMeasures:
        self.looks += 1
        return super().look(image)


def test_seven_questions_decode_an_image_once(photo: Path) -> None:
    asks = [Ask(question=name, scale=Tags(type="tags") if name == "palette" else PLAIN, text="") for name in MEASURES]
    asks.append(Ask(question="again", scale=PLAIN, text="", about={"measure": "brightness"}))
    predictor = Counting.make()
    table = run(predictor, [Case(stimulus="a", asks=tuple(asks), media=Media(photo))]).table
    assert table["ok"].all()
    assert predictor.looks == 1
    expected = measure_image(photo)
    values = dict(zip(table["question"], table["value"], strict=True))
    for name in ENDS:
        assert values[name] == pytest.approx(getattr(expected, name))
    assert values["again"] == values["brightness"]
    assert table["answer"][5] == "orange;dark blue"


def test_each_measure_is_moved_between_its_ends(photo: Path) -> None:
    expected = measure_image(photo)
    for name, (low, high, _) in ENDS.items():
        table = run(
            predictor_from(f"pixels:{name}"),
            [Case(stimulus="a", asks=(Ask(question="q", scale=UNIT, text=""),), media=Media(photo))],
        ).table
        share = min(max((getattr(expected, name) - low) / (high - low), 0), 1)
        assert table["value"][0] == pytest.approx(share), name


def test_the_ends_may_be_given(photo: Path) -> None:
    bright = measure_image(photo).brightness
    spec = f"pixels[low={bright - 10},high={bright + 10}]:brightness"
    assert predict(spec, photo, Ask(question="q", scale=UNIT, text="")).value == pytest.approx(0.5)
    assert predictor_from(spec).identity != predictor_from("pixels:brightness").identity
    for wrong in ("pixels[low=100]:brightness", "pixels[high=0]:brightness", "pixels[high=x]:brightness"):
        with pytest.raises(InputError, match="not a valid high"):
            predictor_from(wrong)
    for loose in ("pixels[low=1]", "pixels[low=1]:palette"):
        with pytest.raises(InputError, match="belong to one measure"):
            predictor_from(loose)


def predict(spec: str, photo: Path, ask: Ask) -> Prediction:
    return predictor_from(spec).predict([Case(stimulus="a", asks=(ask,), media=Media(photo))])[0][0]


def test_colours_on_the_lists_of_a_study(photo: Path) -> None:
    closed = Ask(question="colour", scale=Tags(type="tags", tags=["Orange", "Blue", "Green"], open=False), text="")
    assert predict("pixels", photo, closed).answer == "Orange;Blue"
    warm = Ask(question="colour", scale=Categories(type="categories", categories=["red", "blue"]), text="")
    result = predict("pixels:palette", photo, warm)
    assert result.answer == "blue"
    assert result.score == pytest.approx(0.4)
    grey = Ask(question="colour", scale=Tags(type="tags", tags=["grey"], open=False), text="")
    assert mentions(predict("pixels", photo, grey).problem or "", "0.6", "0.4")


def test_the_measure_is_known_by_many_names() -> None:
    for name in ("colour", "Color", "colours", "dominant_colors", "palette"):
        assert measure_named(name) == "palette"
    assert measure_named("colorfulness") == "colourfulness"
    assert measure_named("contrast") == "contrast"
    assert measure_named("brightness") == "brightness"
    assert measure_named("style") is None
    with pytest.raises(InputError, match=r"pixels.*'brightnes'") as message:
        Pixels.make("brightnes")
    assert "brightness" in message.value.fix


def test_a_question_that_names_no_measure_says_what_to_ask(photo: Path) -> None:
    assert "ask pixels:MEASURE" in (predict("pixels", photo, Ask(question="style", scale=UNIT, text="")).problem or "")


def test_it_survives_pickling_and_says_what_it_is(photo: Path) -> None:
    predictor = predictor_from("pixels:warmth")
    case = Case(stimulus="a", asks=(Ask(question="q", scale=UNIT, text=""),), media=Media(photo))
    first = predictor.predict([case])
    again = pickle.loads(pickle.dumps(predictor))
    assert again.predict([case]) == first
    assert again.identity == predictor.identity
    assert predictor.info.version


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_images_are_measured_or_say_why_not(name: str, tmp_path: Path) -> None:
    path, problem = write_hostile(name, tmp_path)
    asks = (
        Ask(question="brightness", scale=UNIT, text=""),
        Ask(question="colour", scale=Tags(type="tags"), text=""),
        Ask(question="c", scale=Points(type="points", points=5), text=""),
    )
    table = run(predictor_from("pixels"), [Case(stimulus=name, asks=asks, media=Media(path))]).table
    if problem is None:
        assert table["ok"].to_list() == [True, True, False], table["problem"].to_list()
        assert 0 <= table["value"][0] <= 1
    else:
        assert not table["ok"].any()
        assert set(table["problem"]) == {table["problem"][0]}
        assert problem in table["problem"][0]
        assert path.name in table["problem"][0]


def test_one_bad_image_does_not_fail_its_neighbours(photo: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no image")
    paths = [photo, tmp_path / "bad.png", photo, tmp_path / "gone.png"]
    cases = [
        Case(stimulus=str(at), asks=(Ask(question="brightness", scale=UNIT, text=""),), media=Media(path))
        for at, path in enumerate(paths)
    ]
    table = run(predictor_from("pixels"), cases).table
    assert table["ok"].to_list() == [True, False, True, False]
    assert table["attempts"].to_list() == [1, 1, 1, 1]
