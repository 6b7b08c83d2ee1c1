"""Labels from ratings: one number or category for each item, with standard error, interval, count and spread.

Only first presentations count. An item with fewer ratings than the study's ``minimum_ratings`` gets no label and a row in the
ledger; so does an item nobody rated. ``value`` is the number, or the code of the category; ``answer`` is the category in
words. Where the most frequent categories are tied there is no label, and ``why_missing`` says so.

Methods: ``mean``, ``median`` and ``p910`` (ITU-T P.910 Annex E) for numbers and ordered categories; ``mode`` and ``dawid-skene``
for categories, with the winning category's ``share`` (votes, or posterior probability). ``published mean`` marks means that a
source gave in place of ratings. By default scales with numbers get the mean and categories the mode. Intervals of means are
Student's t over the item's own ratings, limited to the scale; ratings that are all equal show no spread and give no interval.
Intervals of medians are order statistics and need six ratings. Bounds of a mode's share are exact and allow for its having been
chosen. Dawid-Skene takes all questions on one scale together, since a rater's habits belong to the rater; its posterior has no
interval. P.910 takes each question by itself, with inconsistencies shrunk towards the panel's so that no rater dominates where
items have few ratings.

Questions answered by comparing get strengths (:mod:`heartfelt.labels.strengths`), and questions answered with traces the course
their raters share as well (:mod:`heartfelt.labels.traces`). Items that a senior rater decided: see
:mod:`heartfelt.labels.adjudicated`. A stimulus that a rater judged in several sets counts with the
mean of its values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Annotated, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels.adjudicated import Adjudicated, decision_notes, with_decisions
from heartfelt.labels.columns import ITEM as ITEM
from heartfelt.labels.columns import ITEM_COLUMNS, count, estimate_columns, number, text
from heartfelt.labels.none_answers import mostly_none
from heartfelt.labels.strengths import COMPARED, STRENGTHS, Contest, Of, contest, strengths_table
from heartfelt.labels.traces import COURSES, mean_traces
from heartfelt.options import Option, check
from heartfelt.representation import ShortRepr
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import has_sets
from heartfelt.stats import aggregate
from heartfelt.stats.aggregate import Aggregate, CategoryConsensus
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Scale, Study
from heartfelt.tables import LEDGER, Contract

Method: TypeAlias = Literal["mean", "median", "mode", "p910", "dawid-skene"]
Floats: TypeAlias = npt.NDArray[np.float64]

METHODS: tuple[str, ...] = get_args(Method)
PUBLISHED = "published mean"
STAGE = "label"
UNKNOWN = "\x00unknown rater "

NO_SPREAD = "all ratings are equal: no interval"
ONE_RATING = "one rating: no interval"
_NO_ERROR = 1e-12
"""Below this, ratings are all equal."""

LABELS = Contract(
    "labels",
    "one row per item with a label",
    (
        *ITEM_COLUMNS,
        *estimate_columns("value", "the label, or the code of its category"),
        count("n", "ratings behind it", nullable=True),
        number("sd", "standard deviation of the ratings", nullable=True),
        text("method", "how the label was made"),
        text("answer", "the category in words", nullable=True),
        number("share", "votes for, or probability of, the category", nullable=True),
        number("share_low", "lower bound of the share", nullable=True),
        number("share_high", "upper bound of the share", nullable=True),
        text("why_missing", "why there is no label or no interval", nullable=True),
    ),
    key=tuple(ITEM),
)
_NUMBERS: dict[str, Callable[..., Aggregate]] = {
    "mean": aggregate.mean,
    "median": aggregate.median,
    "p910": partial(aggregate.p910, shrinkage=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions:
    """How labels are made; what is None is taken from the scale and the study."""

    method: Annotated[
        Method | None, Option(help="How labels are made; the mean of numbers and the mode of categories if left out.")
    ] = None
    minimum_ratings: Annotated[
        int | None,
        Option(
            help="Items with fewer ratings get no label but a row in the ledger; the study's own minimum if left out.",
            low=1,
        ),
    ] = None
    ties: Annotated[
        Literal["missing", "lowest", "highest"], Option(help="What to do where the most frequent categories are tied.")
    ] = "missing"
    confidence: Annotated[float, Option(help="Confidence of the intervals.")] = 0.95
    adjudicated: Annotated[
        Adjudicated,
        Option(help="Which labels are those that senior raters decided: of questions with categories, all, or none."),
    ] = "categories"

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in METHODS:
            raise InputError(f"No label method is called '{self.method}'.", suggestion(self.method, METHODS))
        if not 0 < self.confidence < 1 or (self.minimum_ratings is not None and self.minimum_ratings < 1):
            raise InputError(
                "Labels need a confidence between 0 and 1 and at least one rating.", "Leave both out for the defaults."
            )
        check(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Labels(ShortRepr):
    """The labels, and a ledger of the items without one.

    ``strengths`` are those of systems and stimuli under questions answered by comparing; ``courses`` what the raters of
    traces share.
    """

    table: pl.DataFrame
    ledger: pl.DataFrame
    notes: tuple[str, ...] = ()
    strengths: pl.DataFrame = field(default_factory=STRENGTHS.empty)
    courses: pl.DataFrame = field(default_factory=COURSES.empty)
    contests: tuple[Contest, ...] = ()
    """The comparisons behind the strengths."""

    @property
    def system_strengths(self) -> dict[tuple[str, str], Estimate]:
        """The strength of every system that has one, by question and system."""
        return {
            (contest.question, str(name)): strength
            for contest in self.contests
            if contest.of == "system"
            for name, strength in zip(contest.result.names, contest.result.strengths, strict=True)
            if not strength.is_missing
        }


def first_answers(snapshot: Snapshot) -> pl.DataFrame:
    """``rater, stimulus, question, value, known``: one finite value per rater and item, probes left out.

    A rater's several answers to an item are averaged; of categories, and where the study repeats stimuli to test raters, the
    first counts. Answers to questions that compare stimuli are no values of a stimulus and are left out.

    A rater whom the source does not name gets an id of their own for every answer, so that nothing downstream takes two
    anonymous votes for one person's. ``known`` says which ids are real.
    """
    snapshot = snapshot.without_probes
    table = snapshot.scan_ratings()
    repeats = "repeat" in table.collect_schema()
    if repeats:
        table = counted_presentations(table, snapshot.study)
    named = pl.col("rater").is_not_null()
    anonymous = pl.concat_str(pl.lit(UNKNOWN), pl.col("_row").cast(pl.String))
    rater = pl.when(named).then(pl.col("rater")).otherwise(anonymous).alias("rater")
    table = table.with_row_index("_row").filter(pl.col("value").is_finite())
    compared = [q.id for q in snapshot.study.asked if not snapshot.study.scale_of(q.id).has_values]
    table = table.filter(~pl.col("question").is_in(compared)) if compared else table
    answers = table.select(rater, *ITEM, "value", named.alias("known")).collect()
    if not has_sets(table) and not snapshot.survey.doubled and not repeats:
        return answers
    together = answers.group_by("rater", *ITEM, maintain_order=True)
    return together.agg(pl.mean("value"), pl.first("known"))


def counted_presentations(ratings: pl.LazyFrame, study: Study) -> pl.LazyFrame:
    """The ratings that count towards results, of a table with a column ``repeat``: without repeats that test the rater, and
    without those of categories, which cannot be averaged.
    """
    first = pl.col("repeat").fill_null(0) == 0
    if study.repeats_are_probes:
        return ratings.filter(first)
    categories = [q.id for q in study.asked if study.scale_of(q.id).level in ("nominal", "ordinal")]
    return ratings.filter(first | ~pl.col("question").is_in(categories)) if categories else ratings


def labels(snapshot: Snapshot, options: LabelOptions | None = None, *, answers: pl.DataFrame | None = None) -> Labels:
    """Make a label for every item with enough ratings; ``answers`` are those of ``first_answers``, if at hand.

    Stimuli that the study sets aside as probes get none.
    """
    options = options or LabelOptions()
    snapshot = snapshot.without_probes
    study = snapshot.study
    scales = {question.id: study.scale_of(question.id) for question in study.asked}
    compared = [name for name, scale in scales.items() if isinstance(scale, COMPARED)]
    usable = [name for name, scale in scales.items() if scale.has_values]
    answers = first_answers(snapshot) if answers is None else answers
    answers = answers.filter(pl.col("question").is_in(usable))
    none = mostly_none(snapshot.without_probes, answers)
    answers = answers.join(none, on=ITEM, how="anti", maintain_order="left") if none.height else answers
    least = options.minimum_ratings or study.design.minimum_ratings
    counted = answers.group_by(ITEM, maintain_order=True).len("n")
    short = counted.filter(pl.col("n") < least)
    enough = answers.join(short, on=ITEM, how="anti", maintain_order="left")
    rated = set(counted["question"])
    parts = [LABELS.empty(), *_from_ratings(enough, study, options)]
    parts.append(_from_means(snapshot, sorted(set(usable) - rated), options))
    contests = _contests(snapshot, compared, options.confidence)
    strengths = strengths_table(contests, least)
    notes = dict.fromkeys(chain.from_iterable(contest.notes for contest in contests))
    parts.append(_complete(strengths.filter(pl.col("of") == "stimulus").rename({"name": "stimulus"})))
    parts.append(_complete(none.filter(pl.col("question").is_in(usable))))
    table = pl.concat(parts, how="vertical_relaxed")
    if snapshot.adjudications.height:
        table = with_decisions(table, snapshot, usable, options.adjudicated, answers)
        short = short.join(table, on=ITEM, how="anti", maintain_order="left")
    question_ids = [name for name in scales if name in {*usable, *compared}]
    table = table.sort(pl.col("question").cast(pl.Enum(question_ids)), maintain_order=True)
    ledger = _ledger(snapshot, table, short, question_ids, least)
    return Labels(
        table=table,
        ledger=ledger,
        notes=(*_notes(snapshot, answers), *decision_notes(table), *notes),
        strengths=strengths,
        courses=mean_traces(snapshot, least),
        contests=contests,
    )


def _contests(snapshot: Snapshot, questions: list[str], confidence: float) -> tuple[Contest, ...]:
    """Systems and stimuli under questions answered by comparing."""
    levels: tuple[Of, ...] = ("system", "stimulus")
    every = [contest(snapshot, question, of, confidence) for question in questions for of in levels]
    return tuple(contest for contest in every if contest is not None)


def default_method(scale: Scale) -> str:
    """The default method on a scale: the mean of numbers, the mode of categories."""
    return "mean" if scale.level == "interval" else "mode"


def _from_ratings(answers: pl.DataFrame, study: Study, options: LabelOptions) -> list[pl.DataFrame]:
    by_question = {str(key[0]): part for key, part in answers.partition_by("question", as_dict=True).items()}
    groups: dict[tuple[str, str], list[str]] = {}
    for name, part in by_question.items():
        method = options.method or default_method(study.scale_of(name))
        _check(name, method, study.scale_of(name), part)
        together = study.question(name).scale if method == "dawid-skene" else name
        groups.setdefault((method, together), []).append(name)
    return [
        _labelled(pl.concat([by_question[name] for name in names]), study.scale_of(names[0]), method, options)
        for (method, _), names in groups.items()
    ]


def _unordered(scale: Scale) -> bool:
    return scale.level == "nominal" and len(scale.labels()) > 2


def _check(question: str, method: str, scale: Scale, answers: pl.DataFrame) -> None:
    if _unordered(scale) and method in _NUMBERS:
        raise InputError(
            f"The question '{question}' has categories without an order: they have no {method}.",
            "Use mode or dawid-skene.",
        )
    if scale.level == "interval" and method == "dawid-skene":
        raise InputError(
            f"The question '{question}' is answered with numbers, not with categories.", "Use mean, median or p910."
        )
    if method in ("p910", "dawid-skene") and not answers["known"].all():
        raise InputError(
            f"The ratings of '{question}' do not say who gave them, which {method} needs to know.",
            "Use mean, median or mode.",
        )


def _labelled(answers: pl.DataFrame, scale: Scale, method: str, options: LabelOptions) -> pl.DataFrame:
    """Labels of the items of one scale."""
    codes = answers.select(pl.struct(ITEM).rank("dense").cast(pl.Int64) - 1).to_series()
    sd = pl.lit(None, pl.Float64) if _unordered(scale) else pl.std("value")
    spread = answers.group_by(codes.alias("item")).agg(
        pl.first(*ITEM), sd.alias("sd"), pl.len().cast(pl.Int64).alias("n")
    )
    # Codes are ranks of (stimulus, question), so that items come in one order whatever that of the rows.
    triples = answers["rater"], codes.to_numpy(), answers["value"].to_numpy()
    category_codes = sorted(scale.labels()) or None
    consensus: Aggregate | CategoryConsensus
    if method in _NUMBERS:
        consensus = _NUMBERS[method](*triples)
        columns = _numbers(consensus, scale, options.confidence)
    else:
        consensus = (
            aggregate.mode(*triples, ties=options.ties, categories=category_codes)
            if method == "mode"
            else aggregate.dawid_skene(*triples, categories=category_codes)
        )
        columns = _categories(consensus, scale, options.confidence)
    columns = columns.with_columns(pl.Series("item", [int(name) for name in consensus.items], dtype=pl.Int64))
    return _complete(spread.sort("item").join(columns, on="item", how="left", maintain_order="left"))


def _complete(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame under the contract of labels; columns it lacks are empty."""
    lacking = [pl.lit(None).alias(name) for name in LABELS.names if name not in frame.columns]
    return frame.with_columns(lacking).select(LABELS.names).cast(dict(LABELS.empty().schema))  # type: ignore[arg-type]  # polars' own alias is narrower


