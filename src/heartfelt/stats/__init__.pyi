from .aggregate.central import mean, median, mode
from .aggregate.itu_p910 import p910
from .aggregate.latent_classes import dawid_skene
from .aggregate.opinion_scores import bt500, p913
from .agreement import (
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
from .agreement.krippendorff import alpha
from .ceilings.ceiling_over_systems import system_ceiling
from .ceilings.noise_ceiling import ceiling
from .comparison.abx import abx
from .comparison.judges.concordance import rank_concordance
from .comparison.judges.consistency import first_choices, rater_consistency, transitivity
from .comparison.judges.position import position_bias
from .comparison.mushra import mushra
from .comparison.pairs import win_matrix
from .comparison.predicted.ceilings import choice_ceilings, strength_ceiling
from .comparison.predicted.prediction import choice_scores
from .comparison.predicted.recalibration import choice_calibration
from .comparison.strengths.bootstrap import bootstrap_strengths
from .comparison.strengths.choices import best_worst, best_worst_counts, plackett_luce
from .comparison.strengths.models import bradley_terry, cmos, davidson, rao_kupper, thurstone
from .estimate import Estimate
from .groups.geometry import ellipse, overlap
from .groups.set_distance import frechet_distance, kernel_distance
from .inference import (
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
from .inference.variance_tables import anova
from .prediction.association import (
    accuracy,
    auroc,
    average_precision,
    balanced_accuracy,
    ccc,
    confusion,
    f1,
    kendall,
    macro_f1,
    mae,
    metric_difference,
    mse,
    pearson,
    precision,
    quadratic_kappa,
    recall,
    rmse,
    spearman,
)
from .prediction.jackknife import jackknife_metric
from .prediction.probability import brier, calibration, expected_calibration_error
from .prediction.regression import shrinkage_slope
from .prediction.resample import bootstrap, bootstrap_difference, bootstrap_metric
from .reliability.components import variance_components
from .reliability.halves import split_half
from .reliability.intraclass import icc
from .reliability.spearman_brown import raters_needed, reliability_with

__all__ = [
    "Estimate", "abx", "accuracy", "alpha", "anova", "auroc", "average_precision", "balanced_accuracy", "best_worst",
    "best_worst_counts", "bootstrap", "bootstrap_difference", "bootstrap_metric", "bootstrap_strengths",
    "bradley_terry", "brier", "bt500", "calibration", "ccc", "ceiling", "choice_calibration", "choice_ceilings",
    "choice_scores", "cmos", "cohen_kappa", "confusion", "davidson", "dawid_skene", "ellipse",
    "equivalence_correlation", "equivalence_mean", "exact_agreement", "expected_calibration_error", "f1",
    "first_choices", "fleiss_kappa", "fleiss_kappa_counts", "frechet_distance", "games_howell", "gwet_ac1", "gwet_ac2",
    "holm", "icc", "jackknife_metric", "kendall", "kernel_distance", "leave_one_out", "macro_f1", "mae", "mean",
    "median", "metric_difference", "mixed_model", "mode", "mse", "mushra", "overlap", "p910", "p913",
    "pairwise_accuracy", "pairwise_balanced_accuracy", "pearson", "permutation_correlation", "permutation_paired",
    "permutation_two_sample", "plackett_luce", "position_bias", "precision", "prediction_powered_mean",
    "prediction_powered_slope", "prior_against_majority", "quadratic_kappa", "rank_concordance", "rao_kupper",
    "rater_consistency", "raters_needed", "recall", "reliability_with", "rmse", "shrinkage_slope", "spearman",
    "split_half", "strength_ceiling", "system_ceiling", "thurstone", "transitivity", "tukey", "variance_components",
    "win_matrix",
]  # fmt: skip
