"""Questions answered with one of several categories, such as eight emotions: balance, valence-arousal map, consistency, confusion.

The category of a stimulus is its label: the answer most raters gave (a tie has none). Shares of categories have Wilson intervals
over stimuli, means of valence and arousal the two-way intervals of every other mean. Consistency is looked at in three ways: how
much of the variance between stimuli the category explains (eta squared, one-way analysis of variance of the stimuli's means); how
often a rater's own valence lies on the side of the midpoint that their own category belongs to, where the study groups intents
into positive and negative; and how often the category can be recovered from mean valence and arousal alone (linear discriminant
analysis, each stimulus classified by all others).

Confusion between raters is Krippendorff's table of coincidences: every ordered pair of answers to a stimulus with m answers
counts 1 / (m - 1), so that each answer counts once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeVar

import numpy as np
import polars as pl

from heartfelt.analysis.consistency.attributes import attribute_tables, field_answers
from heartfelt.analysis.consistency.coefficients import share_of
from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.categories import (
    CategoryBalance,
    CategoryEllipse,
    CategoryPlace,
    CategoryQuestion,
    CategoryShare,
    Explained,
    PolarityFit,
    RaterConfusion,
    Recovered,
)
from heartfelt.analysis.findings.parts import ConfusionTable
from heartfelt.analysis.systems.means import Scores
from heartfelt.analysis.systems.quadrants import confusion
from heartfelt.analysis.systems.two_way import estimate, mean_changes, stimuli_of
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.contingency import evenness, marginal_homogeneity
from heartfelt.stats.groups.discriminant import discriminant_leave_one_out
from heartfelt.stats.groups.geometry import ellipse
from heartfelt.stats.inference import anova
from heartfelt.stats.prediction.association import accuracy, macro_f1
from heartfelt.study import Study

SHARE = "share of the stimuli with a label that have this one"
FIT = "share of answers whose valence is on the side of the rater's own category, mean over stimuli"
ETA = "eta squared of the category, one-way analysis of variance of the stimuli's means"
RECOVERED = "linear discriminant analysis, each stimulus classified by all others"
Part = TypeVar("Part", PolarityFit, Recovered, RaterConfusion)
SIDES = {"positive": 1, "negative": -1}


def is_categories(study: Study, question: QuestionData) -> bool:
    """Whether a question asks for one of three or more categories without an order, of the rater's own judgement."""
    rater_answered = not study.question(question.id).machine_first
    return rater_answered and question.level == "nominal" and len(question.categories) >= 3


def categories(material: AnalysisData, scores: Scores) -> tuple[CategoryQuestion, ...] | None:
    """The figures of every question answered with categories."""
    categorical = [q for q in material.questions if is_categories(material.study, q) and q.items.height]
    if not categorical:
        return None
    answers = field_answers(material)
    return tuple(_categories(material, question, scores, answers) for question in categorical)


def _categories(
    material: AnalysisData, question: QuestionData, scores: Scores, answers: pl.DataFrame
) -> CategoryQuestion:
    study, names = material.study, tuple(question.categories.values())
    labelled = _category_of_each(question).drop_nulls("category").select("stimulus", "category")
    numbers = [q for q in material.questions if q.level == "interval" and not study.question(q.id).machine_first]
    axes = _axes(material, [q.id for q in numbers])
    polarity = _polarity(material, question, axes)
    recovered = _recovered(numbers, axes, labelled, names)
    raters = _rater_confusion(question, names)
    parts = {"polarity": polarity, "recovered": recovered, "raters": raters}
    reasons = {name: part for name, part in parts.items() if isinstance(part, str)}
    return CategoryQuestion(
        question=question.id,
        categories=names,
        balance=category_balance(question),
        axes=axes,
        places=_places(scores, [q.id for q in numbers], axes, labelled, names),
        explained=tuple(_explained(q, labelled) for q in numbers),
        polarity=_unless_reason(polarity),
        recovered=_unless_reason(recovered),
        raters=_unless_reason(raters),
        attributes=attribute_tables(material, answers, labelled, names),
        why_missing=reasons,
    )


def _unless_reason(part: Part | str) -> Part | None:
    """The part; None where there is the reason for its absence."""
    return None if isinstance(part, str) else part


def _axes(material: AnalysisData, numbers: list[str]) -> tuple[str, ...]:
    """The questions of the map: those of the quadrants, else valence and arousal; none where these are not asked."""
    if not isinstance(material.plane, str):
        return material.plane.axes
    chosen = []
    for axis in ("valence", "arousal"):
        named = (name for name in numbers if axis in (material.study.question(name).axis, name))
        chosen.append(next(named, None))
    across, up = chosen
    return (across, up) if across is not None and up is not None else ()


