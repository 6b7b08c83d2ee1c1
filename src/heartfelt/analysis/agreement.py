"""Agreement on categories: kappas, accuracies, and each vote against the majority of the others.

Where the study says what each item was chosen to show (``intended``, ``intended_present`` among the items), that machine
prior is also held against the majority and joined to the raters as one more. Ordered categories whose lowest says that
something is not there are looked at again as present or absent: anything above it is present.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt.analysis.material import Material, QuestionData
from heartfelt.serialization import to_json
from heartfelt.stats.agreement import (
    alpha,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    leave_one_out,
    pairwise_accuracy,
    pairwise_balanced_accuracy,
    prior_against_majority,
)
from heartfelt.stats.estimate import Estimate

Prior = dict[str, float]


def agreement(material: Material) -> dict[str, Any] | None:
    """Agreement on every question answered with categories; None where there is none."""
    found = [one for one in material.questions if one.categorical]
    if not found:
        return None
    return {one.id: of_categories(one, material, brief=material.many) for one in found}


def pooled_agreement(material: Material) -> dict[str, Any] | None:
    """Agreement over all questions on one scale together."""
    return {
        one.id: {"n_questions": one.pooled} | of_categories(one, material)
        for one in material.pools
        if one.categorical
    } or None


def of_categories(one: QuestionData, material: Material, *, brief: bool = False) -> dict[str, Any]:
    """Agreement on one question, or on all questions of one scale."""
    ratings = one.ratings.select("rater", "item", "value")
    priors = _priors(one, material)
    if brief:
        return _brief(one, ratings)
    codes = sorted(one.categories)
    out = _suite(one, ratings, codes, ordered=one.level == "ordinal")
    out |= _prior_suite(one, ratings, codes, priors.get("all"))
    presence = one.asks_presence or "present" in priors
    if one.level == "ordinal" and len(one.categories) > 2 and presence:
        least = min(one.categories)
        present = ratings.with_columns((pl.col("value") > least).cast(pl.Float64).alias("value"))
        told = priors.get("present")
        if told is None and "all" in priors:
            told = {item: float(code > least) for item, code in priors["all"].items()}
        both = [0.0, 1.0]
        out["binary"] = _suite(one, present, both, ordered=False) | _prior_suite(one, present, both, told)
    return out


def _why(one: QuestionData) -> str | None:
    return one.why_no_raters if one.ratings.height else (one.why_no_raters or one.why_empty)


def _brief(one: QuestionData, ratings: pl.DataFrame) -> dict[str, Any]:
    if not ratings.height:
        gone = Estimate.missing(_why(one) or "").to_json()
        return {"fleiss_kappa": gone, "exact_agreement": gone, "leave_one_out": gone}
    rater = ratings["rater"] if one.why_no_raters is None else None
    item, value = ratings["item"], ratings["value"]
    return {
        "fleiss_kappa": fleiss_kappa(rater, item, value).to_json(),
        "exact_agreement": exact_agreement(rater, item, value).unanimous.to_json(),
        "leave_one_out": leave_one_out(rater, item, value).accuracy.to_json(),
    }


def _suite(
    one: QuestionData,
    ratings: pl.DataFrame,
    categories: list[float],
    *,
    ordered: bool,
    prior: Prior | None = None,
) -> dict[str, Any]:
    if not ratings.height:
        gone = Estimate.missing(_why(one) or "")
        names = ("alpha_nominal", "fleiss_kappa", "cohen_kappa", "gwet_ac1", "gwet_ac2", "exact_agreement")
        more = ("pairwise_accuracy", "pairwise_balanced_accuracy", "leave_one_out")
        return {name: gone.to_json() for name in (*names, *more)}
    rater = ratings["rater"] if one.why_no_raters is None else None
    item, value = ratings["item"], ratings["value"]
    exact = exact_agreement(rater, item, value, prior=prior)
    others = leave_one_out(rater, item, value, prior=prior)
    out: dict[str, Estimate] = {
        "alpha_nominal": alpha(rater, item, value, "nominal", prior=prior),
        "fleiss_kappa": fleiss_kappa(rater, item, value, prior=prior),
        "gwet_ac1": gwet_ac1(rater, item, value, categories=categories, prior=prior),
        "exact_agreement": exact.unanimous,
        "exact_agreement_of_pairs": exact.pairwise,
        "leave_one_out": others.accuracy,
        "leave_one_out_balanced": others.balanced_accuracy,
    }
    if ordered:
        out["gwet_ac2"] = gwet_ac2(rater, item, value, categories=categories, prior=prior)
    out |= _pairs(one, ratings, categories, ordered, prior)
    return {name: found.to_json() for name, found in out.items()} | {"leave_one_out_ties": others.ties}


def _pairs(
    one: QuestionData, ratings: pl.DataFrame, categories: list[float], ordered: bool, prior: Prior | None
) -> dict[str, Estimate]:
    names = ("cohen_kappa", "pairwise_accuracy", "pairwise_balanced_accuracy")
    if one.why_no_raters is not None:
        return {name: Estimate.missing(one.why_no_raters, name) for name in names}
    columns = ratings["rater"], ratings["item"], ratings["value"]
    kappa = cohen_kappa(*columns, categories=categories, prior=prior)
    accuracy = pairwise_accuracy(*columns, prior=prior)
    balanced = pairwise_balanced_accuracy(*columns, prior=prior)
    gone = Estimate.missing("no pooled figure")
    out = {
        "cohen_kappa": kappa.mean,
        "cohen_kappa_weighted_by_items": kappa.weighted,
        "pairwise_accuracy": accuracy.mean,
        "pairwise_accuracy_pooled": accuracy.pooled or gone,
        "pairwise_balanced_accuracy": balanced.mean,
        "pairwise_balanced_accuracy_pooled": balanced.pooled or gone,
    }
    if ordered:
        for weights in ("linear", "quadratic"):
            found = cohen_kappa(*columns, weights, categories=categories, prior=prior)
            out[f"cohen_kappa_{weights}"] = found.mean
    return out


def _prior_suite(
    one: QuestionData, ratings: pl.DataFrame, categories: list[float], prior: Prior | None
) -> dict[str, Any]:
    if not prior or not ratings.height:
        return {}
    rater = ratings["rater"] if one.why_no_raters is None else None
    against = prior_against_majority(rater, ratings["item"], ratings["value"], prior)
    joined = _suite(one, ratings, categories, ordered=False, prior=prior)
    return {"with_prior": joined, "prior_against_majority": to_json(against)}


def _priors(one: QuestionData, material: Material) -> dict[str, Prior]:
    """What the items were chosen to show: the code of a category, or present and absent."""
    items = material.snapshot.table("items")
    names = [name for name in ("intended", "intended_present") if name in items.columns]
    if not names or not items.height:
        return {}
    if one.pooled:
        items = items.with_columns(pl.concat_str("stimulus", "question", separator="\x1f").alias("item"))
    else:
        items = items.filter(pl.col("question") == one.id).with_columns(pl.col("stimulus").alias("item"))
    items = items.join(one.items.select("item"), on="item", how="semi")
    out: dict[str, Prior] = {}
    codes = {word: code for code, word in one.categories.items()}
    if "intended" in names:
        told = dict(items.select("item", pl.col("intended").cast(pl.String)).drop_nulls().iter_rows())
        out["all"] = {item: codes[word] for item, word in told.items() if word in codes}
    if "intended_present" in names:
        told = dict(items.select("item", "intended_present").drop_nulls().iter_rows())
        out["present"] = {item: float(bool(value)) for item, value in told.items()}
        if len(codes) == 2 and "all" not in out:
            low, high = sorted(one.categories)
            out["all"] = {item: high if value else low for item, value in out["present"].items()}
    return {name: prior for name, prior in out.items() if prior}
