"""MUSHRA (ITU-R BS.1534-3): several conditions of an item graded 0 to 100 next to a known reference.

Post-screening leaves out listeners who grade the hidden reference below 90 in more than 15% of the items, or the mid-range
anchor above 90 in more than 15% of them. Each condition is then described by its median and quartiles, as the
recommendation asks, and by its
mean with listeners and items both as samples: the jackknife over listeners, items and single grades of
:mod:`heartfelt.stats.reliability.two_way_jackknife`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_array, as_floats, code
from heartfelt.stats.comparison.spread import crossed_spread
from heartfelt.stats.estimate import Estimate

LIMIT = 90.0
MOST_ITEMS = 0.15
LOWEST, HIGHEST = 0.0, 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One listener's hidden references and mid-range anchors, and whether post-screening leaves the listener out."""

    name: Any
    items: int
    """Items with a grade of the hidden reference."""
    reference_below: int
    """Items in which the hidden reference was graded below 90."""
    anchor_items: int
    anchor_above: int
    """Items in which the mid-range anchor was graded above 90."""
    excluded: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionGrades:
    """The grades of one condition after post-screening."""

    name: Any
    mean: Estimate
    median: float
    quartiles: tuple[float, float]
    lowest: float
    highest: float
    below_reference: Estimate
    """The reference's grade less this condition's, over the listeners and items that graded both."""


