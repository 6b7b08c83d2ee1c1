"""``objects``: what an image shows, by the 1,000 classes of ImageNet, with EfficientNet-Lite.

The network names one thing in the centre of a photograph, so that several objects share its confidence and some are missed.

On a scale with tags or categories of its own, the probabilities of all classes that a tag names, directly or by a broader word
(*dog* for 118 breeds), are added up. Where names are free, the answer is as special as the network can be sure of: the first name
is that of the smallest group of classes (a class, *dog*, *animal*) with a probability of at least 0.5, where there is such
a group; classes outside it are named if they are likely enough.

Source: Deng, Krause, Berg and Fei-Fei (2012), "Hedging your bets: optimizing accuracy-specificity trade-offs in large scale visual
recognition".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from heartfelt.errors import InputError, suggestion
from heartfelt.models.imagenet import broader_words, classify, imagenet_classes
from heartfelt.predictors.images import NetworkPredictor, Networks
from heartfelt.predictors.predictor import PREDICTORS, Ask, Prediction
from heartfelt.predictors.scale_answers import Label, answer_labels
from heartfelt.predictors.spec import number_option
from heartfelt.study.scale import FreeText, Tags

_REVISION = 1
VARIANTS = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")
SURE = 0.5
_NOT_NAMED = {"mammal", "primate", "livestock"}
"""Broader words that a list may use, and nobody would say of an image."""
_NEGLIGIBLE = 1e-4
"""Classes less likely than this are not named."""


@PREDICTORS.register("objects")
class Objects(NetworkPredictor[npt.NDArray[np.float64]]):
    """Names of what is in an image, with a confidence."""

    name = "objects"
    extra = "predict"
    about = "what an image shows, by EfficientNet-Lite's ImageNet classes"
    argument = f"the network: {', '.join(VARIANTS)} (default)"
    options: ClassVar[Mapping[str, str]] = {
        "top": "how many names are given at most; by default 5",
        "least": "the confidence a name must have, 0 to 1; by default 0.2",
    }

    def __init__(self, variant: str, options: Mapping[str, str]) -> None:
        super().__init__(variant, options)
        variant = variant or VARIANTS[-1]
        if variant not in VARIANTS:
            raise InputError(
                f"No network for objects is called '{variant}'.", suggestion(variant, VARIANTS, "Known")
            )
        self.top = int(number_option(options, "top", 5, 1, 1000))
        self.least = number_option(options, "least", 0.2, 0, 1)
        self.variant = variant
        self._networks = Networks(variant)

    @property
    def identity(self) -> str:
        """The network, and what the options change."""
        return f"objects {_REVISION} top={self.top} least={self.least:g} of {self._networks.identity}"

    def look(self, image: Image) -> npt.NDArray[np.float64]:
        """The probability of each class."""
        return classify([image], model=self._networks[self.variant]).reshape(-1)

    def answer(self, seen: npt.NDArray[np.float64], ask: Ask) -> Prediction:
        """The likely names on the question's scale."""
        free = isinstance(ask.scale, FreeText) or (isinstance(ask.scale, Tags) and not ask.scale.tags)
        return answer_labels(
            sure_labels(seen) if free else labels_of(seen), ask, least=self.least, most=self.top
        )


def sure_labels(probabilities: npt.NDArray[np.float64]) -> list[Label]:
    """The name of the smallest group of classes with a probability of at least ``SURE``, and the classes outside it."""
    labels = labels_of(probabilities)
    if labels[0].share >= SURE:
        return labels
    shares = {word: float(probabilities[list(places)].sum()) for word, places in broader_words().items()}
    sure = [word for word, share in shares.items() if share >= SURE and word not in _NOT_NAMED]
    if not sure:
        return labels
    group = min(sure, key=lambda word: (len(broader_words()[word]), -shares[word]))
    return [Label(group, shares[group]), *(label for label in labels if group not in label.also)]


def labels_of(probabilities: npt.NDArray[np.float64]) -> list[Label]:
    """The classes that are not negligible, the likeliest first."""
    classes = imagenet_classes()
    order = np.argsort(-probabilities, kind="stable")
    return [
        Label(
            classes[place].name,
            float(probabilities[place]),
            (*classes[place].synonyms, *classes[place].broader),
        )
        for place in order[: max(1, int((probabilities >= _NEGLIGIBLE).sum()))].tolist()
    ]
