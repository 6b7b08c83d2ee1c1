"""Predicted choices: scores, calibration, and the best that can be expected."""
