"""A static site of many benches: an index with every model under its ceiling, and a page a run."""

from heartfelt.report.leaderboard.site import write_leaderboard

__all__ = ["write_leaderboard"]
