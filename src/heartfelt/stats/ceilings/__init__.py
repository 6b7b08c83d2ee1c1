"""The best that anything, human or machine, can be expected to score against labels, and what to compare it with."""
