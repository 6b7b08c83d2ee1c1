"""``summary.json``: emolia-bench's keys with plain numbers or null, and ``estimates`` with the intervals behind them."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

import heartfelt
from heartfelt.datasets.emolia.agreement import LEAST_HUMANS, Figures
from heartfelt.datasets.emolia.labels_table import Material
from heartfelt.datasets.emolia.slices import incomplete, more_raters, overall
from heartfelt.stats.agreement import PairTable
from heartfelt.stats.estimate import Estimate

SCHEMA_VERSION = 1
MOST_PAIRS = 5000
_ALIASES = {
    "human_upper_bound_binary": "pairwise_exact_binary",
    "human_accuracy_binary": "human_pairwise_accuracy",
    "human_balanced_accuracy_binary": "human_pairwise_balanced_accuracy",
    "human_loo_accuracy_binary": "human_loo_accuracy",
    "human_loo_balanced_accuracy_binary": "human_loo_balanced_accuracy",
}
_LISTS = {
    "per_task_type_summary.csv": "task_types",
    "per_emotion_summary.csv": "emotions",
    "per_dimension_summary.csv": "dimensions",
    "per_polarity_summary.csv": "polarities",
}


def summary(material: Material, figures: Figures, tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """What ``summary.json`` says of a subset."""
    rates = overall(material)
    everything = {**figures.agreement, **figures.augmented, **rates}
    estimates = everything | {name: everything[other] for name, other in _ALIASES.items()}
    compared = _count(figures.agreement["human_loo_accuracy"], "compared")
    out: dict[str, Any] = {
        "heartfelt": heartfelt.__version__,
        "schema": SCHEMA_VERSION,
        "subset": material.subset.name,
        "ties": material.options.ties,
        "raters_of_a_complete_item": material.options.raters,
        "rating_scale": material.subset.words,
        **_counts(material),
        "agreement": _agreement(figures, compared),
        "augmented_agreement": _augmented(figures),
        "agreement_by_rater_count": figures.by_coverage,
        **{name: rate.value for name, rate in rates.items() if not name.startswith("unanimous")},
        **{_LISTS[name]: _plain(table) for name, table in tables.items()},
        **_extremes(tables),
        **({"flags": _flags(material)} if "flags" in material.items.columns else {}),
        **{name: everything[other].value for name, other in _ALIASES.items()},
        "human_loo_n_annotations": compared,
        "estimates": estimates,
    }
    return out


def _counts(material: Material) -> dict[str, Any]:
    snapshot, labels, least = material.snapshot, material.labels, material.options.raters
    coverage = labels.group_by("n_raters").len("items").sort("n_raters")
    histogram = {str(n): int(items) for n, items in coverage.iter_rows()}
    unrated = material.unrated.height
    differ = (labels["majority_rating_int"] > 0) != (labels["majority_present"] > 0)
    left = snapshot.ledger.filter((pl.col("what") == "rating") & (pl.col("stage") == "source"))
    if "question" in left.columns:
        left = left.filter(pl.col("question").is_in(material.subset.questions))
    people = material.answers.filter("known")["rater"].unique().sort().to_list()
    return {
        "rows_raw": material.answers.height + left.height,
        "rows_deduplicated": material.answers.height,
        "items_total": material.items.height,
        "items_rated": labels.height,
        "items_unrated": unrated,
        "items_complete": int((labels["n"] >= least).sum()),
        "items_incomplete": incomplete(material).height,
        "items_with_more_raters": more_raters(material).height,
        "items_flagged": int(material.items["flagged"].sum()),
        "items_tied_binary": material.tied,
        "items_tied_ordinal": int(labels["majority_rating_tie"].sum()),
        "items_rating_against_presence": int(differ.sum()),
        "rater_coverage": ({"0": unrated} if unrated else {}) | histogram,
        "buckets": _bucket_counts(labels),
        "annotators": people,
    }


def _bucket_counts(labels: pl.DataFrame) -> dict[str, int]:
    counted = labels.group_by("benchmark_bucket").len("items").sort("benchmark_bucket")
    return {str(name): int(items) for name, items in counted.iter_rows()}


def _count(estimate: Estimate, name: str) -> int:
    return estimate.counts.get(name, 0)


def _agreement(figures: Figures, compared: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, estimate in figures.agreement.items():
        level = name.removeprefix("pairwise_").removesuffix("_kappa")
        if level in figures.pairs:
            out[name] = _kappas(figures.pairs[level]) | {"mean": estimate.value}
        else:
            out[name] = estimate.value
    return out | {"human_loo_n_annotations": compared}


def _kappas(pairs: PairTable | None) -> dict[str, Any]:
    """Kappa by pair of raters; of very many pairs only how many there are."""
    if pairs is not None and len(pairs) > MOST_PAIRS:
        return {"pairs_not_listed": len(pairs)}
    rows = [] if pairs is None else pairs.to_json()
    return {"__".join(sorted((str(row["rater_a"]), str(row["rater_b"])))): row["value"] for row in rows}


def _augmented(figures: Figures) -> dict[str, Any]:
    held = figures.augmented["gemini_vs_human_consensus_accuracy"]
    return {
        "preselection_min_humans": LEAST_HUMANS,
        "preselection_n_eligible_items": figures.eligible,
        **{name: estimate.value for name, estimate in figures.augmented.items()},
        "preselection_loo_n_annotations": _count(figures.augmented["preselection_loo_accuracy"], "compared"),
        "preselection_n_full_coverage_items": figures.eligible_complete,
        "gemini_vs_human_consensus_n_items": _count(held, "compared"),
        "gemini_vs_human_consensus_n_ties": _count(held, "ties"),
    }


def _plain(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.to_dicts()


def _extremes(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """The five emotions with the lowest and the highest share of items in which most people hear them."""
    table = tables.get("per_emotion_summary.csv")
    if table is None:
        return {}
    known = table.filter(pl.col("majority_present_rate").is_not_null())
    return {"hardest_emotions": _plain(known.head(5)), "easiest_emotions": _plain(known.tail(5))}


def _flags(material: Material) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    keys = material.subset.form.keys
    for item in material.items.filter(pl.col("flags").is_not_null()).iter_rows(named=True):
        place = {name: item[name] for name in (*keys, "file_name")}
        rows += [{**flag, **place} for flag in json.loads(item["flags"])]
    return rows
