"""The panel: the raters and ratings retained after screening, with everything that led there."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.representation import html_table
from heartfelt.screening.decision import decide, ledger_rows
from heartfelt.screening.policy import Action, Policy, parse_policy
from heartfelt.screening.rule import FLAGS, error_controlled_flags
from heartfelt.screening.rules import RULES
from heartfelt.screening.rules.collusion import PAIR_COLUMNS, parallel_pairs
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.serialization import to_json
from heartfelt.snapshot import Snapshot
from heartfelt.tables import TRACES, answered, row_sum

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelCounts:
    """What screening did, in numbers."""

    raters: int
    retained: int = field(metadata={"formerly": "kept"})
    dropped: int
    flagged: int
    flagged_by_standards: int
    ratings: int
    ratings_retained: int = field(metadata={"formerly": "ratings_kept"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSummary:
    """What one rule did: how many raters it judged and flagged, and why it could not judge the others."""

    rule: str
    about: str
    action: Action
    error_controlled: bool
    judged: int
    flagged: int
    not_judged: int
    why_not_judged: Mapping[str, int]
    why_missing: tuple[str, ...]
    power: float | None = None
    """The chance of flagging somebody who answers at random, mean over the raters judged; None for rules about other things."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Panel:
    """The result of screening. Nothing is removed from ``source``."""

    source: Snapshot
    policy: Policy
    seed: int
    flags: pl.DataFrame
    """What every rule reports, under the contract ``FLAGS``."""
    pairs: pl.DataFrame
    """Pairs of raters whose sequences were similar enough to be examined, most similar first."""
    groups: tuple[tuple[str, ...], ...]
    """Raters whose answers run in parallel."""
    dropped: tuple[str, ...]
    dropped_batches: tuple[tuple[str, str], ...]
    ranking: pl.DataFrame
    ledger: pl.DataFrame
    """Rows for what this screening dropped."""
    notes: tuple[str, ...]
    view: RatingsView = field(repr=False)
    decision_notes: tuple[str, ...] = ()
    """Those of the notes that are about whom the policy drops."""

    def under(
        self,
        policy: Policy | str | Path | Mapping[str, Any],
        *,
        exclude: Iterable[str] = (),
        restore: Iterable[str] = (),
    ) -> Panel:
        """The panel that another policy, or a person's corrections, would retain.

        The rules are applied again only if the policies do not apply the same rules in the same way.
        """
        new_policy = parse_policy(policy)
        if not self.policy.applies_like(new_policy):
            return screen(self.source, new_policy, seed=self.seed, exclude=exclude, restore=restore)
        return _decided(self, new_policy, exclude, restore)

    def scan_ratings(self) -> pl.LazyFrame:
        """The ratings retained, as a lazy table."""
        table = self.source.scan_ratings()
        if self.dropped:
            # A rating without a rater cannot be screened and stays.
            table = table.filter(pl.col("rater").is_null() | ~pl.col("rater").is_in(list(self.dropped)))
        if self.dropped_batches:
            gone = pl.DataFrame(
                self.dropped_batches, schema={"rater": pl.String, "_batch": pl.String}, orient="row"
            ).lazy()
            table = (
                table.with_columns(pl.col("batch").cast(pl.String).alias("_batch"))
                .join(gone, on=["rater", "_batch"], how="anti", maintain_order="left")
                .drop("_batch")
            )
        return table

    @property
    def ratings(self) -> pl.DataFrame:
        return self.scan_ratings().collect()

    @property
    def raters(self) -> list[str]:
        gone = set(self.dropped)
        return [name for name in self.source.raters["rater"].to_list() if name not in gone]

    def flagged(self) -> dict[str, list[str]]:
        """Raters flagged by a rule with error control, with the reasons, most evidence first."""
        return self._reasons(error_controlled_flags(self.flags))

    def flagged_by_standards(self) -> dict[str, list[str]]:
        """Raters flagged by rules without error control: a standard, a limit the study set, or a report such as bias."""
        return self._reasons(self.flags.filter(~pl.col("error_controlled")))

    def reasons(self) -> dict[str, list[str]]:
        """Every flag of every rater, with or without error control."""
        return self._reasons(self.flags)

    def _reasons(self, flags: pl.DataFrame) -> dict[str, list[str]]:
        reasons: dict[str, list[str]] = {}
        flagged = flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
        for rater, rule, words in flagged.select("rater", "rule", "words").iter_rows():
            reasons.setdefault(rater, []).append(f"{rule}: {words}")
        order = {name: rank for rank, name in enumerate(self.ranking["rater"].to_list())}
        return dict(sorted(reasons.items(), key=lambda item: order.get(item[0], len(order))))

    def not_judged(self) -> pl.DataFrame:
        """``rater, rule, why_missing`` of every rater a rule could not judge under any question.

        A rule that could judge nobody has one row without a rater.
        """
        judged = self.flags.filter(pl.col("why_missing").is_null()).select("rater", "rule")
        missing = self.flags.filter(pl.col("why_missing").is_not_null())
        return (
            missing.join(judged, on=["rater", "rule"], how="anti", maintain_order="left")
            .select("rater", "rule", "why_missing")
            .unique(["rater", "rule"], keep="first", maintain_order=True)
        )

    def snapshot(self) -> Snapshot:
        """A snapshot of what was retained, with what was dropped added to its ledger; the source itself if nothing was.

        Stimuli that the study uses as probes have served their purpose by now and are left out too.
        """
        source = self.source
        if not self.dropped and not self.dropped_batches:
            return source.without_probes
        ledger = pl.concat([source.ledger, self.ledger], how="diagonal") if source.ledger.height else self.ledger
        return Snapshot.build(
            source.study,
            stimuli=source.stimuli,
            ratings=self.scan_ratings() if source.ratings_file is not None else self.ratings,
            raters=source.raters.filter(~pl.col("rater").is_in(list(self.dropped))),
            source=source.source,
            items=source.table("items"),
            fields=source.fields,
            means=source.means,
            adjudications=source.adjudications,
            questionnaires=source.questionnaires.filter(~pl.col("rater").is_in(list(self.dropped))),
            traces=self._traces(),
            ledger=ledger,
        ).without_probes

    def _traces(self) -> pl.DataFrame:
        table = self.source.traces
        if not table.height:
            return table
        table = table.filter(~pl.col("rater").is_in(list(self.dropped)))
        if not self.dropped_batches:
            return table
        names = self.source.scan_ratings().collect_schema().names()
        key = [name for name in TRACES.key if name in table.columns and name in names]
        return table.join(
            self.ratings.select(key).unique(), on=key, how="semi", nulls_equal=True, maintain_order="left"
        )

    @property
    def counts(self) -> PanelCounts:
        everyone = self.source.raters.height
        return PanelCounts(
            raters=everyone,
            retained=everyone - len(self.dropped),
            dropped=len(self.dropped),
            flagged=len(self.flagged()),
            flagged_by_standards=len(self.flagged_by_standards()),
            ratings=self.source.survey.ratings,
            ratings_retained=int(answered(self.scan_ratings()).select(pl.len()).collect().item()),
        )

    def rules(self) -> tuple[RuleSummary, ...]:
        """What each rule that was applied did."""
        missing, everyone = self.not_judged(), len(self.view.raters)
        out = []
        for name in self.flags["rule"].unique(maintain_order=True).to_list():
            rows = self.flags.filter(pl.col("rule") == name)
            judged = rows.filter(pl.col("rater").is_not_null() & pl.col("why_missing").is_null())
            reasons = (
                missing.filter(pl.col("rule") == name)
                .group_by("why_missing", maintain_order=True)
                .agg(pl.col("rater").count().alias("raters"), pl.col("rater").is_null().any().alias("all"))
                .with_columns(pl.when("all").then(everyone).otherwise("raters").alias("raters"))
                .sort("raters", descending=True, maintain_order=True)
            )
            out.append(
                RuleSummary(
                    rule=name,
                    about=RULES[name].about,
                    action=self.policy.action(name),
                    error_controlled=bool(rows["error_controlled"].all()),
                    judged=judged["rater"].n_unique(),
                    flagged=rows.filter("flagged")["rater"].n_unique(),
                    not_judged=int(reasons["raters"].sum()),
                    why_not_judged=dict(reasons.select("why_missing", "raters").iter_rows()),
                    why_missing=tuple(reasons["why_missing"].to_list()),
                    power=None if (power := judged["power"].mean()) is None else float(str(power)),
                )
            )
        return tuple(out)

    def to_json(self) -> dict[str, Any]:
        dropped = self.ledger.filter(pl.col("what") == "rater") if self.ledger.height else self.ledger
        parts: dict[str, object] = {
            "policy": self.policy,
            "seed": self.seed,
            "counts": self.counts,
            "flagged": self.flagged(),
            "flagged_by_standards": self.flagged_by_standards(),
            "dropped": dict(dropped.select("rater", "reason").iter_rows()),
            "dropped_batches": self.dropped_batches,
            "collusion": self.groups,
            "ranking": self.ranking.select("rank", "rater", "score", "flagged_by"),
            "rules": self.rules(),
            "notes": self.notes,
        }
        return {name: to_json(part) for name, part in parts.items()}

    def _repr_html_(self) -> str:
        counts = self.counts
        rows = [(field.name.replace("_", " "), f"{getattr(counts, field.name):,}") for field in fields(counts)]
        return html_table(f"Panel of {self.source.study.name} under '{self.policy.name}'", rows)

    def __repr__(self) -> str:
        everyone = self.source.raters.height
        return (
            f"<Panel of {self.source.study.name} under '{self.policy.name}': {everyone - len(self.dropped)} of {everyone}"
            f" raters retained, {len(self.flagged())} flagged>"
        )


