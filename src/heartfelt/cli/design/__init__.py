"""Commands that design a study and make its stimuli."""
