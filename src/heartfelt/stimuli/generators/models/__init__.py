"""Generators that run a model with PyTorch, and the licences of known models."""
