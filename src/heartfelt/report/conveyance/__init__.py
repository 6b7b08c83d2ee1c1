"""Predicted conveyance as files: numbers, predictions, figures and a page that says what it is."""

from heartfelt.report.conveyance.write import flagged_words, headline, write_conveyance

__all__ = ["flagged_words", "headline", "write_conveyance"]
