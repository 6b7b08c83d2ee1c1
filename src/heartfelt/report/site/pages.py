"""The pages of a site besides those of models and stimuli: the leaderboards, the list of models, each bench, how to submit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from heartfelt.report.bench.figures import bench_charts, leaderboard
from heartfelt.report.bench.page import leaderboard_table, leaderboards, score_sections, sentences, verdict
from heartfelt.report.bench.parts import agreement_by_part, part_charts
from heartfelt.report.bench.write import PAGE
from heartfelt.report.charts import Absent, Chart
from heartfelt.report.layout.media import relative_address
from heartfelt.report.layout.page import ReportPage, Section, bullets, figure_block, joined
from heartfelt.report.layout.tables import CellValue, Columns, table, table_of
from heartfelt.report.layout.templates import section
from heartfelt.report.site.models import capital
from heartfelt.report.site.sources.boards import Site, SiteBoard, display_names, renamed
from heartfelt.report.site.sources.runs import folder_of
from heartfelt.report.site.sources.secrets import shown_spec
from heartfelt.scoring.comparison.leaderboard import ScoredRun
from heartfelt.wording import interval, number, plural, spaced

MODEL = Markup('<span class="swatch" style="background:{}"></span><a href="{}">{}</a>')


def index_page(site: Site, pages: Mapping[str, str], stimuli: int) -> ReportPage:
    """Leaderboards of every task of every source, and the benches behind them."""
    charts: dict[str, Chart | Absent] = {}
    sections: list[Section] = []

    def linked(model: str) -> CellValue:
        return MODEL.format(site.colours[model], quote(f"models/{site.models[model]}"), model)

    for index, board in enumerate(site.boards):
        scores = board.scores
        outcome = [sentence for task in scores.tasks for sentence in sentences(scores, task)[:1]]
        parts: list[Markup] = [bullets(outcome, "verdict")]
        for at, task in enumerate(scores.tasks):
            name = f"board-{index}-{at}"
            charts[name] = leaderboard(scores, task, site.colours)
            parts += [figure_block(name, charts, files=False), leaderboard_table(scores, task, linked)]
        notes = (*board.notes, *_hidden_note(board))
        lead = " ".join(notes)
        heading = scores.title if len(site.boards) > 1 else "Leaderboard"
        sections.append(Section(id=f"board-{index}", title=heading, lead=lead, html=joined(*parts), short=scores.title))
    sections.append(_runs_section(site, pages))
    facts = [
        ("benches", number(len(site.runs))),
        ("sources", number(len(site.boards))),
        ("models", number(len(site.models))),
        *([("stimuli", number(stimuli))] if stimuli else []),
    ]
    lead = (
        "Predictors against people, between chance and the ceiling set by their labels. Ranked with failures counted: a"
        " failed or missing prediction counts as the task's fallback. A model that does not beat chance has no rank."
    )
    return ReportPage(title=site.title, subtitle=lead, sections=sections, charts=charts, facts=facts)


def _hidden_note(board: SiteBoard) -> list[str]:
    if not board.hidden:
        return []
    return [f"Labels and answers of {plural(board.hidden, 'item')} are hidden; scores include them."]


def _runs_section(site: Site, pages: Mapping[str, str]) -> Section:
    link = Markup('<a href="runs/{}">{}</a>')
    columns: Columns[ScoredRun] = {
        "bench": lambda run: link.format(quote(pages[run.name]), run.name),
        "study": lambda run: run.scores.title,
        "models": lambda run: ", ".join(display_names(run.scores.models, run.scores.model_info).values()),
        "tasks": lambda run: ", ".join(spaced(task.id) for task in run.scores.tasks),
        "source": lambda run: run.scores.hash[:12],
    }
    lead = "Benches of one source are compared with each other; those of different sources are not."
    return Section(id="benches", title="Benches", lead=lead, html=table_of("Every bench", site.runs, columns))


def models_page(site: Site) -> ReportPage:
    """Every model: what it is and its headlines."""
    rows: list[list[CellValue]] = []
    headlines = [(board, task) for board in site.boards for task in board.scores.tasks]
    several = len(site.boards) > 1
    for model, file in site.models.items():
        boards = site.boards_with(model)
        about = next((board.scores.model_info[model] for board in boards if model in board.scores.model_info), None)
        scores = [
            interval(board.scores.headline(task.id, model)) if model in board.scores.models else None
            for board, task in headlines
        ]
        answered = [board.scores.answered(task.id, model) for board in boards for task in board.scores.tasks]
        done, items = (sum(counts[at] for counts in answered) for at in (0, 1))
        details = ("–", None, None) if about is None else (about.spec, about.version, about.hash and about.hash[:12])
        rows.append(
            [
                MODEL.format(site.colours[model], quote(file), model),
                *scores,
                f"{number(done)} of {number(items)}",
                *details,
            ]
        )
    names = [
        f"{spaced(task.id)}: {board.scores.metric_title(task.headline)}"
        + (f" ({board.scores.title})" if several else "")
        for board, task in headlines
    ]
    grid = table("Every model", ["model", *names, "answered", "asked for as", "version", "hash"], rows)
    lead = "Headline scores with failures counted and 95% intervals. A model's page has everything else."
    return ReportPage(
        title="Models", subtitle="", sections=[Section(id="models", title="All models", lead=lead, html=grid)]
    )


def run_page(run: ScoredRun, site: Site, home: Path, target: Path) -> ReportPage:
    """A bench's page: everything but what plays, which is in the bench's own report."""
    scores = renamed(run.scores, display_names(run.scores.models, run.scores.model_info))
    charts = bench_charts(scores, ["leaderboard", "shares"])
    if site.colours.keys() >= set(scores.models):
        tasks = enumerate(scores.tasks)
        charts |= {f"leaderboard-{index}": leaderboard(scores, task, site.colours) for index, task in tasks}
    links = [Markup('<a class="button" href="../index.html">All benches</a>')]
    report = folder_of(run, home) / PAGE
    if report.is_file() and not site.hides_labels:
        link = Markup('<a class="button" href="{}">The bench\'s own report, with media</a>')
        links.append(link.format(relative_address(report, target / "runs")))
    sections = [verdict(scores, *links), leaderboards(scores, charts), *score_sections(scores)]
    # Scores of few items at a time would give hidden labels away.
    if not site.hides_labels:
        charts |= part_charts(scores)
        sections.insert(2, agreement_by_part(scores, charts))
    facts = [("models", number(len(scores.models))), ("source", scores.hash[:12])]
    shown = [section for section in sections if section.html and not (site.hides_labels and section.id == "slices")]
    return ReportPage(title=f"{scores.title}: {run.name}", subtitle="", sections=shown, charts=charts, facts=facts)


def submit_page(site: Site) -> ReportPage:
    """How to get a model onto the leaderboard, with the file it takes."""
    several = len(site.boards) > 1
    sections = [_file(site, board, f"file-{at}", several) for at, board in enumerate(site.boards)]
    address = shown_spec(site.submit_to or "").rstrip("/").removesuffix("/submissions")
    return ReportPage(
        title="Submit predictions",
        subtitle="Any system can take part: what counts is a table of predictions.",
        sections=[*sections, section("site/send", "send", address=address)],
    )


def _file(site: Site, board: SiteBoard, id: str, several: bool) -> Section:
    """What a file of predictions holds, with an example."""
    kinds = {task.kind for task in board.scores.tasks}
    failures = dict.fromkeys(task.failures for task in board.scores.tasks if task.failures)
    return section(
        "site/file",
        id,
        board=board,
        several=several,
        items=_items(board),
        kinds=kinds,
        worded=bool(kinds & {"categories", "ordinal", "text"}),
        counts_missing=site.submit_to is not None,
        failures=[f"{capital(words)}." for words in failures],
        example=_example(board),
    )


def _example(board: SiteBoard) -> str:
    worded = {question: task.kind for task in reversed(board.scores.tasks) for question in task.questions}
    defaults = {"numbers": "4.2", "binary": "0.8", "categories": "joy", "ordinal": "weak", "text": "a calm piano piece"}
    column_of = {"binary": "score", "categories": "answer", "ordinal": "answer", "text": "answer"}
    columns = {question: column_of.get(kind, "value") for question, kind in worded.items()}
    used = list(dict.fromkeys(columns[question] for _, question in board.examples)) or ["value"]
    lines = [["stimulus", "question", *used]]
    for stimulus, question in board.examples:
        answer = defaults.get(worded[question], "1")
        lines.append([stimulus, question, *(answer if columns[question] == name else "" for name in used)])
    return "\n".join(map(_csv_line, lines))


def _csv_line(cells: Sequence[str]) -> str:
    return ",".join(f'"{cell}"' if "," in cell or '"' in cell else cell for cell in cells)


def _items(board: SiteBoard) -> int:
    """How many different items a source is scored on."""
    most: dict[tuple[str, ...], int] = {}
    for task in board.scores.tasks:
        counts = [board.scores.answered(task.id, model)[1] for model in board.scores.models]
        most[task.questions] = max([*counts, most.get(task.questions, 0)])
    return sum(most.values())
