"""Plans, cells and scores of experiments with a fit whose predictions are known: nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.serialization import to_json
from heartfelt.training.experiments import (
    ExperimentOptions,
    listed_cells,
    plan_ablation,
    plan_learning_curve,
    plan_mix,
    plan_sweep,
    plan_transfer,
    prepare,
    run_plan,
)
from heartfelt.training.experiments.cells import (
    FULL,
    CellResult,
    CellStore,
    ExperimentCell,
    LabelSet,
    most_frequent,
    run_cells,
)
from heartfelt.training.experiments.design import ConditionScorer, FoldPlanner, outer_folds
from heartfelt.training.experiments.results import ALL_OTHERS, SHUFFLED
from heartfelt.training.experiments.running import Setup, expected_seconds
from heartfelt.training.experiments.sweeping import variants_of
from heartfelt.training.heads.fitting import Floats
from tests.training.experiments.studies import options, setup_of, study


@dataclass
class KnownFit:
    """Predicts the truth and its own error for each row; of shuffled labels, the error alone."""

    truth: Mapping[str, Floats]
    seen: list[str] = field(default_factory=list)
    breaks: str = ""
    fields: list[str] = field(default_factory=lambda: ["first", "rest"])
    labels: Mapping[str, LabelSet] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(self.truth)

    def ablates(self, question: str, names: Sequence[str]) -> bool:
        return question in self.truth and len(names) < len(self.fields)

    def ablated(self, way: str, names: Sequence[str]) -> dict[str, str]:
        return {way: "+".join(names)}

    def check(self, settings: Mapping[str, str]) -> None:
        pass

    def with_labels(self, sets: Mapping[str, LabelSet]) -> KnownFit:
        return replace(self, labels={**self.labels, **sets})

    def key(self, cell: ExperimentCell) -> str:
        parts = (cell.train.tolist(), cell.test.tolist(), cell.seed, dict(cell.settings), cell.labels, cell.shuffled)
        return f"{abs(hash(str(parts))):x}"

    def fit_and_predict(self, cell: ExperimentCell) -> CellResult:
        if self.breaks and self.breaks in cell.name:
            raise ZeroDivisionError("it broke")
        self.seen.append(cell.name)
        error = np.random.default_rng(cell.seed).normal(0, 0.5, 200)[cell.test]
        values = {
            name: tuple((error if cell.shuffled else truth[cell.test] + error).tolist())
            for name, truth in self.truth.items()
        }
        centre = {name: float(truth[cell.train].mean()) for name, truth in self.truth.items()}
        return CellResult(
            key=self.key(cell), name=cell.name, values=values, centre=centre, fitted=dict.fromkeys(self.truth, "known")
        )


def with_known_fit(setup: Setup) -> tuple[Setup, KnownFit]:
    fit = KnownFit({name: np.asarray(setup.pool.truth[name]) for name in setup.pool.questions})
    return replace(setup, fit=fit), fit


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    folder = tmp_path_factory.mktemp("one")
    return setup_of(folder, study(folder / "media", raters=4), seeds=(0, 3))


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    folder = tmp_path_factory.mktemp("split")
    return setup_of(folder, study(folder / "media", systems="ABC", each=20, raters=4), by="system")


def cell(train: int, test: int, name: str = "cell", seed: int = 0) -> ExperimentCell:
    return ExperimentCell(name=name, train=np.arange(train), test=np.arange(train, train + test), seed=seed)


def test_a_condition_is_scored_by_the_correlation_over_all_folds_and_seeds(one: Setup, tmp_path: Path) -> None:
    setup, fit = with_known_fit(one)
    plan = plan_ablation(setup, ways=["without"])
    result = run_plan(setup, plan, tmp_path / "out")
    truth = fit.truth["valence"]
    by_seed = []
    for seed in (0, 3):
        error = np.random.default_rng(seed).normal(0, 0.5, 200)[: truth.size]
        column = np.empty(truth.size)
        for test in outer_folds(setup.pool, setup.pool.rows(setup.pool.parts[0]), 3, seed):
            rest = np.setdiff1d(np.arange(truth.size), test)
            column[test] = truth[test] + error[test] - truth[rest].mean()
        by_seed.append(np.corrcoef(column, truth)[0, 1])
    row = result.row("all features")
    assert row.pearson.value == pytest.approx(np.mean(by_seed))
    assert row.over_seeds.value == pytest.approx(np.std(by_seed, ddof=1))
    assert (row.n, row.training_stimuli, row.level, row.reference) == (60, 40.0, None, "")
    assert row.difference.value is None
    without = result.row("without first")
    assert without.reference == "all features"
    assert without.difference.value == pytest.approx(0.0)
    chance = result.row(SHUFFLED)
    assert chance.baseline
    assert chance.pearson.low is None
    assert result.axis == ""
    assert (result.cells, result.variants) == (4 * 2 * 3, 3)
    assert "ledger" not in to_json(result)  # type: ignore[operator]  # an object
    mean = next(row for row in result.rows if row.rmse.value is not None and row.pearson.value is None)
    errors = []
    for seed in (0, 3):
        tests = outer_folds(setup.pool, setup.pool.rows(setup.pool.parts[0]), 3, seed)
        gaps = [truth[test] - truth[np.setdiff1d(np.arange(truth.size), test)].mean() for test in tests]
        errors.append(np.sqrt(np.mean(np.concatenate(gaps) ** 2)))
    assert mean.rmse.value == pytest.approx(np.mean(errors))


def test_folds_leave_every_stimulus_out_once_and_shuffled_ones_are_marked(one: Setup) -> None:
    pool, planner = one.pool, FoldPlanner(one.pool, one.options)
    part = pool.parts[0]
    unshuffled = planner.crossed(part, "plain", settings={"heads": "ridge"})
    chance = planner.crossed(part, "chance", shuffled=True)
    assert list(unshuffled) == [0, 3]
    for seed, cells in unshuffled.items():
        assert sorted(np.concatenate([entry.test for entry in cells])) == list(range(60))
        for entry, other in zip(cells, chance[seed], strict=True):
            assert sorted([*entry.train, *entry.test]) == list(range(60))
            assert entry.test.tolist() == other.test.tolist()
            assert (entry.seed, entry.shuffled, dict(entry.settings)) == (seed, "", {"heads": "ridge"})
            assert other.shuffled
        assert len({other.shuffled for other in chance[seed]}) == len(cells)
    extra = {0: np.arange(5), 3: np.arange(7)}
    alone = planner.crossed(part, "extra", extra=extra, with_own=False)
    for seed, rows in extra.items():
        for entry in alone[seed]:
            assert set(entry.train) == set(rows) - set(entry.test)
    with pytest.raises(InputError):
        outer_folds(pool, np.arange(2), 3, 0)


def test_a_learning_curve_grows_in_nested_shares_to_all_data(one: Setup) -> None:
    plan = plan_learning_curve(one, amounts=(50.0, 25.0))
    *points, chance = plan.conditions
    assert [point.name for point in points] == [f"{share}% of the stimuli" for share in (25, 50, 100)]
    assert [point.level for point in points] == [10.0, 20.0, 40.0]
    assert [point.reference for point in points] == [points[-1].name] * 2 + [""]
    assert chance.baseline
    assert plan.axis
    for small, large in pairwise(points):
        for seed in (0, 3):
            for first, second in zip(small.cells[seed], large.cells[seed], strict=True):
                assert set(first.train) < set(second.train)
                assert first.test.tolist() == second.test.tolist()
    for amounts in ((0.0,), (101.0,)):
        with pytest.raises(InputError):
            plan_learning_curve(one, amounts=amounts)
    with pytest.raises(InputError):
        plan_learning_curve(one, ahead=(1.0,))
    with pytest.raises(InputError):
        plan_learning_curve(one, "hours")


def test_a_learning_curve_over_raters_and_ratings_has_labels_of_fewer_ratings(one: Setup) -> None:
    for unit, amounts, levels in (("raters", (25.0, 50.0), [1.0, 2.0, 4.0]), ("ratings", (1, 3), [1.0, 3.0, 4.0])):
        plan = plan_learning_curve(one, unit, amounts)
        points = plan.conditions[:-1]
        assert [point.level for point in points] == levels
        assert [point.reference for point in points] == [points[-1].name] * 2 + [""]
        assert plan.fit is not None
        whole = one.pool.labels.label("valence")
        for seed in (0, 3):
            last = points[-1].cells[seed][0].labels
            assert plan.fit.labels[last].label("valence") == pytest.approx(whole)
            few = plan.fit.labels[points[0].cells[seed][0].labels].label("valence")
            assert few != pytest.approx(whole)
            assert few == pytest.approx(np.round(few)), "a single rating is a whole number"
    for amount in (0.5, 1.5):
        with pytest.raises(InputError):
            plan_learning_curve(one, "ratings", (amount,))


def test_a_mix_adds_the_same_share_of_every_other_part(split: Setup) -> None:
    plan = plan_mix(split, (50.0, 100.0), base="B")
    alone, half, whole, chance = plan.conditions
    assert [entry.level for entry in (alone, half, whole)] == [0.0, 50.0, 100.0]
    assert [entry.reference for entry in (alone, half, whole)] == ["", alone.name, alone.name]
    assert all(entry.tested_on == "B" for entry in plan.conditions)
    assert chance.baseline
    rows = {name: set(split.pool.rows(name)) for name in "ABC"}
    for first, second, third in zip(alone.cells[0], half.cells[0], whole.cells[0], strict=True):
        assert set(first.train) == rows["B"] - set(first.test)
        for name in "AC":
            assert len(set(second.train) & rows[name]) == 10
            assert len(set(third.train) & rows[name]) == 20
        assert set(second.train) < set(third.train)
    assert plan_mix(split).conditions[0].tested_on == "A"
    assert [entry.level for entry in plan_mix(split).conditions[:-1]] == [0.0, 25.0, 50.0, 100.0]
    for shares, base in (((-1.0,), ""), ((101.0,), ""), ((50.0,), "D")):
        with pytest.raises(InputError):
            plan_mix(split, shares, base)


def test_a_transfer_pairs_every_part_with_every_other_and_with_all_others(split: Setup) -> None:
    plan = plan_transfer(split)
    pairs = [(entry.trained_on, entry.tested_on) for entry in plan.conditions]
    assert sorted(pairs) == sorted([(first, second) for first in (*"ABC", ALL_OTHERS, SHUFFLED) for second in "ABC"])
    rows = {name: set(split.pool.rows(name)) for name in "ABC"}
    for entry in plan.conditions:
        (cells,) = entry.cells.values()
        if entry.trained_on in rows and entry.trained_on != entry.tested_on:
            assert [set(cell.train) for cell in cells] == [rows[entry.trained_on]]
            assert entry.reference == f"{entry.tested_on} → {entry.tested_on}"
        elif entry.trained_on == ALL_OTHERS:
            assert set(cells[0].train) == set().union(*rows.values()) - rows[entry.tested_on]
        else:
            assert len(cells) == 3
            assert entry.reference == ""
        assert entry.baseline == (entry.trained_on == SHUFFLED)
        assert set(np.concatenate([cell.test for cell in cells])) == rows[entry.tested_on]


def test_two_parts_have_no_others_and_one_part_nothing_to_transfer(one: Setup, tmp_path: Path) -> None:
    two = setup_of(tmp_path, study(tmp_path / "media", each=20, raters=2), by="system")
    plan = plan_transfer(two)
    assert len(plan.conditions) == 2 + 2 + 2
    assert ALL_OTHERS not in {entry.trained_on for entry in plan.conditions}
    for planned in (plan_transfer, plan_mix):
        with pytest.raises(InputError):
            planned(one)
    for planned in (plan_ablation, plan_learning_curve):
        with pytest.raises(InputError):
            planned(two)


def test_a_sweep_compares_every_combination_on_folds_of_the_training_part(one: Setup) -> None:
    tried = {"heads": ("ridge", "kernel"), "setting": ("0.1", "1", "10")}
    assert len(variants_of(tried)) == 6
    assert variants_of(tried)[1] == {"heads": "ridge", "setting": "1"}
    few = variants_of(tried, 4, seed=2)
    assert len(few) == 4
    assert all(variant in variants_of(tried) for variant in few)
    assert variants_of(tried, 6) == variants_of(tried)
    for nothing in ({}, {"heads": ()}, {"heads": ("ridge",)}):
        with pytest.raises(InputError):
            variants_of(nothing)
    with pytest.raises(InputError):
        plan_sweep(one, tried, inner=1)
    setup, _ = with_known_fit(one)
    sweep = plan_sweep(setup, {"heads": ("ridge", "kernel")}, inner=2)
    assert len(sweep.inner) == 2 * 3 * 2
    for seed, fold, train, test in sweep.outer:
        for variant in range(2):
            cells = sweep.inner[seed, fold, variant]
            assert sorted(np.concatenate([entry.test for entry in cells])) == sorted(train)
            assert all(not set(entry.train) & (set(entry.test) | set(test)) for entry in cells)


def test_cells_are_fitted_once_and_continue_from_their_folder(tmp_path: Path) -> None:
    fit = KnownFit({"valence": np.arange(40.0)})
    cells = [cell(20, 5, "a"), cell(20, 5, "the same"), cell(20, 5, "b", seed=1)]
    store, reports = CellStore(tmp_path / "out", "ablate", "digits"), []
    results = run_cells(cells, fit, store, ("valence",), progress=lambda _, done, total: reports.append((done, total)))
    assert fit.seen == ["a", "b"]
    assert [result.name for result in results] == ["a", "a", "b"]
    assert reports == [(0, 2), (1, 2), (2, 2)]
    assert store.times().fits == 2
    assert store.times().seconds > 0
    again = run_cells([*cells, cell(15, 5, "c")], fit, CellStore(tmp_path / "out", "ablate", "digits"), ("valence",))
    assert fit.seen == ["a", "b", "c"]
    assert again[0].values == results[0].values
    assert store.times().fits == 3
    broken = replace(fit, breaks="d")
    with pytest.raises(ZeroDivisionError, match="it broke"):
        run_cells([cell(12, 5, "d")], broken, store, ("valence",))
    assert run_cells([cell(10, 5, "ten")], fit, store, ("valence",))
    with pytest.raises(InputError):
        run_cells([cell(20, 5), cell(9, 5, "nine")], fit, store, ("valence",))


def test_a_stored_cell_counts_only_whole_under_its_own_key(tmp_path: Path) -> None:
    fit, store = KnownFit({"valence": np.arange(40.0)}), CellStore(tmp_path / "out", "ablate", "digits")
    entry = cell(20, 5)
    (result,) = run_cells([entry], fit, store, ("valence",))
    assert store.read(result.key, entry, ("valence",)) is not None
    assert store.read("nothing", entry, ("valence",)) is None
    assert store.read(result.key, cell(20, 6), ("valence",)) is None
    assert store.read(result.key, entry, ("valence", "arousal")) is None
    (path,) = (tmp_path / "out" / "cells").iterdir()
    path.rename(path.with_name("other.json"))
    assert store.read("other", entry, ("valence",)) is None
    path.write_text("{")
    assert store.read(result.key, entry, ("valence",)) is None
    for kind, recipe in (("mix", "digits"), ("ablate", "columns")):
        with pytest.raises(InputError):
            CellStore(tmp_path / "out", kind, recipe)
    (tmp_path / "photos").mkdir()
    CellStore(tmp_path / "photos", "mix", "digits")
    (tmp_path / "photos" / "a.png").touch()
    with pytest.raises(InputError):
        CellStore(tmp_path / "photos", "mix", "digits")


def test_a_dry_run_lists_what_is_complete_and_how_long_the_rest_takes(one: Setup, tmp_path: Path) -> None:
    setup, _ = with_known_fit(one)
    plan = plan_ablation(setup, ways=["only"])
    assert not any(entry.complete for entry in listed_cells(setup, plan, tmp_path / "out"))
    seconds = expected_seconds(setup, plan, tmp_path / "out")
    assert seconds is not None
    assert seconds[1] == 1
    assert not (tmp_path / "out").exists()
    run_plan(setup, plan, tmp_path / "out")
    listed = listed_cells(setup, plan, tmp_path / "out")
    assert all(entry.complete for entry in listed)
    assert {(entry.training_stimuli, entry.test_stimuli) for entry in listed} == {(40, 20)}
    store = CellStore(tmp_path / "out", plan.kind, setup.options.recipe)
    store.add_times(76, 1000.0 - store.times().seconds)
    fits = store.times().fits
    seconds = expected_seconds(setup, plan, tmp_path / "out")
    assert seconds is not None
    assert seconds == pytest.approx((1000.0 / fits, fits))


def test_the_category_with_most_weighted_votes_stands_for_all() -> None:
    shares = np.array([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5], [0.0, 0.1, 0.9]])
    assert most_frequent((1.0, 2.0, 5.0), shares, np.array([1.0, 1.0, 1.0])) == 5.0
    assert most_frequent((1.0, 2.0, 5.0), shares, np.array([5.0, 1.0, 1.0])) == 1.0
    assert most_frequent((1.0, 2.0, 5.0), shares, np.array([1.0, 3.0, 0.0])) == 2.0


def test_options_and_sources_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for wrong in ({"seeds": ()}, {"seeds": (1, 1)}, {"folds": 1}, {"raters": "few"}, {"resamples": 99}):
        with pytest.raises(InputError):
            ExperimentOptions(**wrong)
    assert ExperimentOptions(folds=2, resamples=100).raters == "screened"
    with pytest.raises(InputError):
        prepare([], options(tmp_path))
    snapshot = study(tmp_path / "media", each=10, raters=2)
    with pytest.raises(InputError):
        prepare([("a", snapshot), ("b", snapshot)], options(tmp_path, by="system"))
    twice = prepare([("a", snapshot), ("a", snapshot)], options(tmp_path, questions=("valence",)))
    assert twice.pool.parts == ("a", "a 2")
    assert twice.pool.questions == ("valence",)
    with pytest.raises(InputError):
        prepare([("a", snapshot)], options(tmp_path, questions=("joy",)))


def test_the_scorer_pairs_cells_with_results_in_their_order(one: Setup) -> None:
    setup, fit = with_known_fit(one)
    cells = [cell(40, 20)]
    condition = plan_ablation(setup).conditions[0]
    entry = [item for cells in condition.cells.values() for item in cells]
    scorer = ConditionScorer.of(setup.pool, setup.options, entry, [fit.fit_and_predict(item) for item in entry])
    for column, seed in zip(scorer.predictions(condition, "valence"), (0, 3), strict=True):
        error = np.random.default_rng(seed).normal(0, 0.5, 200)[:60]
        assert column == pytest.approx(fit.truth["valence"] + error)
    with pytest.raises(ValueError, match="argument"):
        ConditionScorer.of(setup.pool, setup.options, entry, [fit.fit_and_predict(cells[0])])
    assert set(one.fit.labels) == {FULL}
