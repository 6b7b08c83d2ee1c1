"""Media made ready for raters: crops, loudness, formats, and how systems differ."""
