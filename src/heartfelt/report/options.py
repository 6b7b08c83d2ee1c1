"""What is written beside a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from heartfelt.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What is written beside the report of an analysis."""

    figures: Annotated[bool, Option(help="Write the figures as PDF, SVG and PNG; the report draws its own.")] = True
    layout: Annotated[
        str | None, Option(help="Also write the files of a published system.", flags=("--as",), metavar="LAYOUT")
    ] = None
