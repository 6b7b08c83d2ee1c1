from __future__ import annotations

import difflib
import functools
import hashlib
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from heartfelt import simulate
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.simulate import KINDS, DesignOptions, RaterMix, SimulatedRatings, TruthOptions
from heartfelt.tables import RATERS, RATINGS

STIMULI = simulate.stimuli(per_cell=10)
# A scale without steps or ends leaves the planted model bare.
BARE = DesignOptions(per_rater=240, scale_low=-1e6, scale_high=1e6 + 10, integer=False, distinct_cells=())
PER_KIND = 8


@functools.cache
def mixed() -> SimulatedRatings:
    shares = {kind: PER_KIND / 80 for kind in KINDS if kind != "honest"}
    return simulate.study_ratings(STIMULI, 80, mix=RaterMix(shares=shares), seed=11)


def of_kind(kind: str, question: str = "valence") -> list[np.ndarray]:
    sim = mixed()
    names = sim.raters.filter(kind=kind)["rater"].to_list()
    return [sim.ratings.filter(rater=name, question=question)["value"].to_numpy() for name in names]


def with_truth(sim: SimulatedRatings) -> pl.DataFrame:
    return sim.ratings.join(sim.truth, on=["stimulus", "question"], maintain_order="left")


def agreement(sim: SimulatedRatings, rater: str) -> float:
    own = with_truth(sim).filter(rater=rater, question="valence")
    return float(np.corrcoef(own["value"], own["true"])[0, 1])


def test_tables_keep_their_contracts() -> None:
    sim = mixed()
    assert RATINGS.check(sim.ratings, "test").equals(sim.ratings)
    RATERS.check(sim.raters, "test")
    assert sim.ratings.columns == [
        "rater", "stimulus", "question", "value", "position", "seconds", "at", "repeat",
    ]  # fmt: skip
    assert set(sim.ratings["value"]) <= set(range(1, 10))


def test_planted_raters_are_recovered() -> None:
    mix = RaterMix(bias_sd=0.7, gain_sd=0.2, taste=0.6, noise=1.0, noise_spread=0.3)
    # The bare scale's middle is 5 as the truth's is, so bias and gain mean the same on both.
    sim = simulate.study_ratings(STIMULI, 60, mix=mix, design=BARE, seed=3)
    rows = with_truth(sim)
    result = []
    for name in sim.raters["rater"]:
        own = rows.filter(rater=name)
        true, value = own["true"].to_numpy() - 5, own["value"].to_numpy() - 5
        gain, bias = np.polyfit(true, value, 1)
        result.append((bias, gain, np.std(value - gain * true - bias)))
    bias, gain, spread = np.array(result).T
    planted = sim.raters
    expected = np.sqrt(planted["noise"].to_numpy() ** 2 + 0.6**2)
    error = expected / np.sqrt(480)
    assert np.all(np.abs(bias - planted["bias"].to_numpy()) < 4.5 * error)
    assert np.all(np.abs(gain - planted["gain"].to_numpy()) < 4.5 * error)
    assert np.all(np.abs(spread / expected - 1) < 4.5 / np.sqrt(2 * 480))


def test_rater_parameters_have_the_planted_spread() -> None:
    n = 20_000
    mix = RaterMix(bias_sd=0.7, question_bias_sd=0.5, gain_sd=0.2, noise=1.2, noise_spread=0.3, seconds=5.0)
    people = simulate.raters(n, mix, questions=("valence", "arousal"), seed=1)
    assert people["bias"].std() == pytest.approx(0.7, rel=0.02)
    assert people["bias_valence"].std() == pytest.approx(np.hypot(0.7, 0.5), rel=0.02)
    both = np.corrcoef(people["bias_valence"], people["bias_arousal"])[0, 1]
    assert both == pytest.approx(0.49 / 0.74, abs=0.02)
    assert people["gain"].mean() == pytest.approx(1.0, abs=0.01)
    assert people["gain"].log().std() == pytest.approx(0.2, rel=0.02)
    assert people["noise"].median() == pytest.approx(1.2, rel=0.02)
    assert people["noise"].log().std() == pytest.approx(0.3, rel=0.02)
    assert people["pace"].median() == pytest.approx(5.0, rel=0.02)


