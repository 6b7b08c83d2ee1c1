"""What a figure shows, as typed data: Matplotlib draws it for print, the page's script draws it on screen.

Both read the same panels, and ``rows`` is the table behind them. A chart has panels of one kind, which decides how it is
drawn (``heartfelt.report.drawing`` and ``assets/charts.js``). ``words`` is the text of a mark's tooltip. Bounds are None
where there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, ParamSpec, TypeAlias

from heartfelt.failures import Failed, attempt_part
from heartfelt.report.palette import BASE_COLOUR
from heartfelt.serialization import Json, to_json
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import number

P = ParamSpec("P")
OMIT = {"omit": True}
Cell: TypeAlias = str | float | None
TableRow: TypeAlias = Mapping[str, Cell]
"""A row of the table behind a figure: column to cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One direction of a panel; ``lines`` are values at which a line runs across the panel."""

    label: str = ""
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[float, ...] = ()
    lines: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line across a panel; dashed where it has a label."""

    at: float
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A value with its interval, next to a label."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    colour: str
    words: str


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """One column of a histogram."""

    label: str
    value: float
    colour: str
    words: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """A mark between two rows that differ, by their places."""

    a: int
    b: int
    stars: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Values with intervals. ``bars`` run from zero; ``ties`` are the first and last of rows that do not differ."""

    type: ClassVar[str] = "intervals"
    title: str
    rows: tuple[Row, ...]
    value: Axis
    bars: bool = False
    lines: tuple[Line, ...] = ()
    brackets: tuple[Bracket, ...] = ()
    ties: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """A histogram."""

    type: ClassVar[str] = "columns"
    title: str
    x: Axis
    y: Axis
    bars: tuple[HistogramBar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point in a plane, with intervals along both axes where known; it plays ``stimulus`` if that is given."""

    x: float
    y: float
    label: str
    colour: str
    shape: str
    words: str
    xl: float | None = field(default=None, metadata=OMIT)
    xh: float | None = field(default=None, metadata=OMIT)
    yl: float | None = field(default=None, metadata=OMIT)
    yh: float | None = field(default=None, metadata=OMIT)
    stimulus: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChart:
    """Points in a plane.

    ``links`` join pairs of points by place; ``arrows`` run from the origin; ``equal`` gives both axes one unit; ``named``
    writes each point's label next to it; ``diagonal`` draws x = y.
    """

    type: ClassVar[str] = "plane"
    title: str
    x: Axis
    y: Axis
    points: tuple[Point, ...]
    links: tuple[tuple[int, int], ...] = ()
    arrows: bool = False
    equal: bool = False
    named: bool = False
    diagonal: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A stimulus on a map: its mean, standard deviation and number of raters on both axes."""

    stimulus: str
    intent: str | None
    group: str | None
    x: float
    y: float
    sx: float | None = None
    sy: float | None = None
    nx: int | None = None
    ny: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mark of a group on a map: a reference or a mean."""

    x: float
    y: float
    group: str | None
    words: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRegion:
    """A region of a map, with semi-axes and the angle in radians."""

    x: float
    y: float
    long: float
    short: float
    angle: float
    group: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A line on a map."""

    x1: float
    y1: float
    x2: float
    y2: float
    group: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Stimuli on two axes, with references (``crosses``), means of quadrants (``stars``) or of intents (``means``)."""

    type: ClassVar[str] = "map"
    title: str
    note: str
    x: Axis
    y: Axis
    points: tuple[Dot, ...]
    colours: Mapping[str, str]
    crosses: tuple[Spot, ...] = ()
    stars: tuple[Spot, ...] = ()
    means: tuple[Spot, ...] = ()
    ellipses: tuple[MapRegion, ...] = ()
    lines: tuple[Segment, ...] = ()

    def colour(self, group: str | None) -> str:
        """The colour of a group; that of the empty name for what is in none."""
        return self.colours.get(group or "", self.colours[""])


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A point of a curve, with the bounds of its band where known."""

    x: float
    y: float
    words: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One curve; ``needed`` are the points where it reaches a target."""

    label: str
    colour: str
    points: tuple[CurvePoint, ...]
    needed: tuple[CurvePoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Curves, with bands if ``banded``; ``here`` marks a place along x."""

    type: ClassVar[str] = "curve"
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    banded: bool = True
    lines: tuple[Line, ...] = ()
    here: Line | None = None


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a shaded table."""

    value: float | None
    text: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heatmap:
    """A shaded table; the shade runs from ``low`` to ``high``, or both ways from ``middle`` in two colours."""

    type: ClassVar[str] = "heatmap"
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[HeatCell, ...], ...]
    row_label: str = ""
    column_label: str
    low: float = 0.0
    high: float = 1.0
    square: bool = False
    middle: float | None = field(default=None, metadata={"omit": "none"})


