"""The ladder: what is published of scores against hidden labels, and how much many adaptive submissions can gain by it.

After Blum and Hardt (2015), "The Ladder: A Reliable Leaderboard for Machine Learning Competitions", ICML, whose parameter-free
ladder publishes a score that beats the best so far by a standard error of the paired difference. Here the difference has to be
significant at a level that falls with what was tried. A team's first score is published if it is better than chance with
p <= 1 / K after ``K`` submissions by all teams, a further one if it is better than the published one with p <= 1 / k after ``k``
submissions of the team; both rounded down to a step of about half a standard error. ``benchmarks/leaderboards.py`` compares this
with other rules. Nothing else that depends on a label leaves the server.

The bound. A team sees, of everything that depends on labels, at which of its submissions which of ``T`` published scores changed,
and to which of ``M`` values. With ``c`` changes before its ``j``-th submission that is one of C((j-1) T, c) C(M, c) courses, so the
``j``-th submission is one of as many that were fixed without the labels. Hoeffding's inequality for each of them gives: with
confidence 1 - delta, for all submissions and tasks at once, a published score exceeds the true score of its submission by at most

    sqrt((ln(T) + ln C((j-1) T, c) + ln C(M, c) + ln(j (j+1)) + ln((c+1) (c+2) / delta)) / (2 n))

where the true score is that on unlimited further stimuli of the same prompts, intents and systems, and ``n`` is the effective
number of items (:func:`effective_items`). Of ``S`` teams that share what they learn, ``j`` and ``c`` are counted together, and each
has ``M`` values of its own: S M in place of M.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.scoring import METRICS, Truth
from heartfelt.scoring.results.metrics import chance_of
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.stats.columns.triples import Floats

STEPS = (0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.25)
CONFIDENCE = 0.95
SHOWN_IN_ORDER = 0.9
"""How often two submissions that differ by the resolution are shown in the right order."""
FEWEST_TRIES = 10
"""The level of the first submissions is that of the tenth."""
ACCURACIES = frozenset({"accuracy", "choice_accuracy", "balanced_accuracy"})
_NORMAL = NormalDist()
_NEXT_TO = 1e-9
"""A score this close below a multiple of the step counts as having reached it: the last digits are noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How many submissions there have been, the present one included."""

    of_all: int
    of_team: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """How the score of one task is published.

    ``effective`` and ``ceiling`` are rounded down to two digits and ``chance`` up to a step: what is published follows from them,
    and exact statistics of hidden labels would tell a right guess of all of them from a wrong one.
    """

    task: str
    metric: str
    title: str
    items: int
    """Items that are scored."""
    effective: float
    """The number of independent items whose accuracy would vary as little by chance."""
    chance: float
    step: float
    ceiling: float = 1.0
    """The best score that the noise of the labels leaves possible."""

    @property
    def start(self) -> int:
        """Chance as a number of steps, rounded up: published from the beginning."""
        return math.ceil(self.chance / self.step - _NEXT_TO)

    @property
    def values(self) -> int:
        """How many values above chance can be published."""
        return max(math.floor(1 / self.step + _NEXT_TO) - self.start, 0)

    @property
    def error(self) -> float:
        """The standard error of a score halfway between chance and ceiling."""
        return standard_error(self.metric, self.effective, (self.chance + self.ceiling) / 2)

    @property
    def resolution(self) -> float:
        """The smallest true difference between two teams that is shown in the right order, nine times in ten."""
        return resolution(self.error, self.step)

    def appears_from(self, tries: int) -> float | None:
        """The lowest first score that is published, after so many submissions by all teams; None where even 1 is not."""
        beyond = -_NORMAL.inv_cdf(level(tries) / 2) / (2 * math.sqrt(self.effective))
        steps = math.ceil((self.chance + beyond) / self.step - _NEXT_TO)
        lowest = round(max(steps, self.start + 1) * self.step, 6)
        return lowest if lowest <= 1 else None

    def p_chance(self, score: float | None) -> float | None:
        """The two-sided p-value of a score if predictions say nothing about the items."""
        if score is None or not math.isfinite(score):
            return None
        return min(2 * _NORMAL.cdf(-(score - self.chance) * 2 * math.sqrt(self.effective)), 1.0)

    def published(self, before: int | None, score: float | None, p_better: float | None, tries: Tries) -> int | None:
        """The published score in steps after a submission; None while nothing was published.

        ``p_better`` is the p-value of the difference from the best that was published, or at first from chance.
        """
        counted = tries.of_all if before is None else tries.of_team
        if score is None or not math.isfinite(score) or p_better is None or not p_better <= level(counted):
            return before
        reached = math.floor(score / self.step + _NEXT_TO)
        return reached if reached > (self.start if before is None else before) else before

    def value(self, steps: int | None) -> float | None:
        """A published score as a number."""
        return None if steps is None else round(steps * self.step, 6)


def level(tries: int) -> float:
    """The p-value up to which a score is published, after so many submissions."""
    return 1 / max(tries, FEWEST_TRIES)


def standard_error(metric: str, effective: float, score: float) -> float:
    """The standard error of a score of this size; ``effective`` as :func:`effective_items` counts."""
    spread = 2 * math.sqrt(score * (1 - score)) if metric in ACCURACIES else 1 - score**2
    return spread / (2 * math.sqrt(effective))


def resolution(error: float, step: float, certainty: float = SHOWN_IN_ORDER) -> float:
    """The true difference of two scores with this standard error that is shown in the right order so often, in steps of ``step``.

    Two scores that are D apart are shown in different steps with probability min(D / step, 1); D is normal around the true
    difference, its error that of two submissions whose mistakes are independent.
    """
    spread = max(error * math.sqrt(2), _NEXT_TO)

    def summed(u: float) -> float:
        return u * _NORMAL.cdf(u) + _NORMAL.pdf(u)

    # The share shown in the right order rises with the difference, so bisection finds where it reaches the certainty.
    low, high = 0.0, 10 * (spread + step)
    for _ in range(60):
        middle = (low + high) / 2
        shown = spread / step * (summed(middle / spread) - summed((middle - step) / spread))
        low, high = (low, middle) if shown >= certainty else (middle, high)
    return high


def overstatement(rung: Rung, rungs: Sequence[Rung], submission: int, changes: int, *, teams: int = 1) -> float:
    """How far a score published at a team's ``submission``-th try, after so many changes, can lie above the true score.

    Of several ``teams`` that share what they learn, submissions and changes are counted together.
    """
    answers, values = (submission - 1) * len(rungs), teams * sum(rung.values for rung in rungs)
    exponent = math.log(len(rungs)) + _log_choose(answers, changes) + _log_choose(values, changes)
    exponent += math.log(submission * (submission + 1))
    exponent += math.log((changes + 1) * (changes + 2) / (1 - CONFIDENCE))
    return math.sqrt(exponent / (2 * rung.effective))


def _log_choose(n: int, k: int) -> float:
    if k > n:
        return 0.0
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def step_for(metric: str, effective: float, chance: float, ceiling: float = 1.0) -> float:
    """The largest of ``STEPS`` that is at most half a standard error."""
    error = standard_error(metric, effective, (chance + ceiling) / 2)
    return max((step for step in STEPS if step <= error / 2), default=STEPS[0])


def rungs_of(truth: Truth, tasks: Sequence[ScoringTask], step: float | None = None) -> tuple[Rung, ...]:
    """A rung for every task that can be scored; ``step`` follows from items and noise if it is left out."""
    if step is not None and not 0 < step <= 0.5:
        raise InputError(f"The step must lie above 0 and at most at 0.5; got {step:g}.", "Use 0.05, say.")
    rungs = []
    for task in tasks:
        labels, answers, units = _labels(truth, task)
        if labels.size < 2:
            continue
        chance = chance_of(task.headline, labels).value or 0.0
        effective = rounded_down(effective_items(task.headline, labels, units, answers))
        ceiling = rounded_down(_ceiling(truth, task))
        size = step or step_for(task.headline, effective, chance, ceiling)
        chance = min(math.ceil(chance / size - _NEXT_TO) * size, 1.0)
        title = METRICS[task.headline].title
        rungs.append(
            Rung(
                task=task.id,
                metric=task.headline,
                title=title,
                items=labels.size,
                effective=effective,
                chance=chance,
                step=size,
                ceiling=ceiling,
            )
        )
    if not rungs:
        raise InputError(
            "No task of this benchmark has two labels or more, so nothing can be scored.",
            "Choose another part, or a benchmark with labels in it.",
        )
    return tuple(rungs)


def rounded_down(value: float) -> float:
    """A positive number rounded down to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.floor(value / unit + _NEXT_TO) * unit, 10)


def _ceiling(truth: Truth, task: ScoringTask) -> float:
    """The correlation with labels without error, from the labels' standard errors; 1 where it is not known."""
    if task.kind != "numbers":
        return 1.0
    labelled = truth.items_of(task).select("label", "standard_error").drop_nulls()
    labels, errors = (labelled[name].to_numpy() for name in ("label", "standard_error"))
    if not labels.size or not labels.std():
        return 1.0
    return math.sqrt(max(1 - float(np.mean(errors**2) / labels.var()), 0.1))


def _labels(truth: Truth, task: ScoringTask) -> tuple[Floats, Floats, list[set[str]]]:
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


def effective_items(metric: str, labels: Floats, units: Sequence[set[str]], answers: Floats | None = None) -> float:
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
    n, size = float(labels.size), Counter(name for unit_names in units for name in unit_names)
    if metric not in ACCURACIES | {"trace_ccc"}:
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
    for weight, unit_names in zip(weights.tolist(), units, strict=True):
        for name in unit_names:
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
    # The largest exponent is taken out, or exp() would overflow.
    top = exponents.max(axis=1)
    logs = top + np.log(np.mean(np.exp(exponents - top[:, None]), axis=1))
    return max(1.0, float(np.max(2 * logs / t**2)))
