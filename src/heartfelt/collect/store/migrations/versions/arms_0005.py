"""The media each stimulus was collected with, between-subject arms, why people were screened out, and ticked boxes."""

from heartfelt.collect.store.migrations import upgrade_to

revision, down_revision = "0005", "0004"


def upgrade() -> None:
    """Add the tables of media, arms and screeners, and a column that older rows leave empty."""
    upgrade_to(revision)
