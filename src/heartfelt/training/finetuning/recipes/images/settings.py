"""Settings of the image recipes."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from heartfelt.errors import suggestion
from heartfelt.training.finetuning.recipes.images.architectures import ARCHITECTURES
from heartfelt.training.finetuning.settings import FineTuneSettings, Names

PUBLISHED, RANDOM = "published", "random"
LEAST_SIDE = 32
STIMULI = ("faces", "objects")


def _mapped(value: object) -> object:
    """A mapping as it may be written in text: JSON, or ``joy=positive,fear=negative``."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"it is not JSON ({error})") from error
    pairs = (part.partition("=") for part in value.split(",") if part.strip())
    return {name.strip(): text.strip() for name, _, text in pairs}


class ImageRecipeSettings(FineTuneSettings):
    """Settings of the image recipes."""

    epochs: Annotated[int, Field(ge=1, description="passes over the training part, at most")] = 20
    batch: Annotated[int, Field(ge=1, description="stimuli per step")] = 64
    learning_rate: Annotated[float, Field(gt=0, description="the optimiser's rate")] = 1e-4
    architecture: Annotated[str, Field(description="the name of an architecture, such as vgg16, vit-b16 or pdanet")] = (
        "convnext-t"
    )
    backbone: Annotated[str, Field(description="what an emotion model stands on; by default resnet50")] = ""
    weights: Annotated[
        str, Field(description="published, random, a folder, a name on the hub, or a file of weights")
    ] = PUBLISHED
    revision: Annotated[str, Field(description="of the weights on the hub")] = "main"
    config: Annotated[
        dict[str, object],
        BeforeValidator(_mapped),
        Field(description="values of the backbone's configuration, with random weights"),
    ] = Field(default_factory=dict)
    frozen: Annotated[bool, Field(description="train the heads only")] = False
    side: Annotated[int, Field(ge=0, description="pixels of the network's square; 0 for the backbone's own")] = 0
    crop: Annotated[float, Field(gt=0, le=1, description="the smallest share of an image seen in training")] = 0.5
    mirror: Annotated[bool, Field(description="mirror half of the images in training")] = True
    attributes: Annotated[Names, Field(description="fields or columns that are further inputs, or all")] = ()
    stimuli: Annotated[Names, Field(description="what stimuli-aware looks at: faces, objects")] = STIMULI
    polarity: Annotated[
        dict[str, str],
        BeforeValidator(_mapped),
        Field(description="the group of each category: joy=positive,fear=negative"),
    ] = Field(default_factory=dict)
    number_loss: Annotated[Literal["l1", "mse"], Field(description="of questions with numbers")] = "l1"
    number_weight: Annotated[float, Field(ge=0, description="of the numbers' loss next to the categories'")] = 1.0
    smoothing: Annotated[float, Field(ge=0, lt=1, description="share of a label spread over all categories")] = 0.0
    penalty: Annotated[float, Field(ge=0, description="for the wrong polarity (pdanet, mdan, stimuli-aware)")] = 0.5
    dropout: Annotated[float, Field(ge=0, lt=1, description="before the heads")] = 0.2
    weight_decay: Annotated[float, Field(ge=0, description="of AdamW")] = 0.05
    head_rate: Annotated[float, Field(gt=0, description="times the learning rate, for what starts untrained")] = 10.0
    warmup: Annotated[float, Field(ge=0, lt=1, description="share of the steps before the full learning rate")] = 0.05

    @field_validator("architecture", "backbone")
    @classmethod
    def _known_architecture(cls, name: str) -> str:
        if name and name not in ARCHITECTURES:
            hint = suggestion(name, ARCHITECTURES, "Known").rstrip(".")
            raise ValueError(f"no image architecture has that name. {hint}")
        return name

    @field_validator("side")
    @classmethod
    def _large_enough(cls, side: int) -> int:
        if 0 < side < LEAST_SIDE:
            raise ValueError(f"networks for images need at least {LEAST_SIDE} pixels")
        return side

    @field_validator("backbone")
    @classmethod
    def _stands_alone(cls, name: str) -> str:
        if name and not ARCHITECTURES[name].backbone:
            raise ValueError(f"'{name}' is an emotion model, which stands on a backbone itself")
        return name

    @field_validator("stimuli")
    @classmethod
    def _known_stimuli(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in names if name not in STIMULI]:
            raise ValueError(f"'{unknown[0]}' is neither faces nor objects")
        return names
