"""Personal data in a text: one module for each family of kinds, each a table of patterns with checks."""
