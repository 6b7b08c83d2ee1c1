"""The site: ``index.html`` with a leaderboard for every task of every source, and ``runs/`` with a page a run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from heartfelt.errors import InputError
from heartfelt.files import whole_folder, write_text
from heartfelt.progress import Progress
from heartfelt.report.bench import figures, sections
from heartfelt.report.bench.comparing import comparisons
from heartfelt.report.bench.sections import drawn
from heartfelt.report.blocks import joined
from heartfelt.report.chart import Chart
from heartfelt.report.leaderboard.boards import Board, boards_of
from heartfelt.report.leaderboard.runs import BenchRun, find_runs
from heartfelt.report.page import Page, Section, render
from heartfelt.report.tables import table
from heartfelt.report.words import number, plain
from heartfelt.serialization import write_json

FOLDER = "leaderboard"


def write_leaderboard(
    folder: Path | str, out: Path | str | None = None, *, title: str = "", progress: Progress | None = None
) -> Path:
    """Make a site of every bench below ``folder``, in ``folder/leaderboard`` unless said; return the site's folder."""
    home = Path(folder)
    target = Path(out) if out is not None else home / FOLDER
    if (
        target.exists()
        and not (target / "index.html").is_file()
        and (not target.is_dir() or any(target.iterdir()))
    ):
        raise InputError(
            f"{target} already exists and holds no leaderboard.",
            "Choose another folder, or remove this one first.",
        )
    runs = find_runs(home, target)
    boards = boards_of(runs)
    pages = _pages(runs)
    with whole_folder(target, replace=True) as made:
        (made / "runs").mkdir()
        for done, run in enumerate(runs):
            write_text(made / "runs" / pages[run.name], render(_run_page(run, target)))
            if progress is not None:
                progress("writing pages", done + 1, len(runs))
        write_text(made / "index.html", render(_index(boards, runs, pages, title)))
        write_json(made / "leaderboard.json", {"boards": [dict(board.told.said) for board in boards]})
    return target


def _pages(runs: list[BenchRun]) -> dict[str, str]:
    """A file name for every run, no two the same."""
    out: dict[str, str] = {}
    for run in runs:
        base = re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or "run"
        name, count = f"{base}.html", 2
        while name in out.values():
            name, count = f"{base}-{count}.html", count + 1
        out[run.name] = name
    return out


def _index(boards: list[Board], runs: list[BenchRun], pages: dict[str, str], title: str) -> Page:
    drawings: dict[str, Chart] = {}
    shown: list[Section] = []
    for place, board in enumerate(boards):
        parts: list[Markup] = []
        for at, task in enumerate(board.told.tasks):
            name = f"board-{place}-{at}"
            chart = figures.leaderboard(board.told, task)
            if chart is not None:
                drawings[name] = chart
            parts.append(drawn(name, chart, f"No model has a score on {plain(task['task'])}."))
            parts.append(sections.leaderboard_table(board.told, task))
        words = [
            sentence for task in board.told.tasks for sentence in sections.sentences(board.told, task)[:1]
        ]
        lead = " ".join((*words, *board.notes))
        heading = board.told.title if len(boards) > 1 else "Leaderboard"
        shown.append(Section(f"board-{place}", heading, lead, html=joined(*parts), short=board.told.title))
    shown.append(_runs_section(runs, pages))
    facts = [
        ("benches", number(len(runs))),
        ("sources", number(len(boards))),
        ("models", number(sum(len(board.told.models) for board in boards))),
    ]
    data: dict[str, Any] = {
        "figures": {name: chart.to_json() for name, chart in drawings.items()},
        "media": {},
    }
    named = title or (boards[0].told.title + ": leaderboard" if len(boards) == 1 else "Leaderboard")
    lead = (
        "Predictors against people, between chance and the ceiling their labels set. Ranked with failures counted: a failed or"
        " missing prediction counts as the task's fallback. A model that does not beat chance has no rank."
    )
    return Page(named, lead, shown, data, facts)


def _runs_section(runs: list[BenchRun], pages: dict[str, str]) -> Section:
    rows = [
        [
            Markup('<a href="runs/{}">{}</a>').format(quote(pages[run.name]), run.name),
            run.told.title,
            ", ".join(run.told.models),
            ", ".join(plain(task["task"]) for task in run.told.tasks),
            str(run.told.said.get("source", ""))[:12],
        ]
        for run in runs
    ]
    grid = table("Every bench", ("bench", "study", "models", "tasks", "source"), rows)
    lead = "Benches of one source are compared with each other; those of different sources are not."
    return Section("benches", "Benches", lead, html=joined(grid), short="Benches")


def _run_page(run: BenchRun, target: Path) -> Page:
    """A run's page: everything but what plays, which is in the run's own report."""
    told = run.told
    charts: dict[str, Chart | None] = {}
    for place, task in enumerate(told.tasks):
        charts[f"leaderboard-{place}"] = figures.leaderboard(told, task)
        charts[f"shares-{place}"] = figures.shares(told, task)
    links = [Markup('<a class="button" href="../index.html">All benches</a>')]
    if run.report is not None:
        where = quote(Path(os.path.relpath(run.report.resolve(), (target / "runs").resolve())).as_posix())
        links.append(
            Markup('<a class="button" href="{}">The bench\'s own report, with media</a>').format(where)
        )
    first = sections.verdict(told)
    opened = Section(
        first.id, first.title, html=joined(Markup(first.html), Markup(" ").join(links)), short=first.short
    )
    shown = [
        opened,
        sections.leaderboards(told, charts),
        comparisons(told),
        sections.slices(told),
        sections.all_scores(told),
        sections.failures(told),
        sections.models(told),
        sections.method(told),
    ]
    data: dict[str, Any] = {
        "figures": {name: chart.to_json() for name, chart in charts.items() if chart is not None},
        "media": {},
    }
    facts = [("models", number(len(told.models))), ("source", str(told.said.get("source", ""))[:12])]
    return Page(f"{told.title}: {run.name}", "", [one for one in shown if one is not None], data, facts)
