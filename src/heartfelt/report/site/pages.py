"""The pages of a site besides those of models and stimuli: the leaderboards, the list of models, each bench, how to submit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from heartfelt.report.bench.figures import bench_charts, leaderboard
from heartfelt.report.bench.page import leaderboard_table, leaderboards, score_sections, sentences, verdict
from heartfelt.report.bench.parts import agreement_by_part, part_charts
from heartfelt.report.bench.write import PAGE
from heartfelt.report.charts import Absent, Chart
from heartfelt.report.media import relative_address
from heartfelt.report.page import ReportPage, Section, bullets, figure_block, joined, paragraph
from heartfelt.report.site.boards import Site, SiteBoard, display_names, renamed
from heartfelt.report.site.models import capital
from heartfelt.report.site.runs import folder_of
from heartfelt.report.site.secrets import shown_spec
from heartfelt.report.tables import CellValue, Columns, table, table_of
from heartfelt.scoring.leaderboard import ScoredRun
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
        sections.append(
            Section(id=f"board-{index}", title=heading, lead=lead, html=joined(*parts), short=scores.title)
        )
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
        about = next(
            (board.scores.model_info[model] for board in boards if model in board.scores.model_info), None
        )
        scores = [
            interval(board.scores.headline(task.id, model)) if model in board.scores.models else None
            for board, task in headlines
        ]
        answered = [board.scores.answered(task.id, model) for board in boards for task in board.scores.tasks]
        done, items = (sum(counts[at] for counts in answered) for at in (0, 1))
        details = (
            ("–", None, None)
            if about is None
            else (about.spec, about.version, about.hash and about.hash[:12])
        )
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
    run_colours = {model: site.colours[model] for model in scores.models if model in site.colours}
    if len(run_colours) == len(scores.models):
        charts |= {
            f"leaderboard-{index}": leaderboard(scores, task, run_colours)
            for index, task in enumerate(scores.tasks)
        }
    links = [Markup('<a class="button" href="../index.html">All benches</a>')]
    report = folder_of(run, home) / PAGE
    if report.is_file() and not any(board.hidden for board in site.boards):
        link = Markup('<a class="button" href="{}">The bench\'s own report, with media</a>')
        links.append(link.format(relative_address(report, target / "runs")))
    sections = [verdict(scores, *links), leaderboards(scores, charts), *score_sections(scores)]
    if any(board.hidden for board in site.boards):
        sections = [section for section in sections if section.id != "slices"]
    else:
        charts |= part_charts(scores)
        sections.insert(2, agreement_by_part(scores, charts))
    facts = [("models", number(len(scores.models))), ("source", scores.hash[:12])]
    shown = [section for section in sections if section.html]
    return ReportPage(
        title=f"{scores.title}: {run.name}", subtitle="", sections=shown, charts=charts, facts=facts
    )


def submit_page(site: Site) -> ReportPage:
    """How to get a model onto the leaderboard, with the file it takes."""
    sections = []
    for index, board in enumerate(site.boards):
        title = board.scores.title if len(site.boards) > 1 else "The file"
        sections.append(Section(id=f"file-{index}", title=title, html=_file(site, board)))
    sections.append(
        Section(
            id="send", title="Where to send it" if site.submit_to else "How to score it", html=_sending(site)
        )
    )
    return ReportPage(
        title="Submit predictions",
        subtitle="Any system can take part: what counts is a table of predictions.",
        sections=sections,
    )


def _file(site: Site, board: SiteBoard) -> Markup:
    scores = board.scores
    kinds = {task.kind for task in scores.tasks}
    worded = {question: task.kind for task in reversed(scores.tasks) for question in task.questions}
    defaults = {
        "numbers": "4.2",
        "binary": "0.8",
        "categories": "joy",
        "ordinal": "weak",
        "text": "a calm piano piece",
    }
    column = {"binary": "score", "categories": "answer", "ordinal": "answer", "text": "answer"}
    used = list(dict.fromkeys(column.get(worded[question], "value") for _, question in board.examples)) or [
        "value"
    ]
    lines = [
        ["stimulus", "question", *used],
        *(
            [
                stimulus,
                question,
                *(
                    defaults.get(worded[question], "1")
                    if column.get(worded[question], "value") == name
                    else ""
                    for name in used
                ),
            ]
            for stimulus, question in board.examples
        ),
    ]
    text = "\n".join(
        ",".join(f'"{cell}"' if "," in cell or '"' in cell else cell for cell in line) for line in lines
    )
    about = [
        "One row per stimulus and question, as CSV, Parquet or JSON lines, in UTF-8.",
        "stimulus and question: the ids of the stimulus and the question.",
        "value: a number on the question's scale.",
    ]
    if "binary" in kinds:
        about.append("score: for yes or no, any number that rises with yes.")
    if kinds & {"categories", "ordinal", "text"}:
        about.append(
            "answer: the category in words, or the text. shares (optional): probabilities by category, as JSON."
        )
    if site.submit_to is None:
        about.append("An item without a row counts as a failure; so does a number that is not finite.")
    failures = dict.fromkeys(task.failures for task in scores.tasks if task.failures)
    about += [f"{capital(words)}." for words in failures]
    items = _items(board)
    hidden = "All" if board.hidden == items else f"{number(board.hidden)} of them"
    counted = f"{plural(items, 'item')} are scored." + (
        f" {hidden} have hidden labels." if board.hidden else ""
    )
    example = Markup(
        '<pre class="paper" tabindex="0" role="region" aria-label="Example of the file for {}">{}</pre>'
    ).format(scores.title, text)
    return joined(paragraph(counted), bullets(about), Markup("<h3>Example</h3>"), example)


def _items(board: SiteBoard) -> int:
    """How many different items a source is scored on."""
    most: dict[tuple[str, ...], int] = {}
    for task in board.scores.tasks:
        counts = [board.scores.answered(task.id, model)[1] for model in board.scores.models]
        most[task.questions] = max([*counts, most.get(task.questions, 0)])
    return sum(most.values())


def _sending(site: Site) -> Markup:
    if site.submit_to is None:
        text = "heartfelt bench BENCHMARK --model my-model=file:predictions.csv --out benches/my-model\nheartfelt site benches OUT"
        return joined(
            paragraph(
                "Score the file against the benchmark, and build this site again with the new bench among the others:"
            ),
            Markup('<pre class="paper" tabindex="0" role="region" aria-label="Commands">{}</pre>').format(
                text
            ),
        )
    address = shown_spec(site.submit_to).rstrip("/").removesuffix("/submissions")
    link = Markup('<a href="{0}">{0}</a>').format(address)
    if not address.startswith("http"):
        return Markup("<p>Send the file to {}.</p>").format(link)
    command = (
        "curl -H 'Authorization: Bearer TOKEN' --data-binary @predictions.csv \\\n"
        f"  '{address}/submissions?name=my-model&wait=30'"
    )
    return joined(
        Markup("<p>Ask whoever runs {} for a token, then send the file:</p>").format(link),
        Markup('<pre class="paper" tabindex="0" role="region" aria-label="Command">{}</pre>').format(command),
        paragraph(
            "The server checks the file, scores it against labels it does not show, and answers with the score. It limits how"
            " often each submitter may send one. Every item needs a prediction: a file that lacks any is refused."
        ),
        Markup('<p>Items to predict: <a href="{0}/items.csv">{0}/items.csv</a></p>').format(address),
    )
