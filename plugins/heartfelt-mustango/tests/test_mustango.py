"""The plug-in on a tiny checkpoint with random weights: found by name, the same seed makes the same clip, refusals have a fix."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import _pipelines as tiny
from tests.stimuli.generation.models.tiny_models import TEXTS, numbers, prompts

from heartfelt.errors import HeartfeltError
from heartfelt.media.audio import read_audio
from heartfelt.stimuli import GENERATORS
from heartfelt.stimuli.generators.models.torch_models import generator_of, library

if not entry_points(group="heartfelt.generators", name="mustango"):
    pytest.skip("the plug-in is not installed: pip install plugins/heartfelt-mustango", allow_module_level=True)

from heartfelt_mustango.checkpoint import MUSTANGO, Mustango, chord_of, chords_of

SOURCE = "the authors' published code; AImoclips' clip lengths"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the checkpoint is written; clips of 0.64 s instead of 10.24 s; one thread, as more would wait for each other."""
    torch = library("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models")
    tiny.write_mustango(folder / "mustango", tiny=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heartfelt_mustango.checkpoint.LATENT_FRAMES", 16)
        yield folder
    torch.set_num_threads(threads)


def mustango(home: Path, **changes: Any) -> Mustango:
    """The generator around the tiny checkpoint, built as ``make.yaml`` would have it built."""
    settings = {"text_model": "mustango/text", "beats_model": "mustango/beats", "settings": {"steps": 2}}
    entry = {"generator": "mustango", "model": "mustango", **settings, **changes}
    kind = GENERATORS["mustango"]
    generator = kind.build(kind.settings.model_validate(entry, context={"folder": home}), "cpu")
    assert isinstance(generator, Mustango)
    return generator


def test_heartfelt_finds_it_by_name() -> None:
    assert GENERATORS["mustango"] is MUSTANGO
    assert "mustango" in GENERATORS.names()


@pytest.mark.slow
def test_a_seed_decides_a_clip_whatever_the_batch(home: Path, tmp_path: Path) -> None:
    generator = mustango(home, batch=3)
    together = generator.generate_many(prompts(), [1, 2, 3])
    alone, different = (generator.generate(prompts()[1], seed) for seed in (2, 3))
    assert np.allclose(numbers(together[1]), numbers(alone), atol=1e-4)
    assert not np.allclose(numbers(alone), numbers(different), atol=1e-4)
    file = alone.save(tmp_path / f"alone{generator.suffix}")
    again = generator.generate(prompts()[1], 2).save(tmp_path / f"again{generator.suffix}")
    assert file.read_bytes() == again.read_bytes()
    assert {numbers(media).shape for media in together} == {(10_272, 1)}
    clip = read_audio(file)
    assert clip.rate == 16_000
    assert np.abs(clip.samples).max() > 1e-3
    facts = generator.facts()
    assert facts.model == "mustango"
    assert len(facts.weights_hash) == 64
    assert facts.hardware
    assert facts.settings["precision"] == "float32"
    json.dumps(facts.settings)
    generator.close()


@pytest.mark.slow
def test_bfloat16_runs_on_a_cpu(home: Path) -> None:
    generator = mustango(home, precision="bfloat16")
    clip = numbers(generator.generate(prompts()[0], 1))
    assert np.isfinite(clip).all()
    assert clip.shape == (10_272, 1)
    assert generator.facts().settings["precision"] == "bfloat16"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "elsewhere"}, "not Mustango's checkpoint: it has no configs/vae_config.json"),
        ({"seconds": 30}, "Mustango makes 0.64 s"),
        ({"model": "owner/never-fetched"}, "is not stored here, and HEARTFELT_OFFLINE is set"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_fix(
    home: Path, changes: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    (home / "elsewhere").mkdir(exist_ok=True)
    with pytest.raises(HeartfeltError, match=reason) as caught:
        mustango(home, **changes)
    assert caught.value.fix


@pytest.mark.slow
def test_mustangos_weights_arrive_where_they_belong(home: Path) -> None:
    torch = library("torch")
    generator: Any = mustango(home)
    networks, folder = library("heartfelt_mustango.networks"), home / "mustango"
    published = torch.load(folder / "ldm" / "pytorch_model_ldm.bin")
    attention = generator._model_unet.mid_block.attentions[0]
    for suffix, part in (("", attention.text), ("2", attention.beats), ("3", attention.chords)):
        name = f"unet.mid_block.attentions{suffix}.0.transformer_blocks.0.attn2.to_k.weight"
        assert torch.equal(part.transformer_blocks[0].attn2.to_k.weight, published[name])
    chords = generator._model_chords
    assert torch.all(chords.lm_head.weight == 0.01)
    assert not torch.all(chords.shared.weight == 0.01)
    sound, config = torch.load(folder / "vae/pytorch_model_vae.bin"), folder / "configs/vae_config.json"
    described = json.loads(config.read_bytes())
    vae, same = networks.autoencoder(described, sound), tiny.seeded(lambda: tiny._mustango_vae(described))
    latents, mel = (torch.randn(shape, generator=generator_of(0)) for shape in ((1, 8, 4, 4), (1, 4, 64)))
    # A vocoder's weights as they are stored before weight normalisation is removed: any direction, and its length.
    split, weight = dict(sound), sound["vocoder.conv_pre.weight"]
    del split["vocoder.conv_pre.weight"]
    split["vocoder.conv_pre.weight_v"] = 2 * weight
    split["vocoder.conv_pre.weight_g"] = weight.flatten(1).norm(dim=1).reshape(-1, 1, 1)
    with torch.no_grad():
        assert torch.equal(vae.decode(latents).sample, same.decode(latents).sample)
        assert torch.allclose(networks.vocoder(split)(mel), networks.vocoder(sound)(mel), atol=1e-6)
        # What AImoclips' clips of this model last: 10.242 s at 16 kHz.
        assert networks.vocoder(sound)(torch.zeros(1, 1_024, 64)).shape == (1, 163_872)
    del split["vocoder.conv_post.bias"]
    with pytest.raises(ValueError, match=r"lacks conv_post\.bias"):
        networks.vocoder(split)


@pytest.mark.slow
def test_mustango_hears_beats_and_chords(home: Path) -> None:
    torch = library("torch")
    generator: Any = mustango(home)
    music = generator.music_of(TEXTS[1])
    assert len(music.beats) <= 50
    assert all(time < 10 and 1 <= number <= 4 for time, number in music.beats)
    before = numbers(generator.generate(prompts()[1], 1))
    generator._music[TEXTS[1]] = type(music)(((0.5, 1), (1.0, 2)), ((0.0, 2, 4, 3), (5.0, 9, 2, 3)))
    assert not np.array_equal(before, numbers(generator.generate(prompts()[1], 1)))
    networks = library("heartfelt_mustango.networks")
    waves = networks.MusicEmbedding(4)._waves(torch.tensor([[0.5]]), 10_001)[0, 0]
    slow = 0.5 / math.sqrt(10_001)
    assert np.allclose(waves, [math.sin(0.5), math.cos(0.5), math.sin(slow), math.cos(slow)])


def test_chords_are_read_as_mustango_writes_them() -> None:
    assert chord_of("A") == (2, 2, 3)
    assert chord_of("Abm7/C") == (13, 6, 2)
    assert chord_of("B#dim") == chord_of("Cdim") == (5, 11, 3)
    assert chord_of("N") == (1, 1, 1)
    assert chord_of("H7") is None
    assert chord_of("Asus4") is None
    text = "Am at 0.46 n F7 at 1.39 n nonsense n Gm at soon n C at 9.1"
    assert chords_of(text, 20) == ((0.46, 2, 4, 3), (1.39, 10, 9, 3), (9.1, 5, 2, 3))
    assert len(chords_of(text, 2)) == 2
