"""The raters: screening, groups, questionnaires, and what leaving some out would change."""
