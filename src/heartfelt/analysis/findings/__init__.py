"""What an analysis returns, part by part, as frozen dataclasses."""
