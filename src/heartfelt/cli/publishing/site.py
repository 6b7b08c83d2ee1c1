"""``heartfelt site`` and ``heartfelt view``: benches for everybody, and what models answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import app, progress_bar, say
from heartfelt.report.site.options import SiteOptions, ViewOptions

_Benches = Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder that holds benches, at any depth.")]


@app.command()
def site(
    source: _Benches,
    options: SiteOptions,
    out: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="The site's folder; SOURCE/site if left out. A site there is replaced."),
    ] = None,
) -> None:
    """Build a static site of benches: leaderboards, a page per model and per stimulus, how to submit."""
    from heartfelt.report.site import write_site

    with progress_bar(f"reading {source}") as report:
        folder = write_site(source, out or source / "site", options, report)
    say(f"Site: {folder / 'index.html'}")
    if options.release is None and options.stimuli:
        say("Every label the benches were scored against is shown. With --release, only published ones are.")


@app.command()
def view(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A bench's folder, or one model's folder below its runs/.")
    ],
    options: ViewOptions,
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The viewer's folder; RUN/viewer if left out.")
    ] = None,
) -> None:
    """Look at what models answered: media, what was sent, raw and parsed answers, retries and labels, offline."""
    from heartfelt.report.site.viewer import write_view

    with progress_bar(f"reading {run}") as report:
        folder = write_view(run, out, options, report)
    say(f"Viewer: {folder / 'index.html'}")
