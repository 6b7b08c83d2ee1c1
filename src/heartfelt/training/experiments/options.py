"""How experiments on training are run: what all share, and what only some have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from heartfelt.errors import InputError
from heartfelt.options import Option, check, written
from heartfelt.predictors.options import EngineOptions

_ablate, _amounts, _sweep, _data = (
    partial(Option, panel=panel) for panel in ("ablate", "mix and learning-curve", "sweep", "Data")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOptions(EngineOptions):
    """How an experiment is run. ``seeds`` repeat it with other folds, samples and starting weights."""

    recipe: Annotated[str, Option(help="A recipe of 'heartfelt train': see docs/training.md.")] = "va-audio"
    policy: Annotated[str, Option(help="How flagged raters are treated: see docs/screening.md.")] = "default"
    raters: Annotated[
        Literal["screened", "everyone"], _data("Score against the labels of screened raters, or of everyone.")
    ] = "screened"
    seeds: Annotated[
        tuple[int, ...], Option(help="Seeds to repeat everything with.", separator=",", example="0,1,2")
    ] = (0, 1, 2)
    folds: Annotated[int, Option(help="Outer folds.")] = 5
    group: Annotated[str, _data("Stimuli with the same value stay in one fold; auto or none.", metavar="COLUMN")] = (
        "auto"
    )
    by: Annotated[str, _data("Split one source into parts, such as by system (mix, transfer).", metavar="COLUMN")] = ""
    questions: Annotated[
        tuple[str, ...], _data("Use only this question; all that the sources share if left out.", flags=("--question",))
    ] = ()
    same: Annotated[
        Mapping[str, str],
        _data(
            "Two questions that ask for the same, such as appeal=valence.",
            metavar="NAME=NAME",
            example="appeal=valence",
        ),
    ] = field(default_factory=dict)
    settings: Annotated[
        Mapping[str, str],
        Option(
            help="A setting of the recipe, for every fit.",
            flags=("--set",),
            metavar="SETTING=VALUE",
            example="epochs=5",
        ),
    ] = field(default_factory=dict)
    features: Path | None = None
    """The folder of cached embeddings; the user's cache if left out."""
    resamples: int = 2_000

    def __post_init__(self) -> None:
        EngineOptions.__post_init__(self)
        if not self.seeds:
            raise InputError(
                "There is no seed, so nothing would be fitted.",
                f"Give one or more for {written(self, 'seeds')}, such as 0, 1 and 2.",
            )
        if len(set(self.seeds)) < len(self.seeds):
            raise InputError("A seed is given twice, which would count its fits twice.", "Give different seeds.")
        if self.folds < 2:
            raise InputError(f"folds must be at least 2; got {self.folds}.", "Use 5.")
        check(self)
        if self.resamples < 100:
            raise InputError(f"resamples must be at least 100; got {self.resamples}.", "Use 2,000.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationOptions:
    """What an ablation drops or keeps."""

    fields: Annotated[
        tuple[str, ...],
        _ablate("A group of features, or several as NAME=A+B; all if left out.", flags=("--field",), metavar="GROUP"),
    ] = ()
    only: Annotated[bool, _ablate("Keep one group at a time; do not drop.")] = False
    drop: Annotated[bool, _ablate("Drop one group at a time; do not keep.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountOptions:
    """What grows in a mix or along a learning curve."""

    over: Annotated[
        Literal["stimuli", "raters", "ratings"],
        _amounts("What grows along a learning curve: stimuli, raters or ratings."),
    ] = "stimuli"
    amounts: Annotated[
        tuple[float, ...],
        _amounts(
            "Shares in percent; of ratings, ratings per stimulus.", metavar="N,N", separator=",", example="25,50,100"
        ),
    ] = ()
    base: Annotated[str, _amounts("The source or part a mix starts from; the first if left out.", metavar="NAME")] = ""
    ahead: Annotated[
        tuple[float, ...],
        _amounts(
            "Extrapolate a learning curve to this many times the data.", metavar="N,N", separator=",", example="1.5,2,4"
        ),
    ] = (1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What a sweep searches."""

    tried: Annotated[
        Mapping[str, str],
        _sweep(
            "Values of a setting to search over, separated by commas.",
            flags=("--try",),
            metavar="SETTING=A,B",
            example="kind=ridge,mlp",
        ),
    ] = field(default_factory=dict)
    most: Annotated[int, _sweep("Search this many combinations at random; all if 0.")] = 0
    inner: Annotated[int, _sweep("Validation folds inside every outer training part.")] = 3
