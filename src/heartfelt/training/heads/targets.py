"""The labels of one question: what a head is fitted to, with weights, and what it is scored against.

The weight of a label is ``t / (t + v)``: ``v`` is the label's variance, ``t`` the part of the labels' true variance (a third) that
a head is expected to leave. So a label of two ratings counts, but less than one of nine. Where a recipe asks for it and single
answers are known, labels and variances come from a model of the raters (``heartfelt.training.heads.raters``) with biases and noise
of their own, fitted to the answers about the stimuli that are learned from and no others; else a label is a mean and ``v`` is the
variance of single ratings about their item, over their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.labels import LabelOptions, first_answers, labels
from heartfelt.predictors.trained.answers import AnswerSpread
from heartfelt.screening import Panel
from heartfelt.snapshot import Snapshot
from heartfelt.study import Scale
from heartfelt.training.heads.fitting import Floats, Ints
from heartfelt.training.heads.label_checks import LabelColumn
from heartfelt.training.heads.raters import SingleAnswers, can_model, model_raters

LEAST_RATINGS = 2
"""Ratings that a label needs to be trained on."""
_UNEXPLAINED = 0.35


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What a head is fitted to: labels, weights, the labels' variances, and how single answers spread.

    ``variance`` and ``spread`` are None where the raters were not modelled.
    """

    label: Floats
    weight: Floats
    variance: Floats | None = None
    spread: AnswerSpread | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelTarget:
    """The labels of one question, in the order of the stimuli; NaN where there is none."""

    question: str
    embedding: str
    scale: Scale
    label: Floats
    weight: Floats
    spread: float
    screened: Floats
    """Labels of the screened raters under the study's own minimum: what is scored against."""
    everyone: Floats
    """The same from all raters."""
    answers: SingleAnswers | None = None
    """Single answers of the screened raters, where labels come from a model of the raters."""

    @property
    def column(self) -> LabelColumn:
        return LabelColumn.of(self.question, self.scale, self.label)

    @property
    def bounds(self) -> tuple[float, float] | None:
        return self.scale.bounds()

    def truth(self, raters: str) -> Floats:
        """The labels of the ``screened`` raters or of ``everyone``."""
        return self.screened if raters == "screened" else self.everyone

    def on_scale(self, value: Floats) -> Floats:
        return value if self.bounds is None else np.clip(value, *self.bounds)

    def part(self, at: Ints) -> LabelTarget:
        columns = ("label", "weight", "screened", "everyone")
        answers = None if self.answers is None else self.answers.at(at)
        return replace(self, answers=answers, **{name: getattr(self, name)[at] for name in columns})

    def learned(self, at: npt.NDArray[Any]) -> Learned:
        """Labels and weights of the stimuli at these places, from answers about these alone."""
        unadjusted = Learned(self.label[at], self.weight[at])
        answers = None if self.answers is None else self.answers.at(np.asarray(at, np.int64))
        if answers is None or not can_model(answers):
            return unadjusted
        # What is predicted is the panel's mean answer, which its gains are part of; dividing by uncertain gains adds error.
        model = model_raters(answers, len(at), gains=False)
        # A label without single answers of its own keeps the mean, with the noise of one rater.
        label = np.where(np.isfinite(model.label), model.label, unadjusted.label)
        variance = np.where(np.isfinite(model.variance), model.variance, model.spread.noise**2)
        spread = model_raters(answers, len(at)).spread
        return Learned(label, weights_from(label, variance), variance, spread)

    @property
    def points(self) -> Floats:
        """Points for soft labels: the scale's own where they are few, else nine evenly spread."""
        finite = self.label[np.isfinite(self.label)]
        low, high = self.bounds or (float(finite.min()), float(finite.max()))
        integer_steps = high - low <= 12 and float(low).is_integer() and float(high).is_integer()
        return np.arange(low, high + 0.5) if integer_steps and high - low >= 2 else np.linspace(low, high, 9)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CategoryTarget(LabelTarget):
    """The labels of a question with categories: codes, and the share of votes for each category.

    ``label`` is the code of the category with most votes, the first of equals; ``weight`` is that of the shares.
    """

    shares: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """A row for each stimulus, NaN where there are too few votes; columns in the order of ``codes``."""

    @property
    def codes(self) -> tuple[float, ...]:
        return tuple(float(code) for code in sorted(self.scale.labels()))

    def part(self, at: Ints) -> CategoryTarget:
        columns = ("label", "weight", "screened", "everyone", "shares")
        return replace(self, **{name: getattr(self, name)[at] for name in columns})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelSource:
    """What the labels of a study's questions are made from."""

    snapshot: Snapshot
    """The ratings that count."""
    trained: pl.DataFrame
    """The labels that a model is fitted to."""
    votes: pl.DataFrame
    """Single answers: question, rater, stimulus, value, known."""
    scored: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """By panel, the labels a model is scored against."""
    least_votes: int = 1
    """How many answers a category needs."""
    raters: bool = False
    """Whether single answers are added, for a model of the raters."""

    @classmethod
    def of(
        cls,
        panel: Panel,
        *,
        least: int = LEAST_RATINGS,
        least_votes: int = 1,
        raters: bool = False,
        scored: bool = True,
    ) -> LabelSource:
        """Labels of the raters that a panel retained; ``scored`` adds those under the study's own minimum."""
        screened = panel.snapshot()
        tables = {"screened": labels(screened).table, "everyone": labels(panel.source).table} if scored else {}
        return cls(
            snapshot=screened,
            trained=labels(screened, LabelOptions(minimum_ratings=least)).table,
            votes=first_answers(screened),
            scored=tables,
            least_votes=least_votes,
            raters=raters,
        )

    def labelled(self, question: str) -> set[str]:
        """The stimuli that have a label under a question."""
        of_question = pl.col("question") == question
        if self.snapshot.study.scale_of(question).level == "interval":
            stimuli = self.trained.filter(of_question).drop_nulls("value")["stimulus"]
        else:
            counts = self.votes.filter(of_question).group_by("stimulus").len()
            stimuli = counts.filter(pl.col("len") >= self.least_votes)["stimulus"]
        return set(stimuli.cast(pl.String))

    def numbers(self, question: str, stimuli: Sequence[str]) -> tuple[Floats, Floats, float]:
        """Label and weight of each stimulus (NaN and 0 where there is none), and the variance of single ratings."""
        trained = self.trained.filter(pl.col("question") == question)
        label, sd, n = (aligned(trained, name, stimuli) for name in ("value", "sd", "n"))
        return label, *reliability_weights(label, sd, n)

    def vote_shares(self, question: str, stimuli: Sequence[str]) -> tuple[Floats, Floats]:
        """The share of votes for each category (NaN where there are too few votes) and the weight of each stimulus."""
        votes = self.votes.filter(pl.col("question") == question)
        counts = vote_counts(votes, stimuli, sorted(self.snapshot.study.scale_of(question).labels()))
        counts[counts.sum(axis=1) < self.least_votes] = 0.0
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0, counts / np.maximum(total, 1.0), np.nan), vote_weights(counts)

    def target(self, question: str, embedding: str, stimuli: Sequence[str]) -> LabelTarget:
        """The labels of one question, in the order of the stimuli."""
        scale, of_question = self.snapshot.study.scale_of(question), pl.col("question") == question
        screened, everyone = (
            aligned(self.scored[side].filter(of_question), "value", stimuli) for side in ("screened", "everyone")
        )
        if scale.level == "interval":
            label, weight, single = self.numbers(question, stimuli)
            votes = self.votes.filter(of_question & pl.col("known"))
            return LabelTarget(
                question=question,
                embedding=embedding,
                scale=scale,
                label=label,
                weight=weight,
                spread=float(np.sqrt(single)) or float(np.sqrt(label[np.isfinite(label)].var())) or 1.0,
                answers=answers_in_order(votes, stimuli) if self.raters else None,
                screened=screened,
                everyone=everyone,
            )
        shares, weight = self.vote_shares(question, stimuli)
        return CategoryTarget(
            question=question,
            embedding=embedding,
            scale=scale,
            label=top_category(scale, shares, np.isfinite(shares[:, 0])),
            weight=weight,
            spread=1.0,
            shares=shares,
            screened=screened,
            everyone=everyone,
        )


