"""Reports: pages a person opens offline and reads with pleasure."""

from heartfelt.report.overview import write_overview

__all__ = ["write_overview"]
