"""The published designs that formats describe their data with, parsed once a process."""

from __future__ import annotations

from functools import cache

from heartfelt.study import Study
from heartfelt.study.recipes import recipe_study


@cache
def published_design(name: str) -> Study:
    """The recipe called ``name``; studies are immutable, so one copy serves every reader."""
    return recipe_study(name)
