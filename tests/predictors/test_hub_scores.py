"""Predictors from published weights, on tiny checkpoints in the authors' layouts, through the real loading code.

``PEERS`` are the numbers that the authors' own code gives for the same weights and inputs: hpsv2 1.2.0 (its OpenCLIP),
image-reward 1.5 and audiobox_aesthetics 0.0.4. UTMOS is compared with fairseq's equations written out below, NISQA with
TorchMetrics' own function, the others with the Transformers library.
"""

from __future__ import annotations

import math
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile
from PIL import Image
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError, MissingPartError
from heartfelt.predictors import PREDICTORS, Ask, Case, Media, RunOptions, predictor_from, run
from heartfelt.predictors.measures.hub_model import HubScores
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import parse_study
from heartfelt.study.scales.scale import Categories, Points
from tests.facts import mentions
from tests.predictors.studies import STUDY
from tests.predictors.tiny import write_tiny_clip
from tests.predictors.tiny_scores import tensors, utmos_shapes, write_tiny

# They load libraries that take seconds.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("transformers")]

PROMPT = "a red boat"
PEERS = {
    "hpsv2": {"hpsv2": 0.13414204},
    "imagereward": {"imagereward": -0.09763045},
    "audiobox-aesthetics": {
        "content-enjoyment": 2.80571234,
        "content-usefulness": 6.83299342,
        "production-complexity": 2.54738997,
        "production-quality": 6.11051869,
    },
}
NAMES = ["pickscore", "hpsv2", "imagereward", "aesthetic", "utmos", "audiobox-aesthetics", "scoreq", "nisqa"]
every_name = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here needs a network."""
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pictures and two sounds."""
    out = tmp_path_factory.mktemp("media")
    for name in ("a", "b"):
        pixels = stream(6, name).integers(0, 256, (48, 64, 3), dtype="uint8")
        Image.fromarray(pixels).save(out / f"{name}.png")
        tone = 0.3 * np.sin(np.arange(48_000) * (0.05 if name == "a" else 0.2))
        noise = 0.02 * stream(6, "n" if name == "a" else "m").normal(size=48_000)
        soundfile.write(out / f"{name}.wav", tone + noise, 16_000)
    return out


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The checkpoints, each written when it is first needed."""
    return _Written(tmp_path_factory.mktemp("weights"))


class _Written(dict[str, Path]):
    def __init__(self, home: Path) -> None:
        self.home = home

    def __missing__(self, name: str) -> Path:
        if name == "nisqa":
            pytest.importorskip("torchmetrics")
        if name == "pickscore":
            self[name] = write_tiny_clip(self.home / name)
        else:
            self[name] = write_tiny(name, self.home / name)
        return self[name]


def predictor_for(name: str, written: dict[str, Path]) -> HubScores:
    predictor = predictor_from(f"{name}:{written[name]}")
    assert isinstance(predictor, HubScores)
    return predictor


def case_of(predictor: HubScores, folder: Path, name: str = "a", prompt: str | None = PROMPT) -> Case:
    path = folder / (f"{name}.png" if predictor.media_kinds == ("image",) else f"{name}.wav")
    return Case(stimulus=path.name, asks=tuple(predictor.file_asks()), media=Media(path), prompt=prompt)


def answers(predictor: HubScores, case: Case) -> dict[str, float]:
    """The value, or the score off the scale, of every question."""
    out = {}
    for ask, prediction in zip(case.asks, predictor.predict([case])[0], strict=True):
        number = prediction.score if prediction.value is None else prediction.value
        assert number is not None, prediction.problem
        out[ask.question] = number
    return out


@pytest.mark.parametrize("name", PEERS)
def test_the_numbers_are_those_of_the_authors_code(name: str, written: dict[str, Path], folder: Path) -> None:
    predictor = predictor_for(name, written)
    assert answers(predictor, case_of(predictor, folder)) == pytest.approx(PEERS[name], abs=2e-5)


def test_pickscore_is_the_librarys_logit(written: dict[str, Path], folder: Path) -> None:
    import torch
    from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

    where = written["pickscore"]
    model: Any = CLIPModel.from_pretrained(where)
    words = AutoTokenizer.from_pretrained(where)([PROMPT], return_tensors="pt")
    pixels = CLIPImageProcessorPil.from_pretrained(where)(images=Image.open(folder / "a.png"), return_tensors="pt")
    with torch.inference_mode():
        logit = model(**words, **pixels).logits_per_image[0, 0].item()
    predictor = predictor_for("pickscore", written)
    assert answers(predictor, case_of(predictor, folder))["pickscore"] == pytest.approx(logit, abs=1e-4)


@pytest.mark.parametrize("kind", ["linear", "rectified", "single"])
def test_aesthetic_is_linear_layers_on_the_unit_vector(
    kind: str, written: dict[str, Path], folder: Path, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import CLIPImageProcessorPil, CLIPVisionModelWithProjection
    from transformers.utils import logging

    weights = load_file(written["aesthetic"] / "model.safetensors")
    places = {"linear": (0, 2, 4, 6, 7), "rectified": (0, 3, 6, 9, 11), "single": ()}[kind]
    layers = [(weights.pop(f"layers.{i}.weight"), weights.pop(f"layers.{i}.bias")) for i in (0, 2, 4, 6, 7)]
    if kind == "single":
        layers = [(layers[0][0][:1].contiguous(), layers[0][1][:1].contiguous())]
        weights |= {"predictor.weight": layers[0][0], "predictor.bias": layers[0][1]}
    for place, (weight, bias) in zip(places, layers, strict=kind != "single"):
        weights |= {f"layers.{place}.weight": weight, f"layers.{place}.bias": bias}
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "config.json").write_text((written["aesthetic"] / "config.json").read_text())

    logging.set_verbosity_error()
    model: Any = CLIPVisionModelWithProjection.from_pretrained(tmp_path)
    prepare = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    with torch.inference_mode():
        x = model(**prepare(images=Image.open(folder / "a.png"), return_tensors="pt")).image_embeds
        x = x / x.norm()
        for place, (weight, bias) in enumerate(layers):
            x = x @ weight.T + bias
            x = x.relu() if kind == "rectified" and place < 4 else x
    predictor = predictor_from(f"aesthetic:{tmp_path}")
    assert isinstance(predictor, HubScores)
    assert answers(predictor, case_of(predictor, folder))["aesthetic"] == pytest.approx(x.item(), abs=1e-5)


def fairseq_states(state: dict[str, Any], wave: Any) -> Any:
    """The states of wav2vec 2.0, from weights under fairseq's names: its equations written out."""
    from torch.nn import functional as f

    x = wave[None, None]
    for layer, stride in enumerate((5, 2, 2, 2, 2, 2, 2)):
        x = f.conv1d(x, state[f"feature_extractor.conv_layers.{layer}.0.weight"], stride=stride)
        if layer == 0:
            name = "feature_extractor.conv_layers.0.2"
            x = f.group_norm(x, 8, state[f"{name}.weight"], state[f"{name}.bias"])
        x = f.gelu(x)

    def norm(x: Any, name: str) -> Any:
        return f.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"])

    def linear(x: Any, name: str) -> Any:
        return f.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    x = linear(norm(x.transpose(1, 2), "layer_norm"), "post_extract_proj")
    direction = state["encoder.pos_conv.0.weight_v"]
    weight = direction / direction.norm(dim=(0, 1), keepdim=True) * state["encoder.pos_conv.0.weight_g"]
    place = f.conv1d(x.transpose(1, 2), weight, state["encoder.pos_conv.0.bias"], padding=64, groups=16)
    x = norm(x + f.gelu(place[:, :, :-1]).transpose(1, 2), "encoder.layer_norm")
    for layer in range(2):
        block = f"encoder.layers.{layer}"
        q, k, v = (linear(x, f"{block}.self_attn.{part}_proj") for part in "qkv")
        heard = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v
        x = norm(x + linear(heard, f"{block}.self_attn.out_proj"), f"{block}.self_attn_layer_norm")
        x = norm(x + linear(f.gelu(linear(x, f"{block}.fc1")), f"{block}.fc2"), f"{block}.final_layer_norm")
    return x


