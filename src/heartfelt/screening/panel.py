"""The panel: the raters and ratings kept after screening, with everything that led there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.screening.copies import PAIR_COLUMNS, parallel_pairs
from heartfelt.screening.decide import decide, ledger_rows
from heartfelt.screening.policy import Policy, parse_policy
from heartfelt.screening.ranking import ranking
from heartfelt.screening.rule import FLAGS, error_controlled_flags
from heartfelt.screening.rules import RULES
from heartfelt.screening.rules.collusion import Collusion
from heartfelt.screening.view import RatingsView
from heartfelt.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What screening found and kept. Nothing is removed from ``source``."""

    source: Snapshot
    policy: Policy
    seed: int
    flags: pl.DataFrame
    pairs: pl.DataFrame
    """Pairs of raters whose sequences came near enough to be examined, nearest first."""
    groups: tuple[tuple[str, ...], ...]
    dropped: tuple[str, ...]
    dropped_batches: tuple[tuple[str, str], ...]
    ranking: pl.DataFrame
    ledger: pl.DataFrame
    """Rows for what this screening left out."""
    notes: tuple[str, ...]
    view: RatingsView = field(repr=False)
    decision_notes: tuple[str, ...] = ()
    """Those of the notes that are about whom the policy keeps."""

    def under(
        self,
        policy: Policy | str | Path | Mapping[str, Any],
        *,
        exclude: Iterable[str] = (),
        restore: Iterable[str] = (),
    ) -> Panel:
        """The panel another policy, or a person's corrections, would keep.

        The rules are applied anew only if the policies do not apply the same rules in the same way.
        """
        other = parse_policy(policy)
        if not self.policy.applies_like(other):
            return screen(self.source, other, seed=self.seed, exclude=exclude, restore=restore)
        return _decided(self, other, exclude, restore)

    def scan_ratings(self) -> pl.LazyFrame:
        """The ratings kept, as a lazy table."""
        table = self.source.scan_ratings()
        if self.dropped:
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
        """The ratings kept."""
        return self.scan_ratings().collect()

    @property
    def raters(self) -> list[str]:
        """The raters kept, in the snapshot's order."""
        gone = set(self.dropped)
        return [name for name in self.source.raters["rater"].to_list() if name not in gone]

    def flagged(self) -> dict[str, list[str]]:
        """Raters flagged by a rule with error control, with the reasons, most evidence first."""
        return self._reasons(error_controlled_flags(self.flags))

    def flagged_by_standards(self) -> dict[str, list[str]]:
        """Raters flagged by rules without error control: a standard, a limit the study set, or a report such as bias."""
        return self._reasons(
            self.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null() & ~pl.col("error_controlled"))
        )

    def reasons(self) -> dict[str, list[str]]:
        """Every flag of every rater, with or without error control."""
        return self._reasons(self.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null()))

    def _reasons(self, flags: pl.DataFrame) -> dict[str, list[str]]:
        reasons: dict[str, list[str]] = {}
        for rater, rule, words in flags.select("rater", "rule", "words").iter_rows():
            reasons.setdefault(rater, []).append(f"{rule}: {words}")
        order = {name: place for place, name in enumerate(self.ranking["rater"].to_list())}
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
        """A snapshot of what was kept, its ledger longer by what was not; the source itself if nothing was left out.

        Stimuli that the study sets aside as probes have done their work by now and are left out too.
        """
        if not self.dropped and not self.dropped_batches:
            return self.source.without_probes
        source = self.source
        ledger = (
            pl.concat([source.ledger, self.ledger], how="diagonal") if source.ledger.height else self.ledger
        )
        ratings = self.scan_ratings() if source.ratings_file is not None else self.ratings
        return Snapshot.build(
            source.study,
            stimuli=source.stimuli,
            ratings=ratings,
            raters=source.raters.filter(~pl.col("rater").is_in(list(self.dropped))),
            source=source.source,
            items=source.table("items"),
            fields=source.fields,
            means=source.means,
            ledger=ledger,
        ).without_probes

    @property
    def counts(self) -> dict[str, int]:
        """What screening did, in numbers."""
        everyone = self.source.raters.height
        kept = int(self.scan_ratings().select(pl.len()).collect().item())
        return {
            "raters": everyone,
            "kept": everyone - len(self.dropped),
            "dropped": len(self.dropped),
            "flagged": len(self.flagged()),
            "flagged_by_standards": len(self.flagged_by_standards()),
            "ratings": self.source.survey.ratings,
            "ratings_kept": kept,
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data for a page or a file."""
        return {
            "policy": self.policy.to_json(),
            "seed": self.seed,
            "counts": self.counts,
            "flagged": self.flagged(),
            "flagged_by_standards": self.flagged_by_standards(),
            "dropped": {
                row["rater"]: row["reason"]
                for row in self.ledger.filter(pl.col("what") == "rater").iter_rows(named=True)
            },
            "dropped_batches": [list(pair) for pair in self.dropped_batches],
            "collusion": [list(group) for group in self.groups],
            "ranking": self.ranking.select("rank", "rater", "score", "flagged_by").to_dicts(),
            "rules": self._rules(),
            "notes": list(self.notes),
        }

    def _rules(self) -> list[dict[str, Any]]:
        out = []
        missing = self.not_judged()
        everyone = len(self.view.raters)
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
                {
                    "rule": name,
                    "about": RULES[name].about,
                    "action": self.policy.action(name),
                    "error_controlled": bool(rows["error_controlled"].all()),
                    "judged": judged["rater"].n_unique(),
                    "flagged": rows.filter("flagged")["rater"].n_unique(),
                    "not_judged": int(reasons["raters"].sum()),
                    "why_not_judged": dict(reasons.select("why_missing", "raters").iter_rows()),
                    "why_missing": reasons["why_missing"].to_list(),
                }
            )
        return out

    def __repr__(self) -> str:
        everyone = self.source.raters.height
        return (
            f"<Panel of {self.source.study.name} under '{self.policy.name}': {everyone - len(self.dropped)} of {everyone}"
            f" raters kept, {len(self.flagged())} flagged>"
        )


def screen(
    source: Snapshot,
    policy: Policy | str | Path | Mapping[str, Any] = "default",
    *,
    seed: int = 0,
    exclude: Iterable[str] = (),
    restore: Iterable[str] = (),
) -> Panel:
    """Look at every rater by the policy's rules and keep those it keeps.

    ``exclude`` leaves out raters by hand, ``restore`` keeps them whatever the policy says; both are written down.
    """
    policy = parse_policy(policy)
    view = RatingsView.of(source)
    tables = [
        RULES[rule].apply(view, policy.options(rule, seed)) for rule in RULES if policy.action(rule) != "off"
    ]
    flags = pl.concat(tables) if tables else FLAGS.empty()
    pairs, groups, remark = _copies(view, policy, seed)
    remarks = (*_remarks(view), *remark)
    everybody = Panel(
        source,
        policy,
        seed,
        flags,
        pairs,
        groups,
        (),
        (),
        ranking(flags, view.raters),
        pl.DataFrame(),
        remarks,
        view,
    )
    return _decided(everybody, policy, exclude, restore)


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


def _copies(
    view: RatingsView, policy: Policy, seed: int
) -> tuple[pl.DataFrame, tuple[tuple[str, ...], ...], list[str]]:
    rule = RULES["collusion"]
    nothing = pl.DataFrame(schema=PAIR_COLUMNS)
    if policy.action("collusion") == "off" or not view.raters or not isinstance(rule, Collusion):
        return nothing, (), []
    found = parallel_pairs(view, rule.options(policy.options("collusion", seed)))
    if isinstance(found, str):
        return nothing, (), []
    remark = []
    if found.unexamined:
        remark.append(
            f"{found.unexamined} further pairs of raters run in parallel and were not examined;"
            " look at the order of trials."
        )
    if found.compared < found.pairs:
        remark.append(
            f"Of {found.pairs} pairs of raters, the {found.compared} that share a stretch of answers were compared in full."
        )
    return found.table, found.groups, remark


def _remarks(view: RatingsView) -> list[str]:
    out = []
    if view.unknown_raters:
        out.append(f"{view.unknown_raters} ratings have no rater; they are kept and cannot be screened.")
    if view.unanswered:
        out.append(f"Nobody answered {', '.join(view.unanswered)}.")
    return out
