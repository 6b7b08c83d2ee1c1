"""What predictions are held against: labels, sides, votes and texts of every item, with the facts to slice by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import Benchmark, Labels, first_answers, labels
from heartfelt.labels.buckets import Buckets, buckets, forced, has_sides
from heartfelt.scoring.options import ScoreOptions, Selection
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.media import AT_HAND
from heartfelt.snapshot.snapshot import published_part
from heartfelt.study import Study
from heartfelt.tables import LEDGER

ITEM = ["stimulus", "question"]
NO_RATINGS = "the source gives labels, not single ratings"
BENCHMARK_CEILINGS = (
    "A benchmark holds labels, not single ratings: ceilings of mean labels come from their standard errors, and "
    "categories have none."
)
_VOTES = {"stimulus": pl.String, "question": pl.String, "value": pl.Float64, "votes": pl.Int64}


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Every item that was rated, with its label where it has one.

    ``items`` has stimulus, question, label, present (for questions with two sides), n, unanimous, bucket, system, intent
    and whatever else the source says of stimuli, items and questions; ``facts`` names those. ``texts`` are what people
    wrote. ``answers`` are single ratings, for ceilings.
    """

    study: Study
    items: pl.DataFrame
    votes: pl.DataFrame
    answers: pl.DataFrame
    texts: Mapping[tuple[str, str], tuple[str, ...]]
    facts: tuple[str, ...]
    hash: str
    ledger: pl.DataFrame = field(default_factory=LEDGER.empty)
    notes: tuple[str, ...] = ()

    @property
    def slices(self) -> list[str]:
        """What the items can be sliced by."""
        return [name for name in ("question", "bucket", *self.facts) if name in self.items.columns]

    def select(self, selection: Selection) -> Truth:
        """Only the items that count, the others in the ledger."""
        kept, left = selection.apply(self.items)
        if not kept.height:
            raise InputError(
                f"No item of '{self.study.name}' is left to score.", "Ask for fewer things of the items."
            )
        return replace(self, items=kept, ledger=pl.concat([self.ledger, left], how="diagonal"))


def truth_of(
    source: Snapshot | Benchmark | Labels,
    options: ScoreOptions | None = None,
    *,
    snapshot: Snapshot | None = None,
) -> Truth:
    """The truth of a snapshot or a benchmark; or of labels made before, together with their ``snapshot``."""
    options = options or ScoreOptions()
    if isinstance(source, Benchmark):
        found = _of_benchmark(source, options)
    elif isinstance(source, Labels):
        if snapshot is None:
            raise InputError(
                "Labels alone do not say what was asked.", "Pass the snapshot they were made from too."
            )
        found = _of_snapshot(snapshot, source, options)
    else:
        found = _of_snapshot(source, None, options)
    if not found.items.height:
        raise InputError(
            f"No item of '{found.study.name}' has a label.", "Collect ratings, or score another source."
        )
    for name in options.slices or ():
        if name not in found.slices:
            raise InputError(
                f"There is nothing called '{name}' to slice by.", suggestion(name, found.slices, "There are")
            )
    return found.select(options.selection)


def _of_snapshot(snapshot: Snapshot, made: Labels | None, options: ScoreOptions) -> Truth:
    study = snapshot.study
    content, snapshot = snapshot.hash, snapshot.without_probes
    answers = first_answers(snapshot)
    made = made or labels(snapshot, answers=answers)
    table = made.table.select(
        *ITEM, pl.col("value").alias("label"), "standard_error", "answer", "n", "method"
    )
    sided = [q.id for q in study.asked if has_sides(study.scale_of(q.id))]
    votes = pl.DataFrame(schema=_VOTES)
    if sided and answers["question"].is_in(sided).any():
        fallen = buckets(snapshot, answers=answers)
        table = table.join(_sides(fallen, study, options), on=ITEM, how="left", maintain_order="left")
    categorical = [q.id for q in study.asked if study.scale_of(q.id).labels()]
    if categorical:
        votes = (
            answers.filter(pl.col("question").is_in(categorical))
            .group_by(*ITEM, "value")
            .agg(pl.len().cast(pl.Int64).alias("votes"))
            .sort(*ITEM, "value")
        )
    table, agreed = _with_columns(table), _agreed(votes)
    table = (
        table.join(agreed, on=ITEM, how="left", maintain_order="left", suffix="_all")
        .with_columns(pl.coalesce("unanimous", "unanimous_all").alias("unanimous"))
        .drop("unanimous_all")
    )
    told = _texts(snapshot)
    written = pl.DataFrame(
        [(*key, len(said)) for key, said in told.items()],
        schema={"stimulus": pl.String, "question": pl.String, "n": pl.Int64},
        orient="row",
    )
    table = pl.concat([table, written.with_columns(pl.lit("texts").alias("method"))], how="diagonal")
    table, facts = _with_facts(table, snapshot.stimuli, snapshot.items, study)
    if options.part is not None:
        table = table.filter(pl.col("stimulus").is_in(published_part(snapshot.stimuli, options.part)))
    return Truth(study, table, votes, answers, told, facts, content, made.ledger, made.notes)


