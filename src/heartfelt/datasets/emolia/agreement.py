"""Agreement and the human upper bound under emolia-bench's names, each with an interval.

| name | what it is |
|---|---|
| ``exact_3way`` | all raters agree; share of complete items |
| ``pairwise_exact`` | share of agreeing pairs of votes, mean over complete items: the human upper bound |
| ``pairwise_kappa`` | Cohen's kappa of every pair of raters on the items they share, and the mean over pairs |
| ``fleiss_kappa`` | Fleiss' kappa over items with two or more votes, any number of votes |
| ``human_pairwise_accuracy``, ``…_balanced_accuracy`` | one rater compared with another, mean over pairs of raters |
| ``human_loo_accuracy``, ``…_balanced_accuracy`` | each vote against the majority of the others, of three or more |

A pair of raters who share no item is no pair; a vote that is not there disagrees with nobody; a tie among the others is
skipped. *Binary* is present against
absent (yes against no), *ordinal* the three levels. ``preselection_…`` are the same with the prior as one more rater, on
items with two or more human votes; ``gemini_vs_human_consensus_…`` is the prior against the majority of the people on those
items. The prior says present or absent only, so it has no ordinal figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from heartfelt.datasets.emolia.labels_table import Material
from heartfelt.stats.agreement import (
    PairTable,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    leave_one_out,
    pairwise_accuracy,
    pairwise_balanced_accuracy,
    prior_against_majority,
)
from heartfelt.stats.estimate import Estimate

LEAST_HUMANS = 2
NO_NAMES = "the votes do not say who gave them"
NO_PRIOR = "nothing says what the items were chosen to show"
BINARY_PRIOR = "the prior says present or absent only, not how strongly"


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Estimates by their names in ``summary.json``, kappas by pair of raters, and agreement by number of raters."""

    agreement: dict[str, Estimate]
    augmented: dict[str, Estimate]
    pairs: dict[str, PairTable | None]
    by_coverage: dict[str, dict[str, Any]]
    eligible: int
    eligible_complete: int


def figures(material: Material) -> Figures:
    """All agreement figures of a subset."""
    votes = material.answers.select("rater", "item", "value", "known")
    lowest = material.subset.codes[0]
    binary = votes.with_columns((pl.col("value") > lowest).alias("value"))
    sizes = votes.group_by("item").agg(pl.len().alias("n"))
    complete = sizes.filter(pl.col("n") >= material.options.raters)
    agreement, pairs = _suite(binary, complete, "binary")
    tables = {"binary": pairs}
    if material.subset.form.kind == "emo":
        ordinal, tables["ordinal"] = _suite(votes, complete, "ordinal")
        agreement |= ordinal
    eligible = sizes.filter(pl.col("n") >= LEAST_HUMANS)
    if material.prior:  # Items without one would mix panels with and without the prior.
        eligible = eligible.filter(pl.col("item").is_in(list(material.prior)))
    rated = binary.join(eligible, on="item", how="semi", maintain_order="left")
    both = eligible.join(complete, on="item", how="semi")
    return Figures(
        agreement,
        _with_prior(rated, material),
        tables,
        _by_coverage(binary, sizes),
        eligible.height if material.prior else 0,
        both.height if material.prior else 0,
    )


def _named(votes: pl.DataFrame) -> bool:
    return bool(votes["known"].all())


def _columns(votes: pl.DataFrame) -> tuple[pl.Series | None, pl.Series, pl.Series]:
    return (votes["rater"] if _named(votes) else None), votes["item"], votes["value"]


