"""The Alembic environment: migrations run over the connection they are given."""

from __future__ import annotations

from alembic import context

from heartfelt.collect.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
