"""Labels from ratings: one number or category for each item, with standard error, interval, count and spread.

Only first presentations count. An item with fewer ratings than the study's ``minimum_ratings`` gets no label and a row
in the ledger; so does an item nobody rated. ``value`` is the number, or the code of the category; ``answer`` is the
category in words. Where the most frequent categories are tied there is no label, and ``why_missing`` says so.

Methods: ``mean``, ``median`` and ``p910`` (ITU-T P.910 Annex E) for numbers and ordered categories; ``mode`` and
``dawid-skene`` for categories, with the winning category's ``share`` (votes, or posterior probability). ``published`` marks
means that a source gave in place of ratings. Unless one is named, scales with numbers get the mean and categories the
mode. Intervals of means are Student's t over the item's own ratings, held on the scale; ratings that are all equal
show no spread and give no interval. Intervals of medians are order statistics and need six ratings. Bounds of a
mode's share are exact and allow for its having been chosen. Dawid-Skene takes all questions on one scale together,
since a rater's habits belong to the rater; its posterior has no interval. P.910 takes each question by itself, with
inconsistencies shrunk towards the panel's so that no rater takes over where items have few ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels.answers import first_answers
from heartfelt.representation import ShortRepr
from heartfelt.snapshot import Snapshot
from heartfelt.stats import aggregate
from heartfelt.stats.aggregate import Aggregate, Consensus
from heartfelt.study import Scale, Study
from heartfelt.tables import LEDGER, Column, Contract

Method: TypeAlias = Literal["mean", "median", "mode", "p910", "dawid-skene"]
METHODS: tuple[str, ...] = get_args(Method)
PUBLISHED = "published mean"
STAGE = "label"

NO_SPREAD = "all ratings are equal: no interval"
ONE_RATING = "one rating: no interval"
_NO_ERROR = 1e-12
"""Below this, ratings are all equal."""

LABELS = Contract(
    "labels",
    "one row per item with a label",
    (
        Column("stimulus", pl.String, "the stimulus id"),
        Column("question", pl.String, "the question id"),
        Column("value", pl.Float64, "the label, or the code of its category", nullable=True),
        Column("standard_error", pl.Float64, "of the value", nullable=True),
        Column("low", pl.Float64, "lower bound of the value's interval", nullable=True),
        Column("high", pl.Float64, "upper bound of the value's interval", nullable=True),
        Column("n", pl.Int64, "ratings behind it", nullable=True),
        Column("sd", pl.Float64, "standard deviation of the ratings", nullable=True),
        Column("method", pl.String, "how the label was made"),
        Column("answer", pl.String, "the category in words", nullable=True),
        Column("share", pl.Float64, "votes for, or probability of, the category", nullable=True),
        Column("share_low", pl.Float64, "lower bound of the share", nullable=True),
        Column("share_high", pl.Float64, "upper bound of the share", nullable=True),
        Column("why_missing", pl.String, "why there is no label or no interval", nullable=True),
    ),
    key=("stimulus", "question"),
)

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """How labels are made; what is None is taken from the scale and the study."""

    method: str | None = None
    minimum_ratings: int | None = None
    ties: Literal["missing", "lowest", "highest"] = "missing"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in METHODS:
            raise InputError(
                f"There is no way to make labels called '{self.method}'.", suggestion(self.method, METHODS)
            )
        if not 0 < self.confidence < 1 or (self.minimum_ratings is not None and self.minimum_ratings < 1):
            raise InputError(
                "Labels need a level between 0 and 1 and at least one rating.",
                "Leave both out for the usual.",
            )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Labels(ShortRepr):
    """The labels, and a ledger of the items without one."""

    table: pl.DataFrame
    ledger: pl.DataFrame
    notes: tuple[str, ...] = field(default=())


def labels(
    snapshot: Snapshot, options: LabelOptions | None = None, *, answers: pl.DataFrame | None = None
) -> Labels:
    """Make a label for every item with enough ratings; ``answers`` are those of ``first_answers``, if at hand.

    Stimuli that the study sets aside as probes get none.
    """
    options = options or LabelOptions()
    snapshot = snapshot.without_probes
    study = snapshot.study
    usable = [q.id for q in study.asked if study.scale_of(q.id).level != "text"]
    answers = first_answers(snapshot) if answers is None else answers
    answers = answers.filter(pl.col("question").is_in(usable))
    least = options.minimum_ratings or study.design.minimum_ratings
    counted = answers.group_by("stimulus", "question", maintain_order=True).len("n")
    short = counted.filter(pl.col("n") < least)
    enough = answers.join(short, on=["stimulus", "question"], how="anti", maintain_order="left")
    parts = [LABELS.empty(), *_from_ratings(enough, study, options)]
    parts.append(_from_means(snapshot, counted, usable, options))
    table = pl.concat(parts, how="vertical_relaxed")
    order = {name: place for place, name in enumerate(usable)}
    table = table.sort(pl.col("question").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)
    return Labels(table, _ledger(snapshot, table, short, usable, least), _notes(snapshot, answers))


def default_method(scale: Scale) -> str:
    """The usual way to make labels on a scale: the mean of numbers, the mode of categories."""
    return "mean" if scale.level == "interval" else "mode"


def _from_ratings(answers: pl.DataFrame, study: Study, options: LabelOptions) -> list[pl.DataFrame]:
    by_question = {str(key[0]): part for key, part in answers.partition_by("question", as_dict=True).items()}
    methods = {name: options.method or default_method(study.scale_of(name)) for name in by_question}
    for name, method in methods.items():
        _check(name, method, study.scale_of(name), by_question[name])
    out: list[pl.DataFrame] = []
    pooled: dict[str, list[str]] = {}
    for name, method in methods.items():
        if method == "dawid-skene":
            pooled.setdefault(study.question(name).scale, []).append(name)
        else:
            out.append(_labelled(by_question[name], study.scale_of(name), method, options))
    for names in pooled.values():
        together = pl.concat([by_question[name] for name in names])
        out.append(_labelled(together, study.scale_of(names[0]), "dawid-skene", options))
    return out


def _check(question: str, method: str, scale: Scale, answers: pl.DataFrame) -> None:
    unordered = scale.level == "nominal" and len(scale.labels()) > 2
    if unordered and method in ("mean", "median", "p910"):
        raise InputError(
            f"The question '{question}' has categories without an order: they have no {method}.",
            "Use mode or dawid-skene.",
        )
    if scale.level == "interval" and method == "dawid-skene":
        raise InputError(
            f"The question '{question}' is answered with numbers, not with categories.",
            "Use mean, median or p910.",
        )
    if method in ("p910", "dawid-skene") and not answers["known"].all():
        raise InputError(
            f"The ratings of '{question}' do not say who gave them, which {method} needs to know.",
            "Use mean, median or mode.",
        )


def _labelled(answers: pl.DataFrame, scale: Scale, method: str, options: LabelOptions) -> pl.DataFrame:
    """Labels of the items of one scale."""
    codes = answers.select(pl.struct("stimulus", "question").rank("dense").cast(pl.Int64) - 1).to_series()
    spread = (
        answers.with_columns(codes.alias("item"))
        .group_by("item")
        .agg(
            pl.first("stimulus", "question"), pl.std("value").alias("sd"), pl.len().cast(pl.Int64).alias("n")
        )
        .sort("item")
    )
    rater, item, value = answers["rater"], codes.to_numpy(), answers["value"].to_numpy()
    if method in ("mode", "dawid-skene"):
        found = _consensus(method, (rater, item, value), scale, options)
        columns = _category_columns(found, scale, options)
        items: Sequence[Any] = found.items
    else:
        number = _NUMBERS[method](rater, item, value)
        columns = _number_columns(number, scale, options)
        items = number.items
    made = pl.DataFrame(
        {"item": [int(name) for name in items], **columns}, schema_overrides=_SCHEMA | {"item": pl.Int64}
    )
    if scale.level == "nominal" and len(scale.labels()) > 2:
        spread = spread.with_columns(pl.lit(None, dtype=pl.Float64).alias("sd"))
    joined = spread.join(made, on="item", how="left", maintain_order="left")
    return joined.select(LABELS.names).cast(_SCHEMA)  # type: ignore[arg-type]  # polars' own alias is narrower


_SCHEMA: dict[str, Any] = {column.name: column.dtype for column in LABELS.columns}
_NUMBERS: dict[str, Callable[..., Aggregate]] = {
    "mean": aggregate.mean,
    "median": aggregate.median,
    "p910": partial(aggregate.p910, shrinkage=True),
}


def _consensus(method: str, columns: tuple[Any, Any, Any], scale: Scale, options: LabelOptions) -> Consensus:
    known = sorted(scale.labels()) or None
    if method == "mode":
        return aggregate.mode(*columns, ties=options.ties, categories=known)
    return aggregate.dawid_skene(*columns, categories=known)


def _number_columns(found: Aggregate, scale: Scale, options: LabelOptions) -> dict[str, Any]:
    values, errors = np.asarray(found.values), np.asarray(found.standard_errors)
    low, high = found.bounds(options.confidence)
    limits = scale.bounds()
    if limits is not None:
        low, high = np.clip(low, *limits), np.clip(high, *limits)
    words = scale.labels()
    return {
        "value": _gaps(values),
        "standard_error": _gaps(errors),
        "low": _gaps(low),
        "high": _gaps(high),
        "method": [found.method] * values.size,
        "answer": [words.get(value) for value in values.tolist()] if words else [None] * values.size,
        "share": [None] * values.size,
        "share_low": [None] * values.size,
        "share_high": [None] * values.size,
        "why_missing": _why_no_interval(found, low),
    }


def _why_no_interval(found: Aggregate, low: Floats) -> pl.Series:
    """Why an item has no interval; nothing where it has one."""
    if found.why_no_interval is not None or found.order_bounds is not None:
        why = found.why_no_interval or found.why_no_error
        return pl.Series([None, f"no interval: {why}"], dtype=pl.String).gather(
            np.where(np.isfinite(low), 0, 1)
        )
    return _reasons(np.asarray(found.standard_errors), ONE_RATING)


def _bounds(values: Floats, errors: Floats, n: Any, confidence: float) -> tuple[Floats, Floats]:
    from scipy.special import stdtrit

    reach = stdtrit(np.maximum(n - 1, 1).astype(np.float64), 0.5 + confidence / 2)
    half = np.where(np.isfinite(errors) & (errors > _NO_ERROR), errors, np.nan) * reach
    return values - half, values + half


def _category_columns(found: Consensus, scale: Scale, options: LabelOptions) -> dict[str, Any]:
    words = scale.labels()
    shares, n = np.asarray(found.shares), np.asarray(found.counts)
    low, high = found.share_bounds(options.confidence)
    values = [None if value is None else float(value) for value in found.values]
    nothing = [None] * n.size
    return {
        "value": values,
        "standard_error": nothing,
        "low": nothing,
        "high": nothing,
        "method": [found.method] * n.size,
        "answer": [None if value is None else words.get(value) for value in values],
        "share": _gaps(shares),
        "share_low": _gaps(low),
        "share_high": _gaps(high),
        "why_missing": [found.why_missing if value is None else None for value in values],
    }


def _gaps(column: Floats) -> pl.Series:
    """The column with nothing where there is no finite number."""
    return pl.Series(np.where(np.isfinite(column), column, np.nan), dtype=pl.Float64).fill_nan(None)


def _reasons(errors: Floats, unknown: str) -> pl.Series:
    """Why an item has no interval: its ratings are all equal, or the error is ``unknown``; nothing where it has one."""
    which = np.where(np.isfinite(errors), np.where(errors <= _NO_ERROR, 0, 2), 1)
    return pl.Series([NO_SPREAD, unknown, None], dtype=pl.String).gather(which)


def _from_means(
    snapshot: Snapshot, counted: pl.DataFrame, usable: list[str], options: LabelOptions
) -> pl.DataFrame:
    """Published means of questions that have no ratings of their own."""
    rated = counted["question"].unique().to_list()
    means = snapshot.means.filter(
        pl.col("question").is_in(usable) & ~pl.col("question").is_in(rated) & pl.col("mean").is_finite()
    )
    for name, kind in (("sd", pl.Float64), ("n", pl.Int64)):
        if name not in means.columns:
            means = means.with_columns(pl.lit(None, dtype=kind).alias(name))
    n = means["n"].fill_null(0).to_numpy().astype(np.float64)
    sd = means["sd"].fill_null(np.nan).to_numpy()
    errors = np.where(n > 1, sd / np.sqrt(np.maximum(n, 1.0)), np.nan)
    low, high = _bounds(means["mean"].to_numpy(), errors, n, options.confidence)
    nothing = pl.lit(None)
    return means.select(
        "stimulus",
        "question",
        pl.col("mean").alias("value"),
        _gaps(errors).alias("standard_error"),
        _gaps(low).alias("low"),
        _gaps(high).alias("high"),
        "n",
        "sd",
        pl.lit(PUBLISHED).alias("method"),
        *(nothing.alias(name) for name in ("answer", "share", "share_low", "share_high")),
        _reasons(errors, "the source gives no spread or count: no interval").alias("why_missing"),
    ).cast(_SCHEMA)  # type: ignore[arg-type]  # polars' own alias is narrower


def _ledger(
    snapshot: Snapshot, table: pl.DataFrame, short: pl.DataFrame, usable: list[str], least: int
) -> pl.DataFrame:
    """Items without a label: too few ratings, a tie, no ratings at all."""
    few = short.select(
        "stimulus",
        "question",
        pl.format("{} of the {} ratings a label needs", "n", pl.lit(str(least))).alias("reason"),
    )
    tied = table.filter(pl.col("value").is_null()).select(
        "stimulus", "question", pl.format("no label: {}", "why_missing").alias("reason")
    )
    labelled = table.select("stimulus", "question")
    answered = set(labelled["question"].unique()) | set(short["question"].unique())
    silent = pl.DataFrame(
        [
            {"question": name, "reason": "nobody answered this question"}
            for name in usable
            if name not in answered
        ],
        schema={"question": pl.String, "reason": pl.String},
    )
    known: list[str] = []
    if "stimulus" in snapshot.ledger.columns:
        known = snapshot.ledger["stimulus"].drop_nulls().to_list()
    unrated = (
        snapshot.items.select("stimulus", "question")
        .filter(pl.col("question").is_in(sorted(answered)) & ~pl.col("stimulus").is_in(known))
        .join(labelled, on=["stimulus", "question"], how="anti", maintain_order="left")
        .join(short, on=["stimulus", "question"], how="anti", maintain_order="left")
        .with_columns(pl.lit("no ratings").alias("reason"))
    )
    rows = pl.concat([few, tied, unrated, silent], how="diagonal")
    rows = rows.with_columns(
        pl.when(pl.col("stimulus").is_null())
        .then(pl.lit("question"))
        .otherwise(pl.lit("item"))
        .alias("what"),
        pl.lit(None, dtype=pl.String).alias("rater"),
        pl.lit(STAGE).alias("stage"),
    )
    return LEDGER.check(rows.select(LEDGER.names), "labels")


def _notes(snapshot: Snapshot, answers: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    table = snapshot.scan_ratings()
    if "repeat" in table.collect_schema():
        again = int(table.filter(pl.col("repeat").fill_null(0) > 0).select(pl.len()).collect().item())
        if again:
            notes.append(f"{again:,} answers to repeated presentations are not used.")
    unknown = int((~answers["known"]).sum())
    if unknown:
        notes.append(f"{unknown:,} answers do not say who gave them.")
    return tuple(notes)
