"""``from heartfelt import stats``: every public name is there, and is the function of that name."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from heartfelt import stats
from tests.cases import check_all

STUB = ast.parse(Path(stats.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
IMPORTS = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]


@check_all("name", stats.__all__)
def test_each_name_is_callable(name: str) -> None:
    result = getattr(stats, name)
    assert callable(result)
    assert result.__name__ == name


def test_type_checkers_and_users_see_the_same_names() -> None:
    (listed,) = (node for node in STUB.body if isinstance(node, ast.Assign))
    assert set(ast.literal_eval(listed.value)) == set(stats.__all__)


def test_a_module_of_the_same_name_does_not_hide_the_function() -> None:
    for node in IMPORTS:
        importlib.import_module(f"heartfelt.stats.{node.module}")
    for name in stats.__all__:
        assert callable(getattr(stats, name)), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="attribute kappaa"):
        getattr(stats, "kappa" + "a")
