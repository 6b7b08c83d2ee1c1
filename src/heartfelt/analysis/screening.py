"""What the screening of raters found, and the panel the default policy would keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from heartfelt.screening.panel import Panel
from heartfelt.screening.policy import Policy


def nobody_judged(policy: Policy) -> Policy:
    """The same policy with every rule switched off."""
    return replace(policy, actions={})


def default_panel(panel: Panel) -> Panel:
    """The panel the default policy would keep."""
    return panel.under("default")


def screening(panel: Panel, default: Panel) -> dict[str, Any]:
    """Who was flagged and why, whose answers run in parallel, and who would be left out by default.

    ``flagged`` holds what rules with error control found; ``flagged_by_standards`` what the others report (ITU standards,
    limits the study set, bias), which is no finding of carelessness. ``not_judged`` are raters whom no rule could judge; each
    of the ``rules`` says whom it could not judge and why.
    """
    told = panel.to_json()
    first = panel.ranking.filter(pl.col("score") > 0).head(25)
    return {
        "policy": told["policy"],
        "flagged": told["flagged"],
        "flagged_by_standards": told["flagged_by_standards"],
        "collusion": told["collusion"],
        "parallel": parallel_pairs(panel),
        "not_judged": _judged_by_none(panel),
        "dropped": list(panel.dropped),
        "dropped_by_default": list(default.dropped),
        "ledger_by_default": default.ledger.select(
            "rater", "rule", "reason", "statistic", "value", "threshold"
        ).to_dicts(),
        "rules": {rule["rule"]: rule for rule in told["rules"]},
        "ranking": first.select("rank", "rater", "score", "flagged_by").to_dicts(),
        "notes": [*told["notes"], *(note for note in default.notes if note not in told["notes"])],
    }


def parallel_pairs(panel: Panel) -> list[dict[str, Any]]:
    """The figures of each pair of raters whose answers run in parallel, most alike first.

    ``share`` is the share of equal answers over the ``positions`` aligned, ``expected_share`` what chance gives.
    """
    pairs = panel.pairs.filter("copies").sort("equal", "rater", "other", descending=[True, False, False])
    return pairs.select(
        pl.concat_list("rater", "other").alias("raters"),
        pl.col("trials").alias("positions"),
        "correlation",
        pl.col("equal").alias("share"),
        pl.col("expected_equal").alias("expected_share"),
        pl.col("p_adjusted").alias("p"),
    ).to_dicts()


def parallel_words(pairs: Sequence[Mapping[str, Any]]) -> str:
    """How alike parallel answers are, in words: the range of equal answers over the pairs, and what chance gives."""
    if not pairs:
        return ""
    equal, chance = (_range(sorted(pair[name] for pair in pairs)) for name in ("share", "expected_share"))
    return f"{equal} of the answers at the same position are equal, where {chance} are expected by chance"


def _range(values: Sequence[float]) -> str:
    low, high = f"{values[0]:.0%}", f"{values[-1]:.0%}"
    return low if low == high else f"{low} to {high}"


def _judged_by_none(panel: Panel) -> list[str]:
    """Raters whom no rule that was applied could judge."""
    judged = panel.flags.filter(pl.col("rater").is_not_null() & pl.col("why_missing").is_null())
    known = set(judged["rater"].to_list())
    return [name for name in panel.view.raters if name not in known] if panel.flags.height else []
