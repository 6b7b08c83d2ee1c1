"""How raters are screened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from heartfelt.options import Option

if TYPE_CHECKING:
    from heartfelt.screening.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenOptions:
    """How raters are screened."""

    policy: Annotated[
        Policy | str | Path,
        Option(
            help="A policy's name (default, flag-only, strict …) or a YAML file: see docs/screening.md.",
            positional=True,
        ),
    ] = "default"
    seed: Annotated[int, Option(help="Seed of the rules that resample.")] = 0
    exclude: Annotated[tuple[str, ...], Option(help="Raters to leave out, whatever the rules say.")] = ()
    restore: Annotated[tuple[str, ...], Option(help="Raters to retain, whatever the rules say.")] = ()
