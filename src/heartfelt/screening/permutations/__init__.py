"""Tests that shuffle a rater's trials, by NumPy and as compiled loops."""
