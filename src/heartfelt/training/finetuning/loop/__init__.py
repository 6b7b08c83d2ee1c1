"""The training loop, the same for every recipe: steps, batches, checkpoints."""
