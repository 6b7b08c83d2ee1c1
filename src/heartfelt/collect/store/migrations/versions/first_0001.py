"""The first layout of a store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from heartfelt.collect.store.tables import column

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = {
    "journal": "seq long key, at real not null, kind text not null, rater integer, trial bigint, unit integer,"
    "number real, words text",
    "units": "unit integer key, stimulus text not null, question text not null",
    "versions": "version integer key, at real not null, hash text not null, study text not null",
    "raters": "number integer key, rater text not null, at real not null, recruiter text not null, person text,"
    "facts text not null, language text not null, device text not null",
    "consents": "rater integer key, at real not null, agreed boolean not null, version text not null,"
    "study_version integer not null",
    "demographics": "rater integer key, at real not null, answers text not null, kept boolean not null",
    "headphones": "rater integer key, probe text key, at real not null, given text not null, expected text not null,"
    "correct integer not null, passed boolean not null",
    "answers": "trial long key, rater integer not null, key text not null, at real not null, kind text not null,"
    "probe text, position integer not null, session integer not null, late boolean not null, seconds real,"
    "first_play real, plays integer not null, focus_losses integer not null, intervals text, changes text,"
    "device text, began real, comment text, study_version integer not null",
    "ratings": "trial long key, question text key, rater integer not null, stimulus text, repeat integer not null,"
    "practice boolean not null, value real, answer text, machine text, shown text, verdict text",
    "flags": "seq long key, at real not null, rater integer not null, trial bigint not null, stimulus text,"
    "reason text not null, comment text, skipped boolean not null",
    "media_problems": "seq long key, at real not null, rater integer not null, trial bigint not null, stimulus text,"
    "problem text not null",
    "exclusions": "seq long key, at real not null, rater integer not null, excluded boolean not null, reason text,"
    "made_by text not null",
    "invitations": "invitation text key, at real not null, note text",
    "kept": "name text key, value text not null",
}
_UNIQUE = {
    "units": {"units_once": ["stimulus", "question"]},
    "raters": {"raters_once": ["rater"], "persons_once": ["person"]},
    "ratings": {"ratings_once": ["rater", "stimulus", "question", "repeat", "practice"]},
}


def upgrade() -> None:
    """Make every table."""
    for name, columns in _TABLES.items():
        unique = [sa.UniqueConstraint(*names, name=rule) for rule, names in _UNIQUE.get(name, {}).items()]
        options = {"sqlite_with_rowid": False} if name == "ratings" else {}
        op.create_table(name, *(column(text) for text in columns.split(",")), *unique, **options)


def downgrade() -> None:
    """There is nothing before the first layout."""
    raise NotImplementedError("there is nothing before the first layout")
