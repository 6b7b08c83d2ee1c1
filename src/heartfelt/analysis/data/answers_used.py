"""How many answers of the source the figures rest on, and why the others are not used.

The total counts every answer of the source: those in the snapshot, blank ones included, and those that reading or collecting left
out (rows of the snapshot's ledger; a row left out counts as one answer unless the ledger's column ``ratings`` gives a number).
A choice, a ranking or another comparison of a set is one answer; a grade of one stimulus is one answer. Each answer that is not
used counts under the first reason that applies: left out before the snapshot, excluded by the policy, given to a probe, a
repeat that tests the rater or that has categories for answers, blank, on an item with fewer ratings than a label needs, or by a
listener whom post-screening leaves out. A rater's other repeated answers are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from heartfelt.analysis.data.material import AnalysisData
from heartfelt.analysis.findings.comparisons import ComparisonQuestion
from heartfelt.labels.labelling import ITEM, counted_presentations
from heartfelt.screening.panel import Panel
from heartfelt.study import Study
from heartfelt.tables import answered
from heartfelt.wording import listed, plural

MOST_REASONS = 3
LEAST_SHARE = 0.9
"""Below this share the bottom line says how many answers are used."""
BLANK = "blank"
REPEATED = "repeated presentations, which test the raters (probe of type repeat)"
REPEATED_CATEGORIES = "repeated answers in categories, of which a rater's first counts"
PROBES = "probes, used for screening raters only"
POST_SCREENED = "listeners excluded by post-screening (ITU-R BS.1534)"


@dataclass(frozen=True, slots=True)
class AnswersUsed:
    """``used`` of ``total`` answers are behind the figures; ``not_used`` counts the others by reason."""

    used: int
    total: int
    not_used: Mapping[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share that is used; 1 where the source has no single answers."""
        return self.used / self.total if self.total else 1.0

    @property
    def words(self) -> str:
        """``1,640 of 1,652 answers used``."""
        return f"{self.used:,} of {plural(self.total, 'answer')} used" if self.total else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Each reason with its number of answers, the most frequent first: ``12 blank``."""
        ordered = sorted(self.not_used.items(), key=lambda reason: -reason[1])
        # A reason may begin with its own count.
        return tuple(
            reason if reason.startswith(f"{count:,} ") else f"{count:,}: {reason}" for reason, count in ordered
        )

    @property
    def because(self) -> str:
        """The most frequent reasons in brackets; nothing where every answer is used."""
        return f" ({listed(self.reasons, MOST_REASONS)})" if self.not_used else ""


def answers_used(material: AnalysisData, panel: Panel, comparisons: Sequence[ComparisonQuestion] = ()) -> AnswersUsed:
    """Count the answers of ``panel.source`` that the figures of ``material`` rest on, and the reasons for the others."""
    study, ratings = material.study, panel.source.scan_ratings()
    reasons = _left_out_before(panel.source.ledger)
    total = sum(reasons.values()) + _count(ratings, study)
    excluded = [plural(len(panel.dropped), "rater")] if panel.dropped else []
    excluded += [plural(len(panel.dropped_batches), "batch", "batches")] if panel.dropped_batches else []
    policy = f"{listed(excluded)} excluded by the policy '{panel.policy.name}'"
    for reason, remaining in (
        (policy, panel.scan_ratings()),
        (PROBES, material.snapshot.scan_ratings()),
        *_unused(material, comparisons),
    ):
        reasons[reason] = reasons.get(reason, 0) + _count(ratings, study) - _count(remaining, study)
        ratings = remaining
    return AnswersUsed(_count(ratings, study), total, {reason: count for reason, count in reasons.items() if count})


def _unused(material: AnalysisData, comparisons: Sequence[ComparisonQuestion]) -> Iterator[tuple[str, pl.LazyFrame]]:
    """Reasons that apply to what the panel kept, each with the ratings that are left after it."""
    ratings = material.snapshot.scan_ratings()
    columns = ratings.collect_schema().names()
    if "repeat" in columns:
        ratings = counted_presentations(ratings, material.study)
        yield REPEATED if material.study.repeats_are_probes else REPEATED_CATEGORIES, ratings
    ratings = answered(ratings)
    yield BLANK, ratings
    items = material.answers.select(ITEM).unique()
    short = items.join(material.labels.table.select(ITEM), on=ITEM, how="anti", maintain_order="left")
    if short.height:
        ratings = ratings.join(short.lazy(), on=ITEM, how="anti", nulls_equal=True, maintain_order="left")
        yield f"items with fewer than {plural(material.study.design.minimum_ratings, 'rating')}", ratings
    for compared in comparisons:
        if compared.mushra is not None and compared.mushra.excluded:
            excluded = pl.col("rater").is_in(list(compared.mushra.excluded)).fill_null(value=False)
            ratings = ratings.filter(~(excluded & (pl.col("question") == compared.question)))
            yield POST_SCREENED, ratings


def _left_out_before(ledger: pl.DataFrame) -> dict[str, int]:
    """Answers that are not in the snapshot, by reason; of a rater only where the ledger says how many they gave."""
    rows = ledger.filter(pl.col("what").is_in(["rating", "row", "rater"]))
    if not rows.height:
        return {}
    stated = pl.col("ratings") if "ratings" in rows.columns else pl.lit(None, pl.Int64)
    count = pl.coalesce(stated, pl.when(pl.col("what") == "rater").then(0).otherwise(1)).sum()
    return dict(rows.group_by("reason", maintain_order=True).agg(count.alias("answers")).iter_rows())


def _count(ratings: pl.LazyFrame, study: Study) -> int:
    """How many answers there are: rows, but of questions that compare stimuli, trials."""
    compared = [question.id for question in study.asked if study.scale_of(question.id).level == "comparison"]
    columns = ratings.collect_schema().names()
    count = pl.len()
    if compared and "trial" in columns:
        together = pl.col("question").is_in(compared)
        trial = pl.struct(name for name in ("rater", "trial", "question", "repeat") if name in columns)
        count = (~together).sum() + trial.filter(together).n_unique()
    return int(ratings.select(count).collect(engine="streaming").item())
