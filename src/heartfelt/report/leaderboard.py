"""A static site of many benches: ``index.html`` with a leaderboard for every task of every source, and a page per bench."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

import polars as pl
from markupsafe import Markup

from heartfelt.errors import InputError
from heartfelt.files import whole_folder, write_text
from heartfelt.progress import Progress
from heartfelt.report.bench.figures import bench_charts
from heartfelt.report.bench.page import leaderboard_table, leaderboards, score_sections, sentences, verdict
from heartfelt.report.bench.write import FILE, ITEMS, PAGE
from heartfelt.report.charts import Absent, Chart
from heartfelt.report.page import Page, Section, figure_block, joined, render
from heartfelt.report.tables import Columns, table_of
from heartfelt.scoring import Scores
from heartfelt.scoring.leaderboard import Board, ScoredRun, boards_of
from heartfelt.scoring.scores import LAYOUT
from heartfelt.serialization import read_json, write_json
from heartfelt.wording import number, spaced

FOLDER = "leaderboard"
_COLUMNS = {
    "task": pl.String,
    "model": pl.String,
    "stimulus": pl.String,
    "question": pl.String,
    "truth": pl.Float64,
    "said": pl.Float64,
}
_FURTHER = {"counted": pl.Float64, "system": pl.String}


def write_leaderboard(
    folder: Path | str, out: Path | str | None = None, *, title: str = "", progress: Progress | None = None
) -> Path:
    """Make a site of every bench below ``folder``, by default in ``folder/leaderboard``; return the site's folder."""
    home = Path(folder)
    target = Path(out) if out is not None else home / FOLDER
    taken = target.exists() and not (target / "index.html").is_file()
    if taken and (not target.is_dir() or any(target.iterdir())):
        raise InputError(
            f"{target} already exists and is not a leaderboard.",
            "Choose another folder, or remove this one first.",
        )
    runs = find_runs(home, target)
    boards = boards_of(runs)
    pages = _file_names([run.name for run in runs])
    with whole_folder(target, replace=True) as made:
        (made / "runs").mkdir()
        for done, run in enumerate(runs, 1):
            write_text(made / "runs" / pages[run.name], render(_run_page(run, home, target)))
            if progress is not None:
                progress("writing pages", done, len(runs))
        write_text(made / "index.html", render(_index(boards, runs, pages, title)))
        write_json(made / "leaderboard.json", {"boards": [board.scores for board in boards]})
    return target


def find_runs(folder: Path, without: Path | None = None) -> list[ScoredRun]:
    """Every bench below a folder, by path; hidden folders and ``without`` (the site itself) are left out."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Point to a folder that contains benches.")
    paths = [
        path
        for path in sorted(folder.rglob(FILE))
        if (without is None or not path.resolve().is_relative_to(without.resolve()))
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not paths:
        raise InputError(f"There is no bench below {folder}.", "Make one with heartfelt bench … --out DIR.")
    return [_read(path, folder) for path in paths]


def _read(path: Path, folder: Path) -> ScoredRun:
    home = path.parent
    name = home.relative_to(folder).as_posix() if home != folder else folder.resolve().name
    scores = read_scores(path)
    try:
        items = pl.read_parquet(home / ITEMS)
        schema = {**_COLUMNS, **{key: kind for key, kind in _FURTHER.items() if key in items.columns}}
        items = items.select(list(schema)).cast(schema)  # type: ignore[arg-type]  # polars' own alias is narrower
    except (OSError, pl.exceptions.PolarsError):
        return ScoredRun(name, scores, pl.DataFrame(schema=_COLUMNS), f"{name} has no readable {ITEMS}")
    if "counted" not in items.columns:
        why = f"{name} was scored by an earlier version: its pairs are compared on answered items; score it again"
        return ScoredRun(name, scores, items, why_answered_only=why)
    return ScoredRun(name, scores, items)


def read_scores(path: Path) -> Scores:
    """Read a ``scores.json``."""
    scores = read_json(path, Scores)
    if scores.layout != LAYOUT:
        raise InputError(
            f"{path} was written in layout {scores.layout}; this heartfelt reads layout {LAYOUT}.",
            "Score again, or use the version that wrote it.",
        )
    return scores


def _file_names(names: list[str]) -> dict[str, str]:
    """A file name for every run, all different."""
    out: dict[str, str] = {}
    for run in names:
        base = re.sub(r"[^\w.-]+", "-", run).strip("-.") or "run"
        name, count = f"{base}.html", 2
        while name in out.values():
            name, count = f"{base}-{count}.html", count + 1
        out[run] = name
    return out


def _index(boards: list[Board], runs: list[ScoredRun], pages: dict[str, str], title: str) -> Page:
    charts: dict[str, Chart | Absent] = {}
    sections: list[Section] = []
    for place, board in enumerate(boards):
        scores = board.scores
        parts: list[Markup] = []
        own = bench_charts(scores, ["leaderboard"])
        for at, task in enumerate(scores.tasks):
            name = f"board-{place}-{at}"
            charts[name] = own[f"leaderboard-{at}"]
            parts += [figure_block(name, charts, files=False), leaderboard_table(scores, task)]
        lead = " ".join((*(sentences(scores, task)[0] for task in scores.tasks), *board.notes))
        heading = scores.title if len(boards) > 1 else "Leaderboard"
        sections.append(Section(f"board-{place}", heading, lead, joined(*parts), scores.title))
    sections.append(_runs_section(runs, pages))
    facts = [
        ("benches", number(len(runs))),
        ("sources", number(len(boards))),
        ("models", number(sum(len(board.scores.models) for board in boards))),
    ]
    only = f"{boards[0].scores.title}: leaderboard" if len(boards) == 1 else "Leaderboard"
    lead = (
        "Predictors against people, between chance and the ceiling set by their labels. Ranked with failures counted: a"
        " failed or missing prediction counts as the task's fallback. A model that does not beat chance has no rank."
    )
    return Page(title or only, lead, sections, charts, facts=facts)


def _runs_section(runs: list[ScoredRun], pages: dict[str, str]) -> Section:
    link = Markup('<a href="runs/{}">{}</a>')
    columns: Columns[ScoredRun] = {
        "bench": lambda run: link.format(quote(pages[run.name]), run.name),
        "study": lambda run: run.scores.title,
        "models": lambda run: ", ".join(run.scores.models),
        "tasks": lambda run: ", ".join(spaced(task.id) for task in run.scores.tasks),
        "source": lambda run: run.scores.hash[:12],
    }
    lead = "Benches of one source are compared with each other; those of different sources are not."
    return Section("benches", "Benches", lead, table_of("Every bench", runs, columns))


def _run_page(run: ScoredRun, home: Path, target: Path) -> Page:
    """A run's page: everything but what plays, which is in the run's own report."""
    scores = run.scores
    charts = bench_charts(scores, ["leaderboard", "shares"])
    links = [Markup('<a class="button" href="../index.html">All benches</a>')]
    folder = home / run.name if (home / run.name / FILE).is_file() else home
    if (folder / PAGE).is_file():
        relative = os.path.relpath((folder / PAGE).resolve(), (target / "runs").resolve())
        link = Markup('<a class="button" href="{}">The bench\'s own report, with media</a>')
        links.append(link.format(quote(Path(relative).as_posix())))
    sections = [verdict(scores, *links), leaderboards(scores, charts), *score_sections(scores)]
    facts = [("models", number(len(scores.models))), ("source", scores.hash[:12])]
    shown = [section for section in sections if section.html]
    return Page(f"{scores.title}: {run.name}", "", shown, charts, facts=facts)
