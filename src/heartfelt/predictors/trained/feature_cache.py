"""Embeddings in a folder between runs."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from heartfelt.files import write_bytes
from heartfelt.media.audio import content_hash
from heartfelt.predictors.trained.embeddings import Embedding, Features

_READING = "; reading 2"
"""Changed when files are read differently in a way that leaves ordinary ones, and so the models, as they were."""


def user_features() -> Path:
    """Where embeddings are stored: ``HEARTFELT_FEATURES``, or below the user's cache folder."""
    from platformdirs import user_cache_path

    named = os.environ.get("HEARTFELT_FEATURES")
    return Path(named) if named else user_cache_path("heartfelt") / "features"


class FeatureCache:
    """Embeddings in a folder between runs, by what the file holds and what looked at it: nothing is computed twice.

    One small file each; a file that cannot be read is computed again. Interrupted work continues where it stopped.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or user_features()

    def of(self, embedding: Embedding, path: Path | str, text: str | None = None) -> tuple[Features, str]:
        """The rows of a file, from the folder or computed and stored, and the hash of what the file holds."""
        digest = content_hash(path)
        file = self._file_of(embedding, digest, text)
        features = _read(file, embedding.size)
        if features is None:
            features = embedding.of(path, text)
            with suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(file, _written(features))
        return features, digest

    def _file_of(self, embedding: Embedding, digest: str, text: str | None) -> Path:
        embedding_digest = hashlib.sha256(f"{embedding.identity}{_READING}".encode()).hexdigest()[:16]
        words = hashlib.sha256(text.encode()).hexdigest()[:16] if text and embedding.uses_text else ""
        return self.folder / embedding_digest / digest[:2] / f"{digest}{words}.npz"


def _written(features: Features) -> bytes:
    memory = io.BytesIO()
    np.savez(
        memory,
        rows=features.rows,
        starts=features.starts,
        seconds=np.asarray(features.seconds),
        warnings=np.asarray(features.warnings, dtype=np.str_),
    )
    return memory.getvalue()


def _read(path: Path, size: int) -> Features | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            rows = stored["rows"]
            if rows.ndim != 2 or rows.shape[1] != size:
                return None
            words = tuple(str(word) for word in stored["warnings"])
            return Features(rows, stored["starts"], float(stored["seconds"]), words)
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return None
