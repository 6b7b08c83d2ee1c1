"""The registry of layouts."""

from __future__ import annotations

from heartfelt.publishing.release import Layout
from heartfelt.registry import Registry

_HOME = "heartfelt.publishing.layouts"
LAYOUTS: Registry[Layout] = Registry(
    "layout",
    homes=[
        f"{_HOME}.{module}" for module in ("csv_tables", "huggingface", "published", "snapshot_folder", "shards")
    ],
)
