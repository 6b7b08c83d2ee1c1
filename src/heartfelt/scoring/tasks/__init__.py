"""Scores by kind of answer: numbers, categories, yes/no, choices, traces and texts."""
