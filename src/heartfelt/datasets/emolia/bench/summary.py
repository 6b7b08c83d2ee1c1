"""``summary.json``: emolia-bench's keys with plain numbers or null, and ``estimates`` with the intervals behind them."""

from __future__ import annotations

import polars as pl

import heartfelt
from heartfelt.datasets.emolia.bench.figures import AGAINST, LEAST_HUMANS, EmoliaSummary, figures, overall
from heartfelt.datasets.emolia.bench.material import EmoliaContents
from heartfelt.datasets.emolia.writer import flags_of
from heartfelt.stats.agreement import PairTable

SCHEMA_VERSION = 1
MOST_PAIRS = 5000
_ALIASES = {
    "human_upper_bound_binary": "pairwise_exact_binary",
    "human_accuracy_binary": "human_pairwise_accuracy",
    "human_balanced_accuracy_binary": "human_pairwise_balanced_accuracy",
    "human_loo_accuracy_binary": "human_loo_accuracy",
    "human_loo_balanced_accuracy_binary": "human_loo_balanced_accuracy",
}
_LISTS = {"task_type": "task_types", "emotion": "emotions", "dimension": "dimensions", "polarity": "polarities"}


def summary(material: EmoliaContents, tables: dict[str, pl.DataFrame]) -> dict[str, object]:
    """What ``summary.json`` says of a subset, with its ``tables`` of slices."""
    numbers, rates = figures(material), overall(material)
    everything = {**numbers.agreement, **numbers.augmented, **rates}
    compared = numbers.agreement["human_loo_accuracy"].counts.get("compared", 0)
    out: dict[str, object] = {
        "heartfelt": heartfelt.__version__,
        "schema": SCHEMA_VERSION,
        "subset": material.subset.name,
        "ties": material.options.ties,
        "raters_of_a_complete_item": material.options.raters,
        "rating_scale": material.subset.words,
        **_counts(material),
        "agreement": _agreement(numbers) | {"human_loo_n_annotations": compared},
        "augmented_agreement": _augmented(numbers),
        "agreement_by_rater_count": numbers.by_coverage,
        **{name: rate.value for name, rate in rates.items() if not name.startswith("unanimous")},
        **{_LISTS[name]: table.to_dicts() for name, table in tables.items()},
    }
    if "emotion" in tables:  # the lowest and the highest shares of items in which most people hear them
        rated_emotions = tables["emotion"].drop_nulls("majority_present_rate")
        out |= {
            "hardest_emotions": rated_emotions.head(5).to_dicts(),
            "easiest_emotions": rated_emotions.tail(5).to_dicts(),
        }
    if "flags" in material.items.columns:
        out["flags"] = flags_of(material.items, material.subset.form.keys)
    return out | {
        **{name: everything[original].value for name, original in _ALIASES.items()},
        "human_loo_n_annotations": compared,
        "estimates": everything | {name: everything[original] for name, original in _ALIASES.items()},
    }


def _counts(material: EmoliaContents) -> dict[str, object]:
    labels, answers = material.labels, material.answers
    coverage = material.observed["ratings_observed"].value_counts().sort("ratings_observed")
    differ = (labels["majority_rating_int"] > 0) != (labels["majority_present"] > 0)
    left_out = material.snapshot.ledger.filter((pl.col("what") == "rating") & (pl.col("stage") == "source"))
    if "question" in left_out.columns:
        left_out = left_out.filter(pl.col("question").is_in(material.subset.questions))
    buckets = labels["benchmark_bucket"].value_counts().sort("benchmark_bucket")
    return {
        "rows_raw": answers.height + left_out.height,
        "rows_deduplicated": answers.height,
        "items_total": material.items.height,
        "items_rated": labels.height,
        "items_unrated": material.items.height - labels.height,
        "items_complete": int((labels["n"] >= material.options.raters).sum()),
        "items_incomplete": material.incomplete.height,
        "items_with_more_raters": material.more_raters.height,
        "items_flagged": int(material.items["flagged"].sum()),
        "items_tied_binary": int(labels["majority_present_tie"].sum()),
        "items_tied_ordinal": int(labels["majority_rating_tie"].sum()),
        "items_rating_against_presence": int(differ.sum()),
        "rater_coverage": {str(n): int(items) for n, items in coverage.iter_rows()},
        "buckets": {str(name): int(items) for name, items in buckets.iter_rows()},
        "annotators": answers.filter("known")["rater"].unique().sort().to_list(),
    }


def _agreement(numbers: EmoliaSummary) -> dict[str, object]:
    out: dict[str, object] = {name: estimate.value for name, estimate in numbers.agreement.items()}
    for level, pairs in numbers.pairs.items():
        name = f"pairwise_{level}_kappa"
        out[name] = _kappas(pairs) | {"mean": out[name]}
    return out


def _kappas(pairs: PairTable | None) -> dict[str, object]:
    """Kappa by pair of raters; of very many pairs only how many there are."""
    if pairs is not None and len(pairs) > MOST_PAIRS:
        return {"pairs_not_listed": len(pairs)}
    rows = [] if pairs is None else pairs.to_json()
    return {"__".join(sorted((str(row["rater_a"]), str(row["rater_b"])))): row["value"] for row in rows}


def _augmented(numbers: EmoliaSummary) -> dict[str, object]:
    comparison_counts = numbers.augmented[AGAINST[0]].counts
    compared = numbers.augmented["preselection_loo_accuracy"].counts.get("compared", 0)
    return {
        "preselection_min_humans": LEAST_HUMANS,
        "preselection_n_eligible_items": numbers.eligible,
        **{name: estimate.value for name, estimate in numbers.augmented.items()},
        "preselection_loo_n_annotations": compared,
        "preselection_n_full_coverage_items": numbers.eligible_complete,
        "gemini_vs_human_consensus_n_items": comparison_counts.get("compared", 0),
        "gemini_vs_human_consensus_n_ties": comparison_counts.get("ties", 0),
    }