def utmos_by_hand(path: Path) -> float:
    import torch

    state = tensors(utmos_shapes())
    part = {n.removeprefix("wav2vec2."): v for n, v in state.items() if n.startswith("wav2vec2.")}
    wave = torch.from_numpy(soundfile.read(path, dtype="float32")[0])
    with torch.inference_mode():
        x = fairseq_states(part, wave)
        fixed = torch.cat([state["domain_emb"], state["judge_emb"]], dim=1).expand(1, x.shape[1], -1)
        lstm = torch.nn.LSTM(72, 8, batch_first=True, bidirectional=True)
        lstm.load_state_dict({n.removeprefix("blstm."): v for n, v in state.items() if n.startswith("blstm.")})
        x = lstm(torch.cat([x, fixed], dim=2))[0]
        x = (x @ state["projection.0.weight"].T + state["projection.0.bias"]).relu()
        x = x @ state["projection.2.weight"].T + state["projection.2.bias"]
        return float(x.mean()) * 2 + 3


def test_utmos_is_fairseqs_equations(written: dict[str, Path], folder: Path) -> None:
    predictor = predictor_for("utmos", written)
    expected = utmos_by_hand(folder / "a.wav")
    assert 1 < expected < 5
    assert answers(predictor, case_of(predictor, folder))["utmos"] == pytest.approx(expected, abs=1e-4)


