"""Templates print texts: a name is looked up as a key, and what is not text stops the page."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from heartfelt.web.requests.templates import PageEnvironment, page_environment, printable

SOURCE = Path(__file__).resolve().parents[2] / "src" / "heartfelt"
TEMPLATES = sorted({*SOURCE.glob("**/templates/*.html"), *SOURCE.glob("report/assets/*.html")})
METHODS = {name for name in dir(dict) if not name.startswith("_")}


def render(text: str, **values: object) -> str:
    environment = PageEnvironment(undefined=jinja2.StrictUndefined, finalize=printable)
    return environment.from_string(text).render(**values)


def test_a_key_named_like_a_method_is_the_key() -> None:
    texts = {"copy": "Copy", "items": "Items", "keys": "Keys", "values": "Values"}
    assert render("{{ t.copy }} {{ t.items }} {{ t.keys }} {{ t['values'] }}", t=texts) == "Copy Items Keys Values"


@pytest.mark.parametrize("text", ["{{ t.copy }}", "{{ t['update'] }}", "{{ t.missing }}"])
def test_a_text_that_is_missing_stops_the_page(text: str) -> None:
    with pytest.raises(jinja2.UndefinedError):
        render(text, t={})


@pytest.mark.parametrize("value", [None, True, {"a": 1}, ["a"], print, object()])
def test_what_is_not_text_stops_the_page(value: object) -> None:
    with pytest.raises(TypeError, match="not text"):
        render("{{ value }}", value=value)


def test_the_pages_use_this_environment() -> None:
    for package in ("rater", "study", "api"):
        environment = page_environment(f"heartfelt.web.{package}")
        assert isinstance(environment, PageEnvironment)
        assert environment.undefined is jinja2.StrictUndefined
    for path in SOURCE.glob("web/**/*.py"):
        if path.name != "templates.py":
            assert "Environment(" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_prints_a_method(path: Path) -> None:
    """Only a call may name a method: ``{{ texts.copy }}`` printed one on every last page."""
    tree = jinja2.Environment().parse(path.read_text(encoding="utf-8"))
    called = {id(call.node) for call in tree.find_all(nodes.Call)}
    web = "web" in path.relative_to(SOURCE).parts
    for result in tree.find_all(nodes.Getattr):
        if result.attr in METHODS:
            assert web or id(result) in called, f"{path.name}:{result.lineno} .{result.attr}"
