"""From a snapshot to every number of its report.

The kind of study decides which parts there are: *conveyance* (questions on axes that intents have references on),
*opinion* (numbers without references) or *presence* (categories, ordered or not, and yes/no). Every part says why where
it has nothing to say.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt import __version__
from heartfelt.analysis.agreement import agreement, pooled_agreement
from heartfelt.analysis.breakdown import breakdown, intent_confusion
from heartfelt.analysis.checks import checks
from heartfelt.analysis.counts import counts
from heartfelt.analysis.covariates import covariate_columns
from heartfelt.analysis.crossfit import crossfit
from heartfelt.analysis.ellipses import ellipses
from heartfelt.analysis.failures import Failed, Failures, attempt
from heartfelt.analysis.material import Material, lay_out
from heartfelt.analysis.methods_text import methods, results
from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.analysis.pairwise import pairwise
from heartfelt.analysis.published import published
from heartfelt.analysis.quadrants import quadrants
from heartfelt.analysis.rater_groups import by_groups, rater_groups
from heartfelt.analysis.raters import raters_table
from heartfelt.analysis.reliability import of_question, reliability
from heartfelt.analysis.scores import Scored, scored
from heartfelt.analysis.screening import default_panel, nobody_judged, screening
from heartfelt.analysis.sensitivity import Parts, sensitivity, side_counts, side_pairs
from heartfelt.analysis.slopes import slopes
from heartfelt.analysis.summary import Analysis, Summary
from heartfelt.analysis.systems import distributions, intents, overall, systems
from heartfelt.analysis.variance import mixed_tables, variance_tables
from heartfelt.analysis.verdict import verdict
from heartfelt.progress import Progress
from heartfelt.screening.panel import Panel, screen
from heartfelt.serialization import from_json
from heartfelt.snapshot import Snapshot

SCHEMA = 1
STEPS = (
    "screening raters",
    "reliability and ceilings",
    "systems and effects",
    "mixed models",
    "quadrants and ellipses",
    "with and without",
)


def analyze(
    snapshot: Snapshot, options: AnalyzeOptions | None = None, progress: Progress | None = None
) -> Analysis:
    """Analyse a snapshot: screen, measure trust, test, compare, and say it in words.

    A part that fails is missing, with the exception's kind and text as its reason; the others stand.
    """
    options = options or AnalyzeOptions()
    step, failures = _Steps(progress), Failures()
    groups = None if options.by is None else rater_groups(snapshot, options.by)
    covariates, notes = covariate_columns(snapshot, options.covariates, progress)
    step()
    panel, default = _screened(snapshot, options, failures)
    material = lay_out(panel.snapshot())
    step()
    summary = _head(snapshot, material, options)
    guard = failures.guard
    trust = failures.mapping("reliability", lambda: reliability(material, options.seed))
    summary["reliability"] = trust
    summary["reliability_pooled"] = guard("reliability_pooled", lambda: _pooled(material, options.seed), None)
    summary |= _agreements(material, summary, failures)
    summary["checks"] = guard("checks", lambda: checks(material).to_json(), None)
    step()
    laid = failures.mapping("means", lambda: {one.id: scored(one) for one in material.questions})
    own = _parts(material, laid, trust, covariates, failures, options.seed)
    summary |= {"covariates": list(covariates), "anova": own["anova"], "pairwise": own["pairwise"]}
    step()
    summary["mixed"] = failures.rows("mixed", lambda: mixed_tables(material))
    step()
    summary["questions"] = failures.rows("questions", lambda: overall(laid))
    summary["systems"] = own["systems"]
    summary["intents"] = failures.rows("intents", lambda: intents(material, laid))
    summary |= {"quadrants": own["quadrants"], "slopes": own["slopes"]}
    summary["distributions"] = failures.rows("distributions", lambda: distributions(material))
    nothing: dict[str, Any] = {"ellipses": None, "overlap": None}
    shapes = guard("ellipses", lambda: ellipses(material, options.resamples, options.seed), None)
    summary |= shapes or nothing
    summary["breakdown"] = guard("breakdown", lambda: breakdown(material), None)
    summary["intent_confusion"] = guard(
        "intent_confusion", lambda: intent_confusion(material, options.seed), None
    )
    summary["by"] = (
        None if groups is None else guard("by", lambda: by_groups(material, groups, options.seed), None)
    )
    step()
    summary["screening"] = screening(panel, default)
    if "screening" in failures.reasons:
        summary["screening"]["why_missing"] = failures.reasons["screening"]
    _with_and_without(snapshot, panel, default, own, options, failures, summary)
    summary["notes"] = [*material.labels.notes, *notes, *_probes(summary["counts"])]
    return _close(snapshot, panel, material, summary, failures)


def _screened(snapshot: Snapshot, options: AnalyzeOptions, failures: Failures) -> tuple[Panel, Panel]:
    """The panel under the policy asked for and under the default one; nobody judged where screening fails."""
    made = attempt(lambda: screen(snapshot, options.rules, seed=options.seed))
    if isinstance(made, Failed):
        failures.reasons["screening"] = made.why
        panel = screen(snapshot, nobody_judged(options.rules), seed=options.seed)
        return panel, panel
    panel = made
    return panel, failures.guard("screening by default", lambda: default_panel(panel), panel)


def _agreements(material: Material, summary: dict[str, Any], failures: Failures) -> dict[str, Any]:
    """Agreement on categories, with the coefficient to lead with: one that knows the order where there is one."""
    found = failures.guard("agreement", lambda: agreement(material), None)
    pooled = failures.guard("agreement_pooled", lambda: pooled_agreement(material), None)
    blocks = {one.id: one for one in (*material.pools, *material.questions)}
    for part, trust in ((found, "reliability"), (pooled, "reliability_pooled")):
        for name, row in (part or {}).items():
            row["leading"] = "fleiss_kappa"
            ordinal = ((summary[trust] or {}).get(name) or {}).get("alpha_ordinal")
            if ordinal is not None and blocks[name].level == "ordinal" and len(blocks[name].categories) > 2:
                row |= {"leading": "alpha_ordinal", "alpha_ordinal": ordinal}
    return {"agreement": found, "agreement_pooled": pooled}


def _with_and_without(
    snapshot: Snapshot,
    panel: Panel,
    default: Panel,
    own: Parts,
    options: AnalyzeOptions,
    failures: Failures,
    summary: dict[str, Any],
) -> None:
    """What the raters in question change, and the published figures, which use everybody."""
    everyone, fewer = failures.guard(
        "sensitivity", lambda: _both_sides(panel, default, own, options, failures), (own, own)
    )
    failed = "sensitivity" in failures.reasons
    summary["sensitivity"] = [] if failed else sensitivity(everyone, fewer)
    summary["sensitivity_counts"] = side_counts(everyone, fewer)
    summary["sensitivity_pairs"] = [] if failed else side_pairs(everyone, fewer)
    found = failures.mapping("crossfit", lambda: crossfit(panel, default, options.seed))
    summary["crossfit"] = found if found.get("questions") else None
    if found.get("why_missing"):
        failures.absent["crossfit"] = str(found["why_missing"])
    summary["published"] = failures.guard(
        "published",
        lambda: published(snapshot, summary["counts"], everyone["anova"], everyone["pairwise"]),
        None,
    )


class _Steps:
    """Tell the caller which step begins."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.at = 0

    def __call__(self) -> None:
        if self.progress is not None:
            self.progress(f"analysing: {STEPS[self.at]}", self.at, len(STEPS))
        self.at += 1


