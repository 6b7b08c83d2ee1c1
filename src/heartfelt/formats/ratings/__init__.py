"""Rows as ratings: of single stimuli, of pairs, of sets and of traces, with the study they describe."""
