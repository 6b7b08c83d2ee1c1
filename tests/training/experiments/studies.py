"""Small studies with planted truth for experiments, and a command that runs until it is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np
import polars as pl

from heartfelt.predictors.trained.embeddings import EMBEDDINGS, EmbeddingBlock
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import parse_study
from heartfelt.training import RECIPES, TrainingRecipe
from heartfelt.training.experiments import ExperimentOptions, plan_ablation, prepare, run_plan
from heartfelt.training.experiments.running import Setup
from heartfelt.training.heads.fitting import Floats
from tests.training.studies import STUDY, WIDTH, Digits

WEIGHT = np.array([1.0, -0.8, 0.5, 0.3] + [0.0] * (WIDTH - 4))
FAST = {"heads": "ridge", "setting": "0.3"}
Truth: TypeAlias = Callable[[Floats], float]


class Columns(Digits):
    """The same numbers, each a group of features of its own."""

    name: ClassVar[str] = "columns"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = tuple(EmbeddingBlock(f"c{place}", 1) for place in range(WIDTH))


if "columns" not in EMBEDDINGS:
    EMBEDDINGS.add(Columns.name, Columns)
    RECIPES.add("columns", TrainingRecipe(name="columns", about="numbers", embedding="columns", questions=("valence",)))
    RECIPES.add(
        "modelled",
        TrainingRecipe(
            name="modelled",
            about="numbers",
            embedding="digits",
            questions=("valence",),
            raters=True,
            ignored={"valence": ("rest",)},
            components=3,
        ),
    )


def linear(x: Floats) -> float:
    """Valence is a line through the first four numbers."""
    return 5 + 1.2 * float(x @ WEIGHT)


def study(
    folder: Path,
    truth: Truth = linear,
    *,
    systems: str = "AB",
    each: int = 30,
    noise: float = 0.5,
    raters: int = 8,
    seed: int = 1,
    points: int = 9,
    question: str = "valence",
) -> Snapshot:
    """Files of numbers by some systems, each rated by some raters; the same seed gives the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, stimuli, ratings = stream(seed, "experiments"), [], []
    for system in systems:
        for place in range(each):
            name = f"{system}_{place:03d}x.wav"
            x = rng.normal(0, 1, WIDTH)
            np.savetxt(folder / name, x, fmt="%.6f")
            stimuli.append({"stimulus": name, "system": system, "path": name})
            value = truth(x)
            for rater in range(raters):
                heard = float(np.clip(np.round(value + rng.normal(0, noise)), 1, points))
                ratings.append({"rater": f"r{rater}", "stimulus": name, "question": question, "value": heard})
    text = STUDY.replace("points: 9, anchors: {1: very unpleasant, 9: very pleasant}", f"points: {points}")
    return Snapshot.build(
        parse_study(text.replace("{id: valence", f"{{id: {question}"), "planted"),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="planted", media_root=folder),
    )


def options(folder: Path, **changes: object) -> ExperimentOptions:
    """Options that take little time."""
    plain: dict[str, object] = {
        "recipe": "digits",
        "policy": "none",
        "seeds": (0,),
        "folds": 3,
        "settings": FAST,
        "features": folder / "features",
        "resamples": 200,
    }
    return ExperimentOptions(**{**plain, **changes})  # type: ignore[arg-type]  # fields of the class


def setup_of(folder: Path, *snapshots: Snapshot, **changes: object) -> Setup:
    """The studies, gathered; named first and second."""
    return prepare(list(zip(("first", "second"), snapshots, strict=False)), options(folder, **changes))


def main(arguments: Sequence[str]) -> None:
    """Run an ablation into a folder and be killed when some cells are complete."""
    folder, out, limit = Path(arguments[0]), Path(arguments[1]), int(arguments[2])

    def progress(_doing: str, done: int, _total: int) -> None:
        if done == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    setup = setup_of(folder, study(folder / "media"))
    run_plan(setup, plan_ablation(setup), out, progress=progress)


if __name__ == "__main__":
    main(sys.argv[1:])