def _numbers(consensus: Aggregate, scale: Scale, confidence: float) -> pl.DataFrame:
    values, errors = np.asarray(consensus.values), np.asarray(consensus.standard_errors)
    low, high = consensus.bounds(confidence)
    limits, words = scale.bounds(), scale.labels()
    if limits is not None:
        low, high = np.clip(low, *limits), np.clip(high, *limits)
    if consensus.why_no_interval is not None or consensus.order_bounds is not None:
        reason = f"no interval: {consensus.why_no_interval or consensus.why_no_error}"
        reasons = pl.Series([None, reason], dtype=pl.String).gather(np.where(np.isfinite(low), 0, 1))
    else:
        reasons = _reasons(errors, ONE_RATING)
    named = {"value": values, "standard_error": errors, "low": low, "high": high}
    columns = {name: _gaps(column) for name, column in named.items()}
    answer = pl.Series([words.get(value) for value in values.tolist()], dtype=pl.String)
    return pl.DataFrame({**columns, "method": consensus.method, "answer": answer, "why_missing": reasons})


def _categories(consensus: CategoryConsensus, scale: Scale, confidence: float) -> pl.DataFrame:
    words = scale.labels()
    low, high = consensus.share_bounds(confidence)
    values = pl.Series([None if value is None else float(value) for value in consensus.values], dtype=pl.Float64)
    answers = [None if value is None else words.get(value) for value in values]
    return pl.DataFrame(
        {
            "value": values,
            "method": consensus.method,
            "answer": pl.Series(answers, dtype=pl.String),
            "share": _gaps(np.asarray(consensus.shares)),
            "share_low": _gaps(low),
            "share_high": _gaps(high),
            "why_missing": pl.Series(
                [consensus.why_missing if value is None else None for value in values], dtype=pl.String
            ),
        }
    )


