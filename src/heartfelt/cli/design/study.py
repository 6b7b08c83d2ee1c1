"""Commands on studies: ``new``, ``check``, ``schema``, ``recipes``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import app, out, progress_bar, say
from heartfelt.serialization import dumps
from heartfelt.stimuli.options import StarterOptions


@app.command()
def new(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="One of 'heartfelt recipes'.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study folder to make.")],
    options: StarterOptions,
) -> None:
    """Start a study from a published design: a folder that is valid and ready to run."""
    from heartfelt.predictors.drafts import draft_from_pixels
    from heartfelt.stimuli.starter import start_study

    with progress_bar(f"starting {folder}") as report:
        started = start_study(recipe, folder, options, report)
        drafted = draft_from_pixels(folder, report) if options.media else None
    counts = f"{started.stimuli.height} stimuli and {len(started.study.asked)} questions"
    out.print(f"[bold]{folder}[/bold]: a study after '{recipe}' with {counts}")
    say("  study.yaml   what is asked, of whom, about what: edit it; 'heartfelt check' validates it")
    say("  stimuli.csv  the stimuli: put your own here, and their files into media/")
    if drafted is not None:
        say("  drafts.parquet  what machines wrote for raters to verify; 'heartfelt draft' fills in the rest")


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder or a study.yaml.")],
    pages: Annotated[bool, typer.Option(help="Draw the rating pages, where Playwright and Chromium are there.")] = True,
) -> None:
    """Check a study: its study.yaml, its stimuli and their media, and whether its rating pages can be read."""
    from heartfelt.web.layout import check_layout
    from heartfelt.web.study_check import check_study

    checked = check_study(folder)
    say(*checked.lines)
    if pages:
        with progress_bar("looking at the pages") as report:
            looked = check_layout(checked.opened, report)
        say(f"  {looked.sentence}", *(f"  warning: {line}" for line in looked.warnings))


@app.command()
def schema() -> None:
    """Print the JSON Schema of study.yaml, for editors."""
    from heartfelt.study import json_schema

    print(dumps(json_schema()))


@app.command()
def recipes(
    name: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="Print this recipe's study.yaml as published.")
    ] = None,
) -> None:
    """List the published designs a study can start from, or print one."""
    from heartfelt.study.recipes import RECIPES, recipe_text

    if name is not None:
        print(recipe_text(name), end="")
        return
    for name, recipe in RECIPES.items():
        out.print(f"[bold]{name:12}[/bold] {recipe.about}")
