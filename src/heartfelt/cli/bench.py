"""Commands that compare predictors with raters: ``bench``, ``leaderboard``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.data import parse_map
from heartfelt.errors import InputError

if TYPE_CHECKING:
    from heartfelt.benchmark import Bench
    from heartfelt.labels import Benchmark
    from heartfelt.progress import Progress
    from heartfelt.snapshot import Snapshot

_ITEMS, _ASKING, _SCORING = "Which items", "Asking", "Scoring"


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
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write, or to continue.")
    ],
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="The source's format; detected if left out.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option("--map", "-m", metavar="OPTION=VALUE", help="An option of the format. May be repeated."),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option("--as", metavar="LAYOUT", help="Also write the files of a published system."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(help="How flagged raters are treated before labels are made: see docs/screening.md."),
    ] = "flag-only",
    question: Annotated[
        list[str] | None,
        typer.Option(help="Ask only this question. May be repeated.", rich_help_panel=_ITEMS),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--split",
            "--part",
            metavar="NAME",
            help="Only this part of a benchmark's or the published split, such as test.",
            rich_help_panel=_ITEMS,
        ),
    ] = None,
    full_coverage: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only items with N raters or more.", rich_help_panel=_ITEMS),
    ] = None,
    unanimous: Annotated[
        bool, typer.Option("--unanimous", help="Only items whose raters all agree.", rich_help_panel=_ITEMS)
    ] = False,
    exclude_flagged: Annotated[
        bool, typer.Option("--exclude-flagged", help="Leave out flagged items.", rich_help_panel=_ITEMS)
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Take a sample of this many items, balanced over questions, systems and intents (see --seed).",
            rich_help_panel=_ITEMS,
        ),
    ] = None,
    ties: Annotated[
        str,
        typer.Option(
            help="Tied votes: missing (no label) or lowest (the smaller label).", rich_help_panel=_ITEMS
        ),
    ] = "missing",
    engine: Annotated[
        str, typer.Option(help="Where the work is done: local or ray.", rich_help_panel=_ASKING)
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster's address.", rich_help_panel=_ASKING)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Ray: how many workers; as many as fit if left out.", rich_help_panel=_ASKING
        ),
    ] = None,
    cpus: Annotated[
        float | None,
        typer.Option(min=0, help="Ray: CPUs a worker takes, 1 if left out.", rich_help_panel=_ASKING),
    ] = None,
    gpus: Annotated[
        float | None,
        typer.Option(min=0, help="Ray: GPUs a worker takes, 0 if left out.", rich_help_panel=_ASKING),
    ] = None,
    send_media: Annotated[
        bool,
        typer.Option(
            "--send-media",
            help="Ray: send media files to the workers, where machines share no disk.",
            rich_help_panel=_ASKING,
        ),
    ] = False,
    at_once: Annotated[
        int | None, typer.Option(min=1, help="Batches under way at the same time.", rich_help_panel=_ASKING)
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Stimuli in a batch.", rich_help_panel=_ASKING)
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds a stimulus may take per request.", rich_help_panel=_ASKING),
    ] = None,
    cache: Annotated[
        bool, typer.Option(help="Keep answers between runs, by content.", rich_help_panel=_ASKING)
    ] = True,
    threshold: Annotated[
        float, typer.Option(help="Scores above it mean yes, or present.", rich_help_panel=_SCORING)
    ] = 0.0,
    systems: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="System truth as S###,overall,textual; the scored clips' means if left out.",
            rich_help_panel=_SCORING,
        ),
    ] = None,
    slice_: Annotated[
        list[str] | None,
        typer.Option("--slice", help="Slice by this column. May be repeated.", rich_help_panel=_SCORING),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(
            help="Resamples of BLEU and calibration intervals; others draw none.", rich_help_panel=_SCORING
        ),
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of all resampling.", rich_help_panel=_SCORING)] = 0,
    interval_confidence: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.999,
            help="Confidence that predictors' own intervals claim, where a model does not say.",
            rich_help_panel=_SCORING,
        ),
    ] = 0.9,
) -> None:
    """Ask predictors about everything that was rated, and score them against the labels and their ceiling."""
    from heartfelt.benchmark import BenchOptions
    from heartfelt.cli import screen
    from heartfelt.formats.reading import system_scores
    from heartfelt.predictors import RunOptions, user_cache
    from heartfelt.report.bench import run_bench
    from heartfelt.scoring import ScoreOptions, Selection

    questions = None if question is None else tuple(question)
    scoring = ScoreOptions(
        threshold=threshold,
        seed=seed,
        resamples=resamples,
        slices=None if slice_ is None else tuple(slice_),
        selection=Selection(full_coverage, unanimous, exclude_flagged, limit, seed, questions),
        ties=ties,  # type: ignore[arg-type]  # checked by the options themselves
        part=part,
        systems=None if systems is None else system_scores(systems),
        systems_from="the scored clips" if systems is None else f"the file {systems.name}",
        interval_confidence=interval_confidence,
    )
    of_ray = {
        "address": address,
        "workers": workers,
        "cpus": cpus,
        "gpus": gpus,
        "media": "send" if send_media else None,
    }
    asking = RunOptions(
        at_once,
        batch,
        timeout=timeout,
        cache=user_cache() if cache else None,
        engine=engine,
        engine_options=_engine_options(engine, of_ray),
    )
    notes: tuple[str, ...] = ()
    if policy != "flag-only":
        notes = (f"Raters were screened by the policy '{policy}' before labels were made.",)
    options = BenchOptions(scoring, asking, questions, as_, out, notes)
    with screen.progress_bar(f"reading {source}") as report:
        sources = _sources(source, format, parse_map(map or []), report, policy, as_)
        results = [
            run_bench(each, model, out if len(sources) == 1 else out / each.study.name, options, report)
            for each in sources
        ]
    for result in results:
        _show(result)


def _engine_options(engine: str, given: Mapping[str, str | float | None]) -> dict[str, str]:
    """The options of the engine that were given, as text; those of Ray are refused for any other."""
    options = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in given.items()
        if value is not None
    }
    if options and engine != "ray":
        name = "send-media" if "media" in options else next(iter(options))
        raise InputError(f"--{name} is an option of the engine 'ray'.", "Add --engine ray, or leave it out.")
    return options


def _sources(
    source: Path,
    format: str | None,
    options: dict[str, str],
    report: Progress,
    policy: str,
    layout: str | None,
) -> list[Snapshot] | list[Benchmark]:
    """What is scored: a benchmark as it is, else the panel of what was read (all the formats a layout is made of at once)."""
    from heartfelt.cli.source import read_source
    from heartfelt.formats.reading import candidates
    from heartfelt.labels import load_benchmark
    from heartfelt.scoring.layouts import LAYOUTS
    from heartfelt.screening import screen as screened

    if format is None and _is_benchmark(source):
        if policy != "flag-only":
            raise InputError("A frozen benchmark has no raters to screen.", "Leave out --policy.")
        return [load_benchmark(source)]
    own = LAYOUTS[layout].formats_of(candidates(source)) if layout and format is None else ()
    snapshots = [read_source(source, name, options, report) for name in own or (format,)]
    if policy == "flag-only":
        return snapshots
    return [screened(snapshot, policy).snapshot() for snapshot in snapshots]


def _is_benchmark(source: Path) -> bool:
    manifest = source / "manifest.json"
    return manifest.is_file() and '"heartfelt_benchmark"' in manifest.read_text(
        encoding="utf-8", errors="replace"
    )


def _show(result: Bench) -> None:
    """A table per task, best first, and where the report is."""
    from rich.table import Table

    from heartfelt.cli import screen
    from heartfelt.scoring import METRICS

    scores = result.scores
    for task in scores.tasks:
        title = METRICS[task.headline].title
        ranked = [(rank, scores.find(task.id, rank.model)) for rank in scores.ranked(task.id)]
        shown = [(rank, score) for rank, score in ranked if score is not None]
        chance = shown[0][1].chance.value if shown else None
        grid = Table(
            title=f"{task.id}: {title}, chance {'–' if chance is None else f'{chance:.3f}'}, "
            f"ceiling {shown[0][1].ceiling if shown else '–'}",
            title_justify="left",
        )
        for name in ("rank", "model", title, "answered", "answered only", "chance to ceiling"):
            grid.add_column(name, justify="left" if name in ("rank", "model") else "right", overflow="fold")
        for rank, score in shown:
            coverage = scores.coverage[rank.model][task.id]
            alone = f"{score.estimate}" if coverage.answered < coverage.items else "–"
            answered = f"{coverage.answered:,} of {coverage.items:,}"
            share = "–" if rank.beats_chance is False else f"{score.of_ceiling:.2f}"
            grid.add_row(rank.words, rank.model, f"{score.with_failures}", answered, alone, share)
        screen.out.print(grid)
        by_chance = [rank.model for rank, _ in shown if rank.beats_chance is False]
        if by_chance:
            screen.out.print(
                f"No rank, because it does not beat chance: {', '.join(by_chance)}.", markup=False
            )
    screen.out.print(
        "Ranked with failures counted (a failed or missing prediction counts as the task's fallback); 'answered only' is"
        " secondary. The last column is (score − chance) / (ceiling − chance).",
        markup=False,
    )
    for note in scores.notes:
        screen.out.print(f"• {note}", markup=False)
    if result.folder is not None:
        screen.out.print(f"Report: {result.folder / 'report.html'}", markup=False)


def leaderboard(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that holds benches, at any depth.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="SITE", help="The site's folder; DIR/leaderboard if left out."),
    ] = None,
    title: Annotated[str, typer.Option(help="The site's title.")] = "",
) -> None:
    """Build a static site of every bench below a folder, with ranks across them."""
    from heartfelt.cli import screen
    from heartfelt.report.leaderboard import write_leaderboard

    with screen.progress_bar(f"reading {folder}") as report:
        site = write_leaderboard(folder, out, title=title, progress=report)
    screen.out.print(f"Site: {site / 'index.html'}", markup=False)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(bench)
    app.command()(leaderboard)
