"""Columns as every statistic starts from them: arrays, coded ids and categories, two columns side by side."""
