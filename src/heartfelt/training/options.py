"""How a model is trained: what heads on frozen embeddings and fine-tuning share, and what only heads have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from heartfelt.errors import InputError, suggestion
from heartfelt.options import Option, written

PUBLISHED_SPLIT = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """What every kind of training has."""

    recipe: Annotated[
        str,
        Option(
            help="A recipe of docs/training.md, such as va-audio or clap-mos, or my_package:recipe.",
            positional=True,
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
        str,
        Option(
            help="Fit to the published training part and evaluate on the other parts.", metavar="published"
        ),
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
            from heartfelt.predictors.trained.model import KINDS

            for kind in self.heads:
                if kind not in KINDS:
                    raise InputError(f"No head is called '{kind}'.", suggestion(kind, KINDS, "Heads"))
        if not 0.5 <= self.confidence < 1:
            raise InputError(
                f"The confidence of the intervals is {self.confidence}.", "Give 0.5 up to 1, such as 0.9."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuneOptions(TrainingOptions):
    """How a model is fine-tuned."""

    settings: Annotated[
        Mapping[str, object],
        Option(
            help="A setting of a fine-tuning recipe.",
            flags=("--set",),
            metavar="KEY=VALUE",
            example="epochs=5",
            blank=True,
        ),
    ] = field(default_factory=dict)
    folds: Annotated[
        int,
        Option(
            help="Cross-validate a fine-tuning recipe: N further models, each scored on the groups it has not seen; 0 scores one"
            " part.",
            metavar="N",
        ),
    ] = 0

    def __post_init__(self) -> None:
        if self.folds and (self.folds < 2 or self.split):
            raise InputError(
                f"{written(self, 'folds')} must be 2 or more; got {self.folds}."
                if not self.split
                else f"{written(self, 'folds')} makes parts of its own and cannot be used with a published split.",
                "Use 5, without a split.",
            )
        TrainingOptions.__post_init__(self)
