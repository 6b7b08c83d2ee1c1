"""``heartfelt experiment``: ablation, mixing, transfer, learning curves and sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.api.sources import read_source
from heartfelt.cli.asking import Address, Cpus, Gpus, Workers, engine_options
from heartfelt.cli.command import Policy, app, progress_bar, say
from heartfelt.cli.flags import parse_map
from heartfelt.cli.generate import duration
from heartfelt.errors import InputError, suggestion
from heartfelt.wording import number, plural

if TYPE_CHECKING:
    from heartfelt.experiments.running import Plan, PlannedCell
    from heartfelt.progress import Progress
    from heartfelt.snapshot import Snapshot

_ablate, _amounts, _sweep, _data = (
    partial(typer.Option, rich_help_panel=panel)
    for panel in ("ablate", "mix and learning-curve", "sweep", "Data")
)


@app.command(
    "experiment",
    help="Run an experiment on training: ablate, mix, transfer, learning-curve or sweep. It can be resumed.",
)
def experiment(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="ablate, mix, transfer, learning-curve or sweep.")
    ],
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SOURCE…", help="Snapshots, published data or tables; the first is a mix's base."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write, or to continue.")
    ],
    recipe: Annotated[
        str, typer.Option(help="A recipe of 'heartfelt train': see docs/training.md.")
    ] = "va-audio",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SETTING=VALUE", help="A setting of the recipe. May be repeated."),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="N,N", help="Seeds to repeat everything with.")] = "0,1,2",
    folds: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the cells and leave.")] = False,
    format: Annotated[
        list[str] | None,
        _data("--format", "-f", metavar="[NAME:]FORMAT", help="The format of the sources, or of one."),
    ] = None,
    map: Annotated[
        list[str] | None,
        _data("--map", "-m", metavar="[NAME:]OPTION=VALUE", help="An option of the format. May be repeated."),
    ] = None,
    policy: Policy = "default",
    raters: Annotated[
        str, _data(help="Score against the labels of screened raters, or of everyone.")
    ] = "screened",
    group: Annotated[
        str, _data(metavar="COLUMN", help="Stimuli with the same value stay in one fold; auto or none.")
    ] = "auto",
    by: Annotated[
        str, _data(metavar="COLUMN", help="Split one source into parts, such as by system (mix, transfer).")
    ] = "",
    question: Annotated[list[str] | None, _data(help="Use only this question. May be repeated.")] = None,
    same: Annotated[
        list[str] | None,
        _data(metavar="NAME=NAME", help="Two questions that ask for the same, such as appeal=valence."),
    ] = None,
    field: Annotated[
        list[str] | None,
        _ablate(
            metavar="GROUP",
            help="A group of features, or several as NAME=A+B. May be repeated; all if left out.",
        ),
    ] = None,
    only: Annotated[bool, _ablate("--only", help="Keep one group at a time; do not drop.")] = False,
    drop: Annotated[bool, _ablate("--drop", help="Drop one group at a time; do not keep.")] = False,
    over: Annotated[
        str, _amounts(help="What grows along a learning curve: stimuli, raters or ratings.")
    ] = "stimuli",
    amounts: Annotated[
        str, _amounts(metavar="N,N", help="Shares in percent; with --over ratings, ratings per stimulus.")
    ] = "",
    base: Annotated[
        str, _amounts(metavar="NAME", help="The source or part a mix starts from; the first if left out.")
    ] = "",
    ahead: Annotated[
        str, _amounts(metavar="N,N", help="Extrapolate a learning curve to this many times the data.")
    ] = "1.5,2,4",
    try_: Annotated[
        list[str] | None,
        _sweep("--try", metavar="SETTING=A,B", help="Values of a setting to search over. May be repeated."),
    ] = None,
    most: Annotated[int, _sweep(help="Search this many combinations at random; all if 0.")] = 0,
    inner: Annotated[int, _sweep(help="Validation folds inside every outer training part.")] = 3,
    on: Annotated[
        str, typer.Option("--on", "--engine", help="Where cells are fitted: local or ray.")
    ] = "local",
    address: Address = None,
    workers: Workers = None,
    cpus: Cpus = None,
    gpus: Gpus = None,
) -> None:
    """Run what is missing of an experiment and write its table, results, figures and page."""
    from heartfelt.experiments import (
        KINDS,
        ExperimentOptions,
        expected_seconds,
        listed_cells,
        plan_ablation,
        plan_learning_curve,
        plan_mix,
        plan_sweep,
        plan_transfer,
        prepare,
        run_plan,
        run_sweep,
    )
    from heartfelt.experiments.cells import CellStore
    from heartfelt.experiments.comparing import SHARES
    from heartfelt.experiments.sweeping import SweepPlan
    from heartfelt.predictors import ENGINES
    from heartfelt.report.experiments import PAGE, markdown_table, write_experiment

    if kind not in KINDS:
        raise InputError(f"No experiment is called '{kind}'.", suggestion(kind, KINDS, "Experiments"))
    _refuse(kind, {"field": field, "only": only, "drop": drop}, "ablate")
    _refuse(kind, {"try": try_, "most": most}, "sweep")
    _refuse(kind, {"amounts": amounts}, "mix", "learning-curve")
    _refuse(kind, {"by": by}, "mix", "transfer")
    _refuse(kind, {"base": base}, "mix")
    options = ExperimentOptions(
        recipe=recipe,
        policy=policy,
        raters=raters,
        seeds=tuple(int(seed) for seed in _numbers(seeds, "seeds", whole=True)),
        folds=folds,
        group=group,
        by=by,
        questions=tuple(question or ()),
        same=parse_map(same),
        settings=parse_map(set_),
    )
    CellStore(out, kind, recipe)
    engine = ENGINES[on].make(engine_options(on, address, workers, cpus, gpus, send_media=False))
    try:
        with progress_bar("reading the sources") as report:
            setup = prepare(_sources(source, format, map, report), options, report)
            plan: Plan | SweepPlan
            if kind == "ablate":
                ways = [way for way, other in (("without", only), ("only", drop)) if not other]
                plan = plan_ablation(setup, field or (), ways)
            elif kind == "mix":
                plan = plan_mix(setup, _numbers(amounts, "amounts") or SHARES, base)
            elif kind == "transfer":
                plan = plan_transfer(setup)
            elif kind == "learning-curve":
                plan = plan_learning_curve(
                    setup, over, _numbers(amounts, "amounts"), _numbers(ahead, "ahead")
                )
            else:
                fields = setup.fit.fields
                tried = {name: _values(text, fields) for name, text in parse_map(try_).items()}
                plan = plan_sweep(setup, tried, most=most, inner=inner)
            if dry_run:
                planned = listed_cells(setup, plan, out)
                each = (
                    expected_seconds(setup, plan, out) if not all(cell.complete for cell in planned) else None
                )
                _list(planned, each, searches=kind == "sweep")
                return
            if isinstance(plan, SweepPlan):
                result = run_sweep(setup, plan, out, engine=engine, progress=report)
            else:
                result = run_plan(setup, plan, out, engine=engine, progress=report)
            write_experiment(result, out)
    finally:
        engine.close()
    say(*markdown_table(result), *result.notes)
    say(f"{result.cells:,} fits. Report: {out / PAGE}")


def _refuse(kind: str, given: Mapping[str, object], *kinds: str) -> None:
    """Refuse options of other experiments."""
    if kind not in kinds:
        for name, value in given.items():
            if value:
                raise InputError(
                    f"--{name} is an option of {' and '.join(kinds)}, not of {kind}.", "Leave it out."
                )


def _numbers(text: str, name: str, *, whole: bool = False) -> tuple[float, ...]:
    try:
        return tuple(int(part) if whole else float(part) for part in _values(text))
    except ValueError as error:
        what = "whole numbers" if whole else "numbers"
        raise InputError(
            f"--{name} {text}: not {what} with commas.",
            f"Write for example --{name} {'0,1,2' if whole else '25,50,100'}.",
        ) from error


def _values(text: str, names: Sequence[str] = ()) -> list[str]:
    """The values between commas; a name that has a comma itself, such as 'signal, levelled', stays whole."""
    out: list[str] = []
    for part in (piece.strip() for piece in text.split(",") if piece.strip()):
        start = part.partition("+")[0]
        whole = f"{out[-1].rpartition('+')[2]}, {start.strip()}" if out else ""
        if whole in names and start.strip() not in names:
            out[-1] = f"{out[-1]}, {part}"
        else:
            out.append(part)
    return out


def _sources(
    given: Sequence[str], formats: list[str] | None, maps: list[str] | None, progress: Progress
) -> list[tuple[str, Snapshot]]:
    """Every source read with the formats and options that are meant for it."""
    named = [_named(text) for text in given]
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
        owner, sign, rest = text.partition(":")
        if sign and owner in names:
            out += [rest] if owner == name else []
        else:
            out.append(text)
    return out


def _list(cells: Sequence[PlannedCell], each: tuple[float, int] | None, *, searches: bool) -> None:
    """What a dry run prints; ``each`` is how long a fit takes and how many fits say so."""
    say("| cell | training stimuli | test stimuli | settings | complete |", "|---|---|---|---|---|")
    for cell in cells:
        settings = ", ".join(f"{name}={value}" for name, value in cell.settings.items())
        done = "yes" if cell.complete else "no"
        say(f"| {cell.name} | {cell.training_stimuli:,} | {cell.test_stimuli:,} | {settings} | {done} |")
    missing = sum(not cell.complete for cell in cells)
    say(f"{len(cells):,} cells, {missing:,} to fit. Nothing was stored.")
    if missing and each is None:
        say("How long that takes is known once the first fits are finished: run --dry-run again then.")
    elif missing and each is not None:
        seconds, count = each
        say(
            f"About {duration(missing * seconds)}: {number(seconds, 1)} s a fit, judging from {plural(count, 'fit')}."
        )
    if searches:
        say("Further cells fit the variants chosen on these, one or more for each outer fold and seed.")
