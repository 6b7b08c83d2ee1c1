"""Commands around a running study."""
