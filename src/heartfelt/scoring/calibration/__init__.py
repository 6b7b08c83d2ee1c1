"""Agreement by part: calibration, where models fail, and what their answers are worth in ratings."""
