"""The stimuli a model is fine-tuned on, with labels and parts."""
