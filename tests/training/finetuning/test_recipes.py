"""The recipes on tiny models of the real classes: trained, killed and continued, written, read again, benched."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.files import whole_folder
from heartfelt.formats.format import read_with
from heartfelt.media.audio import write_audio
from heartfelt.predictors import cases, predictor_from
from heartfelt.scoring.bench import bench
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning import FineTuned, FineTuneOptions, fine_tune
from tests.predictors.file_answers import answered_everywhere
from tests.predictors.tiny import write_tiny_clap
from tests.training.finetuning.studies import RATE, tones
from tests.training.finetuning.tiny_encoders import write_tiny_audio_encoder, write_tiny_text_encoder

pytestmark = pytest.mark.slow
SMALL = {"epochs": 2, "batch": 8, "learning_rate": 0.01, "checkpoint_every": 3}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models, as the Transformers library saves them."""
    folder = tmp_path_factory.mktemp("models")
    write_tiny_clap(folder / "clap")
    write_tiny_audio_encoder(folder / "audio")
    write_tiny_text_encoder(folder / "text")
    return folder


@pytest.fixture(autouse=True)
def features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for every test."""
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    return tmp_path / "features"


@pytest.fixture(scope="module")
def long_tones(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Clips that are longer than the tiny models' windows."""
    return tones(tmp_path_factory.mktemp("long"), 30, seconds=1.3)


def settings_of(recipe: str, models: Path) -> dict[str, object]:
    if recipe == "clap-mos":
        return {**SMALL, "model": str(models / "clap"), "hidden": "16,8"}
    small = {"width": 16, "attention_heads": 2, "layers": 1, "steps": 8, "seconds": 2.0}
    return {**SMALL, **small, "audio_model": str(models / "audio"), "text_model": str(models / "text")}


class Interrupted(Exception):
    """Stands for a process that was ended; SIGKILL itself is in test_engine.py."""


def train_interrupted(study: Snapshot, options: FineTuneOptions, run: Path) -> FineTuned:
    """Interrupted at the fourth step, then continued."""

    def stop(doing: str, done: int, total: int) -> None:
        if doing == "training" and done == 4 < total:
            raise Interrupted

    with pytest.raises(Interrupted):
        fine_tune([study], options, checkpoints=run, progress=stop)
    return fine_tune([study], options, checkpoints=run, resume=True)


@pytest.mark.parametrize("recipe", ["clap-mos", "soft-mos"])
def test_trained_interrupted_written_read_and_benched(
    recipe: str, models: Path, long_tones: Snapshot, tmp_path: Path
) -> None:
    options = FineTuneOptions(recipe=recipe, settings=settings_of(recipe, models), policy="none", split="published")
    plain = fine_tune([long_tones], options)
    result = train_interrupted(long_tones, options, tmp_path / "run")
    ours, theirs = plain.task.module.state_dict(), result.task.module.state_dict()
    assert all(bool((ours[key] == theirs[key]).all()) for key in ours)
    assert result.facts.stimuli == {"train": 21, "validation": 5, "test": 4}
    folder = tmp_path / "model"
    with whole_folder(folder) as made:
        facts = result.write(made)
    assert facts.core.onnx == ""
    tested = sorted(result.data.examples[at].stimulus for at in result.data.parts.tested)
    asked = [case for case in cases(long_tones, ["impression", "alignment"]) if case.stimulus in tested]
    with predictor_from(f"trained:{folder}") as predictor:
        again = predictor.predict(asked)
    for case, answers in zip(asked, again, strict=True):
        for ask, answer in zip(case.asks, answers, strict=True):
            mine = (pl.col("stimulus") == case.stimulus) & (pl.col("question") == ask.question)
            assert answer.value == pytest.approx(result.predictions.filter(mine)["value"][0], abs=1e-4)
            assert answer.flag is None
    benched = bench(long_tones, [f"trained:{folder}"])
    flagged = set(benched.predictions.filter(pl.col("flag") == "trained on")["stimulus"])
    assert flagged == {example.stimulus for example in result.data.examples} - set(tested)
    card = (folder / "README.md").read_text()
    for part in ("## Data", "## Scores", "ceiling", "## Limits", "## Licence and credit", "Made for a test."):
        assert part in card
    (folder / "config.json").write_text("{}")
    with pytest.raises(HeartfeltError, match=r"config\.json.*missing.*changed"):
        predictor_from(f"trained:{folder}")


