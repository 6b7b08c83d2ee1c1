"""What predictions are scored against: label, side, votes and texts of every item, with the columns to slice by; and the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import Benchmark, Labels, first_answers, labels
from heartfelt.labels.strengths import Of
from heartfelt.labels.vote_buckets import buckets, forced, has_sides
from heartfelt.media.probe import AT_HAND, MADE_AT
from heartfelt.predictors.answers.sets import COMPARED
from heartfelt.scoring.ground_truth.pair_truth import PairTruth, pair_truth
from heartfelt.scoring.ground_truth.sound import with_sound
from heartfelt.scoring.options import ItemSelection, ScoreOptions
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import published_part
from heartfelt.stats.prediction.jackknife import LEAST_UNITS
from heartfelt.study import Scale, Study
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import Ordered, Tags, YesNo
from heartfelt.study.scales.set_scale import Trace
from heartfelt.tables import LEDGER

ITEM = ["stimulus", "question"]
NO_RATINGS = "the source gives labels, not single ratings"
BENCHMARK_CEILINGS = (
    "A benchmark holds labels, not single ratings: ceilings of mean labels come from their standard errors, and "
    "categories have none."
)
_VALUES = {"stimulus": pl.String, "question": pl.String, "value": pl.Float64}
_VOTES = {**_VALUES, "votes": pl.Int64}
_ANSWERS = {"rater": pl.String, **_VALUES, "known": pl.Boolean}


def item_names(rows: pl.DataFrame) -> pl.Series:
    """One name for each item: its stimulus and question."""
    return rows.select(pl.concat_str(ITEM, separator="\x1f")).to_series()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Truth:
    """Every item that was rated, with its label where it has one.

    ``items`` has stimulus, question, label, present (for questions with two sides), n, unanimous, bucket, system, intent
    and every other column the source has on stimuli, items and questions; ``facts`` names those. ``texts`` are what raters
    wrote. ``answers`` are single ratings, for ceilings. Pairs that were compared are items too, under the pair's name, and
    ``compared`` then says which are; the label of a pair is the share in favour of the stimulus whose name comes first.
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
    pairs: PairTruth = field(default_factory=PairTruth)
    """What people answered where stimuli were compared, and the strengths of systems that follow."""
    courses: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The raters' course of every stimulus, where a question was answered with traces."""
    snapshot: Snapshot | None = None
    """The single ratings, where the source has them."""

    def items_of(self, task: ScoringTask) -> pl.DataFrame:
        items = self.items.filter(pl.col("question").is_in(task.questions))
        if "compared" not in items.columns:
            return items
        return items.filter(pl.col("compared").fill_null(False) == (task.kind == "choices"))

    def contestants(self, task: ScoringTask) -> Of:
        """What strengths belong to: stimuli, or systems where stimuli have too few (each prompt compared by itself, say)."""
        stimuli = self.items_of(task)["label"].count()
        systems = self.pairs.systems.get(task.questions[0], {})
        return "system" if stimuli < LEAST_UNITS <= len(systems) else "stimulus"

    def courses_of(self, task: ScoringTask) -> pl.DataFrame:
        """The raters' courses of a task, one row per stimulus."""
        if not self.courses.height:
            return self.courses
        with_samples = pl.col("question").is_in(task.questions) & pl.col("samples").is_not_null()
        return self.courses.filter(with_samples).join(
            self.items_of(task).select(ITEM), on=ITEM, how="semi", maintain_order="left"
        )

    @property
    def slices(self) -> list[str]:
        return [name for name in ("question", "bucket", *self.facts) if name in self.items.columns]

    def select(self, selection: ItemSelection) -> Truth:
        """Only the items that count, the others in the ledger."""
        # Strengths follow from all pairs: only the pairs are selected from.
        compared = [q.id for q in self.study.asked if isinstance(self.study.scale_of(q.id), COMPARED)]
        strength = pl.col("question").is_in(compared)
        if "compared" in self.items.columns:
            strength = strength & ~pl.col("compared").fill_null(False)
        strengths = self.items.filter(strength)
        retained, dropped = selection.apply(self.items.filter(~strength))
        retained = pl.concat([retained, strengths], how="diagonal") if strengths.height else retained
        if not retained.height:
            raise InputError(f"No item of '{self.study.name}' is left to score.", "Choose a less strict selection.")
        return replace(self, items=retained, ledger=pl.concat([self.ledger, dropped], how="diagonal"))


def tasks_of(study: Study, questions: Sequence[str]) -> tuple[list[ScoringTask], list[str]]:
    """The tasks of these questions, and notes on questions that are not scored.

    Questions answered with numbers or texts are tasks of their own; categories are scored together by their scale.
    """
    by_scale: dict[str, list[str]] = {}
    tasks: list[ScoringTask] = []
    notes: list[str] = []
    for name in questions:
        scale = study.scale_of(name)
        if isinstance(scale, Tags):
            notes.append(f"The question '{name}' is answered with tags, which are not scored.")
        elif isinstance(scale, (*COMPARED, Trace)) or scale.level == "text" or not scale.labels():
            tasks += _single_tasks(name, scale)
        else:
            by_scale.setdefault(study.question(name).scale, []).append(name)
    for scale_name, names in by_scale.items():
        title = names[0] if len(names) == 1 else scale_name
        tasks += _category_tasks(title, tuple(names), study.scale_of(names[0]))
    return tasks, notes


