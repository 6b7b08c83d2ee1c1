from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt import simulate
from heartfelt.errors import InputError
from heartfelt.simulate import DesignOptions
from heartfelt.simulate.design import assign, stay_lengths
from heartfelt.streams import stream


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    stays=st.lists(st.integers(1, 30), min_size=1, max_size=25),
    quota=st.one_of(st.none(), st.integers(1, 5)),
    seed=st.integers(0, 1000),
)
def test_assignment_is_balanced_and_never_repeats(
    sizes: list[int], stays: list[int], quota: int | None, seed: int
) -> None:
    cell = np.repeat(np.arange(len(sizes)), sizes)
    cell = stream(seed, "shuffle").permutation(cell)
    handed = assign(cell, np.array(stays, dtype=np.int64), quota, stream(seed, "assign"))
    counts = np.zeros(cell.size, dtype=np.int64)
    for stay, mine in zip(stays, handed, strict=True):
        assert len(set(mine)) == len(mine) <= stay
        space = cell.size if quota is None else int((counts < quota).sum())
        assert len(mine) == min(stay, space)
        taken = np.bincount(cell[mine], minlength=len(sizes))
        open_in = np.array(sizes) if quota is None else np.bincount(cell[counts < quota], minlength=len(sizes))
        # A cell is used again only when every other cell that has something left was used as often.
        assert all(taken[k] >= taken.max() - 1 for k in range(len(sizes)) if taken[k] < open_in[k])
        counts[mine] += 1
        for k in range(len(sizes)):
            assert np.ptp(counts[cell == k]) <= 1
    if quota is not None:
        assert counts.max() <= quota


def test_least_rated_come_first_whatever_the_cell() -> None:
    stimuli = simulate.stimuli([f"S{k}" for k in range(6)], per_cell=14)
    got = simulate.study_ratings(stimuli, 111, seed=5).ratings.filter(question="valence")
    assert got.height == 111 * 56
    counts = stimuli.join(got.group_by("stimulus").len(), on="stimulus", how="left")["len"].fill_null(0)
    assert int(counts.max() or 0) - int(counts.min() or 0) <= 2  # type: ignore[arg-type]  # counts are integers
    spread = got.join(stimuli, on="stimulus").group_by("rater").agg(pl.struct("system", "intent").n_unique())
    assert spread["system"].unique().to_list() == [56]


@pytest.mark.slow
def test_ties_go_by_lot() -> None:
    first = [assign(np.zeros(6, np.int64), np.array([1]), None, stream(seed, "lot"))[0][0] for seed in range(600)]
    counts = np.bincount(first, minlength=6)
    assert np.sum((counts - 100) ** 2 / 100) < 20.5  # chi-square, 5 degrees of freedom, p = .001
    cells = [assign(np.arange(6), np.array([1]), None, stream(seed, "lot"))[0][0] for seed in range(600)]
    counts = np.bincount(cells, minlength=6)
    assert np.sum((counts - 100) ** 2 / 100) < 20.5


def test_order_within_a_rater_goes_by_lot() -> None:
    cell = np.repeat(np.arange(4), 5)
    places = [
        assign(cell, np.array([4]), None, stream(seed, "order"))[0].index(
            next(x for x in assign(cell, np.array([4]), None, stream(seed, "order"))[0] if cell[x] == 0)
        )
        for seed in range(400)
    ]
    counts = np.bincount(places, minlength=4)
    assert np.sum((counts - 100) ** 2 / 100) < 16.3  # chi-square, 3 degrees of freedom, p = .001


def test_raters_leave_at_the_planted_rate() -> None:
    hazard, trials, n = 0.02, 56, 20_000
    stays = stay_lengths(np.full(n, hazard), trials, stream(0, "leave"))
    finish = (1 - hazard) ** (trials - 1)
    assert np.mean(stays == trials) == pytest.approx(finish, abs=4 * np.sqrt(finish * (1 - finish) / n))
    assert np.mean(stays == 1) == pytest.approx(hazard, abs=4 * np.sqrt(hazard / n))
    assert stays.min() == 1
    assert stay_lengths(np.zeros(5), trials, stream(0, "leave")).tolist() == [trials] * 5


def test_leavers_leave_no_holes_and_no_block() -> None:
    stimuli = simulate.stimuli(per_cell=6)
    mix = simulate.RaterMix(hazard=0.05)
    got = simulate.study_ratings(stimuli, 150, mix=mix, design=DesignOptions(per_rater=40), seed=1).ratings
    lengths = got.filter(question="valence").group_by("rater").agg(pl.col("position").max(), pl.len())
    assert (lengths["position"] == lengths["len"]).all()
    assert lengths["len"].n_unique() > 10
    counts = got.filter(question="valence").group_by("stimulus").len()["len"]
    assert counts.len() == stimuli.height
    assert int(counts.max() or 0) - int(counts.min() or 0) <= 2  # type: ignore[arg-type]  # counts are integers


def test_a_quota_is_met_and_not_passed() -> None:
    stimuli = simulate.stimuli(per_cell=5)
    design = DesignOptions(per_rater=30, per_stimulus=4)
    got = simulate.study_ratings(stimuli, 60, design=design).ratings.filter(question="valence")
    assert got.group_by("stimulus").len()["len"].unique().to_list() == [4]
    assert got.height == 4 * stimuli.height
    assert got["rater"].n_unique() == -(-4 * stimuli.height // 30)


def test_one_rater_cannot_rate_more_than_there_is() -> None:
    got = simulate.study_ratings(simulate.stimuli(["A"], per_cell=1), 2).ratings
    assert got.group_by("rater").len()["len"].to_list() == [24, 24]


@pytest.mark.parametrize(
    "change",
    [
        {"per_rater": 0},
        {"per_stimulus": 0},
        {"repeats": 57},
        {"scale_low": 9.0},
        {"scale_low": 0.5},
        {"clip_seconds": -1.0},
        {"copy_gap": 2.0},
    ],
)
def test_impossible_designs_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(InputError):
        DesignOptions(**change)  # type: ignore[arg-type]  # the wrong arguments are the point
