"""How well the answers of single people are predicted, not only their mean: the score of the predicted distribution.

The score is the continuous ranked probability score (``heartfelt.predictors.trained.answers``), in points of the scale; smaller is
better. It is given next to two others on the same answers: the *ceiling*, expected of whoever knows what an average rater
perceives in each stimulus and how raters differ, but not who answers; and *blind*, the distribution of all answers to the
stimuli of the other folds, whatever the stimulus. Intervals take raters and stimuli as samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.predictors.trained.answers import crps, crps_expected, crps_of
from heartfelt.stats.clustered import Crossed, mean
from heartfelt.stats.estimate import Estimate
from heartfelt.training.heads.fitting import Floats, Ints
from heartfelt.training.heads.raters import SingleAnswers, can_model, model_raters

_CEILING = "CRPS expected from a model of the raters"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScore:
    """The mean CRPS of single answers, its ceiling and the blind score; predicted and observed spread.

    ``spread`` is the root mean square of the predicted standard deviations, ``observed`` that of the answers about the predicted
    values: equal where the spread is right.
    """

    crps: Estimate
    ceiling: Estimate
    blind: Estimate
    spread: float
    observed: float


def score_answers(answers: SingleAnswers, value: Floats, sd: Floats, fold: Ints, points: Floats) -> AnswerScore:
    """Score predicted values and standard deviations, by place, against single answers."""
    stimulus, clusters = answers.place, Crossed(answers.rater, answers.place)
    errors = crps(value[stimulus], sd[stimulus], points, answers.value)
    blind = np.empty(stimulus.size)
    for fold_number in np.unique(fold[stimulus]):
        out = fold[stimulus] == fold_number
        # With a single fold there is nothing else to go by.
        learned = answers.value[~out] if not out.all() else answers.value
        below = (learned[:, None] <= points[None, :] + 1e-9).mean(axis=0)
        blind[out] = crps_of(np.tile(below, (int(out.sum()), 1)), points, answers.value[out])
    return AnswerScore(
        crps=mean(errors, clusters, "CRPS of single answers"),
        ceiling=_ceiling(answers, value.size, points),
        blind=mean(blind, clusters, "CRPS of the distribution of all answers"),
        spread=float(np.sqrt(np.mean(sd[stimulus] ** 2))),
        observed=float(np.sqrt(np.mean((answers.value - value[stimulus]) ** 2))),
    )


def _ceiling(answers: SingleAnswers, stimuli: int, points: Floats) -> Estimate:
    if not can_model(answers):
        return Estimate.missing("there are too few raters for a model of them", _CEILING)
    model = model_raters(answers, stimuli)
    perceived = model.perceived[answers.place]
    expected = crps_expected(perceived, model.spread.sd(perceived), points)
    return Estimate(
        value=float(expected.mean()),
        method=_CEILING,
        counts={"answers": answers.value.size},
        why_no_interval="it is the expectation of a fitted model",
    )
