"""How Alembic reaches the store: over the connection that whoever runs it holds."""

from __future__ import annotations

from alembic import context

from heartfelt.collect.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
