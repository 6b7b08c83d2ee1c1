"""Exact limits of models and of predicted conveyance: interval widths, thresholds, windows, tolerances."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.errors import DamagedError, InputError
from heartfelt.predictors import Ask, Prediction
from heartfelt.predictors.networks.mel import is_silent, mono
from heartfelt.predictors.networks.musicnn import PatchOptions
from heartfelt.predictors.networks.speech import MOST_WINDOWS, checked_speech, distillmos, dnsmos, spread
from heartfelt.predictors.trained.domain import COMPONENTS, NEIGHBOURS, QUANTILE, Domain, DomainDistance
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Features, windows
from heartfelt.predictors.trained.facts import OutOfFold
from heartfelt.predictors.trained.heads.head import Head, QuestionHead, growth, softmax
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.predictors.trained.predictor import WINDOWS, Doubt, answer_of, doubt_of, interval
from heartfelt.predictors.weights import MODELS
from heartfelt.predictors.weights.network import offline_switch
from heartfelt.predictors.weights.store import difference_from_reference, reference
from heartfelt.scoring.conveyance import Evidence, KnownError, predicted_conveyance
from heartfelt.serialization import to_json
from heartfelt.streams import stream
from heartfelt.study.scales.scale import Points
from tests.cases import check_all

NINE = Points(type="points", points=9)


def output(slope: float = 0.0, bounds: tuple[float, float] | None = (1.0, 9.0)) -> QuestionHead:
    size = EMBEDDINGS["music"]().size
    nothing = {name: np.zeros(size) for name in ("mean", "factor", "reach", "weight")}
    return QuestionHead(
        question="valence", head=Head("ridge", 5.0, nothing), bounds=bounds, half_width=1.5, confidence=0.9, slope=slope
    )


def test_an_interval_grows_up_to_four_times_and_never_shrinks() -> None:
    distances = np.array([-3.0, 0.0, 1.0, 100.0])
    assert growth(0.5, distances).tolist() == [1.0, 1.0, math.exp(0.5), 4.0]
    assert output(0.5).half(DomainDistance(1.0)) == pytest.approx(1.5 * math.exp(0.5), rel=1e-12)
    assert output(0.0).half(DomainDistance(50.0)) == 1.5


def test_an_interval_is_held_on_the_scale_and_is_the_whole_of_it_where_flagged() -> None:
    assert interval(output(), 5.0, Doubt(DomainDistance())) == (3.5, 6.5)
    assert interval(output(), 1.2, Doubt(DomainDistance())) == (1.0, 2.7)
    assert interval(output(), 8.0, Doubt(DomainDistance())) == (6.5, 9.0)
    assert interval(output(), 5.0, Doubt(DomainDistance(), "silent")) == (1.0, 9.0)
    assert interval(output(bounds=None), 5.0, Doubt(DomainDistance(), "silent")) == (3.5, 6.5)


def test_a_stimulus_is_foreign_beyond_either_limit_in_half_of_its_windows() -> None:
    rows = stream(1, "rows").normal(size=(60, 6)).astype(np.float32)
    assert (COMPONENTS, NEIGHBOURS, QUANTILE) == (24, 5, 0.98)
    domain = Domain.of(rows, [4, 2])
    near, outside = domain.parts(rows)
    known = domain.calibrated(near, outside)
    distance = known.distance_from(near)
    assert known.typical == pytest.approx(np.median(near, axis=0))
    assert known.distance_limit == pytest.approx(np.quantile(distance, 0.98), rel=1e-12)
    assert known.outside_limit == pytest.approx(np.quantile(outside, 0.98), rel=1e-12)
    far = np.full((1, 6), 50.0, np.float32)
    home = rows[np.argsort(distance)[:1]]
    assert not known.place(home).foreign
    assert known.place(far).foreign
    assert known.place(np.concatenate([home, far])).foreign
    assert not known.place(np.concatenate([home, home, far])).foreign
    assert known.place(far).outside == 1.0


def test_a_domain_without_its_arrays_is_refused() -> None:
    domain = Domain.of(stream(1, "rows").normal(size=(20, 3)).astype(np.float32), [3])
    assert domain.with_arrays(domain.arrays).hash == domain.hash
    with pytest.raises(ValueError, match="basis"):
        domain.with_arrays({key: array for key, array in domain.arrays.items() if key != "basis"})


def features(warnings: tuple[str, ...] = (), rows: int = 1) -> Features:
    size = EMBEDDINGS["music"]().size
    starts = np.arange(rows, dtype=np.float64) * 10.0
    return Features(np.zeros((rows, size), np.float32), starts, 10.0 * rows, warnings)


def model(**more: Any) -> TrainedModel:
    return TrainedModel(name="m", recipe="va-audio", embedding="music", outputs=(output(),), **more)


def test_doubts_have_their_flags() -> None:
    silent = "the clip is silent; its prediction is meaningless"
    short = "the clip lasts 1.00 s; the model was made from clips of ten seconds"
    assert doubt_of(model(), features(), Path("clip.wav")).flag is None
    assert doubt_of(model(), features((silent,)), Path("clip.wav")).flag == "silent"
    assert doubt_of(model(), features((short,)), Path("clip.wav")).flag == "too short"
    assert doubt_of(model(), features((silent, short)), Path("clip.wav")).flag == "silent; too short"


def test_a_training_stimulus_is_known_by_content_or_by_all_three_names() -> None:
    retained = OutOfFold("a.wav", {"valence": 7.0}, "A", "happy")
    known = model(out_of_fold={"hash": retained})
    assert known.out_of_fold_of("hash") is retained
    assert known.out_of_fold_of("other", "a.wav", "A", "happy") is retained
    for names in (("a.wav", "A", "sad"), ("a.wav", "B", "happy"), ("b.wav", "A", "happy"), ("a.wav", None, None)):
        assert known.out_of_fold_of("other", *names) is None
    assert known.output("VALENCE") is known.outputs[0]
    assert known.output("arousal") is None


def test_windows_are_answered_where_there_is_more_than_one() -> None:
    ask = Ask.number("valence", 1, 9)
    every = replace(ask, about={WINDOWS: "all"})
    out, doubt = model().outputs[0], Doubt(DomainDistance())
    single, double = (answer_of(every, out, features(rows=rows), doubt, None) for rows in (1, 2))
    assert single == Prediction(value=5.0, low=3.5, high=6.5)
    assert (double.samples, double.rate, double.start) == ((5.0, 5.0), 0.1, 5.0)
    assert answer_of(ask, out, features(rows=2), doubt, None).samples is None
    left_out = answer_of(every, out, features(rows=2), doubt, 7.0)
    assert (left_out.value, left_out.low, left_out.high, left_out.samples) == (7.0, 5.5, 8.5, None)
    assert (left_out.note or "").startswith("out of fold")


@pytest.mark.parametrize(
    ("seconds", "lengths"), [(14.9, [14.9]), (15.0, [10.0, 5.0]), (24.9, [10.0, 14.9]), (25.0, [10.0, 10.0, 5.0])]
)
def test_windows_are_ten_seconds_with_a_rest_of_at_least_five(seconds: float, lengths: list[float]) -> None:
    sound = np.zeros(round(seconds * 100), np.float32)
    assert [len(part) / 100 for part in windows(iter([sound]), 100)] == lengths


def test_softmax_and_heads_are_held_at_the_reach_of_training() -> None:
    assert softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    arrays = {"mean": 2.0, "factor": 3.0, "reach": 6.0, "weight": 0.5}
    head = Head("ridge", 1.0, {name: np.array([value]) for name, value in arrays.items()})
    assert head.answer(np.array([[3.0], [4.0], [40.0], [-40.0]])).tolist() == [2.5, 4.0, 4.0, -2.0]
    moved = head.along(1.0, 2.0)
    assert moved.answer(np.array([[3.0]])).tolist() == [6.0]


def test_long_speech_is_cut_to_forty_windows() -> None:
    assert MOST_WINDOWS == 40
    assert spread(list(range(40)), 5, 44).warnings == ()
    many = spread(list(range(41)), 5, 45)
    assert len(many.starts) == 40
    assert (many.starts[0], many.starts[-1]) == (0, 40)
    assert "40 windows" in many.warnings[0]


def test_speech_of_less_than_a_second_and_silence_have_warnings() -> None:
    tone = 0.5 * np.ones(16_000, np.float32)
    assert checked_speech(tone)[1] == ()
    assert "lasts 1.00 s" in checked_speech(tone[:15_999])[1][0]
    assert is_silent(0.00099)
    assert not is_silent(0.00101)
    assert "silent" in checked_speech(0.001 * tone)[1][0]
    with pytest.raises(InputError, match="0 samples"):
        checked_speech(tone[:0])
    wrongs: list[Any] = [tone[None], tone.astype(np.int16), np.array([np.nan], np.float32)]
    for wrong in wrongs:
        with pytest.raises(InputError):
            mono(wrong)


@pytest.mark.parametrize(("module", "window"), [(dnsmos, 144_160), (distillmos, 122_880)], ids=["dnsmos", "distillmos"])
def test_windows_of_speech_end_within_the_clip(module: Any, window: int) -> None:
    assert window == module.window
    for frames in (window, window + 1, 20 * 16_000, 30 * 16_000 + 7):
        result = module.windows(frames)
        assert result.starts[0] == 0
        assert result.starts[-1] + window <= frames
        assert all(0 < b - a <= 16_000 for a, b in zip(result.starts, result.starts[1:], strict=False))


@pytest.mark.parametrize("hop", [0.0, -1.0, 3_600.1, float("nan")])
def test_patches_are_up_to_an_hour_apart(hop: float) -> None:
    with pytest.raises(InputError):
        PatchOptions(hop).hop_frames()
    assert PatchOptions(3_600.0).hop_frames() == 225_000
    assert PatchOptions(1e-9).hop_frames() == 1
    assert PatchOptions().hop_frames() == 187


@pytest.mark.parametrize(
    ("value", "offline"), [("", False), ("0", False), ("No", False), (" false ", False), ("1", True), ("yes", True)]
)
def test_offline_is_a_switch(value: str, offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_OFFLINE", value)
    assert (offline_switch() is not None) == offline


class _Near:
    """Stands for a registered model whose answers are off by a share of the reference's size."""

    def __init__(self, name: str, off: float) -> None:
        self.name, self.off = name, off

    def reference_answers(self, _: object) -> dict[str, Any]:
        out = {}
        for key, values in reference(self.name)["outputs"].items():
            array = np.asarray(values, np.float64)
            out[key] = array + self.off * np.abs(array).max()
        return out


