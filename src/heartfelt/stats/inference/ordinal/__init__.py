"""Cumulative link models of ordered categories with crossed random effects."""
