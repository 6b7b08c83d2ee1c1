"""What raters answered: how often each answer was given, by system, and systems in order of their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heartfelt.analysis import Analysis
from heartfelt.analysis.results import Distribution
from heartfelt.report.charts import (
    Absent,
    Axis,
    Bar,
    Cell,
    Chart,
    Columns,
    HeatCell,
    Heatmap,
    Intervals,
    axis,
    extent,
    interval_row,
    numbers,
)
from heartfelt.report.figures.registry import figure
from heartfelt.report.naming import questions, system_names, why_missing
from heartfelt.report.palette import colour
from heartfelt.study import Study
from heartfelt.wording import number

MOST_HISTOGRAMS = 9
MOST_PANELS = 6
MOST_ANSWERS = 12
BINS = 10
ALL = "all"


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers in order with how often each was given, by system; under ``ALL`` over all."""

    question: str
    labels: tuple[str, ...]
    counts: Mapping[str, Sequence[int]]
    means: Mapping[str, float]


def tallies(analysis: Analysis) -> list[Tally]:
    """One tally per question, or per scale where there are very many questions."""
    by_question: dict[str, list[Distribution]] = {}
    for row in analysis.summary.distributions or ():
        by_question.setdefault(row.question, []).append(row)
    return [_tally(analysis.snapshot.study, question, rows) for question, rows in by_question.items()]


def _tally(study: Study, question: str, rows: Sequence[Distribution]) -> Tally:
    answers = [answer for row in rows for answer in row.answers]
    values = sorted({answer.value for answer in answers})
    labels, place = _bins(study, question, values, {a.value: a.answer for a in answers if a.answer})
    counts: dict[str, list[int]] = {}
    means: dict[str, float] = {}
    for row in rows:
        own = counts.setdefault(row.system, [0] * len(labels))
        for answer in row.answers:
            own[place[answer.value]] += answer.n
        means[row.system] = sum(answer.value * answer.n for answer in row.answers) / max(sum(own), 1)
    return Tally(question, tuple(labels), counts, means)


def _bins(
    study: Study, question: str, values: Sequence[float], named: Mapping[float, str]
) -> tuple[list[str], dict[float, int]]:
    """The bins, and which of them each value falls into."""
    asked = any(row.id == question for row in study.asked)
    scale = study.scale_of(question) if asked else study.scales.get(question)
    codes = {**(scale.labels() if scale is not None else {}), **named}
    if codes:
        order = sorted({*codes, *values})
        return [codes.get(code, number(code)) for code in order], {code: i for i, code in enumerate(order)}
    low, high = (scale.bounds() if scale is not None else None) or (values[0], values[-1])
    if all(float(v).is_integer() for v in (*values, low, high)) and high - low < MOST_ANSWERS:
        points = range(int(min(low, values[0])), int(max(high, values[-1])) + 1)
        return [number(point) for point in points], {float(point): i for i, point in enumerate(points)}
    width = (high - low) / BINS or 1.0
    ends = [number(low + i * width, 0 if width >= 1 else 1) for i in range(BINS + 1)]
    labels = [f"{ends[i]}–{ends[i + 1]}" for i in range(BINS)]
    return labels, {v: min(max(int((v - low) / width), 0), BINS - 1) for v in values}


@figure("answers", "how often each answer was given, one histogram per question")
def answers(analysis: Analysis) -> Chart | Absent:
    """One panel per question."""
    known = [tally for tally in tallies(analysis) if sum(tally.counts.get(ALL, ())) > 0]
    if not known:
        return Absent(why_missing(analysis, "distributions", "there are no single ratings"))
    shares = []
    for place, tally in enumerate(known[:MOST_HISTOGRAMS]):
        total = sum(tally.counts[ALL])
        shares.append(
            tuple(
                Bar(
                    label,
                    100 * count / total,
                    colour(place),
                    f"{tally.question}: {label}\n{number(count)} ratings, {100 * count / total:.1f}%",
                )
                for label, count in zip(tally.labels, tally.counts[ALL], strict=True)
            )
        )
    height = axis("share of ratings (%)", [bar.value for bars in shares for bar in bars], include=[0.0])
    panels = [
        Columns(tally.question, Axis("answer"), height, bars)
        for tally, bars in zip(known, shares, strict=False)
    ]
    table: list[dict[str, Cell]] = [
        {"question": tally.question, "answer": label, "ratings": count}
        for tally in known
        for label, count in zip(tally.labels, tally.counts[ALL], strict=True)
    ]
    caption = "How often each answer was given."
    if len(known) > MOST_HISTOGRAMS:
        caption += f" The first {MOST_HISTOGRAMS} of {len(known)} questions."
    return Chart("Answers", caption, panels, table)


