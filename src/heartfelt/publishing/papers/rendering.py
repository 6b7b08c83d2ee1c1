"""The environment of the papers' templates: Markdown, in which filters escape what studies and authors say."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment

from heartfelt.publishing.papers.facts import stated
from heartfelt.report.layout.markup import Grid, code, grid_markdown, markdown, one_line, paragraphs
from heartfelt.study.model import say
from heartfelt.templates import text_templates

MOST_ROWS = 40


def _table(grid: Grid) -> str:
    return grid_markdown(grid, caption=False, most=MOST_ROWS)


def _captioned_table(grid: Grid) -> str:
    return grid_markdown(grid, most=MOST_ROWS)


@cache
def _environment() -> Environment:
    return text_templates(
        __package__,
        stated=stated,
        code=code,
        one_line=one_line,
        paragraphs=paragraphs,
        say=say,
        md=markdown,
        table=_table,
        captioned_table=_captioned_table,
    )


def render(name: str, **values: object) -> str:
    """The text of a template: one empty line at most between its parts, one line break at its end."""
    text = _environment().get_template(name).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