def _head(snapshot: Snapshot, material: Material, options: AnalyzeOptions) -> dict[str, Any]:
    return {
        "heartfelt": __version__,
        "schema": SCHEMA,
        "kind": material.kind,
        "source": snapshot.source.to_json(),
        "study": snapshot.study.name,
        "hash": snapshot.hash,
        "policy": options.rules.to_json(),
        "seed": options.seed,
        "counts": counts(material, snapshot),
    }


def _probes(counted: dict[str, Any]) -> list[str]:
    if not counted["probe_stimuli"]:
        return []
    return [
        f"{counted['probe_stimuli']:,} stimuli are probes (anchors or practice); their {counted['answers_to_probes']:,}"
        " answers are used for screening raters and are part of no other figure."
    ]


def _pooled(material: Material, seed: int) -> dict[str, Any] | None:
    return {one.id: {"n_questions": one.pooled} | of_question(one, seed) for one in material.pools} or None


def _parts(
    material: Material,
    laid: dict[str, Scored],
    trust: dict[str, Any],
    covariates: dict[str, dict[str, float]],
    failures: Failures,
    seed: int,
) -> Parts:
    """The parts that are computed with and without the raters in question."""
    guard = failures.guard
    pairs = failures.rows("pairwise", lambda: pairwise(material, laid, covariates, failures))
    plane = guard("quadrants", lambda: quadrants(material, laid, seed), None)
    return {
        "counts": _kept(material),
        "reliability": trust,
        "anova": failures.rows("anova", lambda: variance_tables(material, covariates)),
        "pairwise": pairs,
        "systems": failures.rows("systems", lambda: systems(material, laid, pairs)),
        "slopes": failures.rows("slopes", lambda: slopes(material, laid)),
        "quadrants": plane,
        "hit_rate": None if plane is None else plane["hit_rate"],
    }


