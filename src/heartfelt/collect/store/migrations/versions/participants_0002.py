"""What changed between versions, what was heard, under which version a rater came, and the recruiters' own ids."""

from __future__ import annotations

from alembic import op

from heartfelt.collect.store.tables import column

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that older rows leave empty, and the table of participants."""
    op.add_column("versions", column("changes text"))
    op.add_column("raters", column("study_version integer"))
    op.add_column("answers", column("heard real"))
    op.add_column("answers", column("heard_flag text"))
    columns = "rater integer key, at real not null, recruiter text not null, participant text not null, facts text not null"
    op.create_table("participants", *(column(text) for text in columns.split(",")))


def downgrade() -> None:
    """A store is never taken back to an older layout."""
    raise NotImplementedError("a store is never taken back to an older layout")