@dataclass(frozen=True, slots=True)
class DumbbellEnd:
    """One end of a dumbbell."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value before and after."""

    label: str
    before: DumbbellEnd
    after: DumbbellEnd
    words: str


@dataclass(frozen=True, slots=True)
class Dumbbells:
    """Values before and after, in one unit."""

    type: ClassVar[str] = "dumbbell"
    title: str
    value: Axis
    rows: tuple[ValueChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePanel:
    """Traces of one stimulus: each rater's as a thin line, what they share with its band, and how far apart raters are.

    All run over ``moments``; ``spread`` has moments of its own. ``timed`` if moments are seconds of the stimulus.
    """

    type: ClassVar[str] = "trace"
    title: str
    note: str
    stimulus: str
    timed: bool
    x: Axis
    y: Axis
    moments: tuple[float, ...]
    raters: tuple[tuple[float, ...], ...]
    shared: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    spread: tuple[tuple[float, float], ...] = ()


Panel: TypeAlias = Intervals | Columns | PlaneChart | Map | Curves | Heatmap | Dumbbells | TracePanel


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend; ``group`` is what selecting it hides."""

    label: str
    colour: str
    shape: str = "circle"
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure ready to be drawn; ``key`` explains its marks on the page."""

    title: str
    caption: str
    panels: Sequence[Panel]
    rows: Sequence[TableRow] = field(repr=False)
    legend: Sequence[Key] = ()
    key: str = ""
    pictures: bool = True
    """Whether the folder has pictures of it, besides its table."""

    @property
    def type(self) -> str:
        """The kind of its panels."""
        return self.panels[0].type

    def to_json(self) -> dict[str, Json]:
        """What the page's script draws: everything but the table."""
        return {
            "type": self.type,
            "title": self.title,
            "caption": self.caption,
            "panels": to_json(self.panels),
            "legend": to_json(self.legend),
            "key": self.key,
        }


@dataclass(frozen=True, slots=True)
class Absent:
    """A figure this study has no data for, and why."""

    reason: str


Charts: TypeAlias = Mapping[str, Chart | Absent]


def chart_or_reason(
    name: str, build: Callable[P, Chart | Absent], *args: P.args, **options: P.kwargs
) -> Chart | Absent:
    """The chart, or why it is missing (:mod:`heartfelt.failures`): one failed figure does not stop the others."""
    chart = attempt_part(f"the figure '{name}'", build, *args, **options)
    return Absent(chart.reason) if isinstance(chart, Failed) else chart


def axis(
    label: str,
    values: Iterable[float | None],
    *,
    include: Sequence[float] = (),
    pad: float = 0.06,
    lines: tuple[float, ...] = (),
) -> Axis:
    """An axis wide enough for ``values`` and ``include``, with round ticks; it may end at what it includes."""
    finite = [float(value) for value in (*values, *include) if value is not None]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    margin = (high - low) * pad
    low, high = low - margin * (low not in include), high + margin * (high not in include)
    return Axis(label=label, low=low, high=high, ticks=ticks(low, high), lines=lines)


def ticks(low: float, high: float, about: int = 5) -> tuple[float, ...]:
    """Round numbers between ``low`` and ``high``."""
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(index * step, 10) for index in range(first, last + 1))


