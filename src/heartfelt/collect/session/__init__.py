"""What each command does: pure decisions over the state, with the facts and rows they leave behind."""