def test_clap_hears_the_spectrogram_of_its_own_extractor_and_onnx_answers_the_same(
    models: Path, long_tones: Snapshot, tmp_path: Path
) -> None:
    """SOURCE: the Transformers library's own CLAP feature extractor."""
    import onnxruntime
    import torch

    settings = {**settings_of("clap-mos", models), "epochs": 1}
    result = fine_tune([long_tones], FineTuneOptions(recipe="clap-mos", settings=settings, policy="none"))
    task: Any = result.task
    extractor = task.processor.feature_extractor
    assert task.crops.rate == extractor.sampling_rate == RATE
    draw = np.random.default_rng(0)
    noise = [draw.normal(0, 0.1, task.crops.length).astype(np.float32) for _ in range(2)]
    theirs = extractor(noise, sampling_rate=RATE, return_tensors="pt")["input_features"]
    ours = task.module.log_mel(torch.from_numpy(np.stack(noise)))
    assert float((ours - theirs).abs().max()) < 1e-3
    with whole_folder(tmp_path / "model") as made:
        result.write(made)
    session = onnxruntime.InferenceSession(str(tmp_path / "model" / "model.onnx"))
    example = result.data.examples[int(result.data.parts.tested[0])]
    views = task.views(example)
    assert len(views) == 2  # a clip of 1.3 s in windows of 1 s
    tokens = task.words.padded(views)
    features = extractor([view["waveform"].numpy() for view in views], sampling_rate=RATE, return_tensors="np")
    (answers,) = session.run(
        ["values"],
        {"input_features": features["input_features"], **{key: value.numpy() for key, value in tokens.items()}},
    )
    standard = np.mean(answers, axis=0)
    for at, output in enumerate(result.facts.outputs):
        mine = (pl.col("stimulus") == example.stimulus) & (pl.col("question") == output.question)
        value = result.predictions.filter(mine)["value"][0]
        assert output.mean + output.spread * standard[at] == pytest.approx(value, abs=1e-3)


def test_soft_labels_give_back_the_number_they_were_made_of() -> None:
    import torch

    from heartfelt.training.finetuning.recipes.sound.soft_mos import SoftLabels

    soft = SoftLabels(1.0, 5.0, 20, 0.05)
    values = torch.linspace(1.0, 5.0, 41)
    shares = soft.of(values)
    assert torch.allclose(shares.sum(1), torch.ones(41))
    apart = (soft.centres - 3.0).numpy()
    expected = np.exp(-0.5 * (apart / 0.2) ** 2)
    assert shares[20].numpy() == pytest.approx(expected / expected.sum(), abs=1e-6)
    assert soft.number(shares).numpy() == pytest.approx(values.numpy(), abs=2e-3)


def test_models_that_do_not_fit_together_are_named(models: Path, long_tones: Snapshot, tmp_path: Path) -> None:
    write_tiny_text_encoder(tmp_path / "small", vocabulary=100)
    cases_of: tuple[tuple[str, Mapping[str, object], str], ...] = (
        ("soft-mos", {"audio_model": str(models / "text")}, "not an encoder of audio: it reads input_ids"),
        ("soft-mos", {"text_model": str(models / "audio")}, "not an encoder of text: it reads input_values"),
        ("soft-mos", {"text_model": str(tmp_path / "small")}, "they do not belong together"),
        ("soft-mos", {"width": 17}, "width 17 must be a multiple of attention_heads 2"),
        ("clap-mos", {"model": str(models / "text")}, "a model of type 'roberta', not 'clap'"),
        ("clap-mos", {"epochs": "many"}, "The setting epochs=many"),
        ("clap-mos", {"epoch": 3}, "has no setting 'epoch'"),
        ("clap-mos", {"questions": "pitch"}, "not a question that 'clap-mos' can learn"),
        ("clap-mos", {"left_out_system": "Z"}, "No stimulus is by the system 'Z'"),
    )
    for recipe, wrong, problem in cases_of:
        options = FineTuneOptions(recipe=recipe, settings={**settings_of(recipe, models), **wrong}, policy="none")
        with pytest.raises(InputError, match=problem):
            fine_tune([long_tones], options)
    without = Snapshot.build(
        long_tones.study,
        stimuli=long_tones.stimuli.drop("prompt"),
        ratings=long_tones.ratings,
        source=long_tones.source,
    )
    with pytest.raises(InputError, match="30 stimuli have no prompt, such as clip000; 'alignment'"):
        fine_tune(
            [without], FineTuneOptions(recipe="clap-mos", settings=settings_of("clap-mos", models), policy="none")
        )


