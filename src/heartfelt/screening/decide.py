"""From flags to a panel: who is left out under a policy, and the ledger that says why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.screening.policy import Policy
from heartfelt.screening.rules import RULES
from heartfelt.screening.rules.informativeness import Informativeness
from heartfelt.screening.rules.straight_lining import StraightLining
from heartfelt.screening.view import RatingsView
from heartfelt.tables import LEDGER

STAGE = "panel"
BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Decision:
    """Who is left out and by which rules; batches by rater; and remarks a reader needs."""

    raters: dict[str, list[str]]
    batches: dict[tuple[str, str], list[str]]
    notes: list[str]


def decide(
    view: RatingsView,
    flags: pl.DataFrame,
    policy: Policy,
    seed: int,
    exclude: Iterable[str],
    restore: Iterable[str],
) -> Decision:
    """Whom the policy leaves out, with a person's corrections on top."""
    out, stay = _known(view, exclude, "exclude"), _known(view, restore, "restore")
    raters: dict[str, list[str]] = {}
    batches: dict[tuple[str, str], list[str]] = {}
    dropping = flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    spared = _sources(view, flags, policy, seed)
    for rater, rule, batch in (
        dropping.select("rater", "rule", "batch").unique(maintain_order=True).iter_rows()
    ):
        if policy.action(rule) != "drop" or (rule == "collusion" and rater in spared):
            continue
        if batch is None:
            raters.setdefault(rater, []).append(rule)
        else:
            batches.setdefault((rater, batch), []).append(rule)
    notes = [
        f"{name} is kept from a group whose answers run in parallel: these answers clearly go with what was played."
        for name in sorted(spared - set(raters))
    ]
    raters, batches, held = _within_limits(view, policy, raters, batches)
    notes += held
    for name in stay:
        if raters.pop(name, None):
            notes.append(f"{name} is kept by hand.")
        batches = {key: why for key, why in batches.items() if key[0] != name}
    for name in out:
        raters.setdefault(name, []).append(BY_HAND)
    batches = {key: why for key, why in batches.items() if key[0] not in raters}
    return Decision(raters, batches, notes)


def _within_limits(
    view: RatingsView,
    policy: Policy,
    raters: dict[str, list[str]],
    batches: dict[tuple[str, str], list[str]],
) -> tuple[dict[str, list[str]], dict[tuple[str, str], list[str]], list[str]]:
    """What is left of a decision within the policy's limits, and notes on what was not carried out.

    Raters who give one answer throughout do not count towards ``at_most_dropped``: they say nothing, however many they are.
    """
    lines = {name: rules for name, rules in raters.items() if StraightLining.name in rules}
    others, among = len(raters) - len(lines), len(view.raters) - len(lines)
    if raters and len(view.raters) - len(raters) < policy.least_raters:
        note = (
            f"The policy would leave out {len(raters)} of {len(view.raters)} raters and keep fewer than {policy.least_raters};"
            " nobody is left out. Look at the flags, then lower least_raters or name raters to exclude."
        )
        return {}, {}, [note]
    if others > policy.at_most_dropped * among:
        note = (
            f"The policy would leave out {others} of {among} raters, beyond its limit of"
            f" {policy.at_most_dropped:.0%}; {'none of them' if lines else 'nobody'} is left out. Look at the flags,"
            " then raise at_most_dropped or name raters to exclude."
        )
        return lines, {}, [note]
    return raters, batches, []


def _known(view: RatingsView, names: Iterable[str], what: str) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    for name in given:
        if name not in view.raters:
            raise InputError(
                f"There is no rater '{name}' to {what}.", suggestion(name, view.raters[:200], "Raters")
            )
    return given


def _sources(view: RatingsView, flags: pl.DataFrame, policy: Policy, seed: int) -> set[str]:
    """Of each group with parallel answers, the rater whose answers go best with what was played, if they clearly do."""
    joined = flags.filter((pl.col("rule") == "collusion") & pl.col("flagged"))
    if not policy.keep_source or policy.action("collusion") != "drop" or not joined.height:
        return set()
    rule = RULES["informativeness"]
    assert isinstance(rule, Informativeness)
    clear = rule.clearly_informative(view, policy.options("informativeness", seed))
    spared: set[str] = set()
    for members in joined.group_by("group", maintain_order=True).agg("rater")["rater"]:
        good = [name for name in members if name in clear]
        if good:
            spared.add(max(good, key=lambda name: (clear[name], name)))
    return spared


def ledger_rows(flags: pl.DataFrame, decision: Decision, ratings: pl.LazyFrame) -> pl.DataFrame:
    """One row per rater left out, one per rating of a batch left out, with the statistics behind it."""
    found = flags.filter("flagged").sort("evidence", descending=True, nulls_last=True)
    by_rater = {str(key[0]): rows for key, rows in found.partition_by("rater", as_dict=True).items()}
    gone = ratings.filter(pl.col("rater").is_in(list(decision.raters)))
    count = dict(gone.group_by("rater").len("ratings").collect().iter_rows())
    rows: list[dict[str, object]] = []
    for rater, rules in decision.raters.items():
        mine = by_rater.get(rater, found.clear()).filter(pl.col("rule").is_in(rules))
        mine = mine.unique("rule", keep="first", maintain_order=True)
        reason = " ".join(mine["words"].to_list()) or "Excluded by hand."
        rows.append(_row("rater", rater, reason, rules) | {"ratings": count.get(rater, 0)} | _figures(mine))
    for (rater, batch), rules in decision.batches.items():
        mine = by_rater[rater].filter((pl.col("batch") == batch) & pl.col("rule").is_in(rules))
        base = _row("rating", rater, f"Batch {batch}: {' '.join(mine['words'].to_list())}", rules)
        of_batch = ratings.filter((pl.col("rater") == rater) & (pl.col("batch").cast(pl.String) == batch))
        for stimulus, question in of_batch.select("stimulus", "question").collect().iter_rows():
            rows.append(base | {"stimulus": stimulus, "question": question, "ratings": 1} | _figures(mine))
    texts = dict.fromkeys((*LEDGER.names, "rule", "statistic"), pl.String)
    numbers = dict.fromkeys(("value", "threshold", "p"), pl.Float64)
    return pl.DataFrame(rows, schema={**texts, "ratings": pl.Int64, **numbers})


def _row(what: str, rater: str, reason: str, rules: list[str]) -> dict[str, object]:
    return {
        "what": what,
        "rater": rater,
        "stimulus": None,
        "question": None,
        "reason": reason,
        "stage": STAGE,
        "rule": ", ".join(rules),
    }


def _figures(mine: pl.DataFrame) -> dict[str, object]:
    names = ("statistic", "value", "threshold", "p")
    return dict(zip(names, mine.select(names).row(0), strict=True)) if mine.height else dict.fromkeys(names)
