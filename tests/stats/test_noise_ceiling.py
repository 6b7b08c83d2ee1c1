"""Ceilings: planted truth with a perfect predictor, real data with known answers, cell means, categories."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.ceilings import _kernels_votes as kernels
from heartfelt.stats.ceilings.noise_ceiling import METRICS, ceiling
from heartfelt.stats.ceilings.number_ceiling import ceiling_from_means, level_noise
from heartfelt.stats.ceilings.yardsticks import category_score, one_rating, winners
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import icc, variance_components
from heartfelt.stats.reliability.rater_differences import gain_variance
from tests.facts import mentions

SOURCE = "what a predictor that knows the simulated truth scores; AImoclips with dense REML by Nelder-Mead; by hand"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def study(
    rng: np.random.Generator, items: int = 240, raters: int = 40, cells: int = 12, noisy: float = 0.0
) -> tuple[Ints, Ints, Floats, Ints, Floats]:
    """Ratings (2 to 8 per item) of items in cells; returns rater, item, value, cell of each item and true values."""
    rater, item, signal, cell, true = planted(rng, items, raters, cells, noisy)
    return rater, item, signal + rng.normal(0, 1.1, item.size), cell, true


def planted(
    rng: np.random.Generator, items: int, raters: int, cells: int, noisy: float
) -> tuple[Ints, Ints, Floats, Ints, Floats]:
    """The same before noise."""
    counts = rng.integers(2, 9, items)
    item = np.repeat(np.arange(items), counts)
    rater = np.concatenate([rng.permutation(raters)[:n] for n in counts])
    cell = np.arange(items) % cells
    true = rng.normal(0, 0.9, cells)[cell] + rng.normal(0, 0.5, items)
    slope = np.where(rng.random(raters) < noisy, 0.0, 1.0)
    return rater, item, slope[rater] * true[item] + rng.normal(0, 0.5, raters)[rater], cell, true


def labels(item: Ints, value: Floats) -> Floats:
    return np.asarray(np.bincount(item, value) / np.bincount(item))


def off_cell(x: Floats, cell: Ints) -> Floats:
    return np.asarray(x - (np.bincount(cell, x) / np.bincount(cell))[cell])


@pytest.mark.slow
def test_ceilings_are_what_a_perfect_predictor_reaches() -> None:
    rng = np.random.default_rng(0)
    reached: dict[str, list[float]] = {"correlation": [], "rmse": [], "mae": [], "within": []}
    messages: dict[str, list[float]] = {name: [] for name in reached}
    for _ in range(30):
        rater, item, value, cell, true = study(rng)
        label = labels(item, value)
        reached["correlation"].append(np.corrcoef(true, label)[0, 1])
        reached["within"].append(np.corrcoef(off_cell(true, cell), off_cell(label, cell))[0, 1])
        noise = label - true - (label - true).mean()
        reached["rmse"].append(float(np.sqrt(np.mean(noise**2))))
        reached["mae"].append(float(np.mean(np.abs(noise))))
        for metric in ("correlation", "rmse", "mae"):
            result = ceiling(rater, item, value, cell=cell[item], metric=metric)
            messages[metric].append(float(result.overall))
            if metric == "correlation":
                messages["within"].append(float(result.within_cells))
    for name in reached:
        tolerance = 0.05 if name == "within" else 0.03
        assert np.mean(messages[name]) == pytest.approx(np.mean(reached[name]), rel=tolerance), name


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [0.0, 0.3])
def test_correlation_intervals_cover(noisy: float) -> None:
    # The truth is what the true values are expected to score when these raters rate these items anew.
    rng = np.random.default_rng(1)
    inside, within, runs = 0, 0, 60
    for _ in range(runs):
        rater, item, signal, cell, true = planted(rng, 240, 40, 12, noisy)
        targets = []
        for _ in range(40):
            label = labels(item, signal + rng.normal(0, 1.1, item.size))
            pairs = (true, label), (off_cell(true, cell), off_cell(label, cell))
            targets.append([np.corrcoef(*pair)[0, 1] for pair in pairs])
        result = ceiling(rater, item, signal + rng.normal(0, 1.1, item.size), cell=cell[item])
        for e, target in zip((result.overall, result.within_cells), np.mean(targets, axis=0), strict=True):
            assert e.low is not None
            assert e.high is not None
            inside += e is result.overall and e.low <= target <= e.high
            within += e is result.within_cells and e.low <= target <= e.high
    assert 0.89 <= inside / runs <= 1.0
    assert 0.89 <= within / runs <= 1.0


def test_the_square_of_the_ceiling_is_the_reliability_of_the_labels() -> None:
    rng = np.random.default_rng(2)
    item, rater = (a.ravel() for a in np.indices((60, 8)))
    value = rng.normal(size=60)[item] + rng.normal(0, 0.5, 8)[rater] + rng.normal(size=item.size)
    result = ceiling(rater, item, value)
    forms = icc(rater, item, value)
    # The same raters everywhere shift all labels alike: their levels are no noise. Different gains are neither.
    d = as_ratings(rater, item, value)
    v, e = (float(getattr(variance_components(rater, item, value), name)) for name in ("item", "residual"))
    assert v / (v + e / 8) == pytest.approx(float(forms.icc3k), abs=1e-6)
    e -= gain_variance(d)
    assert float(result.overall) ** 2 == pytest.approx(v / (v + e / 8), abs=1e-6)
    assert float(result.overall) ** 2 >= float(forms.icc3k) - 1e-9
    assert level_noise(d, None) == pytest.approx(0.0, abs=1e-12)
    assert result.ratings_per_item == pytest.approx(8)
    holed = ceiling(rater[5:], item[5:], value[5:])
    counts = np.bincount(item[5:], minlength=60)
    assert holed.ratings_per_item == pytest.approx(1 / np.mean(1 / counts[counts > 0]))


@pytest.mark.data
def test_aimoclips(shared_data: Path) -> None:
    ratings = pl.read_csv(shared_data / "aimoclips" / "ratings_metadata.csv")
    clips = pl.read_csv(shared_data / "aimoclips" / "clips_metadata.csv").select("audio_file", "model", "emotion")
    table = ratings.join(clips, on="audio_file")
    # With every rater's level and gain as noise the ceilings by dense REML are .8387 and .8613; raters who rate
    # many clips shift and stretch their labels alike, which takes 5% of that noise away.
    expected = {"valence": (0.8404, 0.5283, 0.7466, 0.7861), "arousal": (0.8631, 0.5090, 0.7932, 0.8247)}
    for name, (overall, within, cell_means, in_sample) in expected.items():
        result = ceiling(
            table["user"],
            table["audio_file"],
            table[name],
            cell=(table["model"], table["emotion"]),
            group=table["model"],
        )
        assert float(result.overall) == pytest.approx(overall, abs=5e-4)
        assert float(result.within_cells) == pytest.approx(within, abs=5e-4)
        assert float(result.cell_means) == pytest.approx(cell_means, abs=5e-4)
        assert float(result.cell_means_in_sample) == pytest.approx(in_sample, abs=5e-4)
        assert set(result.groups) == {"AudioLDM2", "MusicGen", "Mustango", "StableAudio", "Suno", "Udio"}
        assert result.overall.counts == {"ratings": 6162, "items": 991, "raters": 111}
        assert result.overall.low is not None
        assert result.overall.low < overall
        parts = variance_components(table["user"], table["audio_file"], table[name])
        v, other = float(parts.item), float(parts.rater) + float(parts.residual)
        noise = float(np.mean(1.0 / table.group_by("audio_file").len()["len"].to_numpy()))
        assert np.sqrt(v / (v + other * noise)) == pytest.approx({"valence": 0.8387, "arousal": 0.8613}[name], abs=5e-4)


def test_cell_means_and_single_raters_by_hand() -> None:
    # Cells A (labels 1, 2, 6) and B (labels 4, 8): means of the others are 4, 3.5, 1.5 and 8, 4.
    item = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    value = [0, 2, 1, 3, 5, 7, 3, 5, 7, 9]
    cell = {1: "A", 2: "A", 3: "A", 4: "B", 5: "B"}
    result = ceiling([1, 2] * 5, item, value, cell=cell, metric="rmse")
    label, others = np.array([1, 2, 6, 4, 8]), np.array([4, 3.5, 1.5, 8, 4])
    assert float(result.cell_means) == pytest.approx(np.sqrt(np.mean((label - others) ** 2)))
    means = np.array([3, 3, 3, 6, 6])
    assert float(result.cell_means_in_sample) == pytest.approx(np.sqrt(np.mean((label - means) ** 2)))
    assert float(result.human) == pytest.approx(2.0)
    correlation = ceiling([1, 2] * 5, item, value, cell=cell)
    assert float(correlation.cell_means) == pytest.approx(np.corrcoef(label, others)[0, 1])
    absolute = ceiling([1, 2] * 5, item, value, cell=cell, metric="mae")
    assert float(absolute.cell_means) == pytest.approx(np.mean(np.abs(label - others)))


def test_groups_are_ceilings_of_their_own_ratings() -> None:
    rater, item, value, cell, _ = study(np.random.default_rng(3))
    group = np.array(["left", "right"])[cell[item] % 2]
    result = ceiling(rater, item, value, group=group, cell=cell[item])
    for name in ("left", "right"):
        alone = ceiling(rater[group == name], item[group == name], value[group == name])
        assert result.groups[name].value == pytest.approx(float(alone.overall), abs=1e-9)
    assert set(result.groups) == {"left", "right"}


def oracle_category_score(answer: Ints, best: Ints, categories: int, metric: str) -> float:
    """What knowing each item's long-run category scores on the labels that exist."""
    counts = np.zeros((answer.shape[0], categories))
    np.add.at(counts, (np.repeat(np.arange(answer.shape[0]), answer.shape[1]), answer.ravel()), 1)
    label = winners(counts)
    confusion = np.zeros((categories, categories))
    np.add.at(confusion, (label[label >= 0], best[label >= 0]), 1)
    result = category_score(confusion, metric)  # type: ignore[arg-type]  # parametrised
    assert result is not None
    return result