def _sides(fallen: Buckets, study: Study, options: ScoreOptions) -> pl.DataFrame:
    """Side, bucket and unanimity of the items of questions with two sides."""
    table = fallen.table if options.ties == "missing" else forced(fallen.table, study, contradict=True)
    return table.select(*ITEM, pl.col("majority_present").alias("present"), "unanimous", "bucket")


def _agreed(votes: pl.DataFrame) -> pl.DataFrame:
    return votes.group_by(ITEM).agg(pl.when(pl.col("votes").sum() > 1).then(pl.len() == 1).alias("unanimous"))


def _with_columns(table: pl.DataFrame) -> pl.DataFrame:
    wanted = {"present": pl.Boolean, "unanimous": pl.Boolean, "bucket": pl.String}
    return table.with_columns(
        pl.lit(None, dtype=kind).alias(name) for name, kind in wanted.items() if name not in table.columns
    )


def _texts(snapshot: Snapshot) -> dict[tuple[str, str], tuple[str, ...]]:
    """What people wrote on each item of a question answered in words."""
    study = snapshot.study
    worded = [q.id for q in study.asked if study.scale_of(q.id).level == "text"]
    table = snapshot.scan_ratings()
    if not worded or "answer" not in table.collect_schema():
        return {}
    told = (
        table.filter(
            pl.col("question").is_in(worded) & (pl.col("answer").fill_null("").str.strip_chars() != "")
        )
        .group_by(ITEM, maintain_order=True)
        .agg("answer")
        .collect()
    )
    return {(row[0], row[1]): tuple(row[2]) for row in told.iter_rows()}


def _of_benchmark(benchmark: Benchmark, options: ScoreOptions) -> Truth:
    study = benchmark.study
    items = benchmark.items if options.part is None else benchmark.part(options.part)
    table = _with_columns(items.select(*ITEM, "label", "standard_error", "answer", "n", "method", "split"))
    lowest = {
        q.id: min(study.scale_of(q.id).labels()) for q in study.asked if has_sides(study.scale_of(q.id))
    }
    floor = pl.col("question").replace_strict(lowest, default=None, return_dtype=pl.Float64)
    table = table.with_columns((pl.col("label") > floor).alias("present"))
    table, facts = _with_facts(table, benchmark.stimuli, table.select(*ITEM, "split"), study)
    nothing = pl.DataFrame(schema=_VOTES)
    answers = pl.DataFrame(
        schema={
            "rater": pl.String,
            **dict.fromkeys(ITEM, pl.String),
            "value": pl.Float64,
            "known": pl.Boolean,
        }
    )
    notes = (*benchmark.notes, BENCHMARK_CEILINGS)
    return Truth(study, table, nothing, answers, {}, facts, benchmark.hash, benchmark.ledger, notes)


def _with_facts(
    table: pl.DataFrame, stimuli: pl.DataFrame, items: pl.DataFrame, study: Study
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Add what is known of stimuli, items and questions; a name that is taken is not taken again."""
    taken = set(table.columns)
    of_stimuli = [n for n in stimuli.columns if n not in {*AT_HAND, *taken}]
    table = table.join(
        stimuli.select("stimulus", *of_stimuli), on="stimulus", how="left", maintain_order="left"
    )
    of_items = [n for n in items.columns if n not in {*taken, *of_stimuli}]
    if of_items:
        table = table.join(items.select(*ITEM, *of_items), on=ITEM, how="left", maintain_order="left")
    about = {q.id: dict(q.about) for q in study.asked}
    keys = dict.fromkeys(key for facts in about.values() for key in facts)
    of_questions = [key for key in keys if key not in table.columns]
    for key in of_questions:
        said = {name: facts.get(key) for name, facts in about.items()}
        column = pl.col("question").replace_strict(said, default=None, return_dtype=pl.String)
        table = table.with_columns(column.alias(key))
    for name in ("system", "intent"):
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    return table, tuple(dict.fromkeys((*of_stimuli, *of_items, *of_questions)))
