"""How the pages' templates are rendered: a name that is missing, or a value that is not text, stops the page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined


class PageEnvironment(Environment):
    """Looks names up in a mapping as keys only: ``texts.copy`` is the text called "copy", never the method."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """``obj.attribute`` in a template."""
        if isinstance(obj, Mapping):
            return self._key(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """``obj[argument]`` in a template."""
        if isinstance(obj, Mapping):
            return self._key(obj, argument)
        return super().getitem(obj, argument)

    def _key(self, obj: Mapping[Any, Any], key: Any) -> Any:
        return obj[key] if key in obj else self.undefined(obj=obj, name=key)


def printable(value: Any) -> Any:
    """The value, if a template may print it: text or a number, never the ``repr`` of something else."""
    if isinstance(value, str | int | float | Undefined) and not isinstance(value, bool):
        return value
    raise TypeError(f"a template prints a {type(value).__name__}, which is not text")


@cache
def page_environment(package: str) -> Environment:
    """The environment of the templates in ``package``."""
    return PageEnvironment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=printable
    )
