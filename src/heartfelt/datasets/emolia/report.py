"""``report.md``: one page over all subsets, in sentences and tables that can go into a methods section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval

FIXED = (
    "A pair of raters who share no item is missing, not a disagreement: every pairwise figure is over votes that exist.",
    "A tie has no majority. Tied items have a bucket of their own, `tied`; they are left out of majority and match rates "
    "and counted beside them. In `benchmark_labels.csv` the column `majority_present` still holds the smaller label for them, "
    "`majority_present_tie` says so, and `matches_intended_…` is empty.",
    "Where the levels are tied, `majority_rating` is the lowest of the tied levels on the side of `majority_present`: one "
    "vote each for not, weakly and strongly present is weakly present, and no row contradicts itself by a tie.",
    "An item is complete with {raters} or more raters. Items with fewer are in `incomplete_items.csv`, those nobody "
    "rated included; items with more are complete, and listed in `items_with_more_raters.csv`.",
    "Unanimity is a share of items with two or more votes; one vote agrees with nobody.",
    "Fleiss' kappa takes items with any number of votes from two up, and every estimate has an interval, or a reason "
    "why it has none.",
    "A number that cannot be computed is null with a reason, and the JSON is strict.",
)
_PUBLISHED = (
    "Ties were treated as emolia-bench publishes them: given to the smaller label, inside the majority buckets and rates, and "
    "one vote each for the three levels is not present by `majority_rating` and present by `majority_present`. Agreement "
    "figures never force a tie."
)


_COUNTS = {
    "rows_raw": "rows in the source",
    "rows_deduplicated": "ratings that count",
    "items_total": "items",
    "items_unrated": "items nobody rated",
    "items_complete": "complete items",
    "items_incomplete": "incomplete items",
    "items_with_more_raters": "items with more raters than asked for",
    "items_tied_binary": "items tied between present and absent",
    "items_flagged": "flagged items",
}
_HEADLINES = {
    "human upper bound": "human_upper_bound_binary",
    "leave-one-out accuracy": "human_loo_accuracy",
    "leave-one-out balanced": "human_loo_balanced_accuracy",
    "Fleiss κ": "fleiss_binary_kappa",
}
_ACCURACIES = {
    "Pairwise accuracy, mean over pairs of raters": "pairwise_accuracy",
    "Pairwise balanced accuracy, mean over pairs": "pairwise_balanced_accuracy",
    "Leave-one-out accuracy": "loo_accuracy",
    "Leave-one-out balanced accuracy": "loo_balanced_accuracy",
}
_OF_PEOPLE = {
    "All raters agree, complete items": "exact_3way_{level}",
    "Agreeing pairs of votes, complete items": "pairwise_exact_{level}",
    "All raters agree, two or more votes": "exact_two_or_more_{level}",
    "Agreeing pairs of votes, two or more votes": "pairwise_exact_two_or_more_{level}",
    "Cohen's κ, mean over pairs of raters": "pairwise_{level}_kappa",
    "Fleiss' κ": "fleiss_{level}_kappa",
    **{words: f"human_{name}{{tail}}" for words, name in _ACCURACIES.items()},
}
_WITH_PRIOR = {
    **{words: f"preselection_{name}" for words, name in _ACCURACIES.items()},
    "Fleiss' κ": "preselection_fleiss_kappa",
    "Cohen's κ, mean over pairs": "preselection_pairwise_kappa",
    "Prior against the majority of people, accuracy": "gemini_vs_human_consensus_accuracy",
    "Prior against the majority of people, balanced": "gemini_vs_human_consensus_balanced_accuracy",
}
_SLICES = {
    "task_types": "task type",
    "emotions": "emotion",
    "polarities": "polarity",
    "dimensions": "dimension",
}


def report(summaries: Sequence[dict[str, Any]]) -> str:
    parts = ["# Annotation analysis", _headline(summaries)]
    for summary in summaries:
        parts += [f"## {summary['subset']}", _methods(summary), *_tables(summary)]
    if summaries[0]["ties"] == "published":
        parts.append("## How ties were treated\n\n" + _PUBLISHED)
    else:
        raters = summaries[0]["raters_of_a_complete_item"]
        lines = "\n".join(f"- {line.format(raters=raters)}" for line in FIXED)
        parts.append("## What differs from emolia-bench's own analysis\n\n" + lines)
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; the first column is text, the others stand to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Estimate):
        cell = interval(cell, 3)
    text = f"{cell:.3f}" if isinstance(cell, float) else str(cell)
    return " ".join(text.replace("|", "\\|").split())


def _headline(summaries: Sequence[dict[str, Any]]) -> str:
    rows = [
        [summary["subset"], summary["items_rated"], *(summary["estimates"][n] for n in _HEADLINES.values())]
        for summary in summaries
    ]
    return (
        table(("subset", "rated items", *_HEADLINES), rows) + "\n\n"
        "Binary task: present or absent (yes or no); chance is 0.5 for a balanced accuracy. The human upper bound is the share of "
        "agreeing pairs of votes on complete items. Brackets are 95% intervals: jackknife over items and, with three or more, "
        "raters for agreement; Wilson over items for rates."
    )


def _methods(summary: dict[str, Any]) -> str:
    shown = {name: interval(estimate, 3) for name, estimate in summary["estimates"].items()}
    people, scale = len(summary["annotators"]), ", ".join(f"*{word}*" for word in summary["rating_scale"])
    subject = {0: "Raters who are not named", 1: "One rater"}.get(people, f"{people} raters")
    tied = summary["items_tied_binary"]
    parts = [
        f"{subject} gave {summary['rows_deduplicated']:,} ratings ({scale}) of {summary['items_rated']:,} items; of repeated"
        f" answers by one rater to one item the last counts ({summary['rows_raw']:,} rows in all).",
        f"{summary['items_complete']:,} items have {summary['raters_of_a_complete_item']} or more raters; "
        + ("one is tied and has no majority." if tied == 1 else f"{tied:,} are tied and have no majority."),
        f"Fleiss' κ is {shown['fleiss_binary_kappa']}, the mean Cohen's κ over pairs of raters"
        f" {shown['pairwise_binary_kappa']}.",
        f"A single vote matches the majority of the others with an accuracy of {shown['human_loo_accuracy']}"
        f" and a balanced accuracy of {shown['human_loo_balanced_accuracy']}.",
    ]
    prior = "gemini_vs_human_consensus_accuracy"
    if summary["estimates"][prior].value is not None:
        parts.append(
            f"The prior that chose the items matches the majority of the raters with {shown[prior]}."
        )
    return " ".join(parts)


def _tables(summary: dict[str, Any]) -> Iterator[str]:
    """Counts, buckets, agreement, slices and flags."""
    rows = [(words, f"{summary[name]:,}") for name, words in _COUNTS.items()]
    for n, items in summary["rater_coverage"].items():
        rows.append((f"items with {n} rater{'' if n == '1' else 's'}", f"{items:,}"))
    yield table(("count", "n"), rows)
    total = max(summary["items_rated"], 1)
    buckets = [(name, f"{items:,}", items / total) for name, items in summary["buckets"].items()]
    yield "### Buckets\n\n" + table(("bucket", "items", "share"), buckets)
    estimates = summary["estimates"]
    levels = {"binary": ("binary", ""), "three levels": ("ordinal", "_ordinal")}
    if "fleiss_ordinal_kappa" not in estimates:
        del levels["three levels"]
    people = [
        (words, *(estimates[name.format(level=level, tail=tail)] for level, tail in levels.values()))
        for words, name in _OF_PEOPLE.items()
    ]
    yield "### Agreement\n\n" + table(("agreement of people", *levels), people)
    eligible = summary["augmented_agreement"]["preselection_n_eligible_items"]
    head = f"with the prior as one more rater ({eligible:,} items with two or more people)"
    yield table((head, "binary"), [(words, estimates[name]) for words, name in _WITH_PRIOR.items()])
    for name, title in _SLICES.items():
        slices = summary.get(name)
        if slices:
            shown = [key for key in slices[0] if not key.endswith(("_low", "_high", "_rate_items"))]
            header = [key.replace("_", " ") for key in shown]
            yield f"### By {title}\n\n" + table(header, ([row[key] for key in shown] for row in slices))
    flags = summary.get("flags")
    if flags:
        shown = [key for key in flags[0] if key not in ("flag_id", "created_at")]
        text = "Flagged items stay in `benchmark_labels.csv` and in all figures; leave them out by the column `flagged`."
        cells = [[row.get(key) for key in shown] for row in flags]
        yield f"### Flags\n\n{text}\n\n" + table(shown, cells)