def screen(
    source: Snapshot,
    policy: Policy | str | Path | Mapping[str, Any] = "default",
    *,
    seed: int = 0,
    exclude: Iterable[str] = (),
    restore: Iterable[str] = (),
) -> Panel:
    """Examine every rater by the policy's rules and drop those the policy drops.

    ``exclude`` drops raters by hand, ``restore`` retains them whatever the policy says; both are recorded.
    """
    policy = parse_policy(policy)
    view = RatingsView.of(source)
    applied = [rule for rule in RULES if policy.action(rule) != "off" and RULES[rule].applies(view)]
    tables = [RULES[rule].apply(view, policy.options(rule, seed)) for rule in applied]
    flags = pl.concat(tables) if tables else FLAGS.empty()
    pairs, notes = pl.DataFrame(schema=PAIR_COLUMNS), _notes(view)
    groups: tuple[tuple[str, ...], ...] = ()
    if "collusion" in applied and view.raters:
        rule = RULES["collusion"]
        # Remembered from the rule's own run: pairs are compared once.
        result = parallel_pairs(view, rule.complete(policy.options(rule.name, seed)))
        if not isinstance(result, str):
            pairs, groups = result.table, result.groups
            if result.unexamined:
                notes.append(
                    f"{result.unexamined} more pairs of raters run in parallel and were not examined;"
                    " check the order of trials."
                )
            if result.compared < result.pairs:
                notes.append(
                    f"Of {result.pairs} pairs of raters, the {result.compared} that share a stretch of answers were"
                    " compared in full."
                )
    ranked, nothing = ranking(flags, view.raters), pl.DataFrame()
    everybody = Panel(
        source=source,
        policy=policy,
        seed=seed,
        flags=flags,
        pairs=pairs,
        groups=groups,
        dropped=(),
        dropped_batches=(),
        ranking=ranked,
        ledger=nothing,
        notes=tuple(notes),
        view=view,
    )
    panel = _decided(everybody, policy, exclude, restore)
    _log.info("the policy '%s' excludes %d of %d raters", policy.name, len(panel.dropped), len(view.raters))
    return panel


