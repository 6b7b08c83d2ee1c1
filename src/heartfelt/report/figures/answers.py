"""What raters answered: how often each answer was given, by system, and systems in order of their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.parts import Distribution, SystemMeans
from heartfelt.report.charts import (
    Absent,
    Axis,
    Chart,
    Columns,
    HeatCell,
    Heatmap,
    HistogramBar,
    IntervalPanels,
    Item,
    Panels,
    TableRow,
    axis,
    first_of,
)
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import questions, system_names, why_missing
from heartfelt.report.palette import colour
from heartfelt.study import Study
from heartfelt.wording import number

MOST_HISTOGRAMS = 9
MOST_PANELS = 6
MOST_ANSWERS = 12
BINS = 10
ALL = "all"


@dataclass(frozen=True, slots=True)
class AnswerTally:
    """Answers in order with how often each was given, by system; under ``ALL`` over all."""

    question: str
    labels: tuple[str, ...]
    counts: Mapping[str, Sequence[int]]
    means: Mapping[str, float]

    def answers(self, system: str) -> list[tuple[str, int, float]]:
        """Each answer with how often it was given, and its share."""
        counts = self.counts.get(system, ())
        return [(label, n, n / sum(counts)) for label, n in zip(self.labels, counts, strict=False)]


def tallies(analysis: Analysis) -> list[AnswerTally]:
    """One tally per question, or per scale where there are very many questions."""
    by_question: dict[str, list[Distribution]] = {}
    for row in analysis.summary.distributions or ():
        by_question.setdefault(row.question, []).append(row)
    return [_tally(analysis.snapshot.study, question, rows) for question, rows in by_question.items()]


def _tally(study: Study, question: str, rows: Sequence[Distribution]) -> AnswerTally:
    answers = [answer for row in rows for answer in row.answers]
    values = sorted({answer.value for answer in answers})
    labels, bin_of = _bins(study, question, values, {a.value: a.answer for a in answers if a.answer})
    counts: dict[str, list[int]] = {}
    means: dict[str, float] = {}
    for row in rows:
        bin_counts = [0] * len(labels)
        for answer in row.answers:
            bin_counts[bin_of[answer.value]] += answer.n
        if sum(bin_counts):
            counts[row.system] = bin_counts
            means[row.system] = sum(answer.value * answer.n for answer in row.answers) / sum(bin_counts)
    return AnswerTally(question, tuple(labels), counts, means)


def _bins(
    study: Study, question: str, values: Sequence[float], named: Mapping[float, str]
) -> tuple[list[str], dict[float, int]]:
    has_question = any(row.id == question for row in study.asked)
    scale = study.scale_of(question) if has_question else study.scales.get(question)
    codes = {**(scale.labels() if scale is not None else {}), **named}
    if codes:
        order = sorted({*codes, *values})
        return [codes.get(code, number(code)) for code in order], {code: i for i, code in enumerate(order)}
    return _numeric_bins(values, scale.bounds() if scale is not None else None)


def _numeric_bins(values: Sequence[float], bounds: tuple[float, float] | None) -> tuple[list[str], dict[float, int]]:
    """Each point of a short scale of integers, else ten ranges of one width."""
    low, high = bounds or (values[0], values[-1])
    if all(float(v).is_integer() for v in (*values, low, high)) and high - low < MOST_ANSWERS:
        points = range(int(min(low, values[0])), int(max(high, values[-1])) + 1)
        return [number(point) for point in points], {float(point): i for i, point in enumerate(points)}
    return _ranges(values, low, high)


def _ranges(values: Sequence[float], low: float, high: float) -> tuple[list[str], dict[float, int]]:
    width = (high - low) / BINS or 1.0
    ends = [number(low + i * width, 0 if width >= 1 else 1) for i in range(BINS + 1)]
    labels = [f"{ends[i]}–{ends[i + 1]}" for i in range(BINS)]
    return labels, {v: min(max(int((v - low) / width), 0), BINS - 1) for v in values}


@figure("answers")
def answers(analysis: Analysis) -> Chart | Absent:
    """One panel per question."""
    answered = [tally for tally in tallies(analysis) if tally.answers(ALL)]
    if not answered:
        return Absent(why_missing(analysis, "distributions", "there are no single ratings"))
    shown = answered[:MOST_HISTOGRAMS]
    most = max(100 * share for tally in shown for _, _, share in tally.answers(ALL))
    height = axis("share of ratings (%)", [most], include=[0.0])
    panels = []
    for index, tally in enumerate(shown):
        bars = []
        for label, n, share in tally.answers(ALL):
            words = f"{tally.question}: {label}\n{number(n)} ratings, {100 * share:.1f}%"
            bars.append(HistogramBar(label, 100 * share, colour(index), words))
        panels.append(Columns(tally.question, Axis(label="answer"), height, tuple(bars)))
    table: list[TableRow] = [
        {"question": tally.question, "answer": label, "ratings": n}
        for tally in answered
        for label, n, _ in tally.answers(ALL)
    ]
    caption = "How often each answer was given." + first_of(len(shown), len(answered))
    return Chart(title="Answers", caption=caption, panels=panels, rows=table)


@figure("answers-by-system")
def answers_by_system(analysis: Analysis) -> Chart | Absent:
    """One panel per question: systems in rows, the highest mean first, answers in columns."""
    names = system_names(analysis.snapshot)
    builder = Panels()
    for tally in tallies(analysis)[:MOST_PANELS]:
        systems = sorted(tally.means.keys() - {ALL}, key=lambda system: (-tally.means[system], system))
        if not systems:
            continue
        cells = tuple(_share_cells(tally, system, names[system]) for system in systems)
        high = max(cell.value or 0.0 for line in cells for cell in line)
        x_label = "answer (% of a system's ratings)"
        rows = tuple(names[system] for system in systems)
        builder.panels.append(
            Heatmap(title=tally.question, rows=rows, columns=tally.labels, cells=cells, column_label=x_label, high=high)
        )
        builder.table += [
            {"question": tally.question, "system": system, "answer": label, "ratings": n}
            for system in systems
            for label, n, _ in tally.answers(system)
        ]
    return builder.chart(*chart_texts("answers-by-system"))


def _share_cells(tally: AnswerTally, system: str, name: str) -> tuple[HeatCell, ...]:
    of = f"of {number(sum(tally.counts[system]))} ratings"
    return tuple(
        HeatCell(
            share, f"{100 * share:.0f}", f"{name}, {tally.question}: {label}\n{number(n)} {of}, {100 * share:.1f}%"
        )
        for label, n, share in tally.answers(system)
    )


@figure("system-ranking")
def system_ranking(analysis: Analysis) -> Chart | Absent:
    """One panel per question."""
    if analysis.summary.kind == "conveyance":
        return Absent("systems are compared by their deviation from the references, not by their means")
    names = system_names(analysis.snapshot)
    builder = IntervalPanels("mean", letters=False)
    for question in questions(analysis)[:MOST_PANELS]:
        ranked = _ranked(analysis, question)
        items = []
        for row in ranked:
            note = f"rank {row.rank}; {row.means.n_stimuli} stimuli, {row.means.n_ratings} ratings"
            if row.tied_with:
                tied_names = ", ".join(names[tied] for tied in row.tied_with)
                note += f"\ndoes not differ significantly from {tied_names} (Holm)"
            cells = {"question": question, "rank": row.rank, "system": row.system}
            after = {"tied_with": "; ".join(row.tied_with or ())}
            shade = colour(len(builder.panels))
            items.append(
                Item(
                    label=names[row.system], estimate=row.means.mean, colour=shade, cells=cells, note=note, after=after
                )
            )
        bounds = analysis.snapshot.study.scale_of(question).bounds()
        label = "mean" if bounds is None else f"mean (scale {bounds[0]:g} to {bounds[1]:g})"
        builder.add(question, label, items, ties=tied_runs({row.system: row.tied_with or () for row in ranked}))
    return builder.chart(*chart_texts("system-ranking"))


def _ranked(analysis: Analysis, question: str) -> list[SystemMeans]:
    """The systems with a mean by rank, those without a rank last."""
    rows = [row for row in analysis.summary.systems or () if row.question == question]
    with_mean = (row for row in rows if row.means.mean.value is not None)
    return sorted(with_mean, key=lambda row: (row.rank or len(rows), row.system))


def tied_runs(tied_with: Mapping[str, Sequence[str]]) -> tuple[tuple[int, int], ...]:
    """Longest runs of neighbours in the order that are all tied with each other, as first and last place."""
    names = list(tied_with)
    runs: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = start
        while end + 1 < len(names) and all(names[end + 1] in tied_with[names[k]] for k in range(start, end + 1)):
            end += 1
        # A run within an earlier one would be a second bar that says nothing new.
        if end > start and not any(a <= start and end <= b for a, b in runs):
            runs.append((start, end))
    return tuple(runs)
