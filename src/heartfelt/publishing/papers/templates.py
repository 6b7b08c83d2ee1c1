"""The environment of the papers' templates: Markdown, in which filters escape what studies and authors say."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from heartfelt.publishing.papers.facts import stated
from heartfelt.report.markup import Grid, code, grid_markdown, markdown, one_line, paragraphs
from heartfelt.study.model import say
from heartfelt.wording import listed, number, plural

MOST_ROWS = 40
FILTERS: tuple[Callable[..., str], ...] = (
    stated,
    code,
    one_line,
    paragraphs,
    say,
    listed,
    number,
    plural,
)


def _table(grid: Grid) -> str:
    return grid_markdown(grid, caption=False, most=MOST_ROWS)


def _captioned_table(grid: Grid) -> str:
    return grid_markdown(grid, most=MOST_ROWS)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("heartfelt.publishing.papers", ""),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    environment.filters |= {"md": markdown, "table": _table, "captioned_table": _captioned_table}
    return environment


def render(name: str, **values: object) -> str:
    """The text of a template: one empty line at most between its parts, one line break at its end."""
    text = _environment().get_template(name).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
