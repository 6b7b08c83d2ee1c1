"""One layout for every trained model's folder: what it holds, what it says of other folders, and folders of layout 1."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from heartfelt.errors import DamagedError, InputError
from heartfelt.predictors import predictor_from
from heartfelt.predictors.trained.embeddings import EMBEDDINGS
from heartfelt.predictors.trained.finetuned import load_fine_tuned
from heartfelt.predictors.trained.folder import (
    CARD,
    FINE_TUNED,
    FROZEN_HEAD,
    LAYOUT,
    MODEL,
    NOT_STATED,
    ONNX,
    TRAINING_STIMULI,
    WEIGHTS,
    BaseModel,
    DataSource,
    model_kind,
)
from heartfelt.predictors.trained.heads.head import KINDS
from heartfelt.predictors.trained.model import load_trained
from heartfelt.predictors.trained.valence_arousal import SHIPPED, shipped
from heartfelt.study import parse_study
from heartfelt.training import Trained, TrainOptions, train
from heartfelt.training.heads.card import card
from tests.training.studies import STUDY, planted

OLD = Path(__file__).parent / "layout1"
ROWS = np.linspace(-2, 2, 36, dtype=np.float32).reshape(3, 12)
OLD_ANSWERS = [3.655193985449092, 4.5669369254666226, 5.565025369017763]
"""What the version that wrote the folder answered to these rows."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("planted")
    options = TrainOptions(recipe="digits", policy="none", heads=("ridge",), features=folder / "features")
    return train(planted(folder / "media", 2), options)


def test_a_head_has_the_layout(trained: Trained, tmp_path: Path) -> None:
    trained.model.write(tmp_path / "model")
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert names == {WEIGHTS, ONNX, MODEL, CARD, TRAINING_STIMULI}
    manifest = json.loads((tmp_path / "model" / MODEL).read_text())
    assert (manifest["kind"], manifest["layout"], manifest["media"]) == (FROZEN_HEAD, LAYOUT, "audio")
    assert manifest["data"] == [
        {"study": "planted", "snapshot": trained.material.snapshot.hash, "licence": NOT_STATED, "credit": "", "hub": ""}
    ]
    assert list(manifest["files"]) == [WEIGHTS]
    assert manifest["outputs"][0]["question"] == "valence"
    assert sum(manifest["blocks"].values()) == 12
    stimuli = json.loads((tmp_path / "model" / TRAINING_STIMULI).read_text())
    assert set(stimuli) == set(trained.material.hashes)
    first = stimuli[trained.material.hashes[0]]
    assert first["stimulus"] == trained.material.stimuli[0]
    assert set(first["predicted"]) == {"valence"}


def test_a_folder_without_its_training_stimuli_is_refused(trained: Trained, tmp_path: Path) -> None:
    """Without them, what it was trained on would be predicted as if it were new."""
    folder = trained.model.write(tmp_path / "model")
    (folder / TRAINING_STIMULI).unlink()
    with pytest.raises(DamagedError, match=f"{TRAINING_STIMULI} is missing"):
        load_trained(folder)


