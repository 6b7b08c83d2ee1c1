"""Sets of stimuli in an embedding: which files each system has, and a row of numbers for each file.

A source is a study, a snapshot or published data whose stimuli have systems, or a folder with a subfolder per system. A file is one
row, the mean over its windows. Files that cannot be embedded are rows of the ledger; so are copies, by content, of a file of the
same set, and files of the reference set that are also evaluated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from heartfelt.errors import HeartfeltError, InputError, suggestion
from heartfelt.files import inside
from heartfelt.formats.format import candidates, read_with
from heartfelt.formats.study_folder.manifest import is_study
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.files.folders import SUFFIXES, FoundFile, files_below
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.progress import Progress, no_progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.groups.set_distance import FEWEST, Groups
from heartfelt.tables import LEDGER

STAGE = "distances"
AUTO, NONE, PROMPT = "auto", "none", "prompt"
KINDS = {"audio": AUDIO, "image": IMAGES}
Reader: TypeAlias = Callable[[Path, str | None, Mapping[str, Any], Progress | None], Snapshot]
Files: TypeAlias = dict[str, Path | None]
"""Media files by the name of the stimulus; None where the file is not available."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """The rows of a set: one per file, with the hash of its content."""

    names: tuple[str, ...]
    hashes: tuple[str, ...]
    rows: Floats

    @classmethod
    def of(cls, parts: Sequence[Embedded]) -> Embedded:
        """All rows of several sets."""
        names = tuple(name for part in parts for name in part.names)
        hashes = tuple(digest for part in parts for digest in part.hashes)
        return cls(names, hashes, np.vstack([part.rows for part in parts]))

    def without(self, hashes: Iterable[str]) -> tuple[Embedded, tuple[str, ...]]:
        """The set less files with this content, and their names."""
        gone = set(hashes)
        indices = [index for index, digest in enumerate(self.hashes) if digest not in gone]
        names, hashes = (tuple(column[index] for index in indices) for column in (self.names, self.hashes))
        part = Embedded(names, hashes, self.rows[indices])
        return part, tuple(name for name, digest in zip(self.names, self.hashes, strict=True) if digest in gone)


@dataclass(slots=True)
class ExcludedFiles:
    """Files that are left out, and why."""

    rows: list[dict[str, str | None]] = field(default_factory=list)

    def add(self, stimulus: str, reason: str) -> None:
        self.rows.append({"what": "stimulus", "stimulus": stimulus, "reason": reason, "stage": STAGE})

    def add_all(self, reasons: Mapping[str, str]) -> None:
        """Add stimuli with the reason of each."""
        for stimulus, reason in reasons.items():
            self.add(stimulus, reason)

    def table(self) -> pl.DataFrame:
        if not self.rows:
            return LEDGER.empty()
        return pl.concat([LEDGER.empty(), pl.DataFrame(self.rows)], how="diagonal_relaxed")


def is_data(path: Path) -> bool:
    """Whether a path is a study, a snapshot or published data, and not a folder of media files."""
    return path.is_file() or is_snapshot(path) or is_study(path) or bool(candidates(path))


def system_files(
    source: Snapshot | Path, progress: Progress | None = None, read: Reader = read_with
) -> dict[str, Files]:
    """The media files of every system."""
    if isinstance(source, Path) and not is_data(_existing(source)):
        return _files_by_folder(source)
    snapshot = source if isinstance(source, Snapshot) else read(source, None, {}, progress)
    if "system" not in snapshot.stimuli.columns or not snapshot.stimuli["system"].drop_nulls().len():
        raise InputError(
            f"The stimuli of '{snapshot.study.name}' have no systems.", "Distances compare the stimuli of systems."
        )
    stimuli = snapshot.stimuli.drop_nulls("system").with_columns(pl.col("system").cast(pl.String))
    by_system = stimuli.sort("system", "stimulus").group_by("system", maintain_order=True)
    return {str(system[0]): _snapshot_files(snapshot, rows) for system, rows in by_system}


def _files_by_folder(source: Path) -> dict[str, Files]:
    """The media files of the folders of a folder, each a system."""
    folders = sorted(path for path in source.iterdir() if path.is_dir() and not path.name.startswith("."))
    systems = {FoundFile(Path(folder.name)).name: media_files(folder, folder.name) for folder in folders}
    systems = {name: files for name, files in systems.items() if files}
    if not systems:
        raise InputError(
            f"{source} has no subfolders with sound files or images.",
            "Give a study, a snapshot, published data, or a folder with a subfolder per system.",
        )
    return systems


def outside_systems(source: Path, systems: Container[str]) -> dict[str, str]:
    """What a folder with a subfolder per system holds besides these systems, with the reason it is left out."""
    out, endings = {}, frozenset().union(*SUFFIXES.values())
    for path in sorted(path for path in source.iterdir() if not path.name.startswith(".")):
        name = FoundFile(Path(path.name)).name
        if path.is_dir() and name not in systems:
            out[name] = "the folder has no sound files or images"
        elif not path.is_dir() and path.suffix.lower() in endings:
            out[name] = "it is in no system's folder"
    return out


def reference_files(path: Path, progress: Progress | None = None, read: Reader = read_with) -> Files:
    """The media files of a reference set: all stimuli of a study, a snapshot or published data, or all files of a folder."""
    if is_data(_existing(path)) and path.suffix.lower() not in AUDIO | IMAGES:
        snapshot = read(path, None, {}, progress)
        return _snapshot_files(snapshot, snapshot.stimuli)
    return media_files(path, "")


def media_files(folder: Path, prefix: str) -> Files:
    """The sound files and images below a folder, by path; none for what cannot be opened."""
    return {
        FoundFile(Path(prefix) / file.path.relative_to(folder)).name: file.path
        if file.problem is None and file.path.is_file()
        else None
        for file in files_below(folder)
    }


def _existing(path: Path) -> Path:
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.", "Check the path.")
    return path


def _snapshot_files(snapshot: Snapshot, stimuli: pl.DataFrame) -> Files:
    root = snapshot.source.media_root
    paths = stimuli["path"] if "path" in stimuli.columns else pl.Series([None] * stimuli.height, dtype=pl.String)
    out: Files = {}
    for name, path in zip(stimuli["stimulus"].cast(pl.String), paths, strict=True):
        file = None if root is None or path is None else inside(Path(root), path, "stimuli")
        out[name] = file if file is not None and file.is_file() else None
    return out


def embedding_from(spec: str) -> Embedding:
    """An embedding as it is named: ``NAME``, or ``NAME:ARGUMENT`` of those that take one."""
    embedding = EMBEDDINGS[spec]()
    if embedding.uses_text:
        raise InputError(
            f"The embedding '{spec}' also embeds the text a stimulus was made from.",
            "Distances compare media alone; use another embedding.",
        )
    return embedding


def check_media(embedding: Embedding, files: Files, noun: str) -> None:
    """Refuse a set without a file that the embedding can embed."""
    suffixes = {path.suffix.lower() for path in files.values() if path is not None}
    if not suffixes:
        raise InputError(
            f"{noun} has no media files that are available.", "Check the folder, or the paths in the data."
        )
    wanted = KINDS.get(embedding.media)
    if wanted is not None and not suffixes & wanted:
        raise InputError(
            f"The embedding '{embedding.name}' is for {embedding.media} files; {noun} has {', '.join(sorted(suffixes))}.",
            "Choose an embedding for this kind of media.",
        )


def embed_files(
    files: Files,
    embedding: Embedding,
    ledger: ExcludedFiles,
    progress: Progress | None,
    cache: FeatureCache | None = None,
) -> Embedded:
    """Every file in the embedding, from the cache or computed; what fails, and copies of other files, are in the ledger."""
    cache, report = cache or FeatureCache(), progress or no_progress

    def embed(path: Path | None) -> tuple[Floats, str] | str:
        if path is None:
            return "its media file is not available"
        try:
            features, digest = cache.of(embedding, path)
        except HeartfeltError as error:
            return error.problem
        row = np.asarray(features.mean, np.float64)
        return (row, digest) if np.isfinite(row).all() else "its embedding is not finite"

    by_content: dict[str, tuple[str, Floats]] = {}
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for done, (name, result) in enumerate(zip(files, pool.map(embed, files.values()), strict=True), 1):
            if isinstance(result, str):
                ledger.add(name, result)
            elif result[1] in by_content:
                ledger.add(name, f"its content is that of {by_content[result[1]][0]}")
            else:
                by_content[result[1]] = name, result[0]
            report("embedding the stimuli", done, len(files))
    rows = np.array([row for _, row in by_content.values()]).reshape(len(by_content), embedding.size)
    return Embedded(tuple(name for name, _ in by_content.values()), tuple(by_content), rows)


def scaler(embedding: Embedding, basis: Floats, components: int | None) -> Callable[[Floats], Floats]:
    """How rows are scaled before distances, from all rows that are compared (``basis``).

    An embedding of one block stays as it is, as in published distances. Of several blocks, whose units differ, every column has
    variance 1 and every block counts alike; columns that do not vary are left out. With ``components``, rows are projected on
    that many leading principal components of them.
    """
    size, centre, weight = embedding.size, np.zeros(embedding.size), np.ones(embedding.size)
    if len(embedding.blocks) > 1:
        centre, spread = basis.mean(axis=0), basis.std(axis=0)
        varies = spread > 1e-9 * np.maximum(np.abs(centre), 1e-12)
        shares = np.concatenate([np.full(block.size, size / block.size) for block in embedding.blocks])
        weight = np.where(varies, np.sqrt(shares / len(embedding.blocks)) / np.where(varies, spread, 1.0), 0.0)
    if components is None:
        return lambda rows: np.asarray((rows - centre) * weight)
    most = min(len(basis) - 1, size)
    if not 1 <= components <= most:
        raise InputError(
            f"{components} components cannot be had.", f"Choose from 1 to {most}: there are {len(basis):,} stimuli."
        )
    middle = ((basis - centre) * weight).mean(axis=0)
    turn = np.linalg.svd((basis - centre) * weight - middle, full_matrices=False)[2][:components].T
    return lambda rows: np.asarray(((rows - centre) * weight - middle) @ turn)


def group_column(source: Snapshot | Path, group: str) -> str:
    """The column whose stimuli belong together; empty where there is none."""
    stimuli = source.stimuli if isinstance(source, Snapshot) else pl.DataFrame()
    if group == AUTO:
        return PROMPT if PROMPT in stimuli.columns and stimuli[PROMPT].n_unique() >= FEWEST else ""
    if group != NONE and group not in stimuli.columns:
        raise InputError(f"The stimuli have no column '{group}'.", suggestion(group, stimuli.columns, "Columns"))
    return "" if group == NONE else group


def stimulus_groups(
    source: Snapshot | Path, column: str, pairs: Mapping[str, tuple[Embedded, Embedded]], shared: bool
) -> dict[str, Groups]:
    """The group of every row of both sets, by system; a stimulus without one is its own.

    Where the reference is from elsewhere (not ``shared``), its stimuli are in no group.
    """
    if not column or isinstance(source, Path):
        return {}
    grouped = source.stimuli.select(pl.col("stimulus", column).cast(pl.String)).drop_nulls()
    of_stimulus = {name: (group,) for name, group in grouped.iter_rows()}
    return {
        system: (
            [of_stimulus.get(name, name) for name in part.names],
            [of_stimulus.get(name, name) if shared else ("", name) for name in reference.names],
        )
        for system, (part, reference) in pairs.items()
    }