@check_all("name", list(MODELS))
def test_a_reference_is_met_up_to_its_tolerance(name: str) -> None:
    tolerance = float(reference(name)["tolerance"])
    near: Any = _Near(name, 0.99 * tolerance)
    assert difference_from_reference(near, near) == pytest.approx(0.99 * tolerance, rel=1e-6)
    far: Any = _Near(name, 1.01 * tolerance)
    with pytest.raises(DamagedError, match="reference outputs"):
        difference_from_reference(far, far)
    nowhere: Any = _Near(name, float("nan"))
    with pytest.raises(DamagedError):
        difference_from_reference(nowhere, nowhere)


ERROR = KnownError(0.5, 0.3, 0.8, 6)


def conveyed(errors: dict[str, KnownError] | None = None) -> Any:
    """Two systems, two intents, three clips a cell, predictions that are easy to add up."""
    stimuli, predictions = [], []
    for system, shift in (("A", 0.0), ("B", 1.0)):
        for intent, reference_ in (("happy", 8.0), ("sad", 2.0)):
            for place, gap in enumerate((-1.0, 0.0, 1.0)):
                name = f"{system}{intent}{place}"
                stimuli.append({"stimulus": name, "system": system, "intent": intent})
                predictions.append({"stimulus": name, "question": "valence", "value": reference_ + shift + gap})
    asked = Evidence(
        stimuli=pl.DataFrame(stimuli),
        predictions=pl.DataFrame(predictions),
        references={"valence": {"happy": 8.0, "sad": 2.0}},
        midpoints={"valence": 5.0},
        errors={"valence": ERROR} if errors is None else errors,
    )
    return to_json(predicted_conveyance(asked))