@figure("answers-by-system", "share of each answer per system, systems in order of their mean")
def answers_by_system(analysis: Analysis) -> Chart | Absent:
    """One panel per question: systems in rows, the highest mean first, answers in columns."""
    names = system_names(analysis)
    panels: list[Heatmap] = []
    table: list[dict[str, Cell]] = []
    for tally in tallies(analysis)[:MOST_PANELS]:
        known = [system for system, counts in tally.counts.items() if system != ALL and sum(counts) > 0]
        means = tally.means
        systems = sorted(known, key=lambda system: (-means[system], system))
        if not systems:
            continue
        labels = tuple(names.get(system, system) for system in systems)
        cells = tuple(_shares(tally, s, label) for s, label in zip(systems, labels, strict=True))
        high = max(cell.value or 0.0 for line in cells for cell in line)
        under = "answer (% of a system's ratings)"
        panels.append(Heatmap(tally.question, labels, tally.labels, cells, "", under, high=high))
        table += [
            {"question": tally.question, "system": system, "answer": label, "ratings": count}
            for system in systems
            for label, count in zip(tally.labels, tally.counts[system], strict=True)
        ]
    if not panels:
        return Absent("the stimuli have no systems, or no single ratings were published")
    caption = "Share of each answer among the ratings of a system's stimuli, in percent; systems in order of their mean."
    return Chart("Answers by system", caption, panels, table)


def _shares(tally: Tally, system: str, name: str) -> tuple[HeatCell, ...]:
    counts = tally.counts[system]
    total = sum(counts)
    return tuple(
        HeatCell(
            count / total,
            f"{100 * count / total:.0f}",
            f"{name}, {tally.question}: {label}\n"
            f"{number(count)} of {number(total)} ratings, {100 * count / total:.1f}%",
        )
        for label, count in zip(tally.labels, counts, strict=True)
    )


@figure(
    "system-ranking", "mean per system in order, with 95% intervals; systems that do not differ share a bar"
)
def system_ranking(analysis: Analysis) -> Chart | Absent:
    """One panel per question."""
    if analysis.summary.kind == "conveyance":
        return Absent("systems are compared by their deviation from the references, not by their means")
    names = system_names(analysis)
    panels: list[Intervals] = []
    table: list[dict[str, Cell]] = []
    for question in questions(analysis)[:MOST_PANELS]:
        known = [
            row
            for row in analysis.summary.systems or ()
            if row.question == question and row.means.mean.value is not None
        ]
        if not known:
            continue
        last = len(known)
        known.sort(key=lambda row: (row.rank or last, row.system))
        made = []
        for row in known:
            note = f"rank {row.rank}; {row.means.n_stimuli} stimuli, {row.means.n_ratings} ratings"
            if row.tied_with:
                note += (
                    f"\nnot told apart from {', '.join(names.get(other, other) for other in row.tied_with)}"
                )
            made.append(
                interval_row(names.get(row.system, row.system), row.means.mean, colour(len(panels)), note)
            )
            tied = "; ".join(row.tied_with or ())
            table.append(
                {
                    "question": question,
                    "rank": row.rank,
                    "system": row.system,
                    **numbers(row.means.mean, "mean"),
                    "tied_with": tied,
                }
            )
        bounds = analysis.snapshot.study.scale_of(question).bounds()
        label = "mean" if bounds is None else f"mean (scale {bounds[0]:g} to {bounds[1]:g})"
        ties = tied_runs({row.system: row.tied_with or () for row in known})
        panels.append(Intervals(question, tuple(made), axis(label, extent(made)), ties=ties))
    if not panels:
        return Absent("the stimuli have no systems to rank")
    caption = (
        "Mean of each system in order, with 95% intervals that take both raters and stimuli as samples. Systems"
        " next to the same grey bar do not differ significantly."
    )
    return Chart("System ranking", caption, panels, table)


def tied_runs(tied_with: Mapping[str, Sequence[str]]) -> tuple[tuple[int, int], ...]:
    """Longest runs of neighbours in the order that are all tied with each other, as first and last place."""
    names = list(tied_with)
    runs: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = start
        while end + 1 < len(names) and all(
            names[end + 1] in tied_with[names[k]] for k in range(start, end + 1)
        ):
            end += 1
        if end > start and not any(a <= start and end <= b for a, b in runs):
            runs.append((start, end))
    return tuple(runs)
