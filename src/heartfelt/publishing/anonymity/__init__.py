"""Making a snapshot anonymous, step by step; every step is recorded."""