def top_category(scale: Scale, shares: Floats, labelled: npt.NDArray[np.bool_]) -> Floats:
    """The code of the category with most votes, the first of equals; NaN for stimuli that are not ``labelled``."""
    return np.where(labelled, np.array(sorted(scale.labels()))[np.nan_to_num(shares).argmax(axis=1)], np.nan)


def answers_in_order(table: pl.DataFrame, stimuli: Sequence[str]) -> SingleAnswers | None:
    """Single answers about the stimuli used; None where there are none, or nobody knows whose they are."""
    positions = pl.DataFrame({"stimulus": list(stimuli), "place": range(len(stimuli))})
    valued = table.drop_nulls(["rater", "value"]).join(positions, on="stimulus", maintain_order="left")
    if not valued.height:
        return None
    raters = np.unique(valued["rater"].cast(pl.String).to_numpy(), return_inverse=True)[1]
    return SingleAnswers(
        raters.astype(np.int64),
        valued["place"].to_numpy().astype(np.int64),
        valued["value"].cast(pl.Float64).to_numpy(),
    )


def reliability_weights(label: Floats, sd: Floats, n: Floats) -> tuple[Floats, float]:
    """The weight of each label (0 where it is NaN, 1 on average), and the variance of single ratings about their item.

    ``sd`` and ``n`` are the spread and number of each label's ratings, NaN where they are not known.
    """
    usable = np.isfinite(sd) & np.isfinite(n) & (n > 1)
    single = float(((n - 1) * sd**2)[usable].sum() / (n - 1)[usable].sum()) if usable.any() else 0.0
    noise = np.where(np.isfinite(n) & (n > 0), single / np.maximum(np.nan_to_num(n, nan=1.0), 1.0), 0.0)
    return weights_from(label, noise), single