def _suite(
    votes: pl.DataFrame, complete: pl.DataFrame, level: str
) -> tuple[dict[str, Estimate], PairTable | None]:
    whole = _columns(votes.join(complete, on="item", how="semi", maintain_order="left"))
    exact, exact_all = exact_agreement(*whole), exact_agreement(*_columns(votes))
    others = leave_one_out(*_columns(votes))
    tail = "" if level == "binary" else "_ordinal"
    out = {
        f"exact_3way_{level}": exact.unanimous,
        f"pairwise_exact_{level}": exact.pairwise,
        f"exact_two_or_more_{level}": exact_all.unanimous,
        f"pairwise_exact_two_or_more_{level}": exact_all.pairwise,
        f"fleiss_{level}_kappa": fleiss_kappa(*_columns(votes)),
        f"human_loo_accuracy{tail}": others.accuracy,
        f"human_loo_balanced_accuracy{tail}": others.balanced_accuracy,
    }
    mean_kappa, accuracies, pairs = _pairs(votes, None)
    out[f"pairwise_{level}_kappa"] = mean_kappa
    out |= {f"human_{name}{tail}": estimate for name, estimate in accuracies.items()}
    return out, pairs


def _pairs(
    votes: pl.DataFrame, prior: dict[int, bool] | None
) -> tuple[Estimate, dict[str, Estimate], PairTable | None]:
    names = ("pairwise_accuracy", "pairwise_balanced_accuracy")
    if not _named(votes):
        gone = {
            name + tail: Estimate.missing(NO_NAMES, name.replace("_", " "))
            for name in names
            for tail in ("", "_pooled")
        }
        return Estimate.missing(NO_NAMES, "Cohen's kappa, mean over pairs"), gone, None
    columns = votes["rater"], votes["item"], votes["value"]
    kappa = cohen_kappa(*columns, prior=prior)
    out: dict[str, Estimate] = {}
    for name, compute in zip(names, (pairwise_accuracy, pairwise_balanced_accuracy), strict=True):
        pairwise = compute(*columns, prior=prior)
        out[name] = pairwise.mean
        out[f"{name}_pooled"] = pairwise.pooled or Estimate.missing("no pairs of votes", name)
    return kappa.mean, out, kappa.pairs


def _with_prior(votes: pl.DataFrame, material: Material) -> dict[str, Estimate]:
    items = set(votes["item"].unique())
    prior = {item: value for item, value in material.prior.items() if item in items}
    names = (
        "pairwise_accuracy", "pairwise_balanced_accuracy", "pairwise_accuracy_pooled",
        "pairwise_balanced_accuracy_pooled", "loo_accuracy", "loo_balanced_accuracy", "fleiss_kappa",
        "pairwise_kappa", "exact",
    )  # fmt: skip
    against = ("gemini_vs_human_consensus_accuracy", "gemini_vs_human_consensus_balanced_accuracy")
    out: dict[str, Estimate] = {}
    if not prior:
        why = NO_PRIOR if not material.prior else "no item has two or more votes and a prior"
        out = {
            name: Estimate.missing(why) for name in (*(f"preselection_{name}" for name in names), *against)
        }
    else:
        columns = _columns(votes)
        others = leave_one_out(*columns, prior=prior)
        kappa, accuracies, _ = _pairs(votes, prior)
        out = {f"preselection_{name}": estimate for name, estimate in accuracies.items()}
        out |= {
            "preselection_loo_accuracy": others.accuracy,
            "preselection_loo_balanced_accuracy": others.balanced_accuracy,
            "preselection_fleiss_kappa": fleiss_kappa(*columns, prior=prior),
            "preselection_pairwise_kappa": kappa,
            "preselection_exact": exact_agreement(*columns, prior=prior).unanimous,
        }
        held = prior_against_majority(*columns, prior)
        out |= dict(zip(against, (held.accuracy, held.balanced_accuracy), strict=True))
    if material.subset.form.kind == "emo":
        out["preselection_fleiss_kappa_ordinal"] = Estimate.missing(BINARY_PRIOR, "Fleiss' kappa")
    return out


def _by_coverage(votes: pl.DataFrame, sizes: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Agreement of items with two, three, ... votes each, which a mean over all of them would mix."""
    out: dict[str, dict[str, Any]] = {}
    for (n,), part in sorted(sizes.filter(pl.col("n") > 1).partition_by("n", as_dict=True).items()):
        exact = exact_agreement(*_columns(votes.join(part, on="item", how="semi", maintain_order="left")))
        out[str(n)] = {
            "items": part.height,
            "exact_binary": exact.unanimous,
            "pairwise_exact_binary": exact.pairwise,
        }
    return out
