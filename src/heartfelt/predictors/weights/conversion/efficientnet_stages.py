"""EfficientNet-Lite with the means over the maps of two inner stages, which know more of style and mood than the last layer."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.predictors.weights.conversion import efficientnet
from heartfelt.predictors.weights.conversion.graph import Tensors
from heartfelt.predictors.weights.model import Model

STAGES = (5, 6)


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The state dictionary as one ONNX model with outputs ``stage5`` and ``stage6`` as well."""
    return efficientnet.converted(members, STAGES)


def answers(model: Model) -> Tensors:
    return efficientnet.answers(model)