@pytest.mark.parametrize("key", ["half_width", "confidence", "slope", "bounds"])
def test_a_number_that_is_gone_is_told_when_the_folder_is_read(trained: Trained, tmp_path: Path, key: str) -> None:
    folder = trained.model.write(tmp_path / "model")
    manifest = json.loads((folder / MODEL).read_text())
    manifest["outputs"][0][key] = [1.0, None] if key == "bounds" else None
    (folder / MODEL).write_text(json.dumps(manifest))
    with pytest.raises(DamagedError, match=r"model\.json.*'valence'"):
        load_trained(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_answers_as_the_head_does(trained: Trained, tmp_path: Path, kind: str) -> None:
    """Every kind of head, with a scale whose ends single precision does not hold."""
    import onnxruntime

    from heartfelt.training.heads.fitting import SETTINGS, ScaledRows, fit

    target = trained.material.targets[0]
    at = np.arange(len(trained.material.stimuli))
    head = fit(kind, ScaledRows(trained.material.rows(target, at)), SETTINGS[kind][0]).stored()
    output = replace(trained.model.outputs[0], head=head, bounds=(3.1, 6.3))
    replace(trained.model, outputs=(output, replace(output, question="other"))).write(tmp_path / "model")
    session = onnxruntime.InferenceSession(str(tmp_path / "model" / ONNX))
    rows = np.random.default_rng(0).normal(0, 3, (40, 12)).astype(np.float32)
    expected = np.clip(head.answer(rows), 3.1, 6.3)
    assert np.unique(expected).size > 3
    for name in ("valence", "other"):
        np.testing.assert_allclose(session.run([name], {"embedding": rows})[0], expected, atol=1e-9)


def test_the_weights_alone_are_the_head(trained: Trained, tmp_path: Path) -> None:
    """What answers is in the hashed file, the intercept too: a changed model.json cannot change an answer."""
    trained.model.write(tmp_path / "model")
    path = tmp_path / "model" / MODEL
    changed = json.loads(path.read_text())
    changed["outputs"][0]["head"]["intercept"] += 1
    path.write_text(json.dumps(changed))
    again = load_trained(tmp_path / "model").outputs[0].head
    np.testing.assert_allclose(again.answer(ROWS), trained.model.outputs[0].head.answer(ROWS))
    arrays = load_file(tmp_path / "model" / WEIGHTS)
    scaled = (ROWS - arrays["valence/mean"]) * arrays["valence/factor"]
    scaled = np.clip(scaled, -arrays["valence/reach"], arrays["valence/reach"])
    answers = arrays["valence/intercept"] + scaled @ arrays["valence/weight"]
    np.testing.assert_allclose(answers, again.answer(ROWS), rtol=1e-5)


def test_a_folder_of_layout_1_answers_as_it_did() -> None:
    model = load_trained(OLD)
    assert model_kind(OLD) == FROZEN_HEAD
    assert model.outputs[0].head.answer(ROWS).tolist() == pytest.approx(OLD_ANSWERS, rel=1e-12)
    assert model.domain is not None
    expected = [0.39643315495277587, -0.33876680375772283, 0.013566505621053854]
    assert model.domain.measures(ROWS)[0].tolist() == pytest.approx(expected, rel=1e-9)
    assert len(model.out_of_fold) == model.facts.stimuli == 24
    assert model.data == (DataSource(study="planted", snapshot=model.facts.snapshot),)


def test_a_folder_of_layout_1_is_written_in_the_new_one(tmp_path: Path) -> None:
    old = load_trained(OLD)
    replace(old, card=card(old)).write(tmp_path / "model")
    new = load_trained(tmp_path / "model")
    assert new.outputs[0].head.answer(ROWS).tolist() == old.outputs[0].head.answer(ROWS).tolist()
    assert (new.out_of_fold, new.domain_hash) == (old.out_of_fold, old.domain_hash)
    assert "rated by 12 of 12 raters" in (tmp_path / "model" / CARD).read_text()


@pytest.mark.parametrize("name", ["weights.npz", "domain.npz"])
def test_a_damaged_folder_of_layout_1_is_refused(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(OLD, tmp_path / "model")
    content = bytearray((folder / name).read_bytes())
    content[-30] ^= 1
    (folder / name).write_bytes(bytes(content))
    with pytest.raises(DamagedError, match=name):
        load_trained(folder)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("adapter_config.json", "adapters of PEFT"),
        ("config.json", "a model of another library"),
        ("evaluation.json", "an evaluation"),
        ("export.json", "exported conversations"),
        ("study.yaml", "a study or a snapshot"),
    ],
)
def test_other_folders_are_told_for_what_they_are(tmp_path: Path, file: str, words: str) -> None:
    (tmp_path / file).write_text("{}")
    for read in (model_kind, load_trained, load_fine_tuned):
        with pytest.raises(InputError, match=words) as raised:
            read(tmp_path)
        assert "heartfelt train" in raised.value.fix


