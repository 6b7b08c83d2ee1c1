from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.screening import POLICIES, RULES, parse_policy
from tests.docs.reference import meanings, settings_pages

PAGE = Path(__file__).resolve().parents[2] / "docs" / "screening.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_rule_has_a_section_and_every_section_a_rule(page: str) -> None:
    sections = {line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")}
    assert sections == set(RULES)


@pytest.mark.slow
def test_every_policy_rule_and_setting_is_described(page: str) -> None:
    for name in POLICIES:
        assert f"`{name}`" in page
    reference = settings_pages()["screening.md"]
    assert {*POLICIES, *RULES} <= meanings(reference).keys()
    for name in RULES:
        assert f"| `{name}` | {RULES[name].about} |" in reference
        for setting, (_, about) in RULES[name].settings.items():
            assert re.search(
                rf"^\| `{name}` \| `{setting}` \| \S+ \| {re.escape(about)} \|$", reference, re.MULTILINE
            ), setting


def test_the_policy_in_the_page_is_one(page: str) -> None:
    policy = parse_policy(page.split("```yaml\n")[1].split("```")[0])
    assert policy.name == "house"
    assert policy.action("anchor") == "drop"
    assert policy.action("p913") == "off"


def test_every_rule_says_what_it_is_about() -> None:
    for name in RULES:
        rule = RULES[name]
        assert rule.name == name
        assert len(rule.about) > 20
        assert rule.statistic
        assert all(len(about) > 10 for _, about in rule.settings.values())
