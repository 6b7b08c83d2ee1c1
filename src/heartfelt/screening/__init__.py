"""The raters and ratings kept, with a ledger of what was left out and why."""

from heartfelt.screening.panel import Panel, screen
from heartfelt.screening.policy import POLICIES, Policy, parse_policy
from heartfelt.screening.rule import FLAGS, Rule, RuleOptions, error_controlled_flags
from heartfelt.screening.rules import RULES
from heartfelt.screening.view import RatingsView

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
