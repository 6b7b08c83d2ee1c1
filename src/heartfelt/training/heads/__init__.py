"""Heads on frozen embeddings: fitted, chosen on inner folds, evaluated and calibrated."""
