"""Predicted conveyance as files: numbers, predictions, figures and a page that says what it is."""

from heartfelt.report.conveyance.write import headline, write_conveyance

__all__ = ["headline", "write_conveyance"]
