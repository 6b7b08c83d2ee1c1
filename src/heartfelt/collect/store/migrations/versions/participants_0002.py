"""What changed between versions, what was heard, under which version a rater came, and the recruiters' own ids."""

from heartfelt.collect.store.migrations import upgrade_to

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    """Add columns that older rows leave empty, and the table of participants."""
    upgrade_to(revision)
