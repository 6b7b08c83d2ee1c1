"""Where a study's store is and whether there is one, without opening it: no database library is imported here."""

from __future__ import annotations

import os
from pathlib import Path

from heartfelt.formats.study_folder.manifest import is_study
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.study import load_study

STORE_FILE = "collected.sqlite"
STORED_SECRET = "secret"
"""The name under which a PostgreSQL store, and a SQLite store of an earlier version, holds it."""
DATABASE_VARIABLE = "HEARTFELT_DATABASE"


def secret_file(store: Path) -> Path:
    """The secret that signs cookies and links, beside a SQLite store: a copy of the store alone signs nothing."""
    return store.with_suffix(".secret")


def find_database(folder: Path, explicit: str | None, of_study: str | None) -> str | Path:
    """Where the store is: what was given, else the environment, else ``study.yaml``, else a file in the folder."""
    return explicit or os.environ.get(DATABASE_VARIABLE) or of_study or folder / STORE_FILE


def has_collected(folder: Path | str) -> bool:
    """Whether a folder is a study with a store: a file in it, or a database it names. A snapshot has none."""
    home = Path(folder)
    if not is_study(home) or is_snapshot(home):
        return False
    source = find_database(home, None, load_study(home).database)
    return source.exists() if isinstance(source, Path) else True
