"""Hidden labels: submissions scored over HTTP, with a ladder that does not give the labels away."""
