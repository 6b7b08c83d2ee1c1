"""A whole simulated study in one call: planted truth, planted raters, and the ratings they give."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from heartfelt.simulate.answers import ratings
from heartfelt.simulate.design import DesignOptions
from heartfelt.simulate.people import RaterMix, raters
from heartfelt.simulate.perceived import TruthOptions, truth


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Ratings together with everything that was planted in them."""

    ratings: pl.DataFrame
    raters: pl.DataFrame
    truth: pl.DataFrame


def study_ratings(
    stimuli: pl.DataFrame,
    n_raters: int = 111,
    *,
    truth_options: TruthOptions | None = None,
    mix: RaterMix | None = None,
    design: DesignOptions | None = None,
    seed: int = 0,
) -> Simulated:
    """Simulate a study of ``stimuli``: stimulus, system, intent, and an intended value per question."""
    planted = truth_options or TruthOptions()
    true = truth(stimuli, planted, seed=seed)
    people = raters(n_raters, mix, questions=planted.questions, seed=seed)
    return Simulated(ratings(true, people, design, seed=seed), people, true)
