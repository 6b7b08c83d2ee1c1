"""The web application: rater pages, researcher dashboard, API."""
