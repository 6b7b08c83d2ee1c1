"""Bringing a store to the layout of this version, under the study's lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.errors import DamagedError

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0002"
"""The newest step in ``migrations/versions``."""
_KNOWN = ("0001", HEAD)


def migrate(connection: Connection) -> None:
    """Make every step that is missing; a store that is newer than this version is left alone, with an error."""
    here = revision(connection)
    if here == HEAD:
        return
    if here is not None and here not in _KNOWN:
        raise DamagedError(
            f"The collected ratings are in layout '{here}', which this version of heartfelt does not know.",
            "A newer heartfelt wrote them: install that version, or a later one.",
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def revision(connection: Connection) -> str | None:
    """The layout the store is in; None for an empty database."""
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
