"""Names of a package that are loaded when first asked for, so that importing the package stays quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def on_demand(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose modules hold the given names.

    A module and a name in it may be called alike: once loaded, the name is what the package has.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        result = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, result)
        return result

    return load
