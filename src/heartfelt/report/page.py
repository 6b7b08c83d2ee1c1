"""One HTML file that needs nothing else: style, script, data and small media inside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heartfelt import __version__

SCRIPTS = ("report.js", "charts.js", "tables.js", "boot.js")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a page: a heading, words, and if wanted a figure the script draws or ready HTML."""

    id: str
    title: str
    lead: str = ""
    figure: str | None = None
    html: str = ""
    short: str = ""
    """What the contents call it, where the title is long."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: what it is about, its sections in order, and the data its figures draw."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    facts: Sequence[tuple[str, str]] = ()
    language: str = "en"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("heartfelt.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def asset(name: str) -> str:
    """The text of a file that is put into pages."""
    return files("heartfelt.report").joinpath("assets", name).read_text(encoding="utf-8")


def script_json(data: Any) -> str:
    """JSON that may stand inside a script element: strict, and with nothing that could end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def render(page: Page) -> str:
    """The page as one HTML text."""
    template = _environment().get_template("page.html")
    return template.render(
        page=page,
        style=Markup(asset("report.css")),
        script=Markup("\n".join(asset(name) for name in SCRIPTS)),
        data=Markup(script_json(dict(page.data))),
        version=__version__,
    )
