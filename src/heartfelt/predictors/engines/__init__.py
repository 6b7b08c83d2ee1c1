"""One file per engine."""
