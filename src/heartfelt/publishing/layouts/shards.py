"""WebDataset shards: ``webdataset/<split>-000000.tar``, each stimulus as its media file and a JSON file under one key.

Bytes depend on the content alone: stimuli in the order of their ids, no times, owners or permissions of this machine. A key is
the stimulus id with letters, digits, ``-`` and ``_`` only, since readers cut keys at the first dot and take slashes for folders;
where that changes the id, part of its hash makes the key unique. The JSON file has the id itself, what is known of the stimulus,
its labels and its ratings.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.progress import Progress
from heartfelt.publishing.layouts.huggingface import hub_split_names
from heartfelt.publishing.layouts.layout import LAYOUTS, shard_bounds
from heartfelt.publishing.layouts.tables import ReleaseTable, release_tables, without_clash
from heartfelt.publishing.release.release import PublishedColumn, PublishedFile, Release
from heartfelt.publishing.release.splits import file_of, split_of
from heartfelt.serialization import write_json
from heartfelt.snapshot.snapshot import SPLIT

FOLDER = "webdataset"
SHARD = 256 * 2**20
"""At most so many bytes of media and JSON in a shard; a larger stimulus has a shard of its own."""
SAMPLES = 10_000
"""At most so many stimuli in a shard."""
_KEY_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Shard:
    """One tar file, as ``index.json`` lists it."""

    name: str
    split: str
    samples: int
    bytes: int


def tar_key(stimulus: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", stimulus)[:_KEY_LENGTH]
    if safe == stimulus:
        return safe
    return f"{safe}-{hashlib.sha256(stimulus.encode()).hexdigest()[:12]}"


class WebDataset:
    """Tar shards by split."""

    name = "webdataset"
    about = "WebDataset shards: tar files by split, each stimulus as media and JSON"

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write the shards and ``index.json`` below ``webdataset/``."""
        tables = {table.name: table for table in release_tables(release)}
        samples = _samples(tables)
        target = folder / FOLDER
        target.mkdir(parents=True, exist_ok=True)
        counts = samples.group_by(SPLIT).len()
        order = [part for part in split_of(release).shares if part in set(counts[SPLIT])]
        order += sorted(set(counts[SPLIT]) - set(order))
        columns = (
            *tables["stimuli"].columns,
            *(PublishedColumn(name, "json", tables[name].about) for name in ("labels", "ratings") if name in tables),
        )
        shards: list[Shard] = []
        files: list[PublishedFile] = []
        for part, name in hub_split_names(order).items():
            rows = samples.filter(pl.col(SPLIT) == part).sort("stimulus")
            for shard in _write_part(release, folder, name, rows.select("stimulus", "json").rows(), target):
                shards.append(shard)
                progress("writing tar shards", sum(shard.samples for shard in shards), samples.height)
                where = f"{FOLDER}/{shard.name}"
                files.append(
                    PublishedFile(
                        path=where, layout=self.name, table="stimuli", split=name, rows=shard.samples, columns=columns
                    )
                )
        write_json(target / "index.json", {"shards": shards})
        return tuple(files)


def _samples(tables: dict[str, ReleaseTable]) -> pl.DataFrame:
    """``stimulus, split, json``: everything about a stimulus as the text of a JSON file."""
    frame = _for_json(without_clash(tables["stimuli"].frame, ["labels", "ratings"]))
    nested = []
    for name in ("labels", "ratings"):
        if name in tables:
            nested.append(name)
            rows = _for_json(tables[name].frame)
            keep = [column for column in rows.collect_schema().names() if column not in {"stimulus", SPLIT, "group"}]
            grouped = rows.group_by("stimulus", maintain_order=True).agg(pl.struct(keep).alias(name))
            frame = frame.join(grouped, on="stimulus", how="left", maintain_order="left")
    text = pl.struct(pl.all()).struct.json_encode()
    return frame.select("stimulus", SPLIT, text.alias("json")).collect()


def _for_json(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Numbers that JSON cannot hold become null, moments ISO 8601."""
    casts = []
    for name, dtype in frame.collect_schema().items():
        if dtype.is_float():
            casts.append(pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name))
        elif dtype.is_temporal():
            casts.append(pl.col(name).dt.to_string("iso:strict"))
    return frame.with_columns(casts) if casts else frame


def _write_part(
    release: Release, folder: Path, split: str, rows: Sequence[tuple[str, str]], target: Path
) -> Iterator[Shard]:
    files = [_file(release, stimulus, folder) for stimulus, _ in rows]
    sizes = [
        len(text) + (0 if file is None else file.stat().st_size) for (_, text), file in zip(rows, files, strict=True)
    ]
    for number, (start, end) in enumerate(shard_bounds(sizes, SHARD, SAMPLES)):
        path = target / f"{split}-{number:06d}.tar"
        # USTAR has no extension headers: a member is its 512 bytes of facts and its content, whatever wrote it.
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for (stimulus, text), file in zip(rows[start:end], files[start:end], strict=True):
                key, content = tar_key(stimulus), text.encode()
                tar.addfile(_member(f"{key}.json", len(content)), io.BytesIO(content))
                if file is not None:
                    with file.open("rb") as opened:
                        tar.addfile(_member(f"{key}{_suffix(file)}", file.stat().st_size), opened)
        yield Shard(path.name, split, end - start, path.stat().st_size)


def _file(release: Release, stimulus: str, folder: Path) -> Path | None:
    medium = release.media.get(stimulus)
    return None if medium is None else file_of(medium, folder)


def _suffix(file: Path) -> str:
    suffix = re.sub(r"[^a-z0-9]", "", file.suffix.lower())
    return f".{suffix}" if suffix and suffix != "json" else ".bin"


def _member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, 0
    return info


LAYOUTS.add(WebDataset.name, WebDataset())
