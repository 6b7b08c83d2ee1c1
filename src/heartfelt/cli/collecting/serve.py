"""Commands that serve: ``serve``, ``preview``, ``serve-predictor``; and ``study token``, for programs that use the API."""

from __future__ import annotations

import time
import webbrowser
from contextlib import ExitStack
from typing import Annotated
from urllib.parse import urlencode

import typer

from heartfelt.cli.collecting.collect import opened, study
from heartfelt.cli.command import Browser, Database, StudyFolder, app, out, progress_bar, say
from heartfelt.errors import Interrupted
from heartfelt.predictors.options import ServerOptions
from heartfelt.web.requests.options import ServeOptions


@app.command()
def serve(folder: StudyFolder, options: ServeOptions, browser: Browser = False) -> None:
    """Open a study to raters, with a dashboard for the researcher at /study."""
    from heartfelt.web.serving.serve import prepare
    from heartfelt.web.serving.serve import serve as run

    with progress_bar(f"opening {folder}") as report:
        prepared = prepare(folder, options, report)
    if missing := prepared.missing_media:
        say(
            f"{len(missing):,} stimuli are not shown to anybody, because their media files are missing or unreadable:"
            f" {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}. 'heartfelt check {folder}' says why."
        )
    if accepted := prepared.accepted_media:
        say(f"New media files were accepted for {len(accepted):,} rated stimuli: {', '.join(accepted[:5])}.")

    def announce() -> None:
        out.print(f"[bold]{folder}[/bold] is served")
        say(f"  raters      {options.address}/")
        say(f"  dashboard   {options.address}/study")
        say(f"  API         {options.address}/api/v1/docs")
        if prepared.keys.new_password:
            say(f"  password    {prepared.keys.new_password}")
            say("              made just now and shown only once: write it down")
        if browser:
            webbrowser.open(f"{options.address}/study")

    run(folder, options, prepared, announce)


@app.command()
def preview(
    folder: StudyFolder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; any free one if 0.")] = 0,
    browser: Browser = False,
) -> None:
    """Try a study as a rater, on this machine; nothing is stored in the study."""
    from heartfelt.study import load_study
    from heartfelt.web.serving.serve import preview as serve_preview

    try:
        with ExitStack() as stack:
            with progress_bar(f"opening {folder}") as report:
                address = stack.enter_context(serve_preview(folder, port, report))
            out.print(f"[bold]{folder}[/bold] can be previewed at {address}/", soft_wrap=True)
            for arm in load_study(folder).design.arms:
                out.print(f"  arm {arm.id}: {address}/?{urlencode({'arm': arm.id})}", soft_wrap=True)
            say("  Every visit to this address starts again. Nothing is stored. Stop with Ctrl-C.")
            if browser:
                webbrowser.open(f"{address}/")
            while True:
                time.sleep(3600)
    except KeyboardInterrupt:
        raise Interrupted("Stopped. A preview stores nothing.") from None


@study.command()
def token(
    folder: StudyFolder,
    name: Annotated[str, typer.Option(help="What the token is for.")],
    database: Database = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until it expires.")] = 365,
) -> None:
    """Make a token for a program that uses the API; it is printed once, and only its hash is stored."""
    from heartfelt.web.security.access import Tokens

    with opened(folder, database) as collection:
        print(Tokens(collection).make(name, days).text)


@app.command("serve-predictor")
def serve_predictor(
    name: Annotated[str, typer.Argument(metavar="NAME[:ARG]", help="The predictor, such as clap or sham.")],
    options: ServerOptions,
) -> None:
    """Serve a predictor to clients of EmoLia's endpoint contract: POST a text and a media file, get a similarity."""
    from heartfelt.predictors import predictor_from
    from heartfelt.web.predictor_server import serve_predictor as run

    def ready(address: str) -> None:
        say(f"{name} answers at {address}  (Ctrl-C stops it)")
        say(f"Score it: heartfelt bench SOURCE --model endpoint:{address} --out DIR")

    run(predictor_from(name), options, ready)
