"""A plan in words: how many raters, more clips or more ratings, what a budget affords."""

from __future__ import annotations

import math

import numpy as np

from heartfelt.planning.forecasts import PILOT
from heartfelt.planning.pilots.pilot import Pilot
from heartfelt.planning.pilots.uncertainty import variance_draws
from heartfelt.planning.results import DesignForecast, PlainAnswers, StudyPlan
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, listed, number, percent, plural, share

_SAME_EFFORT = 0.15


def answers(plan: StudyPlan) -> PlainAnswers:
    """The three questions a plan is asked, answered from its grid."""
    return PlainAnswers(_raters(plan), _clips_or_ratings(plan), _afford(plan))


def target(plan: StudyPlan) -> str:
    if plan.options.effect is not None:
        size = plan.options.effect
        unit = "log odds" if plan.kind == "comparison" else "point" if size == 1 else "points"
        return f"a difference of {size:g} {unit} between two systems"
    if plan.options.effects:
        return "the expected differences between systems"
    return "a pair of systems (differences as large as in the pilot)"


def _power_words(forecast: DesignForecast) -> str:
    parts = [
        f"{_percent_with_range(q.power)} ({q.question})" for q in forecast.questions.values() if not q.power.is_missing
    ]
    return listed(parts) if parts else "no power (a single system)"


def _percent_with_range(power: Estimate) -> str:
    """The expected power; from a pilot with the range of powers that it leaves open."""
    if power.interval != PILOT or power.low is None or power.high is None:
        return percent(power.value)
    return f"{percent(power.value)} [{percent(power.low)} to {percent(power.high)}]"


def open_words(pilot: Pilot) -> list[str]:
    """What a pilot cannot tell, variance by variance."""
    out = []
    for name, question_pilot in pilot.questions.items():
        freedom = question_pilot.freedom
        if freedom is None or not freedom.varies:
            continue
        rows = variance_draws(question_pilot.components, freedom, 2000, np.random.default_rng(0))
        low, high = np.quantile(rows[:, [3, 7]], [0.025, 0.975], axis=0)
        raters, stimuli, _ = freedom.levels
        out.append(
            f"What the pilot cannot tell of '{name}': with {stimuli} stimuli and {raters} raters, the variance of stimuli lies"
            f" between {low[0]:.2g} and {high[0]:.2g} (estimate {question_pilot.components.stimulus:.2g}) and that of"
            " raters' tastes between"
            f" {low[1]:.2g} and {high[1]:.2g} (estimate {question_pilot.components.taste:.2g}). The power is the mean"
            " over what is possible,"
            " its interval holds 95% of it; a larger pilot narrows it, more simulated studies do not."
        )
    return out


def _raters(plan: StudyPlan) -> str:
    wanted, best = plan.options.power, plan.best
    if all(q.power.is_missing for q in best.questions.values()):
        return _reliability_words(best)
    if plan.recommended is not None:
        return (
            f"How many raters: {plural(best.design.raters, 'rater')} with {plural(best.design.per_rater, 'trial')} each"
            f" ({best.words}) find {target(plan)} with {_power_words(best)} power; {percent(wanted)} was asked for. That is"
            f" {number(best.minutes_per_rater, 0)} minutes per rater and {number(best.hours, 0)} hours in all.{_equivalence(plan)}"
        )
    limit = " within the budget" if plan.options.afford is not None else ""
    return (
        f"How many raters: no design that was tried reaches {percent(wanted)} power{limit} to find {target(plan)}. The best,"
        f" {best.words}, has {_power_words(best)}.{_first(plan)}{_equivalence(plan)}"
    )


def _equivalence(plan: StudyPlan) -> str:
    """What the design says about systems that do not differ."""
    forecasts = [q for q in plan.best.questions.values() if not q.power_equivalence.is_missing]
    if not forecasts:
        return ""
    parts = [f"{percent(q.power_equivalence.value)} ({q.question})" for q in forecasts]
    margin = f"{plan.options.smallest_effect:g}"
    return (
        f" Two systems that do not differ are shown to be equivalent within {margin} points with {listed(parts)} power."
    )


def _reliability_words(best: DesignForecast) -> str:
    parts = [f"{share(q.icc1k.value)} ({q.question})" for q in best.questions.values() if q.icc1k.value is not None]
    return f"How many raters: with one system there is no pair to find; {best.words} give a reliability of {listed(parts)}."


def _first(plan: StudyPlan) -> str:
    """The first design that reaches the power, or that there is none as far as was looked."""
    first, wanted = plan.first_reaching, percent(plan.options.power)
    if first is not None:
        cost = "" if first.cost_at_most is None else f", for at most {number(first.cost_at_most, 0)}"
        clips = "" if first.design.stimuli == plan.listed else f", which needs {first.design.stimuli:,} clips"
        return f" The first that reaches {wanted} is {first.words}{clips}{cost}."
    most = max(forecast.design.ratings for forecast in plan.designs)
    units = max(forecast.design.units for forecast in plan.designs)
    return f" None does within {most} ratings per clip of the study's own and {units:,} clips."