def test_question_biases_reach_the_answers() -> None:
    mix = RaterMix(bias_sd=0.0, question_bias_sd=2.0, gain_sd=0.0, taste=0.1, noise=0.1)
    sim = simulate.study_ratings(STIMULI, 30, mix=mix, design=BARE, seed=3)
    rows = with_truth(sim).with_columns(off=pl.col("value") - pl.col("true"))
    for question in ("valence", "arousal"):
        off = rows.filter(question=question).group_by("rater", maintain_order=True).agg(pl.col("off").mean())["off"]
        assert np.allclose(off, sim.raters[f"bias_{question}"], atol=0.1)


def test_system_effects_survive_into_the_means() -> None:
    options = TruthOptions(cell_sd=0.0, stimulus_sd=0.3, low=-1e6, high=1e6)
    sim = simulate.study_ratings(STIMULI, 80, truth_options=options, mix=RaterMix(gain_sd=0.0), design=BARE, seed=8)
    rows = with_truth(sim).filter(question="arousal")
    for part in rows.partition_by("system"):
        slope = np.polyfit(part["intended"], part["value"], 1)[0]
        planted = np.polyfit(part["intended"], part["expected"], 1)[0]
        assert slope == pytest.approx(planted, abs=0.08)


def test_repeats_share_taste_but_not_noise() -> None:
    mix = RaterMix(taste=2.0, noise=0.5, noise_spread=0.0, bias_sd=0.0, gain_sd=0.0)
    design = DesignOptions(per_rater=200, repeats=50, scale_low=-1e6, scale_high=1e6 + 10, integer=False)
    sim = simulate.study_ratings(STIMULI, 40, mix=mix, design=design, seed=2)
    again = sim.ratings.filter(repeat=1)
    assert again.height == 40 * 50 * 2
    assert (again["position"] > 200).all()
    key = ["rater", "stimulus", "question"]
    both = again.join(sim.ratings.filter(repeat=0), on=key)
    assert both.height == again.height
    difference = (both["value"] - both["value_right"]).to_numpy()
    assert difference.std() == pytest.approx(0.5 * np.sqrt(2), rel=4 / np.sqrt(2 * difference.size))
    off = with_truth(sim).filter(repeat=0).select(pl.col("value") - pl.col("true")).to_series()
    assert off.std() == pytest.approx(np.hypot(2.0, 0.5), rel=0.03)


def test_repeats_are_for_those_who_stay() -> None:
    sim = simulate.study_ratings(
        STIMULI, 60, mix=RaterMix(hazard=0.05), design=DesignOptions(per_rater=20, repeats=3), seed=2
    )
    shown = sim.ratings.filter(question="valence").group_by("rater").agg(pl.col("repeat").sum(), pl.len())
    assert set(shown.filter(pl.col("repeat") > 0)["len"]) == {23}
    assert set(shown.filter(pl.col("repeat") == 0)["len"]) <= set(range(1, 20))
    assert 5 < shown.filter(pl.col("repeat") == 0).height < 55


def test_kinds_come_in_their_shares() -> None:
    counts = dict(mixed().raters["kind"].value_counts().iter_rows())
    assert counts == {kind: (80 - 7 * PER_KIND if kind == "honest" else PER_KIND) for kind in KINDS}


