"""Which versions of a stimulus's media raters were shown."""

from __future__ import annotations

import polars as pl
from sqlalchemy import Connection, text

from heartfelt.collect.reading.tables import query


def versions(connection: Connection) -> pl.DataFrame:
    """Every version of every file that was served: since when, its hash and size."""
    columns = "stimulus text, version integer, at moment, hash text, bytes integer, modified integer"
    return query(connection, columns, "FROM media_versions ORDER BY stimulus, version")


def latest_version(connection: Connection, stimulus: str) -> dict[str, object]:
    """The latest version of a stimulus's file."""
    query = text(
        "SELECT stimulus, version, hash, bytes, modified FROM media_versions WHERE stimulus = :stimulus"
        " ORDER BY version DESC LIMIT 1"
    )
    rows = connection.execute(query, {"stimulus": stimulus}).mappings().all()
    return dict(rows[0])


def rated_stimuli(connection: Connection) -> set[str]:
    """Stimuli with answers that count, alone or in a set."""
    rows = connection.exec_driver_sql(
        "SELECT g.stimulus FROM ratings g JOIN answers a ON a.trial = g.trial WHERE a.kind <> 'practice'"
        " UNION SELECT m.stimulus FROM members m JOIN answers a ON a.trial = m.trial WHERE a.kind <> 'practice'"
    )
    return {stimulus for stimulus in rows.scalars() if stimulus is not None}


def with_media_version(connection: Connection, ratings: pl.DataFrame) -> pl.DataFrame:
    """The ratings with the column ``media_version``, where a stimulus among them has had more than one.

    A rating belongs to the version that was served when its trial was shown.
    """
    later = versions(connection).filter(pl.col("version") > 1).select("stimulus", "version", "at")
    if not later["stimulus"].is_in(ratings["stimulus"].implode()).any():
        return ratings
    shown = pl.col("at") - pl.duration(seconds=pl.col("seconds").fill_null(0.0))
    return (
        ratings.with_row_index("_row")
        .with_columns(shown.alias("_shown"))
        .sort("_shown")
        .join_asof(
            later.sort("at").rename({"at": "_since", "version": "media_version"}),
            left_on="_shown",
            right_on="_since",
            by="stimulus",
            check_sortedness=False,
        )
        .sort("_row")
        .with_columns(pl.col("media_version").fill_null(1))
        .drop("_row", "_shown", "_since")
    )
