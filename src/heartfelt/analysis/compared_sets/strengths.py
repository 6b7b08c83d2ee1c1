"""Questions answered about several stimuli together: strengths, pairs, order, consistency, agreement and ceilings.

Strengths are those of systems where two or more systems were compared, else those of stimuli, as labels have them
(:mod:`heartfelt.labels.strengths`). Pairs of contestants are tested with Holm's correction over the pairs of the question. Where
strengths do not exist, as in designs that fall into groups, the answers to single pairs still do: how many have a majority,
how far raters agree on them, and what a predictor of choices can expect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, cast

import numpy as np
import polars as pl

from heartfelt import stats
from heartfelt.analysis.compared_sets.graded_sets import against_reference, mushra_result
from heartfelt.analysis.findings.comparisons import (
    AbxPair,
    Answered,
    ChoiceAgreement,
    ComparedPair,
    ComparisonQuestion,
    Contestant,
    OrderEffect,
)
from heartfelt.analysis.findings.parts import ALL
from heartfelt.failures import Failed, attempt
from heartfelt.labels.strengths import (
    COMPARED,
    Contest,
    Of,
    contest,
    first_presentations,
    ranks,
    rater_of,
    unit_of,
    why_no_order,
)
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import TRIAL, choices, members, set_questions
from heartfelt.stats.comparison.judges.consistency import Transitivity
from heartfelt.stats.comparison.mushra import crossed_mean
from heartfelt.stats.comparison.predicted.ceilings import choice_ceilings, strength_ceiling
from heartfelt.stats.comparison.spread import ratio_over_raters, without_each
from heartfelt.stats.comparison.strengths.models import Strengths, TestedEffect
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import jackknife_variance
from heartfelt.study import Scale
from heartfelt.study.scales.set_scale import BestWorst, Choice, Preference, Ranking

MOST_PAIRED = 60
"""Contestants up to which every pair is listed."""
MOST_LISTED = 1_000
"""Contestants up to which all are listed; the table of strengths always has them all."""
MOST_TRANSITIVE = 40
TRIADS_AT_MOST = 60
"""Contestants up to which circular triads are counted."""
WORK_AT_MOST = 2e8
"""Raters times answers up to which each rater is compared with the others."""


def comparison_results(
    snapshot: Snapshot, contests: Sequence[Contest] = (), *, brief: bool = False
) -> tuple[ComparisonQuestion, ...]:
    """Every question that was answered about several stimuli together; a failure of one leaves the others.

    ``contests`` are those that labels were made from, if at hand. ``brief`` leaves out what takes long and is of no use before the
    study ends: pairs, transitivity and ceilings.
    """
    study, out = snapshot.study, []
    names = set_questions(study)
    if study.sets is not None and study.sets.type == "reference":
        names = [question.id for question in study.asked]
    for question in names:
        result = attempt(_question, snapshot, question, contests, brief)
        if isinstance(result, Failed):
            scale = cast("Answered", getattr(study.scale_of(question), "type", "choice"))
            result = ComparisonQuestion(question=question, scale=scale, trials=0, raters=0, why_missing=result.reason)
        if result is not None:
            out.append(result)
    return tuple(out)


def _question(snapshot: Snapshot, question: str, contests: Sequence[Contest], brief: bool) -> ComparisonQuestion | None:
    study, ratings = snapshot.study, first_presentations(snapshot)
    scale, rows = study.scale_of(question), members(ratings, question)
    trials, raters = rows.select(TRIAL).n_unique(), rows["rater"].drop_nulls().n_unique()
    kind: Answered = scale.type if isinstance(scale, COMPARED) else "mushra"
    answered = ComparisonQuestion(question=question, scale=kind, trials=trials, raters=raters)
    if not rows.height:
        return replace(answered, why_missing="nobody answered this question")
    if (rows["role"] == "x").any():
        return replace(answered, scale="abx", abx=_abx(rows.filter(pl.col("role") == "x"), snapshot))
    if isinstance(scale, COMPARED):
        return _compared(answered, scale, _contests(snapshot, question, contests), brief)
    if study.sets is not None and study.sets.type == "reference":
        references = against_reference(rows, snapshot.stimuli, scale)
        return replace(answered, scale="reference", reference=references)
    if (rows["role"] == "hidden-reference").any():
        return replace(answered, mushra=mushra_result(rows, snapshot.stimuli, scale.bounds() or (0.0, 100.0)))
    return None


def _contests(snapshot: Snapshot, question: str, at_hand: Sequence[Contest]) -> dict[str, Contest]:
    """The contests of systems and of stimuli in a question, fitted here where none are at hand."""
    if at_hand:
        return {fitted.of: fitted for fitted in at_hand if fitted.question == question}
    levels: tuple[Of, ...] = ("system", "stimulus")
    return {of: fitted for of in levels if (fitted := contest(snapshot, question, of)) is not None}


# --- strengths --------------------------------------------------------------------------------------------------------


def _compared(
    answered: ComparisonQuestion, scale: Scale, contests: Mapping[str, Contest], brief: bool
) -> ComparisonQuestion:
    by_stimulus = contests.get("stimulus")
    if by_stimulus is None:
        return replace(answered, why_missing="no trial has answers about two different stimuli")
    main_contest = contests.get("system", by_stimulus)
    result = main_contest.result
    strengths = replace(
        answered,
        of=main_contest.of,
        model=result.model if result.core else "",
        contestants=_contestants(main_contest),
        why_no_strengths=_why_no_strengths(result),
        pairs=() if brief else _pairs(main_contest),
        tie=result.tie if result.model == "Davidson" else None,
        consistency=_consistency(main_contest, answered.raters),
        notes=main_contest.notes,
    )
    if isinstance(scale, Choice | Preference):
        return _with_choices(strengths, by_stimulus, main_contest, brief)
    if isinstance(scale, Ranking) and not brief:
        rankings = by_stimulus.rows.select("rater", "trial", "name", "value")
        return replace(strengths, concordance=stats.rank_concordance(*rankings))
    return strengths


def _why_no_strengths(result: Strengths) -> str | None:
    """The first reason for a missing strength where no contestant has one."""
    missing = [strength.why_missing for strength in result.strengths if strength.is_missing]
    return missing[0] if missing and not result.core else None


def _with_choices(
    strengths: ComparisonQuestion, by_stimulus: Contest, main_contest: Contest, brief: bool
) -> ComparisonQuestion:
    """What answers to single pairs add: the effect of order and agreement, and in full transitivity and ceilings."""
    pairs = main_contest.pairs
    strengths = replace(
        strengths, order=_order(pairs, main_contest.result.order_effect), agreement=_agreement(by_stimulus)
    )
    if brief:
        return strengths
    return replace(strengths, transitivity=_transitivity(main_contest), ceilings=_ceilings(by_stimulus, main_contest))


def _transitivity(fitted_contest: Contest) -> Transitivity | None:
    pairs = fitted_contest.pairs
    if len(fitted_contest.result.names) > MOST_TRANSITIVE:
        return None
    return stats.transitivity(pairs["first"], pairs["second"], pairs["value"], rater=rater_of(pairs))


def _order(pairs: pl.DataFrame, effect: TestedEffect) -> OrderEffect | None:
    """The share of first choices with raters as the sample where they are known; its own test where no effect was fitted.

    None where pairs have no order.
    """
    from scipy.special import stdtr

    if why_no_order(pairs) is not None:
        return None
    share, p = stats.first_choices(pairs["value"]), effect.p_value
    decided = pairs.filter((pl.col("value") != 0.5) & pl.col("rater").is_not_null())
    by_rater = decided.group_by("rater").agg(pl.sum("value"), pl.len().alias("n")).sort("rater")
    if share.is_missing or by_rater.height < 2 or decided.height < pairs.filter(pl.col("value") != 0.5).height:
        return OrderEffect(share, effect.estimate, p)
    firsts, n = by_rater["value"].to_numpy(), by_rater["n"].to_numpy().astype(np.float64)
    wide = ratio_over_raters(share, firsts, n, share.confidence, (0.0, 1.0))
    variance = jackknife_variance(without_each(firsts, n))
    if p is None and variance > 0:
        p = float(2.0 * stdtr(by_rater.height - 1.0, -abs(float(share) - 0.5) / math.sqrt(variance)))
    return OrderEffect(wide or share, effect.estimate, p)


def _contestants(fitted_contest: Contest) -> tuple[Contestant, ...]:
    """All contestants, the strongest first; none where there are too many to list."""
    result = fitted_contest.result
    if len(result.names) > MOST_LISTED:
        return ()
    answers, scores = fitted_contest.answers, _best_worst_scores(fitted_contest)
    made_of = (
        Contestant(
            name=str(name),
            strength=strength,
            answers=answers.get(str(name), 0),
            rank=rank,
            rank_low=rank_low,
            rank_high=rank_high,
            best=best,
            score=scores.get(str(name)),
        )
        for name, strength, (rank, rank_low, rank_high, best) in zip(
            result.names, result.strengths, ranks(result), strict=True
        )
    )
    return tuple(
        sorted(made_of, key=lambda contestant: (contestant.rank is None, contestant.rank or 0, contestant.name))
    )


def _best_worst_scores(fitted_contest: Contest) -> Mapping[str, Estimate]:
    if not isinstance(fitted_contest.scale, BestWorst):
        return {}
    rows = fitted_contest.rows
    counted = stats.best_worst_counts(rows["rater"], rows["trial"], rows["name"], rows["value"])
    return {str(name): score for name, score in zip(counted.names, counted.scores, strict=True)}


def _pairs(fitted_contest: Contest) -> tuple[ComparedPair, ...]:
    """Every two contestants that met or that both have a strength; none where contestants are too many."""
    result = fitted_contest.result
    if len(result.names) > MOST_PAIRED:
        return ()
    met = _met(fitted_contest)
    by_pair = {(str(k[0]), str(k[1])): part for k, part in met.partition_by("a", "b", as_dict=True).items()}
    strong = sorted(str(result.names[index]) for index in result.core)
    wanted = sorted({*by_pair, *combinations(strong, 2)})
    effects = [result.difference(a, b) for a, b in wanted]
    corrected = stats.holm([effect.p_value for effect in effects])
    middle = 0.0 if isinstance(fitted_contest.scale, Preference) else 0.5
    out = []
    for (a, b), effect, p, significant in zip(wanted, effects, corrected.adjusted, corrected.significant, strict=True):
        part = by_pair.get((a, b), met.clear())
        values = part["value"]
        won, tied = int((values > middle).sum()), int((values == middle).sum())
        out.append(
            ComparedPair(
                a=a,
                b=b,
                comparisons=values.len(),
                a_wins=won,
                ties=tied,
                b_wins=values.len() - won - tied,
                preference=_preference(part, fitted_contest.scale),
                difference=effect.estimate,
                p=effect.p_value,
                p_corrected=p,
                significant=bool(significant),
            )
        )
    return tuple(out)


def _preference(answers: pl.DataFrame, scale: Scale) -> Estimate:
    """How far the answers to a pair favour its first contestant."""
    graded = isinstance(scale, Preference)
    method = "mean grade in favour of the first" if graded else "share of answers for the first"
    if not answers.height:
        return Estimate.missing("they did not meet", method)
    limits = (scale.bounds() if graded else None) or (0.0, 1.0)
    return crossed_mean(answers["rater"], answers["unit"], answers["value"], method, scale=limits)


def _met(fitted_contest: Contest) -> pl.DataFrame:
    """``a, b, value, rater, unit``: every answer in favour of the contestant that sorts first."""
    table, graded = fitted_contest.pairs, isinstance(fitted_contest.scale, Preference)
    turned = pl.col("first") > pl.col("second")
    reversed_grade = -pl.col("grade") if graded else 1.0 - pl.col("value")
    rater, unit = rater_of(table), unit_of(table)
    return table.select(
        pl.min_horizontal("first", "second").alias("a"),
        pl.max_horizontal("first", "second").alias("b"),
        pl.when(turned).then(reversed_grade).otherwise(pl.col("grade" if graded else "value")).alias("value"),
        pl.Series("rater", range(table.height) if rater is None else rater),
        pl.Series("unit", range(table.height) if unit is None else unit),
    )


def _consistency(fitted_contest: Contest, raters: int) -> tuple[Any, ...]:
    """The consistency of every known rater, where contestants are few enough to meet in triads."""
    table = fitted_contest.pairs.filter(pl.col("rater").is_not_null())
    few = len(fitted_contest.result.names) <= TRIADS_AT_MOST
    if not table.height or raters < 2 or not few or raters * table.height > WORK_AT_MOST:
        return ()
    columns = (table["rater"], table["first"], table["second"], table["value"])
    return tuple(stats.rater_consistency(*columns, ordered=why_no_order(fitted_contest.pairs) is None))


def _ceilings(by_stimulus: Contest, main_contest: Contest) -> dict[str, Estimate]:
    """What the best prediction of a choice, of a majority and of the strengths can expect."""
    table = by_stimulus.pairs
    rater = rater_of(table)
    raters = pl.Series(range(table.height)) if rater is None else rater
    best = choice_ceilings(raters, table["first"], table["second"], table["value"])
    return {
        "accuracy": best.accuracy,
        "decided_accuracy": best.decided_accuracy,
        "majority_accuracy": best.majority_accuracy,
        "log_loss": best.log_loss,
        "strength": strength_ceiling(main_contest.result),
        "strength_ranks": strength_ceiling(main_contest.result, "spearman"),
    }


# --- single pairs -----------------------------------------------------------------------------------------------------


def oriented(pairs: pl.DataFrame) -> pl.DataFrame:
    """``rater, item, value``: each answer to a pair of stimuli in favour of the one that sorts first."""
    turned = pl.col("first") > pl.col("second")
    return pairs.select(
        "rater",
        pl.concat_str(
            pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second"), separator="\x1f"
        ).alias("item"),
        pl.when(turned).then(1.0 - pl.col("value")).otherwise(pl.col("value")).alias("value"),
    )


def _agreement(fitted_contest: Contest) -> ChoiceAgreement:
    answers = oriented(fitted_contest.pairs)
    votes = answers.group_by("item", "value").len().group_by("item")
    most = pl.col("len") == pl.max("len")
    per_pair = votes.agg(
        pl.sum("len").alias("n"), most.sum().alias("leading"), (pl.col("value").filter(most) == 0.5).any().alias("tie")
    )
    twice = per_pair.filter(pl.col("n") > 1)
    majority = twice.filter(pl.col("leading") == 1)
    table, raters = answers, None
    if not answers["rater"].null_count():
        table = answers.unique(["rater", "item"], keep="first", maintain_order=True)
        raters = table["rater"]
    exact = stats.exact_agreement(raters, table["item"], table["value"])
    return ChoiceAgreement(
        pairs=per_pair.height,
        judged_twice=twice.height,
        with_majority=majority.height,
        majority_tie=int(majority["tie"].sum()),
        unanimous=exact.unanimous,
        two_answers=exact.pairwise,
        with_the_others=stats.leave_one_out(raters, table["item"], table["value"]).accuracy,
        alpha=stats.alpha(raters, table["item"], table["value"], "nominal"),
        further=answers.height - table.height,
    )


def majorities(snapshot: Snapshot) -> pl.DataFrame:
    """``question, first, second, n, first_wins, ties, second_wins, majority`` of every pair of stimuli that was compared."""
    study, ratings = snapshot.study, first_presentations(snapshot)
    parts = []
    for question in set_questions(study):
        table = choices(ratings, question, study.scale_of(question))
        if table.height:
            parts.append(table.select(pl.lit(question).alias("question"), "first", "second", "value"))
    schema = {"question": pl.String, "first": pl.String, "second": pl.String, "value": pl.Float64}
    table = pl.concat([pl.DataFrame(schema=schema), *parts])
    turned = pl.col("first") > pl.col("second")
    both = [pl.min_horizontal("first", "second").alias("first"), pl.max_horizontal("first", "second").alias("second")]
    value = pl.when(turned).then(1.0 - pl.col("value")).otherwise(pl.col("value")).alias("value")
    counted = (
        table.select("question", *both, value)
        .group_by("question", "first", "second")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            (pl.col("value") == 1).sum().cast(pl.Int64).alias("first_wins"),
            (pl.col("value") == 0.5).sum().cast(pl.Int64).alias("ties"),
            (pl.col("value") == 0).sum().cast(pl.Int64).alias("second_wins"),
        )
        .sort("question", "first", "second")
    )
    most = pl.max_horizontal("first_wins", "ties", "second_wins")
    leading = sum((pl.col(name) == most).cast(pl.Int64) for name in ("first_wins", "ties", "second_wins"))
    named = (
        pl.when(leading != 1)
        .then(None)
        .when(pl.col("first_wins") == most)
        .then(pl.col("first"))
        .when(pl.col("ties") == most)
        .then(pl.lit("tie"))
        .otherwise(pl.col("second"))
    )
    return counted.with_columns(named.alias("majority"))


# --- ABX --------------------------------------------------------------------------------------------------------------


def _abx(rows: pl.DataFrame, snapshot: Snapshot) -> tuple[AbxPair, ...]:
    """All answers together, then each pair of systems."""
    named = rows.with_columns(_pair_of(rows, snapshot.stimuli))
    parts = {str(key[0]): part for key, part in named.sort("pair").partition_by("pair", as_dict=True).items()}
    results = {name: _tested(part) for name, part in parts.items() if "\x1f" in name}
    corrected = stats.holm([result.p_value for result in results.values()])
    everything = _tested(named)
    out = [_abx_pair(ALL, ALL, everything, everything.p_value)]
    for (name, result), p in zip(results.items(), corrected.adjusted, strict=True):
        a, b = name.split("\x1f")
        out.append(_abx_pair(a, b, result, p))
    return tuple(out)


def _tested(rows: pl.DataFrame) -> Any:
    return stats.abx(None if rows["rater"].null_count() else rows["rater"], rows["value"])


def _abx_pair(a: str, b: str, result: Any, p: float | None) -> AbxPair:
    return AbxPair(
        a=a,
        b=b,
        share=result.share,
        d_prime=result.d_prime,
        p=result.p_value,
        p_corrected=p,
        equivalence_p=result.equivalence_p_value,
        margin=result.margin,
    )


def _pair_of(rows: pl.DataFrame, stimuli: pl.DataFrame) -> pl.Series:
    """The two systems of each trial: those of the set's members, as far as its name or its other trials tell."""
    systems = dict(stimuli.select("stimulus", "system").iter_rows()) if "system" in stimuli.columns else {}
    sets = rows["set"] if "set" in rows.columns else rows["trial"]
    stimuli_of_pair: dict[str, set[str]] = {}
    for name, stimulus in zip(sets, rows["stimulus"], strict=True):
        members_of = stimuli_of_pair.setdefault(str(name), {stimulus})
        members_of.add(stimulus)
        parts = str(name).split("|")
        members_of.update(part for part in parts if part in systems)
    pair = {
        name: "\x1f".join(
            sorted({str(systems[stimulus_id]) for stimulus_id in members if systems.get(stimulus_id) is not None})
        )
        for name, members in stimuli_of_pair.items()
    }
    return pl.Series("pair", [pair[str(name)] for name in sets], dtype=pl.String)
