"""How reliable the ratings are: by number of raters, the ceiling they set, agreement, and ratings per item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.parts import Agreement, Ceilings, Reliability
from heartfelt.report.charts import (
    Absent,
    Axis,
    Cell,
    Chart,
    Columns,
    CurvePoint,
    Curves,
    HistogramBar,
    IntervalPanels,
    Intervals,
    Item,
    Line,
    Series,
    TableRow,
    axis,
    extent,
    first_of,
    interval_row,
    numbers,
)
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import DisplayNames, coefficient, reliability_parts, system_names, why_missing
from heartfelt.report.palette import BASE_COLOUR, COLOURS, SOFT, colour
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.spearman_brown import reliability_curve
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


@figure("reliability-by-raters")
def reliability_by_raters(analysis: Analysis) -> Chart | Absent:
    """One curve per question: what more raters would buy."""
    curves = {question: part for question, part in reliability_parts(analysis).items() if _has_curve(part)}
    if not curves:
        return Absent("the reliability of a single rater could not be estimated")
    shown = dict(list(curves.items())[:MOST_CURVES])
    raters = mean_ratings(analysis.summary.counts.ratings_per_item)
    last = _last_count(shown.values(), raters)
    series = tuple(_series(question, part, colour(index), last) for index, (question, part) in enumerate(shown.items()))
    banded = len(series) <= MOST_BANDS
    panel = Curves(
        title="",
        x=Axis(label="raters per item", low=1, high=last, ticks=_count_ticks(last)),
        y=Axis(label="reliability of their mean", low=0.0, high=1.0, ticks=FIFTHS),
        series=series,
        banded=banded,
        lines=tuple(Line(target, f"{target:g}") for target in TARGETS),
        here=None if raters is None else Line(raters, "this study"),
    )
    bands = ", with 95% intervals" if banded else ""
    caption = f"Reliability of the mean of k raters{bands}; dots where a curve reaches .8 and .9."
    caption += first_of(len(shown), len(curves))
    table = [
        {"question": curve.label, "raters": p.x, "reliability": p.y, "low": p.low, "high": p.high}
        for curve in series
        for p in curve.points
    ]
    return Chart(title="Reliability and number of raters", caption=caption, panels=[panel], rows=table)


def _has_curve(part: Reliability) -> bool:
    return any(estimate.value is not None for estimate in part.reliability_with.values())


def _last_count(parts: Iterable[Reliability], raters: float | None) -> int:
    """Where curves end: beyond the counts that reach a target, and at twice the raters of this study."""
    reached = [count + 2 for part in parts for _, count in _needed(part)]
    return int(min(MOST_RATERS, max([10, *reached, 2 * (raters or 0.0)])))


def _count_ticks(last: int) -> tuple[int, ...]:
    step = 2 if last <= 12 else 5 if last <= 30 else 10
    return (1, *range(step, last + 1, step))


def _needed(part: Reliability) -> list[tuple[str, int]]:
    """The raters needed to reach each of the targets that can be reached."""
    needed = part.raters_needed.items()
    return [(target, n) for target, n in needed if n is not None and float(target) in TARGETS]


def _series(question: str, part: Reliability, shade: str, last: int) -> Series:
    needed = [
        CurvePoint(x=count, y=float(target), words=f"{question}: {count} raters for a reliability of {target}")
        for target, count in _needed(part)
        if count <= last
    ]
    by_raters = {int(raters): estimate for raters, estimate in part.reliability_with.items()}
    points = []
    for raters, estimate in reliability_curve(by_raters, last).items():
        value, low, high = float(estimate), estimate.low, estimate.high
        interval = "" if low is None else f" [{number(low, 2)}, {number(high, 2)}]"
        words = f"{question}\n{raters} raters: {number(value, 2)}{interval}"
        points.append(CurvePoint(x=raters, y=value, words=words, low=low, high=high))
    return Series(question, shade, tuple(points), tuple(needed))


def mean_ratings(ratings_per_item: Mapping[str, int]) -> float | None:
    items = sum(ratings_per_item.values())
    return sum(int(n) * count for n, count in ratings_per_item.items()) / items if items else None


@figure("ceiling")
def ceiling(analysis: Analysis) -> Chart | Absent:
    """One panel per question: overall, per system and within cells, next to what cell means and one rater reach."""
    names, parts = system_names(analysis.snapshot), reliability_parts(analysis)
    builder = IntervalPanels(letters=False)
    question_count = 0
    for question, part in parts.items():
        items = _ceiling_items(question, part.ceiling, names)
        value = Axis(label=f"highest {_metric(part.ceiling)} to expect", low=0.0, high=1.0, ticks=FIFTHS)
        builder.add(question, value, items, bars=True, visible=question_count < MOST_PANELS)
        question_count += bool(items)
    return builder.chart(*chart_texts("ceiling", first_of(MOST_PANELS, question_count)))


def _metric(ceilings: Ceilings) -> str:
    has_accuracy = ceilings.accuracy is not None and ceilings.accuracy.value is not None
    return "accuracy" if ceilings.metric == "accuracy" and has_accuracy else "correlation"


def _ceiling_items(question: str, ceilings: Ceilings, names: DisplayNames) -> list[Item]:
    correlation = _metric(ceilings) == "correlation"
    by_system = ceilings.by_system or {}
    systems = sorted(by_system, key=lambda key: names[key].casefold()) if len(by_system) <= MOST_SYSTEMS else []
    entries: list[tuple[str, Estimate | None, str]] = [
        ("all stimuli", ceilings.correlation if correlation else ceilings.accuracy, BASE_COLOUR),
        *([] if correlation else [("all stimuli, smooth family", ceilings.accuracy_smooth, BASE_COLOUR)]),
        *((names[key], by_system[key], COLOURS[5]) for key in systems),
        ("within cells", ceilings.within_cells, COLOURS[2]),
        ("cell means", ceilings.cell_means, SOFT),
        ("one rater", ceilings.human if correlation else ceilings.accuracy_human, SOFT),
    ]
    return [
        Item(label=label, estimate=estimate, colour=shade, cells={"question": question, "what": label})
        for label, estimate, shade in entries
        if estimate is not None and estimate.value is not None
    ]


@figure("ratings-per-item")
def ratings_per_item(analysis: Analysis) -> Chart | Absent:
    """One column per number of ratings; equal ranges where there are very many."""
    per_item = analysis.summary.counts.ratings_per_item
    counts = {int(n): items for n, items in per_item.items()}
    total, mean = sum(counts.values()), mean_ratings(per_item)
    if not total:
        return Absent("no item has a rating")
    unit, units = ("stimulus", "stimuli") if total == analysis.summary.counts.rated else ("item", "items")
    columns = _bins(counts)
    bars = []
    for label, items in columns:
        words = f"{number(items)} {units} with {label} ratings\n{100 * items / total:.1f}% of {number(total)}"
        bars.append(HistogramBar(label, items, BASE_COLOUR, words))
    height = axis(f"number of {units}", [items for _, items in columns], include=[0])
    caption = f"Number of ratings per {unit}; mean {number(mean, 2)}, {number(total)} {units}."
    table: list[TableRow] = [{"ratings": label, units: items} for label, items in columns]
    return Chart(
        title="Ratings per item",
        caption=caption,
        panels=[Columns("", Axis(label="ratings"), height, tuple(bars))],
        rows=table,
    )


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


@figure("agreement")
def agreement(analysis: Analysis) -> Chart | Absent:
    """One panel per coefficient, questions in order of the first."""
    parts = analysis.summary.agreement or {}
    coefficients = _coefficients(parts)
    if not coefficients:
        return Absent(why_missing(analysis, "agreement", "no question is answered in categories"))
    first = next(iter(coefficients.values()))
    order = sorted(parts, key=lambda question: -(first[question].value or -2.0))
    half = MOST_ROWS // 2
    shown = order if len(order) <= MOST_ROWS else [*order[:half], *order[-half:]]
    panels = []
    for index, (name, estimates) in enumerate(coefficients.items()):
        rows = tuple(interval_row(spaced(q), estimates[q], COLOURS[index]) for q in shown)
        value = axis("", [*extent(rows), 0.0], include=[1.0])
        panels.append(Intervals(title=coefficient(name), rows=rows, value=value, lines=(Line(0.0),)))
    table = []
    for q in order:
        cells: dict[str, Cell] = {"question": q}
        for name, estimates in coefficients.items():
            cells |= numbers(estimates[q], name, prefix=f"{name}_")
        table.append(cells)
    caption = (
        "Agreement between raters on each question, with 95% intervals; an alpha or kappa of 0 is agreement by chance."
    )
    if len(shown) < len(order):
        caption += f" The {half} highest and the {half} lowest of {len(order)} questions."
    return Chart(title="Agreement by question", caption=caption, panels=panels, rows=table)


def _coefficients(parts: Mapping[str, Agreement]) -> dict[str, dict[str, Estimate]]:
    """The first coefficients that any question has, each by question."""
    every = {name: {q: _coefficient(part, name) for q, part in parts.items()} for name in COEFFICIENTS}
    estimated = [name for name, estimates in every.items() if any(e.value is not None for e in estimates.values())]
    return {name: every[name] for name in estimated[:MOST_COEFFICIENTS]}


def _coefficient(part: Agreement, name: str) -> Estimate:
    estimate = getattr(part, name)
    return estimate if isinstance(estimate, Estimate) else Estimate.missing("not measured")
