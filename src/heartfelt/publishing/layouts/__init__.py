"""Ways to arrange a release in files: for Hugging Face, WebDataset, spreadsheets and R, and as published systems do."""

from heartfelt.publishing.layouts.layout import LAYOUTS

__all__ = ["LAYOUTS"]
