"""``heartfelt deposit``: a published folder goes to the Hugging Face hub or Zenodo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import app, progress_bar, say
from heartfelt.publishing.options import DepositOptions


@app.command()
def deposit(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder that 'heartfelt publish' made.")],
    target: Annotated[
        list[str], typer.Argument(metavar="TARGET", help="Where to: hub:OWNER/NAME, zenodo or zenodo:sandbox.")
    ],
    options: DepositOptions,
    details: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Title, authors and licence for Zenodo; those of CITATION.cff if left out."),
    ] = None,
) -> None:
    """Send a published folder to the Hugging Face hub or Zenodo; the same command continues an interrupted one.

    Tokens are taken from HF_TOKEN and ZENODO_TOKEN. Files that are there with the same content are not sent again.
    """
    from heartfelt.publishing.statements.details import read_details

    stated = None if details is None else read_details(details)
    send_all(folder, target, replace(options, details=stated))


def send_all(folder: Path, targets: Sequence[str], options: DepositOptions) -> None:
    """Send a release to each target and say what came of it."""
    from heartfelt.publishing.deposits import check_target, send

    for target in targets:
        check_target(target, options)
    for target in targets:
        with progress_bar(f"sending to {target}") as report:
            result = send(folder, target, options, report)
        say(*result.sentences)
