"""Policies: which rules are applied, and which of them drop the raters they flag.

A rule only flags; a policy decides. ``drop`` drops the raters (or the batches) a rule flags, ``flag`` only
reports them, and a rule that is neither is not applied. A policy is named, read from a YAML file, or written in
line: ``default, anchor=drop, longest-run=off, level=0.01``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.registry import Registry
from heartfelt.screening.rule import RuleOptions
from heartfelt.screening.rules import RULES
from heartfelt.study.yaml_lines import read_yaml

Action: TypeAlias = Literal["drop", "flag", "off"]

_KEYS = (
    *("name", "about", "base", *get_args(Action)),
    *("alpha", "at_most_dropped", "least_raters", "keep_source", "settings"),
)
_FORMER = "level"
"""What ``alpha`` was called in files of earlier versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What to do with flagged raters.

    ``alpha`` is the family-wise error rate of every rule. If more than the share
    ``at_most_dropped`` of the raters would be dropped, or fewer than ``least_raters`` would remain, nobody is: a person has
    to look at such a panel. Raters who give one answer throughout do not count towards that share. Of a group whose answers
    run in parallel, ``keep_source`` keeps the rater whose own answers clearly follow what was played, if there is one.
    """

    name: str
    about: str = ""
    actions: Mapping[str, Action] = field(default_factory=dict)
    alpha: float = 0.05
    at_most_dropped: float = 0.5
    least_raters: int = 2
    keep_source: bool = True
    settings: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule, action in self.actions.items():
            if rule not in RULES:
                raise UnknownNameError(f"No rule is called '{rule}'.", suggestion(rule, RULES, "Known rules"))
            if action not in get_args(Action):
                raise InputError(
                    f"The policy has an unknown action '{action}' for the rule '{rule}'.",
                    suggestion(str(action), get_args(Action), "Actions"),
                )
        if not 0.0 <= self.at_most_dropped <= 1.0 or self.least_raters < 0:
            raise InputError(
                f"at_most_dropped is {self.at_most_dropped} and least_raters is {self.least_raters}.",
                "Give at_most_dropped from 0 to 1 and least_raters of 0 or more.",
            )
        # Checks the level, with the words that a rule would use.
        RuleOptions(alpha=self.alpha)
        object.__setattr__(self, "actions", MappingProxyType(dict(self.actions)))
        object.__setattr__(
            self,
            "settings",
            MappingProxyType({rule: dict(rule_settings) for rule, rule_settings in self.settings.items()}),
        )

    def action(self, rule: str) -> Action:
        """What to do by a rule; ``off`` if the policy does not name it."""
        return self.actions.get(rule, "off")

    def options(self, rule: str, seed: int) -> RuleOptions:
        """How a rule is applied under this policy."""
        return RuleOptions(self.alpha, seed, self.settings.get(rule, {}))

    def applies_like(self, other_policy: Policy) -> bool:
        """Whether both apply the same rules in the same way, whatever they then decide."""
        applied, theirs = (
            {rule for rule, action in policy.actions.items() if action != "off"} for policy in (self, other_policy)
        )
        return applied == theirs and self.alpha == other_policy.alpha and self.settings == other_policy.settings

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "about": self.about,
            "drop": [rule for rule, action in self.actions.items() if action == "drop"],
            "flag": [rule for rule, action in self.actions.items() if action == "flag"],
            "alpha": self.alpha,
            "at_most_dropped": self.at_most_dropped,
            "least_raters": self.least_raters,
            "keep_source": self.keep_source,
            "settings": {rule: dict(rule_settings) for rule, rule_settings in self.settings.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        return _from_data(data, "the policy")


def actions_of(drop: Iterable[str] = (), flag: Iterable[str] | None = None) -> dict[str, Action]:
    """Drop by some rules and flag by others, all the rest if none are named."""
    dropped = set(drop)
    shown = set(RULES if flag is None else flag)
    return {rule: "drop" if rule in dropped else "flag" for rule in RULES if rule in dropped | shown}


POLICIES: Registry[Policy] = Registry("policy", homes=("heartfelt.datasets.*.policy",))
for _policy in (
    Policy(name="none", about="apply no rule and keep everyone"),
    Policy(name="flag-only", about="apply every rule and keep everyone", actions=actions_of()),
    Policy(
        name="default",
        about="drop raters whose answers carry no information about the stimuli, run in parallel with another rater's, or come"
        " with impossible listening",
        actions=actions_of(
            [
                "informativeness",
                "collusion",
                "straight-lining",
                "side-bias",
                "always-tie",
                "choice-agreement",
                "flat-trace",
                "impossible",
                "pattern",
            ]
        ),
    ),
    Policy(
        name="strict",
        about="drop every rater that any rule flags, except for bias and the standards' outlier counts",
        actions=actions_of([rule for rule in RULES if rule not in {"bias", "bt500", "p913", "mushra"}]),
    ),
    Policy(name="bt500", about="drop raters as ITU-R BT.500 does", actions=actions_of(["bt500"])),
    Policy(
        name="p913", about="drop raters as ITU-T P.913 does, with biases removed first", actions=actions_of(["p913"])
    ),
):
    POLICIES.add(_policy.name, _policy)


def parse_policy(source: Policy | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a policy, a name, a YAML file, plain data, or a line of changes to a named policy."""
    if isinstance(source, Policy):
        return source
    if isinstance(source, Mapping):
        return _from_data(source, "the policy")
    text = str(source).strip()
    if text in POLICIES:
        return POLICIES[text]
    if text.lower().endswith((".yaml", ".yml")):
        path = Path(text)
        try:
            content = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"The policy {path} cannot be read.", "Point to a YAML file, or name a policy.") from error
        return _from_data(read_yaml(content, str(path)).data, str(path))
    if text.startswith("{") or "\n" in text:
        return _from_data(read_yaml(text, "the policy").data, "the policy")
    if "," in text or "=" in text:
        return _from_line(text)
    raise UnknownNameError(f"No policy is called '{text}'.", suggestion(text, POLICIES, "Known policies"))


