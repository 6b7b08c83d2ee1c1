"""A study's real pages to walk through: the store is thrown away, and the study folder stays as it is."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from heartfelt.collect import Collection, CollectOptions
from heartfelt.formats.manifest import open_study
from heartfelt.progress import Progress
from heartfelt.web.options import WebOptions

_ENOUGH = 10_000
"""Ratings each item takes: a preview is never full, however often it is walked through."""


@contextmanager
def preview(folder: Path, port: int = 0, progress: Progress | None = None) -> Iterator[str]:
    """Serve the study's pages on this machine while the block runs; gives the address. Nobody can log in."""
    from heartfelt.web.app import create_app
    from heartfelt.web.beside import served

    opened = open_study(folder, progress)
    design = opened.study.design.model_copy(update={"ratings_per_item": _ENOUGH})
    opened = replace(opened, study=opened.study.changed(design=design, database=None))
    with tempfile.TemporaryDirectory(prefix="heartfelt-preview-", ignore_cleanup_errors=True) as room:
        store = f"sqlite:///{room}/preview.sqlite"
        with Collection.of(opened, database=store, options=CollectOptions(durable=False)) as collection:
            options = WebOptions(
                secrets.token_bytes(32),
                address_per_minute=0,
                rater_per_minute=0,
                access_log=False,
                preview=True,
            )
            with served(create_app(collection, options), port) as address:
                yield address
