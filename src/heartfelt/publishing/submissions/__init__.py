"""The ledger of a challenge, and what is published of hidden scores."""
