"""Sections of pages from templates beside the code: ``templates/*.html.j2`` holds their words, figures and tables.

A template sets ``title`` and, where it has them, ``lead``, ``short`` and ``fact``; what it prints is the section, blank lines left
out. The columns of a table are Jinja expressions by heading, in which ``row`` is the result that a line shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from jinja2 import Environment, Template, Undefined, pass_context
from jinja2.environment import TemplateExpression
from jinja2.runtime import Context
from markupsafe import Markup

from heartfelt import wording
from heartfelt.report.charts import Charts
from heartfelt.report.layout import naming, page
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.tables import MOST_ROWS, CellValue, PValue, YesNoCell, table

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def section(template: str, id: str, charts: Charts | None = None, **values: object) -> Section:
    """A section from ``template``: the folder of a package below this one, or below heartfelt, and a name without suffix."""
    filled = _template(template).make_module({"charts": charts or {}, **values})
    words = {name: str(getattr(filled, name, "")) for name in ("title", "lead", "short", "fact")}
    return Section(id=id, html=_compact(str(filled)), **words)


def part(template: str, charts: Charts | None = None, **values: object) -> Markup:
    """HTML from ``template``, for use inside a section."""
    return _compact(_template(template).render(charts=charts or {}, **values))


def _template(path: str) -> Template:
    """The template of ``FOLDER/NAME``, in ``FOLDER/templates``."""
    folder, _, name = path.rpartition("/")
    return _environment().get_template(f"{folder}/templates/{name}.html.j2")


def _compact(html: str) -> Markup:
    return Markup(_BLANK_LINES.sub("\n", html).strip())


@cache
def _environment() -> Environment:
    environment = page.environment().overlay()
    words = ("interval", "listed", "money", "number", "p_value", "percent", "plural", "share", "spaced")
    parts = ("absent", "bullets", "folded", "joined", "paragraph", "side_by_side")
    environment.filters = {**environment.filters, "spaced": wording.spaced}
    environment.globals = {
        **environment.globals,
        **{name: getattr(wording, name) for name in words},
        **{name: getattr(page, name) for name in parts},
        **{name: getattr(naming, name) for name in ("coefficient", "effect", "outcome")},
        "figure": _figure,
        "p": PValue,
        "play": page.PLAY.format,
        "rounded": _rounded,
        "grid": table,
        "table": _table,
        "yes_no": YesNoCell,
    }
    return environment


@cache
def _expression(source: str) -> TemplateExpression:
    return _environment().compile_expression(source, undefined_to_none=False)


@pass_context
def _figure(context: Context, name: str, *, look: str = "", files: bool = True, numbers: bool = True) -> Markup:
    return page.figure_block(name, context["charts"], look=look, files=files, numbers=numbers)


@pass_context
def _table(
    context: Context,
    caption: str,
    rows: Sequence[object] | None,
    columns: Mapping[str, str],
    *,
    most: int = MOST_ROWS,
    **scope: object,
) -> Markup:
    """A table of results, one per line; ``scope`` are further names that the expressions of its columns may use."""
    shared = {**context.get_all(), **scope}
    lines = [[_cell(source, {**shared, "row": row}) for source in columns.values()] for row in rows or ()]
    return table(caption, list(columns), lines, most=most)


def _cell(source: str, scope: Mapping[str, object]) -> CellValue:
    value: object = _expression(source)(scope)
    if isinstance(value, Undefined):
        str(value)  # raises, and says which name is not there
    return cast(CellValue, value)


def _rounded(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(value, decimals)
