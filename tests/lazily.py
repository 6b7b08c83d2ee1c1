"""Libraries that few tests use: every worker collects all tests, and would import them for nothing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazily:
    """A module that is imported when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks at every name of a module
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
