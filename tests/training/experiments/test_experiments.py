"""Every experiment on small data with planted truth, its table checked by hand; leaks, resuming and bad input."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.report.pages.experiments import write_experiment
from heartfelt.serialization import read_json, write_json
from heartfelt.snapshot import Snapshot
from heartfelt.training import evaluate
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
    run_sweep,
)
from heartfelt.training.experiments.cells import TIMES, CellResult, ExperimentCell
from heartfelt.training.experiments.design import FoldPlanner
from heartfelt.training.experiments.frozen import FrozenFit
from heartfelt.training.experiments.results import MATRIX_ROWS, MEAN, SHUFFLED, Experiment
from heartfelt.training.experiments.running import Setup
from tests.facts import mentions
from tests.training.experiments.studies import linear, options, setup_of, study
from tests.training.studies import value_of


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    folder = tmp_path_factory.mktemp("one")
    return setup_of(folder, study(folder / "media"), seeds=(0, 1))


def results_of(folder: Path) -> list[CellResult]:
    return [read_json(path, CellResult) for path in sorted((folder / "cells").iterdir())]


@pytest.mark.slow
def test_without_the_only_informative_features_nothing_is_left(setup: Setup, tmp_path: Path) -> None:
    plan = plan_ablation(setup)
    made = run_plan(setup, plan, tmp_path / "out")
    names = ["all features", "without first", "without rest", "only first", "only rest", SHUFFLED, MEAN]
    assert [row.condition for row in made.rows] == names
    assert (made.cells, made.variants, made.folds, made.seeds) == (4 * 3 * 2, 5, 3, (0, 1))
    whole, without = made.row("all features"), made.row("without first")
    assert value_of(whole.pearson) > 0.9
    assert abs(value_of(without.pearson)) < 0.35
    assert value_of(without.difference) == pytest.approx(value_of(without.pearson) - value_of(whole.pearson), abs=1e-12)
    assert without.difference.high is not None
    assert without.difference.high < -0.3
    assert abs(value_of(made.row(SHUFFLED).pearson)) < 0.35
    assert value_of(whole.ceiling) > 0.95
    # Keeping one of two groups is dropping the other: the same cells, fitted once.
    assert made.row("only first").pearson == made.row("without rest").pearson
    # By hand: the correlation of each seed over all folds, predictions less their training mean.
    truth, by_seed = setup.pool.truth["valence"], []
    stored = {result.name: result for result in results_of(tmp_path / "out")}
    for seed in (0, 1):
        column = np.full(60, np.nan)
        for cell in plan.conditions[0].cells[seed]:
            result = stored[cell.name]
            assert result.centre["valence"] == pytest.approx(
                np.average(
                    setup.fit.labels["full"].label("valence")[cell.train],
                    weights=setup.fit.labels["full"].weight("valence")[cell.train],
                )
            )
            column[cell.test] = np.array(result.values["valence"]) - result.centre["valence"]
        assert np.isfinite(column).all()
        by_seed.append(float(np.corrcoef(truth, column)[0, 1]))
    assert value_of(whole.pearson) == pytest.approx(np.mean(by_seed), abs=1e-12)
    assert value_of(whole.over_seeds) == pytest.approx(np.std(by_seed, ddof=1), abs=1e-12)
    assert (whole.n, whole.training_stimuli) == (60, 40.0)


@pytest.mark.slow
def test_groups_of_features_can_be_joined_and_unknown_ones_are_named(setup: Setup) -> None:
    plan = plan_ablation(setup, ["front=first"], ["without"])
    assert [condition.name for condition in plan.conditions] == ["all features", "without front", SHUFFLED]
    with pytest.raises(InputError, match=r"no field .*'frist'") as error:
        plan_ablation(setup, ["frist"])
    assert "Did you mean 'first'?" in error.value.fix
    with pytest.raises(InputError, match="nothing to ablate"):
        plan_ablation(setup, ["both=first+rest"])


@pytest.mark.slow
def test_predictions_are_those_of_the_evaluation_of_the_recipe(tmp_path: Path) -> None:
    for recipe, kinds in (("digits", ["ridge"]), ("modelled", ["ridge", "kernel"])):
        heads = "+".join(kinds)
        setup = setup_of(tmp_path, study(tmp_path / "media"), recipe=recipe, folds=5, settings={"heads": heads})
        cells = FoldPlanner(setup.pool, setup.options).crossed("first", "all")[0]
        column = np.full(60, np.nan)
        for cell in cells:
            column[cell.test] = setup.fit.fit_and_predict(cell).of("valence")
        evaluated = evaluate(setup.pool.materials[0], kinds)
        assert column == pytest.approx(evaluated.left_out["valence", "five-fold"].value, abs=1e-9)


@pytest.mark.slow
def test_recipes_that_model_raters_learn_from_the_answers_of_training_stimuli_alone(tmp_path: Path) -> None:
    setup = setup_of(tmp_path, study(tmp_path / "media", noise=1.5), recipe="modelled")
    plan = plan_learning_curve(setup, "ratings", [4])
    cell = plan.conditions[1].cells[0][0]
    target = setup.pool.materials[0].targets[0]
    label, weight = setup.fit.labels["full"].learned("valence", cell.train)
    assert target.answers is not None
    alone = target.learned(cell.train)
    assert label == pytest.approx(alone.label)
    assert weight == pytest.approx(alone.weight)
    # The head does not look at what the recipe leaves out, so there is nothing to ablate.
    with pytest.raises(InputError, match="nothing to ablate"):
        plan_ablation(setup)
    fit = plan.fit
    assert fit is not None
    fewer, _ = fit.labels["up to 4 ratings per stimulus · seed 0"].learned("valence", cell.train)
    assert not np.allclose(fewer, label)
    assert fit.fit_and_predict(cell).fitted == {"valence": "ridge 0.3"}


@pytest.mark.slow
def test_training_on_a_source_with_the_opposite_rule_shows_in_the_matrix(tmp_path: Path) -> None:
    first = study(tmp_path / "first", systems="A")
    second = study(tmp_path / "second", lambda x: 10 - linear(x), systems="B", seed=2)
    setup = setup_of(tmp_path, first, second)
    plan = plan_transfer(setup)
    made = run_plan(setup, plan, tmp_path / "out")
    r = {row.condition: row for row in made.rows if row.condition != MEAN}
    within, across = ["first → first", "second → second"], ["first → second", "second → first"]
    assert list(r) == [*within, *across, f"{SHUFFLED}: first", f"{SHUFFLED}: second"]
    assert min(value_of(r[name].pearson) for name in within) > 0.9
    assert max(value_of(r[name].pearson) for name in across) < -0.9
    there = r["first → second"]
    assert value_of(there.difference) == pytest.approx(
        value_of(there.pearson) - value_of(r["second → second"].pearson), abs=1e-12
    )
    assert (there.training_stimuli, r["first → first"].training_stimuli, there.n) == (30, 20, 30)
    # By hand: one fit to all of the first source, predicting all of the second.
    result = next(result for result in results_of(tmp_path / "out") if result.name == "first → second · seed 0")
    truth = setup.pool.truth["valence"][30:]
    assert value_of(there.pearson) == pytest.approx(np.corrcoef(truth, result.of("valence"))[0, 1], abs=1e-12)
    error = np.sqrt(np.mean((truth - result.of("valence")) ** 2))
    assert value_of(there.rmse) == pytest.approx(error, abs=1e-12)
    write_experiment(made, tmp_path / "out")
    assert read_json(tmp_path / "out" / "results.json", Experiment).rows == made.rows
    table = pl.read_csv(tmp_path / "out" / "table.csv")
    row = table.filter(pl.col("condition") == "first → second")
    assert row["pearson"][0] == pytest.approx(value_of(there.pearson))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "first → second" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert {path.suffix for path in (tmp_path / "out" / "figures").iterdir()} == {".pdf", ".svg", ".png", ".csv"}
    # A changed label of the second source leaves the cells that it has no part in.
    ratings = second.ratings.with_columns(
        pl.when(pl.col("stimulus") == "B_000x.wav")
        .then(pl.col("value") % 9 + 1)
        .otherwise(pl.col("value"))
        .alias("value")
    )
    changed = Snapshot.build(second.study, stimuli=second.stimuli, ratings=ratings, source=second.source)
    again = setup_of(tmp_path, first, changed)
    todo = [cell.name for cell in listed_cells(again, plan_transfer(again), tmp_path / "out") if not cell.complete]
    assert {name.split(" · ")[0] for name in todo} == {within[1], across[1], f"{SHUFFLED}: second"}
    assert all(cell.complete for cell in listed_cells(setup, plan, tmp_path / "out"))


@pytest.mark.slow
def test_a_mix_adds_nested_shares_and_no_copies_of_test_stimuli(tmp_path: Path) -> None:
    first = study(tmp_path / "first", each=24, noise=1.0)
    second = study(tmp_path / "second", each=40, seed=2, points=7)
    shutil.copy(tmp_path / "first" / "A_003x.wav", tmp_path / "second" / "B_007x.wav")
    setup = setup_of(tmp_path, first, second)
    assert setup.pool.notes == ("Labels of 'valence' in 'second' (1 to 7) were mapped linearly onto 1 to 9.",)
    labels = setup.fit.labels["full"].label("valence")
    assert labels[48] == pytest.approx(1 + 8 * (setup.pool.materials[1].targets[0].label[0] - 1) / 6)
    plan = plan_mix(setup, [50, 100])
    none, half, whole = plan.conditions[:3]
    assert [condition.name for condition in plan.conditions[:3]] == [
        "first alone", "first + 50% of others", "first + 100% of others"
    ]  # fmt: skip
    for less, more in ((none, half), (half, whole)):
        for a, b in zip(less.cells[0], more.cells[0], strict=True):
            assert np.isin(a.train, b.train).all()
            assert np.array_equal(a.test, b.test)
    copy = 48 + 40 + 7
    for cell in whole.cells[0]:
        assert (copy in cell.train) == (3 not in cell.test)
    made = run_plan(setup, plan, tmp_path / "out")
    assert [round(made.row(condition.name).training_stimuli, 2) for condition in (none, whole)] == [32.0, 111.67]
    assert made.ledger["stimulus"].to_list() == ["B_007x.wav"]
    assert mentions(made.ledger["reason"][0], "test", "stimulus", "A_003x.wav")
    with pytest.raises(InputError, match="120%"):
        plan_mix(setup, [120])


def with_prompts(snapshot: Snapshot, prompts: int, start: int = 0) -> Snapshot:
    """The same study, its stimuli made from so many prompts in turn."""
    place = pl.int_range(pl.len()).over("system") % prompts + start
    stimuli = snapshot.stimuli.with_columns(("Prompt " + place.cast(pl.String)).alias("prompt"))
    return Snapshot.build(snapshot.study, stimuli=stimuli, ratings=snapshot.ratings, source=snapshot.source)


def assert_no_prompt_is_trained_on_and_tested(setup: Setup, cells: Iterable[ExperimentCell]) -> None:
    prompts = np.array([value for each in setup.pool.materials for value in each.snapshot.stimuli["prompt"].to_list()])
    for cell in cells:
        assert not set(prompts[cell.train]) & set(prompts[cell.test]), cell.name


@pytest.mark.slow
@pytest.mark.parametrize("by", ["system", "source"])
def test_no_experiment_trains_on_the_prompt_of_a_test_stimulus(tmp_path: Path, by: str) -> None:
    """Neither that another system answered nor that another study used."""
    if by == "system":
        setup = setup_of(tmp_path, with_prompts(study(tmp_path / "media", systems="ABC"), 12), by="system")
    else:
        first = with_prompts(study(tmp_path / "first"), 12)
        setup = setup_of(tmp_path, first, with_prompts(study(tmp_path / "second", seed=2), 12, start=6))
    assert {fact.folds.split(":")[0] for fact in setup.pool.facts} == {"Folds are by prompt"}
    for plan in (plan_transfer(setup), plan_mix(setup, [50, 100])):
        cells = [cell for condition in plan.conditions for own in condition.cells.values() for cell in own]
        assert_no_prompt_is_trained_on_and_tested(setup, cells)
        assert all(cell.train.size > 9 for cell in cells)
        # Every stimulus of the tested part is tested once.
        for condition in plan.conditions:
            tested = np.sort(np.concatenate([cell.test for cell in condition.cells[0]]))
            assert np.array_equal(tested, setup.pool.rows(condition.tested_on))
        reasons = plan.removed.ledger["reason"]
        assert reasons.str.contains("is in the group of the test stimulus").all()
        assert [note for note in plan.removed.notes if "did not train models" in note] == plan.removed.notes
    about = plan_transfer(setup).about
    assert "across sources all stimuli of the training source but those of the tested groups were used" in about
    made = run_plan(setup, plan_transfer(setup), tmp_path / "out")
    assert value_of(made.rows[0].pearson) > 0.8
    assert any("did not train models that were tested on their group" in note for note in made.notes)


@pytest.mark.slow
def test_numbers_are_not_the_same_group_in_two_studies(tmp_path: Path) -> None:
    first, second = (
        with_prompts(study(tmp_path / name, seed=seed), 12) for name, seed in (("first", 1), ("second", 2))
    )
    numbered = [
        Snapshot.build(
            each.study,
            stimuli=each.stimuli.with_columns(pl.col("prompt").str.strip_prefix("Prompt ")),
            ratings=each.ratings,
            source=each.source,
        )
        for each in (first, second)
    ]
    plan = plan_transfer(setup_of(tmp_path, *numbered))
    assert plan.removed.ledger.height == 0
    folds = [len(condition.cells[0]) for condition in plan.conditions if not condition.baseline]
    assert folds == [3, 3, 1, 1]


@pytest.mark.slow
def test_numbered_names_of_one_prompt_are_one_group_in_two_studies(tmp_path: Path) -> None:
    """A column that is different for every stimulus is grouped by its names without their last numbers, across studies too."""
    words = [chr(ord("A") + at) * 3 for at in range(12)]
    made = []
    for seed, name in ((1, "first"), (2, "second")):
        plain = study(tmp_path / name, seed=seed)
        prompts = [f"{words[at % 12]} {100 * seed + at}" for at in range(plain.stimuli.height - 2)]
        stimuli = plain.stimuli.with_columns(pl.Series("theme", [*prompts, None, None]))
        made.append(Snapshot.build(plain.study, stimuli=stimuli, ratings=plain.ratings, source=plain.source))
    setup = setup_of(tmp_path, *made)
    groups = setup.pool.groups
    assert [groups[at] for at in range(58)] == [groups[60 + at] for at in range(58)]
    assert len({*groups[:58].tolist()}) == 12
    assert len({*groups[[58, 59, 118, 119]].tolist()}) == 4


@pytest.mark.slow
def test_a_learning_curve_approaches_the_limit_that_noise_leaves(tmp_path: Path) -> None:
    """Labels of three ratings with a known error: no fit can correlate better with them than their ceiling."""
    snapshot = study(tmp_path / "media", each=100, noise=2.5, raters=3)
    setup = setup_of(tmp_path, snapshot, settings={"heads": "ridge", "setting": "3"})
    made = run_plan(setup, plan_learning_curve(setup, "stimuli", [15, 25, 40, 65], [4]), tmp_path / "out")
    scores = [row for row in made.rows if row.level is not None]
    assert [row.level for row in scores] == pytest.approx([20, 33, 53, 86.67, 133.33], abs=0.5)
    assert value_of(scores[0].pearson) < value_of(scores[-1].pearson) < 0.9
    (curve,) = made.curves
    ahead = curve.ahead[0]
    assert ahead.amount == pytest.approx(4 * 133.33, abs=0.1)
    ceiling = value_of(scores[-1].ceiling)
    assert abs(value_of(ahead.score) - ceiling) < 0.1
    assert ahead.score.low is not None
    assert ahead.score.high is not None
    assert ahead.score.low <= ceiling <= ahead.score.high + 0.05
    write_experiment(made, tmp_path / "out")
    assert "an extrapolation beyond the data" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_more_ratings_and_more_raters_make_better_training_labels(tmp_path: Path) -> None:
    setup = setup_of(tmp_path, study(tmp_path / "media", each=40, noise=2.5, raters=12))
    plan = plan_learning_curve(setup, "ratings", [1, 4])
    made = run_plan(setup, plan, tmp_path / "ratings")
    scores = [row for row in made.rows if row.level is not None]
    assert [row.level for row in scores] == [1, 4, 12]
    assert value_of(scores[0].pearson) < value_of(scores[1].pearson) < value_of(scores[2].pearson)
    assert mentions(made.curves[0].why_missing, "4 different", "3")
    # All ratings, by hand: the mean of each stimulus's twelve.
    everything = plan.fit
    assert everything is not None
    means = dict(setup.pool.materials[0].snapshot.ratings.group_by("stimulus").agg(pl.mean("value")).iter_rows())
    label = everything.labels["up to 12 ratings per stimulus · seed 0"].label("valence")
    assert label == pytest.approx([means[name] for name in setup.pool.stimuli])
    raters = plan_learning_curve(setup, "raters", [25])
    assert [condition.level for condition in raters.conditions] == [3, 12, None]
    fewer = raters.fit
    assert fewer is not None
    one_label = fewer.labels["25% of the raters · seed 0"].label("valence")
    assert np.allclose(one_label * 3, np.round(one_label * 3))
    with pytest.raises(InputError, match="'rater'"):
        plan_learning_curve(setup, "rater")


@pytest.mark.slow
def test_a_search_through_noise_believes_in_itself_and_its_outer_score_does_not(tmp_path: Path) -> None:
    chance = study(tmp_path / "media", lambda x: 1 + 8 * abs(float(np.sin(1e4 * x.sum()))))
    setup = setup_of(tmp_path, chance, seeds=(0, 1), recipe="columns")
    tried = {"keep": [f"c{place}" for place in range(12)]}
    made = run_sweep(setup, plan_sweep(setup, tried), tmp_path / "out")
    (selection,) = made.selections
    assert selection.variants == made.variants == len(made.tried) == 12
    assert sum(variant.chosen for variant in made.tried) == made.tried[0].choices == 6
    assert value_of(selection.inner_best) > 0.15
    assert abs(value_of(selection.outer)) < 0.2
    assert value_of(selection.inner_best) >= max(value_of(variant.inner) for variant in made.tried)
    gap = value_of(selection.inner_best) - value_of(selection.outer)
    assert value_of(selection.optimism) == pytest.approx(gap)
    assert selection.outer == made.row("chosen on validation folds").pearson
    with pytest.raises(InputError, match="two variants"):
        plan_sweep(setup, {"weights": ["equal"]})
    with pytest.raises(InputError, match="no setting 'head'"):
        plan_sweep(setup, {"head": ["ridge", "kernel"]})


@pytest.mark.slow
def test_killed_in_the_middle_and_run_again_gives_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.training.experiments.studies", str(tmp_path), str(tmp_path / "killed"), "5"]
    killed = subprocess.run(command, cwd=Path(__file__).parents[3], check=False)
    assert killed.returncode == -signal.SIGKILL
    stored = sorted((tmp_path / "killed" / "cells").iterdir())
    assert len(stored) == 5
    times = {path: path.stat().st_mtime_ns for path in stored[1:]}
    stored[0].write_text("{")
    setup = setup_of(tmp_path, study(tmp_path / "media"))
    for name in ("killed", "whole"):
        made = run_plan(setup, plan_ablation(setup), tmp_path / name)
        write_json(tmp_path / name / "results.json", made)
    files = {
        path.relative_to(tmp_path / "whole")
        for path in (tmp_path / "whole").rglob("*")
        if path.is_file() and path.name != TIMES
    }
    assert len(files) == 4 * 3 + 2
    for file in files:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "killed" / file).read_bytes(), file
    assert {path: path.stat().st_mtime_ns for path in stored[1:]} == times


@pytest.mark.slow
def test_the_command_lists_cells_runs_them_and_refuses_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    study(tmp_path / "media").write(tmp_path / "snapshot")
    shared = [str(tmp_path / "snapshot"), "--recipe", "digits", "--policy", "none", "--seeds", "0", "--folds", "2"]
    shared += ["--set", "heads=ridge", "--set", "setting=0.3", "--map", f"media={tmp_path / 'media'}"]
    out = ["-o", str(tmp_path / "out")]
    assert main(["experiment", "mix", *shared, "--by", "system", *out, "--dry-run"]) == 0
    planned = capsys.readouterr().out
    assert "10 cells, 10 to fit" in planned
    assert "judging from 1 fit." in planned
    assert not (tmp_path / "out").exists()
    assert main(["experiment", "mix", *shared, "--by", "system", "--base", "B", *out]) == 0
    assert "| valence | B + 50% of others |" in capsys.readouterr().out
    stored = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert [source["name"] for source in stored["sources"]] == ["A", "B"]
    for arguments, words in (
        (["transfer", *shared, "--by", "system", *out], "holds another experiment: mix"),
        (["mix", *shared, "--by", "system", "--amounts", "150", *out], "150%"),
        (["mix", *shared, "--by", "system", "--base", "b", *out], "Did you mean 'B'?"),
        (["mix", *shared, *out], "there is one source"),
        (["mix", *shared, "--by", "stimulus", *out], "too few"),
        (["ablate", *shared, "--field", "frist", "-o", str(tmp_path / "new")], "Did you mean 'first'?"),
        (["ablate", *shared, "--amounts", "5", "-o", str(tmp_path / "new")], "not of ablate"),
        (["sweep", *shared, "-o", str(tmp_path / "new")], "nothing to search over"),
        (["transfer", *shared, *out[:1], str(tmp_path)], "something other than an experiment"),
        (["ablat", *shared, *out], "Did you mean 'ablate'?"),
    ):
        assert main(["experiment", *arguments]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.slow
def test_a_fit_that_fails_is_named_and_the_others_stay(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_ablation(setup, ["first"], ["without"])
    fit = FrozenFit.fit_and_predict

    def fails(self: FrozenFit, cell: ExperimentCell) -> CellResult:
        if cell.name.startswith("without first · seed 1"):
            raise ValueError("singular matrix")
        return fit(self, cell)

    monkeypatch.setattr(FrozenFit, "fit_and_predict", fails)
    with pytest.raises(ValueError, match="singular matrix") as failed:
        run_plan(setup, plan, tmp_path / "out")
    assert failed.value.__notes__ == [
        "The fit 'without first · seed 1 · fold 1' failed; the fits that are complete are kept."
    ]
    assert len(results_of(tmp_path / "out")) == 6 + 3


@pytest.mark.slow
def test_what_cannot_be_an_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no seed"):
        ExperimentOptions(seeds=())
    with pytest.raises(InputError, match="twice"):
        ExperimentOptions(seeds=(1, 1))
    with pytest.raises(InputError, match="at least 2"):
        ExperimentOptions(folds=1)
    snapshot = study(tmp_path / "media", each=12)
    other = study(tmp_path / "media", each=12, question="liking")
    sources = [("first", snapshot), ("second", other)]
    with pytest.raises(InputError, match=r"question.*valence"):
        prepare(sources, options(tmp_path))
    renamed = prepare(sources, options(tmp_path, same={"liking": "valence"}))
    assert renamed.pool.questions == ("valence",)
    # Every stimulus of the second is a copy of one in the first: nothing of the other source is left to train on.
    with pytest.raises(InputError, match="0 training stimuli"):
        run_plan(renamed, plan_transfer(renamed), tmp_path / "out")
    alone = prepare([("first", snapshot)], options(tmp_path, group="stimulus"))
    assert alone.pool.notes == ("Every group of 'first' has one stimulus: its folds are by stimulus.",)
    with pytest.raises(InputError, match=r"2 groups.*3 folds"):
        plan_ablation(prepare([("first", snapshot)], options(tmp_path, group="system")))


@pytest.mark.parametrize("name", MATRIX_ROWS)
def test_a_source_is_not_called_like_a_row_of_the_matrix(name: str, tmp_path: Path) -> None:
    """Its scores and those of that row would be one row."""
    sources = [(name, study(tmp_path / "a", each=12)), ("second", study(tmp_path / "b", each=12, seed=2))]
    setup = prepare(sources, options(tmp_path))
    with pytest.raises(InputError, match=f"A source called '{name}' could not be told from the row"):
        plan_transfer(setup)
