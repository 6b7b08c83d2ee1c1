"""Intents, prompts and sets of prompts."""
