"""Figures for print: Matplotlib draws charts in one style, the same bytes for the same data.

Matplotlib is loaded with the modules of this package, which are therefore imported only where something is drawn.
"""
