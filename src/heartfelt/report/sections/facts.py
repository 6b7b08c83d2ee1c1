"""The main fact of each section, which stands next to its title while it is folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from heartfelt.analysis import Analysis
from heartfelt.analysis.highlights import differs, main_effects
from heartfelt.analysis.summary import Summary
from heartfelt.report.page import Section
from heartfelt.report.sections.opening import raters_fact, reliability_fact
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, listed, number, percent, percent_interval, plural, share, spaced

MAX_LISTED = 4


def with_fact(section: Section, analysis: Analysis) -> Section:
    """The section with its main fact, where it has none of its own and one is known."""
    fact = FACTS.get(section.id)
    return section if section.fact or fact is None else replace(section, fact=fact(analysis.summary))


def _hits(summary: Summary) -> str:
    quadrants = summary.quadrants
    if quadrants is None or quadrants.hit_rate.is_missing:
        return ""
    chance = quadrants.hit_rate_by_chance
    expected = f" (chance {percent(chance.share)})" if chance else ""
    return f"{percent_interval(quadrants.hit_rate)} in the intended quadrant{expected}"


def _systems(summary: Summary) -> str:
    effects = main_effects(summary)
    differ = [spaced(name) for name, row in effects.items() if differs(row)]
    if not effects:
        return ""
    if not differ:
        return "No difference shown"
    not_shown = [spaced(name) for name, row in effects.items() if not differs(row)]
    text = f"Systems differ in {listed(differ, MAX_LISTED)}"
    return f"{text}; not shown in {listed(not_shown, MAX_LISTED)}" if not_shown else text


def _intents(summary: Summary) -> str:
    parts = [
        f"{spaced(row.question)} {number(row.means.absolute_deviation.value, 2)}"
        for row in summary.questions or ()
        if not row.means.absolute_deviation.is_missing
    ]
    return f"Mean distance from the intent: {listed(parts, MAX_LISTED)}" if parts else ""


def _trust(summary: Summary) -> str:
    values = reliability_fact(summary).values
    return f"Reliability {listed([' '.join(filter(None, (of, value))) for value, of in values])}" if values else ""


def _agreement(summary: Summary) -> str:
    estimates = {name: votes.lead for name, votes in (summary.agreement or {}).items() if not votes.lead.is_missing}
    return _range("Agreement", estimates)


def _range(measure: str, estimates: Mapping[str, Estimate]) -> str:
    """One value with its interval, or the lowest and the highest of several."""
    if len(estimates) == 1:
        return f"{measure} {interval(next(iter(estimates.values())), bare=True)}"
    values = [float(estimate) for estimate in estimates.values()]
    if not values:
        return ""
    ends = dict.fromkeys(share(limit) for limit in (min(values), max(values)))
    return f"{measure} {' to '.join(ends)} over {len(values)} questions"


def _raters(summary: Summary) -> str:
    (value, _), *_ = raters_fact(summary).values or (("", ""),)
    excluded = summary.screening.dropped_by_default
    return f"{value} flagged; the default policy excludes {len(excluded) or 'nobody'}" if value else ""


def _comparisons(summary: Summary) -> str:
    parts = []
    for comparison in summary.comparisons or ():
        tested = [pair for pair in comparison.pairs if pair.p is not None]
        if tested:
            differ = sum(pair.significant for pair in tested)
            parts.append(f"{differ} of {plural(len(tested), 'pair')} differ in {spaced(comparison.question)}")
        elif comparison.mushra is None:
            parts.append(f"{plural(comparison.trials, 'trial')} on {spaced(comparison.question)}")
    return "; ".join(parts[:MAX_LISTED])


def _mushra(summary: Summary) -> str:
    for comparison in summary.comparisons or ():
        best = (
            next((row for row in comparison.mushra.conditions if row.role == "member"), None)
            if comparison.mushra
            else None
        )
        if best is not None:
            return f"{best.name} is graded highest, {interval(best.mean, 1)}"
    return ""


def _traces(summary: Summary) -> str:
    concordance = {row.question: row.pairwise for row in summary.traces or () if not row.pairwise.is_missing}
    return _range("Concordance of two raters", concordance)


def _categories(summary: Summary) -> str:
    return "; ".join(
        f"{plural(len(result.categories), 'category', 'categories')} of {spaced(result.question)}"
        for result in summary.categories or ()
    )


def _fields(summary: Summary) -> str:
    alphas = {row.question: row.alpha for row in summary.field_agreement or () if not row.alpha.is_missing}
    return _range("Alpha", alphas)


def _drafts(summary: Summary) -> str:
    drafts = summary.verification
    return (
        f"{percent_interval(drafts.fields[0].verdicts.accepted)} of drafts accepted" if drafts and drafts.fields else ""
    )


def _answers(summary: Summary) -> str:
    return f"{plural(summary.counts.answers, 'answer')} to {plural(summary.counts.questions, 'question')}"


FACTS: Mapping[str, Callable[[Summary], str]] = {
    "maps": _hits,
    "systems": _systems,
    "intents": _intents,
    "trust": _trust,
    "agreement": _agreement,
    "raters": _raters,
    "comparisons": _comparisons,
    "mushra": _mushra,
    "traces": _traces,
    "categories": _categories,
    "fields": _fields,
    "drafts": _drafts,
    "answers": _answers,
    "adjudication": lambda summary: plural(summary.adjudication.items, "item") if summary.adjudication else "",
    "rater-groups": lambda summary: f"By {spaced(summary.by.column)}" if summary.by else "",
    "preregistration": lambda summary: (
        plural(len(summary.registered.deviations), "deviation") if summary.registered else ""
    ),
    "published": lambda summary: (
        f"{sum(row.agrees for row in summary.published)} of {len(summary.published)} reproduced"
        if summary.published
        else ""
    ),
    "stimuli": lambda summary: plural(summary.counts.stimuli, "stimulus", "stimuli"),
    "paper": lambda _: "Methods and results to copy",
}
"""By the id of the section."""
