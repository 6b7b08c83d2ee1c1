"""The environment of the templates of sentences: in a block, every line is a sentence, or a clause of one."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment

from heartfelt.templates import text_templates


@cache
def _environment() -> Environment:
    return text_templates("heartfelt.analysis")


def block_lines(template: str, block: str, **values: object) -> list[str]:
    """The lines of one block of a template; empty ones are left out."""
    parts = _environment().get_template(template)
    text = "".join(parts.blocks[block](parts.new_context(values)))
    return [line for line in text.split("\n") if line]
