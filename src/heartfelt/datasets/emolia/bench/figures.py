"""Agreement, the human upper bound and rates by slice under emolia-bench's names, each with an interval.

| name | what it is |
|---|---|
| ``exact_3way`` | all raters agree; share of complete items |
| ``pairwise_exact`` | share of agreeing pairs of votes, mean over complete items: the human upper bound |
| ``pairwise_kappa`` | Cohen's kappa of every pair of raters on the items they share, and the mean over pairs |
| ``fleiss_kappa`` | Fleiss' kappa over items with two or more votes, any number of votes |
| ``human_pairwise_accuracy``, ``…_balanced_accuracy`` | one rater compared with another, mean over pairs of raters |
| ``human_loo_accuracy``, ``…_balanced_accuracy`` | each vote against the majority of the others, of three or more |

A pair of raters who share no item is no pair; a vote that is not there disagrees with nobody; a tie among the others is
skipped. *Binary* is present against absent (yes against no), *ordinal* the three levels. ``preselection_…`` are the same
with the prior as one more rater, on items with two or more human votes; ``gemini_vs_human_consensus_…`` is the prior against
the majority of the people on those items. The prior says present or absent only, so it has no ordinal figures.

Slices are per task type and emotion, or per dimension and polarity. Rates are shares of items: the majority's of items that
have one, agreement with the prior of items that have both, unanimity of items with two or more votes. After emolia-bench's
columns stand, for each rate, how many items it is of and Wilson's 95% bounds over items. A rate of no items is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from heartfelt.datasets.emolia.bench.material import EmoliaContents
from heartfelt.stats._bounds import wilson
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
AGAINST = ("gemini_vs_human_consensus_accuracy", "gemini_vs_human_consensus_balanced_accuracy")
_ACCURACIES = {"pairwise_accuracy": pairwise_accuracy, "pairwise_balanced_accuracy": pairwise_balanced_accuracy}
_PAIRWISE = [name + tail for name in _ACCURACIES for tail in ("", "_pooled")]
_WITH_PRIOR = [*_PAIRWISE, "loo_accuracy", "loo_balanced_accuracy", "fleiss_kappa", "pairwise_kappa", "exact"]
_RATES = {
    "emo": {
        "majority_present_rate": "_majority",
        "preselection_confirm_rate": "_matches",
        "unanimous_binary_rate": "_unanimous",
        "unanimous_ordinal_rate": "_unanimous_value",
    },
    "dim": {"majority_yes_rate": "_majority", "unanimous_rate": "_unanimous", "polarity_match_rate": "_matches"},
}
_WHY_NONE = {
    "_majority": "no item has a majority",
    "_matches": "no item has both a majority and a prior",
    "_unanimous": "no item has two or more votes",
    "_unanimous_value": "no item has two or more votes",
}
_Columns = tuple[pl.Series | None, pl.Series, pl.Series]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EmoliaSummary:
    """Estimates by their names in ``summary.json``, kappas by pair of raters, and agreement by number of raters."""

    agreement: dict[str, Estimate]
    augmented: dict[str, Estimate]
    pairs: dict[str, PairTable | None]
    by_coverage: dict[str, dict[str, object]]
    eligible: int
    eligible_complete: int


def figures(material: EmoliaContents) -> EmoliaSummary:
    votes = material.answers.select("rater", "item", "value", "known")
    binary = votes.with_columns((pl.col("value") > material.subset.codes[0]).alias("value"))
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
    both = eligible.join(complete, on="item", how="semi", maintain_order="left")
    return EmoliaSummary(
        agreement=agreement,
        augmented=_with_prior(_of(binary, eligible), material),
        pairs=tables,
        by_coverage=_by_coverage(binary, sizes),
        eligible=eligible.height if material.prior else 0,
        eligible_complete=both.height if material.prior else 0,
    )


def _of(votes: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    return votes.join(items, on="item", how="semi", maintain_order="left")


def _columns(votes: pl.DataFrame) -> _Columns:
    return (votes["rater"] if votes["known"].all() else None), votes["item"], votes["value"]


def _suite(votes: pl.DataFrame, complete: pl.DataFrame, level: str) -> tuple[dict[str, Estimate], PairTable | None]:
    columns = _columns(votes)
    exact, exact_all = exact_agreement(*_columns(_of(votes, complete))), exact_agreement(*columns)
    agreement = leave_one_out(*columns)
    kappa, accuracies, pairs = _pairs(columns, None)
    tail = "" if level == "binary" else "_ordinal"
    return {
        f"exact_3way_{level}": exact.unanimous,
        f"pairwise_exact_{level}": exact.pairwise,
        f"exact_two_or_more_{level}": exact_all.unanimous,
        f"pairwise_exact_two_or_more_{level}": exact_all.pairwise,
        f"fleiss_{level}_kappa": fleiss_kappa(*columns),
        f"human_loo_accuracy{tail}": agreement.accuracy,
        f"human_loo_balanced_accuracy{tail}": agreement.balanced_accuracy,
        f"pairwise_{level}_kappa": kappa,
        **{f"human_{name}{tail}": estimate for name, estimate in accuracies.items()},
    }, pairs


def _pairs(columns: _Columns, prior: dict[int, bool] | None) -> tuple[Estimate, dict[str, Estimate], PairTable | None]:
    raters, items, values = columns
    if raters is None:
        methods = {name: name.removesuffix("_pooled").replace("_", " ") for name in _PAIRWISE}
        gone = {name: Estimate.missing(NO_NAMES, method) for name, method in methods.items()}
        return Estimate.missing(NO_NAMES, "Cohen's kappa, mean over pairs"), gone, None
    kappa = cohen_kappa(raters, items, values, prior=prior)
    out: dict[str, Estimate] = {}
    for name, compute in _ACCURACIES.items():
        pairwise = compute(raters, items, values, prior=prior)
        out[name] = pairwise.mean
        out[f"{name}_pooled"] = pairwise.pooled or Estimate.missing("no pairs of votes", name)
    return kappa.mean, out, kappa.pairs


def _with_prior(votes: pl.DataFrame, material: EmoliaContents) -> dict[str, Estimate]:
    items = set(votes["item"].unique())
    prior = {item: value for item, value in material.prior.items() if item in items}
    if prior:
        columns = _columns(votes)
        agreement = leave_one_out(*columns, prior=prior)
        kappa, accuracies, _ = _pairs(columns, prior)
        out = {f"preselection_{name}": estimate for name, estimate in accuracies.items()}
        out |= {
            "preselection_loo_accuracy": agreement.accuracy,
            "preselection_loo_balanced_accuracy": agreement.balanced_accuracy,
            "preselection_fleiss_kappa": fleiss_kappa(*columns, prior=prior),
            "preselection_pairwise_kappa": kappa,
            "preselection_exact": exact_agreement(*columns, prior=prior).unanimous,
        }
        prior_agreement = prior_against_majority(*columns, prior)
        out |= dict(zip(AGAINST, (prior_agreement.accuracy, prior_agreement.balanced_accuracy), strict=True))
    else:
        reason = NO_PRIOR if not material.prior else "no item has two or more votes and a prior"
        names = [*(f"preselection_{name}" for name in _WITH_PRIOR), *AGAINST]
        out = {name: Estimate.missing(reason) for name in names}
    if material.subset.form.kind == "emo":
        out["preselection_fleiss_kappa_ordinal"] = Estimate.missing(BINARY_PRIOR, "Fleiss' kappa")
    return out


def _by_coverage(votes: pl.DataFrame, sizes: pl.DataFrame) -> dict[str, dict[str, object]]:
    """Agreement of items with two, three, ... votes each, which a mean over all of them would mix."""
    out: dict[str, dict[str, object]] = {}
    for (n,), part in sorted(sizes.filter(pl.col("n") > 1).partition_by("n", as_dict=True).items()):
        exact = exact_agreement(*_columns(_of(votes, part)))
        out[str(n)] = {"items": part.height, "exact_binary": exact.unanimous, "pairwise_exact_binary": exact.pairwise}
    return out


def slices(material: EmoliaContents) -> dict[str, pl.DataFrame]:
    """The tables of slices by the word in their files' names."""
    emo = material.subset.form.kind == "emo"
    largest, smaller = ("task_type", "emotion") if emo else ("dimension", "polarity")
    first = _slice(material, largest, without="")
    second = _slice(
        material,
        "queried_emotion" if emo else "polarity",
        without="preselection_confirm_rate" if emo else "polarity_match_rate",
    )
    order = ["majority_present_rate", "queried_emotion"] if emo else ["polarity"]
    return {
        largest: first.sort("items", largest, descending=[True, False], nulls_last=True),
        smaller: second.sort(order, nulls_last=True),
    }


