"""``heartfelt plan``: what a study will show, take and cost, before anyone is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import AsJson, app, progress_bar, say
from heartfelt.planning.options import PlanOptions


@app.command()
def plan(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; media are not needed.")],
    options: PlanOptions,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="SNAPSHOT", help="Ratings of a pilot: components, careless raters, drop-out, times."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write plan.html, plan.json and figures.")
    ] = None,
    preregister: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write a preregistration, also to DIR/preregistration.json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a study through the real assignment and analysis: power, intervals, reliability, time and cost of designs."""
    from heartfelt.api import studies
    from heartfelt.planning.words import design_lines
    from heartfelt.serialization import dumps

    with progress_bar(f"planning {folder}") as report:
        result = studies.plan(folder, options, pilot=pilot, out=out, preregister=preregister, progress=report)
    if as_json:
        print(dumps(result))
        return
    say(f"Pilot: {result.pilot.source}; up to {result.options.studies:,} simulated studies per design.")
    for number, design in enumerate(result.designs):
        head, *details = design_lines(design)
        mark = " (the study's own)" if design.design.own else ""
        say(f"{head}{' (recommended)' if number == result.recommended else mark}", *details)
    say("", *result.answers.sentences, *(f"note: {note}" for note in result.notes))
    if out is not None:
        say(f"Plan: {out / 'plan.html'}")
    if preregister is not None:
        say(f"Preregistration: {preregister}")
