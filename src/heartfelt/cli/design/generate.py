"""``heartfelt make``: a study's stimuli from models, services, programs and folders, as its make.yaml says."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, StudyFolder, app, err, out, progress_bar, say, say_template
from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stimuli.generation.result import MakeOptions
from heartfelt.wording import listed, money, number, plural

if TYPE_CHECKING:
    from rich.table import Table

    from heartfelt.stimuli import GenerationForecast, Making
    from heartfelt.stimuli.generation.licences import LicenceNotice

_SHOWN = 8


@app.command()
def make(
    folder: StudyFolder,
    options: MakeOptions,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be made, how long and at what cost; make nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a study's stimuli with the generators that its make.yaml names; run again to continue."""
    from heartfelt.api import stimuli
    from heartfelt.stimuli import forecast_make
    from heartfelt.stimuli.generation.devices import parse_devices

    parse_devices(options.device)
    if dry_run:
        forecast = forecast_make(folder, options)
        print(dumps(forecast)) if as_json else _show_forecast(forecast)
        return
    stimuli.refuse_collected(folder, "making", "Copy study.yaml and make.yaml into a new folder, and make that.")
    _accept(forecast_make(folder, options).licences, options.accept_licences)
    with progress_bar(f"making {folder}") as report:
        result = stimuli.make(folder, replace(options, accept_licences=True), progress=report)
    print(dumps(result)) if as_json else _show(result)
    if result.failed:
        raise typer.Exit(1 if result.complete else 2)


def _accept(needed: tuple[LicenceNotice, ...], accepted: bool) -> None:
    """Show licences that were not accepted yet, and ask."""
    from heartfelt.stimuli.generation.licences import accept, unaccepted

    new = unaccepted(needed)
    if not new:
        return
    for notice in new:
        err.print(f"Licence of {notice.words}", markup=False, soft_wrap=True)
    if not accepted:
        if not sys.stdin.isatty():
            raise InputError(
                f"{plural(len(new), 'licence')} must be accepted before the first use, of"
                f" {listed([notice.model or notice.generator for notice in new])}.",
                "Read the terms above, and add --accept-licences.",
            )
        typer.confirm("Accept these licences?", abort=True, err=True)
    accept(new)


def _grid(title: str, *numbers: str) -> Table:
    from rich.table import Table

    grid = Table(title=title, title_justify="left")
    for name in ("system", "generator"):
        grid.add_column(name, no_wrap=True)
    for name in numbers:
        grid.add_column(name, justify="right", overflow="fold")
    return grid


def _show_forecast(forecast: GenerationForecast) -> None:
    grid = _grid(f"To make for {forecast.study}", "to make", "complete", "no file", "time", "cost")
    for row in forecast.systems:
        grid.add_row(
            row.system,
            row.generator,
            f"{row.to_make:,} of {row.planned:,}",
            number(row.complete),
            number(len(row.missing)),
            duration(row.seconds) if row.to_make else "–",
            "–" if row.cost is None else money(row.cost, 2),
        )
    out.print(grid)
    for row in forecast.systems:
        if row.problem is not None:
            say(f"{row.system} cannot be made here: {row.problem}")
        _list_missing(row.system, row.missing)
        say(*(f"{row.system}: {note}." for note in row.notes))
    unknown = [row.system for row in forecast.systems if row.to_make and row.seconds is None]
    say_template("forecast", forecast=forecast, unknown=unknown)


def duration(seconds: float | None) -> str:
    """A length of time in words."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return f"{1000 * seconds:,.0f} ms"
    if seconds < 100:
        return f"{seconds:,.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 6000 else f"{seconds / 3600:,.1f} h"


def _list_missing(system: str, missing: Mapping[str, str]) -> None:
    """Stimuli that were not made with their reasons; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for name, reason in missing.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in list(reasons.items())[:_SHOWN]:
        say(f"{system}, {names[0] if len(names) == 1 else f'{len(names):,} such as {names[0]}'}: {reason}")
    if len(reasons) > _SHOWN:
        say(f"{system}: … and {sum(map(len, list(reasons.values())[_SHOWN:])):,} more.")


def _show(result: Making) -> None:
    grid = _grid(f"Stimuli of {result.study}", "complete", "new", "failed", "time", "each")
    for row in result.systems:
        grid.add_row(
            row.system,
            row.generator,
            f"{row.complete:,} of {row.planned:,}",
            number(row.made),
            number(len(row.failed) + len(row.missing) + row.untried),
            duration(row.seconds),
            duration(row.seconds / row.made) if row.made else "–",
        )
    out.print(grid)
    for row in result.systems:
        if row.stopped is not None:
            say(f"{row.system} was stopped: {row.stopped}")
        _list_missing(row.system, {**row.missing, **row.failed})
        if row.untried:
            say(f"{row.system}: {row.untried:,} were not tried.")
        say(*(f"{row.system}: {note}." for note in row.notes))
    say_template("made", result=result, failed=any(row.failed for row in result.systems))
