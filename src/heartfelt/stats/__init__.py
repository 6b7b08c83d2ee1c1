"""Numbers over arrays: agreement, reliability, aggregation, inference. Knows nothing of studies.

Every function takes parallel columns (NumPy, Polars, pandas or lists; ids of any hashable kind) and gives an
:class:`Estimate` or a small frozen result. Functions are loaded when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.stats.aggregate.central import mean, median, mode
    from heartfelt.stats.aggregate.dawid_skene import dawid_skene
    from heartfelt.stats.aggregate.opinion_scores import bt500, p913
    from heartfelt.stats.aggregate.p910 import p910
    from heartfelt.stats.agreement import (
        cohen_kappa,
        exact_agreement,
        fleiss_kappa,
        fleiss_kappa_counts,
        gwet_ac1,
        gwet_ac2,
        leave_one_out,
        pairwise_accuracy,
        pairwise_balanced_accuracy,
        prior_against_majority,
    )
    from heartfelt.stats.agreement.alpha import alpha
    from heartfelt.stats.association import ccc, kendall, mae, mse, pearson, rmse, spearman
    from heartfelt.stats.classify import (
        accuracy,
        auroc,
        average_precision,
        balanced_accuracy,
        confusion,
        f1,
        macro_f1,
        precision,
        quadratic_kappa,
        recall,
    )
    from heartfelt.stats.estimate import Estimate
    from heartfelt.stats.geometry import ellipse, overlap
    from heartfelt.stats.inference import (
        equivalence_correlation,
        equivalence_mean,
        games_howell,
        holm,
        mixed_model,
        permutation_correlation,
        permutation_paired,
        permutation_two_sample,
        prediction_powered_mean,
        prediction_powered_slope,
        tukey,
    )
    from heartfelt.stats.inference.anova import anova
    from heartfelt.stats.jackknife import jackknife_metric
    from heartfelt.stats.noise_ceiling import ceiling
    from heartfelt.stats.paired_metrics import metric_difference
    from heartfelt.stats.probability import brier, calibration, expected_calibration_error
    from heartfelt.stats.regression import shrinkage_slope
    from heartfelt.stats.reliability.components import variance_components
    from heartfelt.stats.reliability.icc import icc
    from heartfelt.stats.reliability.spearman_brown import raters_needed, reliability_with
    from heartfelt.stats.reliability.split_half import split_half
    from heartfelt.stats.resample import bootstrap, bootstrap_difference, bootstrap_metric

_HOMES = {
    "aggregate": ("bt500", "dawid_skene", "mean", "median", "mode", "p910", "p913"),
    "agreement": (
        "alpha", "cohen_kappa", "exact_agreement", "fleiss_kappa", "fleiss_kappa_counts", "gwet_ac1", "gwet_ac2",
        "leave_one_out", "pairwise_accuracy", "pairwise_balanced_accuracy", "prior_against_majority",
    ),
    "association": ("ccc", "kendall", "mae", "mse", "pearson", "rmse", "spearman"),
    "probability": ("brier", "calibration", "expected_calibration_error"),
    "noise_ceiling": ("ceiling",),
    "classify": (
        "accuracy", "auroc", "average_precision", "balanced_accuracy", "confusion", "f1", "macro_f1", "precision",
        "quadratic_kappa", "recall",
    ),
    "estimate": ("Estimate",),
    "geometry": ("ellipse", "overlap"),
    "inference": (
        "anova", "equivalence_correlation", "equivalence_mean", "games_howell", "holm", "mixed_model",
        "permutation_correlation", "permutation_paired", "permutation_two_sample", "prediction_powered_mean",
        "prediction_powered_slope", "tukey",
    ),
    "jackknife": ("jackknife_metric",),
    "paired_metrics": ("metric_difference",),
    "regression": ("shrinkage_slope",),
    "reliability": ("icc", "raters_needed", "reliability_with", "split_half", "variance_components"),
    "resample": ("bootstrap", "bootstrap_difference", "bootstrap_metric"),
}  # fmt: skip

__all__ = [
    "Estimate", "accuracy", "alpha", "anova", "auroc", "average_precision", "balanced_accuracy", "bootstrap",
    "bootstrap_difference", "bootstrap_metric", "brier", "bt500", "calibration", "ccc", "ceiling", "cohen_kappa", "confusion",
    "dawid_skene", "ellipse", "equivalence_correlation", "equivalence_mean", "exact_agreement", "expected_calibration_error",
    "f1", "fleiss_kappa", "fleiss_kappa_counts", "games_howell", "gwet_ac1", "gwet_ac2", "holm", "icc", "jackknife_metric",
    "kendall", "leave_one_out", "macro_f1", "mae", "mean", "median", "metric_difference",
    "mixed_model", "mode", "mse", "overlap", "p910", "p913",
    "pairwise_accuracy", "pairwise_balanced_accuracy", "pearson", "permutation_correlation", "permutation_paired",
    "permutation_two_sample", "precision", "prediction_powered_mean", "prediction_powered_slope",
    "prior_against_majority", "quadratic_kappa", "raters_needed", "recall", "reliability_with", "rmse", "shrinkage_slope",
    "spearman", "split_half", "tukey", "variance_components",
]  # fmt: skip

__getattr__ = on_demand(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
