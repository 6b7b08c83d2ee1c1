"""What goes into a running collection and what comes back: commands, steps, refusals."""