def votes(rng: np.random.Generator, kind: str, items: int, categories: int, per_item: int) -> tuple[Ints, Ints, Ints]:
    """Raters and answers [item, place], and each item's long-run category."""
    raters = 40
    who = np.array([rng.permutation(raters)[:per_item] for _ in range(items)])
    lead = np.array([0.5, *[0.5 / (categories - 1)] * (categories - 1)]) if categories > 2 else np.array([0.65, 0.35])
    if kind == "one distribution":
        p = np.tile(lead, (items, 1))
    elif kind == "permuted":
        p = rng.permuted(np.tile(lead, (items, 1)), axis=1)
    elif kind == "Dirichlet":
        p = rng.dirichlet(np.full(categories, 0.6), items)
    elif kind == "clear and ambiguous":
        clear = 0.9 * np.eye(categories)[rng.integers(0, categories, items)] + 0.1 / categories
        p = np.where((rng.random(items) < 0.5)[:, None], clear, rng.dirichlet(np.full(categories, 8.0), items))
    else:
        best = rng.integers(0, categories, items)
        skill = rng.uniform(0.3, 0.95, raters)
        guess = rng.integers(0, categories, who.shape)
        return who, np.where(rng.random(who.shape) < skill[who], best[:, None], guess), best
    answer = (rng.random((items, per_item, 1)) > p.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    return who, answer, p.argmax(axis=1)


TRUTHS = ("one distribution", "permuted", "Dirichlet", "clear and ambiguous", "unequal skill")


@pytest.mark.slow
def test_the_ceiling_is_the_oracles_score_where_one_distribution_gives_all_votes() -> None:
    """Votes from (.5, .1 x 5), nine per item: the oracle scores .92 on the items that are not tied."""
    rng = np.random.default_rng(1)
    who, answer, best = votes(rng, "one distribution", 1500, 6, 9)
    result = ceiling(who.ravel(), np.repeat(np.arange(1500), 9), answer.ravel(), metric="accuracy")
    reached = oracle_category_score(answer, best, 6, "accuracy")
    assert reached == pytest.approx(0.92, abs=0.02)
    assert float(result.overall) == pytest.approx(reached, abs=0.03)
    assert result.overall.low is not None
    assert result.overall.high is not None
    assert result.overall.low < reached < result.overall.high
    assert result.overall.high - result.overall.low < 0.12
    assert result.half_panels is not None
    assert result.half_panels.predicted == pytest.approx(result.half_panels.observed, abs=0.03)
    assert result.overall.counts["labels"] < 1500


@pytest.mark.slow
@pytest.mark.parametrize(("categories", "per_item"), [(2, 3), (2, 15), (3, 7), (6, 3), (6, 7), (9, 3)])
def test_accuracy_intervals_cover_the_oracle(categories: int, per_item: int) -> None:
    """A few data sets per cell; ``python -m benchmarks ceiling_coverage`` has the others."""
    rng = np.random.default_rng(100 * categories + per_item)
    inside = []
    for kind in TRUTHS:
        for _ in range(3):
            who, answer, best = votes(rng, kind, 150, categories, per_item)
            e = ceiling(who.ravel(), np.repeat(np.arange(150), per_item), answer.ravel(), metric="accuracy").overall
            reached = oracle_category_score(answer, best, categories, "accuracy")
            assert e.value is not None
            assert e.low is not None, e.why_no_interval
            assert e.high is not None
            inside.append(e.low <= reached <= e.high)
    assert np.mean(inside) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1"])
@pytest.mark.parametrize("categories", [2, 4])
def test_intervals_of_other_category_metrics_cover_the_oracle(metric: str, categories: int) -> None:
    rng = np.random.default_rng(categories)
    inside = []
    for kind in TRUTHS[2:]:
        for _ in range(3):
            who, answer, best = votes(rng, kind, 200, categories, 5)
            e = ceiling(who.ravel(), np.repeat(np.arange(200), 5), answer.ravel(), metric=metric).overall  # type: ignore[arg-type]  # parametrised
            if e.low is None or e.high is None:
                assert "half panels" in str(e.why_no_interval)
                continue
            inside.append(e.low <= oracle_category_score(answer, best, categories, metric) <= e.high)
    assert np.mean(inside) >= 0.9
    assert len(inside) >= 8


def test_votes_that_no_panel_gives_are_not_given_an_interval() -> None:
    """Three votes against two on every item vary less than votes drawn from any distribution can."""
    answer = np.tile([0, 0, 0, 1, 1], (400, 1))
    answer[200:] = 1 - answer[200:]
    result = ceiling(range(2000), np.repeat(np.arange(400), 5), answer.ravel(), metric="accuracy")
    assert result.half_panels is not None
    assert not result.half_panels.fits
    assert result.overall.low is None
    assert "half panels agree" in str(result.overall.why_no_interval)
    dumps(result)


def test_outright_wins_by_enumeration() -> None:
    """Chances of the winner, and of the two largest counts, over all 4^5 panels of five votes."""
    p = np.array([0.4, 0.3, 0.2, 0.1])
    wins, pairs = np.zeros(4), np.zeros((6, 6))
    for panel in product(range(4), repeat=5):
        chance = float(np.prod(p[list(panel)]))
        counts = np.bincount(panel, minlength=4)
        first, second = np.sort(counts)[::-1][:2]
        pairs[first, second] += chance
        if first > second:
            wins[counts.argmax()] += chance
    assert kernels.outright_wins(p[None], 5)[0] == pytest.approx(wins)
    chance_of, by_kind = kernels.top_two(p[None], np.ones((1, 4)), 5)
    assert chance_of[0] == pytest.approx(pairs)
    assert by_kind[0] == pytest.approx(wins)


def test_categories_by_hand() -> None:
    # Item 1: a a b, item 2: b b, item 3: a b. One rating against the label of the others, tied others left out:
    # item 1: a vs (a, b) tied, a vs (a, b) tied, b vs (a, a) 0; item 2: 1, 1; item 3: 0, 0. Together 2 of 5.
    item = np.array([0, 0, 0, 1, 1, 2, 2])
    category = np.array([0, 0, 1, 1, 1, 0, 1])
    counts = np.array([[2.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    assert one_rating(item, category, counts, "accuracy") == pytest.approx(2 / 5)
    assert winners(counts).tolist() == [0, 1, -1]
    result = ceiling([1, 2, 3, 1, 2, 1, 2], item + 1, ["a", "a", "b", "b", "b", "a", "b"], metric="accuracy")
    assert float(result.human) == pytest.approx(2 / 5)
    assert result.overall.counts["labels"] == 2
    assert result.within_cells.why_missing == "no cells were given"


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_perfect_agreement_is_a_ceiling_of_one_with_a_one_sided_bound(metric: str) -> None:
    rater, item = (a.ravel() for a in np.indices((4, 50)))
    result = ceiling(rater, item, item % 5, metric=metric)  # type: ignore[arg-type]  # parametrised
    for e in (result.overall, result.human):
        assert e.value == pytest.approx(0.0 if metric in ("rmse", "mae") else 1.0)
        assert e.low is not None
        assert e.high is not None
        if metric in ("rmse", "mae"):
            assert e.low == 0.0
            assert 0.0 < e.high < 1.0
        else:
            assert e.high == pytest.approx(1.0)
            assert 0.7 < e.low < 1.0
    rater, item = (a.ravel() for a in np.indices((4, 500)))
    more = ceiling(rater, item, item % 5, metric=metric)  # type: ignore[arg-type]  # parametrised
    assert more.overall.low is not None
    assert more.overall.high is not None
    assert more.overall.high - more.overall.low < result.overall.high - result.overall.low  # type: ignore[operator]  # checked above


def test_rule_of_three_by_hand() -> None:
    # 150 ratings could have differed from the first of their item, by at most 4 points; 1 - .05^(1/150) = .0198.
    rater, item = (a.ravel() for a in np.indices((4, 50)))
    result = ceiling(rater, item, item % 5, metric="rmse").overall
    assert result.high == pytest.approx(np.sqrt((1 - 0.05 ** (1 / 150)) * 16 / 4))
    best = ceiling(rater, item, item % 5).overall
    assert best.low == pytest.approx(np.sqrt(2 / (2 + (1 - 0.05 ** (1 / 150)) * 16 / 4)))


def test_ratings_that_are_all_equal_have_no_correlation_and_no_error() -> None:
    rater, item = (a.ravel() for a in np.indices((3, 10)))
    assert ceiling(rater, item, item * 0 + 4).overall.why_missing == "all ratings are equal"
    none = ceiling(rater, item, item * 0 + 4, metric="rmse").overall
    assert none.value == 0.0
    assert "nothing bounds" in str(none.why_no_interval)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alike", "gain", "careless"])
@pytest.mark.parametrize(("items", "raters", "per_item"), [(60, 12, 3), (60, 8, 8)])
def test_number_intervals_cover_what_the_truth_is_expected_to_category_score(
    kind: str, items: int, raters: int, per_item: int
) -> None:
    rng = np.random.default_rng(items + per_item)
    inside = []
    for _ in range(15):
        rater = np.concatenate([rng.permutation(raters)[:per_item] for _ in range(items)])
        item = np.repeat(np.arange(items), per_item)
        true, level, gain, noise = (
            rng.normal(size=items),
            rng.normal(0, 0.5, raters),
            np.ones(raters),
            np.ones(raters),
        )
        if kind == "gain":
            gain = rng.uniform(0.3, 1.7, raters)
        elif kind == "careless":
            careless = rng.random(raters) < 0.25
            gain, noise = np.where(careless, 0.0, 1.0), np.where(careless, 1.6, 1.0)
        signal = gain[rater] * true[item] + level[rater]
        drawn = [signal + noise[rater] * rng.normal(size=item.size) for _ in range(20)]
        expected = np.mean([np.corrcoef(true, labels(item, value))[0, 1] for value in drawn])
        e = ceiling(rater, item, drawn[0]).overall
        assert e.low is not None
        assert e.high is not None
        inside.append(e.low <= expected <= e.high)
    assert np.mean(inside) >= 0.86


def test_means_with_spread_and_count_have_the_ceiling_of_their_ratings() -> None:
    rng = np.random.default_rng(9)
    item = np.repeat(np.arange(120), 10)
    value = rng.normal(size=120)[item] + rng.normal(0, 1.5, item.size)
    by_ratings = ceiling(np.arange(item.size), item, value)
    table = value.reshape(120, 10)
    mean, sd, n = table.mean(axis=1), table.std(axis=1, ddof=1), np.full(120, 10.0)
    result = ceiling_from_means(mean, sd, n)
    assert result.value == pytest.approx(float(by_ratings.overall), abs=1e-6)
    assert [result.low, result.high] == pytest.approx([by_ratings.overall.low, by_ratings.overall.high], abs=0.015)
    rmse = ceiling(np.arange(item.size), item, value, metric="rmse")
    assert ceiling_from_means(mean, sd, n, "rmse").value == pytest.approx(float(rmse.overall), abs=1e-6)
    by_hand = np.sqrt(1 - np.mean(sd**2 / n) / mean.var(ddof=1))
    assert result.value == pytest.approx(by_hand)
    gaps = ceiling_from_means(np.append(mean, 5.0), np.append(sd, np.nan), np.append(n, 4.0))
    assert gaps.value == pytest.approx(by_hand)
    assert gaps.counts["left_out"] == 1
    assert "fewer than two items" in str(ceiling_from_means(mean[:1], sd[:1], n[:1]).why_missing)
    assert ceiling_from_means(mean, sd * 0, n).value == 1.0


@pytest.mark.slow
def test_intervals_of_published_means_cover() -> None:
    rng = np.random.default_rng(12)
    inside = []
    for _ in range(150):
        n = rng.integers(5, 20, 60).astype(float)
        error = rng.uniform(0.5, 2.0, 60)
        true = rng.normal(size=60)
        table = [rng.normal(t, s, int(k)) for t, s, k in zip(true, error, n, strict=True)]
        e = ceiling_from_means(np.array([row.mean() for row in table]), np.array([row.std(ddof=1) for row in table]), n)
        noise = np.mean(error**2 / n)
        assert e.low is not None
        assert e.high is not None
        inside.append(e.low <= np.sqrt(1 / (1 + noise)) <= e.high)
    assert np.mean(inside) >= 0.92


@pytest.mark.slow
def test_same_seed_same_numbers() -> None:
    rater, item, value, cell, _ = study(np.random.default_rng(4))
    each, other = (ceiling(rater, item, value, cell=cell[item], seed=3) for _ in range(2))
    assert each == other
    assert ceiling(rater, item, value, cell=cell[item], seed=4).human.low != each.human.low
    pair = [ceiling(rater, item, np.round(value), metric="accuracy", seed=3) for _ in range(2)]
    assert pair[0].overall == pair[1].overall


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_edges(metric: str) -> None:
    options = {"metric": metric}
    empty = ceiling([], [], [], **options)  # type: ignore[arg-type]  # parametrised
    assert empty.overall.why_missing == "there are no ratings"
    dumps(empty)
    each = ceiling([1, 1, 1], [1, 2, 3], [1, 2, 3], **options)  # type: ignore[arg-type]  # parametrised
    assert each.overall.value is None
    flat = ceiling([1, 2] * 3, [1, 1, 2, 2, 3, 3], [2] * 6, **options)  # type: ignore[arg-type]  # parametrised
    dumps(flat)
    single = ceiling(range(2000), [i % 200 for i in range(2000)], [i % 7 for i in range(2000)], **options)  # type: ignore[arg-type]  # parametrised
    assert single.overall.value is not None or single.overall.why_missing


def test_items_that_do_not_differ_have_a_ceiling_of_zero() -> None:
    rng = np.random.default_rng(11)
    rater, item = (a.ravel() for a in np.indices((12, 60)))
    keep = rng.random(item.size) < 0.5
    result = ceiling(rater[keep], item[keep], np.where(item % 2 == rater % 2, 1.0, 2.0)[keep])
    assert result.overall.value == 0.0
    assert result.overall.low == 0.0


def test_cells_and_groups_are_checked() -> None:
    rater, item, value = [1, 2, 1, 2], ["x", "x", "y", "y"], [1, 2, 3, 5]
    with pytest.raises(InputError, match=r"'x'.*cell"):
        ceiling(rater, item, value, cell=["a", "b", "a", "a"])
    with pytest.raises(InputError, match="lacks item 'y'"):
        ceiling(rater, item, value, group={"x": 1})
    with pytest.raises(InputError, match="3 entries for 4 ratings"):
        ceiling(rater, item, value, cell=["a", "a", "b"])
    with pytest.raises(InputError, match=r"'correlatoin'(.|\n)*Did you mean 'correlation'"):
        ceiling(rater, item, value, metric="correlatoin")  # type: ignore[arg-type]  # the error is the point
    lone = ceiling(rater, item, value, cell=["a", "a", "b", "b"])
    assert mentions(lone.within_cells.why_missing, "cell", "item")
    assert mentions(lone.cell_means.why_missing, "items", "variance")


def test_missing_ratings_are_left_out_with_their_cells() -> None:
    rater, item, value, cell, _ = study(np.random.default_rng(6))
    holes = value.copy()
    holes[::9] = np.nan
    keep = np.isfinite(holes)
    result = ceiling(rater, item, holes, cell=cell[item])
    plain = ceiling(rater[keep], item[keep], value[keep], cell=cell[item][keep])
    assert result.within_cells.value == pytest.approx(float(plain.within_cells))
    assert result.overall.counts["left_out"] == int((~keep).sum())
