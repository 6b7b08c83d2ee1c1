"""Running generators: the plan, the ledger, licences, provenance, and what is left to make."""
