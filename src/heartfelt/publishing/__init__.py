"""Publishing: a dataset others can use and nobody can be identified in, with the papers that belong to it."""