def _kept(material: Material) -> dict[str, int]:
    found = material.labels.table
    return {
        "raters": len(material.snapshot.survey.raters),
        "answers": material.snapshot.counts["ratings"],
        "stimuli": found["stimulus"].n_unique(),
        "labels": found["value"].count(),
    }


def _both_sides(
    panel: Panel, default: Panel, own: Parts, options: AnalyzeOptions, failures: Failures
) -> tuple[Parts, Parts]:
    """What is compared: all raters, and those without whom the default policy would leave out."""
    left_out = (set(panel.dropped), set(panel.dropped_batches))
    by_default = (set(default.dropped), set(default.dropped_batches))
    everyone = own if not any(left_out) else _brief(panel.source.without_probes, options, failures)
    fewer = (
        own
        if left_out == by_default
        else everyone
        if not any(by_default)
        else _brief(default.snapshot(), options, failures)
    )
    return everyone, fewer


def _brief(snapshot: Snapshot, options: AnalyzeOptions, failures: Failures) -> Parts:
    """The same parts for other raters; one that fails here is missing on that side only."""
    material = lay_out(snapshot)
    laid = {one.id: scored(one) for one in material.questions}
    trust = reliability(material, options.seed, brief=True)
    side = Failures()
    made = _parts(material, laid, trust, {}, side, options.seed)
    failures.reasons |= {f"{part} of the other raters": why for part, why in side.reasons.items()}
    return made


def _close(
    snapshot: Snapshot, panel: Panel, material: Material, summary: dict[str, Any], failures: Failures
) -> Analysis:
    guard = failures.guard
    listed = panel.source.raters.select("rater")
    raters = guard("raters", lambda: raters_table(material, panel), listed)
    labels = guard("facts of labels", lambda: _labels(material), material.labels.table)
    summary["why_missing"] = _reasons(material, summary, failures)
    for part in summary["why_missing"]:
        summary[part] = None
    said = verdict(summary)
    summary["verdict"], summary["verdict_groups"] = said.sentences, said.to_json()
    summary["methods"] = guard("methods", lambda: methods(summary, snapshot.study), "")
    summary["results"] = guard("results", lambda: results(summary), "")
    summary["notes"] += failures.notes
    ledger = pl.concat([material.snapshot.ledger, material.labels.ledger], how="diagonal")
    return Analysis(material.snapshot, snapshot, panel, labels, raters, ledger, from_json(Summary, summary))


def _labels(material: Material) -> pl.DataFrame:
    """The labels with system, intent, quadrant, reference and deviation."""
    facts = [
        one.items.select(
            "stimulus",
            pl.lit(one.id).alias("question"),
            "system",
            "intent",
            "quadrant",
            "reference",
            "deviation",
        )
        for one in material.questions
        if one.items.height
    ]
    table = material.labels.table
    if not facts:
        gone = [pl.lit(None, pl.String).alias(name) for name in ("system", "intent", "quadrant")]
        return table.with_columns(
            *gone, *(pl.lit(None, pl.Float64).alias(n) for n in ("reference", "deviation"))
        )
    return table.join(pl.concat(facts), on=["stimulus", "question"], how="left", maintain_order="left")


def _reasons(material: Material, summary: dict[str, Any], failures: Failures) -> dict[str, str]:
    """Why a part has nothing, for the parts that have nothing: it failed, or it does not apply."""
    no_plane = material.quadrants if isinstance(material.quadrants, str) else "no stimulus lies in a quadrant"
    no_system = "the stimuli name no systems, or only one"
    reasons = {
        "reliability": "no question is answered with numbers or categories",
        "reliability_pooled": "no two questions share a scale of categories",
        "agreement": "no question is answered with categories",
        "checks": "there is nothing to check",
        "by": "no column of the raters was named (--by)",
        "crossfit": "the default policy leaves nobody out",
        "questions": "no question is answered with numbers or categories",
        "agreement_pooled": "no two questions share a scale of categories",
        "anova": f"there is nothing to compare: {no_system}, and no intents differ",
        "mixed": f"there is nothing to compare, or no question is answered with numbers: {no_system}",
        "pairwise": f"there are no pairs to compare: {no_system}",
        "systems": "the stimuli name no systems",
        "intents": "the stimuli have no intents, or no answers that can be averaged",
        "quadrants": no_plane,
        "ellipses": no_plane,
        "overlap": no_plane,
        "slopes": "the intents have no references on the axis of a question",
        "distributions": "there are no single ratings",
        "breakdown": "no question is answered with categories",
        "intent_confusion": "no question has the intents among its categories",
        "published": "these are not data whose published figures are known",
        "sensitivity": "there are no figures to compare",
        "sensitivity_pairs": f"there are no pairs to compare: {no_system}",
    }
    failed = {part: why for part, why in (failures.absent | failures.reasons).items() if part in reasons}
    return {part: why for part, why in (reasons | failed).items() if not summary[part]}
