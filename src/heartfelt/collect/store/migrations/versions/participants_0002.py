"""What changed between versions, what was heard, under which version a rater came, and who is who for the recruiter."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that older rows leave empty, and the table of participants."""
    op.add_column("versions", sa.Column("changes", sa.Text))
    op.add_column("raters", sa.Column("study_version", sa.Integer))
    op.add_column("answers", sa.Column("heard", sa.Float(53)))
    op.add_column("answers", sa.Column("heard_flag", sa.Text))
    op.create_table(
        "participants",
        sa.Column("rater", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("recruiter", sa.Text, nullable=False),
        sa.Column("participant", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """A store is never taken back to an older layout."""
    raise NotImplementedError("a store is never taken back to an older layout")