def test_the_interval_of_a_deviation_is_the_textbooks() -> None:
    rows = {row["system"]: row["deviation"] for row in conveyed()["deviation_by_system"]}
    t = float(scipy_stats.t.ppf(0.975, 5))
    # Within each cell of three the gaps are -1, 0, 1: a variance of 1.
    each = 1 / 6 + 0.25 + 0.09 / 2 + 0.64 / 6
    both = 1 / 12 + 0.25 / 2 + 0.09 / 4 + 0.64 / 12
    for system, middle, variance in (("A", 0.0, each), ("B", 1.0, each), ("all", 0.5, both)):
        result = rows[system]
        assert result["value"] == pytest.approx(middle, abs=1e-12)
        assert result["high"] - result["value"] == pytest.approx(t * math.sqrt(variance), rel=1e-9)
        assert result["value"] - result["low"] == pytest.approx(t * math.sqrt(variance), rel=1e-9)
        assert result["confidence"] == 0.95


def test_the_interval_of_a_slope_is_the_textbooks() -> None:
    rows = {row["system"]: row["slope"] for row in conveyed()["slopes"]}
    result = rows["A"]
    apart, spread_ = 3.0, 6 * 9.0
    own = 4 * apart**2 * 1.0 / spread_**2 * 6 / 4
    cells = 2 * (3 * apart / spread_) ** 2
    variance = own + 0.09 * cells + 0.64 / spread_
    half = float(scipy_stats.t.ppf(0.975, 1)) * math.sqrt(variance)
    assert result["value"] == pytest.approx(1.0, rel=1e-12)
    assert result["high"] - 1.0 == pytest.approx(half, rel=1e-9)
    assert 1.0 - result["low"] == pytest.approx(half, rel=1e-9)


def test_a_scale_that_is_asked_otherwise_is_reached_linearly() -> None:
    from heartfelt.predictors.trained.finetuned import onto

    assert onto(5.0, (1.0, 9.0), (0.0, 1.0)) == 0.5
    assert onto(1.0, (1.0, 9.0), (-4.0, 4.0)) == -4.0
    assert onto(3.3, None, (0.0, 1.0)) == 3.3
    assert onto(3.3, (1.0, 9.0), (1.0, 9.0)) == 3.3
    assert Ask(question="q", scale=NINE, text="").scale.bounds() == (1.0, 9.0)
