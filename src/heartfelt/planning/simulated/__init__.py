"""Designs, simulated: who rates what, drawn answers, and what their analysis shows."""
