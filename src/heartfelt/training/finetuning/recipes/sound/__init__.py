"""Recipes for sound and its prompt."""
