"""From a snapshot to every number of its report.

The kind of study decides which parts there are: *conveyance* (questions on axes that intents have references on),
*opinion* (numbers without references) or *presence* (categories, ordered or not, and yes/no). A part without figures
says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt import __version__
from heartfelt.analysis.agreement import agreement, breakdown, intent_confusion
from heartfelt.analysis.counts import checks, counts
from heartfelt.analysis.covariates import covariate_columns
from heartfelt.analysis.effects import Covariates, mixed_tables, pairwise, variance_tables
from heartfelt.analysis.failures import Failed, Failures, attempt
from heartfelt.analysis.material import Material, prepare
from heartfelt.analysis.means import (
    Scores,
    distributions,
    intent_means,
    question_means,
    slopes,
    stimulus_scores,
    system_means,
)
from heartfelt.analysis.methods_text import methods, results
from heartfelt.analysis.published import published
from heartfelt.analysis.quadrants import ellipses, quadrants
from heartfelt.analysis.rater_groups import Grouping, rater_grouping, rater_groups
from heartfelt.analysis.raters import raters_table, screening
from heartfelt.analysis.reliability import pooled_reliability, reliability
from heartfelt.analysis.results import Counts, Reliability
from heartfelt.analysis.sensitivity import Side, crossfit, sensitivity, sensitivity_pairs
from heartfelt.analysis.summary import Analysis, SensitivityCounts, SideCounts, Summary
from heartfelt.analysis.verdict import verdict
from heartfelt.errors import InputError
from heartfelt.progress import Progress
from heartfelt.screening.panel import Panel, screen
from heartfelt.screening.policy import Policy, parse_policy
from heartfelt.snapshot import Snapshot

SCHEMA = 1
FROM_MEANS = ("pairwise", "questions", "systems", "intents", "slopes", "quadrants")
STEPS = (
    "screening raters",
    "reliability and ceilings",
    "systems and effects",
    "mixed models",
    "quadrants and ellipses",
    "with and without",
)


@dataclass(frozen=True, slots=True)
class AnalyzeOptions:
    """How an analysis is made.

    ``policy`` decides which raters are kept; the usual one flags and keeps everybody. ``resamples`` is for the intervals that
    draw. ``covariates`` are columns of the stimuli that the analysis of variance is repeated with; ``loudness`` is measured
    from the media where it is not a column. ``by`` is a column of the raters (language, expertise …) whose groups are compared.
    """

    policy: Policy | str | Path | Mapping[str, Any] = "flag-only"
    seed: int = 0
    resamples: int = 1000
    covariates: tuple[str, ...] = ()
    by: str | None = None

    def __post_init__(self) -> None:
        if self.resamples < 100:
            raise InputError(
                f"{self.resamples} resamples give no usable interval.", "Ask for 1,000, or at least 100."
            )
        object.__setattr__(self, "policy", parse_policy(self.policy))
        object.__setattr__(self, "covariates", tuple(self.covariates))

    @property
    def rules(self) -> Policy:
        """The policy itself, whatever way it was given."""
        return parse_policy(self.policy)


def analyze(
    snapshot: Snapshot, options: AnalyzeOptions | None = None, progress: Progress | None = None
) -> Analysis:
    """Analyse a snapshot: screen, measure reliability, test, compare, and say it in words.

    A part that fails is missing, with the exception's kind and text as its reason; the others stand.
    """
    options = options or AnalyzeOptions()
    failures = Failures()

    def step(place: int) -> None:
        if progress is not None:
            progress(f"analysing: {STEPS[place]}", place, len(STEPS))

    grouping = None if options.by is None else rater_grouping(snapshot, options.by)
    covariates, notes = covariate_columns(snapshot, options.covariates, progress)
    step(0)
    panel, default = _screened(snapshot, options, failures)
    material = prepare(panel.snapshot())
    job = _Job(snapshot, panel, default, material, covariates, grouping, options)
    summary = _summary(job, failures, step)
    summary = replace(summary, notes=(*material.labels.notes, *notes, *_probes(summary.counts)))
    guard = failures.guard
    raters = guard("raters", lambda: raters_table(material, panel), panel.source.raters.select("rater"))
    labels = guard("facts of labels", lambda: _labels(material), material.labels.table)
    ledger = pl.concat([material.snapshot.ledger, material.labels.ledger], how="diagonal")
    summary = _in_words(summary, material, snapshot, failures)
    return Analysis(material.snapshot, snapshot, panel, labels, raters, ledger, summary)


@dataclass(frozen=True, slots=True)
class _Job:
    """What the parts of an analysis are computed from."""

    snapshot: Snapshot
    panel: Panel
    default: Panel
    material: Material
    covariates: Covariates
    grouping: Grouping | None
    options: AnalyzeOptions


def _summary(job: _Job, failures: Failures, step: Callable[[int], None]) -> Summary:
    """Every part; a part that fails is empty, with the reason among the failures."""
    material, seed, guard = job.material, job.options.seed, failures.guard
    step(1)
    trust = guard("reliability", lambda: reliability(material, seed), {})
    pooled = guard("reliability_pooled", lambda: pooled_reliability(material, seed), None)
    step(2)
    scores = guard("means", lambda: {q.id: stimulus_scores(q) for q in material.questions}, {})
    own = _side(material, scores, trust, job.covariates, failures, seed)
    if "means" in failures.reasons:
        failures.absent |= dict.fromkeys(FROM_MEANS, failures.reasons["means"])
    step(3)
    mixed = guard("mixed", lambda: mixed_tables(material), ())
    step(4)
    shapes = guard("ellipses", lambda: ellipses(material, job.options.resamples, seed), None) or (None, None)
    step(5)
    sides = guard("sensitivity", lambda: _both_sides(job, own, failures), (own, own))
    compared = "sensitivity" not in failures.reasons
    held_out = guard("crossfit", lambda: crossfit(job.panel, job.default, seed), "")
    if isinstance(held_out, str) and held_out:
        failures.absent["crossfit"] = held_out
    counted = counts(material, job.snapshot)
    return Summary(
        heartfelt=__version__,
        schema=SCHEMA,
        kind=material.kind,
        source=job.snapshot.source,
        study=job.snapshot.study.name,
        hash=job.snapshot.hash,
        policy=job.options.rules,
        seed=seed,
        counts=counted,
        reliability=trust,
        reliability_pooled=pooled,
        agreement=guard("agreement", lambda: agreement(material, trust), None),
        agreement_pooled=guard(
            "agreement_pooled", lambda: agreement(material, pooled or {}, pooled=True), None
        ),
        checks=guard("checks", lambda: checks(material), None),
        covariates=tuple(job.covariates),
        anova=own.anova,
        pairwise=own.pairwise,
        mixed=mixed,
        questions=guard("questions", lambda: question_means(scores), ()),
        systems=own.systems,
        intents=guard("intents", lambda: intent_means(scores), ()),
        quadrants=own.quadrants,
        slopes=own.slopes,
        distributions=guard("distributions", lambda: distributions(material), ()),
        ellipses=shapes[0],
        overlap=shapes[1],
        breakdown=guard("breakdown", lambda: breakdown(material), None),
        intent_confusion=guard("intent_confusion", lambda: intent_confusion(material, seed), None),
        by=guard("by", lambda: rater_groups(material, job.grouping, seed), None),
        screening=screening(job.panel, job.default, failures.reasons.get("screening")),
        sensitivity=sensitivity(*sides) if compared else None,
        sensitivity_counts=SensitivityCounts(sides[0].counts, sides[1].counts),
        sensitivity_pairs=sensitivity_pairs(*sides) if compared else None,
        crossfit=None if isinstance(held_out, str) else held_out,
        published=guard(
            "published", lambda: published(job.snapshot, counted, sides[0].anova, sides[0].pairwise), None
        ),
    )


def _screened(snapshot: Snapshot, options: AnalyzeOptions, failures: Failures) -> tuple[Panel, Panel]:
    """The panel under the policy asked for and under the default policy; nobody judged where screening fails."""
    made = attempt(lambda: screen(snapshot, options.rules, seed=options.seed))
    if isinstance(made, Failed):
        failures.reasons["screening"] = made.why
        panel = screen(snapshot, replace(options.rules, actions={}), seed=options.seed)
        return panel, panel
    panel = made
    return panel, failures.guard("screening by default", lambda: panel.under("default"), panel)


def _side(
    material: Material,
    scores: Scores,
    trust: Mapping[str, Reliability],
    covariates: Covariates,
    failures: Failures,
    seed: int,
) -> Side:
    """The parts that are computed with and without the raters in question."""
    guard, table = failures.guard, material.labels.table
    pairs = guard("pairwise", lambda: pairwise(scores, covariates, failures), ())
    return Side(
        counts=SideCounts(
            raters=len(material.snapshot.survey.raters),
            answers=material.snapshot.counts["ratings"],
            stimuli=table["stimulus"].n_unique(),
            labels=table["value"].count(),
        ),
        reliability=trust,
        anova=guard("anova", lambda: variance_tables(material, covariates), ()),
        pairwise=pairs,
        systems=guard("systems", lambda: system_means(scores, pairs), ()),
        slopes=guard("slopes", lambda: slopes(scores), ()),
        quadrants=guard("quadrants", lambda: quadrants(material, scores, seed), None),
    )


def _both_sides(job: _Job, own: Side, failures: Failures) -> tuple[Side, Side]:
    """What is compared: all raters, and those without whom the default policy would leave out."""

    def side(snapshot: Snapshot) -> Side:
        """The same parts for other raters; a part that fails here is missing on that side only."""
        material, failed = prepare(snapshot), Failures()
        scores = {question.id: stimulus_scores(question) for question in material.questions}
        trust = reliability(material, seed, brief=True)
        made = _side(material, scores, trust, {}, failed, seed)
        failures.reasons |= {f"{part} of the other raters": why for part, why in failed.reasons.items()}
        return made

    panel, default, seed = job.panel, job.default, job.options.seed
    left_out = (set(panel.dropped), set(panel.dropped_batches))
    by_default = (set(default.dropped), set(default.dropped_batches))
    everyone = side(panel.source.without_probes) if any(left_out) else own
    if left_out == by_default:
        return everyone, own
    return everyone, side(default.snapshot()) if any(by_default) else everyone


def _probes(counted: Counts) -> list[str]:
    if not counted.probe_stimuli:
        return []
    return [
        f"{counted.probe_stimuli:,} stimuli are probes (anchors or practice); their {counted.answers_to_probes:,}"
        " answers are used for screening raters only."
    ]


def _labels(material: Material) -> pl.DataFrame:
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
    return material.labels.table.join(every, on=keys, how="left", maintain_order="left")


def _in_words(summary: Summary, material: Material, snapshot: Snapshot, failures: Failures) -> Summary:
    """The summary with the reasons for its missing parts, its verdict, and paragraphs for a paper."""
    reasons = _reasons(material) | failures.absent
    reasons |= {part: why for part, why in failures.reasons.items() if part in reasons}
    parts = [each.name for each in fields(summary)]
    missing = {part: reasons[part] for part in parts if part in reasons and not getattr(summary, part)}
    gone: dict[str, Any] = dict.fromkeys(missing)
    summary = replace(summary, why_missing=missing, **gone)
    groups = verdict(summary)
    summary = replace(summary, verdict=groups.sentences, verdict_groups=groups)
    return replace(
        summary,
        methods=failures.guard("methods", lambda: methods(summary, snapshot.study), ""),
        results=failures.guard("results", lambda: results(summary), ""),
        notes=(*summary.notes, *failures.notes),
    )


def _reasons(material: Material) -> dict[str, str]:
    """Why a part does not apply, where it does not."""
    no_plane = material.plane if isinstance(material.plane, str) else "no stimulus lies in a quadrant"
    no_system = "the stimuli name no systems, or only one"
    nothing_asked = "no question is answered with numbers or categories"
    not_shared = "no two questions share a scale of categories"
    return {
        "reliability": nothing_asked,
        "reliability_pooled": not_shared,
        "agreement": "no question is answered with categories",
        "agreement_pooled": not_shared,
        "checks": "there is nothing to check",
        "anova": f"there is nothing to compare: {no_system}, and no intents differ",
        "pairwise": f"there are no pairs to compare: {no_system}",
        "mixed": f"there is nothing to compare, or no question is answered with numbers: {no_system}",
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