@pytest.mark.slow
def test_honest_raters_follow_the_truth_and_careless_do_not() -> None:
    sim = mixed()
    honest = [agreement(sim, name) for name in sim.raters.filter(kind="honest")["rater"]]
    assert min(honest) > 0.3
    assert np.mean(honest) > 0.6
    for kind in ("random", "pattern", "ignores-stimulus", "centre", "colluder"):
        result = [agreement(sim, name) for name in sim.raters.filter(kind=kind)["rater"]]
        assert abs(np.mean(result)) < 4 / np.sqrt(56 * PER_KIND), kind


def test_random_raters_use_every_point_alike() -> None:
    counts = np.bincount(np.concatenate(of_kind("random")).astype(int), minlength=10)[1:]
    expected = counts.sum() / 9
    assert np.sum((counts - expected) ** 2 / expected) < 26.1  # chi-square, 8 degrees of freedom, p = .001


def test_straightliners_never_move() -> None:
    favourites = [set(values) for values in of_kind("straightline")]
    assert all(len(values) == 1 for values in favourites)
    assert len(set.union(*favourites)) > 1


def test_centre_raters_stay_in_the_middle() -> None:
    values = np.concatenate(of_kind("centre"))
    assert set(values) == {4.0, 5.0, 6.0}
    assert np.mean(values == 5.0) == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / values.size))
    even = DesignOptions(scale_low=1, scale_high=6)
    sim = simulate.study_ratings(STIMULI, 10, mix=RaterMix(shares={"centre": 1.0}), design=even)
    assert set(sim.ratings["value"]) == {3.0, 4.0}


def test_patterns_repeat_themselves() -> None:
    for values in of_kind("pattern"):
        steps = np.diff(values) % 9
        assert len(set(steps)) == 1
        assert steps[0] in (1, 2, 7, 8)


def test_extreme_raters_see_but_shout() -> None:
    sim = mixed()
    for name in sim.raters.filter(kind="extreme")["rater"]:
        own = with_truth(sim).filter(rater=name, question="valence")
        assert set(own["value"]) == {1.0, 9.0}
        assert agreement(sim, name) > 0.3


def test_ignoring_raters_look_like_honest_ones() -> None:
    honest, ignoring = (np.array([[v.mean(), v.std()] for v in of_kind(k)]) for k in ("honest", "ignores-stimulus"))
    assert abs(honest[:, 1].mean() - ignoring[:, 1].mean()) < 0.4
    assert ignoring[:, 0].std() > 0.2
    assert ignoring[:, 1].min() > 1.0


def similarity(one: list[tuple[float, float]], two: list[tuple[float, float]]) -> float:
    return difflib.SequenceMatcher(a=one, b=two, autojunk=False).ratio()


def test_colluders_copy_the_sequence_about_other_stimuli() -> None:
    sim = mixed()
    sequences = {
        str(name): list(zip(*(own.filter(question=q)["value"] for q in ("valence", "arousal")), strict=True))
        for (name,), own in sim.ratings.group_by("rater")
    }
    seen = {
        str(name): own["stimulus"].to_list()
        for (name,), own in sim.ratings.filter(question="valence").group_by("rater")
    }
    pairs = sim.raters.filter(kind="colluder").select("rater", "colluder_of").rows()
    assert len({source for _, source in pairs}) == PER_KIND
    honest = sim.raters.filter(kind="honest")["rater"].to_list()
    unrelated = [similarity(sequences[a], sequences[b]) for a in honest[:8] for b in honest[8:16]]
    for colluder, source in pairs:
        assert source in honest
        assert similarity(sequences[colluder], sequences[source]) > max(0.7, *unrelated)
        assert np.mean([x == y for x, y in zip(seen[colluder], seen[source], strict=True)]) < 0.1
    # Gaps and shifts are there too: not every copy is exact.
    assert any(sequences[a] != sequences[b] for a, b in pairs)


def test_a_copy_without_gaps_or_shifts_is_exact() -> None:
    design = DesignOptions(copy_gap=0.0, copy_shift=0.0)
    sim = simulate.study_ratings(STIMULI, 10, mix=RaterMix(shares={"colluder": 0.3}), design=design)
    for colluder, source in sim.raters.filter(kind="colluder").select("rater", "colluder_of").rows():
        each, two = (sim.ratings.filter(rater=name)["value"] for name in (colluder, source))
        assert each.equals(two)


