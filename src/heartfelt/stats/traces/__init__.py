"""Continuous ratings: agreement of raters over time, and predicted courses against theirs."""
