"""What a pilot leaves open about its variances, drawn anew for every simulated study.

A variance is estimated from a mean square: stimuli within cells from the mean square of their means, n ratings each, which is
n times their variance plus the residual's. Given the pilot, the expected mean square is taken to be the observed one times its
degrees of freedom over a chi-square (the generalised pivotal quantity of Weerahandi 1993), and the variance is what remains after
the residual's own draw is taken off. An estimate of zero stays open upwards, and a few stimuli or raters say little.

Systems, intents and cells are the same in the study to come. Only the noise of their effects is open, not which of them were
sampled, so their variances are those of effects drawn about the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.planning.pilots.latent import Components, Floats
from heartfelt.stats.columns.triples import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """Degrees of freedom behind each variance of a pilot, and ratings per level (harmonic mean)."""

    stimuli: float
    ratings_per_stimulus: float
    raters: float
    ratings_per_rater: float
    tastes: float
    ratings_per_taste: float
    residual: float
    fixed: tuple[tuple[int, float], ...] = ((1, 0.0), (1, 0.0), (1, 0.0))
    """Of systems, intents and cells: how many there are, and the noise variance of one effect."""
    levels: tuple[int, int, int] = (1, 1, 1)
    """How many raters, stimuli and ratings there are, which say how well the general level is known."""

    @property
    def varies(self) -> bool:
        """Whether variances were estimated; strengths of comparisons have none."""
        return self.levels != (1, 1, 1)


def freedom_of(table: pl.DataFrame, fixed: tuple[tuple[int, float], ...]) -> Freedom:
    """What a table of ratings (rater, stimulus, system) leaves open; ``fixed`` as in ``Freedom``."""
    per_stimulus, per_rater, per_taste = (
        table.group_by(*columns).len()["len"].to_numpy() for columns in (("stimulus",), ("rater",), ("rater", "system"))
    )
    (systems, _), _, (cells, _) = fixed
    stimuli = max(per_stimulus.size - cells, 1)
    raters = max(per_rater.size - 1, 1)
    tastes = max(per_taste.size - per_rater.size - systems + 1, 1)
    return Freedom(
        stimuli=stimuli,
        ratings_per_stimulus=harmonic_mean(per_stimulus),
        raters=raters,
        ratings_per_rater=harmonic_mean(per_rater),
        tastes=tastes,
        ratings_per_taste=harmonic_mean(per_taste),
        # Raters differ in their noise, so it is known no better than a sample of raters says.
        residual=max(min(table.height - cells - stimuli - raters - tastes, raters), 1),
        fixed=fixed,
        levels=(per_rater.size, per_stimulus.size, table.height),
    )


def harmonic_mean(counts: Ints) -> float:
    """What so many ratings each are worth on average: the noise of a mean goes with 1/n."""
    return float(1.0 / np.mean(1.0 / counts))


def effect_error(covariance: Floats) -> float:
    """The noise variance of one effect: half that of a difference, on average over the pairs."""
    size = len(covariance)
    return float(np.trace(covariance) - covariance.sum() / size) / (size - 1) if size > 1 else 0.0


def variance_draws(components: Components, freedom: Freedom, count: int, rng: np.random.Generator) -> Floats:
    """Components for ``count`` studies, a row each in the order of the fields."""

    def doubt(df: float) -> Floats:
        """What a mean square must be multiplied by; the further degree of freedom brings the mean of the factors near 1."""
        return np.asarray(df / rng.chisquare(df + 1.0, count)) if np.isfinite(df) else np.ones(count)

    def variance(estimate: float, below: float, per_level: float, df: float, drawn_below: Floats) -> Floats:
        """``estimate`` and its share of the noise ``below``, drawn together, less ``drawn_below``, what that noise was drawn as."""
        factor = doubt(df)
        return np.asarray(np.maximum(estimate * factor + (below * factor - drawn_below) / per_level, 0.0))

    noise = components.residual
    residual = noise * doubt(freedom.residual)
    stimulus = variance(components.stimulus, noise, freedom.ratings_per_stimulus, freedom.stimuli, residual)
    taste = variance(components.taste, noise, freedom.ratings_per_taste, freedom.tastes, residual)
    per_taste = freedom.ratings_per_taste
    if not np.isfinite(per_taste):
        per_taste = 0.0
    rater = variance(
        components.rater,
        noise + per_taste * components.taste,
        freedom.ratings_per_rater,
        freedom.raters,
        residual + per_taste * taste,
    )
    fixed = [
        fixed_draws(estimate, levels, error, count, rng)
        for estimate, (levels, error) in zip(
            (components.system, components.intent, components.cell), freedom.fixed, strict=True
        )
    ]
    gain = components.gain * doubt(freedom.raters)
    return np.column_stack([*fixed, stimulus, rater, residual, gain, taste])


def fixed_draws(estimate: float, levels: int, error: float, count: int, rng: np.random.Generator) -> Floats:
    """The variance of the effects of ``levels`` that stay the same, each known with the noise variance ``error``.

    Effects are drawn from their posterior under a normal distribution of variance ``estimate``, so the mean draw is ``estimate``.
    """
    if levels < 2 or estimate <= 0.0 or error <= 0.0:
        return np.full(count, estimate)
    shrinkage = estimate / (estimate + error)
    pattern = np.linspace(-1.0, 1.0, levels)
    pattern *= np.sqrt(shrinkage * estimate) / pattern.std(ddof=1)
    effects = pattern + np.sqrt(shrinkage * error) * rng.standard_normal((count, levels))
    return np.asarray(effects.var(axis=1, ddof=1))


def effect_draws(effects: Floats, noise: Floats, df: float, count: int, rng: np.random.Generator) -> Floats:
    """Effects of the systems, a row per study, from their posterior under a normal distribution of effects.

    Estimates spread too far, by their own noise. They are shrunk as far as that shows (Morris 1983): not at all with up to three
    systems, nearly all the way where many systems differ no more than their noise. The noise has Student's t tails.
    """
    size = effects.size
    centre = np.eye(size) - 1.0 / size
    sizes, turns = np.linalg.eigh(centre @ noise @ centre)
    spread = np.maximum(sizes, 0.0)
    turned = (effects - effects.mean()) @ turns
    squares = float(turned @ turned)
    shrinkage = min(max(size - 3, 0) * float(spread.sum()) / (size - 1) / squares, 1.0) if squares > 0.0 else 0.0
    variance = spread * (1.0 - shrinkage * (size - 2) / size) + 2.0 * (shrinkage * turned) ** 2 / (size - 1)
    tails = np.sqrt(df / rng.chisquare(df, (count, 1)))
    shrunk = (1.0 - shrinkage) * turned + tails * np.sqrt(variance) * rng.standard_normal((count, size))
    return np.asarray(shrunk @ turns.T @ centre)


def level_draws(components: Floats, freedom: Freedom, rng: np.random.Generator) -> Floats:
    """How far off the general level is, in points, a value for each row of components."""
    raters, stimuli, ratings = freedom.levels
    variance = components[:, 4] / raters + components[:, 3] / stimuli + components[:, 5] / ratings
    return np.asarray(np.sqrt(variance) * rng.standard_normal(len(components)))
