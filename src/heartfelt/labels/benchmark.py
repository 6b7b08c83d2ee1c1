"""Frozen benchmarks: labels with their uncertainty, the stimuli they belong to, and which part each is in.

A benchmark never changes; its hash names its content (study, items, stimuli, ledger, split), whatever the order of
the rows and wherever the media are. Items without a label (tied, too few ratings) are left out of it and listed in
its ledger. On disk it is a folder of Parquet tables, the study and a manifest, either complete or absent; loading
validates all of it against the manifest, and every item against the part its group's hash gives it.

Questions answered by comparing also give ``choices`` (every comparison of two stimuli, with raters under numbers in place of their
ids) and ``strengths``; questions answered with traces give ``courses``. A comparison belongs to a part if both its stimuli do.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from heartfelt.errors import DamagedError, InputError, StudyError, suggestion
from heartfelt.files import whole_folder, write_text
from heartfelt.labels.columns import ITEM, ITEM_COLUMNS, number, text
from heartfelt.labels.labelling import LABELS, LabelOptions, Labels, first_answers
from heartfelt.labels.labelling import labels as make_labels
from heartfelt.labels.splits import SplitOptions, assigned, groups_of
from heartfelt.labels.strengths import STRENGTHS, first_presentations
from heartfelt.labels.traces import COURSES
from heartfelt.media.probe import AT_HAND, MADE_AT
from heartfelt.representation import ShortRepr
from heartfelt.serialization import from_json, write_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import choices, set_questions
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.snapshot.folder import media_root
from heartfelt.study import Study, load_study, study_text
from heartfelt.tables import LEDGER, STIMULI, Contract

MANIFEST, MEDIA = "manifest.json", "media.json"
SCHEMA_VERSION = 2
_FIX = "Restore the folder, or freeze the benchmark again; benchmarks are never edited in place."

_LABEL = {column.name: column for column in LABELS.columns}
BENCHMARK_ITEMS = Contract(
    "items",
    "one row per item with a label",
    (
        *ITEM_COLUMNS,
        number("label", "the label, or the code of its category"),
        *(_LABEL[name] for name in ("standard_error", "n")),
        text("split", "the part it belongs to"),
        text("group", "what its part was decided by"),
        *(_LABEL[name] for name in ("low", "high", "answer", "share", "method")),
    ),
    key=tuple(ITEM),
)
CHOICES = Contract(
    "choices",
    "one row per comparison of two stimuli",
    (
        _LABEL["question"],
        text("rater", "the rater's number; empty where the source does not say who", nullable=True),
        text("first", "the stimulus presented first"),
        text("second", "the stimulus presented second"),
        number("value", "1 where the first was preferred, 0 where the second was, 0.5 for a tie"),
        number("grade", "of a preference, in favour of the first", nullable=True),
        text("split", "the part both stimuli belong to; empty where they differ", nullable=True),
    ),
)
_PARTED = (text("split", "the part it belongs to"), text("group", "what decided it"))
BENCHMARK_COURSES = Contract(COURSES.name, COURSES.about, (*COURSES.columns, *_PARTED), COURSES.key)
_TABLES: tuple[Contract, ...] = (BENCHMARK_ITEMS, STIMULI, LEDGER)
_IF_COMPARED: tuple[Contract, ...] = (CHOICES, STRENGTHS, BENCHMARK_COURSES)
"""Tables that a benchmark has only if its questions ask for comparisons or traces."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
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
    choices: pl.DataFrame = field(default_factory=CHOICES.empty)
    strengths: pl.DataFrame = field(default_factory=STRENGTHS.empty)
    courses: pl.DataFrame = field(default_factory=BENCHMARK_COURSES.empty)
    salt: str = ""
    """Of a benchmark with hidden labels: a secret that its hash depends on, so that nobody can confirm a guess of the labels by
    a hash in somebody's scores, report or model card."""
    table_hashes: dict[str, str] = field(init=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        # Whether media are available differs between machines and is not part of the content.
        stimuli = self.stimuli.drop([name for name in AT_HAND if name in self.stimuli.columns])
        tables = {"items": self.items, "stimuli": stimuli, "ledger": self.ledger}
        tables |= {contract.name: getattr(self, contract.name) for contract in _IF_COMPARED}
        optional = {contract.name for contract in _IF_COMPARED}
        hashes = {
            name: table_hash(name, frame) for name, frame in tables.items() if frame.height or name not in optional
        }
        lines = [f"heartfelt-benchmark {SCHEMA_VERSION}", f"study {self.study.hash}"]
        lines.append(f"split {json.dumps(self.split.to_json(), sort_keys=True)}")
        lines += [f"{name} {value}" for name, value in sorted(hashes.items())]
        lines += [f"salt {self.salt}"] if self.salt else []
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
        counted = self.items.group_by("split").agg(
            pl.len().alias("items"), pl.n_unique("stimulus").alias("stimuli"), pl.n_unique("group").alias("groups")
        )
        for row in counted.iter_rows(named=True):
            out[row["split"]] = {name: int(row[name]) for name in names}
        return out

    def write(self, folder: Path | str, *, replace: bool = False) -> Path:
        """Write the benchmark as a folder, which is either complete or absent."""
        folder = Path(folder)
        with whole_folder(folder, replace=replace) as scratch:
            write_text(scratch / "study.yaml", study_text(self.study))
            for contract in (*_TABLES, *_IF_COMPARED):
                frame: pl.DataFrame = getattr(self, contract.name)
                if contract.name not in self.table_hashes:
                    continue
                frame.write_parquet(scratch / f"{contract.name}.parquet", compression="zstd")
            if self.media_root is not None:
                root = os.path.relpath(self.media_root.resolve(), folder.resolve())
                write_json(scratch / MEDIA, {"root": root})
            tables = {
                name: TableEntry(getattr(self, name).height, value) for name, value in sorted(self.table_hashes.items())
            }
            study = {"name": self.study.name, "hash": self.study.hash}
            manifest = Manifest(
                heartfelt_benchmark=SCHEMA_VERSION,
                hash=self.hash,
                study=study,
                split=self.split,
                tables=tables,
                counts=self.counts,
                snapshot=self.snapshot_hash,
                notes=self.notes,
                salt=self.salt,
            )
            write_json(scratch / MANIFEST, manifest)
        return folder


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table of a benchmark, as its manifest describes it."""

    rows: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a benchmark's folder says about itself."""

    heartfelt_benchmark: int
    """The layout of the folder."""
    hash: str
    study: Mapping[str, str]
    split: SplitOptions
    tables: Mapping[str, TableEntry]
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    snapshot: str = ""
    notes: tuple[str, ...] = ()
    salt: str = field(default="", metadata={"omit": True})


def freeze(
    snapshot: Snapshot, labels: Labels | LabelOptions | None = None, split: SplitOptions | None = None
) -> Benchmark:
    """Freeze labels into a benchmark; by default the study's usual labels and a split by stimulus.

    Labels that are made here are summed in one fixed order, so that the same ratings in another order give the same
    hash; labels that were made before are frozen as they are.
    """
    snapshot_hash, snapshot = snapshot.hash, snapshot.without_probes
    if not isinstance(labels, Labels):
        labels = frozen_labels(snapshot, labels)
    split = split or SplitOptions()
    table = labels.table.filter(pl.col("value").is_finite())
    compared, courses = _choices(snapshot), labels.courses.filter(pl.col("samples").is_not_null())
    if not table.height and not compared.height:
        raise InputError(
            f"No item of '{snapshot.study.name}' has a label, so there is nothing to freeze.",
            "The ledger of its labels says why; lower minimum_ratings, or collect more ratings.",
        )
    used = pl.concat(
        [
            *(frame["stimulus"] for frame in (table, courses)),
            *(compared[side].alias("stimulus") for side in ("first", "second")),
        ]
    )
    stimuli = snapshot.stimuli.join(used.unique().to_frame(), on="stimulus", how="semi", maintain_order="left")
    placed = assigned(groups_of(stimuli, split.by), split)
    items = table.rename({"value": "label"}).join(placed, on="stimulus", how="left", maintain_order="left")
    compared = _placed_choices(compared, placed)
    courses = courses.join(placed, on="stimulus", how="left", maintain_order="left")
    return Benchmark(
        study=snapshot.study,
        items=BENCHMARK_ITEMS.check(items.select(BENCHMARK_ITEMS.names), "benchmark"),
        stimuli=stimuli.drop(MADE_AT, strict=False),
        ledger=labels.ledger,
        split=split,
        snapshot_hash=snapshot_hash,
        notes=_notes(placed, split, labels, compared),
        media_root=snapshot.source.media_root,
        choices=compared,
        strengths=labels.strengths,
        courses=BENCHMARK_COURSES.check(courses, "benchmark"),
    )


def frozen_labels(snapshot: Snapshot, options: LabelOptions | None = None) -> Labels:
    """Labels summed in one fixed order of the ratings, as :func:`freeze` makes them."""
    answers = first_answers(snapshot).sort("question", "stimulus", "rater", "value")
    return make_labels(snapshot, options, answers=answers)


def _choices(snapshot: Snapshot) -> pl.DataFrame:
    """Every comparison of two stimuli, raters by number in the order of their ids."""
    study, parts = snapshot.study, [CHOICES.empty().drop("split")]
    if set_questions(study):
        ratings = first_presentations(snapshot)
        names = [column for column in CHOICES.names if column not in {"question", "split"}]
        for question in set_questions(study):
            table = choices(ratings, question, study.scale_of(question)).select(names)
            parts.append(table.select(pl.lit(question).alias("question"), *names))
    number = pl.col("rater").rank("dense").cast(pl.Int64).cast(pl.String)
    return pl.concat(parts, how="vertical_relaxed").sort(pl.all()).with_columns(number.alias("rater"))


def _placed_choices(table: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """Comparisons with the part that both their stimuli are in."""
    for side in ("first", "second"):
        part = placed.select(pl.col("stimulus").alias(side), pl.col("split").alias(f"_{side}"))
        table = table.join(part, on=side, how="left", maintain_order="left")
    same = pl.when(pl.col("_first") == pl.col("_second")).then(pl.col("_first")).alias("split")
    return CHOICES.check(table.with_columns(same).drop("_first", "_second"), "benchmark")


def _notes(placed: pl.DataFrame, split: SplitOptions, labels: Labels, compared: pl.DataFrame) -> tuple[str, ...]:
    notes = list(labels.notes)
    alone = placed.filter(pl.col("group").str.starts_with("\x00stimulus ")).height
    if alone:
        notes.append(f"{alone:,} stimuli have no {split.by}; each was placed by itself.")
    missing = [name for name in split.shares if name not in set(placed["split"])]
    if missing:
        notes.append(
            f"No {split.by} fell into {', '.join(missing)}: there are only {placed['group'].n_unique():,}. "
            "Name the groups to hold out with fixed, or choose another seed."
        )
    in_no_part = compared["split"].null_count()
    if in_no_part:
        notes.append(
            f"{in_no_part:,} of {compared.height:,} comparisons are in no part: their stimuli are in different ones. Split by"
            " what the members of a set share, such as the prompt."
        )
    unlabelled = labels.ledger.filter(pl.col("what") == "item").height
    if unlabelled:
        notes.append(f"{unlabelled:,} items have no label and are left out of the benchmark; the ledger says why.")
    return tuple(notes)


def load_benchmark(folder: Path | str) -> Benchmark:
    """Read a benchmark folder and validate it against its manifest."""
    folder = Path(folder)
    manifest = _read_manifest(folder)
    study, tables = _read_tables(folder, manifest)
    benchmark = Benchmark(
        study=study,
        split=manifest.split,
        snapshot_hash=manifest.snapshot,
        notes=manifest.notes,
        media_root=media_root(folder),
        salt=manifest.salt,
        **tables,
    )
    wrong = [name for name, entry in manifest.tables.items() if benchmark.table_hashes.get(name) != entry.hash]
    if wrong or benchmark.hash != manifest.hash:
        damaged = f"table of {wrong[0]}" if wrong else "study or its split"
        raise DamagedError(f"{folder} is damaged: its {damaged} is not the one its manifest describes.", _FIX)
    # Every item must be in the part its group belongs to.
    placed = assigned(groups_of(benchmark.stimuli, benchmark.split.by), benchmark.split)
    both = benchmark.items.join(placed, on="stimulus", how="left", suffix="_due", maintain_order="left")
    same = (pl.col("split") == pl.col("split_due")) & (pl.col("group") == pl.col("group_due"))
    misplaced = both.filter(~same.fill_null(False))
    if misplaced.height:
        name = misplaced["stimulus"][0]
        raise DamagedError(f"{folder} is damaged: the stimulus '{name}' is not in the part its group belongs to.", _FIX)
    return benchmark


def _read_tables(folder: Path, manifest: Manifest) -> tuple[Study, dict[str, pl.DataFrame]]:
    """The study, and the tables that a benchmark always has or its manifest names."""
    path, tables = folder / "study.yaml", {}
    try:
        study = load_study(path)
        for contract in (*_TABLES, *(contract for contract in _IF_COMPARED if contract.name in manifest.tables)):
            path = folder / f"{contract.name}.parquet"
            tables[contract.name] = contract.check(pl.read_parquet(path), str(path))
    except (StudyError, InputError) as error:
        raise DamagedError(f"{folder} is damaged: {error.problem}", _FIX) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DamagedError(f"{folder} is damaged: {path.name} cannot be read.", _FIX) from error
    return study, tables


def _read_manifest(folder: Path) -> Manifest:
    point = "Point to the folder a benchmark was written to."
    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder} is not a benchmark (there is no {MANIFEST}).", point) from error
    except (OSError, ValueError) as error:
        raise DamagedError(f"{folder / MANIFEST} cannot be read.", _FIX) from error
    if not isinstance(data, dict) or "heartfelt_benchmark" not in data:
        raise InputError(f"{folder / MANIFEST} does not describe a benchmark.", point)
    layout = data["heartfelt_benchmark"]
    if layout != SCHEMA_VERSION:
        raise InputError(
            f"{folder} was written in layout {layout}; this heartfelt reads layout {SCHEMA_VERSION}.",
            "Use the version of heartfelt that wrote it, or freeze the benchmark again.",
        )
    try:
        return from_json(Manifest, data)
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"{folder} is damaged: {MANIFEST} is incomplete ({error}).", _FIX) from error
