"""Commands that read ratings and report on them."""