def test_what_is_no_folder_of_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        model_kind(tmp_path / "gone")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        model_kind(tmp_path / "file")
    (tmp_path / "x.training").mkdir()
    with pytest.raises(InputError, match="unfinished training"):
        model_kind(tmp_path / "x.training")
    for text, words in (
        ('{"a": 1}', "not written by heartfelt"),
        ("[]", "not written by heartfelt"),
        ('{"kind": "fine-tuned", "layout": 9}', "has the layout 9"),
        ('{"kind": "quantum", "layout": 2}', "kind 'quantum'"),
        ('{"kind": ["fine-tuned"], "layout": 2}', "a model of the kind"),
        ('{"kind": "fine-tuned"}', "has the layout None"),
    ):
        (tmp_path / MODEL).write_text(text)
        with pytest.raises(InputError, match=words):
            model_kind(tmp_path)
    (tmp_path / MODEL).write_text("{")
    with pytest.raises(DamagedError, match="cannot be read"):
        model_kind(tmp_path)


def test_one_kind_is_not_taken_for_the_other(trained: Trained, tmp_path: Path) -> None:
    trained.model.write(tmp_path / "head")
    assert model_kind(tmp_path / "head") == FROZEN_HEAD
    with pytest.raises(InputError, match=r"'digits'.*network"):
        load_fine_tuned(tmp_path / "head")
    (tmp_path / "tuned").mkdir()
    facts = {"kind": FINE_TUNED, "layout": 2, "recipe": "clap-mos"}
    (tmp_path / "tuned" / MODEL).write_text(json.dumps(facts))
    assert model_kind(tmp_path / "tuned") == FINE_TUNED
    with pytest.raises(InputError, match=r"network.*'clap-mos'") as raised:
        load_trained(tmp_path / "tuned")
    assert "trained:" in raised.value.fix
    with predictor_from(f"trained:{tmp_path / 'head'}") as predictor:
        assert predictor.describe().version is not None


def test_the_licence_of_the_data_is_that_of_the_study_or_of_its_credit() -> None:
    study = parse_study(STUDY, "planted")
    assert DataSource.of(study, "x").licence == NOT_STATED
    credited = study.model_copy(update={"credit": "A and B (2025). CC BY-NC 4.0, on request."})
    assert DataSource.of(credited, "x").licence == "CC BY-NC 4.0"
    assert DataSource.of(credited.model_copy(update={"licence": "MIT"}), "x").licence == "MIT"
    listed = study.model_copy(update={"credit": "See https://huggingface.co/datasets/o/d-1."})
    assert DataSource.of(listed, "x").hub == "o/d-1"
    vague = study.model_copy(update={"credit": "Permission by the authors, MITRE."})
    assert DataSource.of(vague, "x").licence == NOT_STATED


def test_base_models_have_the_hub_id_or_the_package(tmp_path: Path) -> None:
    ids = {name: [base.header_id for base in EMBEDDINGS[name]().base_models] for name in ("music-msd", "music-words")}
    assert ids["music-msd"] == ["musicnn"]
    assert ids["music-words"] == ["musicnn", "musicnn", "sentence-transformers/all-MiniLM-L6-v2"]
    assert BaseModel.named("laion/clap-htsat-unfused").hub == "laion/clap-htsat-unfused"
    (tmp_path / "a").mkdir()
    assert BaseModel.named(str(tmp_path / "a")) == BaseModel(name="a")


def test_the_shipped_head_has_the_layout() -> None:
    assert {path.name for path in SHIPPED.iterdir()} == {WEIGHTS, ONNX, MODEL, CARD, TRAINING_STIMULI}
    assert shipped().core.kind == FROZEN_HEAD
    assert shipped().licence == "Apache-2.0"
    assert shipped().data[0].licence == "CC BY 4.0"
