"""Which model is better, where it fails, and the boards of several runs."""
