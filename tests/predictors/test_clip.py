"""``clip`` on a tiny model with random weights, through the real loading code; the peer is the library itself."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.predictors import Ask, Case, Media, RunOptions, predictor_from, run
from heartfelt.predictors.measures.contrastive import ClipMatch
from heartfelt.streams import stream
from heartfelt.study.scales.scale import Categories, YesNo
from tests.predictors.tiny import write_tiny_clip

# They load libraries that take seconds.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("transformers")]

YES = YesNo(type="yes-no")
MIKELS = ["amusement", "awe", "contentment", "excitement", "anger", "disgust", "fear", "sadness"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_clip(tmp_path_factory.mktemp("clip") / "tiny")


@pytest.fixture(scope="module")
def clip(tiny: Path) -> ClipMatch:
    made = predictor_from(f"clip:{tiny}")
    assert isinstance(made, ClipMatch)
    return made


def picture(folder: Path, name: str = "a.png") -> Path:
    pixels = stream(6, name).integers(0, 256, (48, 64, 3), dtype="uint8")
    Image.fromarray(pixels).save(folder / name)
    return folder / name


def library_logits(folder: Path, path: Path, texts: list[str]) -> tuple[list[float], float]:
    """What the library itself makes of the pair."""
    import torch
    from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

    model: Any = CLIPModel.from_pretrained(folder)
    words = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    pixels = CLIPImageProcessorPil.from_pretrained(folder)(images=Image.open(path), return_tensors="pt")
    with torch.inference_mode():
        out = model(
            input_ids=words["input_ids"], attention_mask=words["attention_mask"], pixel_values=pixels["pixel_values"]
        )
    return out.logits_per_image[0].double().tolist(), math.exp(model.logit_scale.item())


def test_the_score_is_the_librarys_cosine(clip: ClipMatch, tiny: Path, tmp_path: Path) -> None:
    path = picture(tmp_path)
    texts = ["A quiet lake.", "An angry crowd in the street."]
    logits, scale = library_logits(tiny, path, texts)
    asks = tuple(Ask(question=text, scale=YES, text=text) for text in texts)
    result = clip.predict([Case(stimulus="a", asks=asks, media=Media(path))])[0]
    assert [each.score for each in result] == pytest.approx([logit / scale for logit in logits], abs=1e-5)
    assert abs(logits[0] - logits[1]) > 1e-3


def test_an_image_that_shows_nothing_has_a_note(clip: ClipMatch, tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), "navy").save(tmp_path / "navy.png")
    ask = Ask(question="fits", scale=YesNo(type="yes-no"), text="a calm sea", about={"media": "image"})
    blank, fine = (
        clip.predict([Case(stimulus="s", asks=(ask,), media=Media(path))])[0][0]
        for path in (tmp_path / "navy.png", picture(tmp_path))
    )
    assert "one colour" in (blank.note or "")
    assert fine.note is None


def test_eight_emotions_get_the_librarys_softmax(clip: ClipMatch, tiny: Path, tmp_path: Path) -> None:
    path = picture(tmp_path)
    logits, _ = library_logits(tiny, path, [f"An image that evokes {name}." for name in MIKELS])
    top = max(logits)
    weights = [math.exp(logit - top) for logit in logits]
    scale = Categories(type="categories", categories=list(MIKELS))
    ask = Ask(
        question="emotion",
        scale=scale,
        text="",
        words="What does it make you feel?",
        about={"media": "image", "emotion": "felt"},
    )
    result = clip.predict([Case(stimulus="a", asks=(ask,), media=Media(path))])[0][0]
    assert result.shares == pytest.approx(
        {name: weight / sum(weights) for name, weight in zip(MIKELS, weights, strict=True)}, abs=1e-4
    )
    assert result.answer == MIKELS[logits.index(top)]


def test_it_runs_and_bad_files_are_rows(clip: ClipMatch, tmp_path: Path) -> None:
    ask = Ask(question="q", scale=YES, text="A quiet lake.")
    (tmp_path / "text.png").write_text("no picture")
    whole = picture(tmp_path, "whole.png").read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    names = ["whole.png", "text.png", "half.png", "gone.png"]
    cases = [Case(stimulus=name, asks=(ask,), media=Media(tmp_path / name)) for name in names]
    table = run(clip, cases, tmp_path / "out", RunOptions(batch=4)).table
    assert table["ok"].to_list() == [True, False, False, False]
    problems = table["problem"].to_list()
    assert "no known image format" in problems[1]
    assert "truncated" in problems[2]
    assert "gone.png" in problems[3]


def test_it_travels(clip: ClipMatch, tmp_path: Path) -> None:
    case = Case(stimulus="a", asks=(Ask(question="q", scale=YES, text="Rain."),), media=Media(picture(tmp_path)))
    assert pickle.loads(pickle.dumps(clip)).predict([case]) == clip.predict([case])


def test_a_clap_folder_is_no_clip(tmp_path: Path) -> None:
    from tests.predictors.tiny import write_tiny_clap

    folder = write_tiny_clap(tmp_path / "clap")
    with pytest.raises(InputError, match=r"'clap'.*'clip'"):
        ClipMatch.make(str(folder))


TEXTS = [
    "Music that is very pleasant.",
    "Music that is very unpleasant.",
    "Music that is very sad.",
    "An image that is calm.",
    "An image that is clam.",
    "An image that is calm",
]


@pytest.mark.parametrize("kind", ["clip", "clap"])
def test_the_tiny_models_read_the_whole_text(kind: str, tmp_path: Path) -> None:
    """Texts that differ by a few letters, wherever these stand, give other vectors; the same text gives the same one."""
    from heartfelt.predictors.measures.contrastive import Matcher
    from tests.predictors.tiny import write_tiny_clap

    folder = (write_tiny_clip if kind == "clip" else write_tiny_clap)(tmp_path / "model")
    made = predictor_from(f"{kind}:{folder}")
    assert isinstance(made, Matcher)
    vectors = [made.embed_text(text)[0] for text in TEXTS]
    units = np.array([vector / np.linalg.norm(vector) for vector in vectors])
    cosines = units @ units.T
    assert cosines[~np.eye(len(TEXTS), dtype=bool)].max() < 0.99
    assert np.array_equal(made.embed_text(TEXTS[0])[0], vectors[0])


def test_another_text_gets_another_score(clip: ClipMatch, tmp_path: Path) -> None:
    asks = tuple(Ask(question=f"q{place}", scale=YES, text=text) for place, text in enumerate(TEXTS))
    scores = [p.score for p in clip.predict([Case(stimulus="a", asks=asks, media=Media(picture(tmp_path)))])[0]]
    assert len({round(score or 0.0, 4) for score in scores}) == len(TEXTS)