def _category_of_each(question: QuestionData) -> pl.DataFrame:
    """``stimulus, intent, category`` of every stimulus; the category is null where answers tie."""
    word = pl.col("value").replace_strict(dict(question.categories), default=None, return_dtype=pl.String)
    return question.items.select("stimulus", "intent", word.alias("category"))


def category_balance(question: QuestionData) -> CategoryBalance:
    """How the labels of a question's stimuli spread over its categories."""
    label, names = _category_of_each(question), tuple(question.categories.values())
    labelled = label.drop_nulls("category")
    counts = {name: labelled.filter(pl.col("category") == name).height for name in names}
    intended = label.filter(pl.col("intent").is_in(list(names)))
    intended_counts = {name: intended.filter(pl.col("intent") == name).height for name in names}
    rows = tuple(
        CategoryShare(
            category=name,
            n_stimuli=counts[name],
            share=share_of(labelled["category"] == name, SHARE, "no stimulus has a label"),
            n_intended=intended_counts[name] if intended.height else None,
            intended_share=intended_counts[name] / intended.height if intended.height else None,
        )
        for name in names
    )
    test = None
    if intended.height:
        both = intended.drop_nulls("category")
        table = confusion(names, names, list(both.select("intent", "category").iter_rows()))
        test = marginal_homogeneity(table.counts)
    return CategoryBalance(
        n_stimuli=labelled.height,
        n_ties=label.height - labelled.height,
        rows=rows,
        evenness=evenness([counts[name] for name in names]),
        intended=test,
    )


def _places(
    scores: Scores, numbers: list[str], axes: tuple[str, ...], labelled: pl.DataFrame, names: tuple[str, ...]
) -> tuple[CategoryPlace, ...]:
    """Means and ellipses of every category that is the label of a stimulus."""
    category = dict(labelled.iter_rows())
    sizes = Counter(category.values())
    of_stimulus = {
        name: scores[name].question.items["stimulus"].replace_strict(category, default=None, return_dtype=pl.String)
        for name in numbers
        if name in scores
    }
    mapped = [scores[name].question for name in axes if name in scores]
    points = _points(mapped, labelled) if mapped else None
    out = []
    for name in filter(sizes.__contains__, names):
        means = {
            question: scores[question].estimate((label == name).fill_null(value=False).to_numpy(), "value")
            for question, label in of_stimulus.items()
        }
        shape = None if points is None else _ellipse(points.filter(pl.col("category") == name))
        out.append(CategoryPlace(name, sizes[name], means, shape))
    return tuple(out)


def _ellipse(points: pl.DataFrame) -> CategoryEllipse:
    """The 95% ellipse of a category's stimuli on both axes."""
    cloud = ellipse(points["0"], points["1"])
    gone = cloud.is_missing
    return CategoryEllipse(
        n_points=cloud.points,
        semi_axes=None if gone else cloud.semi_axes,
        angle=None if gone else cloud.angle,
        area=cloud.area,
        confidence=cloud.confidence,
        why_missing=cloud.why_missing,
    )


def _points(questions: list[QuestionData], labelled: pl.DataFrame) -> pl.DataFrame:
    """Stimuli with a category and a mean under every question, in columns ``0``, ``1`` …"""
    points = labelled
    for axis, question in enumerate(questions):
        question_means = question.items.select("stimulus", pl.col("mean").alias(str(axis)))
        points = points.join(question_means, on="stimulus", how="inner", maintain_order="left")
    return points.drop_nulls()


def _explained(question: QuestionData, labelled: pl.DataFrame) -> Explained:
    points = _points([question], labelled)
    if points["category"].n_unique() < 2 or points.height < 3:
        reason = "fewer than two categories have stimuli with a mean"
        return Explained(question=question.id, eta_squared=Estimate.missing(reason), f=None, df=None, p=None)
    result = anova(points["0"], {"category": points["category"]})
    row = result.rows[0]
    df = (row.df, result.residual_df) if row.f is not None else None
    # With a single factor the partial form, which has an interval, is eta squared itself.
    return Explained(
        question=question.id, eta_squared=replace(row.partial_eta_squared, method=ETA), f=row.f, df=df, p=row.p
    )


