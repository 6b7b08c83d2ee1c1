"""What may be published about stimuli whose labels are hidden, and whether that gives the labels away."""
