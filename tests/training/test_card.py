"""Model cards as hubs read them, and models loaded by the code of the docs without heartfelt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heartfelt.predictors.trained.folder import CARD, FROZEN_HEAD, BaseModel, DataSource, ModelCore
from heartfelt.training import Trained, TrainOptions, train
from heartfelt.training.heads.card import half_width
from heartfelt.training.model_card import CardScore, filled, header
from tests.facts import mentions
from tests.training.alone import code_without_heartfelt, run_alone
from tests.training.studies import planted

hub = pytest.importorskip("huggingface_hub", reason="needs the extra 'hub'")
SOURCE = DataSource(study="My Study: one", snapshot="abc", licence="CC BY 4.0", credit="A (2025).", hub="o/d")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("planted")
    options = TrainOptions(recipe="digits", policy="none", heads=("ridge",), features=folder / "features")
    return train(planted(folder / "media", 3), options)


def test_the_hub_reads_the_card_of_a_head(trained: Trained, tmp_path: Path) -> None:
    trained.model.write(tmp_path / "model")
    data = hub.ModelCard.load(tmp_path / "model" / CARD).data
    assert (data.library_name, data.license) == ("heartfelt", "other")
    assert data.model_name == trained.model.name
    assert {FROZEN_HEAD, "digits", "audio"} <= set(data.tags)
    found = {(r.task_name, r.dataset_config, r.metric_type): r.metric_value for r in data.eval_results}
    expected = {}
    for score in trained.evaluation.rows:
        expected[score.question, score.reading, "pearsonr"] = pytest.approx(score.pearson.value, abs=1e-6)
        expected[score.question, score.reading, "rmse"] = pytest.approx(score.rmse.value, abs=1e-6)
    assert found == expected
    assert {r.dataset_revision for r in data.eval_results} == {trained.material.snapshot.hash}


def test_a_header_has_licence_base_models_and_every_score() -> None:
    core = ModelCore(
        kind=FROZEN_HEAD,
        name="a: model",
        recipe="r",
        media="image",
        licence="Apache-2.0",
        data=(SOURCE,),
        base_models=(BaseModel(name="p==1.0"), BaseModel(name="o/m", hub="o/m")),
    )
    scores = [
        CardScore(question="mood", categories=True, part="test", data=SOURCE, metric=name, value=0.5)
        for name in ("accuracy", "macro_f1")
    ]
    data = hub.ModelCard("\n".join(header(core, scores))).data
    assert data.datasets == ["o/d"]
    assert (data.license, data.base_model, data.model_name) == ("apache-2.0", ["p", "o/m"], "a: model")
    assert [(r.task_type, r.dataset_type, r.metric_type) for r in data.eval_results] == [
        ("image-classification", "my-study-one", "accuracy"),
        ("image-classification", "my-study-one", "f1"),
    ]
    words = filled("licences.md.j2", core=core, credit=())
    assert mentions(words, "`My Study: one`", "CC BY 4.0", "2025")


def test_a_width_is_never_printed_as_nothing() -> None:
    assert half_width(1.558) == "±1.56"
    assert half_width(0.005) == "±0.01"
    assert half_width(0.0049) == half_width(0.0) == "less than ±0.01"


@pytest.mark.parametrize("marker", ['onnxruntime.InferenceSession("model/model.onnx")\nanswers', "safetensors.numpy"])
def test_a_head_answers_by_the_code_of_the_docs(trained: Trained, tmp_path: Path, marker: str) -> None:
    trained.model.write(tmp_path / "model")
    rows = np.random.default_rng(1).normal(0, 0.3, (4, 12)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    printed = run_alone(code_without_heartfelt(marker), tmp_path)
    value = float(printed.split(":")[1].strip(" }\n").removeprefix("np.float64(").removesuffix(")"))
    head = trained.model.outputs[0].head.answer(rows)
    assert head.min() > 1
    assert head.max() < 9
    assert value == pytest.approx(head.mean(), rel=1e-5)


def test_the_code_of_the_card_answers_too(trained: Trained, tmp_path: Path) -> None:
    trained.model.write(tmp_path / "DIR")
    np.save(tmp_path / "rows.npy", np.zeros((2, 12), np.float32))
    code = (tmp_path / "DIR" / CARD).read_text().split("```python\n")[1].split("```")[0]
    assert "valence" in run_alone(code, tmp_path)


def test_heartfelt_cannot_be_imported_where_the_code_runs(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="heartfelt"):
        run_alone("import heartfelt.tables", tmp_path)
