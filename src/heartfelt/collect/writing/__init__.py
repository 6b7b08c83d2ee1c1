"""The one writer: it decides, stores, and keeps the state that the journal describes."""
