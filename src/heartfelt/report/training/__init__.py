"""A training's evaluation as files: the table, the predictions behind it, a figure and a page."""

from heartfelt.report.training.write import evaluation_chart, write_evaluation

__all__ = ["evaluation_chart", "write_evaluation"]
