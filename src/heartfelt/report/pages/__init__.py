"""One page, or one folder, per kind of result."""