def _from_line(text: str) -> Policy:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    base = parts.pop(0) if parts and "=" not in parts[0] else "none"
    rules: dict[str, list[str]] = {action: [] for action in get_args(Action)}
    values: dict[str, str] = {"name": text, "base": base}
    for part in parts:
        key, _, value = (piece.strip() for piece in part.partition("="))
        if value in rules:
            rules[value].append(key)
        else:
            values[key] = value
    return _from_data({**rules, **values}, "the policy")


def _from_data(data: Any, where: str) -> Policy:
    if not isinstance(data, Mapping):
        raise InputError(f"{where} is not a policy.", f"Give a mapping with the keys {', '.join(_KEYS)}.")
    for key in data:
        if key not in (*_KEYS, _FORMER):
            raise InputError(f"{where} has the unknown key '{key}'.", suggestion(str(key), _KEYS, "Keys"))
    base = POLICIES[str(data.get("base", "none"))]
    actions = dict(base.actions)
    for action in get_args(Action):
        named = data.get(action, [])
        for rule in [named] if isinstance(named, str) else named:
            actions[str(rule)] = action
    settings = data.get("settings", {})
    if not isinstance(settings, Mapping) or not all(isinstance(part, Mapping) for part in settings.values()):
        raise InputError(f"{where}: settings must name rules.", "Write settings: {collusion: {band: 8}}.")
    try:
        return replace(
            base,
            name=str(data.get("name", base.name)),
            about=str(data.get("about", base.about)),
            actions=actions,
            settings={**base.settings, **{str(rule): dict(part) for rule, part in settings.items()}},
            alpha=float(data.get("alpha", data.get(_FORMER, base.alpha))),
            at_most_dropped=float(data.get("at_most_dropped", base.at_most_dropped)),
            least_raters=int(data.get("least_raters", base.least_raters)),
            keep_source=str(data.get("keep_source", base.keep_source)).strip().casefold() in {"true", "yes", "1"},
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} has a setting that is not a number: {error}.", "Give alpha and at_most_dropped as numbers."
        ) from error
