"""How reliable the ratings are: by number of raters, the ceiling they set, agreement, and ratings per item."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.analysis import Analysis
from heartfelt.analysis.results import Agreement, Ceilings, Reliability
from heartfelt.report.charts import (
    Absent,
    Axis,
    Bar,
    Cell,
    Chart,
    Columns,
    CurvePoint,
    Curves,
    Intervals,
    Line,
    Row,
    Series,
    axis,
    bounds,
    extent,
    interval_row,
    numbers,
)
from heartfelt.report.figures.registry import figure
from heartfelt.report.naming import coefficient, reliability_parts, system_names, why_missing
from heartfelt.report.palette import COLOURS, PLAIN, SOFT, colour
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.spearman_brown import stepped_up
from heartfelt.wording import number, spaced

TARGETS = (0.8, 0.9)
FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MOST_RATERS = 40
MOST_CURVES = 8
MOST_BANDS = 3
MOST_PANELS = 6
MOST_SYSTEMS = 40
MOST_BARS = 40
COEFFICIENTS = ("alpha_ordinal", "fleiss_kappa", "exact_agreement", "leave_one_out", "gwet_ac1")
MOST_COEFFICIENTS = 3
MOST_ROWS = 60


@figure("reliability-by-raters", "how reliable the mean of k raters is, with the usual targets of .8 and .9")
def reliability_by_raters(analysis: Analysis) -> Chart | Absent:
    """One curve per question: what more raters would buy."""
    known = {
        question: part
        for question, part in reliability_parts(analysis).items()
        if any(estimate.value is not None for estimate in part.reliability_with.values())
    }
    if not known:
        return Absent("the reliability of a single rater could not be estimated")
    shown = dict(list(known.items())[:MOST_CURVES])
    raters = mean_ratings(analysis.summary.counts.ratings_per_item)
    needed = [
        count
        for part in shown.values()
        for target, count in part.raters_needed.items()
        if count is not None and float(target) in TARGETS
    ]
    last = int(min(MOST_RATERS, max([10, *(count + 2 for count in needed), 2 * (raters or 0.0)])))
    series = tuple(
        _series(question, part, colour(place), last) for place, (question, part) in enumerate(shown.items())
    )
    step = 2 if last <= 12 else 5 if last <= 30 else 10
    banded = len(series) <= MOST_BANDS
    panel = Curves(
        "",
        Axis("raters per item", 1, last, (1, *range(step, last + 1, step))),
        Axis("reliability of their mean", 0.0, 1.0, FIFTHS),
        series,
        banded,
        tuple(Line(target, f"{target:g}") for target in TARGETS),
        None if raters is None else Line(raters, "this study"),
    )
    bands = ", with 95% intervals" if banded else ""
    caption = f"Reliability of the mean of k raters{bands}; dots where a curve reaches .8 and .9."
    if len(known) > len(shown):
        caption += f" The first {len(shown)} of {len(known)} questions."
    table = [
        {"question": curve.label, "raters": p.x, "reliability": p.y, "low": p.low, "high": p.high}
        for curve in series
        for p in curve.points
    ]
    return Chart("Reliability and number of raters", caption, [panel], table)


def _series(question: str, part: Reliability, shade: str, last: int) -> Series:
    points = _curve(part.reliability_with, last)
    needed = [
        CurvePoint(count, float(target), f"{question}: {count} raters for a reliability of {target}")
        for target, count in part.raters_needed.items()
        if count is not None and float(target) in TARGETS and count <= last
    ]
    made = []
    for raters, value, low, high in points:
        interval = "" if low is None else f" [{number(low, 2)}, {number(high, 2)}]"
        words = f"{question}\n{raters} raters: {number(value, 2)}{interval}"
        made.append(CurvePoint(raters, value, words, low, high))
    return Series(question, shade, tuple(made), tuple(needed))


def _curve(
    estimates: Mapping[str, Estimate], last: int
) -> list[tuple[int, float, float | None, float | None]]:
    """Reliability with its interval at every number of raters where the estimates lie on one curve; else as they are."""
    given = {int(k): (e.value, bounds(e)) for k, e in estimates.items() if e.value is not None}
    single, interval = given.get(1, (0.0, (None, None)))
    if 0 < single < 1 and all(abs(stepped_up(single, k) - y) < 0.005 for k, (y, _) in given.items()):
        low, high = (None if bound is None or not 0 <= bound <= 1 else bound for bound in interval)
        return [
            (
                k,
                stepped_up(single, k),
                None if low is None else stepped_up(low, k),
                None if high is None else stepped_up(high, k),
            )
            for k in range(1, last + 1)
        ]
    return [
        (k, value, *ends) for k, (value, ends) in sorted(given.items()) if k <= last and value is not None
    ]


def mean_ratings(ratings_per_item: Mapping[str, int]) -> float | None:
    """The mean number of ratings per item."""
    items = sum(ratings_per_item.values())
    return sum(int(n) * count for n, count in ratings_per_item.items()) / items if items else None


@figure(
    "ceiling",
    "the highest correlation or accuracy a predictor can be expected to reach, and what cell means reach",
)
def ceiling(analysis: Analysis) -> Chart | Absent:
    """One panel per question: overall, per system and within cells, next to what cell means and one rater reach."""
    panels: list[Intervals] = []
    table: list[dict[str, Cell]] = []
    names = system_names(analysis)
    for question, part in reliability_parts(analysis).items():
        made = _ceiling_rows(part.ceiling, names)
        if made:
            value = Axis(f"highest {_metric(part.ceiling)} to expect", 0.0, 1.0, FIFTHS)
            panels.append(Intervals(question, made, value, bars=True))
            table += [
                {"question": question, "what": r.label, "value": r.value, "low": r.low, "high": r.high}
                for r in made
            ]
    if not panels:
        return Absent("the ceiling could not be estimated for any question")
    caption = (
        "The highest score any predictor can be expected to reach against these labels, with 95% intervals: over"
        " all stimuli, within each system, and within cells of system and intent. In grey, what is reached by"
        " cell means, which know only system and intent, and by one rater against the others."
    )
    if len(panels) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(panels)} questions."
    return Chart("Ceiling", caption, panels[:MOST_PANELS], table)


def _metric(ceilings: Ceilings) -> str:
    known = ceilings.accuracy is not None and ceilings.accuracy.value is not None
    return "accuracy" if ceilings.metric == "accuracy" and known else "correlation"


def _ceiling_rows(ceilings: Ceilings, names: Mapping[str, str]) -> tuple[Row, ...]:
    correlation = _metric(ceilings) == "correlation"
    by_system = ceilings.by_system or {}
    entries: list[tuple[str, Estimate | None, str]] = [
        ("all stimuli", ceilings.correlation if correlation else ceilings.accuracy, PLAIN)
    ]
    if len(by_system) <= MOST_SYSTEMS:
        keys = sorted(by_system, key=lambda key: names.get(key, key).casefold())
        entries += [(names.get(key, key), by_system[key], COLOURS[5]) for key in keys]
    entries += [
        ("within cells", ceilings.within_cells, COLOURS[2]),
        ("cell means", ceilings.cell_means, SOFT),
        ("one rater", ceilings.human if correlation else ceilings.accuracy_human, SOFT),
    ]
    return tuple(
        interval_row(label, estimate, shade)
        for label, estimate, shade in entries
        if estimate is not None and estimate.value is not None
    )


@figure("ratings-per-item", "how many items have how many ratings")
def ratings_per_item(analysis: Analysis) -> Chart | Absent:
    """One column per number of ratings; equal ranges where there are very many."""
    held = analysis.summary.counts.ratings_per_item
    counts = {int(n): items for n, items in held.items()}
    total, mean = sum(counts.values()), mean_ratings(held)
    if not total:
        return Absent("no item has a rating")
    unit, units = ("stimulus", "stimuli") if total == analysis.summary.counts.rated else ("item", "items")
    columns = _bins(counts)
    bars = tuple(
        Bar(
            label,
            items,
            PLAIN,
            f"{number(items)} {units} with {label} ratings\n{100 * items / total:.1f}% of {number(total)}",
        )
        for label, items in columns
    )
    height = axis(f"number of {units}", [items for _, items in columns], include=[0])
    caption = f"Number of ratings per {unit}; mean {number(mean, 2)}, {number(total)} {units}."
    table: list[dict[str, Cell]] = [{"ratings": label, units: items} for label, items in columns]
    return Chart("Ratings per item", caption, [Columns("", Axis("ratings"), height, bars)], table)


def _bins(counts: Mapping[int, int]) -> list[tuple[str, int]]:
    low, high = min(counts), max(counts)
    width = -(-(high - low + 1) // MOST_BARS)
    return [
        (
            str(start) if width == 1 else f"{start}–{start + width - 1}",
            sum(counts.get(n, 0) for n in range(start, start + width)),
        )
        for start in range(low, high + 1, width)
    ]


@figure("agreement", "agreement per question (such as the presence of one emotion): beyond chance, and plain")
def agreement(analysis: Analysis) -> Chart | Absent:
    """One panel per coefficient, questions in order of the first."""
    parts = analysis.summary.agreement or {}
    known = [
        name
        for name in COEFFICIENTS
        if any(
            (estimate := _coefficient(part, name)) is not None and estimate.value is not None
            for part in parts.values()
        )
    ][:MOST_COEFFICIENTS]
    if not known:
        return Absent(why_missing(analysis, "agreement", "no question is answered in categories"))
    first = {question: _coefficient(part, known[0]) for question, part in parts.items()}
    values = {question: estimate.value if estimate else None for question, estimate in first.items()}
    order = sorted(parts, key=lambda question: -(values[question] or -2.0))
    half = MOST_ROWS // 2
    shown = order if len(order) <= MOST_ROWS else [*order[:half], *order[-half:]]
    panels = []
    for place, name in enumerate(known):
        rows = tuple(
            Row(spaced(q), None, None, None, COLOURS[place], "")
            if (estimate := _coefficient(parts[q], name)) is None
            else interval_row(spaced(q), estimate, COLOURS[place])
            for q in shown
        )
        value = axis("", [*extent(rows), 0.0], include=[1.0])
        panels.append(Intervals(coefficient(name), rows, value, lines=(Line(0.0),)))
    table = [
        {
            "question": q,
            **{
                key: cell
                for m in known
                for key, cell in numbers(_coefficient(parts[q], m), m, prefix=f"{m}_").items()
            },
        }
        for q in order
    ]
    caption = "Agreement between raters on each question, with 95% intervals; an alpha or kappa of 0 is agreement by chance."
    if len(shown) < len(order):
        caption += f" The {half} highest and the {half} lowest of {len(order)} questions."
    return Chart("Agreement by question", caption, panels, table)


def _coefficient(part: Agreement, name: str) -> Estimate | None:
    estimate = getattr(part, name)
    return estimate if isinstance(estimate, Estimate) else None
