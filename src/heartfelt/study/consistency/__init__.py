"""What the parts of a study say of one another."""
