"""``report.md``: one page over all subsets, in sentences and tables that can go into a methods section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from heartfelt.stats.estimate import Estimate
from heartfelt.templates import text_templates
from heartfelt.wording import interval

_BOUNDS = ("_low", "_high", "_rate_items")


@cache
def _templates() -> Environment:
    return text_templates(
        "heartfelt.datasets.emolia", cell=_cell, count="{:,}".format, interval=lambda estimate: interval(estimate, 3)
    )


def rendered(template: str, **content: object) -> str:
    """A page of this folder's templates."""
    return _templates().get_template(f"{template}.md.j2").render(content)


def report(summaries: Sequence[dict[str, object]]) -> str:
    return rendered("report", summaries=summaries, slices=_slices, flags=_flags)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; the first column is text, the others stand to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Estimate):
        cell = interval(cell, 3)
    text = f"{cell:.3f}" if isinstance(cell, float) else str(cell)
    return " ".join(text.replace("|", "\\|").split())


def _slices(rows: Sequence[dict[str, object]]) -> str:
    shown = [key for key in rows[0] if not key.endswith(_BOUNDS)]
    return table([key.replace("_", " ") for key in shown], ([row[key] for key in shown] for row in rows))


def _flags(rows: Sequence[dict[str, object]]) -> str:
    shown = [key for key in rows[0] if key not in ("flag_id", "created_at")]
    return table(shown, ([row.get(key) for key in shown] for row in rows))
