"""From a snapshot to every number of its report.

The kind of study decides which parts there are: *conveyance* (questions on axes that intents have references on),
*opinion* (numbers without references) or *presence* (categories, ordered or not, and yes/no). A part without figures
says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import polars as pl

from heartfelt import __version__
from heartfelt.analysis.compared_sets.strengths import comparison_results, majorities
from heartfelt.analysis.compared_sets.traces import trace_results
from heartfelt.analysis.consistency.adjudicated import adjudicated_items
from heartfelt.analysis.consistency.attributes import field_agreement
from heartfelt.analysis.consistency.categories import categories
from heartfelt.analysis.consistency.coefficients import agreement, breakdown, intent_confusion
from heartfelt.analysis.consistency.reliability import pooled_reliability, reliability, reliability_for
from heartfelt.analysis.consistency.verification import verification
from heartfelt.analysis.data.answers_used import AnswersUsed, answers_used
from heartfelt.analysis.data.arms import compared_arms
from heartfelt.analysis.data.counts import checks, counts
from heartfelt.analysis.data.material import AnalysisData, prepare
from heartfelt.analysis.data.preregistration import (
    Preregistration,
    Registered,
    check_registration,
    read_preregistration,
)
from heartfelt.analysis.findings.parts import AnalysisCounts, Reliability
from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.analysis.panel.groups import RaterGrouping, rater_grouping, rater_groups
from heartfelt.analysis.panel.instruments import instrument_scores
from heartfelt.analysis.panel.screening import raters_table, screening
from heartfelt.analysis.panel.sensitivity import PolicySide, crossfit, sensitivity, sensitivity_pairs
from heartfelt.analysis.published import published
from heartfelt.analysis.summary import Analysis, Crossfit, SensitivityCounts, SideCounts, Summary
from heartfelt.analysis.systems.effects import Covariates, covariate_columns, pairwise, variance_tables
from heartfelt.analysis.systems.means import (
    Scores,
    distributions,
    intent_means,
    question_means,
    slopes,
    stimulus_scores,
    system_means,
)
from heartfelt.analysis.systems.ordinal_check import ordinal_checks
from heartfelt.analysis.systems.quadrants import ellipses, quadrants
from heartfelt.analysis.systems.rating_models import RatingModels, rating_models
from heartfelt.analysis.text.methods_text import methods, results
from heartfelt.analysis.text.verdict import verdict
from heartfelt.failures import Failed, Failures, attempt
from heartfelt.progress import Progress
from heartfelt.screening.panel import Panel, screen
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import set_questions
from heartfelt.stats.compiled.blas_threads import one_blas_thread
from heartfelt.stats.estimate import FutureRaters

SCHEMA = 2
FROM_MEANS = ("pairwise", "questions", "systems", "intents", "slopes", "quadrants")
STEPS = (
    "screening raters",
    "reliability and ceilings",
    "systems and effects",
    "mixed models",
    "quadrants and ellipses",
    "with and without",
)


@one_blas_thread()
def analyze(snapshot: Snapshot, options: AnalyzeOptions | None = None, progress: Progress | None = None) -> Analysis:
    """Analyse a snapshot: screen, measure reliability, test, compare, and say it in words.

    A part that refuses, or that fails while a command collects bugs, is missing with the reason; the others stand. See
    :mod:`heartfelt.failures`.
    """
    options = options or AnalyzeOptions()
    seed, failures = options.seed, Failures()
    guard = failures.guard

    def step(index: int) -> None:
        if progress is not None:
            progress(f"analysing: {STEPS[index]}", index, len(STEPS))

    planned = None if options.preregistration is None else read_preregistration(options.preregistration)
    grouping = _grouping(snapshot, options.by)
    covariates, notes = covariate_columns(snapshot, options.covariates, progress)
    step(0)
    panel, default = _screened(snapshot, options, failures)
    panel.view.forget()
    material = prepare(panel.snapshot())
    step(1)
    whom = options.future_raters
    trust = _for_future_raters(guard("reliability", {}, reliability, material, seed), whom)
    pooled = guard("reliability_pooled", None, pooled_reliability, material, seed)
    pooled = _for_future_raters(pooled or {}, whom)
    step(2)
    policy_side, scores = _side(material, trust, covariates, failures, seed)
    step(3)
    margin = options.smallest_effect or snapshot.study.smallest_effect
    rated = guard("mixed", RatingModels(), rating_models, material, scores, margin)
    step(4)
    shapes = guard("ellipses", None, ellipses, material, options.resamples, seed) or (None, None)
    step(5)
    sides = guard("sensitivity", (policy_side, policy_side), _both_sides, panel, default, policy_side, failures, seed)
    compared = "sensitivity" not in failures.reasons
    held_out = _held_out(panel, default, failures, seed)
    counted = counts(material, snapshot)
    everyone = sides[0]
    comparisons = guard("comparisons", (), comparison_results, material.snapshot, material.labels.contests)
    summary = Summary(
        heartfelt=__version__,
        schema=SCHEMA,
        kind=material.kind,
        source=snapshot.source,
        study=snapshot.study.name,
        hash=snapshot.hash,
        policy=options.rules,
        seed=seed,
        future_raters=whom,
        counts=counted,
        answers_used=guard("answers_used", AnswersUsed(0, 0), answers_used, material, panel, comparisons),
        reliability=trust,
        reliability_pooled=pooled or None,
        agreement=guard("agreement", None, agreement, material, trust, whom),
        agreement_pooled=guard("agreement_pooled", None, agreement, material, pooled, whom, pooled=True),
        checks=guard("checks", None, checks, material),
        covariates=tuple(covariates),
        anova=policy_side.anova,
        pairwise=(*rated.pairs, *policy_side.pairwise) if policy_side.pairwise else policy_side.pairwise,
        mixed=rated.effects,
        equivalence=rated.equivalence if margin else None,
        ordinal=guard("ordinal", (), ordinal_checks, material, rated.effects, rated.pairs),
        questions=guard("questions", (), question_means, scores),
        systems=policy_side.systems,
        intents=guard("intents", (), intent_means, scores),
        quadrants=policy_side.quadrants,
        slopes=policy_side.slopes,
        distributions=guard("distributions", (), distributions, material),
        ellipses=shapes[0],
        overlap=shapes[1],
        breakdown=guard("breakdown", None, breakdown, material),
        intent_confusion=guard("intent_confusion", None, intent_confusion, material, seed),
        by=guard("by", None, rater_groups, material, grouping, seed),
        screening=screening(panel, default, failures.reasons.get("screening")),
        sensitivity=sensitivity(*sides) if compared else None,
        sensitivity_counts=SensitivityCounts(everyone.counts, sides[1].counts),
        sensitivity_pairs=sensitivity_pairs(*sides) if compared else None,
        crossfit=held_out,
        published=guard("published", None, published, snapshot, counted, everyone.anova, everyone.pairwise),
        comparisons=comparisons or None,
        traces=guard("traces", (), trace_results, material.snapshot) or None,
        registered=_registered(planned, snapshot, panel, counted, options),
        verification=guard("verification", None, verification, snapshot.without_probes, panel.dropped),
        categories=guard("categories", None, categories, material, scores),
        field_agreement=guard("field_agreement", None, field_agreement, material, trust),
        adjudication=guard("adjudication", None, adjudicated_items, material.snapshot),
        instruments=guard("instruments", (), instrument_scores, material.snapshot) or None,
        notes=(*material.labels.notes, *notes, *_notes(material, counted)),
    )
    raters = guard("raters", panel.source.raters.select("rater"), raters_table, material, panel)
    labels = guard("facts of labels", material.labels.table, _labels, material)
    ledger = pl.concat([material.snapshot.ledger, material.labels.ledger], how="diagonal")
    summary = _in_words(summary, material, snapshot, failures)
    pairs = guard("pairs of stimuli", pl.DataFrame(), majorities, material.snapshot)
    return Analysis(
        snapshot=material.snapshot,
        all_ratings=snapshot,
        panel=panel,
        labels=labels,
        raters=raters,
        ledger=ledger,
        summary=summary,
        strengths=material.labels.strengths,
        courses=material.labels.courses,
        pairs=pairs,
    )


def _grouping(snapshot: Snapshot, column: str | None) -> RaterGrouping | None:
    """The groups of raters by a column, else by the arms of the study; None without either."""
    column = column or compared_arms(snapshot)
    return None if column is None else rater_grouping(snapshot, column)


def _for_future_raters(parts: Mapping[str, Reliability], whom: FutureRaters) -> dict[str, Reliability]:
    return {name: reliability_for(part, whom) for name, part in parts.items()}


def _held_out(panel: Panel, default: Panel, failures: Failures, seed: int) -> Crossfit | None:
    """Alpha on held-out stimuli; where there is none, ``failures`` has the reason."""
    result = failures.guard("crossfit", "", crossfit, panel, default, seed)
    if not isinstance(result, str):
        return result
    if result:
        failures.absent["crossfit"] = result
    return None


def _notes(material: AnalysisData, counted: AnalysisCounts) -> Iterator[str]:
    """Which stimuli the figures leave out."""
    if counted.probe_stimuli:
        yield (
            f"{counted.probe_stimuli:,} stimuli are probes (anchors or practice); their {counted.answers_to_probes:,}"
            " answers are used for screening raters only."
        )
    if material.aside:
        yield (
            f"{len(material.aside):,} stimuli are hidden references or anchors; means, reliability and tests leave them out."
        )


def _screened(snapshot: Snapshot, options: AnalyzeOptions, failures: Failures) -> tuple[Panel, Panel]:
    """The panel under the policy asked for and under the default policy; nobody judged where screening fails."""
    panel = attempt(screen, snapshot, options.rules, seed=options.seed)
    if isinstance(panel, Failed):
        failures.reasons["screening"] = panel.reason
        panel = screen(snapshot, replace(options.rules, actions={}), seed=options.seed)
        return panel, panel
    return panel, failures.guard("screening by default", panel, panel.under, "default")


def _side(
    material: AnalysisData, trust: Mapping[str, Reliability], covariates: Covariates, failures: Failures, seed: int
) -> tuple[PolicySide, Scores]:
    """The parts that are computed with and without the raters in question, and the stimuli's scores they are made from."""
    guard, table = failures.guard, material.labels.table
    scores = guard("means", {}, lambda: {q.id: stimulus_scores(q) for q in material.questions})
    if "means" in failures.reasons:
        failures.absent |= dict.fromkeys(FROM_MEANS, failures.reasons["means"])
    pairs = guard("pairwise", (), pairwise, scores, covariates, failures)
    side = PolicySide(
        counts=SideCounts(
            raters=len(material.snapshot.survey.raters),
            answers=material.snapshot.counts["ratings"],
            stimuli=table["stimulus"].n_unique(),
            labels=table["value"].count(),
        ),
        reliability=trust,
        anova=guard("anova", (), variance_tables, material, covariates),
        pairwise=pairs,
        systems=guard("systems", (), system_means, scores, pairs),
        slopes=guard("slopes", (), slopes, scores),
        quadrants=guard("quadrants", None, quadrants, material, scores, seed),
        strengths=material.labels.system_strengths,
    )
    return side, scores


