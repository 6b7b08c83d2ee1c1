"""Predictions against labels: metrics, their intervals, differences, calibration and combinations."""
