"""Heads that learn from single answers: nothing of what is left out is looked at, and answers are predicted as a distribution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heartfelt
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.trained.model import load_trained
from heartfelt.predictors.trained.predictor import TrainedPredictor
from heartfelt.training import RECIPES, Evaluation, Trained, TrainingStimuli, TrainOptions, evaluate, gather, train
from heartfelt.training.heads.card import answers_table
from heartfelt.training.heads.fitting import ScaledRows, choose
from heartfelt.training.heads.raters import SingleAnswers
from tests.training.studies import planted, value_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("answers")
    options = TrainOptions(recipe="digits-raters", policy="none", heads=("ridge",), features=folder / "f")
    return train(planted(folder / "media", 3), options)


@pytest.mark.slow
def test_answers_are_predicted_as_a_distribution(made: Trained, tmp_path: Path) -> None:
    rows = {row.protocol: row for row in made.evaluation.rows}
    assert rows["within-cells"].answers is None
    for protocol in ("five-fold", "leave-one-system-out"):
        score = rows[protocol].answers
        assert score is not None
        assert value_of(score.ceiling) * 0.95 < value_of(score.crps) < 0.75 * value_of(score.blind)
        assert (score.crps.low or 0.0) < value_of(score.crps) < (score.crps.high or 0.0)
        assert score.spread == pytest.approx(score.observed, rel=0.2)
    assert len(answers_table(made.evaluation.rows)) == 4
    # The spread is stored with the model and given with a prediction.
    made.model.write(tmp_path / "model")
    again = load_trained(tmp_path / "model")
    assert again.outputs[0].answers == made.model.outputs[0].answers
    assert again.outputs[0].answers is not None
    name = made.material.stimuli[0]
    root = made.material.snapshot.source.media_root
    row = heartfelt.predict(Path(str(root)) / name, TrainedPredictor(again)).row(0, named=True)
    assert row["spread"] == pytest.approx(float(again.outputs[0].answers.sd(row["value"])), abs=1e-9)


@pytest.mark.slow
def test_left_out_answers_have_no_part(made: Trained) -> None:
    """The answers about one outer fold turned round: its own predictions stay to the bit, those of others move."""
    material = made.material
    target = material.targets[0]
    assert target.answers is not None
    name = "leave-one-system-out"
    was = made.evaluation.left_out["valence", name]
    out = was.fold == 1
    value = np.where(out[target.answers.place], 10.0 - target.answers.value, target.answers.value)
    wild = SingleAnswers(target.answers.rater, target.answers.place, value)
    screened = np.where(out, 10.0 - target.screened, target.screened)
    changed = replace(material, targets=(replace(target, answers=wild, screened=screened),))
    after: Evaluation = evaluate(changed, ("ridge",))
    own = after.left_out["valence", name]
    assert own.value[out].tolist() == was.value[out].tolist()
    assert own.half_width[out].tolist() == was.half_width[out].tolist()
    assert own.answer_sd is not None
    assert was.answer_sd is not None
    assert own.answer_sd[out].tolist() == was.answer_sd[out].tolist()
    assert np.abs(own.value - was.value)[~out].max() > 0.05


@pytest.mark.slow
def test_raters_who_differ_are_learned_from_better_than_by_means(tmp_path: Path) -> None:
    """A third of the raters answer by chance: labels of the model, and so the heads, come closer to the truth."""
    snapshot = planted(tmp_path / "media", 5)
    errors = {}
    for recipe in ("digits", "digits-raters"):
        material: TrainingStimuli = gather(snapshot, RECIPES[recipe], policy="none", cache=FeatureCache(tmp_path / "f"))
        target = material.targets[0]
        answers = gather(snapshot, RECIPES["digits-raters"], policy="none", cache=FeatureCache(tmp_path / "f"))
        single = answers.targets[0].answers
        assert single is not None
        rng = np.random.default_rng(5)
        value = np.where(single.rater < 4, rng.integers(1, 10, single.value.size), single.value)
        counts = np.bincount(single.place)
        label = np.bincount(single.place, value) / counts
        noisy = SingleAnswers(single.rater, single.place, value) if recipe == "digits-raters" else None
        at = np.arange(len(material.stimuli))
        rows = material.rows(replace(target, label=label, answers=noisy), at)
        head = choose(rows, None, ("ridge",)).head
        truth = material.features["digits"] @ np.array([1.0, -0.8, 0.5, 0.3] + [0.0] * 8)
        predicted = head.answer(material.features["digits"])
        errors[recipe] = 1 - np.corrcoef(predicted, truth)[0, 1] ** 2
    assert errors["digits-raters"] < 0.8 * errors["digits"]


@pytest.mark.slow
def test_blocks_that_are_ignored_have_no_part(made: Trained) -> None:
    material = made.material
    at = np.arange(len(material.stimuli))
    rows = replace(material.rows(material.targets[0], at), ignored=("rest",))
    assert ScaledRows(rows).factor[4:].tolist() == [0.0] * 8
    head = choose(rows, None, ("ridge",)).head
    changed = rows.x.copy()
    changed[:, 4:] += 3.0
    assert head.answer(changed).tolist() == head.answer(rows.x).tolist()
    changed[:, :4] += 3.0
    assert np.abs(head.answer(changed) - head.answer(rows.x)).max() > 0.01
    recipe = RECIPES["va-audio"]
    assert recipe.ignored_by("valence") == ("signal", "rhythm", "roughness")
    assert recipe.ignored_by("arousal") == ("signal, levelled", "rhythm, levelled", "roughness, levelled")
    assert RECIPES["mos-audio"].ignored_by("impression") == ()
