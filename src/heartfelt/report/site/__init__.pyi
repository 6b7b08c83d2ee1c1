from .options import SiteOptions
from .write import write_leaderboard, write_site

__all__ = ["SiteOptions", "write_leaderboard", "write_site"]
