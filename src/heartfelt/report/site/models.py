"""A page for every model: what it is, its scores, where it does well and badly, its worst and best items, its failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

import polars as pl
from markupsafe import Markup

from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.bench.figures import rank_text
from heartfelt.report.bench.page import SHARE
from heartfelt.report.charts import Absent, Chart, IntervalPanels, Item, Line
from heartfelt.report.layout.page import ReportPage, Section, figure_block, joined, side_by_side
from heartfelt.report.layout.tables import CellValue, table
from heartfelt.report.layout.templates import part, section
from heartfelt.report.site.sources.boards import Site, SiteBoard
from heartfelt.report.site.sources.secrets import without_secrets
from heartfelt.report.site.stimuli import Key
from heartfelt.scoring import Scores
from heartfelt.scoring.results.scores import ModelComparison, ScoringTask
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, plural, spaced

MOST_ITEMS = 8
MOST_FAILURES = 50
MOST_SLICES = 30
SLICED_BY = ("system", "intent", "question")


def model_page(site: Site, model: str, addresses: Mapping[Key, str]) -> ReportPage:
    """The page of one model, over all boards it is on."""
    boards = site.boards_with(model)
    charts: dict[str, Chart | Absent] = {}
    sections = []
    for board in boards:
        board_index = site.boards.index(board)
        parts = [_task(site, board, board_index, task, model, charts, addresses) for task in board.scores.tasks]
        title = board.scores.title if len(boards) > 1 else "Scores"
        sections.append(Section(id=f"board-{board_index}", title=title, html=joined(*parts), short=title))
        sections.append(_failures(board, board_index, model, addresses, len(boards) > 1))
        sections.append(_comparisons(board, board_index, model, len(boards) > 1))
    sections.append(_identity(boards, model))
    first = boards[0].scores
    facts = [("boards" if len(boards) > 1 else "board", ", ".join(dict.fromkeys(b.scores.title for b in boards)))]
    facts += [fact for task in first.tasks for fact in _task_facts(first, task, model)]
    shown = [section for section in sections if section.html]
    return ReportPage(title=model, subtitle="", sections=shown, charts=charts, facts=facts)


def _task_facts(scores: Scores, task: ScoringTask, model: str) -> Iterator[tuple[str, str]]:
    wanted = (task.id, model)
    rank = next((rank for rank in scores.ranks if (rank.task, rank.model) == wanted), None)
    if rank is not None:
        yield f"rank, {spaced(task.id)}", rank_text(rank)
    worth = next((row for row in scores.parts.worth if (row.task, row.model) == wanted), None)
    if worth is not None and worth.ratings.value is not None:
        yield f"worth, {spaced(task.id)}", worth.words


def _task(
    site: Site,
    board: SiteBoard,
    board_index: int,
    task: ScoringTask,
    model: str,
    charts: dict[str, Chart | Absent],
    addresses: Mapping[Key, str],
) -> Markup:
    """Everything about one task."""
    scores = board.scores
    model_scores = [score for score in scores.scores if (score.task, score.model) == (task.id, model)]
    if not model_scores:
        return Markup("")
    figures = []
    for column in SLICED_BY:
        chart = _slice_chart(scores, task, model, column, site.colours[model])
        if chart is not None:
            name = f"slice-{board_index}-{scores.tasks.index(task)}-{column}"
            charts[name] = chart
            figures.append(figure_block(name, charts, files=False))
    return part(
        "site/model_task",
        task=task,
        scores=scores,
        lines=_headline_lines(scores, task, model),
        model_scores=model_scores,
        figures=figures,
        extremes=_extremes(board, board_index, task, model, addresses),
    )


def _headline_lines(scores: Scores, task: ScoringTask, model: str) -> list[str]:
    """The headline in sentences, next to chance and ceiling."""
    headline = scores.headline(task.id, model)
    estimates = {"Chance is": scores.chance(task.id), "the ceiling of these labels is": scores.ceiling(task.id)}
    levels = [f"{name} {interval(estimate)}" for name, estimate in estimates.items() if estimate.value is not None]
    share = scores.headline(task.id, model, "of_ceiling")
    below = any(rank.below_chance for rank in scores.ranks if (rank.task, rank.model) == (task.id, model))
    lines = [f"{capital(scores.metric_title(task.headline))}: {interval(headline)}, failures counted."]
    lines += ["It does not beat chance."] if below else []
    lines += [f"{capital('; '.join(levels))}."] if levels else []
    lines += [f"{capital(SHARE)}: {interval(share)}."] if share.value is not None and not below else []
    return lines


def capital(words: str) -> str:
    """The words with a capital at the beginning; the others stay as they are."""
    return words[:1].upper() + words[1:]


def _slice_chart(scores: Scores, task: ScoringTask, model: str, column: str, colour: str) -> Chart | None:
    """The headline in every slice of a column; None where there are none, or only one."""
    wanted = (task.id, task.headline, model, column)
    model_slices = [row for row in scores.slices if (row.task, row.metric, row.model, row.column) == wanted]
    if len(model_slices) < 2:
        return None
    left_out = max(0, len(model_slices) - MOST_SLICES)
    items = [
        Item(
            label=spaced(row.value),
            estimate=row.estimate,
            colour=colour,
            cells={column: row.value},
            note=f"{plural(row.items, 'item')}",
            after={"items": row.items},
        )
        for row in model_slices[:MOST_SLICES]
        if row.estimate.value is not None
    ]
    overall = scores.headline(task.id, model, "estimate")
    lines = () if overall.value is None else (Line(overall.value, "all"),)
    builder = IntervalPanels(letters=False)
    builder.add("", scores.metric_title(task.headline), items, lines=lines)
    caption = (
        f"On the answered items of each {spaced(column)}, with 95% intervals over stimuli. Small slices say little."
    )
    if left_out:
        caption += f" {plural(left_out, 'slice')} more are in the bench's own report."
    chart = builder.chart(f"{spaced(task.id)} by {spaced(column)}", caption, "")
    return chart if isinstance(chart, Chart) else None


def stimulus_link(name: str, board_index: int, addresses: Mapping[Key, str]) -> Markup:
    """Links to the pages of a stimulus, or of every member of a set."""
    parts = [name] if (board_index, name) in addresses else name.split(SEPARATOR)
    link = Markup('<a href="../stimuli/{}">{}</a>')
    return Markup(" and ").join(
        link.format(quote(addresses[board_index, part]), part)
        if (board_index, part) in addresses
        else Markup.escape(part)
        for part in parts
    )


def _extremes(
    board: SiteBoard, board_index: int, task: ScoringTask, model: str, addresses: Mapping[Key, str]
) -> Markup:
    """The items on which the model was furthest off, and those it got best."""
    scores = board.scores
    if task.kind == "text" or not scores.rows.height:
        return Markup("")
    errors = scores.errors(task).filter((pl.col("model") == model) & pl.col("off").is_not_null())
    worst = errors.filter(pl.col("off") > 0).sort("off", "stimulus", descending=[True, False]).head(MOST_ITEMS)
    best = errors.sort("off", "stimulus").head(MOST_ITEMS)
    several = errors["question"].n_unique() > 1
    by_rank = task.kind in ("numbers", "ordinal", "strengths") and not errors["code"].is_not_null().any()
    grids = [
        table(
            caption,
            ["stimulus", *(["question"] if several else []), "label", "answer", "ranks off" if by_rank else "off by"],
            [_line(row, board_index, task, several, addresses) for row in rows.iter_rows(named=True)],
        )
        for caption, rows in ((f"{spaced(task.id)}: worst items", worst), (f"{spaced(task.id)}: best items", best))
    ]
    return side_by_side(*(grid for grid in grids if grid))


def _line(
    row: Mapping[str, float | str | None],
    board_index: int,
    task: ScoringTask,
    several: bool,
    addresses: Mapping[Key, str],
) -> list[CellValue]:
    answered = row["code"] if row["code"] is not None else row["score"]
    label: CellValue = row["truth"]
    if task.kind == "binary":
        label = {1.0: "present", 0.0: "absent"}.get(float(row["truth"] or 0.0), label)
    answer: CellValue = row["answer"] if task.kind in ("categories", "ordinal") and row["answer"] else answered
    question: list[CellValue] = [spaced(str(row["question"]))] if several else []
    return [stimulus_link(str(row["stimulus"]), board_index, addresses), *question, label, answer, row["off"]]


def _failures(board: SiteBoard, board_index: int, model: str, addresses: Mapping[Key, str], several: bool) -> Section:
    """Why the model did not answer, how often, and on which items."""
    scores = board.scores
    reasons: list[Sequence[CellValue]] = [
        [without_secrets(reason), spaced(task), count]
        for task, covered in scores.coverage.get(model, {}).items()
        for reason, count in sorted(covered.problems.items(), key=lambda pair: -pair[1])
    ]
    failed = scores.rows.filter((pl.col("model") == model) & ~pl.col("answered"))
    items: list[Sequence[CellValue]] = [
        [
            stimulus_link(row["stimulus"], board_index, addresses),
            spaced(row["question"]),
            without_secrets(row["problem"] or "no prediction was given"),
        ]
        for row in failed.unique(["stimulus", "question"], maintain_order=True)
        .head(MOST_FAILURES)
        .iter_rows(named=True)
    ]
    return section(
        "site/model_failures",
        f"failures-{board_index}",
        board=scores.title,
        several=several,
        reasons=reasons,
        items=items,
    )


def _comparisons(board: SiteBoard, board_index: int, model: str, several: bool) -> Section:
    pairs = [pair for pair in board.scores.comparisons if model in (pair.first, pair.second)]
    return section(
        "site/model_comparison",
        f"others-{board_index}",
        scores=board.scores,
        model=model,
        several=several,
        tasks=[(task, [pair for pair in pairs if pair.task == task.id]) for task in board.scores.tasks],
        towards=_towards,
    )


def _towards(pair: ModelComparison, model: str) -> Estimate:
    """The difference of a pair, this model first."""
    difference = pair.difference
    if pair.first == model or difference.value is None:
        return difference
    low, high = (None if end is None else -end for end in (difference.high, difference.low))
    return replace(difference, value=-difference.value, low=low, high=high)


def _identity(boards: Sequence[SiteBoard], model: str) -> Section:
    """What answered: how it was asked for, its version and hash."""
    lines: list[Sequence[CellValue]] = []
    for board in boards:
        about = board.scores.model_info.get(model)
        run = board.runs.get(model, "")
        if about is None:
            lines.append([run or "–", "–", None, None, None, None])
            continue
        lines.append([run, about.spec, about.predictor, about.version, about.hash, about.identity])
    return section("site/model_identity", "identity", lines=lines)
