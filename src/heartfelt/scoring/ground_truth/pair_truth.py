"""What predictions of choices are scored against: every answer to a pair, the pairs as items, and the strengths of systems."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import polars as pl

from heartfelt.labels import Benchmark
from heartfelt.predictors.answers.sets import COMPARED, answers_of
from heartfelt.snapshot import Snapshot

METHOD = "choices"
SYSTEMS = "systems"


@dataclass(frozen=True, slots=True, eq=False)
class PairTruth:
    """``answers`` has question, rater, first, second, value (that of the first, as presented) and pair.

    ``items`` has one row per pair: its name as ``stimulus``, ``one`` and ``other`` (its stimuli, by name), the share in favour
    of ``one`` as ``label``, n, whether all agree, and which systems and intent it is about.
    """

    answers: pl.DataFrame = field(default_factory=pl.DataFrame)
    items: pl.DataFrame = field(default_factory=pl.DataFrame)
    systems: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The strength of each system, by question."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The columns that pairs can be sliced by."""
        return (SYSTEMS,) if self.items.height else ()

    def of(self, question: str) -> pl.DataFrame:
        """The answers to one question."""
        return self.answers.filter(pl.col("question") == question) if self.answers.height else self.answers


def pair_truth(
    source: Snapshot | Benchmark, strengths: pl.DataFrame, part: Collection[str] | str | None = None
) -> PairTruth:
    """The answers to pairs in a source; with ``part`` only those about its stimuli, or of this part of a benchmark."""
    study = source.study
    questions = [q.id for q in study.asked if isinstance(study.scale_of(q.id), COMPARED)]
    if not questions:
        return PairTruth()
    answers = answers_of(source, questions, part if isinstance(part, str) else None)
    if part is not None and not isinstance(part, str):
        inside = list(part)
        answers = answers.filter(pl.col("first").is_in(inside) & pl.col("second").is_in(inside))
    of_systems = strengths.filter((pl.col("of") == "system") & pl.col("value").is_finite())
    systems: dict[str, dict[str, float]] = {}
    for question, name, value in of_systems.select("question", "name", "value").iter_rows():
        systems.setdefault(question, {})[name] = value
    return PairTruth(answers, _items(answers, source.stimuli), systems)


def _items(answers: pl.DataFrame, stimuli: pl.DataFrame) -> pl.DataFrame:
    ordered = pl.col("first") < pl.col("second")
    value = pl.when(ordered).then("value").otherwise(1.0 - pl.col("value"))
    items = answers.group_by("pair", "question", maintain_order=True).agg(
        pl.min_horizontal("first", "second").first().alias("one"),
        pl.max_horizontal("first", "second").first().alias("other"),
        value.mean().alias("label"),
        pl.len().cast(pl.Int64).alias("n"),
        pl.when(pl.len() > 1).then(value.n_unique() == 1).alias("unanimous"),
    )
    for side in ("one", "other"):
        columns = [name for name in ("system", "intent") if name in stimuli.columns]
        of = stimuli.select(
            pl.col("stimulus").alias(side), *(pl.col(c).cast(pl.String).alias(f"{c}_{side}") for c in columns)
        )
        items = items.join(of, on=side, how="left", maintain_order="left")
        items = items.with_columns(
            pl.lit(None, pl.String).alias(f"{c}_{side}") for c in ("system", "intent") if c not in columns
        )
    ends = pl.min_horizontal("system_one", "system_other"), pl.max_horizontal("system_one", "system_other")
    both = pl.col("system_one").is_not_null() & pl.col("system_other").is_not_null()
    shared = pl.when(pl.col("intent_one") == pl.col("intent_other")).then("intent_one")
    return items.select(
        pl.col("pair").alias("stimulus"),
        "question",
        "one",
        "other",
        "label",
        "n",
        "unanimous",
        pl.when(both).then(pl.concat_str(ends, separator=" and ")).alias(SYSTEMS),
        shared.alias("intent"),
        pl.lit(METHOD).alias("method"),
        pl.lit(True).alias("compared"),
    )
