"""Generators that run a model: the same seed makes the same file, in any batch; and the parts that libraries do not have."""

from __future__ import annotations

import importlib
import json
import math
import sys
import types
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from benchmarks import _pipelines as tiny

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.media.audio import read_audio
from heartfelt.stimuli.generators.models.musicgen import Draws, MusicGenSampling
from heartfelt.stimuli.generators.models.pipelines import cosine_scheduler
from heartfelt.stimuli.generators.models.torch_models import clip_of, generator_of, library, listening
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from tests.stimuli.generation.models.tiny_models import CASES, TEXTS, build, numbers, prompts, written

pytestmark = pytest.mark.slow
SOURCE = "Diffusers' CosineDPMSolverMultistepScheduler; softmax by SciPy; MusicGen's own greedy choice"


@pytest.mark.parametrize("name", CASES)
def test_a_seed_decides_a_stimulus_whatever_the_batch(name: str, home: Path, tmp_path: Path) -> None:
    generator, case = build(home, name, batch=3), CASES[name]
    together = generator.generate_many(prompts(), [1, 2, 3])
    alone, other = (generator.generate(prompts()[1], seed) for seed in (2, 3))
    assert np.allclose(numbers(together[1]), numbers(alone), atol=0.005 if alone.kind == "image" else 1e-4)
    rows = min(len(numbers(alone)), len(numbers(other)))
    assert not np.allclose(numbers(alone)[:rows], numbers(other)[:rows], atol=1e-4)
    file = alone.save(tmp_path / f"alone{generator.suffix}")
    again = generator.generate(prompts()[1], 2).save(tmp_path / f"again{generator.suffix}")
    assert file.read_bytes() == again.read_bytes()
    if case.shape:
        assert {numbers(media).shape for media in together} == {case.shape}
    if alone.kind == "audio":
        clip = read_audio(file)
        assert clip.rate == case.rate
        assert np.abs(clip.samples).max() > 1e-3
    facts = generator.facts()
    assert facts.model == name
    assert len(facts.weights_hash) == 64
    assert facts.hardware
    assert facts.settings["precision"] == "float32"
    json.dumps(facts.settings)
    generator.close()


@pytest.mark.parametrize("name", ["musicgen", "vits", "audioldm2", "stable-audio", "sd"])
def test_bfloat16_runs_on_a_cpu(name: str, home: Path) -> None:
    generator = build(home, name, precision="bfloat16")
    made = generator.generate(prompts()[0], 1)
    assert np.isfinite(numbers(made)).all()
    assert generator.facts().settings["precision"] == "bfloat16"
    if CASES[name].shape:
        assert numbers(made).shape == CASES[name].shape


def test_draws_follow_the_probabilities() -> None:
    """Rows of 20,000 stimuli x 2 codebooks, of which top-k leaves three tokens, at a temperature of 2."""
    torch = library("torch")
    scores, rows = torch.tensor([0.0, 1.5, -3.0, 0.7, 0.2]), 20_000
    draws = Draws([generator_of(seed) for seed in range(rows)], 2, MusicGenSampling(top_k=3, temperature=2.0))
    tokens = draws(None, scores.repeat(2 * rows, 1)).argmax(-1)
    left = np.array([1.5, 0.7, 0.2]) / 2
    expected = 2 * rows * np.exp(left) / np.exp(left).sum()
    counts = torch.bincount(tokens, minlength=5).numpy()
    assert counts[[0, 2]].sum() == 0
    assert scipy.stats.chisquare(counts[[1, 3, 4]], expected).pvalue > 1e-3
    both = tokens.reshape(rows, 2).numpy()
    table = np.histogram2d(both[:, 0], both[:, 1], bins=[0, 2, 4, 5])[0]
    assert scipy.stats.chi2_contingency(table).pvalue > 1e-3
    with pytest.raises(HeartfeltError, match="3 rows of scores"):
        draws(None, scores.repeat(3, 1))


