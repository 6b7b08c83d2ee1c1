"""Published checkpoints load by name, and what the plug-in offers is what its entry points name."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from heartfelt.errors import InputError
from heartfelt.training.finetuning.recipes.images.networks.backbones import BackboneKind

pytestmark = pytest.mark.slow  # PyTorch alone takes seconds to import

VGG: dict[str, Any] = {"widths": [8, 8, 8, 8, 8], "linear": 16, "dropout": 0.0}
DENSENET: dict[str, Any] = {"blocks": [1, 1, 1, 1], "growth": 4, "first": 8}


def test_every_entry_point_is_a_backbone_of_its_name() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]["heartfelt.image_backbones"]
    assert set(points) == {"vgg16", "densenet121"}
    for name, point in points.items():
        module, _, attribute = point.partition(":")
        kind = getattr(import_module(module), attribute)
        assert isinstance(kind, BackboneKind)
        assert kind.name == name


def old_names(state: dict[str, Any]) -> dict[str, Any]:
    """As the published DenseNet checkpoint has them."""
    out = {}
    for name, tensor in state.items():
        for part in ("norm1", "norm2", "conv1", "conv2"):
            if "denselayer" in name:
                name = name.replace(f".{part}.", f".{part[:-1]}.{part[-1]}.")
        if not name.endswith("num_batches_tracked"):
            out[name] = tensor
    return out


def test_published_checkpoints_load_by_name(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    from heartfelt_backbones import VGG16, DenseNet121, load_checkpoint

    dense = DenseNet121(**DENSENET)
    published = old_names(dense.state_dict())
    assert "features.denseblock1.denselayer1.norm.1.running_mean" in published
    published |= {"classifier.weight": torch.zeros(1000, 7), "classifier.bias": torch.zeros(1000)}
    torch.save(published, tmp_path / "dense.pth")
    again = DenseNet121(**DENSENET)
    load_checkpoint(again, tmp_path / "dense.pth")
    assert all(torch.equal(again.state_dict()[name], tensor) for name, tensor in dense.state_dict().items())

    vgg = VGG16(**VGG)
    names = list(vgg.state_dict())
    assert names[:2] == ["features.0.weight", "features.0.bias"]
    assert [name for name in names if "weight" in name][-3:] == [
        "features.28.weight",
        "classifier.0.weight",
        "classifier.3.weight",
    ]
    save_file({**vgg.state_dict(), "classifier.6.weight": torch.zeros(9, 9)}, tmp_path / "vgg.safetensors")
    other = VGG16(**VGG)
    load_checkpoint(other, tmp_path / "vgg.safetensors")
    assert torch.equal(other.features[28].weight, vgg.features[28].weight)
    with pytest.raises(InputError, match=r"VGG16.*30 tensors"):
        load_checkpoint(other, tmp_path / "dense.pth")
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "vgg.safetensors").read_bytes()[:200])
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_checkpoint(other, tmp_path / "cut.safetensors")
    with pytest.raises(InputError, match="is not a file of weights"):
        load_checkpoint(other, tmp_path / "none.pth")
