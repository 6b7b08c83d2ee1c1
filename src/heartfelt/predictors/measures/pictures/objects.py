"""``objects``: what an image shows, by the 1,000 classes of ImageNet, with EfficientNet-Lite.

Three views of each image (its centre, the whole, and the centre mirrored) are averaged. The network names one thing in the centre
of a photograph, so that several objects share its confidence and some are missed.

On a scale with tags or categories of its own, the probabilities of all classes that a tag names, directly or by a broader word
(*dog* for 118 breeds), are added up. Where names are free, they are plain words: those for a kind (*cat* for *Egyptian cat* and
*tabby cat*), or a class that belongs to no kind; where none is likely enough, the smallest group (*fruit*, *animal*) with a
probability of at least 0.5. Their confidence is how often such words are right on photographs: a logistic fit to the 433 file
names of OASIS.

Source: Deng, Krause, Berg and Fei-Fei (2012), "Hedging your bets: optimizing accuracy-specificity trade-offs in large scale visual
recognition".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL.Image import Image, Transpose

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.answers.scales import Label, answer_labels, tags_ask
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Prediction
from heartfelt.predictors.interface.spec import number_option
from heartfelt.predictors.measures.images import NetworkPredictor, Networks
from heartfelt.predictors.networks.images.imagenet import broader_words, classify, imagenet_classes
from heartfelt.study.scales.scale import FreeText, Tags

_REVISION = 2
VARIANTS = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")
SURE = 0.5
"""The probability a broader word must have."""
LEAST, LEAST_ON_LISTS = 0.4, 0.2
"""The confidence a word must have, and an entry of a scale's own list."""
_BROAD = frozenset({
    "animal", "reptile", "vehicle", "building", "furniture", "clothing", "food", "tool", "kitchenware", "appliance",
    "electronics", "weapon", "toy", "container", "machine", "landscape", "plant", "aircraft", "computer", "dessert", "water",
    "sea", "jewelry", "armour", "musical instrument", "sports equipment", "medical equipment",
})  # fmt: skip
"""Words for much, said only where nothing more special is likely."""
_KINDS_OVER_CLASSES = ("fruit", "vegetable")
"""Words for a kind whose classes people name one by one: an apple is an apple before it is fruit."""
_NOT_SAID = frozenset({
    "puppy", "kitten", "bug", "automobile", "locomotive", "plane", "bike", "store", "burger", "telephone", "instrument",
    "people", "man", "mammal", "primate", "livestock", "nature", "garbage", "tortoise", "person", "wall", "coast", "amphibian",
    "shellfish", "sign", "roof", "meat", "meal", "paper", "street", "fire", "rock", "wagon", "cap", "screen", "drink", "wine",
    "tea", "fungus", "squash", "coffee", "deer", "tree", "nut", "grain", "football", "wild cat", "big cat",
})  # fmt: skip
"""Broader words that a list may use: second words for the same, and those that nobody would say of an image."""
_SLOPE, _INTERCEPT = 1.67, 1.60
"""The log-odds of being right by those of the network, on OASIS; on AVT words with 0.6 to 0.8 are right in 84% of 19, those above
in 77% of 44."""
_NEGLIGIBLE = 1e-4
"""Classes less likely than this are not named."""