def test_utmos_reads_the_layout_of_its_own_code_too(written: dict[str, Path], folder: Path, tmp_path: Path) -> None:
    import torch

    renamed = {}
    for name, value in tensors(utmos_shapes()).items():
        for old, new in (
            ("wav2vec2.", "feature_extractors.0.ssl_model."),
            ("blstm.", "output_layers.0.decoder_rnn."),
            ("projection.0", "output_layers.1.net.0"),
            ("projection.2", "output_layers.1.net.3"),
        ):
            name = name.replace(old, new)
        renamed[name] = value
    judges = torch.zeros(300, 4)
    judges[288] = renamed.pop("judge_emb")[0]
    domains = torch.cat([renamed.pop("domain_emb"), torch.ones(2, 4)])
    renamed |= {"output_layers.0.judge_embedding.weight": judges, "feature_extractors.1.embedding.weight": domains}
    torch.save({"state_dict": renamed}, tmp_path / "model.ckpt")
    one, other = predictor_for("utmos", written), predictor_from(f"utmos:{tmp_path}")
    assert isinstance(other, HubScores)
    assert answers(one, case_of(one, folder)) == answers(other, case_of(other, folder))


def test_nisqa_is_torchmetrics_own(written: dict[str, Path], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = predictor_for("nisqa", written)
    import torch
    from torchmetrics.functional.audio import nisqa

    monkeypatch.setattr(nisqa, "NISQA_DIR", str(written["nisqa"]))
    nisqa._load_nisqa_model.cache_clear()
    wave = torch.from_numpy(soundfile.read(folder / "a.wav", dtype="float32")[0])
    expected = nisqa.non_intrusive_speech_quality_assessment(wave, 16_000).tolist()
    nisqa._load_nisqa_model.cache_clear()
    assert list(answers(predictor, case_of(predictor, folder)).values()) == pytest.approx(expected, abs=1e-4)
    assert all(1 < value < 5 for value in expected)


def test_scoreq_is_what_the_graph_gives_for_whole_frames(written: dict[str, Path], tmp_path: Path) -> None:
    samples = 0.5 * np.sin(np.arange(16_001) * 0.1)
    soundfile.write(tmp_path / "a.wav", samples, 16_000, subtype="FLOAT")
    predictor = predictor_for("scoreq", written)
    expected = np.abs(samples).sum() / 16_320 + 1
    assert answers(predictor, case_of(predictor, tmp_path))["scoreq"] == pytest.approx(expected, abs=1e-4)


@every_name
def test_one_medium_has_one_answer_whatever_else_is_asked(
    name: str, written: dict[str, Path], folder: Path, tmp_path: Path
) -> None:
    predictor = predictor_for(name, written)
    cases = [case_of(predictor, folder, medium) for medium in ("a", "b")]
    table = run(predictor, cases, tmp_path / "run", RunOptions(batch=2)).table
    assert table["ok"].all()
    alone = predictor_for(name, written)
    values = {}
    for case in cases:
        values[case.stimulus] = answers(alone, case)
        assert all(math.isfinite(value) for value in values[case.stimulus].values())
        rows = table.filter(table["stimulus"] == case.stimulus)
        both = rows["value"].fill_null(0) + rows["score"].fill_null(0)
        assert dict(zip(rows["question"], both, strict=True)) == values[case.stimulus]
    first, second = values.values()
    assert all(abs(first[score] - second[score]) > 1e-4 for score in first)
    again = pickle.loads(pickle.dumps(alone))
    assert again.identity == alone.identity
    assert again.predict(cases) == alone.predict(cases)


@every_name
def test_the_identity_is_that_of_the_weights(name: str, written: dict[str, Path], tmp_path: Path) -> None:
    source = written[name]
    copy = tmp_path / "copy" / source.name
    copy.parent.mkdir()
    _ = shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    first, same = predictor_for(name, written), predictor_from(f"{name}:{copy}")
    assert first.identity == same.identity
    assert first.info.hash
    files = sorted(copy.iterdir()) if copy.is_dir() else [copy]
    weights = max(files, key=lambda file: file.stat().st_size)
    change_one_number(weights)
    other = predictor_from(f"{name}:{copy}")
    assert other.identity != first.identity
    assert other.info.hash != first.info.hash


@pytest.mark.parametrize("name", ["pickscore", "hpsv2", "imagereward"])
def test_another_tokenizer_is_another_identity(name: str, written: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(written[name], tmp_path / "copy")
    settings = tmp_path / "copy" / "tokenizer_config.json"
    settings.write_text(settings.read_text().rstrip() + "\n\n")
    other = predictor_from(f"{name}:{tmp_path / 'copy'}")
    assert other.identity != predictor_for(name, written).identity
    option = predictor_from(f"{name}[processor={tmp_path / 'copy'}]:{written[name]}")
    assert option.identity != predictor_for(name, written).identity


def change_one_number(path: Path) -> None:
    """Store the weights again with one of them changed."""
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file, save_file

        state = load_file(path)
        state[sorted(state)[0]] += 1
        save_file(state, path, {"format": "pt"})
    elif path.suffix == ".onnx":
        import onnx

        graph: Any = onnx.load(path)
        graph.graph.initializer[0].float_data[0] += 1
        onnx.save(graph, path)
    else:
        import torch

        content = torch.load(path, weights_only=True)
        state = next((content[key] for key in ("state_dict", "model_state_dict") if key in content), content)
        name = next(name for name, value in state.items() if value.is_floating_point())
        state[name] = state[name] + 1
        torch.save(content, path)


@pytest.mark.parametrize("name", ["pickscore", "hpsv2", "imagereward"])
def test_without_a_prompt_there_is_no_answer(name: str, written: dict[str, Path], folder: Path) -> None:
    predictor = predictor_for(name, written)
    result = predictor.predict([case_of(predictor, folder, prompt=None)])[0][0]
    assert "the text it was made from" in str(result.problem)
    two = {answers(predictor, case_of(predictor, folder, prompt=text))[name] for text in ("a boat", "b")}
    assert len(two) == 2


def test_a_question_picks_its_score_and_scale(written: dict[str, Path], folder: Path) -> None:
    predictor = predictor_for("audiobox-aesthetics", written)
    media = Media(folder / "a.wav")
    seven = Points(type="points", points=7)
    asks = (
        Ask(question="production-quality", scale=seven, text="", words="How good does it sound?"),
        Ask(question="enjoyable", scale=seven, text="", words="How enjoyable is it?"),
        Ask(
            question="mood",
            scale=Categories(type="categories", categories=["joy", "grief"]),
            text="",
            words="Which mood?",
        ),
    )
    quality, enjoyable, mood = predictor.predict([Case(stimulus="a", asks=asks, media=media)])[0]
    assert quality.value == pytest.approx(
        1 + (PEERS["audiobox-aesthetics"]["production-quality"] - 1) / 9 * 6, abs=1e-4
    )
    assert "from 1 to 10 onto 1 to 7" in str(quality.note)
    assert enjoyable.value == pytest.approx(
        1 + (PEERS["audiobox-aesthetics"]["content-enjoyment"] - 1) / 9 * 6, abs=1e-4
    )
    assert "answered with words" in str(mood.problem)
    chosen = predictor_from(f"audiobox-aesthetics[score=production-quality]:{written['audiobox-aesthetics']}")
    assert chosen.predict([Case(stimulus="a", asks=asks[1:2], media=media)])[0][0].value == quality.value
    with pytest.raises(InputError, match="no score 'loud'"):
        predictor_from(f"audiobox-aesthetics[score=loud]:{written['audiobox-aesthetics']}")


def test_a_score_beyond_its_ends_is_held_there_with_a_note(tmp_path: Path) -> None:
    predictor = predictor_from(f"scoreq:{write_tiny('scoreq', tmp_path / 'scoreq')}")
    assert isinstance(predictor, HubScores)
    soundfile.write(tmp_path / "loud.wav", np.full(16_000, 6.5), 16_000, subtype="FLOAT")
    asks = (
        *predictor.file_asks(),
        Ask(question="quality", scale=Points(type="points", points=7), text="", words="How good is it?"),
    )
    own, held = predictor.predict([Case(stimulus="loud.wav", asks=asks, media=Media(tmp_path / "loud.wav"))])[0]
    assert (own.value, held.value) == (5, 7)
    for prediction in (own, held):
        assert mentions(str(prediction.note), "scale", "model", "7.500")


def test_a_long_clip_is_the_mean_of_its_windows(written: dict[str, Path], tmp_path: Path) -> None:
    wave = 0.3 * np.sin(np.cumsum(np.linspace(0.02, 0.3, 16_000 * 13)))
    parts = {"whole": wave, "first": wave[:160_000], "rest": wave[160_000:]}
    predictor = predictor_for("audiobox-aesthetics", written)
    found = {}
    for name, samples in parts.items():
        soundfile.write(tmp_path / f"{name}.wav", samples, 16_000)
        found[name] = answers(predictor, case_of(predictor, tmp_path, name))
    for score, value in found["whole"].items():
        mean = (10 * found["first"][score] + 3 * found["rest"][score]) / 13
        assert value == pytest.approx(mean, abs=1e-4)


@every_name
def test_what_is_no_such_model_is_refused_with_a_fix(name: str, written: dict[str, Path], tmp_path: Path) -> None:
    """No traceback for a missing file, an empty folder, or the weights of another model."""
    other = written["utmos" if name != "utmos" else "imagereward"]
    (tmp_path / "empty").mkdir()
    for where in (tmp_path / "gone" / "x", tmp_path / "empty", other):
        with pytest.raises(HeartfeltError) as caught:
            predictor_from(f"{name}:{where}")
        assert caught.value.fix


@pytest.mark.parametrize("name", ["hpsv2", "imagereward", "utmos", "audiobox-aesthetics", "nisqa", "aesthetic"])
def test_a_checkpoint_that_lacks_any_weight_is_refused(name: str, written: dict[str, Path], tmp_path: Path) -> None:
    """Each kind of weight in turn, whatever layer it is in."""
    import torch
    from safetensors.torch import load_file, save_file

    source, copy = written[name], tmp_path / "copy"
    shutil.copytree(source if source.is_dir() else source.parent, copy)
    path = max(copy.iterdir(), key=lambda file: file.stat().st_size)
    is_safe = path.suffix == ".safetensors"
    content: Any = load_file(path) if is_safe else torch.load(path, weights_only=True)
    state = next((content[key] for key in ("state_dict", "model_state_dict") if key in content), content)
    kinds = {re.sub(r"\d+", "0", weight): weight for weight in state if "num_batches" not in weight}
    assert len(kinds) > 10
    for weight in kinds.values():
        value = state.pop(weight)
        save_file(state, path, {"format": "pt"}) if is_safe else torch.save(content, path)
        with pytest.raises(InputError, match=re.escape(path.name)):
            predictor_from(f"{name}:{copy}")
        state[weight] = value


class Harmful:
    """Pickled, it writes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["hpsv2", "imagereward", "utmos", "nisqa"])
def test_code_in_a_checkpoint_is_never_run(name: str, written: dict[str, Path], tmp_path: Path) -> None:
    import torch

    files = {"hpsv2": "HPS_v2.1_compressed.pt", "imagereward": "ImageReward.pt", "utmos": "model.ckpt"}
    path = tmp_path / files.get(name, "nisqa.tar")
    torch.save({"state_dict": {}, "more": Harmful(tmp_path / "harmed")}, path)
    assert written[name].exists()
    with pytest.raises(InputError, match="holds more than weights"):
        predictor_from(f"{name}:{path}")
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("name", ["pickscore", "hpsv2", "imagereward", "aesthetic", "audiobox-aesthetics"])
def test_offline_the_default_says_what_to_copy(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kind = PREDICTORS[name]
    assert issubclass(kind, HubScores)
    with pytest.raises(HeartfeltError, match="HEARTFELT_OFFLINE is set") as caught:
        predictor_from(name)
    assert kind.default in caught.value.problem


@pytest.mark.parametrize("name", ["hpsv2", "imagereward", "aesthetic", "audiobox-aesthetics"])
def test_what_the_hub_cache_holds_is_used_by_its_name(
    name: str, written: dict[str, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline, with the commit as identity, and the numbers of the folder."""
    kind, commit = PREDICTORS[name], "0123456789abcdef0123456789abcdef01234567"
    assert issubclass(kind, HubScores)
    stored = tmp_path / f"models--{kind.default.replace('/', '--')}"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "main").write_text(commit)
    shutil.copytree(written[name], stored / "snapshots" / commit)
    for module in ("constants", "file_download", "_snapshot_download"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path), raising=False)
    options = {"processor": str(written[name])} if "processor" in kind.options else {}
    by_name, by_folder = predictor_from(name, options), predictor_for(name, written)
    assert isinstance(by_name, HubScores)
    assert by_name.identity.startswith(f"{name} {kind.default}@{commit}")
    assert by_name.info.version == commit
    case = case_of(by_folder, folder)
    assert answers(by_name, case) == answers(by_folder, case)


