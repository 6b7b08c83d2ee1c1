"""The first layout of a store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


_LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=nullable)


def _long(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _real(name: str, *, nullable: bool = True) -> sa.Column[float]:
    return sa.Column(name, sa.Float(53), nullable=nullable)


def _yes(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False)


def upgrade() -> None:
    """Make every table."""
    _journal()
    _people()
    _answers()
    _researcher()


def _journal() -> None:
    op.create_table(
        "journal",
        sa.Column("seq", _LONG, primary_key=True, autoincrement=False),
        _real("at", nullable=False),
        _text("kind"),
        _number("rater", nullable=True),
        _long("trial", nullable=True),
        _number("unit", nullable=True),
        _real("number"),
        _text("words", nullable=True),
    )
    op.create_table(
        "units",
        sa.Column("unit", sa.Integer, primary_key=True, autoincrement=False),
        _text("stimulus"),
        _text("question"),
        sa.UniqueConstraint("stimulus", "question", name="units_once"),
    )
    op.create_table(
        "versions",
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        _real("at", nullable=False),
        _text("hash"),
        _text("study"),
    )


def _people() -> None:
    op.create_table(
        "raters",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        _text("rater"),
        _real("at", nullable=False),
        _text("recruiter"),
        _text("person", nullable=True),
        _text("facts"),
        _text("language"),
        _text("device"),
        sa.UniqueConstraint("rater", name="raters_once"),
        sa.UniqueConstraint("person", name="persons_once"),
    )
    op.create_table(
        "consents",
        sa.Column("rater", sa.Integer, primary_key=True, autoincrement=False),
        _real("at", nullable=False),
        _yes("agreed"),
        _text("version"),
        _number("study_version"),
    )
    op.create_table(
        "demographics",
        sa.Column("rater", sa.Integer, primary_key=True, autoincrement=False),
        _real("at", nullable=False),
        _text("answers"),
        _yes("kept"),
    )
    op.create_table(
        "headphones",
        sa.Column("rater", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("probe", sa.Text, primary_key=True),
        _real("at", nullable=False),
        _text("given"),
        _text("expected"),
        _number("correct"),
        _yes("passed"),
    )


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("trial", _LONG, primary_key=True, autoincrement=False),
        _number("rater"),
        _text("key"),
        _real("at", nullable=False),
        _text("kind"),
        _text("probe", nullable=True),
        _number("position"),
        _number("session"),
        _yes("late"),
        _real("seconds"),
        _real("first_play"),
        _number("plays"),
        _number("focus_losses"),
        _text("intervals", nullable=True),
        _text("changes", nullable=True),
        _text("device", nullable=True),
        _real("began"),
        _text("comment", nullable=True),
        _number("study_version"),
    )
    op.create_table(
        "ratings",
        sa.Column("trial", _LONG, primary_key=True, autoincrement=False),
        sa.Column("question", sa.Text, primary_key=True),
        _number("rater"),
        _text("stimulus", nullable=True),
        _number("repeat"),
        _yes("practice"),
        _real("value"),
        _text("answer", nullable=True),
        _text("machine", nullable=True),
        _text("shown", nullable=True),
        _text("verdict", nullable=True),
        sa.UniqueConstraint("rater", "stimulus", "question", "repeat", "practice", name="ratings_once"),
        sqlite_with_rowid=False,
    )


def _researcher() -> None:
    for name in ("flags", "media_problems"):
        op.create_table(
            name,
            sa.Column("seq", _LONG, primary_key=True, autoincrement=False),
            _real("at", nullable=False),
            _number("rater"),
            _long("trial"),
            _text("stimulus", nullable=True),
            *(
                [_text("reason"), _text("comment", nullable=True), _yes("skipped")]
                if name == "flags"
                else [_text("problem")]
            ),
        )
    op.create_table(
        "exclusions",
        sa.Column("seq", _LONG, primary_key=True, autoincrement=False),
        _real("at", nullable=False),
        _number("rater"),
        _yes("excluded"),
        _text("reason", nullable=True),
        _text("made_by"),
    )
    op.create_table(
        "invitations",
        sa.Column("invitation", sa.Text, primary_key=True),
        _real("at", nullable=False),
        _text("note", nullable=True),
    )
    op.create_table("kept", sa.Column("name", sa.Text, primary_key=True), _text("value"))


def downgrade() -> None:
    """There is nothing before the first layout."""
    raise NotImplementedError("there is nothing before the first layout")