def _polarity(material: AnalysisData, question: QuestionData, axes: tuple[str, ...]) -> PolarityFit | str:
    side = _sides(material.study, question)
    if not {1, -1} <= set(side.values()):
        return "the study does not group its intents into positive and negative ones"
    valence = _valence(material.study, axes)
    if valence is None:
        return "no question asks for valence on a scale with a midpoint"
    name, midpoint = valence
    table = material.answers
    of_question = table.filter(pl.col("question") == question.id).select(
        "rater",
        "stimulus",
        pl.col("value").alias("code"),
        pl.col("value").replace_strict(side, default=None, return_dtype=pl.Float64).alias("side"),
    )
    theirs = table.filter(pl.col("question") == name).select("rater", "stimulus", pl.col("value").alias("valence"))
    both = of_question.join(theirs, on=["rater", "stimulus"], maintain_order="left").drop_nulls("side")
    off_midpoint = both.filter(pl.col("valence") != midpoint)
    fits = off_midpoint.with_columns(
        ((pl.col("valence") - midpoint).sign() == pl.col("side")).cast(pl.Float64).alias("value")
    )
    by_name = {question.categories[code]: fits.filter(pl.col("code") == code) for code in sorted(side)}
    return PolarityFit(
        question=name,
        midpoint=midpoint,
        positive=tuple(question.categories[code] for code in sorted(side) if side[code] == 1),
        negative=tuple(question.categories[code] for code in sorted(side) if side[code] == -1),
        n_answers=both.height,
        n_neutral=both.height - off_midpoint.height,
        share=_fit(question, fits),
        by_category={name: _fit(question, answers) for name, answers in by_name.items()},
    )


def _valence(study: Study, axes: tuple[str, ...]) -> tuple[str, float] | None:
    """The question on valence and the midpoint of its scale; None where either is missing."""
    for name in axes:
        if "valence" in (study.question(name).axis, name):
            bounds = study.scale_of(name).bounds()
            return None if bounds is None else (name, sum(bounds) / 2)
    return None


def _sides(study: Study, question: QuestionData) -> dict[float, int]:
    """The categories that the study groups into positive (1) and negative ones (-1), by code."""
    groups = {intent.id: SIDES.get((intent.group or "").casefold()) for intent in study.intents}
    sides = {code: groups.get(name) for code, name in question.categories.items()}
    return {code: side for code, side in sides.items() if side is not None}


def _fit(question: QuestionData, fits: pl.DataFrame) -> Estimate:
    """The mean over stimuli of the share of answers that fit, stimuli and raters both samples."""
    means = fits.group_by("stimulus").agg(pl.mean("value").alias("fit"))
    items = question.items.join(means, on="stimulus", how="inner", maintain_order="left")
    ratings = fits.select("rater", pl.col("stimulus").alias("item"), "value")
    data = stimuli_of(items, [ratings], ["fit"], question.why_no_raters)
    every = np.ones(items.height, dtype=np.bool_)
    return estimate(mean_changes(data, every, lambda mean, _: mean[:, 0]), FIT, "share")


def _recovered(
    numbers: list[QuestionData], axes: tuple[str, ...], labelled: pl.DataFrame, names: tuple[str, ...]
) -> Recovered | str:
    if len(axes) < 2:
        return "no two questions ask for valence and arousal"
    by_id = {question.id: question for question in numbers}
    points = _points([by_id[name] for name in axes], labelled)
    if not points.height:
        return "no stimulus has a category and a mean on both axes"
    used = [name for name in names if name in set(points["category"])]
    group = points["category"].replace_strict({n: k for k, n in enumerate(used)}, return_dtype=pl.Int64).to_numpy()
    result = discriminant_leave_one_out(points.select("0", "1").to_numpy(), group)
    if isinstance(result, str):
        return result
    label = points["category"].to_list()
    predicted = [used[index] for index in result.tolist()]
    return Recovered(
        method=RECOVERED,
        axes=axes,
        accuracy=accuracy(label, predicted),
        macro_f1=macro_f1(label, predicted),
        baseline=float(np.bincount(group).max()) / group.size,
        confusion=confusion(used, used, list(zip(label, predicted, strict=True))),
    )


def _rater_confusion(question: QuestionData, names: tuple[str, ...]) -> RaterConfusion | str:
    ratings = question.ratings
    if not ratings.height:
        return question.why_no_raters or question.why_empty
    code_indices = {code: at for at, code in enumerate(question.categories)}
    items = ratings["item"].rank("dense").cast(pl.Int64).to_numpy() - 1
    codes = ratings["value"].replace_strict(code_indices, return_dtype=pl.Int64).to_numpy()
    width = len(names)
    votes = np.bincount(items * width + codes, minlength=(int(items.max()) + 1) * width).reshape(-1, width)
    sizes = votes.sum(axis=1)
    votes, sizes = votes[sizes >= 2], sizes[sizes >= 2]
    if not sizes.size:
        return "no stimulus has two answers"
    pairs = votes.T @ votes - np.diag(votes.sum(axis=0))
    weighted = (votes / (sizes - 1)[:, None]).T @ votes - np.diag((votes / (sizes - 1)[:, None]).sum(axis=0))
    totals = weighted.sum(axis=1)
    shares = tuple(
        tuple(float(cell) / float(total) if total > 0 else None for cell in line)
        for line, total in zip(weighted, totals, strict=True)
    )
    counts = tuple(tuple(int(cell) for cell in line) for line in pairs)
    table = ConfusionTable(labels=names, rows=names, columns=names, counts=counts, proportions=shares)
    return RaterConfusion(int(sizes.size), int(pairs.sum()), table)
