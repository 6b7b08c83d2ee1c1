"""The application with all its commands, which register themselves as their modules are loaded."""

from __future__ import annotations

from importlib import import_module

from heartfelt.cli.command import app
from heartfelt.cli.needs import check_extras_first

__all__ = ["app"]

for family in (
    "study",
    "planning",
    "make",
    "generate",
    "draft",
    "serve",
    "collect",
    "data",
    "formats",
    "analyze",
    "bench",
    "site",
    "challenge",
    "predict",
    "train",
    "experiment",
    "publish",
    "deposit",
    "models",
    "words",
    "demo",
):
    import_module(f"heartfelt.cli.{family}")

check_extras_first(app)
