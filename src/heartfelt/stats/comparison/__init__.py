"""Comparisons: pairs, rankings, best-worst choices, ABX and MUSHRA, with intervals over raters and stimuli."""
