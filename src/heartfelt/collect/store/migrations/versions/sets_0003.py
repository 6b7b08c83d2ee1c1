"""What was presented where in a set, and courses over time."""

from heartfelt.collect.store.migrations import upgrade_to

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    """Add the tables of members and traces, and a column that older rows leave empty."""
    upgrade_to(revision)
