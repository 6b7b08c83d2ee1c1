"""Small xlsx files for tests, written as the parts of the Office Open XML format, without a library for it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


class Formula(NamedTuple):
    """A formula with the value that was saved with it."""

    text: str
    value: float


class Moment(NamedTuple):
    """A date and time as spreadsheets store it: days since the end of 1899."""

    days: float


Cell = str | float | Formula | Moment | None


def write_xlsx(path: Path, sheets: Mapping[str, Sequence[Sequence[Cell]]], merged: str = "") -> Path:
    """Write sheets of rows; ``merged`` is a range of merged cells in each, such as ``B1:C1``."""
    kinds, listed, links = "", "", ""
    spans = f'<mergeCells count="1"><mergeCell ref="{merged}"/></mergeCells>' if merged else ""
    with zipfile.ZipFile(path, "w") as book:
        for number, (name, rows) in enumerate(sheets.items(), 1):
            data = "".join(_row(at, row) for at, row in enumerate(rows, 1))
            book.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData>{spans}</worksheet>',
            )
            kinds += f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{SHEET_TYPE}.worksheet+xml"/>'
            listed += f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
            links += f'<Relationship Id="rId{number}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        links += f'<Relationship Id="rId0" Type="{OFFICE}/styles" Target="styles.xml"/>'
        plain, dated = '<xf numFmtId="0"/>', '<xf numFmtId="22" applyNumberFormat="1"/>'
        book.writestr("xl/styles.xml", f'<styleSheet xmlns="{MAIN}"><cellXfs>{plain}{dated}</cellXfs></styleSheet>')
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>'
        )
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" Type="{OFFICE}/officeDocument"'
            ' Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET_TYPE}.sheet.main+xml"/>{kinds}</Types>',
        )
    return path


def _row(number: int, cells: Sequence[Cell]) -> str:
    return f'<row r="{number}">{"".join(_cell(f"{chr(65 + at)}{number}", cell) for at, cell in enumerate(cells))}</row>'


def _cell(place: str, cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Formula):
        return f'<c r="{place}"><f>{escape(cell.text)}</f><v>{cell.value}</v></c>'
    if isinstance(cell, Moment):
        return f'<c r="{place}" s="1"><v>{cell.days}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'
