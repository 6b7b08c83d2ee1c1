"""Loops that numba compiles, random numbers and shuffles they share, and threads of linear algebra."""
