"""A model of the raters: each answers with a bias, a gain and a noise of their own.

The answer of rater ``r`` to stimulus ``i`` is ``c + a_r + b_r (t_i - c) + e``, with ``e`` of standard deviation ``s_r``: ``t_i`` is
what an average rater perceives, on the scale of the question, and ``c`` the mean of all answers. Biases vary around 0, gains
around 1; both are shrunk towards these by as much as the panel's raters are alike (empirical Bayes), noise variances towards
the panel's (Smyth 2004). Fitted by expectation and maximisation, in which ``t_i`` is normal too.

A stimulus's *label* is the weighted mean of its answers with bias and gain removed, its *variance* the inverse of the weights:
a rater whose answers carry little information (a gain near 0, much noise) has little weight, and nobody has to be dropped for
it. The expectation over the uncertainty of gains is part of the weights, so that a rater with few answers is not believed blindly.

The same model says how the answers of different people to one stimulus spread (:class:`AnswerSpread`).

Sources: K. G. Jöreskog (1971), *Statistical analysis of sets of congeneric tests*, for answers with bias, gain and noise;
G. K. Smyth (2004), *Linear models and empirical Bayes methods*, for the noise variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.trained.answers import AnswerSpread
from heartfelt.stats.aggregate.itu_p910 import variance_prior
from heartfelt.training.heads.fitting import Floats, Ints

LEAST_RATERS = 5
"""Raters there must be, with more than two answers each, for a model of them."""
_STEPS = 200
_TOLERANCE = 1e-5
_LEAST_VARIANCE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class SingleAnswers:
    """Single answers to one question: the rater's number, the stimulus's place, the value."""

    rater: Ints
    place: Ints
    value: Floats

    def at(self, rows: npt.NDArray[np.int64]) -> SingleAnswers:
        """The answers to the stimuli at these places, which are counted anew in their order."""
        new = np.full(max(int(self.place.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1)
        new[rows] = np.arange(rows.size)
        retained = new[self.place] >= 0
        return SingleAnswers(self.rater[retained], new[self.place[retained]], self.value[retained])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RaterModel:
    """Bias, gain and noise (standard deviation) of each rater, and each stimulus's label with its variance.

    Raters without an answer have bias 0 and gain 1; stimuli without one have NaN.
    """

    bias: Floats
    gain: Floats
    noise: Floats
    label: Floats
    variance: Floats
    perceived: Floats
    """The label drawn towards the mean of all as far as it is uncertain; the mean for stimuli without answers."""
    spread: AnswerSpread


def can_model(answers: SingleAnswers) -> bool:
    """Whether there are raters enough to tell them apart."""
    return int((np.bincount(answers.rater) > 2).sum()) >= LEAST_RATERS if answers.rater.size else False


def model_raters(answers: SingleAnswers, stimuli: int, *, gains: bool = True) -> RaterModel:
    """Fit the model; ``stimuli`` is how many places there are. Without ``gains`` they are all 1, and differences count as noise."""
    fit = _Fit(answers, stimuli, gains=gains)
    for _ in range(_STEPS):
        before = fit.perceived
        fit.step()
        if np.abs(fit.perceived - before).max(initial=0.0) < _TOLERANCE:
            break
    return fit.result()


class _Fit:
    """One run of expectation and maximisation. Values are counted from the mean of all answers."""

    def __init__(self, answers: SingleAnswers, stimuli: int, *, gains: bool) -> None:
        self.gains = gains
        self.rater, self.place = answers.rater, answers.place
        self.centre = float(answers.value.mean())
        self.value: Floats = answers.value - self.centre
        self.raters, self.stimuli = int(self.rater.max()) + 1, stimuli
        self.counts = np.bincount(self.rater, minlength=self.raters)
        self.rated = np.bincount(self.place, minlength=stimuli) > 0
        half = max(float(self.value.var()) / 2, _LEAST_VARIANCE)
        self.bias, self.gain = np.zeros(self.raters), np.ones(self.raters)
        # Posterior variances of biases and gains, and their covariance.
        self.bias_var, self.gain_var, self.both = np.zeros((3, self.raters))
        self.noise_var = np.full(self.raters, half)
        self.between, self.bias_spread, self.gain_spread = half, half / 3, 0.05
        self.perceived = np.zeros(stimuli)

    def _by_rater(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.rater, values, self.raters), np.float64)

    def _by_place(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.place, values, self.stimuli), np.float64)

    def step(self) -> None:
        """What is perceived given the raters, then the raters given what is perceived, then how both vary."""
        r = self.rater
        weight = 1.0 / self.noise_var[r]
        squares = (self.gain**2 + self.gain_var)[r]
        precision = 1.0 / self.between + self._by_place(weight * squares)
        # The expectation of gain times (answer less bias): bias and gain are estimated together, so their covariance counts.
        informed = self.gain[r] * (self.value - self.bias[r]) - self.both[r]
        self.perceived = self._by_place(weight * informed) / precision
        spread = 1.0 / precision
        t = self.perceived[self.place]
        t2 = t**2 + spread[self.place]
        self._raters(t, t2)
        errors = (
            (self.value - self.bias[r] - self.gain[r] * t) ** 2
            + (self.gain**2 + self.gain_var)[r] * spread[self.place]
            + self.bias_var[r]
            + self.gain_var[r] * t**2
            + 2.0 * self.both[r] * t
        )
        self._noise(self._by_rater(errors))
        active = self.counts > 0
        self.bias_spread = max(float(np.mean((self.bias**2 + self.bias_var)[active])), _LEAST_VARIANCE)
        moved = float(np.mean(((self.gain - 1.0) ** 2 + self.gain_var)[active]))
        self.gain_spread = max(moved, _LEAST_VARIANCE) if self.gains else 0.0
        self.between = max(float(np.mean((self.perceived**2 + spread)[self.rated])), _LEAST_VARIANCE)

    def _raters(self, t: Floats, t2: Floats) -> None:
        """Biases and gains: a regression of each rater's answers, with the panel as prior."""
        noise = self.noise_var
        if not self.gains:
            precision = self.counts / noise + 1.0 / self.bias_spread
            self.bias, self.bias_var = self._by_rater(self.value - t) / noise / precision, 1.0 / precision
            return
        a, c = self.counts / noise + 1.0 / self.bias_spread, self._by_rater(t) / noise
        b = self._by_rater(t2) / noise + 1.0 / self.gain_spread
        first = self._by_rater(self.value) / noise
        second = self._by_rater(self.value * t) / noise + 1.0 / self.gain_spread
        determinant = a * b - c**2
        self.bias, self.gain = (b * first - c * second) / determinant, (a * second - c * first) / determinant
        self.bias_var, self.gain_var, self.both = b / determinant, a / determinant, -c / determinant

    def _noise(self, squares: Floats) -> None:
        """Noise variances, shrunk towards the panel's."""
        several = self.counts > 2
        pooled = max(float(squares.sum() / self.counts.sum()), _LEAST_VARIANCE)
        # Fewer than three variances do not say how much variances vary: then all raters have the panel's.
        freedom, scale = float("inf"), pooled
        if several.sum() >= 3:
            variance = np.maximum(squares[several] / self.counts[several], _LEAST_VARIANCE)
            freedom, scale = variance_prior(variance, self.counts[several].astype(np.float64))
        if np.isfinite(freedom):
            self.noise_var = (freedom * scale + squares) / (freedom + self.counts)
        else:
            self.noise_var = np.full(self.raters, pooled)
        self.noise_var = np.maximum(self.noise_var, _LEAST_VARIANCE)

    def result(self) -> RaterModel:
        """Labels with biases and gains removed, and what the raters are like."""
        r = self.rater
        weight = 1.0 / self.noise_var[r]
        precision = self._by_place(weight * (self.gain**2 + self.gain_var)[r])
        informed = self._by_place(weight * (self.gain[r] * (self.value - self.bias[r]) - self.both[r]))
        informative = precision > 1e-9
        safe = np.where(informative, precision, 1.0)
        spread = AnswerSpread(
            centre=self.centre,
            bias=float(np.sqrt(self.bias_spread)),
            gain=float(np.sqrt(self.gain_spread)),
            noise=float(np.sqrt(self.counts @ self.noise_var / self.counts.sum())),
        )
        return RaterModel(
            bias=self.bias,
            gain=self.gain,
            noise=np.sqrt(self.noise_var),
            label=np.where(informative, informed / safe + self.centre, np.nan),
            variance=np.where(informative, 1.0 / safe, np.nan),
            perceived=self.perceived + self.centre,
            spread=spread,
        )
