"""Embeddings by models of the user's choice, on tiny models through the real loading code, and heads trained on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile
from PIL import Image
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.labels import labels
from heartfelt.media.sound import CANCELS
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, SILENT, Embedding
from heartfelt.predictors.trained.model import load_trained
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.training import TrainOptions, train
from tests.predictors.studies import study
from tests.predictors.tiny import write_tiny_clap, write_tiny_clip, write_tiny_mert

# They load libraries that take seconds.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("transformers")]
WRITERS = {"clap": write_tiny_clap, "clip": write_tiny_clip, "mert": write_tiny_mert}
every_kind = pytest.mark.parametrize("kind", WRITERS)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of every kind, two pictures, and sounds of one and of twenty-six seconds."""
    out = tmp_path_factory.mktemp("embeddings")
    for kind, write in WRITERS.items():
        write(out / kind)
    for place, name in enumerate(("a", "b")):
        pixels = stream(6, name).integers(0, 256, (48, 64, 3), dtype="uint8")
        Image.fromarray(pixels).save(out / f"{name}.png")
        soundfile.write(out / f"{name}.wav", tone(0.05 + 0.2 * place, 8_000), 8_000)
    soundfile.write(out / "long.wav", tone(0.1, 8_000 * 26), 8_000)
    return out


def tone(step: float, size: int) -> Any:
    return 0.3 * np.sin(np.arange(size) * step) + 0.01 * stream(1, f"{step:g}").normal(size=size)


def embedding(kind: str, home: Path) -> Embedding:
    return EMBEDDINGS[f"{kind}:{home / kind}"]()


def medium(kind: str, home: Path, name: str = "a") -> Path:
    return home / f"{name}.{'png' if kind == 'clip' else 'wav'}"


@pytest.mark.parametrize("kind", ["clap", "mert"])
def test_what_is_doubtful_about_a_sound_is_said(kind: str, home: Path, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "silent.wav", np.zeros((4_000, 2)), 8_000)
    samples = tone(0.1, 8_000 * 4)
    soundfile.write(tmp_path / "opposite.wav", np.stack([samples, -samples], 1), 8_000)
    silent, opposite = (embedding(kind, home).of(tmp_path / f"{name}.wav") for name in ("silent", "opposite"))
    assert SILENT in silent.warnings
    assert silent.too_short
    assert opposite.warnings[0] == CANCELS
    assert "8,000 samples per second" in opposite.warnings[1]
    assert not opposite.too_short


@every_kind
def test_a_file_has_rows_as_wide_as_the_blocks_say(kind: str, home: Path) -> None:
    look = embedding(kind, home)
    first, second = (look.of(medium(kind, home, name)) for name in ("a", "b"))
    assert first.rows.shape == (1, look.size)
    assert np.isfinite(first.rows).all()
    assert np.array_equal(look.of(medium(kind, home)).rows, first.rows)
    assert np.abs(first.rows - second.rows).max() > 1e-3
    assert look.name == f"{kind}:{home / kind}"


@pytest.mark.parametrize("kind", ["clap", "mert"])
def test_a_long_sound_has_a_row_for_every_ten_seconds(kind: str, home: Path, tmp_path: Path) -> None:
    look = embedding(kind, home)
    whole = look.of(home / "long.wav")
    assert whole.starts.tolist() == [0.0, 10.0, 20.0]
    assert whole.seconds == pytest.approx(26.0)
    samples, rate = soundfile.read(home / "long.wav")
    soundfile.write(tmp_path / "first.wav", samples[: 10 * rate], rate)
    np.testing.assert_allclose(look.of(tmp_path / "first.wav").rows[0], whole.rows[0], atol=1e-5)


def test_clap_and_clip_are_the_predictors_vectors(home: Path) -> None:
    from heartfelt.predictors.measures.contrastive import Matcher

    for kind in ("clap", "clip"):
        predictor = predictor_from(f"{kind}:{home / kind}")
        assert isinstance(predictor, Matcher)
        vector = predictor.embed_media(medium(kind, home).read_bytes())
        row = embedding(kind, home).of(medium(kind, home)).rows[0]
        np.testing.assert_allclose(row, vector / np.linalg.norm(vector), atol=1e-5)


