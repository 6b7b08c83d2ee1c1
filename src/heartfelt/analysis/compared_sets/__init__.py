"""Questions about several stimuli together, and traces."""
