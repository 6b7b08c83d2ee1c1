"""Ceilings: planted truth with a perfect predictor, real data with known answers, cell means, categories."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.noise_ceiling import METRICS, ceiling
from heartfelt.stats.reliability import icc
from heartfelt.stats.reliability.categories import (
    concentration,
    human,
    noise_ceiling,
    score,
    shares_of_plurality,
)

SOURCE = "what a predictor that knows the simulated truth scores; AImoclips with dense REML by Nelder-Mead; by hand"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def study(
    rng: np.random.Generator, items: int = 240, raters: int = 40, cells: int = 12, noisy: float = 0.0
) -> tuple[Ints, Ints, Floats, Ints, Floats]:
    """Ratings (2 to 8 per item) of items in cells; returns rater, item, value, cell of each item and true values."""
    counts = rng.integers(2, 9, items)
    item = np.repeat(np.arange(items), counts)
    rater = np.concatenate([rng.permutation(raters)[:n] for n in counts])
    cell = np.arange(items) % cells
    true = rng.normal(0, 0.9, cells)[cell] + rng.normal(0, 0.5, items)
    slope = np.where(rng.random(raters) < noisy, 0.0, 1.0)
    value = slope[rater] * true[item] + rng.normal(0, 0.5, raters)[rater] + rng.normal(0, 1.1, item.size)
    return rater, item, value, cell, true


def labels(item: Ints, value: Floats) -> Floats:
    return np.asarray(np.bincount(item, value) / np.bincount(item))


def off_cell(x: Floats, cell: Ints) -> Floats:
    return np.asarray(x - (np.bincount(cell, x) / np.bincount(cell))[cell])


def test_ceilings_are_what_a_perfect_predictor_reaches() -> None:
    rng = np.random.default_rng(0)
    reached: dict[str, list[float]] = {"correlation": [], "rmse": [], "mae": [], "within": []}
    told: dict[str, list[float]] = {name: [] for name in reached}
    for _ in range(30):
        rater, item, value, cell, true = study(rng)
        label = labels(item, value)
        reached["correlation"].append(np.corrcoef(true, label)[0, 1])
        reached["within"].append(np.corrcoef(off_cell(true, cell), off_cell(label, cell))[0, 1])
        noise = label - true - (label - true).mean()
        reached["rmse"].append(float(np.sqrt(np.mean(noise**2))))
        reached["mae"].append(float(np.mean(np.abs(noise))))
        for metric in ("correlation", "rmse", "mae"):
            found = ceiling(rater, item, value, cell=cell[item], metric=metric)
            told[metric].append(float(found.overall))
            if metric == "correlation":
                told["within"].append(float(found.within_cells))
    for name in reached:
        tolerance = 0.05 if name == "within" else 0.03
        assert np.mean(told[name]) == pytest.approx(np.mean(reached[name]), rel=tolerance), name


@pytest.mark.parametrize("noisy", [0.0, 0.3])
def test_correlation_intervals_cover(noisy: float) -> None:
    # Given the cells: item variance is the mean product of two raters' slopes times that of the true values.
    rng = np.random.default_rng(1)
    keep = 1.0 - noisy
    inside, within, runs = 0, 0, 100
    for _ in range(runs):
        rater, item, value, cell, true = study(rng, noisy=noisy)
        spread = float(np.mean(1.0 / np.bincount(item)))
        means = np.bincount(cell, true) / np.bincount(cell)
        variance = 0.25 + means.var() - 0.25 / 20
        error = 0.25 + 1.21 + (keep - keep**2) * variance
        truth = np.sqrt(keep**2 * variance / (keep**2 * variance + error * spread))
        truth_within = np.sqrt(keep**2 * 0.25 / (keep**2 * 0.25 + error * spread))
        found = ceiling(rater, item, value, cell=cell[item])
        for e, target in ((found.overall, truth), (found.within_cells, truth_within)):
            assert e.low is not None
            assert e.high is not None
            inside += e is found.overall and e.low <= target <= e.high
            within += e is found.within_cells and e.low <= target <= e.high
    assert 0.89 <= inside / runs <= 1.0
    assert 0.89 <= within / runs <= 1.0


def test_the_square_of_the_ceiling_is_the_reliability_of_the_labels() -> None:
    rng = np.random.default_rng(2)
    item, rater = (a.ravel() for a in np.indices((60, 8)))
    value = rng.normal(size=60)[item] + rng.normal(0, 0.5, 8)[rater] + rng.normal(size=item.size)
    found = ceiling(rater, item, value)
    forms = icc(rater, item, value)
    assert float(found.overall) ** 2 == pytest.approx(float(forms.icc2k), abs=1e-6)
    assert found.ratings_per_item == pytest.approx(8)
    holed = ceiling(rater[5:], item[5:], value[5:])
    counts = np.bincount(item[5:], minlength=60)
    assert holed.ratings_per_item == pytest.approx(1 / np.mean(1 / counts[counts > 0]))


@pytest.mark.data
def test_aimoclips(shared_data: Path) -> None:
    ratings = pl.read_csv(shared_data / "aimoclips" / "ratings_metadata.csv")
    clips = pl.read_csv(shared_data / "aimoclips" / "clips_metadata.csv").select(
        "audio_file", "model", "emotion"
    )
    table = ratings.join(clips, on="audio_file")
    expected = {"valence": (0.8387, 0.5248, 0.7466, 0.7861), "arousal": (0.8613, 0.5049, 0.7932, 0.8247)}
    for name, (overall, within, cell_means, in_sample) in expected.items():
        found = ceiling(
            table["user"],
            table["audio_file"],
            table[name],
            cell=(table["model"], table["emotion"]),
            group=table["model"],
        )
        assert float(found.overall) == pytest.approx(overall, abs=5e-4)
        assert float(found.within_cells) == pytest.approx(within, abs=5e-4)
        assert float(found.cell_means) == pytest.approx(cell_means, abs=5e-4)
        assert float(found.cell_means_in_sample) == pytest.approx(in_sample, abs=5e-4)
        assert set(found.groups) == {"AudioLDM2", "MusicGen", "Mustango", "StableAudio", "Suno", "Udio"}
        assert found.overall.counts == {"ratings": 6162, "items": 991, "raters": 111}
        assert found.overall.low is not None
        assert found.overall.low < overall


def test_cell_means_and_single_raters_by_hand() -> None:
    # Cells A (labels 1, 2, 6) and B (labels 4, 8): means of the others are 4, 3.5, 1.5 and 8, 4.
    item = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    value = [0, 2, 1, 3, 5, 7, 3, 5, 7, 9]
    cell = {1: "A", 2: "A", 3: "A", 4: "B", 5: "B"}
    found = ceiling([1, 2] * 5, item, value, cell=cell, metric="rmse")
    label, others = np.array([1, 2, 6, 4, 8]), np.array([4, 3.5, 1.5, 8, 4])
    assert float(found.cell_means) == pytest.approx(np.sqrt(np.mean((label - others) ** 2)))
    means = np.array([3, 3, 3, 6, 6])
    assert float(found.cell_means_in_sample) == pytest.approx(np.sqrt(np.mean((label - means) ** 2)))
    assert float(found.human) == pytest.approx(2.0)
    correlation = ceiling([1, 2] * 5, item, value, cell=cell)
    assert float(correlation.cell_means) == pytest.approx(np.corrcoef(label, others)[0, 1])
    absolute = ceiling([1, 2] * 5, item, value, cell=cell, metric="mae")
    assert float(absolute.cell_means) == pytest.approx(np.mean(np.abs(label - others)))


def test_groups_are_ceilings_of_their_own_ratings() -> None:
    rater, item, value, cell, _ = study(np.random.default_rng(3))
    group = np.array(["left", "right"])[cell[item] % 2]
    found = ceiling(rater, item, value, group=group, cell=cell[item])
    for name in ("left", "right"):
        alone = ceiling(rater[group == name], item[group == name], value[group == name])
        assert found.groups[name].value == pytest.approx(float(alone.overall), abs=1e-9)
    assert found.to_json()["groups"][0]["group"] in ("left", "right")


def categorical(rng: np.random.Generator, strength: float) -> tuple[Ints, Ints, list[str], Floats, Ints]:
    """Three categories; each item's long-run shares are Dirichlet."""
    items, raters = 500, 60
    counts = rng.integers(3, 9, items)
    item = np.repeat(np.arange(items), counts)
    rater = np.concatenate([rng.permutation(raters)[:n] for n in counts])
    p = rng.dirichlet(strength * np.array([0.5, 0.3, 0.2]), items)
    answer = (rng.random((item.size, 1)) > p[item].cumsum(1)).sum(1)
    return rater, item, [("calm", "joy", "sad")[a] for a in answer], p, counts


