"""The application: every command family adds its commands here."""

from __future__ import annotations

import typer

from heartfelt import __version__
from heartfelt.cli import (
    analyze,
    bench,
    collect,
    conveyance,
    data,
    demo,
    models,
    predict,
    predictor,
    serve,
    study,
    train,
)

app = typer.Typer(
    name="heartfelt",
    help="Find out what generated media makes people feel, and how well a machine can tell.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """Find out what generated media makes people feel, and how well a machine can tell."""
    if version:
        print(f"heartfelt {__version__}")
        raise typer.Exit()


for family in (
    study,
    serve,
    collect,
    data,
    analyze,
    bench,
    predictor,
    predict,
    conveyance,
    train,
    models,
    demo,
):
    family.add_to(app)
