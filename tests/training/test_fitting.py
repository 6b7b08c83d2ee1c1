"""Heads: closed forms against another library, planted truth, the same bytes from the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.predictors.trained.embeddings import EmbeddingBlock
from heartfelt.predictors.trained.heads.head import KINDS, Head
from heartfelt.serialization import from_json, to_json
from heartfelt.streams import stream
from heartfelt.training.heads.fitting import SETTINGS, Rows, ScaledRows, choose, fit, folds, predictions

BLOCKS = (EmbeddingBlock("a", 3), EmbeddingBlock("b", 7))


def rows(n: int = 120, *, curved: bool = False) -> Rows:
    rng = stream(1, "rows")
    x = rng.normal(0, [1, 2, 3, 1, 1, 1, 5, 1, 1, 1], (n, 10))
    y = 5 + 0.8 * x[:, 0] - 0.3 * x[:, 1] + rng.normal(0, 0.2, n)
    if curved:
        y = 5 + 2 * np.tanh(x[:, 0] * x[:, 3]) + rng.normal(0, 0.1, n)
    weight = rng.uniform(0.5, 1.5, n)
    return Rows(
        x=x.astype(np.float32), y=y, weight=weight, spread=np.full(n, 1.0), blocks=BLOCKS, points=np.arange(1.0, 10.0)
    )


@pytest.mark.slow
def test_ridge_is_the_textbook_one() -> None:
    """SOURCE: scikit-learn's Ridge with sample weights on the same scaled columns."""
    data = rows()
    view = ScaledRows(data)
    from sklearn.linear_model import Ridge

    theirs = Ridge(alpha=3.0).fit(view.z, data.y, sample_weight=data.weight)
    ours = fit("ridge", view, (3.0,))
    assert ours.answer(data.x) == pytest.approx(theirs.predict(view.z), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_and_answers_as_it_was_tried(kind: str) -> None:
    data = rows()
    view = ScaledRows(data)
    setting = SETTINGS[kind][2 if kind in ("ridge", "kernel") else 0]
    head = fit(kind, view, setting)
    assert np.corrcoef(head.answer(data.x), data.y)[0, 1] > 0.9
    tried = predictions(kind, view, view.everything, view.everything)[setting]
    assert head.answer(data.x) == pytest.approx(tried, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_stored_and_read_it_says_the_same(kind: str) -> None:
    data = rows()
    head = fit(kind, ScaledRows(data), SETTINGS[kind][0]).stored()
    again = from_json(Head, to_json(head)).with_arrays("q", head.to_arrays("q"))
    assert again.answer(data.x) == pytest.approx(head.answer(data.x), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_along_a_line_every_kind_answers_on_it(kind: str) -> None:
    data = rows()
    head = fit(kind, ScaledRows(data), SETTINGS[kind][0])
    assert head.along(-1.5, 1.4).answer(data.x) == pytest.approx(-1.5 + 1.4 * head.answer(data.x), abs=1e-9)


def test_a_penalty_that_pulls_together_is_undone_by_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one strong penalty to choose from, left-out predictions still have the labels' slope and mean."""
    monkeypatch.setitem(SETTINGS, "ridge", ((100.0,),))
    data = rows()
    chosen = choose(data, None, ["ridge"])
    plain = fit("ridge", ScaledRows(data), (100.0,)).answer(data.x)
    slope, offset = np.polyfit(chosen.left_out, data.y, 1, w=np.sqrt(data.weight))
    assert (slope, offset) == pytest.approx((1.0, 0.0), abs=1e-6)
    assert np.std(chosen.head.answer(data.x)) > 1.5 * np.std(plain)


def test_a_head_that_says_nothing_is_left_as_it_is() -> None:
    data = rows()
    data.x[:] = 1.0
    chosen = choose(data, None, ["ridge"])
    level = float(data.weight @ data.y / data.weight.sum())
    assert chosen.head.answer(data.x) == pytest.approx(np.full(data.y.size, level), abs=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bytes(kind: str) -> None:
    data = rows()
    first, second = (fit(kind, ScaledRows(data), SETTINGS[kind][0]).to_arrays("q") for _ in range(2))
    assert {key: value.tobytes() for key, value in first.items()} == {
        key: value.tobytes() for key, value in second.items()
    }


def test_a_constant_column_says_nothing_and_blocks_count_alike() -> None:
    data = rows()
    data.x[:, 5] = 7.0
    view = ScaledRows(data)
    assert view.factor[5] == 0.0
    sizes = (view.z**2 * (data.weight / data.weight.sum())[:, None]).sum(axis=0)
    assert sizes[:3].sum() == pytest.approx(1.0, abs=1e-6)
    assert sizes[3:].sum() == pytest.approx(6 / 7, abs=1e-6)


def test_what_lies_beyond_training_is_taken_at_its_edge() -> None:
    data = rows()
    head = fit("ridge", ScaledRows(data), (0.1,))
    wild = data.x[:1].copy()
    wild[0, 0] = 1e6
    assert abs(head.answer(wild)[0] - 5) < 6


@pytest.mark.slow
def test_a_curved_truth_is_left_to_a_head_that_bends() -> None:
    data = rows(240, curved=True)
    chosen = choose(data, None, ("ridge", "kernel", "mlp"))
    assert chosen.kind in ("kernel", "mlp")
    assert chosen.tried[chosen.kind] < chosen.tried["ridge"]


def test_folds_are_even_and_named() -> None:
    each, other = folds(np.arange(103), 5, 0, "inner"), folds(np.arange(103), 5, 0, "outer")
    assert np.bincount(each).tolist() == [21, 21, 21, 20, 20]
    assert (each != other).any()
    assert (each == folds(np.arange(103), 5, 0, "inner")).all()
