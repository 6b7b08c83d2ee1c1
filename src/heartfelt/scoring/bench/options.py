"""How models are asked and scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from heartfelt.options import Option
from heartfelt.predictors.options import RunOptions
from heartfelt.scoring.options import ScoreOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """How models are asked and scored."""

    layout: Annotated[
        str | None, Option(help="Also write the files of a published system.", flags=("--as",), metavar="LAYOUT")
    ] = None
    questions: Annotated[
        tuple[str, ...] | None, Option(help="Ask only this question.", flags=("--question",), panel="Which items")
    ] = None
    score: ScoreOptions = field(default_factory=ScoreOptions)
    run: RunOptions = field(default_factory=RunOptions)
    layout_folder: Path | None = None
    """Where the layout's files are written, if not into the folder of the bench."""
    notes: tuple[str, ...] = ()
    """What else is to be known about how this was made."""
    folder: Path | None = None
    """Where answers are stored; None: nowhere."""

    def __post_init__(self) -> None:
        if self.layout is not None:
            from heartfelt.scoring.layouts import LAYOUTS

            LAYOUTS[self.layout]
