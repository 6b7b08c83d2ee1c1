"""Tests of hypotheses about ratings: variance, pairs, mixed models, permutation, equivalence."""

from heartfelt.stats.inference.adjusted_means import MarginalMeans, marginal_means
from heartfelt.stats.inference.equivalence import Equivalence, equivalence_correlation, equivalence_mean
from heartfelt.stats.inference.mixed import Coefficient, MixedEffect, MixedResult, mixed_model
from heartfelt.stats.inference.ordinal.cumulative_link import (
    CumulativeLinkResult,
    OrdinalCoefficient,
    OrdinalEffect,
    cumulative_link_model,
)
from heartfelt.stats.inference.permutation import (
    PermutationTest,
    permutation_correlation,
    permutation_paired,
    permutation_two_sample,
)
from heartfelt.stats.inference.posthoc import Adjusted, Pair, Pairwise, games_howell, holm, tukey
from heartfelt.stats.inference.prediction_powered import (
    PredictionPowered,
    Rated,
    prediction_powered_mean,
    prediction_powered_slope,
)
from heartfelt.stats.inference.rating_counts import CountDependence, CountTest, count_dependence
from heartfelt.stats.inference.variance_tables import AnovaResult, AnovaRow, anova

__all__ = [
    "Adjusted", "AnovaResult", "AnovaRow", "Coefficient", "CountDependence", "CountTest", "CumulativeLinkResult", "Equivalence",
    "MarginalMeans", "MixedEffect", "MixedResult", "OrdinalCoefficient", "OrdinalEffect", "Pair", "Pairwise", "PermutationTest",
    "PredictionPowered", "Rated", "anova", "count_dependence", "cumulative_link_model", "equivalence_correlation",
    "equivalence_mean", "games_howell", "holm", "marginal_means", "mixed_model",
    "permutation_correlation", "permutation_paired", "permutation_two_sample", "prediction_powered_mean",
    "prediction_powered_slope", "tukey",
]  # fmt: skip
