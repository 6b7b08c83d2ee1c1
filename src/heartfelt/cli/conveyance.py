"""``heartfelt conveyance``: whether generated clips convey what they were meant to, predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.files import must_be_free
from heartfelt.stats.estimate import Estimate


def conveyance(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A study, a snapshot, or clips with a CSV of intents or in subfolders named after intents.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make.")],
    ratings: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Ratings of some clips: rater, stimulus, valence, arousal."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="YAML", help="A study whose intents have reference coordinates.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A model of 'heartfelt train' in place of the shipped one."),
    ] = None,
) -> None:
    """Predict deviation, slopes and quadrants of generated clips, with the predictor's own error in every interval."""
    from heartfelt.cli import screen
    from heartfelt.cli.source import read_source
    from heartfelt.conveyance import convey
    from heartfelt.predictors.trained.model import load_trained
    from heartfelt.report.conveyance import flagged_words, headline, write_conveyance

    must_be_free(out)
    with screen.progress_bar(f"reading {folder}") as report:
        chosen = None if model is None else load_trained(model)
        conveyed = convey(
            folder, study=study, ratings=ratings, model=chosen, progress=report, read=read_source
        )
        write_conveyance(conveyed, out)
    screen.out.print(headline(conveyed.result) + flagged_words(conveyed), markup=False)
    for row in conveyed.result.deviation_by_system:
        screen.out.print(
            f"• {row.system}, {row.question}: {_words(row.deviation)} from the intents", markup=False
        )
    failed = int((~conveyed.run.table["ok"]).sum())
    if failed:
        screen.out.print(f"{failed:,} questions could not be answered; ledger.csv says why.", markup=False)
    screen.out.print(f"Report: {out / 'report.html'}", markup=False)


def _words(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"unknown ({estimate.why_missing})"
    bounds = "" if estimate.low is None else f" [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    return f"{estimate.value:+.2f}{bounds}"


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(conveyance)
