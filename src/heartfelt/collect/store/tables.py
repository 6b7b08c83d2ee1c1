"""The tables of a collection. All decisions follow from ``journal``; the other tables hold what was answered.

Nothing is ever overwritten, except a value stored under a name, and nothing is deleted, except what belongs to a person
who asked for it or declined to take part. Moments are seconds since 1970 in UTC. Some texts hold JSON.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.types import TypeEngine

metadata = MetaData()
# SQLite stores a table in the order of its INTEGER PRIMARY KEY; any other type would cost an extra index.
_KINDS: dict[str, TypeEngine[Any]] = {
    "long": BigInteger().with_variant(Integer(), "sqlite"),
    "bigint": BigInteger(),
    "integer": Integer(),
    "real": Float(53),
    "boolean": Boolean(),
    "text": Text(),
}


def table(name: str, columns: str, *constraints: UniqueConstraint, **options: Any) -> Table:
    """A table from a list of columns as in SQL: ``name type [key | not null]``, separated by commas."""
    return Table(name, metadata, *(column(text) for text in columns.split(",")), *constraints, **options)


def column(text: str) -> Column[Any]:
    """One column, as in ``at real not null``."""
    name, kind, *rules = text.split()
    key = rules == ["key"]
    return Column(name, _KINDS[kind], primary_key=key, nullable=not rules, autoincrement=False)


journal = table(
    "journal",
    "seq long key, at real not null, kind text not null, rater integer, trial bigint, unit integer, number real,"
    "words text",
)
units = table(
    "units",
    "unit integer key, stimulus text not null, question text not null",
    UniqueConstraint("stimulus", "question", name="units_once"),
)
versions = table(
    "versions",
    "version integer key, at real not null, hash text not null, study text not null, changes text",
)
raters = table(
    "raters",
    "number integer key, rater text not null, at real not null, recruiter text not null, person text,"
    "facts text not null, language text not null, device text not null, study_version integer",
    UniqueConstraint("rater", name="raters_once"),
    UniqueConstraint("person", name="persons_once"),
)
participants = table(
    "participants",
    "rater integer key, at real not null, recruiter text not null, participant text not null, facts text not null",
)
"""A recruiter's own ids, for the researcher alone: no snapshot, export or table of raters is made from this."""
consents = table(
    "consents",
    "rater integer key, at real not null, agreed boolean not null, version text not null,"
    "study_version integer not null",
)
demographics = table(
    "demographics",
    "rater integer key, at real not null, answers text not null, kept boolean not null",
)
headphones = table(
    "headphones",
    "rater integer key, probe text key, at real not null, given text not null, expected text not null,"
    "correct integer not null, passed boolean not null",
)
answers = table(
    "answers",
    "trial long key, rater integer not null, key text not null, at real not null, kind text not null, probe text,"
    "position integer not null, session integer not null, late boolean not null, seconds real, first_play real,"
    "plays integer not null, focus_losses integer not null, intervals text, changes text, device text, began real,"
    "comment text, study_version integer not null, heard real, heard_flag text",
)
ratings = table(
    "ratings",
    "trial long key, question text key, rater integer not null, stimulus text, repeat integer not null,"
    "practice boolean not null, value real, answer text, machine text, shown text, verdict text",
    UniqueConstraint("rater", "stimulus", "question", "repeat", "practice", name="ratings_once"),
    sqlite_with_rowid=False,
)
flags = table(
    "flags",
    "seq long key, at real not null, rater integer not null, trial bigint not null, stimulus text,"
    "reason text not null, comment text, skipped boolean not null",
)
media_problems = table(
    "media_problems",
    "seq long key, at real not null, rater integer not null, trial bigint not null, stimulus text,"
    "problem text not null",
)
exclusions = table(
    "exclusions",
    "seq long key, at real not null, rater integer not null, excluded boolean not null, reason text,"
    "made_by text not null",
)
invitations = table("invitations", "invitation text key, at real not null, note text")
named_values = table("kept", "name text key, value text not null")
