"""Every statistic has its section in docs/methods: formula, assumptions, interval, authors, and what it was checked against."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from heartfelt import stats
from heartfelt.stats import inference
from tests.cases import check_all

PAGES = sorted(path for path in (Path(__file__).resolve().parents[2] / "docs" / "methods").glob("*.md"))
STATS = Path(__file__).resolve().parents[2] / "src" / "heartfelt" / "stats"
# Parts of the others: they give an estimate its bounds, or are one step of a statistic that has a section.
STEPS = {
    "bounded_metric", "chi_square_interval", "crossed_mean", "mean_over_stimuli", "metric_estimate", "number_ceiling", "spread_of",
    "ratio_over_raters", "stepped", "with_bounds", "with_spread", "bounded",
}  # fmt: skip
PARTS = ("Assumes", "Interval", "After", "Checked against")


def sections() -> dict[str, tuple[Path, str]]:
    """Each section by its heading; those of the overview are about how to read the others."""
    return {
        f"{page.stem}: {part.splitlines()[0]}": (page, part)
        for page in PAGES
        if page.stem != "index"
        for part in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    }


@pytest.mark.slow
def test_every_public_statistic_has_its_section() -> None:
    named = {
        name
        for _, text in sections().values()
        for name in re.findall(r"`(\w+)`", text.split("```math")[0].partition("\n")[2])
    }
    functions = {name for name in inference.__all__ if name[0].islower()}
    assert {*stats.__all__, *functions, *estimating()} - named - STEPS == set()


def estimating() -> set[str]:
    """Public functions anywhere in the package whose result is an estimate."""
    return {
        node.name
        for path in STATS.rglob("*.py")
        if not path.name.startswith("_")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.returns and not node.name.startswith("_")
        if ast.unparse(node.returns) in ("Estimate", "Estimate | None")
    }


@check_all("heading", sections())
def test_a_section_has_every_part(heading: str) -> None:
    page, text = sections()[heading]
    assert "```math" in text, "a formula"
    for part in PARTS:
        assert re.search(rf"^- \*\*{part}\*\* \S", text, re.MULTILINE), part
    after = re.search(r"^- \*\*After\*\* (.*?)\n- ", text, re.MULTILINE | re.DOTALL)
    assert after is not None
    assert re.search(r"\(\d{4}|ITU|the ", after[1]), "authors with a year, a recommendation, or the definition"
    checked = text[text.index("**Checked against**") :]
    links = re.findall(r"\]\((\.\./\.\./tests/[^)]+)\)", checked)
    assert links, "where the tests are"
    for link in links:
        assert "assert" in (page.parent / link).read_text(encoding="utf-8"), link


def test_every_formula_becomes_mathml() -> None:
    """The site draws formulas without a script; what the converter does not know is an error, never shown as it is."""
    path = PAGES[0].parents[2] / "scripts" / "docs_site" / "mathml.py"
    spec = importlib.util.spec_from_file_location("mathml", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    formulas = re.findall(r"^```math\n(.*?)^```", text, re.MULTILINE | re.DOTALL) + re.findall(r"\$`([^`]+)`\$", text)
    assert len(formulas) > 100
    for formula in formulas:
        drawn = ElementTree.fromstring(module.mathml(formula))
        shown = "".join(each.text or "" for each in drawn.iter() if each.tag != "annotation")
        assert "\\" not in shown
        assert "$" not in shown
    half = ElementTree.fromstring(module.mathml(r"\frac{1}{2} x_i^2"))
    assert [each.tag for each in half.iter()][2:6] == ["mrow", "mfrac", "mrow", "mn"]
    with pytest.raises(ValueError, match="unknown command"):
        module.mathml(r"\unheard{x}")
    with pytest.raises(ValueError, match="ends too early"):
        module.mathml(r"\frac{1}")
