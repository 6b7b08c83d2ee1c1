"""``heartfelt analyze``: from ratings to a report a reviewer would enjoy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.data import parse_map
from heartfelt.errors import InputError


def analyze(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A snapshot, published data or a table.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make.")],
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="The source's format; found out if left out.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option("--map", "-m", metavar="OPTION=VALUE", help="An option of the format. May be repeated."),
    ] = None,
    policy: Annotated[
        str, typer.Option(help="What becomes of flagged raters: see docs/panel.md.")
    ] = "flag-only",
    seed: Annotated[int, typer.Option(help="Seed of all resampling.")] = 0,
) -> None:
    """Screen raters, measure how far the ratings can be trusted, and write a report."""
    from heartfelt.analysis import AnalyzeOptions
    from heartfelt.analysis import analyze as run
    from heartfelt.cli import screen
    from heartfelt.formats.reading import read_with
    from heartfelt.report import write_analysis

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(
            f"{out} already exists and is not empty.", "Choose another folder, or remove this one first."
        )
    with screen.progress_bar(f"reading {source}") as report:
        snapshot = read_with(source, format, parse_map(map or []), report)
        analysis = run(snapshot, AnalyzeOptions(policy=policy, seed=seed), report)
        report("drawing figures", 0, 1)
        write_analysis(analysis, out)
    for sentence in analysis.summary["verdict"]:
        screen.out.print(f"• {sentence}", markup=False)
    screen.out.print(f"Report: {out / 'report.html'}", markup=False)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(analyze)
