"""The steps by which a store of an older version becomes one of this version. A store never goes back to an older one."""

from heartfelt.collect.store.tables import LAYOUTS, columns_in, parts_of


def upgrade_to(revision: str) -> None:
    """Add what a version of the layout added to the one before it."""
    from alembic import op

    for name, text in LAYOUTS[revision].columns.items():
        for column in columns_in(text):
            op.add_column(name, column)
    for name, text in LAYOUTS[revision].tables.items():
        parts, options = parts_of(name, text)
        op.create_table(name, *parts, **options)
