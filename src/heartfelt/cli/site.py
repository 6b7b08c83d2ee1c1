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
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The site's folder; a site there is replaced.")],
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
    title: Annotated[str, _shown(help="The site's title.")] = "",
    submit_to: Annotated[
        str | None, _shown(metavar="URL", help="Where predictions are sent: a server or a mailto: address.")
    ] = None,
) -> None:
    """Build a static site of benches: leaderboards, a page per model and per stimulus, how to submit."""
    from heartfelt.site import SiteOptions, write_site

    options = SiteOptions(title, release, hold_out, submit_to, copy_media)
    with progress_bar(f"reading {source}") as report:
        made = write_site(source, out, options, report)
    say(f"Site: {made / 'index.html'}")
    if release is None:
        say("Every label the benches were scored against is shown. With --release, only published ones are.")
