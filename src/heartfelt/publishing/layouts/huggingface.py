"""A Hugging Face dataset folder: ``data/<config>/<split>-00000-of-0000N.parquet``, which ``datasets.load_dataset`` reads.

Each table is a config. Rows about stimuli are in the split of their stimulus, other tables in ``train``, as is usual on the
hub. A split without rows has no file, since the library refuses empty ones. Media are in the config ``stimuli``, in the column
``audio`` or ``image``, whose type the library reads in the card; in the layout ``huggingface-linked`` only their paths, links
and hashes are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.media.probe import IMAGES
from heartfelt.progress import Progress
from heartfelt.publishing.layouts.layout import LAYOUTS, shard_bounds
from heartfelt.publishing.layouts.tables import ReleaseTable, release_tables, without_clash
from heartfelt.publishing.release.release import PublishedColumn, PublishedFile, Release
from heartfelt.publishing.release.splits import file_of, split_of
from heartfelt.snapshot.snapshot import SPLIT

FOLDER = "data"
UNDIVIDED = "train"
"""The split of tables whose rows belong to no part."""
ROWS = 2_000_000
"""At most so many rows in a file of a table without media."""
SHARD = 128 * 2**20
"""At most so many bytes of media in a file; a larger medium has a file of its own."""
_STRUCT = pl.Struct({"bytes": pl.Binary, "path": pl.String})
_MEDIA_TYPES = ("audio", "image")
_MEDIA_ROWS = 100
"""Rows of a group in a file with media, so that a reader need not hold all of them."""
_FEATURE_TYPES = {"boolean": "bool", "datetime": "timestamp[us]", "date": "date32"}
"""What the library calls types that have another name in the codebook."""


@dataclass(frozen=True, slots=True)
class HubConfig:
    """A config of the dataset, for the front matter of its card."""

    name: str
    default: bool
    data_files: tuple[tuple[str, str], ...]
    """Each split with the pattern of its files, relative to the release's folder."""
    features: tuple[Mapping[str, str], ...] = ()
    """Columns with their types, where some hold media: the library learns from the card that these are sounds or images."""


def hub_configs(files: Iterable[PublishedFile]) -> tuple[HubConfig, ...]:
    """The configs that the files of this layout make up, in the order they were written; the first is the default."""
    patterns: dict[str, dict[str, str]] = {}
    features: dict[str, tuple[Mapping[str, str], ...]] = {}
    for file in files:
        if file.layout in {HuggingFace.name, HuggingFaceLinked.name} and file.split is not None:
            pattern = re.sub(r"-\d{5}-of-\d{5}\.parquet$", "-*.parquet", file.path)
            patterns.setdefault(file.table, {})[file.split] = pattern
            if any(column.dtype in _MEDIA_TYPES for column in file.columns):
                features[file.table] = tuple(map(_feature, file.columns))
    return tuple(
        HubConfig(name, index == 0, tuple(splits.items()), features.get(name, ()))
        for index, (name, splits) in enumerate(patterns.items())
    )


def hub_front_matter(configs: Sequence[HubConfig]) -> dict[str, list[dict[str, object]]]:
    """What the front matter of a card says about the configs: their files, and the columns of those with media."""
    front: dict[str, list[dict[str, object]]] = {}
    for config in configs:
        files = [{"split": split, "path": path} for split, path in config.data_files]
        default = {"default": True} if config.default and len(configs) > 1 else {}
        front.setdefault("configs", []).append({"config_name": config.name, "data_files": files, **default})
        if config.features:
            features = [dict(feature) for feature in config.features]
            front.setdefault("dataset_info", []).append({"config_name": config.name, "features": features})
    return front


def _feature(column: PublishedColumn) -> Mapping[str, str]:
    """A column as the card's ``dataset_info`` describes it."""
    listed = re.fullmatch(r"list\[(.+)\]", column.dtype)
    dtype = listed[1] if listed else column.dtype
    return {"name": column.name, "list" if listed else "dtype": _FEATURE_TYPES.get(dtype, dtype)}


def hub_split_names(parts: Sequence[str]) -> dict[str, str]:
    """Names that the library accepts as splits: letters, digits and underscores, all different."""
    names: dict[str, str] = {}
    for part in parts:
        name = re.sub(r"[^A-Za-z0-9_]", "_", part) or "_"
        while name in names.values() or name == "all":
            name += "_"
        names[part] = name
    return names


