"""Experiments with a fine-tuning recipe: a tiny network of the real classes, with annotation fields as inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.training.experiments import ExperimentOptions, listed_cells, plan_ablation, plan_sweep, prepare, run_plan
from heartfelt.training.experiments.cells import ExperimentCell
from heartfelt.training.experiments.finetuned import FineTuneFit
from tests.training.finetuning.painted import painted
from tests.training.finetuning.tiny_images import CONFIGS
from tests.training.studies import value_of

SETTINGS = {
    "architecture": "resnet50",
    "weights": "random",
    "config": dumps(CONFIGS["resnet50"]),
    "side": "32",
    "epochs": "3",
    "batch": "12",
    "learning_rate": "3e-3",
    "device": "cpu",
    "workers": "0",
    "dropout": "0",
    "attributes": "brightness+scene",
}


@pytest.mark.slow
def test_without_the_field_that_decides_the_answer_little_is_left(tmp_path: Path) -> None:
    snapshot = painted(tmp_path / "media")
    options = ExperimentOptions(
        recipe="attributes",
        policy="none",
        seeds=(0,),
        folds=2,
        questions=("valence",),
        settings=SETTINGS,
        resamples=200,
    )
    setup = prepare([("painted", snapshot)], options)
    assert setup.fit.fields == ["brightness", "scene"]
    plan = plan_ablation(setup, ["brightness"], ["without"])
    made = run_plan(setup, plan, tmp_path / "out")
    whole, without = made.row("all features"), made.row("without brightness")
    assert value_of(whole.pearson) > 0.75
    assert value_of(without.pearson) < 0.5
    assert (whole.n, whole.training_stimuli) == (48, 24)
    assert whole.ceiling.value is not None
    assert all(cell.complete for cell in listed_cells(setup, plan, tmp_path / "out"))
    # The same numbers again, from the seed alone.
    cell = plan.conditions[0].cells[0][0]
    again = setup.fit.fit_and_predict(cell)
    fit = setup.fit
    assert isinstance(fit, FineTuneFit)
    truth = setup.pool.truth["valence"][cell.test]
    stored = (tmp_path / "out" / "cells" / f"{fit.key(cell)}.json").read_text(encoding="utf-8")
    assert stored == dumps(again) + "\n"
    # A model never gets a label of a test stimulus.
    recipe, settings = fit._recipe(cell.settings)
    data = fit._data(cell, settings)
    assert recipe.name == "attributes"
    assert not data.targets[0].weight[data.parts.test["test"]].any()
    assert [data.examples[at].stimulus for at in data.parts.test["test"]] == [
        setup.pool.stimuli[row] for row in cell.test
    ]
    assert np.isfinite(truth).all()
    assert fit._recipe(fit.ablated("without", ["brightness", "scene"]))[0].name == "image-emotion"
    assert fit.ablated("only", ["scene"]) == {"attributes": "scene"}
    with pytest.raises(InputError, match="'scenes'") as error:
        plan_ablation(setup, ["scenes"])
    assert "Did you mean 'scene'?" in error.value.fix
    with pytest.raises(InputError, match="no setting 'heads'"):
        plan_sweep(setup, {"heads": ["ridge", "kernel"]})
    assert len(plan_sweep(setup, {"learning_rate": ["1e-3", "1e-4"]}).variants) == 2
    # Categories: the codes of the most probable ones, scored by accuracy.
    feeling = prepare([("painted", snapshot)], replace(options, questions=("emotion",)))
    cell = plan_ablation(feeling, ["brightness"], ["without"]).conditions[0].cells[0][0]
    result = feeling.fit.fit_and_predict(cell)
    codes = feeling.pool.codes("emotion")
    assert feeling.pool.metric("emotion") == "accuracy"
    assert set(result.of("emotion")) <= set(codes)
    assert result.centre["emotion"] in codes


@pytest.mark.slow
def test_fields_that_can_be_ablated_are_the_inputs_of_the_recipe(tmp_path: Path) -> None:
    snapshot = painted(tmp_path / "media")

    def fit_of(recipe: str, **changed: str) -> FineTuneFit:
        settings = {**SETTINGS, **changed}
        if recipe == "image-emotion":
            del settings["attributes"]
        options = ExperimentOptions(
            recipe=recipe, policy="none", seeds=(0,), folds=2, questions=("valence",), settings=settings, resamples=200
        )
        fit = prepare([("painted", snapshot)], options).fit
        assert isinstance(fit, FineTuneFit)
        return fit

    fit = fit_of("attributes")
    assert fit.ablated("without", ["scene"]) == {"attributes": "brightness"}
    assert fit.ablated("only", ["scene"]) == {"attributes": "scene"}
    assert fit.ablated("without", ["brightness", "scene"]) == {"attributes": ""}
    assert fit.ablates("valence", ["scene"])
    assert not fit.ablates("valence", [])
    assert fit_of("image-emotion").fields == []
    assert {"brightness", "scene"} <= set(fit_of("attributes", attributes="all").fields)
    cell = ExperimentCell(name="one", train=np.arange(24), test=np.arange(24, 48), seed=0)
    changes = [
        replace(cell, seed=1),
        replace(cell, shuffled="fold 1"),
        replace(cell, train=np.arange(23)),
        replace(cell, test=np.arange(24, 47)),
        replace(cell, settings={"attributes": "scene"}),
    ]
    assert len({fit.key(changed) for changed in (cell, *changes)}) == 1 + len(changes)
    assert fit.key(replace(cell, name="other")) == fit.key(cell)