def _gaps(column: Floats) -> pl.Series:
    """The column with nothing where there is no finite number."""
    return pl.Series(np.where(np.isfinite(column), column, np.nan), dtype=pl.Float64).fill_nan(None)


def _reasons(errors: Floats, unknown: str) -> pl.Series:
    """Why an item has no interval: its ratings are all equal, or the error is ``unknown``; nothing where it has one."""
    which = np.where(np.isfinite(errors), np.where(errors <= _NO_ERROR, 0, 2), 1)
    return pl.Series([NO_SPREAD, unknown, None], dtype=pl.String).gather(which)


def _from_means(snapshot: Snapshot, questions: list[str], options: LabelOptions) -> pl.DataFrame:
    """Published means of questions that have no ratings of their own."""
    from scipy.special import stdtrit

    means = snapshot.means.filter(pl.col("question").is_in(questions) & pl.col("mean").is_finite())
    means = means.rename({"mean": "value"}).select(
        pl.col(name) for name in (*ITEM, "value", "sd", "n") if name in means.columns or name == "value"
    )
    means = _complete(means.with_columns(pl.lit(PUBLISHED).alias("method")))
    n = means["n"].fill_null(0).to_numpy().astype(np.float64)
    sd = means["sd"].fill_null(np.nan).to_numpy()
    errors = np.where(n > 1, sd / np.sqrt(np.maximum(n, 1.0)), np.nan)
    # A single rating has no error, so any reach serves; stdtrit needs one degree of freedom.
    reach = stdtrit(np.maximum(n - 1, 1), 0.5 + options.confidence / 2)
    half = np.where(errors > _NO_ERROR, errors, np.nan) * reach
    value = means["value"].to_numpy()
    return means.with_columns(
        _gaps(errors).alias("standard_error"),
        _gaps(value - half).alias("low"),
        _gaps(value + half).alias("high"),
        _reasons(errors, "the source gives no spread or count: no interval").alias("why_missing"),
    )


