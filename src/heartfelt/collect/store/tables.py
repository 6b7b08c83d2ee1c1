"""The tables of a collection. All decisions follow from ``journal``; the other tables hold what was answered.

Nothing is ever overwritten, except a value stored under a name and the time at which a media file was last touched, and
nothing is deleted, except what belongs to a person who asked for it or declined to take part. Moments are seconds since
1970 in UTC. Some texts hold JSON.

``LAYOUTS`` lists what each version of the layout added; an entry never changes, since stores of that version exist. The
migrations add one entry after another, and ``metadata`` is their sum.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.types import TypeEngine


class LayoutVersion(NamedTuple):
    """What a version added: tables and columns, each column as in SQL: ``name type [key | not null]``."""

    tables: Mapping[str, str]
    columns: Mapping[str, str] = {}


LAYOUTS = {
    "0001": LayoutVersion(
        {
            "journal": "seq long key, at real not null, kind text not null, rater integer, trial bigint, unit integer,"
            "number real, words text",
            "units": "unit integer key, stimulus text not null, question text not null",
            "versions": "version integer key, at real not null, hash text not null, study text not null",
            "raters": "number integer key, rater text not null, at real not null, recruiter text not null, person text,"
            "facts text not null, language text not null, device text not null",
            "consents": "rater integer key, at real not null, agreed boolean not null, version text not null,"
            "study_version integer not null",
            "demographics": "rater integer key, at real not null, answers text not null, kept boolean not null",
            "headphones": "rater integer key, probe text key, at real not null, given text not null,"
            "expected text not null, correct integer not null, passed boolean not null",
            "answers": "trial long key, rater integer not null, key text not null, at real not null, kind text not null,"
            "probe text, position integer not null, session integer not null, late boolean not null, seconds real,"
            "first_play real, plays integer not null, focus_losses integer not null, intervals text, changes text,"
            "device text, began real, comment text, study_version integer not null",
            "ratings": "trial long key, question text key, rater integer not null, stimulus text,"
            "repeat integer not null, practice boolean not null, value real, answer text, machine text, shown text,"
            "verdict text",
            "flags": "seq long key, at real not null, rater integer not null, trial bigint not null, stimulus text,"
            "reason text not null, comment text, skipped boolean not null",
            "media_problems": "seq long key, at real not null, rater integer not null, trial bigint not null,"
            "stimulus text, problem text not null",
            "exclusions": "seq long key, at real not null, rater integer not null, excluded boolean not null,"
            "reason text, made_by text not null",
            "invitations": "invitation text key, at real not null, note text",
            "kept": "name text key, value text not null",
        }
    ),
    "0002": LayoutVersion(
        {
            # A recruiter's own ids, for the researcher alone: no snapshot, export or table of raters is made from this.
            "participants": "rater integer key, at real not null, recruiter text not null, participant text not null,"
            "facts text not null"
        },
        {"versions": "changes text", "raters": "study_version integer", "answers": "heard real, heard_flag text"},
    ),
    "0003": LayoutVersion(
        {
            "members": "trial long key, place integer key, rater integer not null, stimulus text not null,"
            "role text not null, kind text not null, heard real, intervals text",
            "traces": "trial long key, question text key, rater integer not null, rate real not null,"
            "start real not null, away real, samples text not null",
        },
        {"answers": "away real"},
    ),
    "0004": LayoutVersion(
        {
            "questionnaires": "rater integer key, time text key, question text key, at real not null, value real,"
            "answer text",
            "adjudications": "seq long key, at real not null, stimulus text not null, question text not null, value real,"
            "answer text, comment text, rule text not null, history text not null, made_by text not null",
            "adjudicators": "seq long key, at real not null, adjudicator text not null, note text,"
            "active boolean not null",
        },
        {"ratings": "first text, seconds real, keystrokes integer, source text"},
    ),
    "0005": LayoutVersion(
        {
            "media_versions": "stimulus text key, version integer key, at real not null, hash text not null,"
            "bytes bigint not null, modified bigint not null",
            "arms": "rater integer key, at real not null, arm text not null",
            "screen_outs": "rater integer key, at real not null, screener text not null",
        },
        {"consents": "ticked text, document text"},
    ),
}
_UNIQUE = {
    "units": {"units_once": ["stimulus", "question"]},
    "raters": {"raters_once": ["rater"], "persons_once": ["person"]},
    "ratings": {"ratings_once": ["rater", "stimulus", "question", "repeat", "practice"]},
}
_IN_KEY_ORDER = {"ratings", "members", "traces"}
# SQLite stores a table in the order of its INTEGER PRIMARY KEY; any other type would cost an extra index.
_KINDS: dict[str, TypeEngine[Any]] = {
    "long": BigInteger().with_variant(Integer(), "sqlite"),
    "bigint": BigInteger(),
    "integer": Integer(),
    "real": Float(53),
    "boolean": Boolean(),
    "text": Text(),
}


def packed(samples: Sequence[float | None]) -> str:
    """Samples as text: 32-bit numbers, compressed; a gap is not a number."""
    numbers = np.array([np.nan if sample is None else sample for sample in samples], "<f4")
    return base64.b64encode(zlib.compress(numbers.tobytes())).decode()


def unpacked(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The samples in a text, with NaN for gaps."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<f4").astype(np.float32)


def columns_in(text: str) -> list[Column[Any]]:
    columns = []
    for name, kind, *rules in (column.split() for column in text.split(",")):
        key = rules == ["key"]
        columns.append(Column(name, _KINDS[kind], primary_key=key, nullable=not rules, autoincrement=False))
    return columns


def parts_of(name: str, columns: str) -> tuple[list[Any], dict[str, Any]]:
    """What a table is made of: its columns and constraints, and SQLite's options."""
    unique = [UniqueConstraint(*names, name=rule) for rule, names in _UNIQUE.get(name, {}).items()]
    return [*columns_in(columns), *unique], {"sqlite_with_rowid": False} if name in _IN_KEY_ORDER else {}


def _sum_of_layouts() -> MetaData:
    metadata = MetaData()
    texts: dict[str, str] = {}
    for layout in LAYOUTS.values():
        texts |= layout.tables
        texts |= {name: f"{texts[name]}, {columns}" for name, columns in layout.columns.items()}
    for name, columns in texts.items():
        parts, options = parts_of(name, columns)
        Table(name, metadata, *parts, **options)
    return metadata


metadata = _sum_of_layouts()
