"""Published checkpoints of both networks, with torchvision's names, as .pth or .safetensors."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from heartfelt.errors import InputError
from heartfelt_backbones.densenet import current_names

CHECKPOINTS = (".safetensors", ".pth", ".pt", ".bin")


def load_checkpoint(network: nn.Module, path: Path) -> None:
    """Read a checkpoint of VGG16 or DenseNet121 by its parameters' names; the layer of the 1,000 classes is not used."""
    state = current_names(read_tensors(path))
    expected = network.state_dict()
    classes = {name for name in state if name.startswith("classifier.") and name not in expected}  # the 1,000 classes
    missing = [name for name in expected if name not in state and not name.endswith("num_batches_tracked")]
    extra = [name for name in state if name not in expected and name not in classes]
    wrong = [name for name in expected if name in state and expected[name].shape != state[name].shape]
    if missing or extra or wrong:
        first = (missing or extra or wrong)[0]
        raise InputError(
            f"{path} does not hold the weights of {type(network).__name__}: {len(missing)} tensors are missing, "
            f"{len(extra)} are unknown, {len(wrong)} have another shape, such as '{first}'.",
            "Give the published checkpoint of this network (torchvision's names), as .pth or .safetensors.",
        )
    network.load_state_dict({name: state.get(name, expected[name]) for name in expected})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors or PyTorch file; a pickle that would run code is refused."""
    if not path.is_file() or path.suffix not in CHECKPOINTS:
        raise InputError(f"{path} is not a file of weights.", f"Give a file that ends in {', '.join(CHECKPOINTS)}.")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # the libraries raise errors of many kinds for a file they cannot read
        reason = str(error).strip().splitlines()[0][:200] or type(error).__name__
        raise InputError(f"{path} cannot be read as weights: {reason}.", "Fetch the checkpoint again.") from error
