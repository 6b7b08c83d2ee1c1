"""A study folder as it stands: its manifest, drafts, arms and sets."""