def _why_unrated(study: Study) -> pl.Expr:
    """Why items have no ratings: a question that is asked under a condition may have had no reason to be asked."""
    conditional = [question.id for question in study.asked if question.show_if]
    is_conditional = pl.when(pl.col("question").is_in(conditional))
    reason = is_conditional.then(pl.lit("no ratings: the question is asked only under a condition"))
    return reason.otherwise(pl.lit("no ratings")).alias("reason")


def _ledger(
    snapshot: Snapshot, table: pl.DataFrame, short: pl.DataFrame, usable: list[str], least: int
) -> pl.DataFrame:
    """Items without a label: too few ratings, a tie, no ratings at all."""
    few = pl.format("{} of the {} ratings a label needs", "n", pl.lit(str(least))).alias("reason")
    tied = pl.format("no label: {}", "why_missing").alias("reason")
    answered = {*table["question"].unique(), *short["question"].unique()}
    silent = pl.DataFrame(
        {"question": [name for name in usable if name not in answered]}, schema={"question": pl.String}
    )
    ledgered = snapshot.ledger["stimulus"].drop_nulls() if "stimulus" in snapshot.ledger.columns else pl.Series([])
    unrated = snapshot.items.select(ITEM).filter(
        pl.col("question").is_in(sorted(answered)) & ~pl.col("stimulus").is_in(ledgered.cast(pl.String).to_list())
    )
    for part in (table, short):
        unrated = unrated.join(part.select(ITEM), on=ITEM, how="anti", maintain_order="left")
    rows = pl.concat(
        [
            short.select(*ITEM, few),
            table.filter(pl.col("value").is_null()).select(*ITEM, tied),
            unrated.with_columns(_why_unrated(snapshot.study)),
            silent.with_columns(pl.lit("nobody answered this question").alias("reason")),
        ],
        how="diagonal",
    )
    kind = pl.when(pl.col("stimulus").is_null()).then(pl.lit("question")).otherwise(pl.lit("item"))
    rows = rows.with_columns(kind.alias("what"), pl.lit(None, pl.String).alias("rater"), pl.lit(STAGE).alias("stage"))
    return LEDGER.check(rows.select(LEDGER.names), "labels")


def _notes(snapshot: Snapshot, answers: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    table = snapshot.scan_ratings()
    if "repeat" in table.collect_schema():
        again = table.filter(pl.col("repeat").fill_null(0) > 0)
        # A comparison has a row for every stimulus of its trial.
        answer = ["rater", "question", "repeat", "trial" if "trial" in table.collect_schema() else "stimulus"]
        every, used = (
            int(rows.select(pl.struct(answer).n_unique()).collect().item())
            for rows in (again, counted_presentations(again, snapshot.study))
        )
        unused = every - used
        if unused:
            notes.append(f"{unused:,} answers to repeated presentations are not used.")
        if used:
            notes.append(f"{used:,} answers repeat an earlier one of the same rater; all are used.")
    unknown = int((~answers["known"]).sum())
    if unknown:
        notes.append(f"{unknown:,} answers do not say who gave them.")
    return tuple(notes)
