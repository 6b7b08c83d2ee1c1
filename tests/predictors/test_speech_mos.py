"""``speech-mos`` with the real networks, and its numbers on other scales than theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from heartfelt.errors import InputError
from heartfelt.media.sound import decode
from heartfelt.predictors import Ask, Case, Media, predictor_from, run
from heartfelt.predictors.measures.audio.speech_mos import JUDGES, SpeechMos
from heartfelt.predictors.measures.metrics import MetricScore, on_scale
from heartfelt.predictors.networks.speech import distillmos, dnsmos
from heartfelt.predictors.weights import Model
from heartfelt.stimuli.synthesis.speech import render_voice
from heartfelt.streams import stream
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, YesNo
from tests.facts import mentions
from tests.predictors.weights.conftest import Pulled, _cache, pulled  # noqa: F401  # fixtures

MOS = Points(type="points", points=5)
OPINION = MetricScore("a mean opinion score", 1, 5)
NINE = Points(type="points", points=9)


def takes(folder: Path) -> list[Media]:
    """Clean speech, and the same under loud noise."""
    voice = render_voice(6, 4, system="Parlour", seconds=5, rate=16_000, seed=3, name="q")
    noise = 0.3 * stream(7, "noise").standard_normal(len(voice))
    for name, samples in (("clean", voice), ("noisy", voice + noise)):
        soundfile.write(folder / f"{name}.wav", np.clip(samples, -1, 1), 16_000)
    return [Media(folder / f"{name}.wav") for name in ("clean", "noisy")]


def scored(judge: str, media: Media, model: Model) -> float:
    samples = decode(media.path, 16_000)
    network = distillmos if judge == "distillmos" else dnsmos
    return network(samples, model=model).scores[judge]


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["distillmos", "ovrl"])
def test_it_says_what_the_networks_say(pulled: Pulled, judge: str, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    model = pulled(JUDGES[judge].model)
    cases = [
        Case(
            stimulus=m.path.name,
            asks=(Ask(question="mos", scale=MOS, text=""), Ask(question="nine", scale=NINE, text="")),
            media=m,
        )
        for m in takes(tmp_path)
    ]
    table = run(predictor_from(f"speech-mos:{judge}"), cases).table
    expected = [scored(judge, media, model) for media in takes(tmp_path)]
    assert table["ok"].all()
    mos, nine = (table.filter(table["question"] == name)["value"].to_list() for name in ("mos", "nine"))
    assert mos == pytest.approx([min(max(each, 1.0), 5.0) for each in expected], abs=1e-6)
    assert nine == pytest.approx([1 + 2 * (each - 1) for each in mos], abs=1e-6)
    assert mos[0] > mos[1]
    assert mentions(table.filter(table["question"] == "nine")["note"][0], "1", "5 onto", "9")


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["sig", "bak", "p808"])
def test_every_score_of_dnsmos_can_be_asked(pulled: Pulled, judge: str, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    media = takes(tmp_path)[0]
    result = SpeechMos.make(judge).predict(
        [Case(stimulus="clean", asks=(Ask(question="mos", scale=MOS, text=""),), media=media)]
    )[0][0]
    assert result.value == pytest.approx(scored(judge, media, pulled("dnsmos")), abs=1e-6)


@pytest.mark.slow
def test_bad_media_are_rows(pulled: Pulled, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    pulled("distillmos")
    (tmp_path / "text.wav").write_text("no sound")
    cases = [
        Case(stimulus=name, asks=(Ask(question="mos", scale=MOS, text=""),), media=Media(tmp_path / name))
        for name in ("text.wav", "gone.wav")
    ]
    table = run(predictor_from("speech-mos"), cases).table
    assert table["ok"].to_list() == [False, False]
    assert "it holds text" in table["problem"][0]


@pytest.mark.parametrize(
    ("scale", "score", "value", "note"),
    [
        (MOS, 3.25, 3.25, None),
        (Numeric(type="numeric", low=1, high=5), 3.25, 3.25, None),
        (Points(type="points", points=5, first=0), 3.0, 2.0, "moved linearly from 1 to 5 onto 0 to 4"),
        (NINE, 2.0, 3.0, "moved linearly from 1 to 5 onto 1 to 9"),
        (Numeric(type="numeric", low=0, high=100), 4.5, 87.5, "moved linearly from 1 to 5 onto 0 to 100"),
        (MOS, 5.2, 5.0, "held at the end of the scale (the model gave 5.200)"),
        (MOS, 0.9, 1.0, "held at the end of the scale (the model gave 0.900)"),
    ],
)
def test_the_score_on_a_scale(scale: Scale, score: float, value: float, note: str | None) -> None:
    result = on_scale(score, OPINION, Ask(question="q", scale=scale, text=""), "mos")
    assert result.value == pytest.approx(value)
    assert result.note == note


@pytest.mark.parametrize(
    "scale",
    [
        YesNo(type="yes-no"),
        FreeText(type="text"),
        Categories(type="categories", categories=["a", "b"]),
        Ordered(type="ordered", categories=["a", "b"]),
        Numeric(type="numeric", low=1),
    ],
)
def test_a_question_without_two_ends_is_not_answered(scale: Scale) -> None:
    result = on_scale(3.0, OPINION, Ask(question="q", scale=scale, text=""), "mos")
    assert result.value is None
    assert "between two ends" in (result.problem or "")


def test_an_unknown_score_is_told_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"score.*'dnsmoss'") as message:
        SpeechMos.make("dnsmoss")
    assert "distillmos" in message.value.fix


def test_the_identity_tells_scores_and_models_apart() -> None:
    assert len({SpeechMos.make(judge).identity for judge in JUDGES}) == len(JUDGES)


def test_a_model_that_cannot_be_had_is_told_in_every_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    cases = [
        Case(stimulus=m.path.name, asks=(Ask(question="mos", scale=MOS, text=""),), media=m) for m in takes(tmp_path)
    ]
    table = run(predictor_from("speech-mos"), cases).table
    assert table["ok"].to_list() == [False, False]
    assert all("HEARTFELT_OFFLINE is set" in problem for problem in table["problem"])
