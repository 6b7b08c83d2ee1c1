"""Docstrings as Markdown: roles and double back-ticks become code, numpydoc sections lists and examples."""

from __future__ import annotations

import inspect
import re
from typing import Any

SECTION = re.compile(r"^(Parameters|Returns|Yields|Raises|Attributes|Examples|Notes|See Also)\n-{3,}$", re.MULTILINE)


def markdown_of(value: Any) -> str:
    """The docstring of an object as Markdown, empty where it has none of its own."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and (not value.__doc__ or text.startswith(f"{value.__name__}(")):
        return ""
    return markdown(text)


def first_paragraph(value: Any) -> str:
    """The first paragraph of an object's docstring, on one line, for a table."""
    text = markdown(inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)
    opening, *rest = SECTION.split(text)
    parts = [re.sub(r"::\n", ":\n", opening).rstrip()]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(f"**{title}**")
        parts.append(
            _example(body) if title == "Examples" else _entries(body, named=title in ("Parameters", "Attributes"))
        )
    return "\n\n".join(part for part in parts if part)


def _entries(body: str, named: bool) -> str:
    """``name : type`` with an indented text below, as a list; text that is not indented stays as it is."""
    lines: list[str] = []
    for line in body.strip("\n").splitlines():
        if not line.strip():
            continue
        if line.startswith(" "):
            lines.append(f"  {line.strip()}")
        elif named and " : " in line:
            name, kind = line.split(" : ", 1)
            lines.append(f"- **{name.strip()}** (*{kind.strip()}*):")
        else:
            lines.append(f"- *{line.strip()}*:" if not named else f"- **{line.strip()}**:")
    return "\n".join(lines)


def _example(body: str) -> str:
    """Lines at the prompt as a block of Python, with what they print."""
    return f"```pycon\n{inspect.cleandoc(body)}\n```"
