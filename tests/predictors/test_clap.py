"""``clap`` on tiny models with random weights, through the real loading code; the peer is the library itself."""

from __future__ import annotations

import math
import pickle
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from heartfelt.errors import InputError, MissingPartError
from heartfelt.predictors import Ask, Case, Media, Prediction, predictor_from
from heartfelt.predictors.answers.texts import general_text
from heartfelt.predictors.measures.contrastive import ClapMatch, Vector, cut_windows
from heartfelt.predictors.weights.network import PullError
from heartfelt.streams import stream
from heartfelt.study.scales.scale import Categories, FreeText, Points, YesNo
from tests.facts import mentions
from tests.predictors.tiny import write_tiny_clap

# They load libraries that take seconds.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("transformers")]

RATE = 8_000
YES = YesNo(type="yes-no")
ABOUT = {"media": "audio", "emotion": "perceived"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_clap(tmp_path_factory.mktemp("clap") / "tiny")


@pytest.fixture(scope="module")
def clap(tiny: Path) -> ClapMatch:
    made = predictor_from(f"clap:{tiny}")
    assert isinstance(made, ClapMatch)
    return made


def clip(folder: Path, seconds: float, name: str = "a") -> tuple[Media, npt.NDArray[np.float32]]:
    samples = stream(5, name).normal(0, 0.1, round(seconds * RATE)).astype(np.float32)
    soundfile.write(folder / f"{name}.wav", samples, RATE, subtype="FLOAT")
    return Media(folder / f"{name}.wav"), samples


def asked(predictor: ClapMatch, media: Media, *asks: Ask) -> list[Prediction]:
    return list(predictor.predict([Case(stimulus="s", asks=asks, media=media)])[0])


def library_logits(folder: Path, samples: npt.NDArray[np.float32], texts: list[str]) -> Any:
    """What the library itself makes of the pair, from its own processor to its own logits."""
    import torch
    from transformers import ClapModel, ClapProcessor

    model: Any = ClapModel.from_pretrained(folder)
    processor = ClapProcessor.from_pretrained(folder)
    given = processor(text=texts, audio=samples, sampling_rate=RATE, padding=True, return_tensors="pt")
    with torch.inference_mode():
        return model(**given).logits_per_audio[0].double().numpy(), math.exp(model.logit_scale_a.item())


def test_the_score_is_the_librarys_cosine(clap: ClapMatch, tiny: Path, tmp_path: Path) -> None:
    media, samples = clip(tmp_path, 0.7)
    texts = ["Speech audio in which the speaker conveys Anger.", "Rain.", "日本語"]
    logits, scale = library_logits(tiny, samples, texts)
    result = asked(clap, media, *(Ask(question=f"q{i}", scale=YES, text=text) for i, text in enumerate(texts)))
    assert [each.score for each in result] == pytest.approx(list(logits / scale), abs=1e-5)
    assert len({round(each.score or 0.0, 4) for each in result}) == 3
    assert all(each.value is None and each.problem is None for each in result)


def test_what_is_doubtful_about_a_sound_is_said(clap: ClapMatch, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    samples = clip(tmp_path, 1.0)[1]
    soundfile.write(tmp_path / "opposite.wav", np.stack([samples, -samples], 1), RATE // 2)
    ask = Ask(question="fits", scale=YES, text="a calm song", about=ABOUT)
    silent, opposite, fine = (
        asked(clap, Media(tmp_path / f"{name}.wav"), ask)[0] for name in ("silent", "opposite", "a")
    )
    assert (silent.score is not None, silent.note) == (True, "the clip is silent; the score is meaningless")
    assert "only the loudest channel was used" in (opposite.note or "")
    assert "4,000 samples per second" in (opposite.note or "")
    assert fine.note is None


def test_categories_get_the_librarys_softmax(clap: ClapMatch, tiny: Path, tmp_path: Path) -> None:
    media, samples = clip(tmp_path, 1.0)
    scale = Categories(type="categories", categories=["joy", "grief", "calm"])
    logits, _ = library_logits(tiny, samples, [f"Music that conveys {c}." for c in ("joy", "grief", "calm")])
    expected = np.exp(logits - logits.max())
    expected /= expected.sum()
    (result,) = asked(clap, media, Ask(question="mood", scale=scale, text="", words="Which mood?", about=ABOUT))
    assert result.shares == pytest.approx(dict(zip(("joy", "grief", "calm"), expected, strict=True)), abs=1e-4)
    best = ("joy", "grief", "calm")[int(expected.argmax())]
    assert (result.answer, result.value) == (best, scale.codes()[best])


def test_points_with_words_at_both_ends_get_a_value(clap: ClapMatch, tiny: Path, tmp_path: Path) -> None:
    media, samples = clip(tmp_path, 1.0)
    words = {1: "unpleasant", 9: "pleasant"}
    logits, _ = library_logits(tiny, samples, [f"Music that is {word}." for word in words.values()])
    share = 1 / (1 + math.exp(logits[0] - logits[1]))
    scale = Points(type="points", points=9, anchors=dict(words))
    general = Ask(
        question="g", scale=scale, text=general_text(scale, "How pleasant?", ABOUT), words="How pleasant?", about=ABOUT
    )
    anchored, bare, same, fit = asked(
        clap,
        media,
        Ask(question="v", scale=scale, text="", words="How pleasant?", about=ABOUT),
        Ask(question="w", scale=Points(type="points", points=9), text="Pleasant music."),
        general,
        Ask(
            question="f",
            scale=scale,
            text="A sad song with a slow beat",
            words="Does it fit its description?",
            about=ABOUT,
        ),
    )
    assert same == anchored
    assert fit.value is None
    assert fit.score is not None
    assert anchored.value == pytest.approx(1 + 8 * share, abs=1e-3)
    assert bare.value is None
    assert -1 <= (bare.score or math.nan) <= 1


def test_a_long_clip_is_the_mean_of_its_windows(clap: ClapMatch, tmp_path: Path) -> None:
    media, samples = clip(tmp_path, 2.3)
    parts = [samples[:RATE], samples[RATE : 2 * RATE], samples[-RATE:]]
    result = cut_windows(samples, RATE)
    assert len(result) == 3
    for each, part in zip(result, parts, strict=True):
        np.testing.assert_array_equal(each, part)
    vectors = []
    for place, part in enumerate(parts):
        soundfile.write(tmp_path / f"p{place}.wav", part, RATE, subtype="FLOAT")
        each = clap.embed_media((tmp_path / f"p{place}.wav").read_bytes())
        vectors.append(each / np.linalg.norm(each))
    np.testing.assert_allclose(clap.embed_media(media.content), np.mean(vectors, axis=0), atol=1e-6)


@pytest.mark.parametrize("length", [1, RATE - 1, RATE, RATE + 1, 2 * RATE])
def test_windows_cover_the_clip(length: int) -> None:
    samples = np.arange(length, dtype=np.float32)
    windows = cut_windows(samples, RATE)
    assert set(np.concatenate(windows)) == set(samples)
    assert all(window.size == min(length, RATE) for window in windows)


@pytest.mark.parametrize("fusion", [False, True])
def test_nothing_is_drawn_at_random(tmp_path: Path, fusion: bool) -> None:
    made = ClapMatch.make(str(write_tiny_clap(tmp_path / "model", fusion=fusion)))
    media, _ = clip(tmp_path, 3.4)
    results = []
    for seed in (1, 2, 3):
        np.random.seed(seed)  # noqa: NPY002  # what the library would draw from
        results.append(made.embed_media(media.content))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_what_else_is_asked_changes_nothing(clap: ClapMatch, tmp_path: Path) -> None:
    media, _ = clip(tmp_path, 1.5)
    other, _ = clip(tmp_path, 0.4, "b")
    ask = Ask(question="q", scale=YES, text="A short text.")
    alone = asked(clap, media, ask)[0].score
    fresh = ClapMatch.make(clap.where)
    long = Ask(question="r", scale=YES, text="A much longer text that stands in the same batch as the short one.")
    together = fresh.predict(
        [Case(stimulus="b", asks=(long, ask), media=other), Case(stimulus="a", asks=(long, ask), media=media)]
    )
    assert together[1][1].score == alone


class Counting(ClapMatch):
    """Counts what is embedded."""

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        super().__init__(where, options)
        self.texts: list[str] = []
        self.media = 0

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        self.texts.append(text)
        return super().embed_text(text)

    def embed_media(self, content: bytes) -> Vector:
        self.media += 1
        return super().embed_media(content)


def test_every_text_and_every_medium_is_embedded_once(tiny: Path, tmp_path: Path) -> None:
    made = Counting(str(tiny), {})
    texts = ["one", "two", "three"]
    asks = tuple(Ask(question=f"q{place}", scale=YES, text=text) for place, text in enumerate(texts))
    cases = [Case(stimulus=name, asks=asks, media=clip(tmp_path, 0.5, name)[0]) for name in "abcd"]
    for _ in range(2):
        made.predict(cases)
    assert made.texts == texts
    assert made.media == 4


def test_what_cannot_be_answered_says_why(clap: ClapMatch, tmp_path: Path) -> None:
    media, _ = clip(tmp_path, 0.5)
    (answer,) = asked(clap, media, Ask(question="t", scale=FreeText(type="text"), text="", words="Describe it."))
    assert mentions(answer.problem, "texts", "media")
    (cut,) = asked(clap, media, Ask(question="q", scale=YES, text="word " * 200))
    assert mentions(cut.note, "160 tokens", "text")
    (tmp_path / "bad.wav").write_text("no sound")
    with pytest.raises(InputError, match="it holds text"):
        asked(clap, Media(tmp_path / "bad.wav"), Ask(question="q", scale=YES, text="x"))


def test_the_identity_is_the_content(clap: ClapMatch, tiny: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(tiny, tmp_path / "moved"))
    assert ClapMatch.make(str(moved)).identity == clap.identity
    assert ClapMatch.make(str(tiny), {"temperature": "0.5"}).identity != clap.identity
    other = write_tiny_clap(tmp_path / "other", seed=1)
    assert ClapMatch.make(str(other)).identity != clap.identity


def test_it_travels_and_answers_the_same(clap: ClapMatch, tmp_path: Path) -> None:
    media, _ = clip(tmp_path, 0.6)
    ask = Ask(question="q", scale=YES, text="Rain.")
    away = pickle.loads(pickle.dumps(clap))
    assert away.spec == clap.spec
    assert asked(away, media, ask) == asked(clap, media, ask)
    assert len(pickle.dumps(clap)) < 1_000


def test_a_relative_folder_is_found_from_elsewhere(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny.parent)
    packed = pickle.dumps(ClapMatch.make("tiny"))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(packed).where == str(tiny.resolve())


@pytest.mark.parametrize("temperature", ["0", "-1", "nan", "warm"])
def test_a_temperature_must_be_above_zero(tiny: Path, temperature: str) -> None:
    with pytest.raises(InputError, match="is not a valid temperature"):
        ClapMatch.make(str(tiny), {"temperature": temperature})


def test_a_low_temperature_makes_the_shares_sharp(tiny: Path, tmp_path: Path) -> None:
    media, _ = clip(tmp_path, 0.6)
    ask = Ask(
        question="m", scale=Categories(type="categories", categories=["joy", "grief"]), text="", words="", about=ABOUT
    )
    top = []
    for temperature in ("100", "0.0001"):
        made = ClapMatch.make(str(tiny), {"temperature": temperature})
        top.append(max((asked(made, media, ask)[0].shares or {}).values()))
    assert top[0] == pytest.approx(0.5, abs=0.01)
    assert top[1] == pytest.approx(1.0, abs=1e-6)


def test_what_is_no_model_is_told_with_a_fix(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        ClapMatch.make(str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"no config\.json"):
        ClapMatch.make(str(tmp_path))
    broken = Path(shutil.copytree(tiny, tmp_path / "broken"))
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5_000])
    with pytest.raises(InputError, match="does not load"):
        ClapMatch.make(str(broken))


def test_missing_weights_are_not_made_up(tiny: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    short = Path(shutil.copytree(tiny, tmp_path / "short"))
    weights = load_file(short / "model.safetensors")
    weights.pop("audio_projection.linear1.weight")
    save_file(weights, short / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"weights.*missing.*audio_projection\.linear1\.weight"):
        ClapMatch.make(str(short))


def test_without_a_connection_a_hub_name_is_told_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(PullError, match=r"HF_HUB_OFFLINE.*set") as message:
        ClapMatch.make("nobody/has-this-model")
    assert "models--nobody--has-this-model" in message.value.fix


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_a_missing_library_names_the_extra(tiny: Path, monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingPartError, match=r"\[transformers\]"):
        ClapMatch.make(str(tiny))


def test_a_device_that_is_not_there_is_told(tiny: Path) -> None:
    with pytest.raises(InputError, match=r"device.*'abacus'"):
        ClapMatch.make(str(tiny), {"device": "abacus"})