@pytest.mark.parametrize("name", ["utmos", "scoreq", "nisqa"])
def test_weights_that_are_on_no_hub_are_asked_for(name: str) -> None:
    with pytest.raises(InputError, match="needs its weights") as caught:
        predictor_from(name)
    assert f"{name}:FILE" in caught.value.fix


@pytest.mark.parametrize(
    ("spec", "reason"),
    [("q-align", "never runs"), ("q-align:x/y", "never runs"), ("utmosv2:a", "index"), ("aesthetic-v2-5", "AGPL")],
)
def test_what_cannot_be_had_says_why_and_what_to_do(spec: str, reason: str) -> None:
    with pytest.raises(MissingPartError, match=reason) as caught:
        predictor_from(spec)
    assert "endpoint:URL" in caught.value.fix
    assert spec not in PREDICTORS.names()


def test_pictures_are_scored_against_raters(written: dict[str, Path], tmp_path: Path) -> None:
    """On the command line, with the prompts of the study."""
    names = [f"p{place}.png" for place in range(8)]
    (tmp_path / "media").mkdir()
    for name in names:
        pixels = stream(6, name).integers(0, 256, (40, 40, 3), dtype="uint8")
        Image.fromarray(pixels).save(tmp_path / "media" / name)
    study = parse_study(STUDY.replace("media: audio", "media: image"), "small")
    stimuli = [
        {"stimulus": name, "system": "AB"[i % 2], "intent": "sad", "prompt": "plain", "path": name}
        for i, name in enumerate(names)
    ]
    ratings = [
        {"rater": f"r{r}", "stimulus": name, "question": "valence", "value": float(1 + (i + r) % 9)}
        for i, name in enumerate(names)
        for r in range(3)
    ]
    source = Source(format="tables", name="small", media_root=tmp_path / "media")
    data = Snapshot.build(study, stimuli=pl.DataFrame(stimuli), ratings=pl.DataFrame(ratings), source=source)
    data.write(tmp_path / "rated")
    models = [f"--model={name}:{written[name]}" for name in ("hpsv2", "aesthetic")]
    done = CliRunner().invoke(app, ["bench", str(tmp_path / "rated"), *models, "--out", str(tmp_path / "scores")])
    assert done.exit_code == 0, done.output
    tables = [pl.read_parquet(path) for path in (tmp_path / "scores").rglob("predictions.parquet")]
    table = pl.concat(tables, how="diagonal").filter(pl.col("question") == "valence")
    table = table.unique(["model", "stimulus"], maintain_order=True)
    assert sorted(table["model"].unique()) == sorted(model.partition("=")[2] for model in models)
    assert table.height == 16
    assert table["score"].n_unique() == 16


