"""The tables of a collection. ``journal`` is the one all decisions follow from; everything else is what was said.

Nothing is ever overwritten, except a value that is kept under a name, and nothing is deleted, except what
belongs to a person who asked for it or did not agree to take part. Moments are seconds since 1970 in UTC. Texts that
hold JSON say so.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
# SQLite keeps a table in the order of its INTEGER PRIMARY KEY; any other type would cost an index beside it.
_LONG = BigInteger().with_variant(Integer, "sqlite")


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def _at() -> Column[float]:
    return Column("at", Float(53), nullable=False)


journal = Table(
    "journal",
    metadata,
    Column("seq", _LONG, primary_key=True, autoincrement=False),
    _at(),
    _text("kind"),
    Column("rater", Integer),
    Column("trial", BigInteger),
    Column("unit", Integer),
    Column("number", Float(53)),
    _text("words", nullable=True),
)
units = Table(
    "units",
    metadata,
    Column("unit", Integer, primary_key=True, autoincrement=False),
    _text("stimulus"),
    _text("question"),
    UniqueConstraint("stimulus", "question", name="units_once"),
)
versions = Table(
    "versions",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    _at(),
    _text("hash"),
    _text("study"),
    _text("changes", nullable=True),
)
raters = Table(
    "raters",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    _text("rater"),
    _at(),
    _text("recruiter"),
    _text("person", nullable=True),
    _text("facts"),
    _text("language"),
    _text("device"),
    Column("study_version", Integer),
    UniqueConstraint("rater", name="raters_once"),
    UniqueConstraint("person", name="persons_once"),
)
participants = Table(
    "participants",
    metadata,
    Column("rater", Integer, primary_key=True, autoincrement=False),
    _at(),
    _text("recruiter"),
    _text("participant"),
    _text("facts"),
)
"""A recruiter's own ids, for the researcher alone: no snapshot, export or table of raters is made from this."""
consents = Table(
    "consents",
    metadata,
    Column("rater", Integer, primary_key=True, autoincrement=False),
    _at(),
    Column("agreed", Boolean, nullable=False),
    _text("version"),
    Column("study_version", Integer, nullable=False),
)
demographics = Table(
    "demographics",
    metadata,
    Column("rater", Integer, primary_key=True, autoincrement=False),
    _at(),
    _text("answers"),
    Column("kept", Boolean, nullable=False),
)
headphones = Table(
    "headphones",
    metadata,
    Column("rater", Integer, primary_key=True, autoincrement=False),
    Column("probe", Text, primary_key=True),
    _at(),
    _text("given"),
    _text("expected"),
    Column("correct", Integer, nullable=False),
    Column("passed", Boolean, nullable=False),
)
answers = Table(
    "answers",
    metadata,
    Column("trial", _LONG, primary_key=True, autoincrement=False),
    Column("rater", Integer, nullable=False),
    _text("key"),
    _at(),
    _text("kind"),
    _text("probe", nullable=True),
    Column("position", Integer, nullable=False),
    Column("session", Integer, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("seconds", Float(53)),
    Column("first_play", Float(53)),
    Column("plays", Integer, nullable=False),
    Column("focus_losses", Integer, nullable=False),
    _text("intervals", nullable=True),
    _text("changes", nullable=True),
    _text("device", nullable=True),
    Column("began", Float(53)),
    _text("comment", nullable=True),
    Column("study_version", Integer, nullable=False),
    Column("heard", Float(53)),
    _text("heard_flag", nullable=True),
)
ratings = Table(
    "ratings",
    metadata,
    Column("trial", _LONG, primary_key=True, autoincrement=False),
    Column("question", Text, primary_key=True),
    Column("rater", Integer, nullable=False),
    _text("stimulus", nullable=True),
    Column("repeat", Integer, nullable=False),
    Column("practice", Boolean, nullable=False),
    Column("value", Float(53)),
    _text("answer", nullable=True),
    _text("machine", nullable=True),
    _text("shown", nullable=True),
    _text("verdict", nullable=True),
    UniqueConstraint("rater", "stimulus", "question", "repeat", "practice", name="ratings_once"),
    sqlite_with_rowid=False,
)
flags = Table(
    "flags",
    metadata,
    Column("seq", _LONG, primary_key=True, autoincrement=False),
    _at(),
    Column("rater", Integer, nullable=False),
    Column("trial", BigInteger, nullable=False),
    _text("stimulus", nullable=True),
    _text("reason"),
    _text("comment", nullable=True),
    Column("skipped", Boolean, nullable=False),
)
media_problems = Table(
    "media_problems",
    metadata,
    Column("seq", _LONG, primary_key=True, autoincrement=False),
    _at(),
    Column("rater", Integer, nullable=False),
    Column("trial", BigInteger, nullable=False),
    _text("stimulus", nullable=True),
    _text("problem"),
)
exclusions = Table(
    "exclusions",
    metadata,
    Column("seq", _LONG, primary_key=True, autoincrement=False),
    _at(),
    Column("rater", Integer, nullable=False),
    Column("excluded", Boolean, nullable=False),
    _text("reason", nullable=True),
    _text("made_by"),
)
invitations = Table(
    "invitations",
    metadata,
    Column("invitation", Text, primary_key=True),
    _at(),
    _text("note", nullable=True),
)
kept = Table(
    "kept",
    metadata,
    Column("name", Text, primary_key=True),
    _text("value"),
)
