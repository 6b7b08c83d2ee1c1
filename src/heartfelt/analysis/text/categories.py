"""What the figures of categories say, in words."""

from __future__ import annotations

from collections.abc import Iterable

from heartfelt.analysis.findings.categories import AttributeTable, CategoryQuestion, CoOccurrence, RaterConfusion
from heartfelt.analysis.text.sentences import template_lines


def sentences(result: CategoryQuestion, *, reasons: bool = True) -> list[str]:
    """What the figures say, in words; with ``reasons`` also why some are missing."""
    return template_lines(
        "analysis/categories",
        "sentences",
        result=result,
        ranked=sorted(result.balance.rows, key=lambda row: -row.n_stimuli),
        pair=most_confused(result.raters) if result.raters is not None else None,
        outstanding=outstanding(result.attributes),
        reasons=reasons,
    )


def outstanding(rows: Iterable[AttributeTable]) -> list[tuple[AttributeTable, CoOccurrence]]:
    """The cells that stand out after correction, the strongest first."""
    cells = [(table, cell) for table in rows for cell in table.cells if cell.significant]
    return sorted(cells, key=lambda pair: -abs(pair[1].residual or 0.0))


def most_confused(result: RaterConfusion) -> tuple[str, str, float] | None:
    """The two different categories that other raters of the same stimulus give most often, and how often."""
    table = result.confusion
    cells = [
        (share, a, b)
        for a, line in zip(table.rows, table.proportions, strict=True)
        for b, share in zip(table.columns, line, strict=True)
        if a != b and share
    ]
    if not cells:
        return None
    share, a, b = max(cells)
    return a, b, share
