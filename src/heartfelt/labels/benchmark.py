"""Frozen benchmarks: labels with their uncertainty, the stimuli they belong to, and which part each is in.

A benchmark never changes; its hash names its content (study, items, stimuli, ledger, split), in whatever order the rows
came and wherever the media lie. Items without a label (tied, too few ratings) are no part of it: they stand in its ledger.
On disk it is a folder of Parquet tables, the study and a manifest, whole or absent; loading holds all of it to the
manifest, and every item to the part its group's hash gives it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import DamagedError, InputError, StudyError, suggestion
from heartfelt.files import whole_folder, write_text
from heartfelt.labels.answers import first_answers
from heartfelt.labels.labels import LabelOptions, Labels
from heartfelt.labels.labels import labels as make_labels
from heartfelt.labels.splits import SplitOptions, assigned, groups_of
from heartfelt.media.probe import AT_HAND
from heartfelt.representation import ShortRepr
from heartfelt.serialization import write_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.study import Study, load_study, study_text
from heartfelt.tables import LEDGER, STIMULI, Column, Contract

MANIFEST, MEDIA = "manifest.json", "media.json"
SCHEMA_VERSION = 2
_MEND = "Restore the folder, or freeze the benchmark again; benchmarks are never edited in place."

BENCHMARK_ITEMS = Contract(
    "items",
    "one row per item with a label",
    (
        Column("stimulus", pl.String, "the stimulus id"),
        Column("question", pl.String, "the question id"),
        Column("label", pl.Float64, "the label, or the code of its category"),
        Column("standard_error", pl.Float64, "of the label", nullable=True),
        Column("n", pl.Int64, "ratings behind it", nullable=True),
        Column("split", pl.String, "the part it belongs to"),
        Column("group", pl.String, "what its part was decided by"),
        Column("low", pl.Float64, "lower bound of the label", nullable=True),
        Column("high", pl.Float64, "upper bound of the label", nullable=True),
        Column("answer", pl.String, "the category in words", nullable=True),
        Column("share", pl.Float64, "votes for, or probability of, the category", nullable=True),
        Column("method", pl.String, "how the label was made"),
    ),
    key=("stimulus", "question"),
)
_TABLES: tuple[Contract, ...] = (BENCHMARK_ITEMS, STIMULI, LEDGER)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Benchmark(ShortRepr):
    """A frozen benchmark; make one with :func:`freeze` or :func:`load_benchmark`."""

    study: Study
    items: pl.DataFrame
    stimuli: pl.DataFrame
    ledger: pl.DataFrame
    split: SplitOptions
    snapshot_hash: str
    notes: tuple[str, ...] = ()
    media_root: Path | None = None
    table_hashes: dict[str, str] = field(init=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        stimuli = self.stimuli.drop([name for name in AT_HAND if name in self.stimuli.columns])
        tables = {"items": self.items, "stimuli": stimuli, "ledger": self.ledger}
        hashes = {name: table_hash(name, frame) for name, frame in tables.items()}
        lines = [f"heartfelt-benchmark {SCHEMA_VERSION}", f"study {self.study.hash}"]
        lines.append(f"split {json.dumps(self.split.to_json(), sort_keys=True)}")
        lines += [f"{name} {value}" for name, value in sorted(hashes.items())]
        object.__setattr__(self, "table_hashes", hashes)
        object.__setattr__(self, "hash", hashlib.sha256("\n".join(lines).encode()).hexdigest())

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, in their order."""
        return tuple(self.split.shares)

    def part(self, name: str) -> pl.DataFrame:
        """The items of one part."""
        if name not in self.split.shares:
            raise InputError(f"The benchmark has no part '{name}'.", suggestion(name, self.parts, "Parts"))
        return self.items.filter(pl.col("split") == name)

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Items, stimuli and groups of every part."""
        names = ("items", "stimuli", "groups")
        out = {part: dict.fromkeys(names, 0) for part in self.parts}
        found = self.items.group_by("split").agg(
            pl.len().alias("items"),
            pl.n_unique("stimulus").alias("stimuli"),
            pl.n_unique("group").alias("groups"),
        )
        for row in found.iter_rows(named=True):
            out[row["split"]] = {name: int(row[name]) for name in names}
        return out

    def write(self, folder: Path | str, *, replace: bool = False) -> Path:
        """Write the benchmark as a folder; it is there whole, or not at all."""
        folder = Path(folder)
        with whole_folder(folder, replace=replace) as scratch:
            write_text(scratch / "study.yaml", study_text(self.study))
            for contract in _TABLES:
                frame: pl.DataFrame = getattr(self, contract.name)
                frame.write_parquet(scratch / f"{contract.name}.parquet", compression="zstd")
            if self.media_root is not None:
                root = os.path.relpath(self.media_root.resolve(), folder.resolve())
                write_json(scratch / MEDIA, {"root": root})
            write_json(scratch / MANIFEST, self._manifest())
        return folder

    def _manifest(self) -> dict[str, Any]:
        return {
            "heartfelt_benchmark": SCHEMA_VERSION,
            "hash": self.hash,
            "snapshot": self.snapshot_hash,
            "study": {"name": self.study.name, "hash": self.study.hash},
            "split": self.split.to_json(),
            "counts": self.counts,
            "tables": {
                name: {"rows": getattr(self, name).height, "hash": value}
                for name, value in sorted(self.table_hashes.items())
            },
            "notes": list(self.notes),
        }


def freeze(
    snapshot: Snapshot, labels: Labels | LabelOptions | None = None, split: SplitOptions | None = None
) -> Benchmark:
    """Freeze labels into a benchmark; the study's usual labels and a split by stimulus unless said.

    Labels that are made here are summed in one fixed order, so that the same ratings in another order give the same
    hash; labels that were made before are frozen as they are.
    """
    snapshot_hash, snapshot = snapshot.hash, snapshot.without_probes
    if not isinstance(labels, Labels):
        answers = first_answers(snapshot).sort("question", "stimulus", "rater", "value")
        labels = make_labels(snapshot, labels, answers=answers)
    split = split or SplitOptions()
    table = labels.table.filter(pl.col("value").is_finite())
    if not table.height:
        raise InputError(
            f"No item of '{snapshot.study.name}' has a label, so there is nothing to freeze.",
            "Its ledger of labels says why; lower minimum_ratings, or collect more ratings.",
        )
    stimuli = snapshot.stimuli.join(
        table.select("stimulus"), on="stimulus", how="semi", maintain_order="left"
    )
    placed = assigned(groups_of(stimuli, split.by), split)
    items = table.rename({"value": "label"}).join(placed, on="stimulus", how="left", maintain_order="left")
    return Benchmark(
        snapshot.study,
        BENCHMARK_ITEMS.check(items.select(BENCHMARK_ITEMS.names), "benchmark"),
        stimuli,
        labels.ledger,
        split,
        snapshot_hash,
        _notes(placed, split, labels),
        snapshot.source.media_root,
    )


def _notes(placed: pl.DataFrame, split: SplitOptions, labels: Labels) -> tuple[str, ...]:
    notes = list(labels.notes)
    alone = placed.filter(pl.col("group").str.starts_with("\x00stimulus ")).height
    if alone:
        notes.append(f"{alone:,} stimuli have no {split.by}; each was placed by itself.")
    missing = [name for name in split.shares if name not in set(placed["split"])]
    if missing:
        notes.append(
            f"No {split.by} fell into {', '.join(missing)}: there are only {placed['group'].n_unique():,}. "
            "Name the ones to hold out with fixed, or choose another seed."
        )
    left = labels.ledger.filter(pl.col("what") == "item").height
    if left:
        notes.append(f"{left:,} items have no label and are no part of the benchmark; the ledger says why.")
    return tuple(notes)


def load_benchmark(folder: Path | str) -> Benchmark:
    """Read a benchmark folder and hold it to its manifest."""
    folder = Path(folder)
    said = _read_manifest(folder)
    try:
        study = load_study(folder / "study.yaml")
        split = SplitOptions.from_json(said["split"])
        tables = {contract.name: _table(folder, contract) for contract in _TABLES}
    except (StudyError, InputError, KeyError, TypeError, ValueError) as error:
        what = error.problem if isinstance(error, StudyError | InputError) else f"{MANIFEST} says too little"
        raise DamagedError(f"{folder} is damaged: {what}", _MEND) from error
    made = Benchmark(
        study, tables["items"], tables["stimuli"], tables["ledger"], split,
        str(said.get("snapshot", "")), tuple(said.get("notes", ())), _media_root(folder),
    )  # fmt: skip
    for name, entry in said["tables"].items():
        if made.table_hashes.get(name) != entry["hash"]:
            raise DamagedError(
                f"{folder} is damaged: its table of {name} is not the one its manifest describes.", _MEND
            )
    if made.hash != said["hash"]:
        raise DamagedError(
            f"{folder} is damaged: its study or its split is not the one its manifest describes.", _MEND
        )
    _check_parts(made, folder)
    return made


def _check_parts(made: Benchmark, folder: Path) -> None:
    """Hold every item to the part its group belongs to."""
    placed = assigned(groups_of(made.stimuli, made.split.by), made.split)
    both = made.items.join(placed, on="stimulus", how="left", suffix="_due")
    same = (pl.col("split") == pl.col("split_due")) & (pl.col("group") == pl.col("group_due"))
    wrong = both.filter(~same.fill_null(False))
    if wrong.height:
        raise DamagedError(
            f"{folder} is damaged: the stimulus '{wrong['stimulus'][0]}' is not in the part its group belongs to.",
            _MEND,
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        version = said["heartfelt_benchmark"]
        _ = said["tables"].items(), said["hash"], said["split"]
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no benchmark (there is no {MANIFEST}).",
            "Point to the folder a benchmark was written to.",
        ) from error
    except KeyError as error:
        raise InputError(
            f"{folder / MANIFEST} describes no benchmark.", "Point to the folder a benchmark was written to."
        ) from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DamagedError(f"{folder / MANIFEST} cannot be read.", _MEND) from error
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{folder} was written in layout {version}; this heartfelt reads layout {SCHEMA_VERSION}.",
            "Use the version of heartfelt that wrote it, or freeze the benchmark again.",
        )
    return dict(said)


def _table(folder: Path, contract: Contract) -> pl.DataFrame:
    path = folder / f"{contract.name}.parquet"
    try:
        return contract.check(pl.read_parquet(path), str(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DamagedError(f"{folder} is damaged: {path.name} cannot be read.", _MEND) from error


def _media_root(folder: Path) -> Path | None:
    try:
        root = json.loads((folder / MEDIA).read_text(encoding="utf-8"))["root"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    path = (folder / str(root)).resolve()
    return path if path.is_dir() else None