def test_who_may_be_copied_is_checked() -> None:
    people = simulate.raters(4, RaterMix(shares={"colluder": 0.5}))
    truth = simulate.truth(STIMULI)
    ring = people.with_columns(colluder_of=pl.Series(people["rater"].to_list()[::-1]))
    with pytest.raises(InputError, match="copies too"):
        simulate.ratings(truth, ring)
    with pytest.raises(InputError, match="nobody honest"):
        simulate.raters(4, RaterMix(shares={"colluder": 1.0}))


def test_careless_raters_can_be_hasty() -> None:
    mix = RaterMix(shares={"random": 0.5}, seconds=6.0, careless_seconds=0.8)
    sim = simulate.study_ratings(STIMULI, 60, mix=mix)
    paces = (
        sim.ratings.join(sim.raters.select("rater", "kind"), on="rater")
        .group_by("kind")
        .agg(pl.col("seconds").median())
    )
    medians = dict(paces.iter_rows())
    assert medians["honest"] == pytest.approx(6.0, rel=0.25)
    assert medians["random"] == pytest.approx(0.8, rel=0.25)
    assert float(sim.ratings["seconds"].min()) > 0  # type: ignore[arg-type]  # a number, the column is not empty


def test_the_clock_runs_forward_and_leaves_room_for_the_clip() -> None:
    sim = simulate.study_ratings(STIMULI, 3, design=DesignOptions(per_rater=5, clip_seconds=10.0))
    assert str(sim.ratings["at"].dtype) == "Datetime(time_unit='us', time_zone='UTC')"
    for index, own in enumerate(sim.ratings.partition_by("rater")):
        start = DesignOptions().start.timestamp() + 300 * index
        at = own["at"].dt.timestamp("us").to_numpy() / 1e6 - start
        pause = np.where(own["question"].to_numpy() == "valence", 10.0, 0.0)
        assert np.allclose(np.diff(at, prepend=0.0), own["seconds"].to_numpy() + pause, atol=1e-5)


def test_an_item_without_a_true_value_is_not_asked() -> None:
    truth = simulate.truth(STIMULI)
    some = truth.filter(~((pl.col("question") == "arousal") & (pl.col("system") == "Chipling")))
    got = simulate.ratings(some, simulate.raters(20, RaterMix(shares={"colluder": 0.2, "random": 0.2})))
    asked = got.join(STIMULI, on="stimulus")
    assert asked.filter(question="arousal", system="Chipling").height == 0
    assert asked.filter(question="valence", system="Chipling").height > 100
    assert got["value"].is_nan().sum() == 0


def test_a_scale_without_steps() -> None:
    shares = dict.fromkeys((k for k in KINDS if k != "honest"), 0.1)
    design = DesignOptions(scale_low=0.0, scale_high=100.0, integer=False)
    truth = simulate.truth(STIMULI, TruthOptions(neutral=50, low=0, high=100, gain=10, stimulus_sd=5, cell_sd=3))
    got = simulate.ratings(truth, simulate.raters(40, RaterMix(shares=shares, noise=10, taste=8, bias_sd=7)), design)
    assert got["value"].is_between(0, 100).all()
    assert got["value"].n_unique() > 1000


