"""From a snapshot to every number of its report.

The kind of study decides which parts there are: *conveyance* (questions on axes that intents have references on),
*opinion* (numbers without references) or *presence* (categories, ordered or not, and yes/no). Every part says why where
it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import polars as pl

from heartfelt import __version__
from heartfelt.analysis.agreement import agreement, pooled_agreement
from heartfelt.analysis.analysis import Analysis
from heartfelt.analysis.breakdown import breakdown, intent_confusion
from heartfelt.analysis.counts import counts
from heartfelt.analysis.covariates import covariate_columns
from heartfelt.analysis.ellipses import ellipses
from heartfelt.analysis.material import Material, lay_out
from heartfelt.analysis.methods_text import methods, results
from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.analysis.pairwise import pairwise
from heartfelt.analysis.published import is_aimoclips, published
from heartfelt.analysis.quadrants import quadrants
from heartfelt.analysis.raters import raters_table
from heartfelt.analysis.reliability import of_question, reliability
from heartfelt.analysis.scores import Scored, scored
from heartfelt.analysis.screening import default_panel, screening
from heartfelt.analysis.sensitivity import Parts, sensitivity, side_counts, side_pairs
from heartfelt.analysis.slopes import slopes
from heartfelt.analysis.systems import distributions, intents, overall, systems
from heartfelt.analysis.variance import mixed_tables, variance_tables
from heartfelt.analysis.verdict import verdict
from heartfelt.panel.panel import Panel, screen
from heartfelt.snapshot import Snapshot

SCHEMA = 1
Report: TypeAlias = Callable[[str, int, int], None]
STEPS = (
    "screening raters",
    "reliability and ceilings",
    "systems and effects",
    "mixed models",
    "quadrants and ellipses",
    "with and without",
)


def analyze(
    snapshot: Snapshot, options: AnalyzeOptions | None = None, progress: Report | None = None
) -> Analysis:
    """Analyse a snapshot: screen, measure trust, test, compare, and say it in words."""
    options = options or AnalyzeOptions()
    step = _Steps(progress)
    step()
    panel = screen(snapshot, options.rules, seed=options.seed)
    default = default_panel(panel)
    material = lay_out(panel.snapshot())
    step()
    summary = _head(snapshot, material, options)
    trust = reliability(material, options.seed)
    summary |= {"reliability": trust, "reliability_pooled": _pooled(material, options.seed)}
    summary |= {"agreement": agreement(material), "agreement_pooled": pooled_agreement(material)}
    step()
    covariates, notes = covariate_columns(snapshot, options.covariates, progress)
    laid = {one.id: scored(one) for one in material.questions}
    own = _parts(material, laid, trust, covariates)
    summary |= {"covariates": list(covariates), "anova": own["anova"], "pairwise": own["pairwise"]}
    step()
    summary["mixed"] = mixed_tables(material)
    step()
    summary |= {"questions": overall(laid), "systems": own["systems"], "intents": intents(material, laid)}
    summary |= {
        "quadrants": own["quadrants"],
        "slopes": own["slopes"],
        "distributions": distributions(material),
    }
    shapes = ellipses(material, options.resamples, options.seed) or {"ellipses": None, "overlap": None}
    summary |= shapes | {"breakdown": breakdown(material), "intent_confusion": intent_confusion(material)}
    step()
    summary["screening"] = screening(panel, default)
    everyone, fewer = _both_sides(panel, default, own, options)
    summary["sensitivity"] = sensitivity(everyone, fewer)
    summary["sensitivity_counts"] = side_counts(everyone, fewer)
    summary["sensitivity_pairs"] = side_pairs(everyone, fewer)
    known = is_aimoclips(snapshot)
    summary["published"] = (
        published(summary["counts"], everyone["anova"], everyone["pairwise"]) if known else None
    )
    summary["notes"] = [*material.labels.notes, *notes]
    return _close(snapshot, panel, material, summary)


class _Steps:
    """Tell the caller which step begins."""

    def __init__(self, progress: Report | None) -> None:
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


def _pooled(material: Material, seed: int) -> dict[str, Any] | None:
    return {one.id: {"n_questions": one.pooled} | of_question(one, seed) for one in material.pools} or None


def _parts(
    material: Material,
    laid: dict[str, Scored],
    trust: dict[str, Any],
    covariates: dict[str, dict[str, float]],
) -> Parts:
    """The parts that are computed with and without the raters in question."""
    pairs = pairwise(material, laid)
    found = quadrants(material, laid)
    return {
        "counts": _kept(material),
        "reliability": trust,
        "anova": variance_tables(material, covariates),
        "pairwise": pairs,
        "systems": systems(material, laid, pairs),
        "slopes": slopes(material, laid),
        "quadrants": found,
        "hit_rate": None if found is None else found["hit_rate"],
    }


def _kept(material: Material) -> dict[str, int]:
    found = material.labels.table
    return {
        "raters": material.snapshot.counts["raters"],
        "answers": material.snapshot.counts["ratings"],
        "stimuli": found["stimulus"].n_unique(),
        "labels": found["value"].count(),
    }


def _both_sides(panel: Panel, default: Panel, own: Parts, options: AnalyzeOptions) -> tuple[Parts, Parts]:
    """What is compared: all raters, and those without whom the default policy would leave out."""
    left_out = (set(panel.dropped), set(panel.dropped_batches))
    by_default = (set(default.dropped), set(default.dropped_batches))
    everyone = own if not any(left_out) else _brief(panel.source, options)
    fewer = (
        own
        if left_out == by_default
        else everyone
        if not any(by_default)
        else _brief(default.snapshot(), options)
    )
    return everyone, fewer


def _brief(snapshot: Snapshot, options: AnalyzeOptions) -> Parts:
    material = lay_out(snapshot)
    laid = {one.id: scored(one) for one in material.questions}
    return _parts(material, laid, reliability(material, options.seed, brief=True), {})


def _close(snapshot: Snapshot, panel: Panel, material: Material, summary: dict[str, Any]) -> Analysis:
    summary["why_missing"] = _reasons(material, summary)
    for part in summary["why_missing"]:
        summary[part] = None
    summary["verdict"] = verdict(summary)
    summary["methods"] = methods(summary, snapshot.study)
    summary["results"] = results(summary)
    ledger = pl.concat([material.snapshot.ledger, material.labels.ledger], how="diagonal")
    return Analysis(
        material.snapshot, snapshot, panel, _labels(material), raters_table(material, panel), ledger, summary
    )


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


def _reasons(material: Material, summary: dict[str, Any]) -> dict[str, str]:
    """Why a part has nothing, for the parts that have nothing."""
    no_plane = material.quadrants if isinstance(material.quadrants, str) else "no stimulus lies in a quadrant"
    no_system = "the stimuli name no systems, or only one"
    reasons = {
        "reliability": "no question is answered with numbers or categories",
        "reliability_pooled": "no two questions share a scale of categories",
        "agreement": "no question is answered with categories",
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
    return {part: why for part, why in reasons.items() if not summary[part]}
