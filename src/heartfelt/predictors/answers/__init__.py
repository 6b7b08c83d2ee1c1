"""Answers on scales, sets and texts: what a prediction is turned into."""
