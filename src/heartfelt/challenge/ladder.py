"""The ladder: what is published of scores against hidden labels, and how much many adaptive submissions can gain by it.

After Blum and Hardt (2015), "The Ladder: A Reliable Leaderboard for Machine Learning Competitions", ICML. A score is published
only as a multiple of ``step``, rounded down, and only when it is above everything the same submitter reached before: the
published score is the submitter's best score, rounded down to the step. It begins at chance. Nothing else that depends on a
label leaves the server.

The bound. Whoever submits sees, of everything that depends on labels, at which of ``k`` submissions which of ``T`` published
scores changed, and to which of ``M`` values. Before the ``b``-th change that is one of C(kT, b-1) C(M, b-1) courses, so the
submission behind the ``b``-th change is one of kT times as many that were fixed without the labels. Hoeffding's inequality for
each of them gives: with confidence 1 - delta, for every ``b`` at once, a published score exceeds the true score of its
submission by at most

    sqrt((ln(kT) + ln C(kT, b-1) + ln C(M, b-1) + ln(b (b+1) / delta)) / (2 n))

where the true score is that on unlimited further stimuli of the same prompts, intents and systems, and ``n`` is the effective
number of items (:func:`effective_items`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.scoring import METRICS, Truth
from heartfelt.scoring.metrics import chance_of
from heartfelt.scoring.scores import Task
from heartfelt.stats.triples import Floats

STEPS = (0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.25)
CONFIDENCE = 0.95
_NEXT_TO = 1e-9
"""A score this close below a multiple of the step counts as having reached it: the last digits are noise."""


@dataclass(frozen=True, slots=True)
class Rung:
    """How the score of one task is published."""

    task: str
    metric: str
    title: str
    items: int
    """Items that are scored."""
    effective: float
    """The number of independent items whose accuracy would vary as little by chance."""
    chance: float
    step: float

    @property
    def start(self) -> int:
        """Chance as a number of steps, rounded up: published from the beginning."""
        return math.ceil(self.chance / self.step - _NEXT_TO)

    @property
    def values(self) -> int:
        """How many values above chance can be published."""
        return max(math.floor(1 / self.step + _NEXT_TO) - self.start, 0)

    def published(self, before: int | None, score: float | None) -> int | None:
        """The published score in steps after a submission; None while nothing above chance was reached."""
        if score is None or not math.isfinite(score):
            return before
        reached = math.floor(score / self.step + _NEXT_TO)
        return reached if reached > (self.start if before is None else before) else before

    def value(self, steps: int | None) -> float | None:
        """A published score as a number."""
        return None if steps is None else round(steps * self.step, 6)


def overstatement(
    rung: Rung, rungs: Sequence[Rung], submissions: int, changes: int, confidence: float = CONFIDENCE
) -> float:
    """How far a published score can lie above the true score of its submission, after so many published changes."""
    if not changes:
        return 0.0
    answers, values = submissions * len(rungs), sum(each.values for each in rungs)
    exponent = math.log(answers) + _log_choose(answers, changes - 1) + _log_choose(values, changes - 1)
    exponent += math.log(changes * (changes + 1) / (1 - confidence))
    return math.sqrt(exponent / (2 * rung.effective))


def most_gain(
    rungs: Sequence[Rung], submissions: int, honest: Mapping[str, float], confidence: float = CONFIDENCE
) -> dict[str, float]:
    """By task: how far adaptive submissions can raise a published score above ``honest``, the best true score among them.

    Each change raises a published score by a step at least, and it can exceed the best true score only by the
    overstatement: that limits how many changes there can be.
    """
    largest = 0
    for changes in range(1, sum(each.values for each in rungs) + 1):
        reachable = 0
        for rung in rungs:
            top = honest[rung.task] + overstatement(rung, rungs, submissions, changes, confidence)
            reachable += min(max(math.floor(top / rung.step + _NEXT_TO) - rung.start, 0), rung.values)
        if changes <= reachable:
            largest = changes
    return {rung.task: overstatement(rung, rungs, submissions, largest, confidence) for rung in rungs}


def _log_choose(n: int, k: int) -> float:
    if k > n:
        return 0.0
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def step_for(effective: float, submissions: int, chance: float, tasks: int = 1) -> float:
    """The smallest step of ``STEPS`` of which chance alone reaches no second one, with the usual confidence."""
    for step in STEPS:
        rungs = [Rung("", "", "", 0, effective, chance, step)] * tasks
        if 2 * step >= overstatement(rungs[0], rungs, submissions, 2):
            return step
    return STEPS[-1]


def rungs_of(
    truth: Truth, tasks: Sequence[Task], submissions: int, step: float | None = None
) -> tuple[Rung, ...]:
    """A rung for every task that is scored; ``step`` is chosen by the number of items if it is left out."""
    if step is not None and not 0 < step <= 0.5:
        raise InputError(f"The step must lie above 0 and at most at 0.5; got {step:g}.", "Use 0.05, say.")
    made = []
    for task in tasks:
        labels, answers, units = _labels(truth, task)
        if labels.size < 2:
            continue
        chance = chance_of(task.headline, labels).value or 0.0
        effective = effective_items(task.headline, labels, units, answers)
        own = step or step_for(effective, submissions, chance, len(tasks))
        title = METRICS[task.headline].title
        made.append(Rung(task.id, task.headline, title, labels.size, effective, chance, own))
    if not made:
        raise InputError(
            "No task of this benchmark has two labels or more, so nothing can be scored.",
            "Choose another part, or a benchmark with labels in it.",
        )
    return tuple(made)


def _labels(truth: Truth, task: Task) -> tuple[Floats, Floats, list[set[str]]]:
    """Of every item of a task: its label, how many answers it stands for, and the stimuli it is about."""
    if task.kind == "strengths" and truth.contestants(task) == "system":
        systems = truth.pairs.systems[task.questions[0]]
        return np.array(list(systems.values())), np.ones(len(systems)), [{name} for name in systems]
    column = {"binary": "present", "traces": "n"}.get(task.kind, "label")
    rows = truth.courses_of(task) if task.kind == "traces" else truth.items_of(task)
    rows = rows.filter(pl.col(column).is_not_null())
    answers = rows["n"].fill_null(1).to_numpy().astype(np.float64)
    sides = [rows[name].to_list() for name in (("one", "other") if task.kind == "choices" else ("stimulus",))]
    units = [set(names) for names in zip(*sides, strict=True)]
    return rows[column].cast(pl.Float64).to_numpy(), answers, units


def effective_items(
    metric: str, labels: Floats, units: Sequence[set[str]], answers: Floats | None = None
) -> float:
    """The ``n`` of Hoeffding's inequality exp(-2 n e^2) for a headline.

    Items about a stimulus depend on each other, so stimuli are what counts (``units``), each by its share of the score: n is 1 over
    the sum of the squared shares, which is the number of stimuli where each has the same share.

    - Accuracy: every item counts the same. Accuracy of choices: a pair counts by its answers, for both its stimuli.
    - Balanced accuracy: items count by 1 / (classes x items of the class).
    - Concordance of traces: a quarter, since each lies between -1 and 1.
    - Correlations and kappa: items / 4, over the variance proxy of the standardised labels and over the most items that a
      stimulus has. Given the predictions, a correlation is a sum of labels with weights whose squares add up to 1 / items, so it
      is as sub-Gaussian as the labels are.
    """
    n, size = float(labels.size), Counter(name for own in units for name in own)
    if metric not in {"accuracy", "choice_accuracy", "balanced_accuracy", "trace_ccc"}:
        ranks = np.argsort(np.argsort(labels)).astype(np.float64)
        proxy = variance_proxy(ranks if metric == "spearman" else labels)
        return n / 4 / proxy / max(size.values())
    weights = np.full(labels.size, 1 / n)
    if metric == "balanced_accuracy":
        _, code, counts = np.unique(labels, return_inverse=True, return_counts=True)
        weights = 1.0 / (counts.size * counts[code])
    elif metric == "choice_accuracy" and answers is not None:
        weights = answers / answers.sum()
    shares = dict.fromkeys(size, 0.0)
    for weight, own in zip(weights.tolist(), units, strict=True):
        for name in own:
            shares[name] += weight
    squares = math.fsum(share * share for share in shares.values())
    return (0.25 if metric == "trace_ccc" else 1.0) / squares


def variance_proxy(labels: Floats) -> float:
    """The smallest s of which the standardised labels are sub-Gaussian: mean(exp(t z)) <= exp(s t^2 / 2) for all t; at least 1."""
    spread = float(labels.std())
    if spread == 0.0:
        return 1.0
    z = (labels - labels.mean()) / spread
    size = np.geomspace(0.05, 20.0, 120)
    t = np.concatenate([size, -size])
    exponents = t[:, None] * z[None, :]
    top = exponents.max(axis=1)
    logs = top + np.log(np.mean(np.exp(exponents - top[:, None]), axis=1))
    return max(1.0, float(np.max(2 * logs / t**2)))
