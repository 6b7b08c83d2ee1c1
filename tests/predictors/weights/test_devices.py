"""A device that is not there is named before anything is loaded, wherever one can be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.errors import InputError

torch = pytest.importorskip("torch")
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@without_gpu
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
def test_no_gpu_is_told(name: str) -> None:
    from heartfelt.predictors.weights.devices import checked_device

    with pytest.raises(InputError, match=f"'{name}' needs a GPU, and there is none: PyTorch sees no NVIDIA") as raised:
        checked_device(name)
    assert "device=cpu" in raised.value.fix


@without_gpu
def test_auto_is_the_cpu_where_there_is_no_gpu() -> None:
    from heartfelt.predictors.weights.devices import checked_device

    assert (checked_device("auto"), checked_device("cpu")) == ("cpu", "cpu")


def test_an_unknown_device_is_told() -> None:
    from heartfelt.predictors.weights.devices import checked_device

    with pytest.raises(InputError, match=r"device.*'abacus'"):
        checked_device("abacus")


@without_gpu
@pytest.mark.parametrize("predictor", ["clap", "clip"])
def test_a_predictor_says_it_before_it_looks_for_weights(predictor: str, tmp_path: Path) -> None:
    from heartfelt.predictors import predictor_from

    pytest.importorskip("transformers")
    with pytest.raises(InputError, match=r"needs.*GPU"):
        predictor_from(f"{predictor}[device=cuda]:{tmp_path}")


@without_gpu
def test_fine_tuning_says_it() -> None:
    from heartfelt.training.finetuning.loop.engine import accelerator_of
    from heartfelt.training.finetuning.settings import FineTuneSettings

    pytest.importorskip("accelerate")
    with pytest.raises(InputError, match=r"needs.*GPU"):
        accelerator_of(FineTuneSettings.model_validate({"device": "cuda"}))


@without_gpu
@pytest.mark.parametrize("where", ["device", "cpu"])
def test_generation_says_it(where: str) -> None:
    from heartfelt.stimuli.generation.work import resolved_device
    from heartfelt.stimuli.generators.generator import GENERATORS

    kinds = [kind for _, kind in GENERATORS.items() if kind.where == where]
    assert kinds
    for kind in kinds:
        with pytest.raises(InputError, match=r"needs.*GPU"):
            resolved_device(kind, "cuda:0")
