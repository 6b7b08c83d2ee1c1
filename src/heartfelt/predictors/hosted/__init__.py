"""Predictors behind a server: language models, and servers that speak EmoLia's contract."""
