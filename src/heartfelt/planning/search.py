"""Beyond the grid: what a design costs, the largest that a budget pays, and the first that reaches the wanted power."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heartfelt.errors import InputError
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.results import DesignForecast
from heartfelt.planning.simulated.design import PlannedDesign, StudyContents, design_of

FURTHEST = 8
"""Times the study's ratings per clip that are looked at (or twice the grid's most, where that is more)."""
MORE_CLIPS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


@dataclass(frozen=True, slots=True)
class Price:
    """What a design takes of raters' time and of money."""

    minutes_per_rater: float
    hours: float
    cost: float | None
    cost_at_most: float | None
    """Where every rater stays to the end."""


def price(design: PlannedDesign, options: PlanOptions, seconds: float, answered: float) -> Price:
    """Time and cost for ``answered`` trials in all."""
    trial = seconds / 60.0
    minutes = options.overhead_minutes + design.per_rater * trial
    hours = (design.raters * options.overhead_minutes + answered * trial) / 60.0

    def cost(hours: float, trials: float) -> float:
        paid = hours * (options.pay_per_hour or 0.0) + trials * (options.pay_per_rating or 0.0)
        return paid * (1.0 + options.fee)

    if not options.priced:
        return Price(minutes, hours, None, None)
    every = cost(design.raters * minutes / 60.0, design.raters * design.per_rater)
    return Price(minutes, hours, min(cost(hours, answered), every), every)


def with_ratings(material: StudyContents, options: PlanOptions, dropout: float, ratings: int) -> PlannedDesign:
    """The study's own clips with other ratings per clip."""
    clips = material.system.size / material.cells
    per_rater = options.per_rater[0] if options.per_rater else 0
    return design_of(material, clips, ratings, per_rater, 0, dropout, is_own=False, notes=[])


def affordable(material: StudyContents, options: PlanOptions, dropout: float, seconds: float) -> PlannedDesign | None:
    """The most ratings per clip of the study's own clips that the budget pays; None where it pays none."""
    limit = options.afford
    if limit is None or not material.system.size:
        return None
    low, high = 0, 1
    most = max(2, material.ratings * FURTHEST * 4)

    def paid(ratings: int) -> bool:
        design = with_ratings(material, options, dropout, ratings)
        highest_cost = price(design, options, seconds, design.wanted).cost_at_most
        return highest_cost is not None and highest_cost <= limit

    while high <= most and paid(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if paid(middle) else (low, middle)
    return with_ratings(material, options, dropout, low) if low else None


def first_reaching(
    material: StudyContents,
    options: PlanOptions,
    dropout: float,
    tried: Sequence[DesignForecast],
    forecast: Callable[[PlannedDesign], DesignForecast],
) -> list[DesignForecast]:
    """Forecasts of the designs looked at on the way to the first that reaches the wanted power, that one last if there is one.

    With the study's own clips, the ratings per clip are halved in between (power grows with them); where no number of ratings is
    enough, stimuli are too few, and the clips are increased.
    """
    with_listed = [attempt for attempt in tried if attempt.design.stimuli == material.system.size]
    if not with_listed or len(material.systems) < 2 or _reaches(with_listed, options):
        return []
    low = max(attempt.design.ratings for attempt in with_listed)
    high = max(FURTHEST * material.ratings, 2 * low)
    looked: dict[int, DesignForecast] = {}

    def reaches(ratings: int) -> bool:
        looked[ratings] = forecast(with_ratings(material, options, dropout, ratings))
        return looked[ratings].power >= options.power

    try:
        enough = reaches(high)
    except InputError:
        return []
    if not enough:
        return [looked[high], *_more_clips(material, options, dropout, tried, forecast)]
    while high - low > max(1, low // 10):
        middle = math.ceil(math.sqrt(low * high)) if high > 2 * low else (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    first = looked.pop(high)
    return [*looked.values(), first]


def _reaches(tried: Sequence[DesignForecast], options: PlanOptions) -> bool:
    return any(attempt.power >= options.power for attempt in tried)


def _more_clips(
    material: StudyContents,
    options: PlanOptions,
    dropout: float,
    tried: Sequence[DesignForecast],
    forecast: Callable[[PlannedDesign], DesignForecast],
) -> list[DesignForecast]:
    """Designs with more clips than the study lists, up to the first that reaches the wanted power."""
    if _reaches(tried, options):
        return []
    clips = material.system.size / material.cells
    out: list[DesignForecast] = []
    for factor in MORE_CLIPS:
        wanted = math.ceil(factor * clips)
        try:
            design = design_of(material, wanted, material.ratings, 0, 0, dropout, is_own=False, notes=[])
            out.append(forecast(design))
        except InputError:
            break
        if out[-1].power >= options.power:
            break
    return out
