"""``heartfelt experiment``: ablation, mixing, transfer, learning curves and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.api.sources import read_source
from heartfelt.cli.command import app, progress_bar, say
from heartfelt.cli.design.generate import duration
from heartfelt.cli.flags import parse_map
from heartfelt.training.experiments.options import AblationOptions, AmountOptions, ExperimentOptions, SweepOptions
from heartfelt.wording import number, plural

if TYPE_CHECKING:
    from heartfelt.progress import Progress
    from heartfelt.snapshot import Snapshot
    from heartfelt.training.experiments.running import ExperimentPlan, PlannedCell, Setup
    from heartfelt.training.experiments.sweeping import SweepPlan


@app.command()
def experiment(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="ablate, mix, transfer, learning-curve or sweep.")],
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SOURCE…", help="Snapshots, published data or tables; the first is a mix's base."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write, or to continue.")],
    options: ExperimentOptions,
    ablation: AblationOptions,
    growth: AmountOptions,
    search: SweepOptions,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the cells and leave.")] = False,
    format: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            metavar="[NAME:]FORMAT",
            rich_help_panel="Data",
            help="The format of the sources, or of one.",
        ),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            "-m",
            metavar="[NAME:]OPTION=VALUE",
            rich_help_panel="Data",
            help="An option of the format. May be repeated.",
        ),
    ] = None,
) -> None:
    """Run an experiment on training: ablate, mix, transfer, learning-curve or sweep. It can be resumed."""
    from heartfelt.api.experiments import run_experiment
    from heartfelt.report.pages.experiments import PAGE, markdown_table
    from heartfelt.training.experiments import expected_seconds, listed_cells

    def show_plan(setup: Setup, plan: ExperimentPlan | SweepPlan) -> None:
        planned = listed_cells(setup, plan, out)
        complete = all(cell.complete for cell in planned)
        _list(planned, None if complete else expected_seconds(setup, plan, out), searches=kind == "sweep")

    with progress_bar("reading the sources") as report:
        result = run_experiment(
            kind,
            lambda: _sources(source, format, map, report),
            options,
            ablation,
            growth,
            search,
            out=out,
            only_planned=show_plan if dry_run else None,
            progress=report,
        )
    if result is not None:
        say(*markdown_table(result), *result.notes)
        say(f"{result.cells:,} fits. Report: {out / PAGE}")


def _sources(
    source_texts: Sequence[str], formats: list[str] | None, maps: list[str] | None, progress: Progress
) -> list[tuple[str, Snapshot]]:
    """Every source read with the formats and options that are meant for it."""
    named = [_named(text) for text in source_texts]
    names = [name for name, _ in named]
    return [
        (
            name,
            read_source(
                path,
                next(reversed(_meant_for(formats, name, names)), None),
                parse_map(_meant_for(maps, name, names)),
                progress,
            ),
        )
        for name, path in named
    ]


def _named(text: str) -> tuple[str, Path]:
    """``NAME=PATH``, or a path whose own name is used."""
    name, sign, path = text.partition("=")
    if sign and name and not Path(text).exists():
        return name, Path(path)
    return Path(text).resolve().stem, Path(text)


def _meant_for(texts: list[str] | None, name: str, names: Sequence[str]) -> list[str]:
    """The texts for all sources, and those for one of them without its name."""
    out = []
    for text in texts or ():
        owner, sign, remainder = text.partition(":")
        if sign and owner in names:
            out += [remainder] if owner == name else []
        else:
            out.append(text)
    return out


def _list(cells: Sequence[PlannedCell], fit_time: tuple[float, int] | None, *, searches: bool) -> None:
    """What a dry run prints; ``fit_time`` is how long a fit takes and how many fits say so."""
    say("| cell | training stimuli | test stimuli | settings | complete |", "|---|---|---|---|---|")
    for cell in cells:
        settings = ", ".join(f"{name}={value}" for name, value in cell.settings.items())
        done = "yes" if cell.complete else "no"
        say(f"| {cell.name} | {cell.training_stimuli:,} | {cell.test_stimuli:,} | {settings} | {done} |")
    missing = sum(not cell.complete for cell in cells)
    say(f"{len(cells):,} cells, {missing:,} to fit. Nothing was stored.")
    if missing and fit_time is None:
        say("How long that takes is known once the first fits are finished: run --dry-run again then.")
    elif missing and fit_time is not None:
        seconds, count = fit_time
        say(f"About {duration(missing * seconds)}: {number(seconds, 1)} s a fit, judging from {plural(count, 'fit')}.")
    if searches:
        say("Further cells fit the variants chosen on these, one or more for each outer fold and seed.")
