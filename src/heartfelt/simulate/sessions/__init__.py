"""Simulated raters who take part in a study: what they are shown, and what they reply."""
