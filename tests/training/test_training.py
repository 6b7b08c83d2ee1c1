"""From ratings to a model in a folder: planted truth, honesty, resuming, the same bytes, what must be refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import DamagedError, InputError
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.trained.folder import CARD, MODEL, ONNX, TRAINING_STIMULI, WEIGHTS
from heartfelt.predictors.trained.model import load_trained
from heartfelt.report.pages.training import write_evaluation
from heartfelt.training import RECIPES, ProtocolScore, Trained, TrainOptions, gather, train
from tests.training.studies import Digits, planted, value_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("planted")
    return train(planted(folder / "media"), TrainOptions(recipe="digits", policy="none", features=folder / "features"))


def row(made: Trained, protocol: str, side: str = "everyone") -> ProtocolScore:
    scores = [score for score in made.evaluation.rows if (score.protocol, score.raters) == (protocol, side)]
    assert len(scores) == 1
    return scores[0]


@pytest.mark.slow
def test_planted_truth_is_found_up_to_the_ceiling(made: Trained) -> None:
    for protocol in ("five-fold", "leave-one-system-out"):
        result = row(made, protocol)
        assert value_of(result.pearson) > 0.9
        assert value_of(result.pearson) <= (result.ceiling.high or 0.0) + 0.02
        assert value_of(result.pearson) > value_of(result.bare_means)
        assert 0.8 <= (result.coverage or 0.0) <= 1.0
    assert value_of(row(made, "within-cells").pearson) > 0.85


@pytest.mark.slow
def test_chance_is_not_predicted(tmp_path: Path) -> None:
    """Nested folds: labels that have nothing to do with the files give a correlation about zero."""
    snapshot = planted(tmp_path / "media", truth=False)
    result = row(train(snapshot, TrainOptions(recipe="digits", policy="none", features=tmp_path / "f")), "five-fold")
    assert abs(value_of(result.pearson)) < 0.35


@pytest.mark.slow
def test_the_model_in_its_folder_is_the_same(made: Trained, tmp_path: Path) -> None:
    made.model.write(tmp_path / "one")
    made.model.write(tmp_path / "two")
    for name in (MODEL, WEIGHTS, ONNX, TRAINING_STIMULI, CARD):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    again = load_trained(tmp_path / "one")
    x = made.material.features["digits"]
    assert again.outputs[0].head.answer(x) == pytest.approx(made.model.outputs[0].head.answer(x), abs=1e-9)
    assert again.out_of_fold == made.model.out_of_fold
    assert again.outputs[0].errors["systems"] == 4


@pytest.mark.slow
def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        options = TrainOptions(recipe="digits", policy="none", heads=("ridge", "mlp"), features=tmp_path / "f")
        train(planted(tmp_path / "media", 3), options).model.write(tmp_path / name)
    for file in (MODEL, WEIGHTS):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.slow
def test_as_a_predictor_it_keeps_training_stimuli_out_of_fold(
    made: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    made.model.write(tmp_path / "model")
    snapshot = planted(tmp_path / "media")
    with predictor_from(f"trained:{tmp_path / 'model'}") as predictor:
        result = run(predictor, cases(snapshot, limit=12)).table
        assert result["ok"].all()
        assert result["note"].str.contains("out of fold").all()
        left_out = {retained.stimulus: retained.predicted["valence"] for retained in made.model.out_of_fold.values()}
        for stimulus, value, low, high in result.select("stimulus", "value", "low", "high").iter_rows():
            assert value == pytest.approx(left_out[stimulus])
            assert 1 <= low <= value <= high <= 9
        other = snapshot.stimuli["path"][0]
        (tmp_path / "media" / other).write_text("\n".join(["0.5"] * 12))
        new = planted(tmp_path / "new", 1)
        fresh = run(predictor, cases(new)).table.filter(pl.col("stimulus").str.ends_with("_0.wav"))
        assert fresh["ok"].all()


@pytest.mark.slow
def test_an_id_alone_is_no_training_stimulus(made: Trained) -> None:
    name = made.material.stimuli[0]
    system, intent = made.material.system[0], made.material.intent[0]
    assert made.model.out_of_fold_of("another hash", name, system, intent) is not None
    assert made.model.out_of_fold_of("another hash", name, "another system", intent) is None
    assert made.model.out_of_fold_of("another hash", name) is None
    assert made.model.out_of_fold_of(made.material.hashes[0]) is not None


@pytest.mark.slow
def test_embeddings_are_made_once(tmp_path: Path) -> None:
    snapshot = planted(tmp_path / "media", 2)
    cache = FeatureCache(tmp_path / "features")
    before = Digits.looks
    first = gather(snapshot, RECIPES["digits"], policy="none", cache=cache)
    assert Digits.looks == before + 24
    again = gather(snapshot, RECIPES["digits"], policy="none", cache=cache)
    assert Digits.looks == before + 24
    assert np.array_equal(first.features["digits"], again.features["digits"])
    retained = sorted((tmp_path / "features").rglob("*.npz"))[0]
    retained.write_bytes(retained.read_bytes()[:50])
    gather(snapshot, RECIPES["digits"], policy="none", cache=cache)
    assert Digits.looks == before + 25


@pytest.mark.slow
def test_a_label_of_few_ratings_weighs_less(made: Trained) -> None:
    target = made.material.targets[0]
    assert target.weight[np.isfinite(target.label)].mean() == pytest.approx(1.0)
    assert (target.weight > 0).all()


@pytest.mark.slow
def test_files_that_are_not_there_are_rows_with_reasons(tmp_path: Path) -> None:
    snapshot = planted(tmp_path / "media", 3)
    (tmp_path / "media" / "A_happy_0.wav").unlink()
    result = gather(snapshot, RECIPES["digits"], policy="none", cache=FeatureCache(tmp_path / "f"))
    assert result.ledger["stimulus"].to_list() == ["A_happy_0.wav"]
    assert result.ledger["reason"].to_list() == ["its media file is not available"]
    assert len(result.stimuli) == 35


@pytest.mark.slow
def test_too_little_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="12 stimuli have both a label and a file"):
        train(planted(tmp_path / "media", 1), TrainOptions(recipe="digits", policy="none", features=tmp_path / "f"))
    with pytest.raises(InputError, match="No head is called 'forest'"):
        TrainOptions(heads=("forest",))


@pytest.mark.slow
def test_a_damaged_model_is_told(made: Trained, tmp_path: Path) -> None:
    made.model.write(tmp_path / "model")
    content = (tmp_path / "model" / WEIGHTS).read_bytes()
    (tmp_path / "model" / WEIGHTS).write_bytes(content[:-7] + b"damaged")
    with pytest.raises(DamagedError, match="does not match"):
        load_trained(tmp_path / "model")
    with pytest.raises(InputError, match="holds no trained model"):
        load_trained(tmp_path)


@pytest.mark.slow
def test_a_model_of_another_embedding_is_refused(made: Trained, tmp_path: Path) -> None:
    made.model.write(tmp_path / "model")
    predicted = json.loads((tmp_path / "model" / MODEL).read_text())
    predicted["looks_through"] = "an earlier reading"
    (tmp_path / "model" / MODEL).write_text(json.dumps(predicted))
    with pytest.raises(InputError, match="another version of the") as raised:
        load_trained(tmp_path / "model")
    assert "Train the model again" in raised.value.fix


@pytest.mark.slow
def test_the_evaluation_is_written_whole(made: Trained, tmp_path: Path) -> None:
    write_evaluation(made, tmp_path / "evaluation")
    page = (tmp_path / "evaluation" / "report.html").read_text(encoding="utf-8")
    assert "How well it predicts" in page
    table = pl.read_csv(tmp_path / "evaluation" / "predictions.csv")
    assert table.height == 2 * 84
    assert (tmp_path / "evaluation" / "figures" / "evaluation.png").is_file()
