"""Rules about stimuli judged together, and about answers as they were given on the page."""
