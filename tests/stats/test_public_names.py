"""``from heartfelt import stats``: every public name is there, and is the function of that name."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from heartfelt import stats


def declared() -> set[str]:
    """The names a type checker is told about."""
    tree = ast.parse(Path(stats.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("name", stats.__all__)
def test_each_name_is_callable(name: str) -> None:
    result = getattr(stats, name)
    assert callable(result)
    assert result.__name__ == name


def test_type_checkers_and_users_see_the_same_names() -> None:
    assert declared() == set(stats.__all__) == {name for names in stats._HOMES.values() for name in names}


def test_a_module_of_the_same_name_does_not_hide_the_function() -> None:
    for home in stats._HOMES:
        importlib.import_module(f"heartfelt.stats.{home}")
    for name in stats.__all__:
        assert callable(getattr(stats, name)), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'kappaa'"):
        stats.kappaa  # noqa: B018  # asking is the test
