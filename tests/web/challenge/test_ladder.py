"""The ladder: what is published, how far it can be from the truth, and what it costs an attacker."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.leaderboards import ATTACKS, IN_USE, Correlation, Task, attacked, rung_of

from heartfelt.errors import InputError
from heartfelt.publishing.submissions.ladder import (
    FEWEST_TRIES,
    STEPS,
    Rung,
    Tries,
    effective_items,
    level,
    overstatement,
    resolution,
    rounded_down,
    rungs_of,
    standard_error,
    step_for,
    variance_proxy,
)
from heartfelt.scoring import ScoreOptions, Truth, tasks_of, truth_of
from heartfelt.scoring.ground_truth.pair_truth import PairTruth
from heartfelt.scoring.results.scores import ScoringTask as ScoredTask
from tests.web.challenge.made import STUDY, benchmark
from tests.web.challenge.test_parts import hidden

SOURCE = "Blum and Hardt (2015), ICML; math.comb, Hoeffding's inequality and normal tables by hand"
EARLY = Tries(of_all=1, of_team=1)


def test_a_first_score_is_published_when_it_beats_chance_and_a_further_one_when_it_is_better() -> None:
    rung = Rung(task="t", metric="accuracy", title="", items=100, effective=100, chance=0.42, step=0.1)
    assert (rung.start, rung.values) == (5, 5)
    seen, published = [], None
    for score, p in (
        (None, 0.0), (math.nan, 0.0), (0.4, 0.01), (0.599999, 0.01), (0.6 - 1e-12, 0.01), (0.55, 0.01), (0.69, 0.01),
        (0.9999, 0.11), (0.9999, None), (0.9999, 0.1), (0.7, 0.01), (1.0, math.nan), (1.0, 0.0), (0.2, 0.0),
    ):  # fmt: skip
        published = rung.published(published, score, p, EARLY)
        seen.append(rung.value(published))
    assert seen == [None, None, None, None, 0.6, 0.6, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9, 1.0, 1.0]
    # At first the tries of all teams count, after that the team's own.
    for tries, first, further in (
        (Tries(of_all=50, of_team=1), 0.02, 0.1),
        (Tries(of_all=50, of_team=40), 0.02, 0.025),
        (Tries(of_all=8, of_team=2), 0.1, 0.1),
    ):
        for before, limit in ((None, first), (6, further)):
            assert rung.published(before, 0.95, limit, tries) == 9
            assert rung.published(before, 0.95, limit * 1.001, tries) == before
    assert [level(tries) for tries in (1, FEWEST_TRIES, 11, 10_000)] == [0.1, 0.1, 1 / 11, 0.0001]


def test_chance_is_tested_by_the_normal_distribution_of_the_effective_items() -> None:
    rung = Rung(task="t", metric="accuracy", title="", items=100, effective=100, chance=0.5, step=0.02)
    # A standard error of .05: two of them have a two-sided p of .0455.
    assert rung.p_chance(0.6) == pytest.approx(0.0455, abs=1e-4)
    assert rung.p_chance(0.5) == pytest.approx(1.0)
    assert rung.p_chance(0.3) == 1.0
    assert rung.p_chance(None) is None
    assert rung.p_chance(math.nan) is None
    # p of .1 is 1.645 standard errors, and .0001 is 3.891; rounded up to a step.
    assert rung.appears_from(1) == pytest.approx(0.60)
    assert rung.appears_from(10_000) == pytest.approx(0.70)
    for tries in (1, 99, 10_000):
        first = rung.appears_from(tries)
        assert first is not None
        counted = Tries(of_all=tries, of_team=1)
        assert rung.published(None, first, rung.p_chance(first), counted) == round(first / 0.02)
    coarse = Rung(task="t", metric="accuracy", title="", items=10_000, effective=10_000, chance=0.5, step=0.25)
    assert coarse.appears_from(1) == 0.75
    assert replace(rung, effective=2.0).appears_from(1) is None, "of two items not even all right is above chance"


def test_the_bound_is_the_formula_and_covers_the_best_of_many_guesses() -> None:
    rung = Rung(task="t", metric="accuracy", title="", items=400, effective=400, chance=0.5, step=0.05)
    assert (rung.start, rung.values) == (10, 10)
    j, c, delta = 1000, 2, 0.05
    inside = math.log(math.comb(j - 1, c) * math.comb(10, c)) + math.log(j * (j + 1)) + math.log(3 * 4 / delta)
    assert overstatement(rung, [rung], j, c) == pytest.approx(math.sqrt(inside / 800), rel=1e-9)
    two = [rung, Rung(task="u", metric="pearson", title="", items=400, effective=100, chance=0.0, step=0.1)]
    inside = math.log(2 * math.comb(2 * (j - 1), c) * math.comb(20, c)) + math.log(j * (j + 1) * 12 / delta)
    assert overstatement(two[1], two, j, c) == pytest.approx(math.sqrt(inside / 200), rel=1e-9)
    # Teams that share have values of their own: 5 x 10 of them.
    inside = math.log(math.comb(j - 1, 20) * math.comb(50, 20)) + math.log(j * (j + 1) * 21 * 22 / delta)
    assert overstatement(rung, [rung], j, 20, teams=5) == pytest.approx(math.sqrt(inside / 800), rel=1e-9)
    # One submission that was fixed before: Hoeffding's inequality for delta / 4.
    assert overstatement(rung, [rung], 1, 0) == pytest.approx(math.sqrt(math.log(4 / delta) / 800), rel=1e-9)
    # The best of 1,000 guesses, 300 times: beyond the bound of the submission it is no more often than stated.
    rng = np.random.default_rng(3)
    guesses = rng.binomial(400, 0.5, (300, j)) / 400 - 0.5
    bounds = np.array([overstatement(rung, [rung], at, 0) for at in range(1, j + 1)])
    assert np.mean((guesses > bounds).any(axis=1)) <= delta
    assert guesses.max() > 0.5 * bounds[-1], "and it is not far above what happens"


def test_two_teams_that_differ_by_the_resolution_are_shown_in_the_right_order_nine_times_in_ten() -> None:
    rng = np.random.default_rng(5)
    for error, step in ((0.05, 0.02), (0.05, 0.1), (0.02, 0.005)):
        apart = resolution(error, step)
        phase = rng.random(100_000) * step
        first, second = rng.normal(0, error, (2, 100_000)) + phase
        shown = np.floor((second + apart) / step) > np.floor(first / step)
        assert shown.mean() == pytest.approx(0.9, abs=0.005)
    assert resolution(0.0, 0.02) == pytest.approx(0.018, abs=1e-6)
    assert resolution(0.0, 0.001) == pytest.approx(0.0009, abs=1e-6)
    # With hardly any step: 1.2816 standard errors of the difference.
    assert resolution(0.05, 1e-4) == pytest.approx(1.2816 * 0.05 * math.sqrt(2), rel=1e-3)
    rung = Rung(task="t", metric="accuracy", title="", items=82, effective=82.0, chance=0.5, step=0.02)
    assert rung.error == pytest.approx(math.sqrt(0.75 * 0.25 / 82))
    assert rung.resolution == pytest.approx(resolution(rung.error, 0.02))


def test_steps_shrink_with_the_items_and_the_noise_of_the_labels() -> None:
    assert standard_error("pearson", 41, 0.6) == pytest.approx(0.64 / math.sqrt(4 * 41))
    assert standard_error("accuracy", 100, 0.8) == pytest.approx(0.04)
    steps = [step_for("pearson", n / 4, 0.0) for n in (20, 82, 500, 5000, 100_000)]
    assert steps == sorted(steps, reverse=True)
    assert steps == [0.08, 0.04, 0.01, 0.005, 0.005]
    for n, step in zip((20, 82, 500), steps, strict=False):
        assert step <= standard_error("pearson", n / 4, 0.5) / 2 < 2.1 * step
    # Noisy labels leave a lower best score, where correlations vary more.
    assert step_for("pearson", 82 / 4, 0.0, 0.5) > step_for("pearson", 82 / 4, 0.0, 1.0)
    assert [rounded_down(value) for value in (0.9876, 31.99, 2050.0, 40.0)] == [0.98, 31.0, 2000.0, 40.0]


def test_rungs_of_numbers_follow_from_their_labels_and_errors() -> None:
    source = hidden()
    truth = truth_of(source, ScoreOptions(part="test"))
    tasks, _ = tasks_of(source.study, ["q", "r"])
    rungs = rungs_of(truth, tasks)
    assert [(rung.task, rung.items, rung.chance) for rung in rungs] == [("q", 60, 0.0), ("r", 60, 0.0)]
    label = source.part("test").filter(question="q")["label"].to_numpy()
    assert rungs[0].ceiling == rounded_down(math.sqrt(1 - 0.25 / label.var()))
    assert rungs[0].effective == rounded_down(60 / 4 / variance_proxy(label))
    assert rungs[0].step == step_for("pearson", rungs[0].effective, 0.0, rungs[0].ceiling)
    # Labels that are all noise leave a tenth of their variance.
    noisy = replace(truth, items=truth.items.with_columns(pl.lit(9.0).alias("standard_error")))
    assert rungs_of(noisy, tasks)[0].ceiling == rounded_down(math.sqrt(0.1))
    assert {rung.step for rung in rungs_of(truth, tasks, 0.5)} == {0.5}
    for step in (0.51, -0.1):
        with pytest.raises(InputError, match="step must lie"):
            rungs_of(truth, tasks, step)
    with pytest.raises(InputError, match="two labels or more"):
        rungs_of(truth, [])


def truth(
    items: list[dict[str, object]], *, pairs: PairTruth | None = None, courses: pl.DataFrame | None = None
) -> Truth:
    """Items as they are scored: a label, and what the label is about."""
    columns = {"label": pl.Float64, "n": pl.Int64, "standard_error": pl.Float64, "present": pl.Boolean}
    table = pl.DataFrame(items, schema_overrides={**columns, "compared": pl.Boolean}, infer_schema_length=None)
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in columns.items() if name not in table.columns
    )
    empty = pl.DataFrame()
    made = Truth(
        study=STUDY,
        items=table,
        votes=empty,
        answers=empty,
        texts={},
        facts=(),
        hash="",
        courses=empty if courses is None else courses,
    )
    return made if pairs is None else replace(made, pairs=pairs)


def test_pairs_count_by_their_answers_and_for_both_of_their_stimuli() -> None:
    scored = ScoredTask.of("better", "choices", ("better",))
    pairs = [("a", "b", 6), ("a", "c", 2), ("d", "e", 2), ("d", "f", None)]
    rows: list[dict[str, object]] = [
        {"stimulus": f"{one} {other}", "question": "better", "label": 0.4, "n": n, "compared": True, "one": one, "other": other}
        for one, other, n in pairs
    ]  # fmt: skip
    # Strengths are labels of stimuli under the same question, and another question has items of its own.
    rows += [{"stimulus": name, "question": "better", "label": 0.1, "n": 9, "compared": False} for name in "abc"]
    rows += [{"stimulus": name, "question": "v", "label": 2.0, "n": 9} for name in "ab"]
    rows += [{"stimulus": "g h", "question": "better", "n": 50, "compared": True, "one": "g", "other": "h"}]
    (rung,) = rungs_of(truth(rows), [scored], 0.1)
    # Of 11 answers (a pair without a count has one) a has 8, b 6, c 2, d 3, e 2 and f 1.
    assert rung.effective == rounded_down(121 / (64 + 36 + 4 + 9 + 4 + 1))
    assert (rung.items, rung.chance, rung.ceiling) == (4, 0.5, 1.0)


def test_strengths_are_those_of_systems_where_stimuli_have_too_few() -> None:
    scored = ScoredTask.of("better (strength)", "strengths", ("better",))
    few: list[dict[str, object]] = [
        {"stimulus": name, "question": "better", "label": at, "n": 3, "compared": False} for at, name in enumerate("ab")
    ]
    strengths = {name: value for value, name in enumerate("ABCDEFGH")}
    systems = PairTruth(systems={"better": strengths})
    (rung,) = rungs_of(truth(few, pairs=systems), [scored])
    assert (rung.items, rung.effective) == (8, 2.0)
    # Other tasks of the question are about stimuli all the same.
    pairs: list[dict[str, object]] = [
        {"stimulus": name, "question": "better", "label": 0.5, "n": 1, "compared": True, "one": name, "other": name + "x"}
        for name in "abc"
    ]  # fmt: skip
    (rung,) = rungs_of(truth(pairs, pairs=systems), [ScoredTask.of("better", "choices", ("better",))])
    assert rung.items == 3
    # Enough stimuli have strengths of their own.
    many: list[dict[str, object]] = [
        {"stimulus": str(at), "question": "better", "label": at, "n": 3, "compared": False} for at in range(40)
    ]
    (rung,) = rungs_of(truth(many, pairs=systems), [scored])
    assert (rung.items, rung.effective) == (40, 10.0)


def test_courses_count_a_quarter_and_yes_or_no_by_its_sides() -> None:
    rows: list[dict[str, object]] = [{"stimulus": str(at), "question": "now", "label": float(at)} for at in range(12)]
    courses = pl.DataFrame(
        {"stimulus": [str(at) for at in range(12)], "question": "now", "samples": [[0.1]] * 12, "n": [3] * 12}
    )
    (rung,) = rungs_of(truth(rows, courses=courses), [ScoredTask.of("now (trace)", "traces", ("now",))])
    assert (rung.items, rung.effective) == (12, 3.0)
    sides: list[dict[str, object]] = [
        {"stimulus": str(at), "question": "calm", "label": 0.5, "present": side, "n": 5}
        for at, side in enumerate([True] * 4 + [False] * 12 + [None] * 5)
    ]
    (rung,) = rungs_of(truth(sides), [ScoredTask.of("calm", "binary", ("calm",))])
    # Two classes of 4 and 12: shares of 1/8 and 1/24.
    assert (rung.items, rung.effective) == (16, 12.0)
    assert 0.5 <= rung.chance < 0.5 + rung.step


def test_a_task_needs_two_labels_and_noise_of_labels_counts_where_it_is_known() -> None:
    scored = ScoredTask.of("v", "numbers", ("v",))

    def rung(labels: list[float], errors: list[float | None]) -> Rung:
        rows: list[dict[str, object]] = [
            {"stimulus": str(at), "question": "v", "label": label, "n": 4, "standard_error": error}
            for at, (label, error) in enumerate(zip(labels, errors, strict=True))
        ]
        return rungs_of(truth(rows), [scored])[0]

    with pytest.raises(InputError, match="two labels or more"):
        rung([1.0], [0.1])
    assert rung([1.0, 2.0], [None, None]).ceiling == 1.0
    assert rung([3.0, 3.0, 3.0], [0.5] * 3).ceiling == 1.0, "labels that are all the same have no noise to tell"
    # A variance of 4, and a mean squared error of .64 or of 1.
    assert rung([1.0, 5.0], [0.8, 0.8]).ceiling == rounded_down(math.sqrt(1 - 0.16))
    assert rung([1.0, 5.0, 9.0], [1.0, 1.0, None]).ceiling == rounded_down(math.sqrt(0.75))
    # Ordered answers have no error of a mean.
    assert rungs_of(truth([
        {"stimulus": str(at), "question": "v", "label": float(at), "n": 4, "standard_error": 1.0} for at in range(4)
    ]), [ScoredTask.of("v", "ordinal", ("v",))])[0].ceiling == 1.0  # fmt: skip


def test_a_fixed_step_is_taken_and_chance_is_rounded_up_to_it() -> None:
    labels = [0.0] * 7 + [1.0] * 3
    rows: list[dict[str, object]] = [
        {"stimulus": str(at), "question": "v", "label": label, "n": 4} for at, label in enumerate(labels)
    ]
    scored = ScoredTask.of("v", "categories", ("v",))
    for step, chance in ((0.1, 0.7), (0.25, 0.75), (0.5, 1.0), (0.4, 0.8)):
        (rung,) = rungs_of(truth(rows), [scored], step)
        assert rung.step == step
        assert rung.chance == pytest.approx(chance)
    (rung,) = rungs_of(truth(rows), [scored], 0.45)
    assert rung.chance == pytest.approx(0.9)
    assert rung.values == 0
    everything = [{**row, "label": 0.0} for row in rows]
    (rung,) = rungs_of(truth(everything), [scored], 0.3)
    assert (rung.chance, rung.values) == (1.0, 0), "chance is never above the best score there is"


def test_changing_pairs_of_answers_raises_nothing() -> None:
    """The weak spot of the parameter-free ladder: two answers set right are better by more than a standard error."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 82).astype(np.float64)
    task = Task(labels)
    rung = rung_of(task)
    best = np.where(rng.random(82) < 0.7, labels, 1 - labels)
    top = task.score(best)
    published = rung.published(None, top, rung.p_chance(top), EARLY)
    assert published is not None
    rises, weaker = 0, 0
    for tries in range(2, 400):
        at = rng.integers(0, 82, 2)
        trial = best.copy()
        trial[at] = 1 - trial[at]
        gain = task.influence(trial) - task.influence(best)
        error = gain.std() / math.sqrt(82)
        p = math.erfc(gain.mean() / error / math.sqrt(2)) if gain.mean() > 0 else None
        rises += rung.published(published, task.score(trial), p, Tries(of_all=tries, of_team=tries)) != published
        weaker += gain.mean() > error
    assert weaker >= 15
    assert rises == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Task, Correlation])