def _slice(material: EmoliaContents, by: str, without: str) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for (name,), part in material.labels.partition_by(by, as_dict=True).items():
        rates = {rate: estimate for rate, estimate in _rates(material, part).items() if rate != without}
        row: dict[str, object] = {by: name, "items": part.height}
        if by == "task_type":
            # Empty where the items of one task type were chosen to show different things.
            intended = part["intended_present"]
            row["intended_present"] = intended[0] if intended.n_unique() == 1 else None
        row |= {rate: estimate.value for rate, estimate in rates.items()}
        if material.options.honest:
            row["tied_items"] = int(part["majority_present_tie"].sum())
            for rate, estimate in rates.items():
                row[f"{rate}_items"] = estimate.counts["items"]
                row |= {f"{rate}_low": estimate.low, f"{rate}_high": estimate.high}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def overall(material: EmoliaContents) -> dict[str, Estimate]:
    """The rates over all items of the subset, with Wilson's bounds."""
    return _rates(material, material.labels)


def _rates(material: EmoliaContents, labels: pl.DataFrame) -> dict[str, Estimate]:
    out: dict[str, Estimate] = {}
    for name, column in _RATES[material.subset.form.kind].items():
        judged = labels[column].drop_nulls()
        method, counts = f"{name.replace('_', ' ')} over items", {"items": judged.len()}
        if judged.len():
            low, high = wilson(float(judged.sum()), judged.len(), 0.95)
            share = Estimate(value=float(judged.sum()) / judged.len(), method=method, counts=counts)
            out[name] = share.with_interval(low, high, "Wilson over items")
        else:
            out[name] = Estimate.missing(_WHY_NONE[column], method, counts)
    return out
