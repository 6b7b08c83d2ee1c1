"""The documentation is held to the code: commands run, examples parse, everything registered has its section."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import heartfelt
from heartfelt.cli.app import app
from heartfelt.publishing.deposits import DEPOSITS
from heartfelt.publishing.layouts import LAYOUTS
from heartfelt.scoring import METRICS
from heartfelt.screening import RULES
from heartfelt.stimuli import GENERATORS
from heartfelt.study import SCALES, parse_study
from heartfelt.study.model import Question
from heartfelt.study.parts.design import Design
from heartfelt.study.parts.sets import Sets
from heartfelt.study.recipes import RECIPES
from heartfelt.tables import ADJUDICATIONS, FIELDS, LEDGER, RATINGS, STIMULI
from heartfelt.training.finetuning import FINE_TUNE_RECIPES
from tests.cases import check_all
from tests.docs.reference import meanings, sections, settings_pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = {
    command.name or command.callback.__name__.rstrip("_").replace("_", "-")
    for command in app.registered_commands
    if command.callback
} | {str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance}
FORMER = {"participants", "quota", "token", "erase", "adjudicators", "publish-details", "leaderboard"}
"""Commands of versions before 0.9, which the changelog names."""


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def headings(text: str) -> set[str]:
    return {line.lstrip("#").strip().strip("`") for line in text.splitlines() if line.startswith("#")}


def test_the_make_targets_of_the_read_me_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(ROOT / "README.md", "bash")), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_read_me_is_a_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    assert len(re.findall(r"!\[[^\]]+\]\(", text)) == 2, "two pictures"
    assert 12 <= len(re.findall(r"^heartfelt ", "".join(blocks(ROOT / "README.md", "bash")), re.MULTILINE)) <= 15


@check_all("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_that_is_mentioned_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL))
    inline = re.findall(r"`heartfelt ([a-z][a-z-]+)", text)
    allowed = COMMANDS | FORMER if path.name == "CHANGELOG.md" else COMMANDS
    for command in [*inline, *re.findall(r"^heartfelt ([a-z][a-z-]+)", code, re.MULTILINE)]:
        assert command in allowed, f"{path.name} mentions 'heartfelt {command}'"


@check_all("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_scale_has_its_section() -> None:
    assert set(SCALES) <= headings((ROOT / "docs" / "study.md").read_text(encoding="utf-8"))


def test_every_recipe_has_its_page() -> None:
    for name in RECIPES:
        (page,) = [p for p in PAGES if p.parent.name in {"datasets", "recipes"} and p.stem == name]
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {name}\n")
        assert "\n## The recipe\n" in text


def test_every_training_recipe_has_its_section() -> None:
    """Fine-tuning recipes have a section each; heads on frozen embeddings a row of the table of recipes."""
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert set(FINE_TUNE_RECIPES) <= headings(text)
    for name in ("va-audio", "va-image", "mos-audio"):
        assert f"| `{name}` |" in text


@pytest.mark.slow
def test_every_setting_of_recipes_and_generators_is_in_the_generated_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its meaning, also those of models within models."""
    pages = settings_pages()
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \| (.*) \|$", "".join(pages.values()), re.MULTILINE)
    assert [name for name, _, meaning in rows if not meaning.strip()] == []
    for registry, page in ((FINE_TUNE_RECIPES, "training.md"), (GENERATORS, "generators.md")):
        parts = sections(pages[page])
        shared = parts.get("Every generator", "")
        for name, entry in registry.items():
            for field, info in entry.settings.model_fields.items():
                key = info.alias or field
                assert re.search(rf"^\| `{key}[`.]", shared + parts[name], re.MULTILINE), f"{name}: {key}"


@pytest.mark.slow
def test_every_table_key_and_metric_is_in_the_generated_reference() -> None:
    """Also tables that somebody adds: every contract in the sources, with the meaning of every column."""
    pages = settings_pages()
    for path in (ROOT / "src").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for name in re.findall(r"^([A-Z_]+) = Contract\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            each = getattr(importlib.import_module(module), name)
            head = f"## {each.name}\n\n{each.about[0].upper()}{each.about[1:].replace('``', '`')}."
            assert name == "PREDICTIONS" or head in pages["tables.md"], name
    for contract in (STIMULI, RATINGS, FIELDS, ADJUDICATIONS, LEDGER):
        columns = meanings(sections(pages["tables.md"])[contract.name])
        assert list(columns) == list(contract.names)
        assert all(len(meaning) > 3 for meaning in columns.values())
    assert set(METRICS) == meanings(pages["scoring.md"]).keys()
    for part in (Design, Question, Sets):
        for field, info in part.model_fields.items():
            assert f"| `{info.alias or field}` |" in pages["study.md"], field


def test_every_rule_has_its_section() -> None:
    assert set(RULES) <= headings((ROOT / "docs" / "screening.md").read_text(encoding="utf-8"))


def test_every_generator_has_its_section() -> None:
    assert set(GENERATORS) <= headings((ROOT / "docs" / "make.md").read_text(encoding="utf-8"))


def test_every_release_layout_and_deposit_has_its_section() -> None:
    assert {*LAYOUTS, *DEPOSITS} <= headings((ROOT / "docs" / "layouts.md").read_text(encoding="utf-8"))


def test_the_study_in_the_docs_is_valid() -> None:
    for block in blocks(ROOT / "docs" / "study.md", "yaml"):
        parse_study(block, "docs/study.md")


def test_changelog_citation_and_package_name_one_version() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in headings]
    assert all(dated), headings
    newest = dated[0]
    assert newest is not None
    assert newest[1] == heartfelt.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {newest[1]}\ndate-released: {newest[2]}\n" in citation


def test_nothing_names_the_machine_it_was_written_on() -> None:
    for path in [*PAGES, *ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]:
        if path != Path(__file__):
            assert f"{ROOT.parent}/" not in path.read_text(encoding="utf-8"), path
