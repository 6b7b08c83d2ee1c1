"""heartfelt: find out what generated media makes people feel, and how well a machine can tell."""

__version__ = "0.1.0"
