"""What the authors state and what columns mean: details, licences, descriptions."""