def test_a_temperature_near_zero_is_the_models_greedy_choice_with_guidance(home: Path) -> None:
    torch = library("torch")
    generator: Any = build(home, "musicgen", settings={"temperature": 1e-6, "top_k": 0, "guidance_scale": 30.0})
    ours = generator.generate(prompts()[1], 5).samples
    tokens = generator._tokenizer([TEXTS[1]], return_tensors="pt")
    with torch.no_grad():
        guided, free = (
            generator._model.generate(**tokens, do_sample=False, guidance_scale=scale, max_new_tokens=generator.steps)
            for scale in (30.0, 1.0)
        )
    assert np.allclose(ours, numbers(clip_of(guided[0], 1_600)), atol=1e-6)
    assert not np.allclose(ours, numbers(clip_of(free[0], 1_600)), atol=1e-4)


def test_audioldm2s_language_model_works_under_both_of_its_class_names(home: Path) -> None:
    tiny.write_audioldm2(home / "with-head", tiny=True, language_model="GPT2LMHeadModel")
    clips = [build(home, "audioldm2", model=name).generate(prompts()[0], 1) for name in ("audioldm2", "with-head")]
    assert np.allclose(numbers(clips[0]), numbers(clips[1]), atol=1e-6)


def test_the_scheduler_of_stable_audio_is_diffusers_own_with_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = library("torch")
    with listening("diffusers"):
        assert cosine_scheduler({})  # loaded before the stand-in below can be seen
    monkeypatch.setitem(sys.modules, "torchsde", types.ModuleType("torchsde"))
    module = importlib.import_module("diffusers.schedulers.scheduling_cosine_dpmsolver_multistep")
    for config in ({}, {"solver_order": 1, "sigma_max": 80}):
        theirs, ours = module.CosineDPMSolverMultistepScheduler(**config), cosine_scheduler(config)
        theirs.set_timesteps(20)
        ours.set_timesteps(20)
        assert torch.equal(theirs.timesteps, ours.timesteps)
        left = right = torch.randn(2, 3, 4, generator=generator_of(0)) * theirs.init_noise_sigma
        for place, step in enumerate(theirs.timesteps):
            seeds = (place, 100 + place)
            noise = torch.cat([torch.randn(1, 3, 4, generator=generator_of(seed)) for seed in seeds])
            theirs.noise_sampler = partial(_first, noise)
            left = theirs.step(theirs.scale_model_input(left, step).sin(), step, left).prev_sample
            own = [generator_of(seed) for seed in seeds]
            right = ours.step(ours.scale_model_input(right, step).sin(), step, right, generator=own).prev_sample
        assert torch.equal(left, right)


def _first(noise: Any, *interval: Any) -> Any:
    del interval
    return noise


def test_a_held_back_image_is_no_stimulus(home: Path, tmp_path: Path) -> None:
    tiny.write_stable_diffusion(home / "safe", tiny=True, safety=True)
    made = build(home, "sd", model="safe").generate(prompts()[0], 1)
    with pytest.raises(InputError, match="safety checker"):
        made.save(tmp_path / "black.png")


def test_a_prompt_that_would_be_cut_is_no_stimulus_and_spares_its_neighbours(home: Path, tmp_path: Path) -> None:
    long = StimulusPrompt(stimulus="S_9", system="S", intent="joy", text="sad " * 30)
    made = build(home, "sd").generate_many([long, prompts()[0]], [1, 1])
    with pytest.raises(InputError, match="tokens more than the model reads"):
        made[0].save(tmp_path / "long.png")
    assert made[1].save(tmp_path / "short.png").exists()


def test_samples_beyond_full_scale_are_turned_down_and_those_that_are_no_numbers_refused(tmp_path: Path) -> None:
    torch = library("torch")
    loud = clip_of(torch.tensor([[0.5, -2.0, 1.0]]), 8_000)
    assert numbers(loud)[:, 0].tolist() == [0.25, -1.0, 0.5]
    for wrong, reason in ((torch.tensor([0.1, math.nan]), "not finite"), (torch.zeros(0), "without samples")):
        with pytest.raises(InputError, match=reason):
            clip_of(wrong, 8_000).save(tmp_path / "clip.wav")


def test_settings_are_the_same_wherever_the_study_lies(home: Path) -> None:
    written(home, "vits")
    one, other = build(home, "vits"), build(home, "vits", model=str(home / "vits"))
    assert one.facts().model == other.facts().model == "vits"
    assert one.facts().weights_hash == other.facts().weights_hash