def _notes(view: RatingsView) -> list[str]:
    notes = []
    if view.unknown_raters:
        notes.append(f"{view.unknown_raters} ratings have no rater; they are kept and cannot be screened.")
    if view.unanswered:
        notes.append(f"Nobody answered {', '.join(view.unanswered)}.")
    return notes


def _decided(panel: Panel, policy: Policy, exclude: Iterable[str], restore: Iterable[str]) -> Panel:
    decision = decide(panel.view, panel.flags, policy, panel.seed, exclude, restore)
    return replace(
        panel,
        policy=policy,
        dropped=tuple(decision.raters),
        dropped_batches=tuple(decision.batches),
        ledger=ledger_rows(panel.flags, decision, panel.source.scan_ratings()),
        notes=(*(note for note in panel.notes if note not in panel.decision_notes), *decision.notes),
        decision_notes=tuple(decision.notes),
    )


def _counts(rule: str, flags: pl.DataFrame) -> bool:
    """Whether the ranking has a column for a rule: rules of sets and traces only where they were applied."""
    return RULES[rule].examines in {"ratings", "answers", "trials"} or bool((flags["rule"] == rule).any())


def ranking(flags: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    """Raters by carelessness: one row each, most evidence first, with every rule's evidence in its column.

    Each rule that looks for carelessness gives a rater evidence in powers of ten, between 0 and 4: minus the logarithm of
    its p-value (the smallest over questions), the posterior odds of carrying no information, the adjusted p-value of
    parallel answers, or 2 for a missed limit of the study. The score is the sum over rules. It is a ranking for a person to
    read from the top, not a test: rules overlap, so a score has no false-positive rate of its own. Bias, BT.500 and P.913
    do not count.
    """
    counted = [name for name in RULES if RULES[name].careless and _counts(name, flags)]
    parts = (
        flags.filter(pl.col("rater").is_not_null() & pl.col("rule").is_in(counted))
        .group_by("rater", "rule")
        .agg(pl.max("evidence"))
    )
    table = pl.DataFrame({"rater": list(raters)}, schema={"rater": pl.String})
    for name in counted:
        of_rule = parts.filter(pl.col("rule") == name).select("rater", pl.col("evidence").alias(name))
        table = table.join(of_rule, on="rater", how="left", maintain_order="left")
    flagged = (
        flags.filter("flagged")
        .sort("error_controlled", descending=True, maintain_order=True)
        .unique(["rater", "rule"], maintain_order=True)
        .group_by("rater", maintain_order=True)
        .agg(pl.col("rule").alias("flagged_by"))
    )
    table = table.join(flagged, on="rater", how="left", maintain_order="left").with_columns(
        row_sum(map(pl.col, counted)).alias("score"),
        pl.col("flagged_by").fill_null(pl.lit([], dtype=pl.List(pl.String))),
    )
    table = table.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))
    return table.select("rank", "rater", "score", "flagged_by", *counted).sort("rank", "rater", maintain_order=True)
