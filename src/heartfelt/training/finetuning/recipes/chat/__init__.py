"""Language models that see or hear, fine-tuned to answer a study's questions."""
