"""How a site and a viewer are made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from heartfelt.errors import InputError
from heartfelt.options import Option, written

_shown = partial(Option, panel="What is shown")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """How a site is made."""

    title: Annotated[str, _shown("The site's title.")] = ""
    release: Annotated[
        Path | None,
        _shown(
            "A published folder, a snapshot or a benchmark: media, prompts and what people answered; nothing is shown about"
            " items whose answers it does not have.",
            metavar="DIR",
        ),
    ] = None
    hold_out: Annotated[
        str | None, _shown("Hide labels and answers of this part of the benchmark.", metavar="PART")
    ] = None
    submit_to: Annotated[
        str | None, _shown("Where predictions are sent: a server or a mailto: address.", metavar="URL")
    ] = None
    copy_media: Annotated[
        bool, _shown("Copy media into the site, so that its folder can be moved alone, instead of linking to them.")
    ] = False
    stimuli: Annotated[
        bool, _shown("Give every stimulus a page; leaderboards and pages of models are always there.")
    ] = True

    def __post_init__(self) -> None:
        if self.hold_out is not None and self.release is None:
            raise InputError(
                "What is held out is known only from a benchmark.",
                f"Give {written(self, 'release')} too: a published folder or a benchmark.",
            )
        if self.submit_to is not None and not self.submit_to.startswith(("http://", "https://", "mailto:")):
            raise InputError(
                f"'{self.submit_to}' is not an address to submit to.", "Give one that begins with https:// or mailto:."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """What the viewer shows besides the run itself."""

    release: Annotated[
        Path | None,
        _shown(
            "A published folder, a snapshot or a benchmark: media, prompts, questions and intervals of labels.",
            metavar="DIR",
        ),
    ] = None
    site: Annotated[Path | None, _shown("A site of 'heartfelt site', to link to its stimuli.", metavar="SITE")] = None

    def __post_init__(self) -> None:
        if self.site is not None and not (self.site / "stimuli" / "index.html").is_file():
            raise InputError(
                f"{self.site} is not a site with pages of stimuli.", "Build one with heartfelt site SOURCE OUT."
            )
