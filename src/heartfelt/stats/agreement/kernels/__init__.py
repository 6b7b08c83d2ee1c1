"""Compiled loops of the agreement statistics."""
