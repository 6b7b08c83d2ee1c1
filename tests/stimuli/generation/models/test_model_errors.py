"""Models that do not fit their generator, settings that do not fit the model, and what is missing: refused with a fix."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from heartfelt.errors import HeartfeltError, InputError, MissingPartError
from heartfelt.stimuli import GeneratorOutOfMemory
from heartfelt.stimuli.generators.models.known_licences import licence_of
from heartfelt.stimuli.generators.models.torch_models import ModelFolder, library, loaded, within_memory
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from tests.stimuli.generation.models.tiny_models import CASES, build, written

WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("musicgen", {"model": "vits"}, "of type 'vits', not MusicGen"),
    ("musicgen", {"model": "sd"}, "no readable config.json"),
    ("vits", {"model": "musicgen"}, "of type 'musicgen', which text-to-speech cannot run"),
    ("audioldm2", {"model": "sd"}, "is a StableDiffusionPipeline, which this generator cannot run"),
    ("sd", {"model": "audioldm2"}, "is a AudioLDM2Pipeline, which this generator cannot run"),
    ("musicgen", {"model": "nowhere/at/all"}, "No model's folder is at"),
    ("musicgen", {"model": "owner/never-fetched"}, "is not stored here, and HEARTFELT_OFFLINE is set"),
    ("sd", {"model": "owner/never-fetched"}, "is not stored here, and HEARTFELT_OFFLINE is set"),
    ("musicgen", {"revision": "main"}, "folders have no revision"),
    ("musicgen", {"precision": "half"}, "Half precision needs a GPU"),
    ("sd", {"offload": "model"}, "runs on the CPU"),
    ("musicgen", {"seconds": 90}, "makes at most 5.0 s"),
    ("stable-audio", {"seconds": 2}, "makes at most 1.0 s"),
    ("stable-audio", {"settings": {"start": 0.7}}, "makes at most 1.0 s"),
    ("audioldm2", {"seconds": 0.01}, "makes at least 0.04 s"),
    ("sd", {"size": 33}, "squares of 8 pixels"),
    ("sd", {"settings": {"more": {"guidance": 1}}}, "takes no 'guidance'"),
    ("speecht5", {"settings": {}}, "needs the vector of a speaker"),
    ("speecht5", {"settings": {"voice": "vocoder/config.json"}}, "cannot be read"),
    ("vits", {"settings": {"voice": "voice.npy"}}, "has no setting 'voice'"),
    ("vits", {"settings": {"speaker": 3}}, "has 1 speakers"),
)


@pytest.mark.slow
def test_what_does_not_fit_is_refused_with_a_fix(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    for name, changes, reason in WRONG:
        if changes.get("model") in CASES:
            written(home, str(changes["model"]))
        with pytest.raises(HeartfeltError, match=reason) as caught:
            build(home, name, **changes)
        assert caught.value.fix


@pytest.mark.slow
def test_a_folder_without_all_of_its_weights_is_refused(home: Path, tmp_path: Path) -> None:
    shutil.copytree(written(home, "sd"), tmp_path / "sd")
    weights = next((tmp_path / "sd" / "unet").glob("*.safetensors"))
    safetensors = library("safetensors.torch")
    state = safetensors.load_file(weights)
    state.pop("conv_in.weight")
    safetensors.save_file(state, weights)
    with pytest.raises(HeartfeltError, match=r"(?i)missing|does not load"):
        build(home, "sd", model=str(tmp_path / "sd"))
    weights.unlink()
    with pytest.raises(HeartfeltError, match="does not load"):
        build(home, "sd", model=str(tmp_path / "sd"))


@pytest.mark.slow
def test_speech_of_letters_nobody_knows_is_no_stimulus(home: Path, tmp_path: Path) -> None:
    made = build(home, "vits").generate(StimulusPrompt(stimulus="S", system="S", intent="joy", text=""), 1)
    with pytest.raises(InputError, match="none of the letters"):
        made.save(tmp_path / "nothing.wav")


@pytest.mark.slow
def test_too_little_memory_is_reported_as_such() -> None:
    torch = library("torch")

    def fail() -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(GeneratorOutOfMemory, match=r"small.*4 stimuli") as caught:
        within_memory(4, "cpu", lambda: torch.empty(2**55))
    assert caught.value.__context__ is None
    with pytest.raises(RuntimeError, match="shapes"):
        within_memory(1, "cpu", fail)


@pytest.mark.slow
def test_a_missing_library_names_the_extra() -> None:
    with pytest.raises(MissingPartError, match=r"\[generate\]"):
        library("no_such_library")

    def needs_more(place: str) -> None:
        raise ImportError(f"a tokenizer in {place} needs the sentencepiece library")

    with pytest.raises(MissingPartError, match="sentencepiece"):
        loaded(ModelFolder("x", Path("/nowhere/x")), needs_more)


def test_licences_of_known_models_are_known() -> None:
    assert licence_of("facebook/musicgen-medium").commercial is False
    assert licence_of("facebook/mms-tts-deu").name == "CC BY-NC 4.0"
    assert licence_of("cvssp/audioldm2-music").name == "CC BY-NC-SA 4.0"
    assert licence_of("someone/something").name == "not known"
    assert licence_of("someone/something").url.endswith("someone/something")
    assert licence_of("/a/folder").url == ""
