"""Where a collection is kept: SQLite in the study folder, or PostgreSQL by URL, with migrations."""

from heartfelt.collect.store.database import Database

__all__ = ["Database"]
