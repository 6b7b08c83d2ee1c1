"""The sections of an analysis page: what a reader asks, in the order they ask it."""
