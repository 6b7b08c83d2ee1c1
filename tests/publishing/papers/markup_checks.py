"""Independent readers of what papers are written in: Markdown by markdown-it, LaTeX by a parser of our own."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = (
    "a | b || c",
    "`code` ``` fence",
    "<script>alert(1)</script><b>",
    "100% & $5_000 #1 ~x^2 \\alpha {brace}",
    "first\nsecond\r\n\n# third\n---\n",
    "[text](javascript:alert(1)) ![x](y) [ref]: z",
    "- list\n1. item\n> quote",
    "*star* _under_ ~~gone~~ **bold**",
    "&lt; &#60; &amp;nbsp;",
    "yes: no: null\t!!python/object {{ x }} %YAML",
    "静かな音楽はどんな感じですか？ مرحبا 🎵",
    "\\end{tabular} \\input{/etc/passwd} $$",
    "--- ...",
    "'quotes' \"double\" “curly”",
    "\x00\x07\u202edesrever\ufeff",
    "no",
    "x" * 5000,
)


def inline_text(source: str) -> str:
    """The text of a paragraph that must be plain: nothing but text in one paragraph."""
    tokens = MARKDOWN.parse(source)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], source
    return plain_children(tokens[1])


def plain_children(token: Token) -> str:
    """The text of an inline token without any markup."""
    children = token.children or []
    assert {child.type for child in children} <= {"text", "text_special", "entity"}, token.content
    return "".join(child.content for child in children)


def tables_in(source: str) -> list[list[list[str]]]:
    """Every table of a page: rows of cells as text; code in a cell counts as text."""
    tables: list[list[list[str]]] = []
    inside = False
    for token in MARKDOWN.parse(source):
        if token.type in {"table_open", "table_close"}:
            inside = token.type == "table_open"
            tables += [[]] if inside else []
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and inside:
            tables[-1][-1].append("".join(child.content for child in token.children or []))
    return tables


def check_page(source: str) -> None:
    """A page has no raw HTML, and links only to the web or to the release's own files."""
    for token in MARKDOWN.parse(source):
        assert token.type != "html_block", token.content
        for child in token.children or []:
            assert child.type != "html_inline", child.content
            target = child.attrGet("href") or child.attrGet("src")
            assert target is None or re.match(r"https?://|figures/[\w-]+\.png$", str(target)), target


TOKEN = re.compile(r"\\\\|\\[A-Za-z]+|\\.|[{}$&%#_^~]|[^\\{}$&%#_^~]+", re.DOTALL)
COMMANDS = {
    *("begin", "end", "caption", "label", "toprule", "midrule", "bottomrule", "endfirsthead", "endhead", "multicolumn"),
    *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "linewidth"),
    *("times", "geq", "leq", "pm", "rightarrow", "cdot"),
}


def check_latex(source: str, columns: int) -> int:
    """Balanced braces, math and environments, known commands only, as many cells in each row; returns the rows."""
    lines = [line for line in source.splitlines() if not line.startswith("% ")]
    text = "\n".join(lines)
    depth, math, cells, rows, spans = 0, False, 0, 0, False
    assert text.count("\\begin{longtable}") == text.count("\\end{longtable}") == 1
    body = text[text.index("\\endhead") + len("\\endhead") : text.index("\\bottomrule")]
    for token in TOKEN.findall(text):
        assert token not in {"#", "_", "^", "%"}, token
        depth += {"{": 1, "}": -1}.get(token, 0)
        assert depth >= 0
        math ^= token == "$"
        if re.match(r"\\[A-Za-z]+", token):
            assert token[1:] in COMMANDS, token
    assert depth == 0
    assert not math
    for token in TOKEN.findall(body):
        depth += {"{": 1, "}": -1}.get(token, 0)
        cells += token == "&" and depth == 0
        spans |= token == "\\multicolumn"
        if token == "\\\\":
            assert spans or cells == columns - 1, body[:200]
            cells, rows, spans = 0, rows + 1, False
    return rows