@pytest.mark.parametrize(
    ("metric", "strength"), [("accuracy", 0.5), ("accuracy", 8.0), ("balanced_accuracy", 2.0)]
)
def test_category_ceiling_is_what_knowing_the_long_run_reaches(metric: str, strength: float) -> None:
    rng = np.random.default_rng(int(10 * strength))
    rater, item, answer, p, counts = categorical(rng, strength)
    found = ceiling(rater, item, answer, metric=metric)  # type: ignore[arg-type]  # parametrised
    best = p.argmax(1)
    confusion = np.zeros((3, 3))
    for _ in range(40):
        fresh = shares_of_plurality(rng.multinomial(counts, p).astype(float))
        for c in range(3):
            confusion[:, c] += fresh[best == c].sum(0)
    truth = score(confusion, metric)  # type: ignore[arg-type]  # parametrised
    assert truth is not None
    assert float(found.overall) == pytest.approx(truth, abs=0.035)
    assert found.overall.low is not None
    assert found.overall.high is not None
    assert found.overall.low - 0.02 < truth < found.overall.high + 0.02
    assert float(found.human) < float(found.overall)


def test_categories_by_hand() -> None:
    # Item 1: a a b, item 2: b b, item 3: a b. One rating against the others' plurality, ties shared:
    # item 1: a vs (a, b) 1/2, a vs (a, b) 1/2, b vs (a, a) 0; item 2: 1, 1; item 3: 0, 0. Together 3 of 7.
    item = np.array([0, 0, 0, 1, 1, 2, 2])
    category = np.array([0, 0, 1, 1, 1, 0, 1])
    counts = np.array([[2.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    assert human(item, category, counts, "accuracy") == pytest.approx(3 / 7)
    base, strength = concentration(counts)
    assert base == pytest.approx([3 / 7, 4 / 7])
    # Pairs that agree: 1 of 3 in item 1, 1 of 1 in item 2, 0 of 1 in item 3: 2 of 5; by chance 25/49.
    assert strength == pytest.approx(1e6, rel=1e-3)
    found = ceiling([1, 2, 3, 1, 2, 1, 2], item + 1, ["a", "a", "b", "b", "b", "a", "b"], metric="accuracy")
    assert float(found.human) == pytest.approx(3 / 7)
    assert found.within_cells.why_missing == "no cells were given"


def test_unanimous_categories_have_a_high_ceiling_and_no_spread() -> None:
    counts = np.array([[5.0, 0.0], [0.0, 5.0], [5.0, 0.0]])
    told = noise_ceiling(counts, "accuracy", 10_000, np.random.default_rng(0))
    assert told is not None
    assert told > 0.99


def test_same_seed_same_numbers() -> None:
    rater, item, value, cell, _ = study(np.random.default_rng(4))
    one, other = (ceiling(rater, item, value, cell=cell[item], seed=3) for _ in range(2))
    assert one == other
    assert ceiling(rater, item, value, cell=cell[item], seed=4).human.low != one.human.low
    counts = np.array([[3.0, 1.0], [1.0, 4.0], [2.0, 2.0]])
    told = {noise_ceiling(counts, "accuracy", 5000, np.random.default_rng(s)) for s in (0, 0, 1)}
    assert len(told) == 2


@pytest.mark.parametrize("metric", METRICS)
def test_edges(metric: str) -> None:
    options = {"metric": metric}
    empty = ceiling([], [], [], **options)  # type: ignore[arg-type]  # parametrised
    assert empty.overall.why_missing == "there are no ratings"
    json.dumps(empty.to_json(), allow_nan=False)
    one = ceiling([1, 1, 1], [1, 2, 3], [1, 2, 3], **options)  # type: ignore[arg-type]  # parametrised
    assert one.overall.value is None
    flat = ceiling([1, 2] * 3, [1, 1, 2, 2, 3, 3], [2] * 6, **options)  # type: ignore[arg-type]  # parametrised
    json.dumps(flat.to_json(), allow_nan=False)
    single = ceiling(range(2000), [i % 200 for i in range(2000)], [i % 7 for i in range(2000)], **options)  # type: ignore[arg-type]  # parametrised
    assert single.overall.value is not None or single.overall.why_missing


def test_items_that_do_not_differ_have_a_ceiling_of_zero() -> None:
    rng = np.random.default_rng(11)
    rater, item = (a.ravel() for a in np.indices((12, 60)))
    keep = rng.random(item.size) < 0.5
    found = ceiling(rater[keep], item[keep], np.where(item % 2 == rater % 2, 1.0, 2.0)[keep])
    assert found.overall.value == 0.0
    assert found.overall.low == 0.0


def test_cells_and_groups_are_checked() -> None:
    rater, item, value = [1, 2, 1, 2], ["x", "x", "y", "y"], [1, 2, 3, 5]
    with pytest.raises(InputError, match="'x' has more than one cell"):
        ceiling(rater, item, value, cell=["a", "b", "a", "a"])
    with pytest.raises(InputError, match="lacks item 'y'"):
        ceiling(rater, item, value, group={"x": 1})
    with pytest.raises(InputError, match="3 entries for 4 ratings"):
        ceiling(rater, item, value, cell=["a", "a", "b"])
    with pytest.raises(InputError, match=r"'correlatoin'(.|\n)*Did you mean 'correlation'"):
        ceiling(rater, item, value, metric="correlatoin")  # type: ignore[arg-type]  # the error is the point
    lone = ceiling(rater, item, value, cell=["a", "a", "b", "b"])
    assert lone.within_cells.why_missing == "every cell holds one item"
    assert lone.cell_means.why_missing == "too few items or no variance"


def test_missing_ratings_are_left_out_with_their_cells() -> None:
    rater, item, value, cell, _ = study(np.random.default_rng(6))
    holes = value.copy()
    holes[::9] = np.nan
    keep = np.isfinite(holes)
    found = ceiling(rater, item, holes, cell=cell[item])
    plain = ceiling(rater[keep], item[keep], value[keep], cell=cell[item][keep])
    assert found.within_cells.value == pytest.approx(float(plain.within_cells))
    assert found.overall.counts["left_out"] == int((~keep).sum())
