"""``heartfelt bench``: predictors next to raters."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.asking import (
    Address,
    AtOnce,
    Batch,
    BudgetOption,
    Cpus,
    EngineName,
    Gpus,
    Repeats,
    SendMedia,
    Timeout,
    UseCache,
    Workers,
    engine_options,
)
from heartfelt.cli.command import Format, Layout, Map, Policy, app, out, progress_bar, read_parts, say
from heartfelt.errors import InputError
from heartfelt.wording import money, plural

if TYPE_CHECKING:
    from heartfelt.labels import Benchmark
    from heartfelt.scoring import Scores
    from heartfelt.scoring.bench import Bench
    from heartfelt.snapshot import Snapshot

_items = partial(typer.Option, rich_help_panel="Which items")
_scoring = partial(typer.Option, rich_help_panel="Scoring")


@app.command()
def bench(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A snapshot, a frozen benchmark, published data or a table."),
    ],
    model: Annotated[
        list[str],
        typer.Option("--model", "-p", metavar="NAME[:ARG]", help="A predictor to ask. May be repeated."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write, or to add models to.")
    ],
    format: Format = None,
    map: Map = None,
    as_: Layout = None,
    policy: Policy = "flag-only",
    question: Annotated[list[str] | None, _items(help="Ask only this question. May be repeated.")] = None,
    part: Annotated[
        str | None,
        _items("--split", "--part", metavar="NAME", help="Only this part of a split, such as test."),
    ] = None,
    full_coverage: Annotated[
        int | None, _items(min=1, metavar="N", help="Only items with N raters or more.")
    ] = None,
    unanimous: Annotated[bool, _items("--unanimous", help="Only items whose raters all agree.")] = False,
    exclude_flagged: Annotated[bool, _items("--exclude-flagged", help="Leave out flagged items.")] = False,
    limit: Annotated[
        int | None,
        _items(
            min=1, help="Sample this many items, balanced over questions, systems and intents (see --seed)."
        ),
    ] = None,
    ties: Annotated[
        str, _items(help="Tied votes: missing (no label) or lowest (the smaller label).")
    ] = "missing",
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    cpus: Cpus = None,
    gpus: Gpus = None,
    send_media: SendMedia = False,
    at_once: AtOnce = None,
    batch: Batch = None,
    timeout: Timeout = None,
    cache: UseCache = True,
    budget: BudgetOption = None,
    repeats: Repeats = 1,
    threshold: Annotated[float, _scoring(help="Scores above it mean yes, or present.")] = 0.0,
    systems: Annotated[
        Path | None,
        _scoring(
            metavar="FILE", help="System truth as S###,overall,textual; the scored clips' means if left out."
        ),
    ] = None,
    slice_: Annotated[
        list[str] | None,
        _scoring("--slice", help="Slice by this column; numbers are cut into thirds. May be repeated."),
    ] = None,
    resamples: Annotated[
        int, _scoring(help="Resamples of BLEU and calibration intervals, and of tests against chance.")
    ] = 10_000,
    seed: Annotated[int, _scoring(help="Seed of all resampling.")] = 0,
    interval_confidence: Annotated[
        float,
        _scoring(
            min=0.01,
            max=0.999,
            help="Confidence that predictors' own intervals claim, where a model does not say.",
        ),
    ] = 0.9,
) -> None:
    """Ask predictors about everything that was rated, and score them against the labels and their ceiling."""
    from heartfelt.formats.format import system_scores
    from heartfelt.predictors import RunOptions, user_cache
    from heartfelt.predictors.execution.budgets import read_budget, with_other_runs
    from heartfelt.predictors.spec import check_extras
    from heartfelt.report.bench.write import run_bench
    from heartfelt.scoring import ItemSelection, ScoreOptions
    from heartfelt.scoring.bench import BenchOptions
    from heartfelt.scoring.bench.earlier import RUNS

    check_extras(model)
    questions = None if question is None else tuple(question)
    scoring = ScoreOptions(
        threshold=threshold,
        seed=seed,
        resamples=resamples,
        slices=None if slice_ is None else tuple(slice_),
        selection=ItemSelection(full_coverage, unanimous, exclude_flagged, limit, seed, questions),
        ties=ties,  # type: ignore[arg-type]  # checked by the options themselves
        part=part,
        systems=None if systems is None else system_scores(systems),
        systems_from="the scored clips" if systems is None else f"the file {systems.name}",
        interval_confidence=interval_confidence,
    )
    allowance = None if budget is None else read_budget(budget)
    asking = RunOptions(
        at_once,
        batch,
        timeout=timeout,
        cache=user_cache() if cache else None,
        engine=engine,
        engine_options=engine_options(engine, address, workers, cpus, gpus, send_media),
        repeats=repeats,
    )
    notes: tuple[str, ...] = ()
    if policy != "flag-only":
        notes = (f"Raters were screened by the policy '{policy}' before labels were made.",)
    options = BenchOptions(scoring, asking, questions, as_, out, notes)
    with progress_bar(f"reading {source}") as report:
        sources: list[Snapshot | Benchmark] = []
        if format is None and _is_benchmark(source):
            sources += [_benchmark(source, policy)]
        else:
            sources += [_screened(each, policy) for each in read_parts(source, format, map, as_, report)]
        results = []
        for each in sources:
            target = out if len(sources) == 1 else out / each.study.name
            # One budget for all parts: each counts what is spent on the others, its own runs are counted by the bench.
            left = None if allowance is None else with_other_runs(allowance, out, target / RUNS)
            part_options = replace(options, run=replace(asking, budget=left))
            results.append(run_bench(each, model, target, part_options, report))
    for result in results:
        _show(result)
    for result in results:
        result.check()


def _is_benchmark(source: Path) -> bool:
    manifest = source / "manifest.json"
    return manifest.is_file() and '"heartfelt_benchmark"' in manifest.read_text("utf-8", errors="replace")


def _benchmark(source: Path, policy: str) -> Benchmark:
    from heartfelt.labels import load_benchmark

    if policy != "flag-only":
        raise InputError("A frozen benchmark has no raters to screen.", "Leave out --policy.")
    return load_benchmark(source)


def _screened(snapshot: Snapshot, policy: str) -> Snapshot:
    from heartfelt.screening import screen

    return snapshot if policy == "flag-only" else screen(snapshot, policy).snapshot()


def _show(result: Bench) -> None:
    """The scores, what they cost, and where the report is."""
    import polars as pl

    show_scores(result.scores)
    for model, info in result.scores.about.items():
        if (usage := info.usage) is not None:
            cost = "" if usage.cost is None else f", cost {money(usage.cost)}"
            cost += "" if usage.cost_per_item is None else f" ({money(usage.cost_per_item)} per item)"
            tokens = f"{usage.input_tokens:,} input and {usage.output_tokens:,} output tokens"
            uncounted = usage.without_counts
            lacking = f" ({uncounted:,} without token counts, which the sums leave out)" if uncounted else ""
            say(f"{model}: {plural(usage.requests, 'request')}{lacking}, {tokens}{cost}.")
        for question, held in info.consistency.items():
            say(f"{model}, {question}: {held.words}.")
    not_asked = result.predictions.filter(pl.col("problem").str.starts_with("not asked"))
    for (model, reason), rows in not_asked.group_by("model", "problem", maintain_order=True):
        say(f"{model}: {plural(rows.height, 'item')} {reason}.")
    if result.folder is not None:
        say(f"Report: {result.folder / 'report.html'}")


def show_scores(scores: Scores) -> None:
    """A table per task, best first."""
    from rich.table import Table

    from heartfelt.scoring import METRICS
    from heartfelt.scoring.scores import UNTESTED

    for task in scores.tasks:
        title = METRICS[task.headline].title
        ranked = [(rank, scores.find(task.id, rank.model)) for rank in scores.ranked(task.id)]
        shown = [(rank, score) for rank, score in ranked if score is not None]
        chance = shown[0][1].chance.value if shown else None
        ceiling = shown[0][1].ceiling if shown else "–"
        words = f"chance {'–' if chance is None else f'{chance:.3f}'}, ceiling {ceiling}"
        smooth = scores.smooth_ceiling(task.id)
        words += "" if smooth is None else f" (smooth family of votes: {smooth})"
        grid = Table(title=f"{task.id}: {title}, {words}", title_justify="left")
        for name in ("rank", "model", title, "answered", "answered only", "chance to ceiling"):
            grid.add_column(name, justify="left" if name in ("rank", "model") else "right", overflow="fold")
        for rank, score in shown:
            coverage = scores.coverage[rank.model][task.id]
            alone = f"{score.estimate}" if coverage.answered < coverage.items else "–"
            answered = f"{coverage.answered:,} of {coverage.items:,}"
            share = "–" if rank.beats_chance is False else f"{score.of_ceiling:.2f}"
            grid.add_row(rank.words, rank.model, f"{score.with_failures}", answered, alone, share)
        out.print(grid)
        by_chance = [rank.model for rank, _ in shown if rank.beats_chance is False]
        if by_chance:
            say(f"No rank, because it does not beat chance: {', '.join(by_chance)}.")
        for rank, _ in shown:
            if (rank.why_none or "").startswith(UNTESTED):
                say(f"No rank for {rank.model}: {rank.why_none}.")
        say(*(f"• {sentence}" for sentence in scores.parts.sentences(task.id)))
        leader = scores.leader(task.id)
        if leader is not None and "systems" in leader.generalises_to and leader.over_systems.why_none:
            say(f"{leader.model} has no rank for other systems: {leader.over_systems.why_none}.")
    say(
        "Ranked with failures counted (a failed or missing prediction counts as the task's fallback); 'answered only' is"
        " secondary. The last column is (score − chance) / (ceiling − chance).",
        *(f"• {note}" for note in scores.notes),
    )
