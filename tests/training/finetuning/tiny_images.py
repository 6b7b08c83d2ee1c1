"""Tiny configurations of the real image networks, and a batch for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from heartfelt.training.finetuning.recipes.images.networks.losses import Targets

SIDE = 64
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "resnet50": {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 24], "depths": [1, 1, 1, 1], "layer_type": "basic"},
    "convnext-t": {"hidden_sizes": [8, 16, 16, 24], "depths": [1, 1, 1, 1]},
    "swin-t": {
        "image_size": SIDE,
        "embed_dim": 8,
        "depths": [1, 1, 1],
        "num_heads": [2, 2, 2],
        "window_size": 2,
        "drop_path_rate": 0.0,
    },
    "vit-b16": {
        "image_size": SIDE,
        "patch_size": 8,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    },
    "vgg16": {"widths": [8, 8, 8, 8, 8], "linear": 16, "dropout": 0.0},
    "densenet121": {"blocks": [1, 1, 1, 1], "growth": 4, "first": 8},
    "efficientnet-lite2": {"width": 20, "hidden": 8},
}


def batch_of(size: int = 6, categories: int = 4, numbers: int = 2) -> tuple[dict[str, Any], Targets]:
    """Inputs and labels; the last image has neither faces nor objects, and no label for its first number."""
    draw = torch.Generator().manual_seed(3)

    def rand(*shape: int) -> Any:
        return torch.rand(shape, generator=draw)

    face_mask = torch.zeros(size, 4)
    face_mask[:-1, 0] = 1
    objects_known = torch.ones(size)
    objects_known[-1] = 0
    inputs = {
        "pixels": (rand(size, 3, SIDE, SIDE) * 255).to(torch.uint8),
        "embedding": rand(size, 20),
        "attributes": rand(size, 5),
        "faces": rand(size, 4, 9),
        "face_mask": face_mask,
        "objects": rand(size, 1000).softmax(dim=1) * 50,
        "objects_known": objects_known,
    }
    shares = rand(size, categories)
    weights = torch.ones(size, numbers)
    weights[-1, 0] = 0
    return inputs, Targets(
        shares / shares.sum(dim=1, keepdim=True), torch.ones(size), rand(size, numbers) * 2 - 1, weights
    )