def _both_sides(
    panel: Panel, default: Panel, policy_side: PolicySide, failures: Failures, seed: int
) -> tuple[PolicySide, PolicySide]:
    """What is compared: all raters, and those without whom the default policy would leave out."""

    def side(snapshot: Snapshot) -> PolicySide:
        """The same parts for other raters; a part that fails here is missing on that side only."""
        material, failed = prepare(snapshot), Failures()
        analysed, _ = _side(material, reliability(material, seed, brief=True), {}, failed, seed)
        failures.reasons |= {f"{part} of the other raters": reason for part, reason in failed.reasons.items()}
        return analysed

    left_out = (set(panel.dropped), set(panel.dropped_batches))
    by_default = (set(default.dropped), set(default.dropped_batches))
    everyone = side(panel.source.without_probes) if any(left_out) else policy_side
    if left_out == by_default:
        return everyone, policy_side
    return everyone, side(default.snapshot()) if any(by_default) else everyone


def _registered(
    planned: Preregistration | None, snapshot: Snapshot, panel: Panel, counted: AnalysisCounts, options: AnalyzeOptions
) -> Registered | None:
    """The preregistration next to what was done; None where there is none."""
    if planned is None:
        return None
    items = sum(counted.ratings_per_item.values())
    n_ratings = sum(int(times) * count for times, count in counted.ratings_per_item.items())
    return check_registration(
        planned,
        snapshot,
        raters=counted.raters,
        dropped=len(panel.dropped),
        per_item=n_ratings / max(items, 1),
        policy=options.rules.name,
        covariates=options.covariates,
    )