@dataclass(frozen=True, slots=True)
class Mushra:
    """Conditions from the highest mean down, and what post-screening made of the listeners."""

    conditions: tuple[ConditionGrades, ...]
    listeners: tuple[Listener, ...]
    reference: Any
    without_reference: tuple[Any, ...]
    """Items in which a listener gave no grade to the hidden reference; they are not used for screening."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Grades:
    listener: Ints
    item: Ints
    condition: Ints
    grade: Floats
    listeners: Sequence[Any]
    items: Sequence[Any]
    conditions: Sequence[Any]


def _grades(rater: Ids, item: Ids, condition: Ids, grade: Values) -> _Grades:
    grades = as_floats(grade, "grade")
    columns = [as_array(column) for column in (rater, item, condition)]
    if any(column.size != grades.size for column in columns):
        raise InputError("The columns differ in length.", "Pass parallel arrays: one entry per grade in each.")
    keep = np.isfinite(grades)
    grades = grades[keep]
    outside = grades[(grades < LOWEST) | (grades > HIGHEST)]
    if outside.size:
        raise InputError(f"A grade of {outside[0]:g} is not on the scale.", "MUSHRA grades run from 0 to 100.")
    listeners, items, conditions = (code(column[keep]) for column in columns)
    key = (listeners.codes * items.count + items.codes) * conditions.count + conditions.codes
    if np.unique(key).size < key.size:
        raise InputError(
            "A listener graded the same condition of an item twice.", "Keep one grade per listener, item and condition."
        )
    return _Grades(
        listener=listeners.codes,
        item=items.codes,
        condition=conditions.codes,
        grade=grades,
        listeners=listeners.names,
        items=items.names,
        conditions=conditions.names,
    )


def _number(data: _Grades, name: Any, role: str) -> int:
    if name not in data.conditions:
        names = [str(condition) for condition in data.conditions]
        raise InputError(f"No condition is called {name!r}, the {role}.", suggestion(str(name), names, "Conditions"))
    return list(data.conditions).index(name)


def mushra(
    rater: Ids,
    item: Ids,
    condition: Ids,
    grade: Values,
    *,
    reference: Any,
    mid_anchor: Any | None = None,
    screening: bool = True,
    confidence: float = 0.95,
) -> Mushra:
    """Post-screen the listeners and describe each condition.

    ``condition`` names the system, the hidden ``reference`` or an anchor; ``mid_anchor`` is the anchor that
    post-screening looks at. With ``screening=False`` nobody is left out, and the listeners still say who would be.
    """
    data = _grades(rater, item, condition, grade)
    hidden = _number(data, reference, "hidden reference")
    anchor = None if mid_anchor is None else _number(data, mid_anchor, "mid-range anchor")
    listeners = tuple(_listener(data, number, hidden, anchor) for number in range(len(data.listeners)))
    retained = np.array([not (screening and listener.excluded) for listener in listeners], bool)
    used = retained[data.listener] if retained.size else np.zeros(0, bool)
    conditions = [
        _condition(data, number, hidden, used, confidence)
        for number in range(len(data.conditions))
        if (used & (data.condition == number)).any()
    ]
    conditions.sort(key=lambda condition: -float(condition.mean))
    pairs = {(int(a), int(b)) for a, b in zip(data.listener, data.item, strict=True)}
    graded = data.condition == hidden
    with_reference = {(int(a), int(b)) for a, b in zip(data.listener[graded], data.item[graded], strict=True)}
    missing = sorted({data.items[b] for _, b in pairs - with_reference}, key=str)
    return Mushra(tuple(conditions), listeners, reference, tuple(missing))


def _listener(data: _Grades, number: int, hidden: int, anchor: int | None) -> Listener:
    of_listener = data.listener == number
    references = data.grade[of_listener & (data.condition == hidden)]
    anchors = data.grade[of_listener & (data.condition == anchor)] if anchor is not None else np.zeros(0)
    below, above = int((references < LIMIT).sum()), int((anchors > LIMIT).sum())
    reasons = []
    if references.size and below / references.size > MOST_ITEMS:
        reasons.append(f"graded the hidden reference below 90 in {below} of {references.size} items")
    if anchors.size and above / anchors.size > MOST_ITEMS:
        reasons.append(f"graded the mid-range anchor above 90 in {above} of {anchors.size} items")
    return Listener(
        name=data.listeners[number],
        items=int(references.size),
        reference_below=below,
        anchor_items=int(anchors.size),
        anchor_above=above,
        excluded=bool(reasons),
        reason=" and ".join(reasons) or None,
    )


def _condition(data: _Grades, number: int, hidden: int, used: Any, confidence: float) -> ConditionGrades:
    rows = np.flatnonzero(used & (data.condition == number))
    grades = data.grade[rows]
    quarter, middle, three = (float(q) for q in np.quantile(grades, [0.25, 0.5, 0.75]))
    mean = crossed_mean(data.listener[rows], data.item[rows], grades, "mean grade", confidence, (LOWEST, HIGHEST))
    references = {
        (int(data.listener[row]), int(data.item[row])): float(data.grade[row])
        for row in np.flatnonzero(used & (data.condition == hidden))
    }
    both = [row for row in rows if (int(data.listener[row]), int(data.item[row])) in references]
    gaps = np.array([references[int(data.listener[row]), int(data.item[row])] - data.grade[row] for row in both])
    method = "mean of reference less condition"
    if number == hidden:
        below = Estimate.missing("this is the reference", method)
    elif not both:
        below = Estimate.missing("no listener graded the reference of the same item", method)
    else:
        below = crossed_mean(data.listener[both], data.item[both], gaps, method, confidence)
    return ConditionGrades(
        name=data.conditions[number],
        mean=mean,
        median=middle,
        quartiles=(quarter, three),
        lowest=float(grades.min()),
        highest=float(grades.max()),
        below_reference=below,
    )


def crossed_mean(
    rater: Ids,
    item: Ids,
    value: Values,
    method: str = "mean",
    confidence: float = 0.95,
    scale: tuple[float, float] = (-np.inf, np.inf),
) -> Estimate:
    """The mean of ratings with raters and items both as samples; the interval stays on the scale."""
    values = as_floats(value)
    raters, items = code(rater), code(item)
    counts = {"ratings": int(values.size), "raters": raters.count, "items": items.count}
    if not values.size:
        return Estimate.missing("there are no ratings", method, counts)
    estimate = Estimate(value=float(values.mean()), method=method, counts=counts)
    if raters.count < 2 or items.count < 2:
        return estimate.without_interval("fewer than two raters or items")
    answers = np.ones(values.size)
    spread = crossed_spread(values, answers, (items.codes, items.count), (raters.codes, raters.count))
    if spread.variance <= 0:
        return estimate.without_interval("nothing varies")
    low, high = spread.bounds(float(estimate), confidence)
    bounds = max(low, scale[0]), min(high, scale[1])
    return estimate.with_interval(*bounds, "two-way jackknife over items and raters", confidence)