def _category_tasks(title: str, names: tuple[str, ...], scale: Scale) -> Iterator[ScoringTask]:
    """The tasks of questions that share a scale of categories."""
    if isinstance(scale, Ordered | YesNo):
        yield ScoringTask.of(title, "binary", names)
    if isinstance(scale, Ordered):
        yield ScoringTask.of(f"{title} (degree)", "ordinal", names)
    elif not isinstance(scale, YesNo):
        yield ScoringTask.of(title, "categories", names)


def _single_tasks(name: str, scale: Scale) -> Iterator[ScoringTask]:
    """The tasks of a question that is scored by itself."""
    if isinstance(scale, COMPARED):
        yield ScoringTask.of(name, "choices", (name,))
        yield ScoringTask.of(f"{name} (strength)", "strengths", (name,))
        return
    if isinstance(scale, Trace):
        yield ScoringTask.of(f"{name} (trace)", "traces", (name,))
    yield ScoringTask.of(name, "text" if scale.level == "text" else "numbers", (name,))


def truth_of(
    source: Snapshot | Benchmark | Labels,
    options: ScoreOptions | None = None,
    *,
    snapshot: Snapshot | None = None,
    loudness: bool = False,
) -> Truth:
    """The truth of a snapshot or a benchmark; or of labels made before, together with their ``snapshot``.

    With ``loudness`` sounds at hand are measured, to give errors by it.
    """
    options = options or ScoreOptions()
    if isinstance(source, Benchmark):
        truth = _of_benchmark(source, options)
    elif not isinstance(source, Labels):
        truth = _of_snapshot(source, None, options, loudness)
    elif snapshot is not None:
        truth = _of_snapshot(snapshot, source, options, loudness)
    else:
        raise InputError("Labels alone do not say what was asked.", "Pass the snapshot they were made from too.")
    if not truth.items.height:
        raise InputError(f"No item of '{truth.study.name}' has a label.", "Collect ratings, or score another source.")
    for name in options.slices or ():
        if name not in truth.slices:
            raise InputError(
                f"No column is called '{name}', so scores cannot be sliced by it.",
                suggestion(name, truth.slices, "There are"),
            )
    return truth.select(options.selection)


def _of_snapshot(
    snapshot: Snapshot, snapshot_labels: Labels | None, options: ScoreOptions, loudness: bool = False
) -> Truth:
    study = snapshot.study
    content, snapshot = snapshot.hash, snapshot.without_probes
    answers = first_answers(snapshot)
    snapshot_labels = snapshot_labels or labels(snapshot, answers=answers)
    table = snapshot_labels.table.select(
        *ITEM, pl.col("value").alias("label"), "standard_error", "answer", "n", "method"
    )
    table = _with_sides(table, snapshot, answers, options)
    votes = _votes(study, answers)
    agreed = pl.when(pl.col("votes").sum() > 1).then(pl.len() == 1).alias("unanimous")
    table = (
        _with_columns(table)
        .join(votes.group_by(ITEM).agg(agreed), on=ITEM, how="left", maintain_order="left", suffix="_all")
        .with_columns(pl.coalesce("unanimous", "unanimous_all").alias("unanimous"))
        .drop("unanimous_all")
    )
    texts = _texts(snapshot)
    written = pl.DataFrame(
        [(*key, len(item_texts)) for key, item_texts in texts.items()],
        schema={"stimulus": pl.String, "question": pl.String, "n": pl.Int64},
        orient="row",
    )
    table = pl.concat([table, written.with_columns(pl.lit("texts").alias("method"))], how="diagonal")
    table, facts = _with_facts(table, snapshot.stimuli, snapshot.items, study)
    part = None if options.part is None else published_part(snapshot.stimuli, options.part)
    if part is not None:
        table = table.filter(pl.col("stimulus").is_in(part))
    table, of_sound = with_sound(table, snapshot, measure=loudness, wanted=options.slices or ())
    pairs = pair_truth(snapshot, snapshot_labels.strengths, part)
    table = pl.concat([table, pairs.items], how="diagonal") if pairs.items.height else table
    return Truth(
        study=study,
        items=table,
        votes=votes,
        answers=answers,
        texts=texts,
        facts=(*facts, *of_sound, *pairs.facts),
        hash=content,
        ledger=snapshot_labels.ledger,
        notes=snapshot_labels.notes,
        pairs=pairs,
        courses=snapshot_labels.courses,
        snapshot=snapshot,
    )