@pytest.mark.parametrize("attack", list(ATTACKS))
def test_ten_thousand_adaptive_submissions_gain_less_than_the_stated_bound(kind: type[Task], attack: str) -> None:
    gain, over_private, bound, _ = attacked(kind, 164, 1, IN_USE, attack, seed=11)
    assert max(gain, 0.0) <= bound
    assert gain < (0.2 if kind is Task else 0.45)
    assert over_private < (0.25 if kind is Task else 0.6)
    # A hundred teams that share everything: still within the bound for all of them together.
    gain, _, bound, changes = attacked(kind, 164, 100, IN_USE, attack, seed=11)
    assert gain <= bound
    if attack == "boost":
        assert changes < 15
        # Two thousand teams that only read: the bound for all of them together still holds.
        read, _, bound_of_readers, _ = attacked(kind, 1000, 2000, IN_USE, "readings", seed=0)
        assert read <= bound_of_readers
        weak, *_ = attacked(kind, 164, 100, "parameter-free", attack, seed=11)
        assert weak > gain + 0.1


@pytest.mark.slow
def test_rungs_follow_from_the_benchmark() -> None:
    truth = truth_of(benchmark(), ScoreOptions(part="test"))
    tasks, _ = tasks_of(STUDY, ["valence", "mood", "fear"])
    rungs = {each.task: each for each in rungs_of(truth, tasks)}
    assert set(rungs) == {"valence", "mood", "fear", "fear (degree)"}
    items = benchmark().part("test")
    for name in ("valence", "mood", "fear"):
        assert rungs[name].items == items.filter(question=name).height
    mood = items.filter(question="mood")
    assert rungs["mood"].effective == pytest.approx(mood.height)
    most = max(mood["label"].value_counts()["count"].to_list()) / mood.height
    step = rungs["mood"].step
    assert rungs["mood"].chance == pytest.approx(math.ceil(most / step - 1e-9) * step)
    yes = int((items.filter(question="fear")["label"] > 0).sum())
    no = rungs["fear"].items - yes
    assert rungs["fear"].effective == rounded_down(4 / (1 / yes + 1 / no))
    assert all(each.step in STEPS for each in rungs.values())
    assert rungs["valence"].effective <= rungs["valence"].items / 4
    known = items.filter(question="valence")
    label, error = (known[name].to_numpy() for name in ("label", "standard_error"))
    reliable = math.sqrt(1 - float((error**2).mean()) / label.var())
    assert rungs["valence"].ceiling == rounded_down(reliable)
    assert {each.step for each in rungs_of(truth, tasks, 0.05)} == {0.05}
    for step in (0.0, 0.7):
        with pytest.raises(InputError, match="step must lie"):
            rungs_of(truth, tasks, step or -0.1)