def _alike(a: DesignForecast, b: DesignForecast) -> bool:
    """Whether two designs take about the same number of ratings."""
    return abs(math.log(max(a.ratings_given, 1.0) / max(b.ratings_given, 1.0))) < _SAME_EFFORT


def _trades(few: DesignForecast, many: DesignForecast) -> bool:
    """Whether the second design spends about the same number of ratings on more clips, with fewer ratings of each."""
    more_clips = many.design.stimuli > few.design.stimuli and many.design.ratings < few.design.ratings
    return more_clips and _alike(few, many) and math.isfinite(_width(many) / _width(few))


def _width(forecast: DesignForecast) -> float:
    widths = [q.difference_width.value or q.mean_width.value for q in forecast.questions.values()]
    nonzero = [width for width in widths if width]
    return sum(nonzero) / len(nonzero) if nonzero else math.nan


def _clips_or_ratings(plan: StudyPlan) -> str:
    """Compare designs of about the same size that spend it on clips or on ratings per clip."""
    pairs = [(few, many) for few in plan.designs for many in plan.designs if _trades(few, many)]
    if not pairs or plan.kind == "comparison":
        return ""
    few, many = max(pairs, key=lambda pair: pair[1].design.stimuli / pair[0].design.stimuli)
    narrow = _width(many) / _width(few)
    head = (
        f"More clips or more ratings: {many.design.stimuli:,} clips x {many.design.ratings} ratings against"
        f" {few.design.stimuli:,} clips x {few.design.ratings}, both about {number(few.ratings_given, 0)} ratings:"
    )
    shown = f"intervals of differences are {_percent_change(narrow)} and power is {_power_words(many)} against {_power_words(few)}"
    trust = (
        f"single clips' means are then less reliable ({_reliability(many)} against {_reliability(few)}), so spend on ratings"
        " if labels of single clips matter, for example to train or score predictors"
    )
    choice = "More clips" if narrow < 0.97 else "It hardly matters" if narrow < 1.03 else "More ratings"
    return f"{head} {shown}. {choice} for comparing systems; {trust}."


def _percent_change(ratio: float) -> str:
    change = round(100 * abs(ratio - 1))
    return "equally wide" if change < 1 else f"{change}% {'narrower' if ratio < 1 else 'wider'} with more clips"


def _reliability(forecast: DesignForecast) -> str:
    reliabilities = [q.icc1k.value for q in forecast.questions.values() if q.icc1k.value is not None]
    return share(sum(reliabilities) / len(reliabilities)) if reliabilities else "unknown"


def _afford(plan: StudyPlan) -> str:
    budget = plan.options.afford
    if budget is None:
        return ""
    able = plan.affordable
    if not able:
        cheapest = min(plan.designs, key=lambda forecast: forecast.cost_at_most or math.inf)
        return (
            f"What {number(budget, 0)} affords: no design that was tried; the cheapest, {cheapest.words}, costs up to"
            f" {number(cheapest.cost_at_most, 0)}."
        )
    best = max(able, key=lambda forecast: (forecast.power, -(forecast.cost or 0.0)))
    return (
        f"What {number(budget, 0)} affords: {best.words} for {number(best.cost, 0)} (at most {number(best.cost_at_most, 0)}), with"
        f" {_power_words(best)} power to find {target(plan)} and intervals of differences {_widths(best)} wide."
    )


def _widths(forecast: DesignForecast) -> str:
    named_widths = [(q.difference_width.value, q.question) for q in forecast.questions.values()]
    return listed([f"{number(width, 2)} ({name})" for width, name in named_widths if width is not None])


def design_lines(forecast: DesignForecast) -> list[str]:
    lines = [forecast.words]
    cost = "" if forecast.cost is None else f", cost {number(forecast.cost, 0)}"
    lines.append(
        f"  {number(forecast.minutes_per_rater, 0)} min per rater, {number(forecast.hours, 1)} h in all{cost};"
        f" {number(forecast.ratings_per_unit, 1)} ratings per clip ({forecast.fewest_ratings:g} to {forecast.most_ratings:g})"
    )
    for q in forecast.questions.values():
        reliability = (
            ""
            if q.icc1k.value is None
            else f"; reliability {_bare(q.icc1k.estimate)}, ceiling {share(q.ceiling.value)}"
        )
        lines.append(
            f"  {q.question}: power {_bare(q.power)}, {number(q.pairs_found.value, 1)} of {q.pairs} pairs;"
            f" difference ±{number((q.difference_width.value or math.nan) / 2, 2)}{reliability}"
        )
    return lines


def _bare(estimate: Estimate) -> str:
    return "none" if estimate.is_missing else interval(estimate, bare=True)
