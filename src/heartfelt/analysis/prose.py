"""The environment of the templates of sentences: in a block, every line is a sentence, or a clause of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from heartfelt.wording import (
    interval,
    listed,
    number,
    p_value,
    percent,
    percent_interval,
    plural,
    share,
    spaced,
)

FILTERS: tuple[Callable[..., str], ...] = (
    interval,
    listed,
    number,
    p_value,
    percent,
    percent_interval,
    plural,
    share,
    spaced,
)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("heartfelt.analysis", ""),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    return environment


def block_lines(template: str, block: str, **values: object) -> list[str]:
    """The lines of one block of a template; empty ones are left out."""
    parts = _environment().get_template(template)
    text = "".join(parts.blocks[block](parts.new_context(values)))
    return [line for line in text.split("\n") if line]
