"""Set-level metrics: how far each system's stimuli lie from a reference set."""
