"""Papers of a release."""
