"""``report.md``: one page over all subsets, in sentences and tables that can go into a methods section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def report(summaries: Sequence[dict[str, Any]]) -> str:
    """The report over the subsets whose summaries these are."""
    parts = ["# Annotation analysis", _headline(summaries)]
    for summary in summaries:
        parts += [
            f"## {summary['subset']}",
            _methods(summary),
            _counts(summary),
            _buckets(summary),
            _agreement(summary),
            _slices(summary),
        ]
        parts += [_flags(summary)] if summary.get("flags") else []
    parts.append(_closing(summaries))
    return "\n\n".join(part for part in parts if part) + "\n"


def number(estimate: Estimate) -> str:
    """An estimate with its interval, or why there is none, to three places."""
    return interval(estimate, 3)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; the first column is text, the others stand to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(thing: Any) -> str:
    if thing is None:
        return ""
    text = f"{thing:.3f}" if isinstance(thing, float) else str(thing)
    return " ".join(text.replace("|", "\\|").split())


def _headline(summaries: Sequence[dict[str, Any]]) -> str:
    rows = []
    for summary in summaries:
        estimates = summary["estimates"]
        shown = (
            "human_upper_bound_binary",
            "human_loo_accuracy",
            "human_loo_balanced_accuracy",
            "fleiss_binary_kappa",
        )
        rows.append([summary["subset"], summary["items_rated"], *(number(estimates[name]) for name in shown)])
    header = (
        "subset",
        "rated items",
        "human upper bound",
        "leave-one-out accuracy",
        "leave-one-out balanced",
        "Fleiss κ",
    )
    return (
        table(header, rows) + "\n\n"
        "Binary task: present or absent (yes or no); chance is 0.5 for a balanced accuracy. The human upper bound is the share of "
        "agreeing pairs of votes on complete items. Brackets are 95% intervals: jackknife over items and, with three or more, "
        "raters for agreement; Wilson over items for rates."
    )


def _methods(summary: dict[str, Any]) -> str:
    estimates = summary["estimates"]
    people, scale = len(summary["annotators"]), ", ".join(f"*{word}*" for word in summary["rating_scale"])
    who = f"{people} raters" if people != 1 else "One rater"
    if not people:
        who = "Raters who are not named"
    parts = [
        f"{who} gave {summary['rows_deduplicated']:,} ratings ({scale}) of {summary['items_rated']:,} items; of repeated answers"
        f" by one rater to one item the last counts ({summary['rows_raw']:,} rows in all).",
        f"{summary['items_complete']:,} items have {summary['raters_of_a_complete_item']} or more raters; "
        f"{_tied(summary['items_tied_binary'])} no majority.",
        _sentence("Fleiss' κ is", estimates["fleiss_binary_kappa"])
        + _sentence(", the mean Cohen's κ over pairs of raters", estimates["pairwise_binary_kappa"])
        + ".",
        _sentence(
            "A single vote matches the majority of the others with an accuracy of",
            estimates["human_loo_accuracy"],
        )
        + _sentence(" and a balanced accuracy of", estimates["human_loo_balanced_accuracy"])
        + ".",
    ]
    prior = estimates["gemini_vs_human_consensus_accuracy"]
    if prior.value is not None:
        parts.append(
            _sentence("The prior that chose the items matches the majority of the raters with", prior) + "."
        )
    return " ".join(parts)


def _tied(items: int) -> str:
    return "one is tied and has" if items == 1 else f"{items:,} are tied and have"


def _sentence(words: str, estimate: Estimate) -> str:
    return f"{words} {number(estimate)}"


def _counts(summary: dict[str, Any]) -> str:
    names = {
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
    rows = [[words, f"{summary[name]:,}"] for name, words in names.items()]
    coverage = [
        [f"items with {n} rater{'' if n == '1' else 's'}", f"{k:,}"]
        for n, k in summary["rater_coverage"].items()
    ]
    return table(("count", "n"), [*rows, *coverage])


def _buckets(summary: dict[str, Any]) -> str:
    total = max(summary["items_rated"], 1)
    rows = [[name, f"{k:,}", k / total] for name, k in summary["buckets"].items()]
    return "### Buckets\n\n" + table(("bucket", "items", "share"), rows)


def _agreement(summary: dict[str, Any]) -> str:
    estimates = summary["estimates"]
    names = [
        ("All raters agree, complete items", "exact_3way_{}"),
        ("Agreeing pairs of votes, complete items", "pairwise_exact_{}"),
        ("All raters agree, two or more votes", "exact_two_or_more_{}"),
        ("Agreeing pairs of votes, two or more votes", "pairwise_exact_two_or_more_{}"),
        ("Cohen's κ, mean over pairs of raters", "pairwise_{}_kappa"),
        ("Fleiss' κ", "fleiss_{}_kappa"),
    ]
    levels = ["binary", "ordinal"] if "fleiss_ordinal_kappa" in estimates else ["binary"]
    rows = [[words, *(number(estimates[name.format(level)]) for level in levels)] for words, name in names]
    for words, name in _ACCURACIES:
        tails = ["" if level == "binary" else "_ordinal" for level in levels]
        rows.append([words, *(number(estimates[f"human_{name}{tail}"]) for tail in tails)])
    shown = (
        "agreement of people",
        *(f"{level}" if level == "binary" else "three levels" for level in levels),
    )
    text = "### Agreement\n\n" + table(shown, rows)
    prior = [[words, number(estimates[f"preselection_{name}"])] for words, name in _ACCURACIES]
    prior += [
        ["Fleiss' κ", number(estimates["preselection_fleiss_kappa"])],
        ["Cohen's κ, mean over pairs", number(estimates["preselection_pairwise_kappa"])],
        [
            "Prior against the majority of people, accuracy",
            number(estimates["gemini_vs_human_consensus_accuracy"]),
        ],
        [
            "Prior against the majority of people, balanced",
            number(estimates["gemini_vs_human_consensus_balanced_accuracy"]),
        ],
    ]
    eligible = summary["augmented_agreement"]["preselection_n_eligible_items"]
    head = f"with the prior as one more rater ({eligible:,} items with two or more people)"
    return text + "\n\n" + table((head, "binary"), prior)


_ACCURACIES = (
    ("Pairwise accuracy, mean over pairs of raters", "pairwise_accuracy"),
    ("Pairwise balanced accuracy, mean over pairs", "pairwise_balanced_accuracy"),
    ("Leave-one-out accuracy", "loo_accuracy"),
    ("Leave-one-out balanced accuracy", "loo_balanced_accuracy"),
)


def _slices(summary: dict[str, Any]) -> str:
    out = []
    for name, title in (
        ("task_types", "task type"),
        ("emotions", "emotion"),
        ("polarities", "polarity"),
        ("dimensions", "dimension"),
    ):
        rows = summary.get(name)
        if not rows:
            continue
        shown = [key for key in rows[0] if not key.endswith(("_low", "_high", "_rate_items"))]
        header = [key.replace("_", " ") for key in shown]
        out.append(f"### By {title}\n\n" + table(header, ([row[key] for key in shown] for row in rows)))
    return "\n\n".join(out)


def _flags(summary: dict[str, Any]) -> str:
    rows = summary["flags"]
    shown = [key for key in rows[0] if key not in ("flag_id", "created_at")]
    text = "Flagged items stay in `benchmark_labels.csv` and in all figures; leave them out by the column `flagged`."
    return f"### Flags\n\n{text}\n\n" + table(shown, ([row.get(key) for key in shown] for row in rows))


def _closing(summaries: Sequence[dict[str, Any]]) -> str:
    raters = summaries[0]["raters_of_a_complete_item"]
    if summaries[0]["ties"] == "published":
        return "## How ties were treated\n\n" + _PUBLISHED
    lines = "\n".join(f"- {line.format(raters=raters)}" for line in FIXED)
    return "## What differs from emolia-bench's own analysis\n\n" + lines
