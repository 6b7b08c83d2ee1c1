from .write import SiteOptions, write_leaderboard, write_site

__all__ = ["SiteOptions", "write_leaderboard", "write_site"]
