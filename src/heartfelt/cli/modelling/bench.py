"""``heartfelt bench``: predictors next to raters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import app, out, progress_bar, say, say_template
from heartfelt.cli.flags import Defaults
from heartfelt.options import ScreenedSourceOptions
from heartfelt.scoring.bench.options import BenchOptions
from heartfelt.wording import money, plural

if TYPE_CHECKING:
    from rich.table import Table

    from heartfelt.predictors.interface.calls import Usage
    from heartfelt.scoring import Scores
    from heartfelt.scoring.bench import Bench
    from heartfelt.scoring.results.scores import ModelRank, ModelScore, ScoringTask


@app.command()
def bench(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A snapshot, a frozen benchmark, published data or a table.")
    ],
    model: Annotated[
        list[str], typer.Option("--model", "-p", metavar="NAME[:ARG]", help="A predictor to ask. May be repeated.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write, or to add models to.")],
    options: Annotated[BenchOptions, Defaults(cache=True)],
    reading: ScreenedSourceOptions,
    systems: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel="Scoring",
            metavar="FILE",
            help="System truth as S###,overall,textual; the scored clips' means if left out.",
        ),
    ] = None,
) -> None:
    """Ask predictors about everything that was rated, and score them against the labels and their ceiling."""
    from heartfelt.api.models import benches
    from heartfelt.predictors.interface.spec import check_extras

    check_extras(model)
    with progress_bar(f"reading {source}") as report:
        results = benches(source, model, options, reading, systems=systems, folder=out, progress=report)
    for result in results:
        _show(result)
    for result in results:
        result.check()


def _show(result: Bench) -> None:
    """The scores, what they cost, and where the report is."""
    import polars as pl

    show_scores(result.scores)
    for model, info in result.scores.model_info.items():
        if info.usage is not None:
            say(f"{model}: {_usage_words(info.usage)}.")
        for question, consistency in info.consistency.items():
            say(f"{model}, {question}: {consistency.words}.")
    not_asked = result.predictions.filter(pl.col("problem").str.starts_with("not asked"))
    for (model, reason), rows in not_asked.group_by("model", "problem", maintain_order=True):
        say(f"{model}: {plural(rows.height, 'item')} {reason}.")
    if result.folder is not None:
        say(f"Report: {result.folder / 'report.html'}")


def _usage_words(usage: Usage) -> str:
    """What a model's answers took, and what they cost."""
    uncounted = usage.without_counts
    lacking = f" ({uncounted:,} without token counts, which the sums leave out)" if uncounted else ""
    cost = "" if usage.cost is None else f", cost {money(usage.cost)}"
    per_item = "" if usage.cost_per_item is None else f" ({money(usage.cost_per_item)} per item)"
    tokens = f"{usage.input_tokens:,} input and {usage.output_tokens:,} output tokens"
    return f"{plural(usage.requests, 'request')}{lacking}, {tokens}{cost}{per_item}"


def show_scores(scores: Scores) -> None:
    """A table per task, best first."""
    for task in scores.tasks:
        _show_task(scores, task)
    say(
        "Ranked with failures counted (a failed or missing prediction counts as the task's fallback); 'answered only' is"
        " secondary. The last column is (score − chance) / (ceiling − chance).",
        *(f"• {note}" for note in scores.notes),
    )


def _show_task(scores: Scores, task: ScoringTask) -> None:
    """The ranking of one task, and why some models have no rank in it."""
    from heartfelt.scoring.results.scores import UNTESTED

    ranked = [(rank, scores.find(task.id, rank.model)) for rank in scores.ranked(task.id)]
    shown = [(rank, score) for rank, score in ranked if score is not None]
    out.print(_ranking(scores, task, shown))
    say_template(
        "task_scores",
        below_chance=[rank.model for rank, _ in shown if rank.beats_chance is False],
        untested=[rank for rank, _ in shown if (rank.why_none or "").startswith(UNTESTED)],
        sentences=scores.parts.sentences(task.id),
        leader=scores.leader(task.id),
    )


def _ranking(scores: Scores, task: ScoringTask, shown: Sequence[tuple[ModelRank, ModelScore]]) -> Table:
    from rich.table import Table

    from heartfelt.scoring import METRICS

    title = METRICS[task.headline].title
    chance = shown[0][1].chance.value if shown else None
    ceiling = shown[0][1].ceiling if shown else "–"
    smooth = scores.smooth_ceiling(task.id)
    family = "" if smooth is None else f" (smooth family of votes: {smooth})"
    words = f"chance {'–' if chance is None else f'{chance:.3f}'}, ceiling {ceiling}{family}"
    grid = Table(title=f"{task.id}: {title}, {words}", title_justify="left")
    for name in ("rank", "model", title, "answered", "answered only", "chance to ceiling"):
        grid.add_column(name, justify="left" if name in ("rank", "model") else "right", overflow="fold")
    for rank, score in shown:
        coverage = scores.coverage[rank.model][task.id]
        alone = f"{score.estimate}" if coverage.answered < coverage.items else "–"
        answered = f"{coverage.answered:,} of {coverage.items:,}"
        share = "–" if rank.beats_chance is False else f"{score.of_ceiling:.2f}"
        grid.add_row(rank.words, rank.model, f"{score.with_failures}", answered, alone, share)
    return grid