def _labels(material: AnalysisData) -> pl.DataFrame:
    """The labels with system, intent, quadrant, reference and deviation."""
    texts = dict.fromkeys(("stimulus", "question", "system", "intent", "quadrant"), pl.String)
    columns = texts | dict.fromkeys(("reference", "deviation"), pl.Float64)
    facts = [
        question.items.with_columns(pl.lit(question.id).alias("question")).select(list(columns))
        for question in material.questions
        if question.items.height
    ]
    keys = ["stimulus", "question"]
    every = pl.concat([pl.DataFrame(schema=columns), *facts])
    table = material.labels.table.join(every, on=keys, how="left", maintain_order="left")
    design_columns = [name for name in ("system", "intent") if name in material.snapshot.stimuli.columns]
    if not design_columns or not set_questions(material.study):
        return table
    # Strengths, and grades of references and anchors, are labels of no question that is averaged.
    design = material.snapshot.stimuli.select(
        "stimulus", *(pl.col(name).cast(pl.String).alias(f"_{name}") for name in design_columns)
    )
    table = table.join(design, on="stimulus", how="left", maintain_order="left")
    return table.with_columns(pl.coalesce(name, f"_{name}").alias(name) for name in design_columns).drop(
        f"_{name}" for name in design_columns
    )


def _in_words(summary: Summary, material: AnalysisData, snapshot: Snapshot, failures: Failures) -> Summary:
    """The summary with the reasons for its missing parts, its verdict, and paragraphs for a paper."""
    reasons = _reasons(material) | failures.absent
    reasons |= {part: reason for part, reason in failures.reasons.items() if part in reasons}
    parts = [field.name for field in fields(summary)]
    missing = {part: reasons[part] for part in parts if part in reasons and not getattr(summary, part)}
    gone: dict[str, Any] = dict.fromkeys(missing)
    summary = replace(summary, why_missing=missing, **gone)
    groups = verdict(summary)
    summary = replace(summary, verdict=groups.sentences, verdict_groups=groups)
    return replace(
        summary,
        methods=failures.guard("methods", "", methods, summary, snapshot.study),
        results=failures.guard("results", "", results, summary),
        notes=(
            *summary.notes,
            *(f"The part '{part}' is missing: {reason}." for part, reason in failures.reasons.items()),
        ),
    )