@PREDICTORS.register("objects")
class Objects(NetworkPredictor[npt.NDArray[np.float64]]):
    """Names of what is in an image, with a confidence."""

    name = "objects"
    limits = (
        "It knows 1,000 things (animals, vehicles, tools, food) and looks for one in the middle. It sees no people, sky, text or"
        " emotions, does not count, and leaves out what is small or at the edge."
    )
    extra = "predict"
    about = "what an image shows, by EfficientNet-Lite's ImageNet classes"
    argument = f"the network: {', '.join(VARIANTS)} (default)"
    options: ClassVar[Mapping[str, str]] = {
        "top": "how many names are given at most; by default 5",
        "least": "the confidence a name must have, 0 to 1; by default 0.4, on a list of the scale 0.2",
    }

    def __init__(self, variant: str, options: Mapping[str, str]) -> None:
        super().__init__(variant, options)
        variant = variant or VARIANTS[-1]
        if variant not in VARIANTS:
            raise InputError(f"No network for objects is called '{variant}'.", suggestion(variant, VARIANTS, "Known"))
        self.top = int(number_option(options, "top", 5, 1, 1000))
        self.least = number_option(options, "least", 0, 0, 1) if "least" in options else None
        self.variant = variant
        self._networks = Networks(variant)

    @property
    def identity(self) -> str:
        return f"objects {_REVISION} top={self.top} least={self.least} of {self._networks.identity}"

    def file_asks(self) -> Sequence[Ask]:
        return [tags_ask("objects", "What does the image show?")]

    def look(self, image: Image) -> npt.NDArray[np.float64]:
        network, mirrored = self._networks[self.variant], image.transpose(Transpose.FLIP_LEFT_RIGHT)
        centre = classify([image, mirrored], model=network)
        whole_view = classify([image], model=network, view="whole")
        return np.asarray(np.concatenate([centre, whole_view]).mean(axis=0))

    def answer(self, probabilities: npt.NDArray[np.float64], ask: Ask) -> Prediction:
        free = isinstance(ask.scale, FreeText) or (isinstance(ask.scale, Tags) and not ask.scale.tags)
        least = (LEAST if free else LEAST_ON_LISTS) if self.least is None else self.least
        return answer_labels(
            plain_labels(probabilities, least) if free else labels_of(probabilities), ask, least=least, most=self.top
        )


def plain_labels(probabilities: npt.NDArray[np.float64], least: float = LEAST) -> list[Label]:
    """Plain words that share no class and are likely enough, the likeliest first, with the probability that each is right.

    Where there is none, the smallest broad group that is sure, or the likeliest word.
    """
    words, members = _plain_words()
    shares = members @ probabilities
    likely = [at for at in np.flatnonzero(shares > 0).tolist() if calibrated(float(shares[at])) >= least]
    claimed = np.zeros(len(probabilities))
    out: list[Label] = []
    for index in sorted(likely, key=lambda at: (members[at].sum(), -shares[at])):
        within = members @ members[index] == members[index].sum()
        # A part of a kind is named only where it is most of it: a cow among cattle, not a cow and a buffalo.
        if shares[index] > shares[within].max() / 2 and not members[index] @ claimed:
            out.append(Label(words[index], calibrated(float(shares[index]))))
            claimed += members[index]
    if out:
        return sorted(out, key=lambda label: -label.share)
    groups = {word: float(probabilities[list(broader_words()[word])].sum()) for word in sorted(_BROAD)}
    sure = [word for word, share in groups.items() if share >= SURE]
    if sure:
        group = min(sure, key=lambda word: (len(broader_words()[word]), -groups[word]))
        return [Label(group, groups[group])]
    best = int(shares.argmax())
    return [Label(words[best], calibrated(float(shares[best])))]


def calibrated(share: float) -> float:
    """The probability that a word is right, by the probability the network gives it."""
    clipped = min(max(share, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-_INTERCEPT - _SLOPE * math.log(clipped / (1 - clipped))))


@cache
def _plain_words() -> tuple[tuple[str, ...], npt.NDArray[np.float64]]:
    """The words for kinds and the names of classes that belong to none, with 1 for each class a word stands for."""
    classes_by_word = {
        word: class_indices for word, class_indices in broader_words().items() if word not in _NOT_SAID | _BROAD
    }
    named = {
        class_index
        for word, class_indices in classes_by_word.items()
        if word not in _KINDS_OVER_CLASSES
        for class_index in class_indices
    }
    classes_by_word |= {
        imagenet_class.name: (at,) for at, imagenet_class in enumerate(imagenet_classes()) if at not in named
    }
    members = np.zeros((len(classes_by_word), len(imagenet_classes())))
    for row, class_indices in enumerate(classes_by_word.values()):
        members[row, list(class_indices)] = 1
    return tuple(classes_by_word), members


def labels_of(probabilities: npt.NDArray[np.float64]) -> list[Label]:
    classes = imagenet_classes()
    order = np.argsort(-probabilities, kind="stable")
    return [
        Label(
            classes[class_index].name,
            float(probabilities[class_index]),
            (*classes[class_index].synonyms, *classes[class_index].broader),
        )
        for class_index in order[: max(1, int((probabilities >= _NEGLIGIBLE).sum()))].tolist()
    ]
