"""What the screening of raters found, and the panel the default policy would keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from heartfelt.panel.decide import decide, ledger_rows
from heartfelt.panel.panel import Panel, screen
from heartfelt.panel.policy import POLICIES, Policy
from heartfelt.panel.view import RatingsView


def panel_under(panel: Panel, policy: Policy) -> Panel:
    """The panel another policy would keep; the flags are used again where both apply the same rules alike."""
    if panel.policy == policy:
        return panel
    if not _alike(panel.policy, policy):
        return screen(panel.source, policy, seed=panel.seed)
    view = RatingsView.of(panel.source)
    found = decide(view, panel.flags, policy, panel.seed, (), ())
    return replace(
        panel,
        policy=policy,
        dropped=tuple(found.raters),
        dropped_batches=tuple(found.batches),
        ledger=ledger_rows(panel.flags, found, panel.source.scan_ratings()),
        notes=tuple(found.notes),
    )


def _alike(one: Policy, other: Policy) -> bool:
    applied = [{rule for rule, action in p.actions.items() if action != "off"} for p in (one, other)]
    return (
        applied[0] == applied[1] and one.level == other.level and dict(one.settings) == dict(other.settings)
    )


def nobody_judged(policy: Policy) -> Policy:
    """The same policy with every rule switched off."""
    return replace(policy, actions={})


def default_panel(panel: Panel) -> Panel:
    """The panel the default policy would keep."""
    return panel_under(panel, POLICIES["default"])


def screening(panel: Panel, default: Panel) -> dict[str, Any]:
    """Who was flagged and why, who copied whom, and who would be left out by default."""
    told = panel.to_json()
    first = panel.ranking.filter(pl.col("score") > 0).head(25)
    return {
        "policy": told["policy"],
        "flagged": told["flagged"],
        "collusion": told["collusion"],
        "dropped": list(panel.dropped),
        "dropped_by_default": list(default.dropped),
        "ledger_by_default": default.ledger.select(
            "rater", "rule", "reason", "statistic", "value", "threshold"
        ).to_dicts(),
        "rules": {rule["rule"]: rule for rule in told["rules"]},
        "ranking": first.select("rank", "rater", "score", "flagged_by").to_dicts(),
        "notes": [*told["notes"], *(note for note in default.notes if note not in told["notes"])],
    }