@pytest.mark.parametrize("name", ["", "clip.wav"])
def test_scoreq_names_the_file_it_needs(name: str, tmp_path: Path) -> None:
    (tmp_path / "clip.wav").write_bytes(b"")
    with pytest.raises(InputError, match=r"ONNX.*file") as refused:
        predictor_from(f"scoreq:{tmp_path / name}").file_asks()
    assert "adapt_nr_telephone.onnx" in refused.value.fix


def test_what_is_doubtful_about_a_file_is_said(written: dict[str, Path], tmp_path: Path) -> None:
    """Silence, channels that cancel each other and a low rate; one colour and frames that are not looked at."""
    samples = np.sin(np.arange(8_000) * 0.3)
    soundfile.write(tmp_path / "silent.wav", np.zeros(16_000), 16_000)
    soundfile.write(tmp_path / "opposite.wav", np.stack([samples, -samples], 1), 8_000)
    grey, black = (Image.new("RGB", (64, 64), colour) for colour in ("grey", "black"))
    grey.save(tmp_path / "grey.png")
    grey.save(tmp_path / "frames.gif", save_all=True, append_images=[black])
    expected = {
        "silent.wav": ["the clip is silent"],
        "opposite.wav": ["only the loudest channel was used", "8,000 samples per second"],
        "grey.png": ["the image has one colour"],
        "frames.gif": ["only the first of 2 frames"],
    }
    for name in written:
        predictor = predictor_for(name, written)
        for file, words in expected.items():
            if (Path(file).suffix == ".wav") != (predictor.media_kinds == ("audio",)):
                continue
            case = Case(stimulus=file, asks=tuple(predictor.file_asks()), media=Media(tmp_path / file), prompt=PROMPT)
            answer = predictor.predict([case])[0][0]
            note = answer.note or answer.problem or ""
            assert [word for word in words if word not in note] == [], (name, file, note)


def test_silence_and_broken_files_are_problems_of_their_own(
    written: dict[str, Path], folder: Path, tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "short.wav", np.zeros(100), 16_000)
    (tmp_path / "text.wav").write_text("no sound")
    predictor = predictor_for("utmos", written)
    asks = tuple(predictor.file_asks())
    cases = [Case(stimulus=name, asks=asks, media=Media(tmp_path / name)) for name in ("short.wav", "text.wav")]
    cases.append(Case(stimulus="a.wav", asks=asks, media=Media(folder / "a.wav")))
    table = run(predictor, cases, tmp_path / "out").table
    assert table["ok"].to_list() == [False, False, True]
    assert mentions(table["problem"][0], "0.006", "0.1")
