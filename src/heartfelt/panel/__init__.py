"""The raters and ratings kept, with a ledger of what was left out and why."""

from heartfelt.panel.panel import Panel, screen
from heartfelt.panel.policy import POLICIES, Policy, parse_policy
from heartfelt.panel.rule import FLAGS, Rule, RuleOptions, error_controlled_flags
from heartfelt.panel.rules import RULES
from heartfelt.panel.view import RatingsView

__all__ = [
    "FLAGS",
    "POLICIES",
    "RULES",
    "Panel",
    "Policy",
    "RatingsView",
    "Rule",
    "RuleOptions",
    "error_controlled_flags",
    "parse_policy",
    "screen",
]
