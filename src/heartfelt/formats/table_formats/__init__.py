"""The formats of plain tables: one module for each layout."""
