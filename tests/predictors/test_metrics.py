"""Predictors of measured scores: what they answer about files, on scales of studies, and against references."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from PIL import Image

import heartfelt
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.media.sound import resample
from heartfelt.predictors import PREDICTORS, Ask, Case, Media, Prediction, Predictor, predictor_from, run
from heartfelt.predictors.measures.audio.against_reference import aligned
from heartfelt.predictors.measures.metrics import MetricScore, on_scale
from heartfelt.predictors.networks.speech import aecmos, plcmos
from heartfelt.predictors.weights import Model
from heartfelt.stimuli.synthesis.speech import render_voice
from heartfelt.streams import stream
from heartfelt.study.scales.scale import Numeric, Points, Tags, YesNo
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.weights.conftest import Pulled, _cache, pulled  # noqa: F401  # fixtures

RATE = 16_000
ANY, UNIT, NINE = (Numeric(type="numeric"), Numeric(type="numeric", low=0, high=1), Points(type="points", points=9))
OFFLINE = {"faces": "image", "expressions": "image", "objects": "image", "pixels": "image", "brisque": "image"}
ASKED = {
    "speech-mos": ["distillmos", "sig", "bak", "ovrl", "p808"],
    "speech-mos:dnsmos": ["sig", "bak", "ovrl", "p808"],
    "speech-mos:pdnsmos": ["pdnsmos-ovrl", "pdnsmos-sig", "pdnsmos-bak"],
    "speech-mos:plcmos": ["plcmos"],
    "speech-mos:sig": ["sig"],
    "measure": ["duration", "loudness"],
    "measure:loudness": ["loudness"],
    "speech-activity": ["share", "seconds"],
    "notes": ["density", "polyphony", "pitch", "range", "mode", "key"],
    "notes:mode": ["mode"],
    "pitch": ["median", "range", "voiced"],
    "music-tags": ["tags"],
    "stoi": ["stoi", "estoi"],
    "brisque": ["brisque"],
    "objects": ["objects"],
    "faces": ["faces"],
    "expressions": ["expressions"],
    "pixels": ["brightness", "contrast", "saturation", "colourfulness", "warmth", "palette"],
    "pixels:warmth": ["warmth"],
}


def voice(seconds: float = 3.0, rate: int = RATE) -> npt.NDArray[np.float32]:
    return render_voice(6, 4, system="Parlour", seconds=seconds, rate=rate, seed=3, name="q")


def stored(path: Path, samples: npt.NDArray[np.float32], rate: int = RATE) -> Media:
    soundfile.write(path, np.clip(samples, -1, 1), rate)
    return Media(path)


def hiss(samples: npt.NDArray[np.float32], share: float) -> npt.NDArray[np.float32]:
    noise = stream(7, "hiss").standard_normal(len(samples)) * share
    return (samples + noise).astype(np.float32)


@check_all("spec", ASKED)
def test_what_is_answered_about_files_without_a_study(spec: str) -> None:
    predictor = predictor_from(spec)
    asks = predictor.file_asks()
    assert [ask.question for ask in asks] == ASKED[spec]
    assert predictor.media_kinds == (OFFLINE.get(predictor.name, "audio"),)
    assert all(isinstance(ask.scale, Numeric | Tags) and ask.words for ask in asks)


def _example(kind: type[Predictor]) -> Predictor | None:
    try:
        return kind.make("", {})
    except HeartfeltError:
        return None


@check_all("name", PREDICTORS.names())
def test_whoever_answers_about_files_says_which_files_it_reads(name: str) -> None:
    predictor = _example(PREDICTORS[name])
    if predictor is None or not predictor.file_asks():
        return
    assert set(predictor.media_kinds) <= {"audio", "image"}
    assert predictor.media_kinds
    assert len({ask.question for ask in predictor.file_asks()}) == len(predictor.file_asks())


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["measure", "pitch", "speech-activity", "notes", "music-tags", "speech-mos:dnsmos"])
def test_every_file_question_has_an_answer(spec: str, pulled: Pulled, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    predictor = predictor_from(spec)
    for name in {"speech-activity": ["silero-vad"], "notes": ["basic-pitch"], "music-tags": ["musicnn-msd"]}.get(
        spec, ["dnsmos"]
    ):
        pulled(name)
    case = Case(stimulus="clip", asks=tuple(predictor.file_asks()), media=stored(tmp_path / "clip.wav", voice(10)))
    table = run(predictor, [case]).table
    assert table["ok"].all(), table["problem"].to_list()
    assert all(v is not None or a is not None for v, a in table.select("value", "answer").iter_rows())
    again = pickle.loads(pickle.dumps(predictor))
    assert run(again, [case]).table["value"].to_list() == table["value"].to_list()


LESS_IS_BETTER, ENDLESS = MetricScore("a fault", 100, 0), MetricScore("a count")


@pytest.mark.parametrize(
    ("score", "name", "scale", "expected"),
    [
        (LESS_IS_BETTER, "fault", ANY, Prediction(value=25)),
        (LESS_IS_BETTER, "quality", ANY, Prediction(value=75)),
        (LESS_IS_BETTER, "quality", UNIT, Prediction(value=0.75, note="moved linearly from 100 to 0 onto 0 to 1")),
        (LESS_IS_BETTER, "fault", NINE, Prediction(value=7, note="moved linearly from 100 to 0 onto 1 to 9")),
        (ENDLESS, "fault", ANY, Prediction(value=25)),
        (ENDLESS, "quality", ANY, Prediction(score=25)),
        (ENDLESS, "quality", NINE, Prediction(score=25)),
    ],
)
def test_a_score_on_a_scale(score: MetricScore, name: str, scale: Numeric | Points, expected: Prediction) -> None:
    assert on_scale(25.0, score, Ask(question=name, scale=scale, text=""), "fault") == expected


@pytest.mark.parametrize("score", [LESS_IS_BETTER, ENDLESS])
def test_what_a_number_cannot_answer_is_a_problem(score: MetricScore) -> None:
    for scale in (YesNo(type="yes-no"), Tags(type="tags"), Numeric(type="numeric", low=1)):
        assert "another kind of answer" in (
            on_scale(1.0, score, Ask(question="q", scale=scale, text=""), "fault").problem or ""
        )
    assert (
        on_scale(None, score, Ask(question="q", scale=ANY, text=""), "fault", ("nothing sounds",)).problem
        == "nothing sounds"
    )


@pytest.mark.slow
@pytest.mark.data
def test_of_two_images_the_less_distorted_is_predicted_to_be_chosen(
    pulled: Pulled,  # noqa: F811  # a fixture taken in by name
    shared_data: Path,
    tmp_path: Path,
) -> None:
    """On a pair each image is asked for a number: a score of which less is better must be turned round."""
    pulled("brisque")
    plain = shared_data / "oasis" / "images" / "Beach_8.jpg"
    with Image.open(plain) as image:
        pixels = np.asarray(image.convert("RGB"))
    noisy = np.clip(pixels + 60 * stream(1, "n").normal(size=pixels.shape), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(tmp_path / "noisy.png")
    values = []
    for path in (plain, tmp_path / "noisy.png"):
        case = Case(
            stimulus=path.stem,
            asks=(Ask(question="better", scale=ANY, text=""), Ask(question="brisque", scale=ANY, text="")),
            media=Media(path),
        )
        better, raw = predictor_from("brisque").predict([case])[0]
        assert better.value is not None
        assert raw.value is not None
        assert better.value == pytest.approx(100 - raw.value)
        values.append(better.value)
    assert values[0] > values[1] + 10


@pytest.mark.parametrize("delay", [0, 1234, -800])
def test_a_copy_that_is_late_or_early_is_moved_onto_the_reference(delay: int) -> None:
    clean = voice()
    late = np.concatenate([np.zeros(max(delay, 0), np.float32), clean[max(-delay, 0) :]])
    original, copy, notes = aligned(clean, np.float32(-0.5) * late, RATE)
    np.testing.assert_allclose(copy, -0.5 * original, atol=1e-6)
    assert bool(delay) == any("onto the reference" in note for note in notes)


def test_copies_of_another_length_are_cut_or_refused() -> None:
    clean = voice()
    original, copy, notes = aligned(clean, clean[: -RATE // 5], RATE)
    assert len(original) == len(copy) == len(clean) - RATE // 5
    assert mentions(notes[0], "0.20")
    with pytest.raises(InputError, match=r"last 3.00 s and 1.50 s"):
        aligned(clean, clean[: len(clean) // 2], RATE)
    other = stream(9, "other").normal(size=len(clean)).astype(np.float32)
    assert aligned(clean, other, RATE)[2] == ()


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["stoi", "stoi:estoi", "visqol:speech", "visqol:audio"])
def test_the_worse_the_copy_the_lower_the_score_against_the_reference(spec: str, tmp_path: Path) -> None:
    if spec.startswith("visqol"):
        pytest.importorskip("visqol")
    predictor, clean = predictor_from(spec), voice()
    reference = stored(tmp_path / "clean.wav", voice(rate=22_050), 22_050)
    if spec == "visqol:audio":  # made for codecs: less and less of the treble is left
        takes = [resample(resample(clean, RATE, rate), rate, RATE) for rate in (RATE, 6_000, 2_000)]
    else:
        takes = [hiss(clean, share) for share in (0.0, 0.02, 0.3)]
    cases = [
        Case(
            stimulus=f"{at}",
            asks=(Ask(question="q", scale=UNIT, text=""),),
            media=stored(tmp_path / f"{at}.wav", take),
            reference=reference,
        )
        for at, take in enumerate(takes)
    ]
    table = run(predictor, cases).table
    values = table["value"].to_list()
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2] + 0.05


def test_without_a_reference_the_row_says_how_to_give_one(tmp_path: Path) -> None:
    case = Case(
        stimulus="clip", asks=(Ask(question="q", scale=UNIT, text=""),), media=stored(tmp_path / "clip.wav", voice(1))
    )
    table = run(predictor_from("stoi"), [case]).table
    assert table["ok"].to_list() == [False]
    assert "no reference is known" in table["problem"][0]
    assert "column 'reference'" in table["problem"][0]


@pytest.mark.slow
def test_another_reference_is_another_answer(tmp_path: Path) -> None:
    clean, media = voice(), stored(tmp_path / "copy.wav", hiss(voice(), 0.02))
    predictor = predictor_from("stoi")
    answers = [
        predictor.predict(
            [
                Case(
                    stimulus="c",
                    asks=(Ask(question="stoi", scale=ANY, text=""),),
                    media=media,
                    reference=stored(tmp_path / name, samples),
                )
            ]
        )
        for name, samples in (("a.wav", clean), ("b.wav", hiss(clean, 0.5)))
    ]
    assert answers[0][0][0].value != answers[1][0][0].value


def echo_files(folder: Path) -> tuple[Media, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    near, far = voice(4), voice(4)[::-1].copy()
    microphone = (near + 0.5 * far).astype(np.float32)
    for name, samples in (("far", far), ("mic", microphone)):
        (folder / name).mkdir()
        stored(folder / name / "take.wav", samples)
    return stored(folder / "take.wav", near), far, microphone


@pytest.mark.slow
def test_aecmos_compares_three_signals(pulled: Pulled, tmp_path: Path) -> None:  # noqa: F811  # a fixture taken in by name
    model = pulled("aecmos")
    clean, far, microphone = echo_files(tmp_path)
    options = f"microphone={tmp_path / 'mic'},far_end={tmp_path / 'far'}"
    predictor = predictor_from(f"speech-mos[{options},talk=double]:aecmos")
    asks = tuple(predictor.file_asks())
    assert [ask.question for ask in asks] == ["aecmos-echo", "aecmos-other"]
    uncancelled = stored(tmp_path / "take2.wav", microphone)
    for name in ("far", "mic"):
        (tmp_path / name / "take2.wav").write_bytes((tmp_path / name / "take.wav").read_bytes())
    table = run(
        predictor, [Case(stimulus="clean", asks=asks, media=clean), Case(stimulus="echo", asks=asks, media=uncancelled)]
    ).table
    echo = table.filter(table["question"] == "aecmos-echo")["value"].to_list()
    assert echo[0] > echo[1] + 0.5
    expected = aecmos(voice(4), far, microphone, talk="double", model=model)
    assert echo[0] == pytest.approx(expected.scores["aecmos-echo"], abs=0.02)
    by_reference = predictor_from(f"speech-mos[microphone={tmp_path / 'mic'},talk=double]:aecmos")
    assert by_reference.needs_reference
    case = Case(stimulus="clean", asks=asks, media=clean, reference=Media(tmp_path / "far" / "take.wav"))
    assert by_reference.predict([case])[0][0].value == pytest.approx(echo[0])
    missing = run(by_reference, [Case(stimulus="clean", asks=asks, media=clean)]).table["problem"][0]
    assert "what the loudspeaker played" in missing


def test_aecmos_says_what_it_needs(tmp_path: Path) -> None:
    for spec, words in (
        ("speech-mos:aecmos", "microphone's signal"),
        (f"speech-mos[microphone={tmp_path},talk=triple]:aecmos", "who speaks"),
        (f"speech-mos[microphone={tmp_path / 'gone'}]:aecmos-echo", "There is no folder"),
        (f"speech-mos[microphone={tmp_path}]:sig", "belongs to aecmos"),
    ):
        with pytest.raises(InputError, match=words):
            predictor_from(spec)


@pytest.mark.slow
def test_plcmos_hears_lost_packets_and_says_the_same_twice(pulled: Pulled) -> None:  # noqa: F811  # a fixture taken in by name
    model: Model = pulled("plcmos")
    clean = voice(6)
    lost = clean.copy()
    for start in range(2_000, len(lost), 4_000):
        lost[start : start + 1_600] = 0
    scores = [plcmos(take, model=model).scores["plcmos"] for take in (clean, lost, lost)]
    assert scores[0] > scores[1] + 0.3
    assert scores[1] == scores[2]


DOUBTED = ("pitch", "speech-activity", "notes", "music-tags", "speech-mos:plcmos", "speech-mos:dnsmos")


def answers(spec: str, files: list[Path]) -> list[dict[str, str | float | None]]:
    """The rows about the first question, in the order of the files."""
    predictor = predictor_from(spec)
    question = predictor.file_asks()[0].question
    return list(heartfelt.predict(files, predictor, questions=[question]).iter_rows(named=True))


@pytest.mark.slow
@pytest.mark.parametrize("spec", DOUBTED)
def test_sound_too_short_to_measure_has_a_reason(
    spec: str,
    pulled: Pulled,  # noqa: F811  # a fixture taken in by name
    tmp_path: Path,
) -> None:
    networks = getattr(predictor_from(spec), "_networks", None)
    for network in networks.names if networks else ():
        pulled(network)
    lengths = (1, 2, 10, 100, 400, 700, 1_600, 8_000)
    files = [stored(tmp_path / f"{n:05}.wav", voice()[8_000 : 8_000 + n]).path for n in lengths]
    for length, row in zip(lengths, answers(spec, files), strict=True):
        if not row["ok"]:
            assert re.search(r"needs at least 0\.\d+ s|no note sounds|nothing has a pitch", str(row["problem"]))
        elif length < RATE // 20:
            assert "the clip lasts" in str(row["warning"])


@pytest.mark.slow
@pytest.mark.parametrize("spec", DOUBTED)
def test_notes_say_what_is_doubtful_about_a_file(
    spec: str,
    pulled: Pulled,  # noqa: F811  # a fixture taken in by name
    tmp_path: Path,
) -> None:
    networks = getattr(predictor_from(spec), "_networks", None)
    for network in networks.names if networks else ():
        pulled(network)
    clip = voice(5)[::4]
    soundfile.write(tmp_path / "opposite.wav", np.stack([clip, -clip], 1), 4_000)
    soundfile.write(tmp_path / "fine.wav", np.stack([voice(5), voice(5)], 1), RATE)
    opposite, fine = answers(spec, [tmp_path / "opposite.wav", tmp_path / "fine.wav"])
    note = str(opposite["warning"] or opposite["problem"])
    assert "only the loudest channel was used" in note
    assert ("4,000 samples per second" in note) == (spec != "pitch")
    assert "channel" not in str(fine["warning"])
    assert "samples per second" not in str(fine["warning"])


def test_references_are_doubted_too(tmp_path: Path) -> None:
    clip = voice(3, 8_000)
    soundfile.write(tmp_path / "copy.wav", np.stack([clip, -clip], 1), 8_000)
    table = heartfelt.predict(
        tmp_path / "copy.wav", "stoi:stoi", reference=stored(tmp_path / "clean.wav", clip, 8_000).path
    )
    (note,) = table["warning"]
    assert note.startswith("the channels cancel each other")
    assert mentions(note, "reference", "file", "8,000 samples")


@pytest.mark.parametrize("frames", [0, 1, 1_599])
def test_what_is_too_short_for_plcmos_is_refused_before_its_network_is_asked(frames: int) -> None:
    with pytest.raises(InputError, match=r"needs at least 0\.1 s|no sound"):
        plcmos(np.zeros(frames, np.float32), model=cast("Model", None))


@pytest.mark.parametrize("spec", ["stoi:stoi", "stoi:estoi", "visqol:audio", "visqol:speech"])
def test_nothing_is_compared_with_a_reference_that_is_silent_or_broken(spec: str, tmp_path: Path) -> None:
    if spec.startswith("visqol"):
        pytest.importorskip("visqol")
    clip = stored(tmp_path / "clip.wav", voice()).path
    silent = stored(tmp_path / "silent.wav", np.zeros(3 * RATE, np.float32)).path
    (tmp_path / "broken.wav").write_text("no sound")
    problems = [
        heartfelt.predict(clip, spec, reference=reference)["problem"][0]
        for reference in (silent, tmp_path / "broken.wav")
    ]
    assert problems == [
        f"{silent}, the reference, is silent: nothing can be compared with it.",
        f"{tmp_path / 'broken.wav'}, the reference: The sound cannot be read as audio: it holds text, beginning 'no sound'.",
    ]
    (row,) = heartfelt.predict(silent, spec, reference=clip).iter_rows(named=True)
    assert (row["value"], row["warning"]) == (0.0, "the clip is silent") or row["problem"] == "the clip is silent"
