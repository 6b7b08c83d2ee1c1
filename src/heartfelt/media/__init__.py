"""Media files: one way to open, probe and decode sound and images, and to prepare clips for raters."""
