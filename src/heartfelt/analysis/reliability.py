"""How far the ratings of each question can be trusted, and the ceiling that puts on any predictor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.failures import Failed, attempt
from heartfelt.analysis.material import MANY_QUESTIONS, Material, QuestionData
from heartfelt.analysis.one_way_means import one_way_from_means
from heartfelt.stats.agreement import alpha
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.noise_ceiling import Ceiling, ceiling
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability import (
    VarianceComponents,
    icc,
    raters_needed,
    reliability_with,
    split_half,
    variance_components,
)

RATERS = (1, 3, 5, 10)
TARGETS = (0.7, 0.8, 0.9)
ICC_FORMS = ("icc1", "icc1k", "icc2", "icc2k", "icc3", "icc3k")
SPLITS, FEWEST_SPLITS = 100, 20
MOST_GROUPS = 60
LEFT_TO_POOL = "given for all questions on this scale together"

NO_ORDER = "the answers are categories without an order"
NOT_CATEGORIES = "the answers are numbers, not categories"


def reliability(material: Material, seed: int, *, brief: bool = False) -> dict[str, Any]:
    """The reliability of every question; ``brief`` leaves out all but what a side-by-side shows.

    Where there are many questions, those that share a scale get alpha only, and their pool the rest.
    """
    pooled = {name for pool in material.pools if material.many for name in pool.members}
    out: dict[str, Any] = {}
    for one in material.questions:
        few = not any(one.id in pool.members and pool.pooled > MANY_QUESTIONS for pool in material.pools)
        if one.id in pooled and one.ratings.height:
            out[one.id] = _json(_alphas(one, seed) | _left_to_pool())
        else:
            made = attempt(partial(of_question, one, seed, brief=brief, votes=few))
            out[one.id] = _failed(made.why) if isinstance(made, Failed) else made
    return out


def _failed(why: str) -> dict[str, Any]:
    """A question whose reliability could not be computed: every figure missing, with the reason."""
    gone = Estimate.missing(why)
    out: dict[str, Any] = dict.fromkeys(
        ("alpha_interval", "alpha_ordinal", "alpha_nominal", *ICC_FORMS, "split_half"), gone
    )
    metrics = dict.fromkeys(
        ("correlation", "rmse", "accuracy", "within_cells", "cell_means", "cell_means_in_sample", "human"),
        gone,
    )
    out["ceiling"] = metrics | {"metric": "correlation", "by_system": {}}
    names = ("rater", "stimulus", "residual", "share_rater", "share_stimulus", "share_residual")
    out["variance_components"] = dict.fromkeys(names, gone)
    return _json(out | growth(gone))


def _alphas(one: QuestionData, seed: int) -> dict[str, Estimate]:
    rater = one.ratings["rater"] if one.why_no_raters is None else None
    item, value = one.ratings["item"], one.ratings["value"]
    levels = {"interval": one.numbers, "ordinal": one.numbers, "nominal": one.categorical}
    return {
        f"alpha_{level}": alpha(rater, item, value, level, seed=seed)
        if fits
        else Estimate.missing(NOT_CATEGORIES if level == "nominal" else NO_ORDER)
        for level, fits in levels.items()
    }


def _left_to_pool() -> dict[str, Any]:
    gone = Estimate.missing(LEFT_TO_POOL)
    return dict.fromkeys(ICC_FORMS, gone) | {"split_half": gone, "ceiling": {"correlation": gone}}


def of_question(one: QuestionData, seed: int, *, brief: bool = False, votes: bool = True) -> dict[str, Any]:
    """Agreement beyond chance, intraclass correlations, ceilings and raters needed for one question.

    Without ``votes`` the ceiling of accuracy, which is simulated, is left to the pool of questions.
    """
    if not one.ratings.height:
        return _without_ratings(one)
    ratings = as_ratings(one.ratings["rater"], one.ratings["item"], one.ratings["value"])
    forms = _forms(one, ratings, seed)
    out: dict[str, Any] = {**_alphas(one, seed), **forms}
    if brief:
        out["ceiling"] = _brief_ceiling(one, ratings, seed)
        return _json(out)
    single = forms["icc1"] if forms["icc2"].is_missing else forms["icc2"]
    no_order = Estimate.missing(NO_ORDER)
    # Over so many ratings the mean of a few splits is as steady as that of many over few.
    splits = max(FEWEST_SPLITS, min(SPLITS, 10_000_000 // one.ratings.height))
    out["split_half"] = split_half(ratings, splits=splits, seed=seed) if one.numbers else no_order
    out["ceiling"] = _ceiling(one, ratings, seed, votes)
    out["variance_components"] = _components(one, ratings, seed)
    return _json(out | growth(single))


def growth(single: Estimate) -> dict[str, Any]:
    """What more raters would give, and how many a target needs, from the reliability of one rating."""
    needed = {f"{target:g}": raters_needed(single, target) for target in TARGETS}
    return {
        "reliability_with": {str(k): reliability_with(single, k) for k in RATERS},
        "raters_needed": {name: None if e.value is None else int(e.value) for name, e in needed.items()},
        "raters_needed_between": {name: [_whole(e.low), _whole(e.high)] for name, e in needed.items()},
        "from": single.method,
    }


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _forms(one: QuestionData, ratings: Ratings, seed: int) -> dict[str, Estimate]:
    if not one.numbers:
        return {form: Estimate.missing(NO_ORDER, form) for form in ICC_FORMS}
    # Without one of very few ratings nobody may disagree any more; the jackknife then has no variance to divide by.
    with np.errstate(divide="ignore", invalid="ignore"):
        found = icc(ratings, seed=seed)
    forms: dict[str, Estimate] = {form: getattr(found, form) for form in ICC_FORMS}
    if one.why_no_raters is not None:
        for form in ("icc2", "icc2k", "icc3", "icc3k"):
            forms[form] = Estimate.missing(one.why_no_raters, forms[form].method, forms[form].counts)
    return forms


def _components(one: QuestionData, ratings: Ratings, seed: int) -> dict[str, Estimate]:
    names = ("rater", "stimulus", "residual", "share_rater", "share_stimulus", "share_residual")
    if not one.numbers or one.why_no_raters is not None:
        why = NO_ORDER if not one.numbers else one.why_no_raters
        return {name: Estimate.missing(why or "", name) for name in names}
    found: VarianceComponents = variance_components(ratings, seed=seed)
    parts = (found.rater, found.item, found.residual)
    shares = (found.rater_share, found.item_share, found.residual_share)
    return dict(zip(names, (*parts, *shares), strict=True))


def _brief_ceiling(one: QuestionData, ratings: Ratings, seed: int) -> dict[str, Any]:
    if not one.numbers:
        return {"correlation": Estimate.missing(NO_ORDER, "ceiling, correlation")}
    return {"correlation": ceiling(ratings, metric="correlation", seed=seed).overall}


def _ceiling(one: QuestionData, ratings: Ratings, seed: int, votes: bool) -> dict[str, Any]:
    """Ceilings by metric; by system, within cells and of the bare cell means for the metric labels are made for."""
    system, cell = _of_items(one)
    grouped = system if 1 < len(set(system.values())) <= MOST_GROUPS else None
    out: dict[str, Any] = {}
    if one.numbers:
        main = ceiling(ratings, metric="correlation", cell=cell, group=grouped, seed=seed)
        out["correlation"] = main.overall
        out["rmse"] = ceiling(ratings, metric="rmse", seed=seed).overall
    else:
        out["correlation"] = Estimate.missing(NO_ORDER, "ceiling, correlation")
        out["rmse"] = Estimate.missing(NO_ORDER, "ceiling, rmse")
    why = LEFT_TO_POOL if one.categorical else NOT_CATEGORIES
    out["accuracy"] = Estimate.missing(why, "ceiling, accuracy")
    if one.categorical and (votes or not one.numbers):
        of_votes = ceiling(ratings, metric="accuracy", cell=cell, seed=seed)
        out["accuracy"] = of_votes.overall
        out["accuracy_cell_means"] = of_votes.cell_means
        out["accuracy_human"] = of_votes.human
        main = main if one.numbers else of_votes
    return out | _details(main, grouped)


def _details(main: Ceiling, grouped: Mapping[str, str] | None) -> dict[str, Any]:
    return {
        "metric": main.metric,
        "by_system": {str(name): found for name, found in main.groups.items()} if grouped else {},
        "within_cells": main.within_cells,
        "cell_means": main.cell_means,
        "cell_means_in_sample": main.cell_means_in_sample,
        "human": main.human,
    }


def _of_items(one: QuestionData) -> tuple[dict[str, str], dict[str, str] | None]:
    """System and cell of every item; no cells where stimuli have neither system nor intent."""
    names = one.items["item"].to_list()
    system = dict(zip(names, one.items["system"].fill_null("unknown").to_list(), strict=True))
    facts = one.items.select(pl.col("system", "intent").fill_null(""))
    if facts.n_unique() < 2:
        return system, None
    cells = facts.select(pl.concat_str("system", "intent", separator=" / ")).to_series().to_list()
    return system, dict(zip(names, cells, strict=True))


def _without_ratings(one: QuestionData) -> dict[str, Any]:
    """What can be said from means, spreads and counts alone, and the reason for all the rest."""
    why = one.why_no_raters or one.why_empty
    gone = Estimate.missing(why)
    out: dict[str, Any] = dict.fromkeys(("alpha_interval", "alpha_ordinal", "alpha_nominal"), gone)
    out |= {form: Estimate.missing(why, form) for form in ICC_FORMS}
    found = (
        one_way_from_means(one.items["mean"], one.items["sd"], one.items["n"]) if one.items.height else None
    )
    out["split_half"] = gone
    metrics = {
        name: Estimate.missing(why, f"ceiling, {name}") for name in ("correlation", "rmse", "accuracy")
    }
    if found is not None:
        out |= {"icc1": found.icc1, "icc1k": found.icc1k}
        metrics |= {"correlation": found.ceiling, "rmse": found.rmse}
    within = dict.fromkeys(("within_cells", "cell_means", "cell_means_in_sample", "human"), gone)
    out["ceiling"] = metrics | {"metric": "correlation", "by_system": {}} | within
    names = ("rater", "stimulus", "residual", "share_rater", "share_stimulus", "share_residual")
    out["variance_components"] = dict.fromkeys(names, gone)
    return _json(out | growth(out["icc1"]))


def _json(tree: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Estimate):
            out[name] = value.to_json()
        else:
            out[name] = _json(value) if isinstance(value, Mapping) else value
    return out
