"""``heartfelt serve-predictor``: a predictor behind an HTTP endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve_predictor(
    name: Annotated[str, typer.Argument(metavar="NAME[:ARG]", help="The predictor, such as clap or sham.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8100,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="Requests asked together; by default what the predictor prefers."),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0, max=10_000, help="Milliseconds a request waits for others to join it.")
    ] = 5.0,
    max_mb: Annotated[float, typer.Option(min=0.001, help="How large a request may be, in MB.")] = 64.0,
    media: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Media that requests name without sending them.")
    ] = None,
) -> None:
    """Serve a predictor to clients of EmoLia's endpoint contract: POST a text and a media file, get a similarity."""
    from heartfelt.cli import screen
    from heartfelt.predictors import predictor_from
    from heartfelt.predictors.server import ServerOptions
    from heartfelt.predictors.server import serve_predictor as serve

    options = ServerOptions(host, port, batch, wait / 1000, megabytes=max_mb, media=media)

    def ready(address: str) -> None:
        screen.out.print(f"{name} answers at {address}  (Ctrl-C stops it)", markup=False)
        screen.out.print(
            f"Score it: heartfelt bench SOURCE --model endpoint:{address} --out DIR", markup=False
        )

    serve(predictor_from(name), options, ready)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(name="serve-predictor")(serve_predictor)