def test_the_command_on_the_challenge_files_writes_the_answer_file(models: Path, tmp_path: Path) -> None:
    """MusicEval's own files: train and dev lists. Dev is scored, so training stops by a part of train."""
    release = tmp_path / "MusicEval"
    rows = _challenge(release)
    out = tmp_path / "model"
    words = ["train", str(release), "--recipe", "clap-mos", "--split", "published", "--policy", "none", "-o", str(out)]
    for key, value in {**settings_of("clap-mos", models), "workers": 1}.items():
        words += ["--set", f"{key}={value}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    assert "scored on dev." in done.stdout
    with (out / "answer.txt").open() as file:
        answers = {line[0]: [float(cell) for cell in line[1:]] for line in csv.reader(file)}
    assert set(answers) == {name.removesuffix(".wav") for name in rows["dev"]}
    assert all(1 <= value <= 5 for line in answers.values() for value in line)
    table = pl.read_csv(out / "evaluation" / "predictions.csv").filter(pl.col("part") == "dev")
    expected = dict(table.filter(pl.col("question") == "impression").select("stimulus", "value").iter_rows())
    assert {name.removesuffix(".wav"): round(value, 6) for name, value in expected.items()} == {
        name: values[0] for name, values in answers.items()
    }
    facts = json.loads((out / "evaluation" / "evaluation.json").read_text())["facts"]
    assert {score["metric"] for score in facts["scores"]} >= {"pearson", "spearman", "kendall", "mse"}
    assert not (tmp_path / "model.training").exists()
    assert "Loss" in (out / "evaluation" / "report.html").read_text()
    clip = str(release / "wav" / rows["dev"][0])
    (release / "broken.wav").write_bytes(b"no sound")
    files = [Path(clip), release / "broken.wav"]
    prompt = "a tune of kind 9"
    asked = ("impression", "alignment")
    told = answered_everywhere(files, out, asked, ("--prompt", prompt), {"prompt": prompt})
    assert told["value"][0] == pytest.approx(answers[rows["dev"][0].removesuffix(".wav")][0], abs=1e-4)
    assert told["ok"].to_list() == [True, True, False, False]
    assert "broken.wav" in told["problem"][2]
    assert "has no prompt" in answered_everywhere(files, out, asked)["problem"][0]
    write_audio(release / "silent.wav", np.zeros(8_000, np.float32), 8_000)
    silent = answered_everywhere([release / "silent.wav"], out, asked, ("--prompt", prompt), {"prompt": prompt})
    assert silent["flag"].to_list() == ["silent", "silent"]
    assert "meaningless" in silent["warning"][0]
    snapshot = read_with(release, None, {}, None)
    scored = bench(snapshot, [f"file:{out / 'answer.txt'}"])
    assert scored.predictions["value"].count() == 2 * len(rows["dev"])
    for more, problem in (
        (["--resume"], "no unfinished run"),
        (["--heads", "ridge"], "--heads chooses heads"),
        (["--set", "epochs"], "not of the form KEY=VALUE"),
    ):
        wrong = CliRunner().invoke(app, [*words, *more, "-o", str(tmp_path / "other")])
        assert isinstance(wrong.exception, InputError)
        assert problem in wrong.exception.problem


def _challenge(release: Path) -> dict[str, list[str]]:
    """A release of the challenge with sound files made here; the names of the clips in each list."""
    study = tones(release / "wav", 30, seconds=1.2)
    (release / "sets").mkdir()
    names: dict[str, list[str]] = {"train": [], "dev": []}
    lines: dict[str, list[str]] = {"train": [], "dev": []}
    for at, stimulus in enumerate(study.stimuli["stimulus"]):
        name = f"audiomos2025-track1-S{at % 3 + 1:03d}_P{at // 3 + 1:03d}.wav"
        (release / "wav" / f"{stimulus}.wav").rename(release / "wav" / name)
        part = "train" if at < 24 else "dev"
        names[part].append(name)
        lines[part].append(f"{name},{1 + at % 3 + 0.1 * (at % 7):.2f},{2 + 0.2 * (at % 5):.2f}")
    for part, own in lines.items():
        (release / "sets" / f"{part}_mos_list.txt").write_text("\n".join(own) + "\n")
    prompts = "".join(f"P{number:03d}\ta tune of kind {number}\n" for number in range(1, 11))
    (release / "prompt_info.txt").write_text("id\ttext\n" + prompts)
    return names
