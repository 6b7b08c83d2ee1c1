"""The application of a study, and the processes that serve it."""
