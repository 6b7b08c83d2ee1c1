"""MusicNN's published architecture in plain PyTorch and double precision, layer by layer as its authors wrote it.

SOURCE: ``build_musicnn`` in ``models.py`` of musicnn 0.1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def forward(torch: Any, weights: Mapping[str, npt.NDArray[Any]], patches: npt.NDArray[Any]) -> dict[str, Any]:
    """Every output for patches ``(n, frames, 96)``."""
    w = {name: torch.from_numpy(np.array(values)).double() for name, values in weights.items()}
    functional = torch.nn.functional

    def normalised(x: Any, number: int, axis: int = 1) -> Any:
        name = f"batch_normalization_{number}" if number else "batch_normalization"
        shape = [1] * x.ndim
        shape[axis] = -1
        part = {key: w[f"{name}/{key}"].reshape(shape) for key in ("gamma", "beta", "moving_mean", "moving_variance")}
        return (x - part["moving_mean"]) / torch.sqrt(part["moving_variance"] + 1e-3) * part["gamma"] + part["beta"]

    def layer(x: Any, number: int, pad: tuple[int, int]) -> Any:
        name = f"conv2d_{number}" if number else "conv2d"
        kernel = w[f"{name}/kernel"].permute(3, 2, 0, 1)
        rectified = functional.relu(functional.conv2d(functional.pad(x, (0, 0, *pad)), kernel, w[f"{name}/bias"]))
        return normalised(rectified, number + 1)

    x = normalised(torch.from_numpy(patches).double()[:, None], 0)
    pads = ((3, 3), (3, 3), (63, 64), (31, 32), (15, 16))
    front = torch.cat([layer(x, number, pad).amax(3) for number, pad in enumerate(pads)], 1)
    image = front.permute(0, 2, 1)[:, None]
    each = layer(image, 5, (3, 3)).permute(0, 3, 2, 1)
    two = layer(each, 6, (3, 3)).permute(0, 3, 2, 1) + each
    three = layer(two, 7, (3, 3)).permute(0, 3, 2, 1) + two
    maps = torch.cat([image, each, two, three], 3)[:, 0]
    peak, mean = maps.amax(1), maps.mean(1)
    flat = normalised(torch.stack([peak, mean], 2).reshape(len(patches), -1), 9)
    penultimate = normalised(functional.relu(flat @ w["dense/kernel"] + w["dense/bias"]), 10)
    logits = penultimate @ w["dense_1/kernel"] + w["dense_1/bias"]
    return {
        "tags": torch.sigmoid(logits).numpy(),
        "penultimate": penultimate.numpy(),
        "mean_pool": mean.numpy(),
        "max_pool": peak.numpy(),
        "std_pool": maps.std(1, unbiased=False).numpy(),
    }
