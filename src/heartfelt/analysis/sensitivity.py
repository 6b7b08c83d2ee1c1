"""Every headline figure with all raters and without those the default policy would leave out, side by side.

``without`` is what an analysis under the default policy gives: the study's minimum number of ratings then leaves some
stimuli without a label, so both sides' counts stand beside the figures.
"""

from __future__ import annotations

from typing import Any

Parts = dict[str, Any]
"""What figures are read from: counts, reliability, anova, pairwise, systems, slopes, hit_rate."""

RELIABILITY = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1", "icc1k")
MEASURES = (("mean", "mean"), ("deviation", "signed deviation"), ("absolute_deviation", "absolute deviation"))


def sensitivity(with_all: Parts, without: Parts) -> list[dict[str, Any]]:
    """Figures of both sides in the same order; a figure that only one side has is missing on the other."""
    left, right = figures(with_all), figures(without)
    gone = {"value": None, "why_missing": "it cannot be computed from these raters"}
    rows = []
    for key in [*left, *(key for key in right if key not in left)]:
        figure, question, of, model = key
        row = {"figure": figure, "question": question, "of": of, "model": model}
        rows.append(row | {"with_all": left.get(key, gone), "without": right.get(key, gone)})
    return rows


def figures(parts: Parts) -> dict[tuple[str, str | None, str | None, str | None], Any]:
    """The headline figures of one side, by (figure, question, of what, model)."""
    out: dict[tuple[str, str | None, str | None, str | None], Any] = {}
    for question, found in parts["reliability"].items():
        for name in RELIABILITY:
            if name in found and found[name]["value"] is not None:
                out[(name, question, None, None)] = found[name]
        out[("ceiling", question, None, None)] = found["ceiling"]["correlation"]
    for row in parts["anova"]:
        words = f"{row['effect']} on {_words(row['deviation'])} ({row['model']})"
        of = (row["outcome"], row["effect"], f"{row['deviation']} ~ {row['model']}")
        out[(f"F of {words}", *of)] = row["F"]
        out[(f"eta squared of {words}", *of)] = row["eta_squared"]
    for row in parts["systems"]:
        for name, words in MEASURES:
            if row[name]["value"] is not None:
                out[(f"{words} of {row['system']}", row["question"], row["system"], None)] = row[name]
    for row in parts["slopes"]:
        out[(f"slope of {row['system']}", row["question"], row["system"], None)] = row["slope"]
    if parts["hit_rate"] is not None:
        out[("quadrant hit rate", None, None, None)] = parts["hit_rate"]
    return out


def _words(outcome: str) -> str:
    return "mean rating" if outcome == "value" else f"{outcome} deviation"


def side_counts(with_all: Parts, without: Parts) -> dict[str, Any]:
    """How many raters, ratings, stimuli and labels stand behind each side."""
    return {"with_all": with_all["counts"], "without": without["counts"]}


def side_pairs(with_all: Parts, without: Parts) -> list[dict[str, Any]]:
    """For every family of pairs, how many differ on each side, and which pairs differ on one side only."""
    left, right = _families(with_all["pairwise"]), _families(without["pairwise"])
    rows = []
    for key, pairs in left.items():
        other = right.get(key, {})
        both = [pair for pair in pairs if pair in other]
        question, deviation, factor, method, model = key
        rows.append(
            {
                "question": question,
                "deviation": deviation,
                "factor": factor,
                "method": method,
                "model": model,
                "pairs": len(pairs),
                "with_all": sum(pairs.values()),
                "without": sum(other.values()),
                "only_with_all": [list(pair) for pair in both if pairs[pair] and not other[pair]],
                "only_without": [list(pair) for pair in both if other[pair] and not pairs[pair]],
            }
        )
    return rows


Family = tuple[str, str, str, str, str | None]


def _families(pairs: list[dict[str, Any]]) -> dict[Family, dict[tuple[str, str], bool]]:
    out: dict[Family, dict[tuple[str, str], bool]] = {}
    for row in pairs:
        key = (row["outcome"], row["deviation"], row["factor"], row["method"], row.get("model"))
        family = out.setdefault(key, {})
        family[(row["a"], row["b"])] = bool(row["significant"])
    return out
