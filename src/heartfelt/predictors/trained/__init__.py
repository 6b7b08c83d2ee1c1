"""Trained heads on frozen embeddings: what they look at, how they answer, how they are stored."""
