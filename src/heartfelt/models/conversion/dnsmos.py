"""DNSMOS comes as ONNX already: the two networks are stored as they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heartfelt.models import speech
from heartfelt.models.conversion.graph import Tensors
from heartfelt.models.conversion.inputs import LONG, SHORT, sound
from heartfelt.models.session import Model


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The network of the three scores and the one trained on P.808 ratings."""
    named = {name.rpartition("/")[2]: content for name, content in members.items()}
    return {"model.onnx": named["sig_bak_ovr.onnx"], "p808.onnx": named["model_v8.onnx"]}


def answers(model: Model) -> Tensors:
    """The synthetic sound, longer than a window and shorter."""
    given = {"long": sound(LONG), "short": sound(LONG)[:SHORT]}
    return {
        name: np.array(list(speech.dnsmos(samples, model=model).scores.values()))
        for name, samples in given.items()
    }
