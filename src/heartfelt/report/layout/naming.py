"""How figures and sections name and choose what an analysis holds: questions, systems, coefficients and quadrants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heartfelt.analysis import Analysis
from heartfelt.analysis.data.material import find_plane
from heartfelt.analysis.findings.parts import Reliability
from heartfelt.report.charts import Key
from heartfelt.report.palette import SOFT, colour
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.wording import spaced

MANY_QUESTIONS = 12


def why_missing(analysis: Analysis, part: str, otherwise: str) -> str:
    """Why a part of the results is absent."""
    return analysis.summary.why_missing.get(part) or otherwise


def questions(analysis: Analysis) -> list[str]:
    """The questions with ratings or labels, in the study's order."""
    labelled = set(analysis.labels["question"]) if analysis.labels.height else set()
    return [question.id for question in analysis.snapshot.study.asked if question.id in labelled]


class DisplayNames(dict[str, str]):
    """What things are called, by id; the id itself where no name is known."""

    def __missing__(self, key: str) -> str:
        return key


def system_names(snapshot: Snapshot) -> DisplayNames:
    """What each system is called, by id; ``all`` is all systems."""
    unnamed = snapshot.stimuli["system"].drop_nulls().unique().sort() if "system" in snapshot.stimuli.columns else ()
    named = {system.id: system.name or system.id for system in snapshot.study.systems}
    return DisplayNames({"all": "all systems"} | {name: name for name in unnamed} | named)


def reliability_parts(analysis: Analysis) -> Mapping[str, Reliability]:
    """The reliability of each question; of all questions on one scale together where there are very many."""
    single, pooled = analysis.summary.reliability or {}, analysis.summary.reliability_pooled
    return pooled if pooled and len(single) > MANY_QUESTIONS else single


COEFFICIENTS = {
    "alpha_interval": "Krippendorff's alpha (interval)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "alpha_nominal": "Krippendorff's alpha (nominal)",
    "icc1": "ICC(1), one rater",
    "icc1k": "ICC(1,k), mean of the raters",
    "icc2": "ICC(2,1), one rater",
    "icc2k": "ICC(2,k), mean of the raters",
    "icc3": "ICC(3,1), one rater",
    "icc3k": "ICC(3,k), mean of the raters",
    "split_half": "Split-half (Spearman-Brown)",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "exact_agreement": "All raters agree",
    "pairwise_accuracy": "Accuracy between two raters",
    "pairwise_balanced_accuracy": "Balanced accuracy between two raters",
    "leave_one_out": "One rater against the majority of the others",
    "ceiling": "Ceiling of correlation",
    "correlation": "Ceiling of correlation",
    "rmse": "Floor of the error (RMSE)",
    "accuracy": "Ceiling of accuracy, no shape of votes assumed",
    "accuracy_smooth": "Ceiling of accuracy, smooth family of votes",
    "within_cells": "Ceiling of correlation within cells",
    "cell_means": "What cell means reach",
    "human": "What one rater reaches",
}
OUTCOMES = {"signed": "signed deviation", "absolute": "absolute deviation", "value": "mean rating"}


def coefficient(name: str) -> str:
    return COEFFICIENTS.get(name, spaced(name))


def effect(name: str) -> str:
    """An effect of a model: interactions with a cross."""
    return name.replace(":", " × ")


def outcome(name: str) -> str:
    """What is compared: the mean rating or a deviation from the reference."""
    return OUTCOMES.get(name, spaced(name))


# Warm above, cool below; neighbours differ in hue and in lightness.
SIDE_COLOURS = {(1, 1): "#e69f00", (-1, 1): "#d55e00", (-1, -1): "#0072b2", (1, -1): "#009e73"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuadrantLook:
    """How quadrants, or other groups of intents, are shown: in which order, and with which colours and names."""

    ids: tuple[str, ...]
    of_intent: Mapping[str, str]
    colours: Mapping[str, str]
    short_names: Mapping[str, str]
    names: Mapping[str, str]

    def colour(self, group: str | None) -> str:
        """The colour of a quadrant; grey for what lies in none."""
        return self.colours.get(group or "", SOFT)

    def short(self, group: str) -> str:
        """A quadrant in a few letters."""
        return self.short_names.get(group, spaced(group))

    def name(self, group: str) -> str:
        """A quadrant in words."""
        return self.names.get(group, spaced(group))

    def legend(self) -> list[Key]:
        """One entry per quadrant."""
        return [Key(self.name(group), self.colour(group), "circle", group) for group in self.ids]


def quadrant_look(study: Study) -> QuadrantLook:
    """The quadrants of the first two axes; the groups of the intents where there are no quadrants."""
    plane = find_plane(study)
    if isinstance(plane, str) or not plane.of_intent:
        return _group_look(study)
    first, second = plane.axes
    used = set(plane.of_intent.values())
    end = {1: "high", -1: "low"}
    names, short = {}, {}
    for name, (x, y) in plane.sides.items():
        names[name] = f"{end[x]} {spaced(first)}, {end[y]} {spaced(second)}"
        if first[0] != second[0]:
            short[name] = f"{end[x][0]}{first[0]}{end[y][0]}{second[0]}".upper()
    colours = {name: SIDE_COLOURS[side] for name, side in plane.sides.items()}
    ids = tuple(name for name in plane.names if name in used)
    return QuadrantLook(ids=ids, of_intent=plane.of_intent, colours=colours, short_names=short, names=names)


def _group_look(study: Study) -> QuadrantLook:
    of_intent = {intent.id: intent.group or intent.id for intent in study.intents}
    groups = tuple(dict.fromkeys(of_intent.values()))
    colours = {name: colour(i) for i, name in enumerate(groups)}
    return QuadrantLook(ids=groups, of_intent=of_intent, colours=colours, short_names={}, names={})
