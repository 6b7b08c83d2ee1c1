"""What a plan assumes of raters and stimuli: from a pilot, from published studies, and how sure that is."""
