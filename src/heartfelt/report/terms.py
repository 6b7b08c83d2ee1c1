"""The names of coefficients, effects and outcomes on a page."""

from __future__ import annotations

from heartfelt.wording import spaced

COEFFICIENTS = {
    "alpha_interval": "Krippendorff's alpha (interval)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "alpha_nominal": "Krippendorff's alpha (nominal)",
    "icc1": "ICC(1), one rater",
    "icc1k": "ICC(1,k), mean of the raters",
    "icc2": "ICC(2,1), one rater",
    "icc2k": "ICC(2,k), mean of the raters",
    "icc3": "ICC(3,1), one rater",
    "icc3k": "ICC(3,k), mean of the raters",
    "split_half": "Split-half (Spearman-Brown)",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "exact_agreement": "All raters agree",
    "pairwise_accuracy": "Accuracy between two raters",
    "pairwise_balanced_accuracy": "Balanced accuracy between two raters",
    "leave_one_out": "One rater against the majority of the others",
    "ceiling": "Ceiling of correlation",
    "correlation": "Ceiling of correlation",
    "accuracy": "Ceiling of accuracy",
    "rmse": "Floor of the error (RMSE)",
}


def coefficient(name: str) -> str:
    """A coefficient by its usual name."""
    return COEFFICIENTS.get(name, spaced(name))


def effect(name: str) -> str:
    """An effect of a model: interactions with a cross."""
    return name.replace(":", " × ")


def outcome(name: str) -> str:
    """What is compared: the mean rating or a deviation from the reference."""
    return {"signed": "signed deviation", "absolute": "absolute deviation", "value": "mean rating"}.get(
        name, spaced(name)
    )
