"""How a model is trained: what heads on frozen embeddings and fine-tuning share, and what only heads have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from heartfelt.errors import InputError, suggestion
from heartfelt.options import Option

PUBLISHED_SPLIT = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """What every kind of training has."""

    recipe: Annotated[
        str,
        Option(
            help="A recipe of docs/training.md, such as va-audio or clap-mos, or my_package:recipe.", positional=True
        ),
    ] = "va-audio"
    policy: Annotated[str, Option(help="How flagged raters are treated: see docs/screening.md.")] = "default"
    group: Annotated[
        str,
        Option(
            help="Stimuli with the same value stay together; auto looks for a theme, prompt or source, none splits by stimulus.",
            metavar="COLUMN",
        ),
    ] = "auto"
    split: Annotated[
        str, Option(help="Fit to the published training part and evaluate on the other parts.", metavar="published")
    ] = ""
    seed: Annotated[int, Option(help="Seed of folds and networks.")] = 0
    name: str = ""
    """What the model is called; made from the recipe and the study if empty."""

    def __post_init__(self) -> None:
        if self.split not in ("", PUBLISHED_SPLIT):
            raise InputError(f"No split is called '{self.split}'.", f"Use '{PUBLISHED_SPLIT}', or none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(TrainingOptions):
    """How a head on frozen embeddings is trained."""

    heads: Annotated[
        tuple[str, ...],
        Option(
            help="Heads to choose from: ridge, kernel, mlp, ordinal; the recipe's own if left out.",
            metavar="KIND,…",
            separator=",",
        ),
    ] = ()
    embedding: Annotated[
        str,
        Option(
            help="An embedding in place of the recipe's: clap:MODEL, mert:MODEL, clip:MODEL, with a folder or a name on the hub.",
            metavar="NAME[:MODEL]",
        ),
    ] = ""
    confidence: Annotated[float, Option(help="Confidence of the prediction intervals.")] = 0.9
    features: Path | None = None
    """The folder of cached embeddings; the user's cache if left out."""

    def __post_init__(self) -> None:
        TrainingOptions.__post_init__(self)
        if self.heads:
            from heartfelt.predictors.trained.heads.head import KINDS

            for kind in self.heads:
                if kind not in KINDS:
                    raise InputError(f"No head is called '{kind}'.", suggestion(kind, KINDS, "Heads"))
        if not 0.5 <= self.confidence < 1:
            raise InputError(f"The confidence of the intervals is {self.confidence}.", "Give 0.5 up to 1, such as 0.9.")
