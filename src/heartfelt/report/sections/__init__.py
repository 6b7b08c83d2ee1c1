"""The sections of an analysis page, one file each: what a reader asks, in the order they ask it."""
