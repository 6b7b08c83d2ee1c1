"""From flags to a decision: who is dropped under a policy, and the ledger that says why."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.screening.policy import Policy
from heartfelt.screening.rules import RULES
from heartfelt.screening.rules.ratings.informativeness import clearly_informative
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.tables import LEDGER

STAGE = "panel"
BY_HAND = "by hand"
_FIGURES = ("statistic", "value", "threshold", "p")


@dataclass(frozen=True, slots=True)
class ScreeningDecision:
    """Who is dropped and by which rules; batches by rater; and notes a reader needs."""

    raters: dict[str, list[str]]
    batches: dict[tuple[str, str], list[str]]
    notes: list[str]


def decide(
    view: RatingsView, flags: pl.DataFrame, policy: Policy, seed: int, exclude: Iterable[str], restore: Iterable[str]
) -> ScreeningDecision:
    excluded, restored = _known(view, exclude, "exclude"), _known(view, restore, "restore")
    spared = _sources(view, flags, policy, seed)
    raters, batches = _dropped(flags, policy, spared)
    notes = [
        f"{name} is kept although in a group whose answers run in parallel: these answers clearly follow what was played."
        for name in sorted(spared - set(raters))
    ]
    limited = _within_limits(view, policy, raters)
    if limited is not None:
        (raters, note), batches = limited, {}
        notes.append(note)
    notes += [f"{name} is kept by hand." for name in dict.fromkeys(restored) if raters.pop(name, None)]
    for name in excluded:
        raters.setdefault(name, []).append(BY_HAND)
    retained = {key: rules for key, rules in batches.items() if key[0] not in {*restored, *raters}}
    return ScreeningDecision(raters, retained, notes)


def _dropped(
    flags: pl.DataFrame, policy: Policy, spared: Collection[str]
) -> tuple[dict[str, list[str]], dict[tuple[str, str], list[str]]]:
    """The raters and the batches that the policy drops, each with the rules that flag them."""
    raters: dict[str, list[str]] = {}
    batches: dict[tuple[str, str], list[str]] = {}
    flagged = flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    for rater, rule, batch in flagged.select("rater", "rule", "batch").unique(maintain_order=True).iter_rows():
        if policy.action(rule) != "drop" or (rule == "collusion" and rater in spared):
            continue
        if batch is None:
            raters.setdefault(rater, []).append(rule)
        else:
            batches.setdefault((rater, batch), []).append(rule)
    return raters, batches


def _within_limits(
    view: RatingsView, policy: Policy, raters: dict[str, list[str]]
) -> tuple[dict[str, list[str]], str] | None:
    """What is left of a decision beyond the policy's limits, with a note on what was not carried out; None within them.

    Raters who give one answer throughout do not count towards ``at_most_dropped``: they say nothing, however many they are.
    """
    lines = {name: rules for name, rules in raters.items() if "straight-lining" in rules}
    dropped, among = len(raters) - len(lines), len(view.raters) - len(lines)
    if raters and len(view.raters) - len(raters) < policy.least_raters:
        return {}, (
            f"The policy would drop {len(raters)} of {len(view.raters)} raters and keep fewer than {policy.least_raters},"
            " so nobody is dropped. Check the flags, then lower least_raters or name raters to exclude."
        )
    if dropped > policy.at_most_dropped * among:
        return lines, (
            f"The policy would drop {dropped} of {among} raters, more than its limit of"
            f" {policy.at_most_dropped:.0%}, so {'none of them' if lines else 'nobody'} is dropped. Check the flags,"
            " then raise at_most_dropped or name raters to exclude."
        )
    return None


def _known(view: RatingsView, names: Iterable[str], action: str) -> list[str]:
    raters = [names] if isinstance(names, str) else list(names)
    for name in raters:
        if name not in view.raters:
            raise InputError(
                f"No rater is called '{name}', so there is nobody to {action}.",
                suggestion(name, view.raters[:200], "Raters"),
            )
    return raters


def _sources(view: RatingsView, flags: pl.DataFrame, policy: Policy, seed: int) -> set[str]:
    """Of each group with parallel answers, the rater whose answers best follow what was played, if they clearly do."""
    joined = flags.filter((pl.col("rule") == "collusion") & pl.col("flagged"))
    if not policy.keep_source or policy.action("collusion") != "drop" or not joined.height:
        return set()
    rule = RULES["informativeness"]
    clear = clearly_informative(view, rule.complete(policy.options(rule.name, seed)))
    spared: set[str] = set()
    for members in joined.group_by("group", maintain_order=True).agg("rater")["rater"]:
        informative = [name for name in members if name in clear]
        if informative:
            spared.add(max(informative, key=lambda name: (clear[name], name)))
    return spared


def ledger_rows(flags: pl.DataFrame, decision: ScreeningDecision, ratings: pl.LazyFrame) -> pl.DataFrame:
    """One row per dropped rater, one per rating of a dropped batch, with the statistics behind it."""
    flagged = flags.filter("flagged").sort("evidence", descending=True, nulls_last=True)
    by_rater = {str(key[0]): rows for key, rows in flagged.partition_by("rater", as_dict=True).items()}
    gone = ratings.filter(pl.col("rater").is_in(list(decision.raters)))
    count = dict(gone.group_by("rater").len("ratings").collect().iter_rows())
    rows: list[dict[str, object]] = []
    for rater, rules in decision.raters.items():
        of_rater = by_rater.get(rater, flagged.clear()).filter(pl.col("rule").is_in(rules))
        of_rater = of_rater.unique("rule", keep="first", maintain_order=True)
        reason = " ".join(of_rater["words"].to_list()) or "Excluded by hand."
        rows.append(_row("rater", rater, reason, rules, of_rater) | {"ratings": count.get(rater, 0)})
    for (rater, batch), rules in decision.batches.items():
        of_rater = by_rater[rater].filter((pl.col("batch") == batch) & pl.col("rule").is_in(rules))
        row = _row("rating", rater, f"Batch {batch}: {' '.join(of_rater['words'].to_list())}", rules, of_rater)
        of_batch = ratings.filter((pl.col("rater") == rater) & (pl.col("batch").cast(pl.String) == batch))
        for stimulus, question in of_batch.select("stimulus", "question").collect().iter_rows():
            rows.append(row | {"stimulus": stimulus, "question": question, "ratings": 1})
    texts = dict.fromkeys((*LEDGER.names, "rule", "statistic"), pl.String)
    numbers = dict.fromkeys(("value", "threshold", "p"), pl.Float64)
    return pl.DataFrame(rows, schema={**texts, "ratings": pl.Int64, **numbers})


def _row(kind: str, rater: str, reason: str, rules: list[str], flags: pl.DataFrame) -> dict[str, object]:
    figures = flags.select(_FIGURES).row(0, named=True) if flags.height else dict.fromkeys(_FIGURES)
    base = {"what": kind, "rater": rater, "stimulus": None, "question": None, "reason": reason, "stage": STAGE}
    return {**base, "rule": ", ".join(rules), **figures}