def _with_sides(table: pl.DataFrame, snapshot: Snapshot, answers: pl.DataFrame, options: ScoreOptions) -> pl.DataFrame:
    """The items with the side that most raters took, where a question has two sides."""
    study = snapshot.study
    sided = [q.id for q in study.asked if has_sides(study.scale_of(q.id))]
    if not sided or not answers["question"].is_in(sided).any():
        return table
    sides = buckets(snapshot, answers=answers).table
    if options.ties == "lowest":
        sides = forced(sides, study, contradict=True)
    sides = sides.select(*ITEM, pl.col("majority_present").alias("present"), "unanimous", "bucket")
    return table.join(sides, on=ITEM, how="left", maintain_order="left")


def _votes(study: Study, answers: pl.DataFrame) -> pl.DataFrame:
    """How often each category was answered, by item."""
    categorical = [q.id for q in study.asked if study.scale_of(q.id).labels()]
    if not categorical:
        return pl.DataFrame(schema=_VOTES)
    by_answer = answers.filter(pl.col("question").is_in(categorical)).group_by(*ITEM, "value")
    return by_answer.agg(pl.len().cast(pl.Int64).alias("votes")).sort(*ITEM, "value")


def _with_columns(table: pl.DataFrame) -> pl.DataFrame:
    wanted = {"present": pl.Boolean, "unanimous": pl.Boolean, "bucket": pl.String}
    return table.with_columns(
        pl.lit(None, dtype=kind).alias(name) for name, kind in wanted.items() if name not in table.columns
    )


def _texts(snapshot: Snapshot) -> dict[tuple[str, str], tuple[str, ...]]:
    """What raters wrote on each item of a question answered in words."""
    study = snapshot.study
    worded = [q.id for q in study.asked if study.scale_of(q.id).level == "text"]
    table = snapshot.scan_ratings()
    if not worded or "answer" not in table.collect_schema():
        return {}
    written = ~pl.col("answer").fill_null("").str.strip_chars().is_in(["", NONE])
    texts = (
        table.filter(pl.col("question").is_in(worded) & written)
        .group_by(ITEM, maintain_order=True)
        .agg("answer")
        .collect()
    )
    return {(row["stimulus"], row["question"]): tuple(row["answer"]) for row in texts.iter_rows(named=True)}


def _of_benchmark(benchmark: Benchmark, options: ScoreOptions) -> Truth:
    study = benchmark.study
    items = benchmark.items if options.part is None else benchmark.part(options.part)
    table = _with_columns(items.select(*ITEM, "label", "standard_error", "answer", "n", "method", "split"))
    lowest = {q.id: min(study.scale_of(q.id).labels()) for q in study.asked if has_sides(study.scale_of(q.id))}
    floor = pl.col("question").replace_strict(lowest, default=None, return_dtype=pl.Float64)
    table = table.with_columns((pl.col("label") > floor).alias("present"))
    table, facts = _with_facts(table, benchmark.stimuli, table.select(*ITEM, "split"), study)
    pairs, courses = pair_truth(benchmark, benchmark.strengths, options.part), benchmark.courses
    table = pl.concat([table, pairs.items], how="diagonal") if pairs.items.height else table
    if options.part is not None and courses.height:
        courses = courses.filter(pl.col("split") == options.part)
    return Truth(
        study=study,
        items=table,
        votes=pl.DataFrame(schema=_VOTES),
        answers=pl.DataFrame(schema=_ANSWERS),
        texts={},
        facts=(*facts, *pairs.facts),
        hash=benchmark.hash,
        ledger=benchmark.ledger,
        notes=(*benchmark.notes, BENCHMARK_CEILINGS),
        pairs=pairs,
        courses=courses,
    )


def _with_facts(
    table: pl.DataFrame, stimuli: pl.DataFrame, items: pl.DataFrame, study: Study
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Add the columns of stimuli, items and questions; of columns with the same name the first stays."""
    present = set(table.columns)
    of_stimuli = [name for name in stimuli.columns if name not in {*AT_HAND, MADE_AT, *present}]
    table = table.join(stimuli.select("stimulus", *of_stimuli), on="stimulus", how="left", maintain_order="left")
    of_items = [name for name in items.columns if name not in {*present, *of_stimuli}]
    if of_items:
        table = table.join(items.select(*ITEM, *of_items), on=ITEM, how="left", maintain_order="left")
    about = {q.id: q.about for q in study.asked}
    of_questions = [key for key in dict.fromkeys(chain.from_iterable(about.values())) if key not in table.columns]
    for key in of_questions:
        values = {name: facts.get(key) for name, facts in about.items()}
        column = pl.col("question").replace_strict(values, default=None, return_dtype=pl.String)
        table = table.with_columns(column.alias(key))
    lacking = [name for name in ("system", "intent") if name not in table.columns]
    table = table.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in lacking)
    return table, tuple(dict.fromkeys((*of_stimuli, *of_items, *of_questions)))
