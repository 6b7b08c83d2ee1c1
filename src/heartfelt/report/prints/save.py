"""A drawn figure as files: PDF, SVG and PNG with the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from heartfelt.report.chart import Chart
from heartfelt.report.prints.paint import paint
from heartfelt.report.prints.style import style

# None keeps dates and the versions of libraries out of the files.
FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "heartfelt", "Producer": None},
    "svg": {"Date": None, "Creator": "heartfelt"},
    "png": {"Software": None},
}


def save(chart: Chart, folder: Path, name: str) -> list[str]:
    """Draw ``chart`` and write it in every format; return the names of the files."""
    figure = paint(chart)
    written = []
    with style(), _lean_fonts():
        figure.draw_without_rendering()
        # The layout is found once; with an engine left in place every format would draw twice to find it again.
        figure.set_layout_engine(None)
        for kind, metadata in FORMATS.items():
            file = f"{name}.{kind}"
            figure.savefig(folder / file, format=kind, metadata=dict(metadata))
            written.append(file)
    return written


@contextmanager
def _lean_fonts() -> Iterator[None]:
    """Leave layout tables out of the fonts in a PDF: its text is placed already, and reading them takes half the time."""
    subset: Any = import_module("fontTools.subset")
    usual = getattr(subset.Options, "_drop_tables_default", None)
    if not isinstance(usual, list):
        yield
        return
    subset.Options._drop_tables_default = [*usual, "GSUB", "GPOS", "GDEF", "MATH"]
    try:
        yield
    finally:
        subset.Options._drop_tables_default = usual
