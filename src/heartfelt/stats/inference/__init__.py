"""Tests of hypotheses about ratings: analysis of variance, comparisons, mixed models, permutation,
equivalence.
"""
