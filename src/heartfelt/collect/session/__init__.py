"""What each command does: decisions over the state, with the events and rows they leave behind."""
