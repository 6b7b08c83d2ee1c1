"""The forms an answer can take."""