def test_mert_is_the_librarys_hubert_on_standardised_sound(home: Path, tmp_path: Path) -> None:
    import torch
    from transformers import HubertConfig, HubertModel, Wav2Vec2FeatureExtractor

    from tests.predictors.tiny import seeded

    facts = json.loads((home / "mert" / "config.json").read_text())
    sizes = {key: facts[key] for key in HubertConfig().to_dict() if key in facts and key != "model_type"}
    model = seeded(HubertModel, HubertConfig(**sizes), 0).eval()
    samples = tone(0.07, 24_000).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", samples, 24_000, subtype="FLOAT")
    extract = Wav2Vec2FeatureExtractor(sampling_rate=24_000, do_normalize=True)
    inputs = extract([samples], sampling_rate=24_000, return_tensors="pt")["input_values"]
    with torch.inference_mode():
        layers = model(inputs, output_hidden_states=True).hidden_states
    expected = torch.cat([layer[0].mean(dim=0) for layer in layers]).numpy()
    look = embedding("mert", home)
    assert [block.name for block in look.blocks] == ["layer 0", "layer 1", "layer 2"]
    np.testing.assert_allclose(look.of(tmp_path / "a.wav").rows[0], expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"feature_extractor_cqt": True}, "feature_extractor_cqt"),
        ({"deepnorm": True}, "deepnorm"),
        ({"attention_relax": 32.0}, "attention_relax"),
        ({"model_type": "wavlm"}, "its type is wavlm"),
    ],
)
def test_a_mert_that_needs_code_of_its_own_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    look = EMBEDDINGS[f"mert:{write_tiny_mert(tmp_path / 'mert', **changes)}"]()
    with pytest.raises(InputError, match=reason):
        _ = look.identity


@every_kind
def test_the_identity_is_that_of_the_weights(kind: str, home: Path, tmp_path: Path) -> None:
    same = EMBEDDINGS[f"{kind}:{WRITERS[kind](tmp_path / 'same')}"]()
    other = EMBEDDINGS[f"{kind}:{WRITERS[kind](tmp_path / 'other', seed=1)}"]()
    assert same.identity == embedding(kind, home).identity != other.identity


@pytest.mark.parametrize("name", ["clap", "music:x", "clap:", "clap:/no/such/folder", "clip:./gone"])
def test_what_names_no_model_is_refused(name: str) -> None:
    with pytest.raises(HeartfeltError):
        EMBEDDINGS[name]()


def rated(folder: Path) -> Snapshot:
    """Thirty sounds; the faster the tone, the more pleasant four people find it."""
    media = folder / "media"
    media.mkdir(parents=True)
    stimuli, ratings = [], []
    for place in range(30):
        name, speed = f"c{place:02}.wav", place % 10
        samples = 0.3 * np.sin(np.arange(8_000) * (0.03 + 0.08 * speed))
        soundfile.write(media / name, samples + 0.003 * stream(2, name).normal(size=8_000), 8_000)
        stimuli.append({"stimulus": name, "system": "AB"[place % 2], "intent": "happy", "path": name})
        for who in range(4):
            value = float(np.clip(round(1 + 0.8 * speed + (who - 1.5) * 0.4), 1, 9))
            ratings.append({"rater": f"r{who}", "stimulus": name, "question": "valence", "value": value})
    return Snapshot.build(
        study(),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="small", media_root=media),
    )


@pytest.mark.parametrize("kind", ["clap", "mert"])
def test_a_head_on_it_learns_is_stored_and_answers(kind: str, home: Path, tmp_path: Path) -> None:
    snapshot = rated(tmp_path)
    options = TrainOptions(
        recipe="va-audio",
        policy="none",
        heads=("ridge",),
        embedding=f"{kind}:{home / kind}",
        features=tmp_path / "features",
    )
    trained = train(snapshot, options)
    folder = trained.model.write(tmp_path / "model")
    stored = load_trained(folder)
    assert stored.embedding == f"{kind}:{home / kind}"
    manifest = json.loads((folder / "model.json").read_text())
    assert manifest["looks_through"] == embedding(kind, home).identity
    assert f"--embedding {kind}:" in trained.model.card
    with predictor_from(f"trained:{folder}") as predictor:
        table = run(predictor, cases(snapshot, ["valence"])).table
    assert table["ok"].all()
    label = labels(snapshot).table.filter(pl.col("question") == "valence").select("stimulus", label=pl.col("value"))
    joined = table.join(label, on="stimulus", maintain_order="left")
    assert float(np.corrcoef(joined["value"], joined["label"])[0, 1]) > 0.6
    WRITERS[kind](home / kind, seed=5)
    try:
        from heartfelt.predictors.trained import hub_embeddings

        hub_embeddings._loaded.cache_clear()
        with pytest.raises(InputError, match="another version of the"):
            load_trained(folder)
    finally:
        WRITERS[kind](home / kind)
        hub_embeddings._loaded.cache_clear()


def test_train_on_the_command_line(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    rated(tmp_path).write(tmp_path / "rated")
    arguments = ["train", str(tmp_path / "rated"), "--policy", "none", "--heads", "ridge"]
    done = CliRunner().invoke(
        app, [*arguments, "--embedding", f"clap:{home / 'clap'}", "--out", str(tmp_path / "model")]
    )
    assert done.exit_code == 0, done.output
    assert load_trained(tmp_path / "model").embedding.startswith("clap:")
    wrong = CliRunner().invoke(
        app, [*arguments, "--embedding", f"clip:{home / 'clip'}", "--out", str(tmp_path / "other")]
    )
    assert wrong.exit_code != 0
    assert "is for image" in str(wrong.exception or wrong.output)
