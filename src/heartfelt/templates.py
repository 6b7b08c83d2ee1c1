"""Templates of texts: Markdown and plain sentences in ``*.j2`` files beside the code that fills them.

An undefined name is an error. Every template can write numbers and lists as :mod:`heartfelt.wording` does; what only one package
needs is passed as a further filter. Pages have environments that escape HTML.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from heartfelt.wording import interval, listed, number, p_value, percent, percent_interval, plural, share, spaced

_FILTERS: tuple[Callable[..., str], ...] = (
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


def text_templates(package: str, **filters: Callable[..., Any]) -> Environment:
    """The environment of the templates of ``package``; ``filters`` join those that all templates have.

    Templates are in the folder ``templates`` of the package, or else beside its modules.
    """
    folder = "templates" if (resources.files(package) / "templates").is_dir() else ""
    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=False,  # not HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {function.__name__: function for function in _FILTERS} | filters
    return environment
