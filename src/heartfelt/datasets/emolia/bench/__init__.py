"""The files of emolia-bench: labels, slices, summaries and reports."""
