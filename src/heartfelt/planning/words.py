"""A plan in words: how many raters, more clips or more ratings, what a budget affords."""

from __future__ import annotations

import math

from heartfelt.planning.results import Answers, DesignForecast, Plan
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, listed, number, percent, plural, share

_SAME_EFFORT = 0.15


def answers(plan: Plan) -> Answers:
    """The three questions a plan is asked, answered from its grid."""
    return Answers(_raters(plan), _clips_or_ratings(plan), _afford(plan))


def target(plan: Plan) -> str:
    """What is to be found, in words."""
    if plan.options.effect is not None:
        size = plan.options.effect
        unit = "log odds" if plan.kind == "comparison" else "point" if size == 1 else "points"
        return f"a difference of {size:g} {unit} between two systems"
    if plan.options.effects:
        return "the expected differences between systems"
    return "a pair of systems (differences as large as in the pilot)"


def _power_words(each: DesignForecast) -> str:
    parts = [
        f"{percent(q.power.value)} ({q.question})" for q in each.questions.values() if not q.power.is_missing
    ]
    return listed(parts) if parts else "no power (a single system)"


def _raters(plan: Plan) -> str:
    wanted, best = plan.options.power, plan.best
    if all(q.power.is_missing for q in best.questions.values()):
        return _reliability_words(best)
    if plan.recommended is not None:
        return (
            f"How many raters: {plural(best.design.raters, 'rater')} with {plural(best.design.per_rater, 'trial')} each"
            f" ({best.words}) find {target(plan)} with {_power_words(best)} power; {percent(wanted)} was asked for. That is"
            f" {number(best.minutes_per_rater, 0)} minutes per rater and {number(best.hours, 0)} hours in all.{_equivalence(plan)}"
        )
    reach = _extrapolated(plan)
    more = f" About {number(reach)} raters would reach {percent(wanted)}." if reach else ""
    limit = " within the budget" if plan.options.afford is not None else ""
    return (
        f"How many raters: no design of this grid reaches {percent(wanted)} power{limit} to find {target(plan)}. The best,"
        f" {best.words}, has {_power_words(best)}.{more}{_equivalence(plan)}"
    )


def _equivalence(plan: Plan) -> str:
    """What the design says about systems that do not differ."""
    known = [q for q in plan.best.questions.values() if not q.power_equivalence.is_missing]
    if not known:
        return ""
    parts = [f"{percent(q.power_equivalence.value)} ({q.question})" for q in known]
    margin = f"{plan.options.smallest_effect:g}"
    return f" Two systems that do not differ are shown to be equivalent within {margin} points with {listed(parts)} power."


def _reliability_words(best: DesignForecast) -> str:
    parts = [
        f"{share(q.icc1k.value)} ({q.question})" for q in best.questions.values() if q.icc1k.value is not None
    ]
    return f"How many raters: with one system there is no pair to find; {best.words} give a reliability of {listed(parts)}."


def _extrapolated(plan: Plan) -> int | None:
    """Raters for the wanted power, where more of them is what is missing: the probit of power grows with the root of raters."""
    from scipy.special import ndtri

    best = plan.best
    rows = [
        each
        for each in plan.designs
        if (each.design.stimuli, each.design.per_rater, each.design.sets)
        == (best.design.stimuli, best.design.per_rater, best.design.sets)
        and 0.02 < each.power < 0.995
    ]
    if len({each.design.raters for each in rows}) < 2:
        return None
    x = [math.sqrt(each.design.raters) for each in rows]
    y = [float(ndtri(each.power)) for each in rows]
    centre, level = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - centre) * (b - level) for a, b in zip(x, y, strict=True)) / sum(
        (a - centre) ** 2 for a in x
    )
    if slope <= 0:
        return None
    root = centre + (float(ndtri(plan.options.power)) - level) / slope
    raters = math.ceil(root * root)
    # Far beyond the grid a line says nothing.
    return raters if best.design.raters < raters <= 4 * best.design.raters else None


def _alike(a: DesignForecast, b: DesignForecast) -> bool:
    """Whether two designs take about the same number of ratings."""
    return abs(math.log(max(a.ratings_given, 1.0) / max(b.ratings_given, 1.0))) < _SAME_EFFORT


def _width(each: DesignForecast) -> float:
    widths = [q.difference_width.value or q.mean_width.value for q in each.questions.values()]
    known = [width for width in widths if width]
    return sum(known) / len(known) if known else math.nan


def _clips_or_ratings(plan: Plan) -> str:
    """Compare designs of about the same size that spend it on clips or on ratings per clip."""
    pairs = [
        (few, many)
        for few in plan.designs
        for many in plan.designs
        if many.design.stimuli > few.design.stimuli
        and many.design.ratings < few.design.ratings
        and _alike(few, many)
        and math.isfinite(_width(many) / _width(few))
    ]
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
    choice = (
        "More clips"
        if narrow < 0.97
        else "It hardly matters for comparing systems"
        if narrow < 1.03
        else "More ratings"
    )
    return f"{head} {shown}. {choice}{'' if choice.startswith('It') else ' for comparing systems'}; {trust}."


def _percent_change(ratio: float) -> str:
    change = round(100 * abs(ratio - 1))
    return (
        "equally wide" if change < 1 else f"{change}% {'narrower' if ratio < 1 else 'wider'} with more clips"
    )


def _reliability(each: DesignForecast) -> str:
    known = [q.icc1k.value for q in each.questions.values() if q.icc1k.value is not None]
    return share(sum(known) / len(known)) if known else "unknown"


def _afford(plan: Plan) -> str:
    budget = plan.options.afford
    if budget is None:
        return ""
    able = [each for each in plan.designs if each.cost is not None and each.cost <= budget]
    if not able:
        cheapest = min(plan.designs, key=lambda each: each.cost or math.inf)
        return (
            f"What {number(budget, 0)} affords: no design of this grid; the cheapest, {cheapest.words}, costs"
            f" {number(cheapest.cost, 0)}."
        )
    best = max(able, key=lambda each: (each.power, -(each.cost or 0.0)))
    return (
        f"What {number(budget, 0)} affords: {best.words} for {number(best.cost, 0)}, with {_power_words(best)} power to find"
        f" {target(plan)} and intervals of differences {_widths(best)} wide.{_more(best, budget)}"
    )


def _more(best: DesignForecast, budget: float) -> str:
    """How many raters of that design the whole budget would pay, where it pays more."""
    raters = int(budget / ((best.cost or budget) / max(best.design.raters, 1)))
    return (
        f" The whole budget pays about {raters:,} such raters." if raters > 1.1 * best.design.raters else ""
    )


def _widths(each: DesignForecast) -> str:
    known = [(q.difference_width.value, q.question) for q in each.questions.values()]
    return listed([f"{number(width, 2)} ({name})" for width, name in known if width is not None])


def design_lines(each: DesignForecast) -> list[str]:
    """One design in a few lines, for a terminal."""
    lines = [each.words]
    cost = "" if each.cost is None else f", cost {number(each.cost, 0)}"
    lines.append(
        f"  {number(each.minutes_per_rater, 0)} min per rater, {number(each.hours, 1)} h in all{cost};"
        f" {number(each.ratings_per_unit, 1)} ratings per clip ({each.fewest_ratings:g} to {each.most_ratings:g})"
    )
    for q in each.questions.values():
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
