"""Text that comes from studies and authors, made safe for Markdown and LaTeX; tables in both.

Titles, questions, categories and statements may hold anything: pipes, backticks, HTML, LaTeX commands, line breaks, control
characters, any script. Nothing of it may change how a page or a paper is laid out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from heartfelt.report.layout.tables import CellValue, cell_text
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval

MAX_LENGTH = 400
"""Characters of a cell or a name that are shown."""
WIDE, WIDE_COLUMN = 40, "0.3"
_MARKS = re.compile(r"([\\`*|~#$]|^\[|\](?=[(\[:]))")
_OUTER_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BLOCK = re.compile(r"^([-+=>]|\d+[.)])(?=\s|$|[-=+])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\u2212": "$-$",
    "\u2013": "--",
    "\u00d7": r"$\times$",
    "\u00b1": r"$\pm$",
    "\u2192": r"$\rightarrow$",
    "\u00b7": r"$\cdot$",
    "\u2265": r"$\geq$",
    "\u2264": r"$\leq$",
    "\u00a0": "~",
}
_LATEX_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))


def one_line(text: str, most: int = MAX_LENGTH) -> str:
    """One line of printable text, cut at ``most`` characters."""
    visible = "".join(" " if _invisible(letter) else letter for letter in text)
    line = " ".join(visible.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _invisible(letter: str) -> bool:
    """Control characters, surrogates, and marks that change the direction of what follows."""
    return unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} or letter in "\u202a\u202b\u202c\u202d\u202e\ufeff"


def markdown(text: str, most: int = MAX_LENGTH) -> str:
    """Text for a line or a cell of Markdown, without any effect on it."""
    line = _MARKS.sub(r"\\\1", one_line(text, most))
    line = _ENTITY.sub("&amp;", line).replace("<", "&lt;").replace(">", "&gt;")
    line = _OUTER_UNDERSCORE.sub(r"\\_", line)
    return _BLOCK.sub(_escaped_block, line)


def _escaped_block(match: re.Match[str]) -> str:
    mark = match[1]
    return f"{mark[:-1]}\\{mark[-1]}"


def code(text: str, most: int = 120) -> str:
    """Text as code in a cell of a Markdown table, such as a column's name."""
    line = one_line(text, most)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def paragraphs(text: str) -> str:
    """A statement of the authors, its paragraphs retained."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(markdown(part, 20_000) for part in parts if part.strip())


def yaml_text(data: Mapping[str, object]) -> str:
    """``data`` as YAML in the order given; words such as ``no`` stay words, and lines are not folded."""
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=1_000_000)


def latex(text: str, most: int = MAX_LENGTH) -> str:
    """Text for LaTeX, without any effect on it."""
    return _LATEX_SPECIAL.sub(lambda match: _LATEX[match[0]], one_line(text, most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of a paper: its cells are text, numbers, estimates and p-values. ``name`` is that of its files."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    notes: tuple[str, ...] = ()
    why_empty: str = "there is nothing to show"
    decimals: int | None = None
    """Decimals of estimates; as many as each needs if left out."""

    def text(self, value: CellValue) -> str:
        return interval(value, self.decimals) if isinstance(value, Estimate) else cell_text(value)


def _numeric(grid: Grid, column: int) -> bool:
    values = [row[column] for row in grid.rows if row[column] is not None]
    return bool(values) and not any(isinstance(value, str) for value in values)


def grid_markdown(grid: Grid, *, caption: bool = True, most: int | None = None) -> str:
    """The table in Markdown with its caption and notes; a sentence where it has no rows."""
    head = f"**{markdown(grid.caption)}**\n\n" if caption else ""
    if not grid.rows:
        return f"{head}None: {markdown(grid.why_empty)}.\n"
    rows = grid.rows[:most]
    align = ["---:" if _numeric(grid, index) else "---" for index in range(len(grid.columns))]
    lines = [list(map(markdown, grid.columns)), align]
    lines += [[markdown(grid.text(value)) for value in row] for row in rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = list(grid.notes)
    if len(rows) < len(grid.rows):
        notes.append(f"The first {len(rows):,} of {len(grid.rows):,} rows; all are in tables/{grid.name}.md.")
    end = "".join(f"\n{markdown(note, 2000)}\n" for note in notes)
    return f"{head}{text}\n{end}"


def grid_latex(grid: Grid) -> str:
    """The table in LaTeX, for the packages booktabs and longtable."""
    align = "".join(_alignment(grid, index) for index in range(len(grid.columns)))
    notes = " ".join(latex(note, 2000) for note in grid.notes)
    title = latex(grid.caption) + (f". {notes}" if notes else "")
    head = f"{' & '.join(latex(name) for name in grid.columns)} \\\\"
    width = len(grid.columns)
    body = [f"{' & '.join(latex(grid.text(value)) for value in row)} \\\\" for row in grid.rows]
    if not body:
        body = [f"\\multicolumn{{{width}}}{{l}}{{{latex(f'None: {grid.why_empty}.')}}} \\\\"]
    lines = [
        "% \\usepackage{booktabs,longtable}",
        f"\\begin{{longtable}}{{{align}}}",
        f"\\caption{{{title}}}\\label{{tab:{grid.name}}} \\\\",
        "\\toprule",
        head,
        "\\midrule",
        "\\endfirsthead",
        "\\toprule",
        head,
        "\\midrule",
        "\\endhead",
        *body,
        "\\bottomrule",
        "\\end{longtable}",
    ]
    return "\n".join(lines) + "\n"


def _alignment(grid: Grid, column: int) -> str:
    """Right for numbers, left for words, a paragraph for sentences."""
    if _numeric(grid, column):
        return "r"
    longest = max((len(grid.text(row[column])) for row in grid.rows), default=0)
    return "l" if longest <= WIDE else f"p{{{WIDE_COLUMN}\\linewidth}}"


def heading(level: int, text: str) -> str:
    return f"{'#' * level} {markdown(text, 200)}"


def bullets(lines: Sequence[str]) -> str:
    """A list of lines that are Markdown already."""
    return "\n".join(f"- {line}" for line in lines)
