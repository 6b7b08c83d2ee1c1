"""What EfficientNet-Lite sees in a picture, in words: the 1,000 classes of ImageNet with their probabilities.

A probability is the softmax over all classes, so they add up to 1: the network expects one thing, in the centre. Of several things
it divides the probability between them, and for what is none of its classes (a person, the sky) it names the nearest class it has.

Names: ``imagenet.toml``, which says where they come from. Broader words (*dog* for 118 breeds) let an answer be compared with a
list that is less special than the network.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.images.efficientnet import Picture, View, look, softmax
from heartfelt.predictors.weights.model import Model


@dataclass(frozen=True, slots=True)
class ImageNetClass:
    """One of the 1,000 classes."""

    name: str
    synonyms: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    """Words for more than this class, the most special first."""


@cache
def imagenet_classes() -> tuple[ImageNetClass, ...]:
    groups, out = broader_words(), []
    for index, names in enumerate(_stored()["classes"]):
        name, *synonyms = names.split("; ")
        broader = sorted((word for word in groups if index in groups[word]), key=lambda word: len(groups[word]))
        out.append(ImageNetClass(name, tuple(synonyms), tuple(broader)))
    return tuple(out)


@cache
def broader_words() -> Mapping[str, tuple[int, ...]]:
    return {word: _indices(text) for word, text in _stored()["broader"].items()}


@cache
def _stored() -> Mapping[str, Any]:
    return tomllib.loads((files(__package__) / "imagenet.toml").read_text("utf-8"))


def classify(
    pictures: Iterable[Picture], *, model: str | Model = "efficientnet-lite2", view: View = "centre"
) -> npt.NDArray[np.float64]:
    """One row of 1,000 probabilities per picture, in the order of :func:`imagenet_classes`."""
    return softmax(look(pictures, model=model, view=view)["logits"])


def _indices(text: str) -> tuple[int, ...]:
    """The numbers of a list such as ``2-4 7``."""
    ends = [part.partition("-")[::2] for part in text.split()]
    return tuple(index for low, high in ends for index in range(int(low), int(high or low) + 1))
