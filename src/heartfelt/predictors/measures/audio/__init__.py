"""Measures of sounds, with and without a reference."""
