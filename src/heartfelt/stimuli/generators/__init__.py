"""The kinds of generators that make.yaml can name."""
