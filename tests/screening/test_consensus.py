from __future__ import annotations

import importlib

import numpy as np
import pytest

from heartfelt.screening.view.consensus import AnswerVarianceParts, consensus, variance_parts
from heartfelt.stats.columns.triples import Floats, Ints
from tests.screening.planted import noise

SOURCE = (
    "balanced nested analysis of variance: E[MS answers] = e, E[MS stimuli] = e + n s, E[MS cells] = e + n s + n m c"
    " (Searle, Casella and McCulloch 1992, section 3.3), computed here from group means"
)


def balanced(cells: int, stimuli: int, answers: int, seed: int) -> tuple[Ints, Ints, Floats]:
    rng = noise(seed)
    cell = np.repeat(np.arange(cells), stimuli * answers)
    stimulus = np.repeat(np.arange(cells * stimuli), answers)
    value = rng.normal(0, 1.2, cells)[cell] + rng.normal(0, 0.7, cells * stimuli)[stimulus]
    return stimulus, cell, value + rng.normal(0, 1.5, value.size)


def test_variance_parts_match_the_balanced_formulas() -> None:
    c, m, n = 9, 6, 5
    stimulus, cell, value = balanced(c, m, n, 3)
    table = value.reshape(c, m, n)
    ms_answer = table.var(axis=2, ddof=1).mean()
    ms_stimulus = n * table.mean(axis=2).var(axis=1, ddof=1).mean()
    ms_cell = n * m * table.mean(axis=(1, 2)).var(ddof=1)
    parts = variance_parts(stimulus, cell, value)
    assert parts.answer == pytest.approx(ms_answer)
    assert parts.stimulus == pytest.approx((ms_stimulus - ms_answer) / n)
    assert parts.cell == pytest.approx((ms_cell - ms_stimulus) / (n * m))


def test_variance_parts_recover_what_was_planted() -> None:
    result = [variance_parts(*balanced(40, 10, 6, seed)) for seed in range(10)]
    assert np.mean([part.cell for part in result]) == pytest.approx(1.44, rel=0.15)
    assert np.mean([part.stimulus for part in result]) == pytest.approx(0.49, rel=0.1)
    assert np.mean([part.answer for part in result]) == pytest.approx(2.25, rel=0.03)


def ratings(seed: int, raters: int = 25, stimuli: int = 60) -> tuple[Ints, Ints, Ints, Floats]:
    rng = noise(seed)
    cell_of = np.arange(stimuli) % 6
    rater = np.repeat(np.arange(raters), 20)
    stimulus = np.concatenate([rng.permutation(stimuli)[:20] for _ in range(raters)])
    value = rng.normal(0, 1, 6)[cell_of[stimulus]] + rng.normal(0, 1, stimuli)[stimulus]
    return rater, stimulus, cell_of, value + rng.normal(0, 1, raters)[rater] + rng.normal(0, 1, rater.size)


def test_means_of_the_others_leave_the_rater_out() -> None:
    rater, stimulus, cell_of, value = ratings(1)
    result = consensus(rater, stimulus, cell_of, np.zeros(rater.size, dtype=np.int64), value)
    for row in range(0, rater.size, 17):
        others = (stimulus == stimulus[row]) & (rater != rater[row])
        assert result.count[row] == others.sum()
        assert result.others[row] == pytest.approx(value[others].mean() if others.any() else np.nan, nan_ok=True)


def test_a_prediction_does_not_see_the_rater_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("heartfelt.screening.view.consensus")
    # The variance parts are the panel's; with these held, no answer of the rater may reach their predictions.
    monkeypatch.setattr(module, "variance_parts", lambda *_: AnswerVarianceParts(1.0, 0.5, 2.0))
    rater, stimulus, cell_of, value = ratings(2)
    channel = np.zeros(rater.size, dtype=np.int64)
    before = consensus(rater, stimulus, cell_of, channel, value)
    mine = rater == 7
    changed = value.copy()
    changed[mine] = noise(5).normal(100, 50, mine.sum())
    after = consensus(rater, stimulus, cell_of, channel, changed)
    assert after.prediction[mine] == pytest.approx(before.prediction[mine], abs=1e-9)
    assert after.others[mine] == pytest.approx(before.others[mine], nan_ok=True)
    assert np.abs(after.prediction[~mine] - before.prediction[~mine]).max() > 1


def test_a_prediction_is_the_shrunken_mean_of_the_others() -> None:
    rater, stimulus, cell_of, value = ratings(4)
    centred = value - np.array([value[rater == r].mean() for r in range(25)])[rater]
    parts = variance_parts(stimulus, cell_of[stimulus], centred)
    result = consensus(rater, stimulus, cell_of, np.zeros(rater.size, dtype=np.int64), value)
    for row in (0, 113, 299):
        others = rater != rater[row]
        same = centred[others & (stimulus == stimulus[row])]
        cell = centred[others & (cell_of[stimulus] == cell_of[stimulus[row]])]
        noise_of_cell = parts.answer / cell.size + parts.stimulus / max(cell.size / (500 / 60), 1)
        about_cell = cell.mean() * parts.cell / (parts.cell + noise_of_cell)
        trust = parts.stimulus / (parts.stimulus + parts.answer / same.size)
        assert result.prediction[row] == pytest.approx(about_cell + trust * (same.mean() - about_cell))


def test_predictions_beat_the_plain_means_where_answers_are_few() -> None:
    rng = noise(8)
    gains = []
    for _ in range(5):
        stimuli, raters = 300, 60
        cell_of = np.arange(stimuli) % 12
        true = rng.normal(0, 1.2, 12)[cell_of] + rng.normal(0, 0.4, stimuli)
        rater = np.repeat(np.arange(raters), 20)
        stimulus = np.concatenate([rng.permutation(stimuli)[:20] for _ in range(raters)])
        value = true[stimulus] + rng.normal(0, 1.5, rater.size)
        result = consensus(rater, stimulus, cell_of, np.zeros(rater.size, dtype=np.int64), value)
        known = result.count > 0
        ours = np.corrcoef(result.prediction[known], true[stimulus][known])[0, 1]
        plain = np.corrcoef(result.others[known], true[stimulus][known])[0, 1]
        gains.append(ours - plain)
    assert min(gains) > 0.05


def test_channels_are_predicted_apart() -> None:
    rater, stimulus, cell_of, value = ratings(3)
    alone = consensus(rater, stimulus, cell_of, np.zeros(rater.size, dtype=np.int64), value)
    twice = consensus(
        np.tile(rater, 2),
        np.tile(stimulus, 2),
        cell_of,
        np.repeat([0, 1], rater.size),
        np.concatenate([value, -3 * value]),
    )
    assert twice.prediction[: rater.size] == pytest.approx(alone.prediction)
    assert twice.prediction[rater.size :] == pytest.approx(-3 * alone.prediction)
