"""Rules about answers to single stimuli."""