class HuggingFace:
    """Parquet with the media inside."""

    name = "huggingface"
    about = "a Hugging Face dataset: Parquet files by config and split, with the media inside"
    embeds = True

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write every table below ``data/``."""
        if (folder / FOLDER).exists():
            raise InputError(
                f"There is a folder '{FOLDER}' already.",
                f"Choose one of the layouts {HuggingFace.name} and {HuggingFaceLinked.name}: both write it.",
            )
        tables = release_tables(release)
        parts = list(split_of(release).shares)
        written: list[PublishedFile] = []
        for done, table in enumerate(tables):
            progress("writing Parquet files", done, len(tables))
            media = _files(release, folder) if self.embeds and table.name == "stimuli" else {}
            target = folder / FOLDER / table.name
            target.mkdir(parents=True, exist_ok=True)
            for part, count, frame in _parted(table, parts):
                if media:
                    shards = _write_media(table, frame.collect(), media, target / part)
                else:
                    shards = [(path, rows, table.columns) for path, rows in _write_plain(frame, count, target / part)]
                for path, rows, columns in shards:
                    where = path.relative_to(folder).as_posix()
                    written.append(
                        PublishedFile(
                            path=where, layout=self.name, table=table.name, split=part, rows=rows, columns=columns
                        )
                    )
        progress("writing Parquet files", len(tables), len(tables))
        return tuple(written)


class HuggingFaceLinked(HuggingFace):
    """Parquet with paths, links and hashes of the media."""

    name = "huggingface-linked"
    about = "the same with paths, links and hashes in place of the media"
    embeds = False


def _parted(table: ReleaseTable, order: Sequence[str]) -> Iterable[tuple[str, int, pl.LazyFrame]]:
    """The split, row count and rows of each part that has rows."""
    if not table.divided:
        yield UNDIVIDED, table.frame.select(pl.len()).collect(engine="streaming").item(), table.frame
        return
    counted = table.frame.group_by(SPLIT).len("rows").collect(engine="streaming")
    counts = dict(counted.drop_nulls().select(SPLIT, "rows").rows())
    parts = [part for part in order if part in counts]
    parts += sorted(part for part in counts if part not in parts)
    for part, name in hub_split_names(parts).items():
        yield name, counts[part], table.frame.filter(pl.col(SPLIT) == part)


def _names(stem: Path, count: int) -> list[Path]:
    return [stem.with_name(f"{stem.name}-{at:05d}-of-{count:05d}.parquet") for at in range(count)]


def _write_plain(frame: pl.LazyFrame, rows: int, stem: Path) -> Iterable[tuple[Path, int]]:
    paths = _names(stem, max(1, ceil(rows / ROWS)))
    for at, path in enumerate(paths):
        frame.slice(at * ROWS, ROWS).sink_parquet(path, compression="zstd", engine="streaming")
        yield path, min(ROWS, rows - at * ROWS)


def _files(release: Release, folder: Path) -> dict[str, Path]:
    files = {name: file_of(medium, folder) for name, medium in release.media.items()}
    return {name: path for name, path in files.items() if path is not None}


def _write_media(
    table: ReleaseTable, frame: pl.DataFrame, files: dict[str, Path], stem: Path
) -> list[tuple[Path, int, tuple[PublishedColumn, ...]]]:
    """Write stimuli with their media, and return each file with its row count and columns.

    ``files`` are those of the whole release, so that all parts have the same columns.
    """
    kinds = {name: "image" if path.suffix.lower() in IMAGES else "audio" for name, path in files.items()}
    added = sorted(set(kinds.values()))
    frame = without_clash(frame.lazy(), added).collect()
    columns = (
        *(replace(column, name=name) for column, name in zip(table.columns, frame.columns, strict=True)),
        *(PublishedColumn(kind, kind, f"the {kind}") for kind in added),
    )
    sizes = [files[name].stat().st_size if name in files else 0 for name in frame["stimulus"]]
    bounds = shard_bounds(sizes, SHARD)
    out = []
    for (start, end), path in zip(bounds, _names(stem, len(bounds)), strict=True):
        part = frame.slice(start, end - start)
        for kind in added:
            cells = [
                {"bytes": files[name].read_bytes(), "path": files[name].name} if kinds.get(name) == kind else None
                for name in part["stimulus"]
            ]
            part = part.with_columns(pl.Series(kind, cells, _STRUCT))
        part.write_parquet(path, compression="zstd", row_group_size=_MEDIA_ROWS)
        out.append((path, part.height, columns))
    return out


for _layout in (HuggingFace(), HuggingFaceLinked()):
    LAYOUTS.add(_layout.name, _layout)
