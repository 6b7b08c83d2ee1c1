"""How a model is fine-tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from heartfelt.errors import InputError
from heartfelt.options import Option, written
from heartfelt.training.options import TrainingOptions


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