def bounds(estimate: Estimate | None) -> tuple[float | None, float | None]:
    """The interval of an estimate; None twice where it has none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None, None
    return estimate.low, estimate.high


def estimated_point(x: Estimate | float, y: Estimate, *, label: str, colour: str, shape: str, words: str) -> Point:
    """A point at two estimates, with their intervals; ``x`` may be a number without one."""
    (xl, xh), (yl, yh) = bounds(x) if isinstance(x, Estimate) else (None, None), bounds(y)
    look = {"label": label, "colour": colour, "shape": shape, "words": words}
    return Point(x=float(x), y=float(y), xl=xl, xh=xh, yl=yl, yh=yh, **look)


def interval_row(label: str, estimate: Estimate, colour: str, note: str = "") -> Row:
    low, high = bounds(estimate)
    interval = "" if low is None else f" [{number(low, 2)}, {number(high, 2)}]"
    words = f"{label}\n{number(estimate.value, 2)}{interval}" + (f"\n{note}" if note else "")
    return Row(label=label, value=estimate.value, low=low, high=high, colour=colour, words=words)


def extent(rows: Iterable[Row]) -> list[float | None]:
    """Everything an axis must hold."""
    return [number for row in rows for number in (row.value, row.low, row.high)]


def numbers(estimate: Estimate | None, name: str = "value", *, prefix: str = "") -> dict[str, Cell]:
    """An estimate as cells of the table behind a figure."""
    low, high = bounds(estimate)
    return {name: estimate.value if estimate else None, f"{prefix}low": low, f"{prefix}high": high}


def lettered(index: int, title: str) -> str:
    """A panel's title with its letter."""
    return f"({chr(ord('a') + index % 26)}) {title}"


def first_of(shown: int, count: int, noun: str = "questions") -> str:
    """What a caption adds where only the first of many are shown."""
    return f" The first {shown} of {count} {noun}." if shown < count else ""


class Panels:
    """The panels of a figure and the table behind them, as they are made."""

    def __init__(self) -> None:
        self.panels: list[Panel] = []
        self.table: list[TableRow] = []

    def chart(self, title: str, caption: str, why_absent: str) -> Chart | Absent:
        return (
            Chart(title=title, caption=caption, panels=self.panels, rows=self.table)
            if self.panels
            else Absent(why_absent)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An estimate in a figure of intervals: how its row looks, and the cells before and after its numbers in the table."""

    label: str
    estimate: Estimate
    cells: TableRow
    colour: str = BASE_COLOUR
    note: str = ""
    after: TableRow = field(default_factory=dict)


class IntervalPanels(Panels):
    """Panels of estimates with intervals; ``value`` is the column of their values in the table."""

    def __init__(self, value: str = "value", *, letters: bool = True) -> None:
        super().__init__()
        self.value = value
        self.letters = letters

    def add(
        self,
        title: str,
        label: str | Axis,
        items: Sequence[Item],
        *,
        include: Sequence[float] = (),
        reach: Sequence[float] = (),
        bars: bool = False,
        lines: tuple[Line, ...] = (),
        brackets: tuple[Bracket, ...] = (),
        ties: tuple[tuple[int, int], ...] = (),
        visible: bool = True,
    ) -> None:
        """Add a panel of the items that have a value, unless none has; if not ``visible``, their numbers alone.

        ``label`` is its axis, or the label of an axis wide enough for the items, the lines and ``reach``.
        """
        estimated = [item for item in items if item.estimate.value is not None]
        self.table += [{**item.cells, **numbers(item.estimate, self.value), **item.after} for item in estimated]
        if not estimated or not visible:
            return
        rows = tuple(interval_row(item.label, item.estimate, item.colour, item.note) for item in estimated)
        if isinstance(label, str):
            label = axis(label, [*extent(rows), *(line.at for line in lines), *reach], include=include)
        title = lettered(len(self.panels), title) if self.letters else title
        self.panels.append(
            Intervals(title=title, rows=rows, value=label, bars=bars, lines=lines, brackets=brackets, ties=ties)
        )


def confusion(
    title: str,
    rows: Sequence[tuple[str, str]],
    columns: Sequence[tuple[str, str]],
    counts: Sequence[Sequence[int]],
    labels: tuple[str, str, str],
) -> Heatmap:
    """A table of counts, shaded by the share of each row.

    Rows and columns have a short and a full name; ``labels`` are what they are, and what is counted.
    """
    cells: list[tuple[HeatCell, ...]] = []
    for (_, row), line in zip(rows, counts, strict=True):
        total, row_cells = sum(line), []
        for (_, column), count in zip(columns, line, strict=True):
            share = count / total if total else None
            words = f"{labels[0]}: {row}\n{labels[1]}: {column}\n{number(count)} {labels[2]}"
            words += "" if share is None else f", {100 * share:.1f}% of the row"
            row_cells.append(HeatCell(share, "–" if share is None else f"{100 * share:.0f}%", words))
        cells.append(tuple(row_cells))
    across, down = (tuple(short for short, _ in side) for side in (columns, rows))
    return Heatmap(
        title=title,
        rows=down,
        columns=across,
        cells=tuple(cells),
        row_label=labels[0],
        column_label=labels[1],
        square=len(rows) <= 8,
    )
