"""Systems in order of their mean, with intervals and ties."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import row_of
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, questions, rows, system_names, value_of

MOST_PANELS = 6


class Ranking(Figure):
    """Which systems are ahead, and which of them cannot be told apart."""

    name: ClassVar[str] = "system-ranking"
    about: ClassVar[str] = (
        "mean per system in order, with 95% intervals; systems that cannot be told apart share a bar"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question."""
        if analysis.summary.get("kind") == "conveyance":
            return Absent("systems are compared by their deviation from the references, not by their means")
        names = system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for place, question in enumerate(questions(analysis)[:MOST_PANELS]):
            mine = [
                row
                for row in rows(analysis, "systems", question=question)
                if value_of(row.get("mean")) is not None
            ]
            mine.sort(key=lambda row: (row.get("rank") or len(mine), -float(value_of(row["mean"]) or 0.0)))
            if not mine:
                continue
            made = [_row(row, names, COLOURS[place % len(COLOURS)]) for row in mine]
            bounds = analysis.snapshot.study.scale_of(question).bounds()
            panels.append(
                {
                    "title": question,
                    "rows": made,
                    "bars": False,
                    "brackets": [],
                    "lines": [],
                    "ties": _ties(mine),
                    "value": axis(
                        "mean" if bounds is None else f"mean (scale {bounds[0]:g} to {bounds[1]:g})",
                        [r[k] for r in made for k in ("value", "low", "high")],
                    ),
                }
            )
            table += [
                {
                    "question": question,
                    "rank": row.get("rank"),
                    "system": row["system"],
                    "mean": r["value"],
                    "low": r["low"],
                    "high": r["high"],
                    "tied_with": "; ".join(row.get("tied_with") or []),
                }
                for row, r in zip(mine, made, strict=True)
            ]
        if not panels:
            return Absent("the stimuli have no systems to rank")
        caption = (
            "Mean of each system in order, with 95% intervals that take both raters and stimuli as samples. Systems beside one"
            " grey bar cannot be told apart."
        )
        return Chart("intervals", "System ranking", caption, panels, table)


def _row(row: dict[str, Any], names: dict[str, str], colour: str) -> dict[str, Any]:
    label = names.get(str(row["system"]), str(row["system"]))
    tied = [names.get(other, other) for other in row.get("tied_with") or []]
    note = f"rank {row.get('rank')}; {row.get('n_stimuli')} stimuli, {row.get('n_ratings')} ratings"
    note += f"\nnot told apart from {', '.join(tied)}" if tied else ""
    return row_of(label, row["mean"], colour, note)


def _ties(mine: list[dict[str, Any]]) -> list[list[int]]:
    """Longest runs of neighbours in the order that are all tied with each other, as first and last place."""
    tied = [set(row.get("tied_with") or []) for row in mine]
    names = [str(row["system"]) for row in mine]
    runs: list[list[int]] = []
    for start in range(len(mine)):
        end = start
        while end + 1 < len(mine) and all(names[end + 1] in tied[k] for k in range(start, end + 1)):
            end += 1
        if end > start and not any(a <= start and end <= b for a, b in runs):
            runs.append([start, end])
    return runs


FIGURES.add(Ranking.name, Ranking())
