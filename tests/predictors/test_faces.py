"""``faces`` and ``expressions`` on every scale, on photographs, and on images that are hostile."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors import Ask, Case, Media, Prediction, predictor_from, run
from heartfelt.predictors.execution.work import checked
from heartfelt.predictors.measures.pictures.faces import Expressions, Faces
from heartfelt.predictors.networks.images.expressions import EXPRESSIONS
from heartfelt.predictors.networks.images.faces import Face
from heartfelt.study.scales.answer import NONE, Scale
from heartfelt.study.scales.scale import Categories, Category, FreeText, Numeric, Ordered, Points, Tags, YesNo
from tests.facts import mentions
from tests.predictors.hostile_images import HOSTILE, write_hostile
from tests.predictors.weights.conftest import Pulled, _cache, pulled  # noqa: F401  # fixtures

FREE, YES_NO, NUMBER = Tags(type="tags"), YesNo(type="yes-no"), Numeric(type="numeric")


def faces_answer(count: int, scale: Scale) -> Prediction:
    """What is answered where there are so many faces."""
    ask = Ask(question="people", scale=scale, text="")
    seen = tuple(Face(left=0, top=0, right=10, bottom=10, score=0.99 - 0.01 * number) for number in range(count))
    return checked(Faces.make().answer(seen, ask), ask)


@pytest.mark.parametrize(
    ("scale", "answers"),
    [
        (YES_NO, [0, 1, 1, 1]),
        (NUMBER, [0, 1, 2, 7]),
        (Numeric(type="numeric", low=0, high=5), [0, 1, 2, 5]),
        (Points(type="points", points=4, first=0), [0, 1, 2, 3]),
        (FREE, [NONE, "person", "people", "people"]),
        (Tags(type="tags", tags=["Person", "animal"], open=False), [NONE, "Person", "Person", "Person"]),
        (Tags(type="tags", tags=["nobody", "people"], open=False), ["nobody", "people", "people", "people"]),
        (FreeText(type="text"), ["0 faces", "1 face", "2 faces", "7 faces"]),
        (Ordered(type="ordered", categories=["none", "one", "several"]), ["none", "one", "several", "several"]),
        (Ordered(type="ordered", categories=["0", "1", "2", "3+"]), ["0", "1", "2", "3+"]),
        (
            Categories(
                type="categories",
                categories=[Category(id="a", text={"en": "No people"}), Category(id="b", text={"en": "People"})],
            ),
            ["a", "b", "b", "b"],
        ),
    ],
)
def test_a_number_of_faces_on_a_scale(scale: Scale, answers: list[str | float]) -> None:
    for count, expected in zip((0, 1, 2, 7), answers, strict=True):
        result = faces_answer(count, scale)
        assert result.problem is None
        assert expected in (result.answer, result.value), (count, result)


def test_a_count_off_the_scale_says_so() -> None:
    assert "the scale begins at 1" in (faces_answer(0, Points(type="points", points=5)).problem or "")
    assert "held at the end" in (faces_answer(9, Points(type="points", points=5)).note or "")
    strange = faces_answer(2, Categories(type="categories", categories=["indoors", "outdoors"]))
    assert "is not among the answers of the scale" in (strange.problem or "")


def test_the_score_is_that_of_the_clearest_face() -> None:
    for scale in (YES_NO, NUMBER, FREE, FreeText(type="text")):
        assert faces_answer(3, scale).score == 0.99
        assert faces_answer(0, scale).score is None


def rows(*faces: dict[str, float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    out = np.zeros((len(faces), len(EXPRESSIONS)))
    for at, face in enumerate(faces):
        for name, share in face.items():
            out[at, EXPRESSIONS.index(name)] = share
    return out


def expression(
    seen: np.ndarray[tuple[int, int], np.dtype[np.float64]], scale: Scale, question: str = "q"
) -> Prediction:
    ask = Ask(question=question, scale=scale, text="")
    return checked(Expressions.make().answer(seen, ask), ask)


def test_expressions_of_every_face_or_of_the_largest() -> None:
    seen = rows({"happy": 0.7, "neutral": 0.3}, {"sad": 0.5, "happy": 0.4}, {"happy": 0.9}, {"angry": 0.3})
    tags = expression(seen, FREE)
    assert tags.answer == "happy;sad"
    assert tags.shares == {"happy": 0.9, "sad": 0.5}
    assert tags.note == "4 faces"
    assert expression(seen, FreeText(type="text")).answer == "happy"
    named = Categories(type="categories", categories=["Joy", "Sadness", "Fear", "Calm"])
    result = expression(seen, named)
    assert result.answer == "Joy"
    assert result.shares == {"Joy": 0.7, "Calm": 0.3, "Sadness": 0.0, "Fear": 0.0}
    assert expression(seen, YES_NO, "smiling").answer == "yes"
    assert "at least 0.4" in (expression(rows({"sad": 0.3, "angry": 0.25}), FREE).problem or "")


def test_no_face_is_none() -> None:
    closed = Categories(type="categories", categories=["happy", "sad"])
    for scale in (FREE, FreeText(type="text"), closed, YES_NO, NUMBER):
        ask = Ask(question="q", scale=scale, text="", none=True)
        result = checked(Expressions.make().answer(rows(), ask), ask)
        assert (result.answer, result.value, result.problem) == (NONE, None, None)
    assert expression(rows(), FREE).answer == NONE
    for scale in (closed, YES_NO, NUMBER):
        assert mentions(expression(rows(), scale).problem or "", "detected", "'none: true'")
    own = Categories(type="categories", categories=["happy", "no face"])
    assert expression(rows(), own).answer == "no face"


@pytest.mark.parametrize("wrong", ["faces[least=0.1]", "expressions[face=2]", "expressions[least=-1]"])
def test_options_have_limits(wrong: str) -> None:
    with pytest.raises(InputError, match="not a valid"):
        predictor_from(wrong)


@pytest.mark.slow
@pytest.mark.data
def test_photographs(pulled: Pulled, shared_data: Path) -> None:  # noqa: F811  # a fixture taken in by name
    for name in ("mtcnn", "fer"):
        pulled(name)
    names = {"Dog_attack_1": 1.0, "Zebra_1": 0.0, "Acorns_1": 0.0}
    paths = [shared_data / "oasis" / "images" / f"{name}.jpg" for name in names]
    if not all(path.is_file() for path in paths):
        pytest.skip("the OASIS pictures are not at hand")
    asks = (Ask(question="faces", scale=NUMBER, text=""), Ask(question="people", scale=YES_NO, text=""))
    cases = [Case(stimulus=path.stem, asks=asks, media=Media(path)) for path in paths]
    table = run(predictor_from("faces"), cases).table
    counts = table.filter(table["question"] == "faces")
    assert dict(zip(counts["stimulus"], counts["value"], strict=True)) == names
    predictor = predictor_from("expressions[least=0]")
    tags = [
        Case(stimulus=path.stem, asks=(Ask(question="facial_expression", scale=FREE, text=""),), media=Media(path))
        for path in paths
    ]
    looks = run(predictor, tags).table
    assert looks["answer"][0] in EXPRESSIONS
    assert looks["answer"].to_list()[1:] == [NONE, NONE]
    assert predictor.info.version == "facenet-pytorch==2.6.0, fer==25.10.3"
    assert pickle.loads(pickle.dumps(predictor)).identity == predictor.identity


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["faces", "expressions"])
def test_hostile_images_have_no_faces_or_say_why_not(pulled: Pulled, spec: str, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    for name in ("mtcnn", "fer"):
        pulled(name)
    written = [(name, *write_hostile(name, tmp_path)) for name in HOSTILE]
    cases = [
        Case(stimulus=name, asks=(Ask(question="q", scale=FREE, text=""),), media=Media(path))
        for name, path, _ in written
    ]
    table = run(predictor_from(spec), cases).table
    for (name, _, problem), answer, said in zip(written, table["answer"], table["problem"], strict=True):
        assert answer == (NONE if problem is None else None), (name, said)
        assert problem is None or problem in said
