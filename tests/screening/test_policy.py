from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.errors import InputError, StudyError, UnknownNameError
from heartfelt.screening import POLICIES, RULES, Policy, parse_policy


def test_the_named_policies() -> None:
    assert dict(POLICIES["none"].actions) == {}
    assert set(POLICIES["flag-only"].actions.values()) == {"flag"}
    default = POLICIES["default"]
    assert {rule for rule, action in default.actions.items() if action == "drop"} == {
        "collusion",
        "impossible",
        "informativeness",
        "pattern",
        "straight-lining",
        "always-tie",
        "choice-agreement",
        "flat-trace",
        "side-bias",
    }
    assert set(default.actions) == set(RULES)
    assert POLICIES["strict"].action("bias") == "flag"
    assert POLICIES["strict"].action("longest-run") == "drop"


def test_no_policy_drops_for_bias() -> None:
    assert all(POLICIES[name].action("bias") != "drop" for name in POLICIES)


def test_a_line_changes_a_named_policy() -> None:
    policy = parse_policy("default, anchor=drop, longest-run=off, alpha=0.01, at_most_dropped=0.3, keep_source=no")
    assert policy.action("anchor") == "drop"
    assert policy.action("longest-run") == "off"
    assert policy.action("informativeness") == "drop"
    assert (policy.alpha, policy.at_most_dropped, policy.keep_source) == (0.01, 0.3, False)
    only = parse_policy("anchor=drop")
    assert dict(only.actions) == {"anchor": "drop"}


def test_a_file_and_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "house.yaml"
    path.write_text(
        "name: house\nbase: flag-only\ndrop: [collusion]\noff: anchor\nsettings:\n  collusion: {band: 8}\n",
        encoding="utf-8",
    )
    policy = parse_policy(path)
    assert policy.name == "house"
    assert policy.action("collusion") == "drop"
    assert policy.action("anchor") == "off"
    assert policy.options("collusion", 7).settings == {"band": 8}
    assert policy.options("collusion", 7).seed == 7
    again = parse_policy({k: v for k, v in policy.to_json().items() if k != "about"} | {"base": "none"})
    assert again.to_json() | {"about": ""} == policy.to_json() | {"about": ""}
    assert parse_policy(policy) is policy
    assert parse_policy("{base: default, alpha: 0.2}").alpha == 0.2
    assert parse_policy("{base: default, level: 0.2}").alpha == 0.2, "as policies of earlier versions have it"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("defalt", UnknownNameError, "default"),
        ("default, ancor=drop", UnknownNameError, "anchor"),
        ("default, anchor=remove", InputError, "anchor"),
        ("default, alpha=2", InputError, "level"),
        ("default, alpha=high", InputError, "number"),
        ("default, at_most_dropped=3", InputError, "at_most_dropped"),
        ("nowhere.yaml", InputError, "cannot be read"),
        ("{drop: [collusion", StudyError, "YAML"),
        ("{settings: [collusion]}", InputError, "settings"),
        ("[default]\n[strict]", StudyError, "YAML"),
    ],
)
def test_mistakes_are_named(given: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        parse_policy(given)


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(InputError, match="hide"):
        Policy(name="x", actions={"anchor": "hide"})  # type: ignore[dict-item]  # what is being tested
