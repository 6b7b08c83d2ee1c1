"""``heartfelt publish``: a folder that others can use and nobody can be identified in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from heartfelt.cli.command import Source, app, progress_bar, say, say_template
from heartfelt.cli.publishing.deposit import send_all
from heartfelt.errors import InputError
from heartfelt.options import SourceOptions
from heartfelt.publishing.options import DepositOptions, PublishOptions


class _OptionalDetails(TyperCommand):
    """``--details`` may be given without its FILE: at the end, before another option or before a folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a bare ``--details`` an empty value."""
        for position, argument in enumerate(args):
            following = args[position + 1] if position + 1 < len(args) else "-"
            if argument == "--details" and (following.startswith("-") or Path(following).is_dir()):
                args = [*args[:position], "--details=", *args[position + 1 :]]
        return super().parse_args(ctx, args)


@app.command(cls=_OptionalDetails)
def publish(
    source: Source,
    options: PublishOptions,
    reading: SourceOptions,
    sending: DepositOptions,
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUT", help="The folder to make, for everybody to read; only 'publish SOURCE --details' has none."
        ),
    ] = None,
    details: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE]",
            help="What only the authors know: title, licence, pay, ethics and more; publication.yaml of the SOURCE folder if left"
            " out. Without OUT, an empty FILE is written to fill in, and nothing else is done.",
        ),
    ] = None,
    push: Annotated[
        list[str] | None,
        typer.Option(metavar="hub:OWNER/NAME", help="Send it to the Hugging Face hub (token in HF_TOKEN)."),
    ] = None,
    deposit: Annotated[
        list[str] | None, typer.Option(metavar="zenodo[:sandbox]", help="Send it to Zenodo (token in ZENODO_TOKEN).")
    ] = None,
) -> None:
    """Make a study anonymous and write dataset, benchmark and papers."""
    from heartfelt.api import studies
    from heartfelt.files import must_be_free
    from heartfelt.publishing.deposits import check_target
    from heartfelt.publishing.release.record import sentences
    from heartfelt.publishing.statements.details import read_details

    described = Path(details) if details else None
    if out is None and details is not None:
        _write_details(source, described)
        return
    if out is None:
        raise InputError("Missing argument 'OUT'.", "Give the folder to make: heartfelt publish SOURCE OUT.")
    must_be_free(out)
    stated = read_details(described or (source if source.is_dir() else None))
    sending = replace(sending, details=stated)
    for target in (targets := [*(push or ()), *(deposit or ())]):
        check_target(target, sending)
    with progress_bar(f"reading {source}") as report:
        published = studies.publish(source, out, options, reading, details=stated, progress=report)
    say_template("published", published=published, steps=sentences(published.record), out=out)
    send_all(out, targets, sending)


def _write_details(source: Path, details: Path | None) -> None:
    """Write an empty file of details to fill in, by default ``publication.yaml`` in the source's folder."""
    from heartfelt.publishing.statements.details import write_details_template

    path = write_details_template(details or (source if source.is_dir() else source.parent))
    say(f"Wrote {path}. Every key may stay empty; fill in what you can before 'heartfelt publish'.")