def vote_counts(votes: pl.DataFrame, stimuli: Sequence[str], codes: Sequence[float]) -> Floats:
    """How many votes (stimulus, value) each stimulus has for each code."""
    place_of = {name: at for at, name in enumerate(stimuli)}
    counts = np.zeros((len(stimuli), len(codes)))
    for stimulus, value, count in votes.group_by("stimulus", "value").len().iter_rows():
        if stimulus in place_of and value in codes:
            counts[place_of[stimulus], codes.index(value)] += count
    return counts


def vote_weights(counts: Floats) -> Floats:
    """The weight of each stimulus's shares of votes, from the counts by category: 0 without votes, 1 on average.

    The variance of single votes about their stimulus, added up over the categories, is pooled over the stimuli.
    """
    n = counts.sum(axis=1)
    shares = counts / np.where(n > 0, n, np.nan)[:, None]
    several = n > 1
    disagreement = (n * (1 - np.square(shares).sum(axis=1)))[several].sum()
    single = float(disagreement / (n[several] - 1).sum()) if several.any() else 0.0
    return weights_from(shares, single / np.maximum(n, 1.0))


def weights_from(label: Floats, variance: Floats) -> Floats:
    """The weight of each label from its variance: 0 where the label is NaN, 1 on average.

    A label is a number, or a row of shares, whose variances are added up.
    """
    has = np.isfinite(label.reshape(len(label), -1)).all(axis=1)
    if not has.any():
        return np.zeros(len(label))
    total = float(np.sum(label[has].var(axis=0)))
    explainable = max(_UNEXPLAINED * (total - float(variance[has].mean())), 0.1 * total, 1e-9)
    weight = np.where(has, explainable / (explainable + variance), 0.0)
    return np.asarray(weight / weight[has].mean())


def aligned(table: pl.DataFrame, column: str, stimuli: Sequence[str]) -> Floats:
    """A column in the order of the stimuli; NaN where there is no number."""
    by_stimulus = dict(table.select("stimulus", pl.col(column).cast(pl.Float64)).iter_rows())
    return np.array([np.nan if by_stimulus.get(name) is None else by_stimulus[name] for name in stimuli])
