"""Strengths from pairs, rankings and choices out of sets: models, fits, intervals, and which pair to compare next."""
