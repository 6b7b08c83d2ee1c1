"""Screening: which raters and ratings are retained, with a ledger of what was dropped and why."""

from heartfelt.moved import with_former_names
from heartfelt.screening.panel import Panel, PanelCounts, RuleSummary, screen
from heartfelt.screening.policy import POLICIES, Policy, parse_policy
from heartfelt.screening.rule import FLAGS, RuleOptions, ScreeningRule, error_controlled_flags
from heartfelt.screening.rules import RULES
from heartfelt.screening.view.ratings import RatingsView

__all__ = [
    "FLAGS",
    "POLICIES",
    "RULES",
    "Panel",
    "PanelCounts",
    "Policy",
    "RatingsView",
    "RuleOptions",
    "RuleSummary",
    "ScreeningRule",
    "error_controlled_flags",
    "parse_policy",
    "screen",
]

__getattr__ = with_former_names(__name__)
