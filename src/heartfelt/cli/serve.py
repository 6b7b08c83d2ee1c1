"""Commands on a study that is served: ``serve``, ``token``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heartfelt.web.security.signing import Keys

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A study folder.")]
Database = Annotated[
    str | None,
    typer.Option(help="URL of a PostgreSQL database; SQLite in the study folder if left out.", metavar="URL"),
]


def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Server processes.")] = 1,
    prefix: Annotated[str, typer.Option(help="Path under which a proxy shows the study, such as /one.")] = "",
    url: Annotated[
        str | None,
        typer.Option(help="Public address, such as https://example.org/one; https secures cookies."),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="IPS", help="Trust forwarded headers from these addresses, separated by commas."
        ),
    ] = None,
    database: Database = None,
    address_limit: Annotated[
        int, typer.Option(min=0, help="Requests per minute from one address; 0 for no limit.")
    ] = 3000,
    rater_limit: Annotated[
        int, typer.Option(min=0, help="Requests per minute of one rater; 0 for no limit.")
    ] = 240,
    access_log: Annotated[bool, typer.Option(help="Log one line per request, without query strings.")] = True,
    browser: Annotated[bool, typer.Option("--open", help="Open the dashboard in a browser.")] = False,
) -> None:
    """Open a study to raters, with a dashboard for the researcher at /study."""
    from heartfelt.cli import screen
    from heartfelt.web.serve import ServeOptions, prepare
    from heartfelt.web.serve import serve as run

    options = ServeOptions(
        host, port, workers, prefix, url, proxy, database, address_limit, rater_limit, access_log
    )
    with screen.progress_bar(f"opening {folder}") as report:
        keys = prepare(folder, options, report)
    _print_addresses(folder, options.address, keys)
    if browser:
        _open_soon(f"http://{host}:{port}{options.path}/study/login", f"{options.address}/study")
    run(folder, options)


def preview(
    folder: Folder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; any free one if 0.")] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,
) -> None:
    """Try a study as a rater, on this machine; nothing is stored in the study."""
    import time
    import webbrowser

    from heartfelt.cli import screen
    from heartfelt.web.serve import preview as serve_preview

    with (
        screen.progress_bar(f"opening {folder}") as report,
        serve_preview(folder, port, report) as address,
    ):
        screen.out.print(f"[bold]{folder}[/bold] can be previewed at {address}/", soft_wrap=True)
        screen.out.print("  Every visit to this address starts again. Nothing is stored. Stop with Ctrl-C.")
        if browser:
            webbrowser.open(f"{address}/")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            screen.out.print("Preview ended.")


def _open_soon(probe: str, address: str) -> None:
    """Open a browser as soon as the server responds."""
    import threading
    import time
    import webbrowser
    from urllib.error import URLError
    from urllib.request import urlopen

    def wait() -> None:
        for _ in range(120):
            try:
                urlopen(probe, timeout=5).close()
            except (URLError, OSError):
                time.sleep(0.25)
            else:
                webbrowser.open(address)
                return

    threading.Thread(target=wait, daemon=True).start()


def _print_addresses(folder: Path, address: str, keys: Keys) -> None:
    from heartfelt.cli import screen

    screen.out.print(f"[bold]{folder}[/bold] is served")
    screen.out.print(f"  raters      {address}/", markup=False)
    screen.out.print(f"  dashboard   {address}/study", markup=False)
    screen.out.print(f"  API         {address}/api/v1/docs", markup=False)
    if keys.new_password:
        screen.out.print(f"  password    {keys.new_password}", markup=False)
        screen.out.print("              made just now and shown only once: write it down", markup=False)


def token(
    folder: Folder,
    name: Annotated[str, typer.Option(help="What the token is for.")],
    database: Database = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until it expires.")] = 365,
) -> None:
    """Make a token for a program that uses the API; it is printed once, and only its hash is stored."""
    from heartfelt.cli import screen
    from heartfelt.collect import Collection
    from heartfelt.web.security.access import Tokens

    with screen.progress_bar(f"opening {folder}") as report:
        collection = Collection.open(folder, database=database, progress=report)
    with collection:
        print(Tokens(collection).make(name, days).text)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(serve)
    app.command()(preview)
    app.command()(token)
