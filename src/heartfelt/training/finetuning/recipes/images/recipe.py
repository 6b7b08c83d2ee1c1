"""The recipes ``image-emotion`` and ``attributes``: a network for images with a head for categories and one for numbers.

A question with categories is learned as the distribution of the raters' choices, questions with numbers in units of half their
scale; both heads are trained together (``networks/losses.py``). ``attributes`` is the same with annotation fields as further
inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.serialization import read_json
from heartfelt.study import Study
from heartfelt.study.recipes import RECIPES, recipe_study
from heartfelt.training.finetuning.recipe import FINE_TUNE_RECIPES, Level
from heartfelt.training.finetuning.recipes.images.architectures import ARCHITECTURES, EMOTION_BACKBONE, NetworkSpec
from heartfelt.training.finetuning.recipes.images.attributes import (
    ALL,
    Attribute,
    attribute_values,
    chosen_attributes,
    fitted_attribute,
)
from heartfelt.training.finetuning.recipes.images.pictures import ImagePreprocessing
from heartfelt.training.finetuning.recipes.images.settings import PUBLISHED, RANDOM, ImageRecipeSettings
from heartfelt.training.finetuning.recipes.images.task import CONFIG, ImageConfig, ImageTask, half_of, middle_of
from heartfelt.training.finetuning.settings import FineTuneSettings
from heartfelt.training.finetuning.stimuli.data import TrainingData
from heartfelt.training.finetuning.task import QuestionOutput

if TYPE_CHECKING:
    from heartfelt.training.finetuning.recipes.images.networks.network import EmotionNetwork


def polarity_of(
    study: Study, categories: Sequence[str], groups_by_name: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The group of each category, in their order; empty where it is not known.

    In this order: what was given; the ``group`` of the study's intents of the same names; that of a registered recipe's intents
    that has all the categories, as those of Mikels et al. (2005) in eight emotions.
    """
    if groups_by_name:
        return _named_polarity(categories, groups_by_name)
    for candidate in (study, *(recipe_study(name) for name in RECIPES.names())):
        groups = {intent.id: intent.group for intent in candidate.intents if intent.group}
        chosen = [groups.get(name) for name in categories]
        if all(chosen) and len(set(chosen)) > 1:
            return tuple(str(group) for group in chosen)
    return ()


def _named_polarity(categories: Sequence[str], groups: Mapping[str, str]) -> tuple[str, ...]:
    """The groups that were given, one for each category."""
    for name in groups:
        if name not in categories:
            raise InputError(
                f"There is no category '{name}' to have a polarity.", suggestion(name, categories, "Categories")
            )
    for name in categories:
        if name not in groups:
            raise InputError(f"The polarity of '{name}' is missing.", f"Give it for all: {', '.join(categories)}.")
    return tuple(groups[name] for name in categories)


def group_numbers(groups: Sequence[str]) -> tuple[int, ...]:
    """The groups as numbers from 0, in the order they first appear."""
    order = list(dict.fromkeys(groups))
    return tuple(order.index(group) for group in groups)


