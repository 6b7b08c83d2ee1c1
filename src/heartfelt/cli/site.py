"""Commands that show benches to others: ``site``, ``view``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import app, progress_bar, say

_shown = partial(typer.Option, rich_help_panel="What is shown")


@app.command()
def site(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A folder that holds benches, at any depth.")
    ],
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUT", help="The site's folder; SOURCE/site if left out. A site there is replaced."
        ),
    ] = None,
    release: Annotated[
        Path | None,
        _shown(
            metavar="DIR",
            help="A published folder, a snapshot or a benchmark: media, prompts and what people answered.",
        ),
    ] = None,
    hold_out: Annotated[
        str | None, _shown(metavar="PART", help="Hide labels and answers of this part of the benchmark.")
    ] = None,
    copy_media: Annotated[
        bool, _shown("--copy-media", help="Copy media into the site instead of linking to them.")
    ] = False,
    stimuli: Annotated[
        bool, _shown(help="Give every stimulus a page; leaderboards and pages of models are always there.")
    ] = True,
    title: Annotated[str, _shown(help="The site's title.")] = "",
    submit_to: Annotated[
        str | None, _shown(metavar="URL", help="Where predictions are sent: a server or a mailto: address.")
    ] = None,
) -> None:
    """Build a static site of benches: leaderboards, a page per model and per stimulus, how to submit."""
    from heartfelt.site import SiteOptions, write_site

    options = SiteOptions(
        title=title,
        release=release,
        hold_out=hold_out,
        submit_to=submit_to,
        copy_media=copy_media,
        stimuli=stimuli,
    )
    with progress_bar(f"reading {source}") as report:
        made = write_site(source, out or source / "site", options, report)
    say(f"Site: {made / 'index.html'}")
    if release is None and stimuli:
        say("Every label the benches were scored against is shown. With --release, only published ones are.")


@app.command(hidden=True)
def leaderboard(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that holds benches, at any depth.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="SITE", help="The site's folder; DIR/leaderboard if left out."),
    ] = None,
    title: Annotated[str, typer.Option(help="The site's title.")] = "",
) -> None:
    """Build a static site of benches without pages of stimuli; 'heartfelt site --no-stimuli' does the same."""
    site(folder, out or folder / "leaderboard", stimuli=False, title=title)


@app.command()
def view(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A bench's folder, or one model's folder below its runs/.")
    ],
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The viewer's folder; RUN/viewer if left out.")
    ] = None,
    release: Annotated[
        Path | None,
        _shown(
            metavar="DIR", help="A published folder, a snapshot or a benchmark: media, prompts, questions."
        ),
    ] = None,
    site: Annotated[
        Path | None, _shown(metavar="SITE", help="A site of 'heartfelt site', to link to its stimuli.")
    ] = None,
) -> None:
    """Look at what models answered: media, what was sent, raw and parsed answers, retries and labels, offline."""
    from heartfelt.site.viewer import ViewOptions, write_view

    options = ViewOptions(release=release, site=site)
    with progress_bar(f"reading {run}") as report:
        made = write_view(run, out, options, report)
    say(f"Viewer: {made / 'index.html'}")