def test_items_about_a_stimulus_count_as_one() -> None:
    labels = np.repeat([0.0, 1.0] * 5, 100)
    alone, shared = [{str(at)} for at in range(1000)], [{str(at // 100)} for at in range(1000)]
    for metric, whole in (("accuracy", 1.0), ("balanced_accuracy", 1.0), ("trace_ccc", 0.25), ("pearson", 0.25)):
        assert effective_items(metric, labels, alone) == pytest.approx(1000 * whole)
        assert effective_items(metric, labels, shared) == pytest.approx(10 * whole)
    # How many answers a label stands for matters to single choices only.
    uneven = np.arange(1000.0) + 1
    assert effective_items("accuracy", labels, alone, uneven) == pytest.approx(1000)
    assert effective_items("choice_accuracy", labels, alone, uneven) == pytest.approx(750, abs=1)
    # All pairs of 12 stimuli: each stimulus has a part in 11 of 66 pairs, so the shares are 12 times 1/6.
    pairs = [{str(a), str(b)} for a in range(12) for b in range(a)]
    assert effective_items("choice_accuracy", np.zeros(66), pairs, np.ones(66)) == pytest.approx(3.0)
    # The best of 1,000 rankings of 12 stimuli shows why pairs may not be counted as independent.
    rng = np.random.default_rng(5)
    first, second = np.tril_indices(12, -1)
    best = np.empty(100)
    for at in range(100):
        places = np.argsort(rng.random((1000, 12)), axis=1)
        best[at] = ((places[:, first] > places[:, second]).mean(axis=1)).max() - 0.5
    counted, honest = (
        Rung(task="t", metric="", title="", items=66, effective=n, chance=0.5, step=0.25) for n in (66.0, 3.0)
    )
    assert np.mean(best > math.sqrt(math.log(1000 / 0.05) / (2 * counted.effective))) > 0.5
    assert np.mean(best > overstatement(honest, [honest], 1000, 0)) <= 0.05


def test_the_variance_proxy_of_known_distributions() -> None:
    # Both are strictly sub-Gaussian: the proxy is the variance, which is 1 after standardising.
    assert variance_proxy(np.array([0.0, 1.0] * 50)) == pytest.approx(1.0, abs=1e-9)
    assert variance_proxy(np.linspace(0, 1, 2001)) == pytest.approx(1.0, abs=1e-3)
    # Kearns and Saul (1998): for a coin with p = 0.1 the proxy is (1 - 2p) / (2 ln((1 - p) / p)), here over the variance p (1 - p).
    coin = np.array([1.0] + [0.0] * 9)
    assert variance_proxy(coin) == pytest.approx(0.8 / (2 * math.log(9)) / 0.09, rel=2e-3)
    # One label in 5,000 lies 71 standard deviations from the others.
    rare, share = np.array([1.0] + [0.0] * 4999), 1 / 5000
    proxy = (1 - 2 * share) / (2 * math.log((1 - share) / share)) / (share * (1 - share))
    assert variance_proxy(rare) == pytest.approx(proxy, rel=2e-3)


def test_the_table_of_the_page_is_what_is_computed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "challenge.md").read_text("utf-8")
    rows = re.findall(
        r"(?m)^\| (accuracy|correlation) \| ([\d,]+) \| (\.\d+) \| (\.\d+) \| (\.\d+) \| (\.\d+) \| (\.\d+) \| (\.\d+|none) \|$",
        page,
    )
    assert len(rows) == 6
    for kind, items, *numbers in rows:
        n = int(items.replace(",", "")) // 2
        metric, chance, effective = ("accuracy", 0.5, n) if kind == "accuracy" else ("pearson", 0.0, n / 4)
        rung = Rung(
            task="t",
            metric=metric,
            title="",
            items=n,
            effective=effective,
            chance=chance,
            step=step_for(metric, effective, chance),
        )
        bounds = [overstatement(rung, [rung], *place) for place in ((1, 0), (10, 2))]
        computed = [rung.step, rung.resolution, rung.appears_from(10), rung.appears_from(1000), *bounds]
        shown = [1.0 if number == "none" else float(number) for number in numbers]
        assert shown == [1.0 if value is None else min(round(value, 3), 1.0) for value in computed], (kind, items)
    assert ", ".join(f"{step:g}".lstrip("0") for step in STEPS) in page.replace("\n", " ")
