"""What predictions are scored against: labels, choices between stimuli, and the sound behind items."""