class ImageRecipe:
    """A network for images, by architecture."""

    media = "image"
    questions: tuple[str, ...] = ("emotion", "valence", "arousal")
    levels: tuple[Level, ...] = ("interval", "nominal")
    settings: type[FineTuneSettings] = ImageRecipeSettings

    def __init__(self, name: str, about: str, attributes: tuple[str, ...] = ()) -> None:
        self.name, self.about, self._attributes = name, about, attributes

    def build(self, data: TrainingData, settings: Any) -> ImageTask:
        from heartfelt.training.finetuning.recipes.images.networks.losses import LossOptions

        outputs = data.outputs
        category = _category(outputs)
        numbers = [output for output in outputs if not output.categories]
        names = list(category.categories) if category else []
        study = data.sources[0].study
        groups = polarity_of(study, names, settings.polarity) if names else ()
        attributes = self._fitted_attributes(data, settings)
        architecture = ARCHITECTURES[settings.architecture]
        spec = NetworkSpec(
            architecture=architecture.name,
            backbone=architecture.backbone or settings.backbone or EMOTION_BACKBONE,
            config=settings.config,
            categories=len(names),
            numbers=len(numbers),
            groups=group_numbers(groups),
            attributes=tuple(attribute.columns for attribute in attributes),
            dropout=settings.dropout,
            frozen=settings.frozen,
        )
        network, weights = _network(spec, settings)
        side = settings.side or int(network.spec.config.get("image_size", 224))  # type: ignore[call-overload]  # a number
        config = ImageConfig(
            network=network.spec,
            preparation=ImagePreprocessing(side, settings.crop, settings.mirror),
            attributes=attributes,
            stimuli=settings.stimuli if architecture.needs_stimuli else (),
            polarity=dict(zip(names, groups, strict=True)) if groups else {},
            weights=weights,
        )
        losses = LossOptions(settings.number_loss, settings.number_weight, settings.smoothing, settings.penalty)
        task = ImageTask(network, config, outputs, losses, _scales(data))
        for number, source in enumerate(data.sources):
            source_name = next((data.examples[at].source for at in np.flatnonzero(data.origin == number)), "")
            task.know_fields(source, source_name)
        _start_at_means(task)
        return task

    def load(self, folder: Path, outputs: tuple[QuestionOutput, ...]) -> ImageTask:
        from heartfelt.training.finetuning.recipes.images.networks.network import build_network

        config = read_json(folder / CONFIG, ImageConfig)
        return ImageTask(build_network(config.network), config, outputs)

    def _fitted_attributes(self, data: TrainingData, settings: ImageRecipeSettings) -> tuple[Attribute, ...]:
        wanted = settings.attributes or self._attributes
        if not wanted:
            return ()
        study = data.sources[0].study
        out = []
        for name in chosen_attributes(study, wanted, [output.question for output in data.outputs]):
            values_by_source = [attribute_values(source, name) for source in data.sources]
            trained = [
                values_by_source[int(data.origin[at])].get(data.examples[at].stimulus, ()) for at in data.parts.train
            ]
            out.append(fitted_attribute(name, study, trained))
        return tuple(out)


def _category(outputs: Sequence[QuestionOutput]) -> QuestionOutput | None:
    several = [output for output in outputs if output.categories]
    if len(several) > 1:
        raise InputError(
            f"There is one head for categories, and {len(several)} questions have categories: "
            f"{', '.join(output.question for output in several)}.",
            "Choose one of them, with any number of questions that are answered with numbers: --set questions=NAME,NAME.",
        )
    return several[0] if several else None


def _network(spec: NetworkSpec, settings: ImageRecipeSettings) -> tuple[EmotionNetwork, str]:
    """The network, and the weights it begins with."""
    from heartfelt.training.finetuning.recipes.images.networks.backbones import BACKBONES, check_config, standardisation
    from heartfelt.training.finetuning.recipes.images.networks.network import build_network, check_spec

    check_spec(spec)
    check_config(spec.backbone, settings.config)
    kind = BACKBONES[spec.backbone]
    if settings.weights == RANDOM or spec.backbone == "efficientnet-lite2":
        return build_network(spec), "" if settings.weights == RANDOM else "EfficientNet-Lite 2 (Apache-2.0)"
    if settings.config:
        raise InputError(
            "Published weights come with their own configuration.", "Leave out 'config', or use weights=random."
        )
    weights = kind.hub if settings.weights == PUBLISHED else settings.weights
    if not weights:
        raise InputError(
            f"{spec.backbone} has no weights on the hub to begin with.",
            "Give the published checkpoint's file (weights=FILE.pth, torchvision's names), or weights=random.",
        )
    if kind.model:
        mean, spread = standardisation(weights, settings.revision)
        spec = replace(spec, mean=mean, spread=spread)
    licence = " (Apache-2.0)" if weights == kind.hub else ""
    return build_network(spec, weights, settings.revision), f"{weights}{licence}"


def _scales(data: TrainingData) -> dict[str, float]:
    """What a question's weights are multiplied with so that they average 1 over all stimuli trained on."""
    at = data.parts.train
    return {target.question: len(at) / max(float(target.weight[at].sum()), 1e-9) for target in data.targets}


def _start_at_means(task: ImageTask) -> None:
    """Numbers begin at the mean of the training labels."""
    if task.module.number_head is None:
        return
    import torch

    means = [(output.mean - middle_of(output)) / half_of(output) for output in task.numbers]
    with torch.no_grad():
        task.module.number_head.bias.copy_(torch.tensor(means))


for _recipe in (
    ImageRecipe("image-emotion", "emotion categories, valence and arousal of images, by published architectures"),
    ImageRecipe("attributes", "the same with annotation fields as further inputs", (ALL,)),
):
    FINE_TUNE_RECIPES.add(_recipe.name, _recipe)