def test_odd_inputs_are_refused() -> None:
    truth, people = simulate.truth(STIMULI), simulate.raters(3)
    with pytest.raises(InputError, match="no column 'true'"):
        simulate.ratings(truth.drop("true"), people)
    with pytest.raises(InputError, match="two rows"):
        simulate.ratings(pl.concat([truth, truth]), people)
    with pytest.raises(InputError, match="'sytem'"):
        simulate.ratings(truth, people, DesignOptions(distinct_cells=("sytem",)))
    with pytest.raises(UnknownNameError, match="'honest'"):
        simulate.ratings(truth, people.with_columns(kind=pl.lit("honets")))
    with pytest.raises(InputError, match="share an id"):
        simulate.ratings(truth, pl.concat([people, people]))
    with pytest.raises(InputError, match="no rows"):
        simulate.ratings(truth, people.clear())
    with pytest.raises(UnknownNameError, match="'random'"):
        RaterMix(shares={"randon": 0.1})
    with pytest.raises(InputError, match="pass 1"):
        RaterMix(shares={"random": 0.6, "centre": 0.6})
    with pytest.raises(InputError):
        RaterMix(hazard=1.0)
    with pytest.raises(InputError):
        simulate.raters(0)


def test_one_rating_each_and_one_rater_alone() -> None:
    crowd = simulate.study_ratings(STIMULI, 1_000, design=DesignOptions(per_rater=1))
    assert crowd.ratings.height == 2_000
    alone = simulate.study_ratings(simulate.stimuli(["A"], {"x": {"valence": 5.0, "arousal": 5.0}}, per_cell=1), 1)
    assert alone.ratings.height == 2


DIGEST = """
import hashlib
from heartfelt import simulate
shares = {kind: 0.1 for kind in simulate.KINDS if kind != "honest"}
mix = simulate.RaterMix(shares=shares, hazard=0.01, question_bias_sd=0.3)
design = simulate.DesignOptions(repeats=2)
sim = simulate.study_ratings(simulate.stimuli(per_cell=3), 40, mix=mix, design=design, seed=9)
text = "".join(frame.write_csv() for frame in (sim.ratings, sim.raters, sim.truth))
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_a_new_question_moves_no_answer_to_an_old_one() -> None:
    key = ["rater", "stimulus", "question", "value", "seconds", "position"]
    shares = dict.fromkeys((k for k in KINDS if k != "honest"), 0.1)
    each, two = (
        simulate.study_ratings(
            STIMULI, 40, truth_options=TruthOptions(questions=q), mix=RaterMix(shares=shares), design=exact, seed=3
        ).ratings.select(key)
        for exact in [DesignOptions(copy_gap=0.0, copy_shift=0.0)]
        for q in (("valence",), ("arousal", "valence"))
    )
    assert each.equals(two.filter(question="valence"))


def test_the_planted_share_of_variance_is_an_intraclass_correlation() -> None:
    mix = RaterMix(bias_sd=0.7, gain_sd=0.0, taste=0.8, noise=1.0, noise_spread=0.0)
    design = DesignOptions(per_rater=24, per_stimulus=20, scale_low=-1e6, scale_high=1e6 + 10, integer=False)
    sim = simulate.study_ratings(STIMULI, 430, mix=mix, design=design, seed=6)
    rows = sim.ratings.filter(question="valence")
    groups = rows.group_by("stimulus").agg(pl.col("value").mean().alias("mean"), pl.col("value").var(), pl.len())
    assert groups["len"].to_list() == [20] * 480
    within = float(np.mean(groups["value"].to_numpy()))
    between = 20 * float(np.var(groups["mean"].to_numpy(), ddof=1))
    result = (between - within) / (between + 19 * within)
    stimuli = float(np.var(sim.truth.filter(question="valence")["true"].to_numpy(), ddof=1))
    assert result == pytest.approx(stimuli / (stimuli + 0.7**2 + 0.8**2 + 1.0**2), abs=0.03)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": salt, "POLARS_MAX_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt, threads in (("1", "1"), ("2", "2"))
    }
    assert len(digests) == 1


def test_another_seed_gives_other_ratings() -> None:
    each, two = (
        hashlib.sha256(simulate.study_ratings(STIMULI, 5, seed=seed).ratings.write_csv().encode()).digest()
        for seed in (1, 2)
    )
    assert each != two
