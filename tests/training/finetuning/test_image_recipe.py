"""The image recipes through the engine: trained, interrupted and continued, written, read again and benched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from PIL import Image

import heartfelt
from heartfelt.errors import InputError
from heartfelt.predictors import cases, predictor_from
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.weights import load_model
from heartfelt.predictors.weights.store import PullError
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import BenchOptions, bench
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning import FineTuned, FineTuneOptions, fine_tune, recipe_named, settings_of
from heartfelt.training.finetuning.folder import LoadedModel
from heartfelt.training.finetuning.folder import load_model as load_fine_tuned
from heartfelt.training.finetuning.recipes.images.architectures import ARCHITECTURES
from heartfelt.training.finetuning.recipes.images.networks.backbones import published_backbone, random_backbone
from heartfelt.training.finetuning.recipes.images.recipe import ImageRecipe
from heartfelt.training.finetuning.recipes.images.stimuli import stimulus_inputs
from heartfelt.training.finetuning.recipes.images.task import ImageConfig, ImageTask
from heartfelt.training.model_card import METRICS
from tests.docs.reference import settings_pages
from tests.predictors.file_answers import answered_everywhere
from tests.training.alone import code_without_heartfelt, run_alone
from tests.training.finetuning.painted import painted
from tests.training.finetuning.tiny_images import CONFIGS, SIDE


class Interrupted(Exception):
    """Stands in for a process that is killed."""


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return painted(tmp_path_factory.mktemp("painted"))


def tiny(architecture: str, backbone: str, **more: Any) -> dict[str, object]:
    plain: dict[str, object] = {
        "architecture": architecture,
        "weights": "random",
        "config": dict(CONFIGS[backbone]),
        "side": SIDE,
        "epochs": 2,
        "batch": 12,
        "learning_rate": 1e-3,
        "device": "cpu",
    }
    return plain | ({} if architecture == backbone else {"backbone": backbone}) | more


def config_of(made: FineTuned) -> ImageConfig:
    assert isinstance(made.task, ImageTask)
    return made.task.config


def state_of(made: FineTuned) -> Mapping[str, Any]:
    return {name: tensor.clone() for name, tensor in made.task.module.state_dict().items()}


@pytest.mark.slow
def test_interrupted_training_ends_in_the_same_weights_and_the_folder_answers_alike(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    options = FineTuneOptions(recipe="image-emotion", settings=tiny("resnet50", "resnet50", checkpoint_every=1), seed=4)
    whole = fine_tune([snapshot], options)
    assert [output.question for output in whole.facts.outputs] == ["emotion", "valence", "arousal"]

    def killed(stage: str, done: int, total: int) -> None:
        if stage == "training" and done == total - 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        fine_tune([snapshot], options, checkpoints=tmp_path / "run", progress=killed)
    resumed = fine_tune([snapshot], options, checkpoints=tmp_path / "run", resume=True)
    expected = state_of(whole)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in state_of(resumed).items())

    folder = tmp_path / "model"
    folder.mkdir()
    facts = resumed.write(folder)
    assert facts.core.onnx == ""
    assert {"config.json", "model.safetensors", "model.onnx"} <= {path.name for path in folder.iterdir()}
    tested = whole.predictions.filter(pl.col("part") == "test")
    names = tested["stimulus"].unique().to_list()
    made = bench(snapshot, [f"trained:{folder}"], BenchOptions(score=ScoreOptions(resamples=100)))
    again = made.predictions.filter(pl.col("stimulus").is_in(names))
    joined = tested.join(again, on=["stimulus", "question"], suffix="_again")
    assert joined.height == tested.height
    np.testing.assert_allclose(joined["value"], joined["value_again"], atol=1e-5)
    emotion = joined.filter(pl.col("question") == "emotion")
    assert emotion["answer_again"].is_in(["awe", "contentment", "fear", "sadness"]).all()
    files = tmp_path / "files"
    files.mkdir()
    for name in names[:2]:
        shutil.copy(Path(str(snapshot.source.media_root)) / name, files)
    (files / "broken.png").write_bytes(b"no picture")
    table = answered_everywhere(files, folder, ("emotion", "valence", "arousal"))
    assert table["ok"].sum() == 6
    Image.new("RGB", (64, 64), "navy").save(tmp_path / "blank.png")
    blank = answered_everywhere([tmp_path / "blank.png"], folder, ("emotion", "valence", "arousal"))
    assert set(blank["flag"]) == {"blank"}
    assert "one colour" in blank["warning"][0]
    assert "broken.png" in table.filter(~pl.col("ok"))["problem"][0]
    mine = tested.filter(pl.col("stimulus") == sorted(names[:2])[0]).sort("question")
    told = table.filter(pl.col("file").str.ends_with(sorted(names[:2])[0])).sort("question")
    np.testing.assert_allclose(told["value"], mine["value"], atol=1e-5)
    assert told["answer"].drop_nulls().is_in(["awe", "contentment", "fear", "sadness"]).all()
    _check_interval(whole, tested.filter(pl.col("question") == "valence"), told.filter(pl.col("question") == "valence"))

    root = snapshot.source.media_root
    assert root is not None
    shutil.copy(root / snapshot.stimuli["path"][0], tmp_path / "picture.png")
    printed = run_alone(code_without_heartfelt("pixels"), tmp_path)
    assert "logits" in printed
    assert "values" in printed

    hub = pytest.importorskip("huggingface_hub", reason="needs the extra 'hub'")
    card = hub.ModelCard.load(folder / "README.md").data
    found = {(r.task_name, r.dataset_config, r.metric_type): r.metric_value for r in card.eval_results}
    for score in facts.scores:
        if score.aggregation == "item" and score.metric in METRICS:
            key = (score.task, score.part, METRICS[score.metric][0])
            assert found.pop(key) == pytest.approx(score.estimate.value, abs=1e-6)
    assert not found

    before = load_fine_tuned(folder)
    _as_layout_1(folder)
    old = load_fine_tuned(folder)
    assert isinstance(before, LoadedModel)
    assert isinstance(old, LoadedModel)
    assert (old.hash, old.facts.outputs) == (before.hash, before.facts.outputs)
    assert [part.study for part in old.facts.core.data] == ["painted"]
    example = whole.data.examples[whole.data.parts.train[0]]
    assert old.saw(example.content)
    ours, theirs = (model.of_files([example])["valence"] for model in (before, old))
    assert ours.tolist() == theirs.tolist()


def _check_interval(made: FineTuned, tested: pl.DataFrame, told: pl.DataFrame) -> None:
    """SOURCE: the order statistic of split conformal prediction, by hand; clipped to the scale."""
    (target,) = (target for target in made.data.targets if target.question == "valence")
    label = {example.stimulus: target.values[at] for at, example in enumerate(made.data.examples)}
    errors = sorted(abs(value - label[name]) for name, value in tested.select("stimulus", "value").iter_rows())
    half = errors[min(int(np.ceil((len(errors) + 1) * 0.9)), len(errors)) - 1]
    row = told.row(0, named=True)
    assert row["confidence"] == 0.9
    assert row["low"] == pytest.approx(max(0.0, row["value"] - half), abs=1e-6)
    assert row["high"] == pytest.approx(min(1.0, row["value"] + half), abs=1e-6)


def _as_layout_1(folder: Path) -> None:
    """The folder as heartfelt 0.8 wrote it."""
    path = folder / "model.json"
    facts = json.loads(path.read_text())
    data = facts.pop("data")
    for key in ("media", "licence", "base_models", "labels"):
        facts.pop(key, None)
    facts |= {"layout": 1, "studies": [part["study"] for part in data]}
    facts |= {"snapshots": [part["snapshot"] for part in data]}
    path.write_text(json.dumps(facts))
    stimuli = folder / "training_stimuli.json"
    (folder / "trained_on.json").write_text(json.dumps(sorted(json.loads(stimuli.read_text()))))
    stimuli.unlink()


@pytest.mark.slow
def test_attributes_are_inputs_in_training_and_in_a_benchmark(snapshot: Snapshot, tmp_path: Path) -> None:
    made = fine_tune([snapshot], FineTuneOptions(recipe="attributes", settings=tiny("mdan", "convnext-t")))
    assert [attribute.name for attribute in config_of(made).attributes] == ["objects", "scene", "brightness"]
    assert config_of(made).polarity["awe"] == "positive"
    folder = tmp_path / "model"
    folder.mkdir()
    assert made.write(folder).core.onnx == ""
    some = cases(snapshot)[:3]
    with predictor_from(f"trained:{folder}") as alone:
        without = [answer.value for answers in alone.predict(some) for answer in answers]
        plain = alone.identity
    with predictor_from(f"trained:{folder}") as informed:
        informed.learn(snapshot, snapshot.stimuli)
        given = [answer.value for answers in informed.predict(some) for answer in answers]
        assert informed.identity != plain  # so that answers without the fields are not taken from a cache
    assert without != given
    assert all(answer.shares for answers in informed.predict(some) for answer in answers[:1])
    expected = made.predictions.filter(pl.col("question") == "valence")
    known = {case.stimulus: case for case in cases(snapshot)}
    name, value = expected.select("stimulus", "value").row(0)
    asked = [ask.question for ask in known[name].asks]
    answer = informed.predict([known[name]])[0][asked.index("valence")]
    assert answer.value == pytest.approx(value, abs=1e-5)


@pytest.mark.slow
def test_weights_from_a_folder_bring_their_own_size_and_colours(snapshot: Snapshot, tmp_path: Path) -> None:
    random_backbone("vit-b16", CONFIGS["vit-b16"]).network.save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        '{"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}', encoding="utf-8"
    )
    given = {"architecture": "vit-b16", "weights": str(tmp_path), "epochs": 1, "batch": 24, "device": "cpu"}
    made = fine_tune([snapshot], FineTuneOptions(recipe="image-emotion", settings={**given, "frozen": True}))
    assert config_of(made).preparation.side == SIDE
    assert config_of(made).network.mean == (0.5, 0.5, 0.5)
    assert config_of(made).weights == str(tmp_path)
    # A frozen backbone is as it was.
    began = published_backbone("vit-b16", str(tmp_path))
    backbone = made.task.module.backbone
    assert all(torch.equal(a, b) for a, b in zip(backbone.parameters(), began.parameters(), strict=True))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"architecture": "resnet"}, "no image architecture has that name"),
        ({"backbone": "mdan"}, "'mdan' is an emotion model"),
        ({"stimuli": "faces,hands"}, "'hands' is neither faces nor objects"),
        ({"config": "{"}, "it is not JSON"),
        ({"crop": "0"}, "greater than 0"),
        ({"side": "16"}, "at least 32 pixels"),
    ],
)
def test_settings_that_cannot_be_used_say_why(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        settings_of(recipe_named("image-emotion"), settings)


def test_settings_in_text() -> None:
    read = settings_of(
        recipe_named("image-emotion"),
        {"polarity": "joy=positive,fear=negative", "config": '{"depths": [1, 1]}', "attributes": "scene, objects"},
    ).model_dump()
    assert read["polarity"] == {"joy": "positive", "fear": "negative"}
    assert read["config"] == {"depths": [1, 1]}
    assert read["attributes"] == ("scene", "objects")


@pytest.mark.slow
def test_every_architecture_and_recipe_has_its_section() -> None:
    """Recipes on the page, architectures in the generated reference with their source and details."""
    page = (Path(heartfelt.__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    assert isinstance(recipe_named("attributes"), ImageRecipe)
    for name in ("image-emotion", "attributes"):
        assert f"### `{name}`" in page, name
    reference = settings_pages()["training.md"]
    for name in ARCHITECTURES:
        each = ARCHITECTURES[name]
        assert len(each.details) > 40
        assert f"| `{name}` | {each.about} | {each.source} | {each.details} |" in reference


@pytest.mark.slow
def test_photographs_with_published_norms_and_what_drafters_see(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty photographs, forty for training: pleasant is told from unpleasant, and faces and objects are inputs."""
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    try:
        for name in ("efficientnet-lite2", "mtcnn", "fer"):
            load_model(name)
    except PullError as error:
        pytest.skip(f"a network cannot be pulled: {error.problem}")
    norms = pl.read_csv(shared_data / "oasis" / "norms.csv").sort("valence_mean")
    images = shared_data / "oasis" / "images"
    there = norms.filter(pl.col("file").map_elements(lambda name: (images / name).is_file(), pl.Boolean))
    chosen = pl.concat([there.head(30), there.tail(30)])
    (tmp_path / "images").mkdir()
    for name in chosen["file"]:
        shutil.copy(images / name, tmp_path / "images" / name)
    chosen.write_csv(tmp_path / "norms.csv")
    source = heartfelt.read(tmp_path, format="means", scale={"valence": "1-7", "arousal": "1-7"})
    settings = {"architecture": "efficientnet-lite2", "epochs": 30, "batch": 16, "device": "cpu", "patience": 30}
    made = fine_tune([source], FineTuneOptions(recipe="image-emotion", settings={**settings, "test": 0.33}, seed=1))
    scores = {(row.task, row.metric): row.estimate.value for row in made.facts.scores}
    assert scores["valence", "pearson"] is not None
    assert scores["valence", "pearson"] > 0.5
    inputs = stimulus_inputs(images / chosen["file"][0], ("faces", "objects"), FeatureCache())
    assert inputs.faces.shape == (4, 9)
    assert inputs.objects.sum() == pytest.approx(1, abs=1e-4)
    assert inputs.face_mask.tolist() == (inputs.faces[:, -1] > 0).tolist()
    masked = stimulus_inputs(images / chosen["file"][0], (), FeatureCache())
    assert not masked.face_mask.any()
    assert masked.objects_known == 0
    paintings = painted(tmp_path / "painted", per_category=6)
    options = FineTuneOptions(recipe="image-emotion", settings=tiny("stimuli-aware", "resnet50", epochs=1))
    aware = fine_tune([paintings], options)
    (tmp_path / "model").mkdir()
    aware.write(tmp_path / "model")
    name, value = aware.predictions.filter(pl.col("question") == "arousal").select("stimulus", "value").row(0)
    with predictor_from(f"trained:{tmp_path / 'model'}") as again:
        case = next(case for case in cases(paintings) if case.stimulus == name)
        answers = dict(zip([ask.question for ask in case.asks], again.predict([case])[0], strict=True))
    assert answers["arousal"].value == pytest.approx(value, abs=1e-5)
