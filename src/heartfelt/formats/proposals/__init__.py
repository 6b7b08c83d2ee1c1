"""How a table that nobody described can be read: what its columns look like, and the likely layout."""
