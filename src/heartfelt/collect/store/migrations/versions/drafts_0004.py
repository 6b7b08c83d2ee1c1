"""How each field was verified, questionnaires, and the decisions of senior raters."""

from heartfelt.collect.store.migrations import upgrade_to

revision, down_revision = "0004", "0003"


def upgrade() -> None:
    """Add the tables of questionnaires and adjudications, and columns that older rows leave empty."""
    upgrade_to(revision)
