"""Predictions made elsewhere, read from files, and predictions for media files that belong to no study."""
