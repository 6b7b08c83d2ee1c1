"""The first layout of a store."""

from heartfelt.collect.store.migrations import upgrade_to

revision, down_revision = "0001", None


def upgrade() -> None:
    """Make every table."""
    upgrade_to(revision)