def _reasons(material: AnalysisData) -> dict[str, str]:
    """Why a part does not apply, where it does not."""
    no_plane = material.plane if isinstance(material.plane, str) else "no stimulus lies in a quadrant"
    no_system = "the stimuli name no systems, or only one"
    nothing_asked = "no question is answered with numbers or categories"
    not_shared = "no two questions share a scale of categories"
    reasons = {
        "reliability": nothing_asked,
        "reliability_pooled": not_shared,
        "agreement": "no question is answered with categories",
        "agreement_pooled": not_shared,
        "checks": "there is nothing to check",
        "anova": f"there is nothing to compare: {no_system}, and no intents differ",
        "pairwise": f"there are no pairs to compare: {no_system}",
        "mixed": f"there is nothing to compare, or no question is answered with numbers: {no_system}",
        "ordinal": "no question on a rating scale has a model of its ratings that tests systems",
        "questions": nothing_asked,
        "systems": "the stimuli name no systems",
        "intents": "the stimuli have no intents, or no answers that can be averaged",
        "quadrants": no_plane,
        "slopes": "the intents have no references on the axis of a question",
        "distributions": "there are no single ratings",
        "ellipses": no_plane,
        "overlap": no_plane,
        "breakdown": "no question is answered with categories",
        "intent_confusion": "no question has the intents among its categories",
        "by": "no column of the raters was named (--by)",
        "sensitivity": "there are no figures to compare",
        "sensitivity_pairs": f"there are no pairs to compare: {no_system}",
        "crossfit": "the default policy leaves nobody out",
        "published": "these are not data whose published figures are known",
    }
    if not material.questions and set_questions(material.study):
        compared = "every question compares stimuli; see the comparisons"
        not_compared = {"by", "crossfit", "published", "sensitivity"}
        reasons |= {part: compared for part in reasons if part not in not_compared}
    return reasons
