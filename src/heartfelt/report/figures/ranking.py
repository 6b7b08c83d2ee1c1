"""Systems in order of their mean, with intervals and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import numbers, panel_of, row_of
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, questions, rows, summary_data, system_names, value_of

MOST_PANELS = 6


class Ranking(Figure):
    """Which systems are ahead, and which of them cannot be told apart."""

    name: ClassVar[str] = "system-ranking"
    about: ClassVar[str] = (
        "mean per system in order, with 95% intervals; systems that cannot be told apart share a bar"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question."""
        if summary_data(analysis).get("kind") == "conveyance":
            return Absent("systems are compared by their deviation from the references, not by their means")
        names = system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis)[:MOST_PANELS]:
            known = _ranked(analysis, question)
            if not known:
                continue
            colour = COLOURS[len(panels) % len(COLOURS)]
            made = [row_of(_name(row, names), row["mean"], colour, _note(row, names)) for row in known]
            bounds = analysis.snapshot.study.scale_of(question).bounds()
            label = "mean" if bounds is None else f"mean (scale {bounds[0]:g} to {bounds[1]:g})"
            panels.append(panel_of(question, made, axis(label, numbers(made)), ties=tied_runs(known)))
            table += [_table_row(question, row, drawn) for row, drawn in zip(known, made, strict=True)]
        if not panels:
            return Absent("the stimuli have no systems to rank")
        caption = (
            "Mean of each system in order, with 95% intervals that take both raters and stimuli as samples. Systems"
            " beside one grey bar cannot be told apart."
        )
        return Chart("intervals", "System ranking", caption, panels, table)


def _ranked(analysis: Analysis, question: str) -> list[dict[str, Any]]:
    known = [
        row for row in rows(analysis, "systems", question=question) if value_of(row.get("mean")) is not None
    ]
    return sorted(known, key=lambda row: (row.get("rank") or len(known), str(row["system"])))


def _name(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return names.get(str(row["system"]), str(row["system"]))


def _note(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    tied = [names.get(other, other) for other in row.get("tied_with") or []]
    note = f"rank {row.get('rank')}; {row.get('n_stimuli')} stimuli, {row.get('n_ratings')} ratings"
    return note + (f"\nnot told apart from {', '.join(tied)}" if tied else "")


def _table_row(question: str, row: Mapping[str, Any], drawn: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "question": question,
        "rank": row.get("rank"),
        "system": row["system"],
        "mean": drawn["value"],
        "low": drawn["low"],
        "high": drawn["high"],
        "tied_with": "; ".join(row.get("tied_with") or []),
    }


def tied_runs(ranked: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Longest runs of neighbours in the order that are all tied with each other, as first and last place."""
    tied = [set(row.get("tied_with") or []) for row in ranked]
    names = [str(row["system"]) for row in ranked]
    runs: list[list[int]] = []
    for start in range(len(ranked)):
        end = start
        while end + 1 < len(ranked) and all(names[end + 1] in tied[k] for k in range(start, end + 1)):
            end += 1
        if end > start and not any(a <= start and end <= b for a, b in runs):
            runs.append([start, end])
    return runs


FIGURES.add(Ranking.name, Ranking())
