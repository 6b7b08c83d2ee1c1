"""What converted models say to fixed inputs, to be held against their references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.models import distillmos, dnsmos, minilm, musicnn
from heartfelt.models.efficientnet import network_input, side_of
from heartfelt.models.references import picture, sound
from heartfelt.models.session import Model

Answers = Mapping[str, npt.NDArray[Any]]

_LONG, _SHORT = 170_000, 50_000
_TEXTS = ("A calm piano piece that slowly turns sad.", "Wütend & laut: 120 BPM, distorted guitars!")


def of_musicnn(model: Model) -> Answers:
    """Two patches of the made-up sound: every table's first rows."""
    features = musicnn.embed(sound(6 * musicnn.RATE), model=model)
    return {part: features.part(part) for part in musicnn.PARTS}


def of_efficientnet(model: Model) -> Answers:
    """The made-up picture at the network's own size."""
    side = side_of(model)
    return model.run({"pictures": network_input(picture(side, side))[None]})


def of_dnsmos(model: Model) -> Answers:
    """The made-up sound, longer than a window and shorter."""
    given = {"long": sound(_LONG), "short": sound(_LONG)[:_SHORT]}
    scores = {name: dnsmos.score(samples, model=model) for name, samples in given.items()}
    return {
        name: np.array([getattr(found, scale) for scale in dnsmos.SCALES]) for name, found in scores.items()
    }


def of_distillmos(model: Model) -> Answers:
    """The same."""
    given = {"long": sound(_LONG), "short": sound(_LONG)[:_SHORT]}
    return {name: np.array([distillmos.score(samples, model=model).score]) for name, samples in given.items()}


def of_minilm(model: Model) -> Answers:
    """Two texts of different length."""
    return {"texts": minilm.embed(_TEXTS, model=model)}
