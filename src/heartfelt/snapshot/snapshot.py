"""A study, its stimuli, raters and ratings as plain tables, checked, frozen and hashed.

Every later stage takes a snapshot and cannot tell whether it came from a running study, a published file or a
simulation. A snapshot never changes; its hash identifies its content, in whatever order the rows came.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.files import TemporaryFolder, whole_folder, write_text
from heartfelt.media.probe import AT_HAND, MADE_AT
from heartfelt.progress import Progress
from heartfelt.representation import html_table
from heartfelt.serialization import write_json
from heartfelt.snapshot.comparisons import TRIAL, has_sets
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.snapshot.marked_column import MarkedColumn
from heartfelt.snapshot.shortcuts import Shortcuts
from heartfelt.snapshot.survey import RatingsSurvey, check_ratings, check_traces, survey, survey_on_the_way
from heartfelt.study import Study, study_text
from heartfelt.tables import (
    ADJUDICATIONS,
    FIELDS,
    ITEMS,
    LEDGER,
    MEANS,
    QUESTIONNAIRES,
    RATERS,
    RATINGS,
    STIMULI,
    TRACES,
    Contract,
    answered,
)

SMALL_TABLES: tuple[Contract, ...] = (
    STIMULI,
    RATERS,
    ITEMS,
    TRACES,
    FIELDS,
    MEANS,
    ADJUDICATIONS,
    QUESTIONNAIRES,
    LEDGER,
)
_LATER = frozenset({TRACES.name, ADJUDICATIONS.name, QUESTIONNAIRES.name})
"""Tables that came after the first version: a snapshot in which one is empty keeps the hash it had before."""
SCHEMA_VERSION = 2
MANIFEST = "manifest.json"
RATINGS_FILE = "ratings.parquet"
VERSIONS = "versions"
"""The folder with the ``study.yaml`` of every version that ratings were given under."""
PROBES = "probes"
"""The stage that the ledger names for stimuli left out as probes."""
SPLIT = "split"
"""The column of the stimuli with the split a dataset was published with, such as train, dev and test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a snapshot came from: the format it was read in, what was read, with which options."""

    format: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    media_root: Path | None = field(default=None, metadata={"skip": True})
    layout: Mapping[str, str] = field(default_factory=dict)
    """What the writer of the same format needs to give the files back byte for byte, such as line ends."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the source was read, such as a detected encoding or dropped columns."""
    versions: Mapping[str, str] = field(default_factory=dict, metadata={"skip": True})
    """The ``study.yaml`` of every version that ratings were given under, by hash; empty if there is only one."""
    reading: tuple[str, ...] = ()
    """How columns of a plain table were understood, a sentence each, so that a wrong reading is seen at once."""
    marked_columns: tuple[MarkedColumn, ...] = field(default=(), metadata={"omit": True})
    """Columns that seem to mark anchors, practice, attention checks or exclusions, and are not used."""
    inferred_raters: str = field(default="", metadata={"omit": True})
    """What raters were told apart by, where the source has no ids for them."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """Ratings that were looked at once: in memory, or in a file that lives as long as ``keep_alive``."""

    ratings: pl.DataFrame | Path
    survey: RatingsSurvey
    keep_alive: object = None

    def lazy(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.ratings) if isinstance(self.ratings, Path) else self.ratings.lazy()


class Snapshot(Shortcuts):
    """A frozen study with its data. Make one with :meth:`Snapshot.build`, ``heartfelt.read`` or ``heartfelt.load``."""

    def __init__(self, study: Study, tables: Mapping[str, pl.DataFrame], spooled: Spooled, source: Source) -> None:
        self.study = study
        self.source = source
        self._tables = dict(tables)
        self._spooled = spooled

    @classmethod
    def build(
        cls,
        study: Study,
        *,
        stimuli: pl.DataFrame,
        ratings: pl.DataFrame | pl.LazyFrame | Spooled | None = None,
        raters: pl.DataFrame | None = None,
        source: Source | None = None,
        **other_tables: pl.DataFrame | None,
    ) -> Snapshot:
        """Check every table and freeze them.

        ``other_tables``: ``items``, ``traces``, ``fields``, ``means``, ``adjudications``, ``questionnaires`` and ``ledger``.
        Raters who only appear in the ratings are added to the table of raters.
        """
        source = source or Source(format="tables", name=study.name)
        where = source.name
        if not isinstance(ratings, Spooled):
            ratings = spool(RATINGS.empty() if ratings is None else ratings, where)
        frames = {"stimuli": stimuli, "raters": raters, **other_tables}
        tables: dict[str, pl.DataFrame] = {}
        for contract in SMALL_TABLES:
            frame = frames.get(contract.name)
            tables[contract.name] = contract.empty() if frame is None else contract.check(frame, where)
        stimulus_names = tables["stimuli"]["stimulus"].to_list()
        if tables["traces"].height:
            tables["traces"] = check_traces(tables["traces"], study, stimulus_names, where)
        traced = tables["traces"]["rater"].unique(maintain_order=True).to_list()
        tables["raters"] = _with_all(tables["raters"], list(dict.fromkeys([*ratings.survey.raters, *traced])))
        check_ratings(ratings.survey, ratings.lazy(), study, stimulus_names, where)
        return cls(study, tables, ratings, source)

    def noted(self, *notes: str, marked_columns: tuple[MarkedColumn, ...] = ()) -> Snapshot:
        """The same snapshot with more to know about how its source was read."""
        marked = (*self.source.marked_columns, *marked_columns)
        source = replace(self.source, notes=(*self.source.notes, *notes), marked_columns=marked)
        return Snapshot(self.study, self._tables, self._spooled, source)

    @property
    def survey(self) -> RatingsSurvey:
        """What one pass over the ratings found: counts, ids, limits, hash."""
        return self._spooled.survey

    @property
    def ratings(self) -> pl.DataFrame:
        """Every human answer, one per row: ``rater, stimulus, question, value`` and what else is known."""
        ratings = self._spooled.ratings
        return pl.read_parquet(ratings) if isinstance(ratings, Path) else ratings

    def scan_ratings(self) -> pl.LazyFrame:
        """The ratings as a lazy table, for data that should not be held in memory."""
        return self._spooled.lazy()

    @property
    def ratings_file(self) -> Path | None:
        """The Parquet file behind the ratings, if they are not held in memory."""
        return self._spooled.ratings if isinstance(self._spooled.ratings, Path) else None

    @property
    def stimuli(self) -> pl.DataFrame:
        """One row per stimulus, with every column its source had."""
        return self._tables["stimuli"]

    @property
    def raters(self) -> pl.DataFrame:
        """One row per rater, with what is known of them."""
        return self._tables["raters"]

    @property
    def items(self) -> pl.DataFrame:
        """The (stimulus, question) pairs that are asked; every pair where the study does not list them."""
        listed = self._tables["items"]
        if listed.height:
            return listed
        questions = pl.Series("question", [question.id for question in self.study.asked], pl.String)
        return self.stimuli.select("stimulus").join(questions.to_frame(), how="cross")

    @property
    def fields(self) -> pl.DataFrame:
        """Values a machine filled in, with where they came from and what a person made of them."""
        return self._tables["fields"]

    @property
    def means(self) -> pl.DataFrame:
        """Published means, where no single ratings were published."""
        return self._tables["means"]

    @property
    def adjudications(self) -> pl.DataFrame:
        """Items that a senior rater decided, with the final value and its history."""
        return self._tables["adjudications"]

    @property
    def questionnaires(self) -> pl.DataFrame:
        """Answers to questionnaires between trials; those to others are columns of the raters."""
        return self._tables["questionnaires"]

    @property
    def traces(self) -> pl.DataFrame:
        """Courses over time, one list of samples per rater, stimulus and question."""
        return self._tables["traces"]

    @property
    def ledger(self) -> pl.DataFrame:
        """Everything left out so far, and why."""
        return self._tables["ledger"]

    @cached_property
    def without_probes(self) -> Snapshot:
        """The snapshot without the stimuli its study sets aside as probes (anchors, practice), which only screening sees.

        Labels, analyses, benchmarks and training all work on this. Each stimulus left out is in the ledger; a snapshot
        without probes is returned as it is.
        """
        probes = probe_counts(self)
        if not probes.height:
            return self
        not_probe = ~pl.col("stimulus").is_in(probes["stimulus"].to_list())
        rows = probes.with_columns(
            pl.format("{}: used for screening raters only", "reason").alias("reason"),
            what=pl.lit("stimulus"),
            rater=pl.lit(None, pl.String),
            question=pl.lit(None, pl.String),
            stage=pl.lit(PROBES),
        )
        ratings = self.scan_ratings().filter(not_probe)
        if has_sets(ratings):
            probed = self.scan_ratings().filter(~not_probe).select(*TRIAL).drop_nulls("trial").unique()
            ratings = ratings.join(probed, on=TRIAL, how="anti", nulls_equal=True, maintain_order="left")
        about_stimuli = (STIMULI, ITEMS, TRACES, FIELDS, MEANS, ADJUDICATIONS)
        return Snapshot.build(
            self.study,
            ratings=ratings if self.ratings_file is not None else ratings.collect(),
            raters=self.raters,
            source=self.source,
            questionnaires=self.questionnaires,
            ledger=pl.concat([self.ledger, rows], how="diagonal") if self.ledger.height else rows,
            **{contract.name: self._tables[contract.name].filter(not_probe) for contract in about_stimuli},
        )

    def table(self, name: str) -> pl.DataFrame:
        return self.ratings if name == "ratings" else self._tables[name]

    @cached_property
    def table_hashes(self) -> dict[str, str]:
        """The hash of each table; where media lie, what was probed of them and when they were made is not part of it."""
        hashes = {
            name: table_hash(name, frame.drop(*AT_HAND, MADE_AT, strict=False))
            for name, frame in self._tables.items()
            if frame.height or name not in _LATER
        }
        return {**hashes, "ratings": self.survey.hash}

    @cached_property
    def hash(self) -> str:
        """The name of this content: the same for the same study and rows in any order."""
        return self.hash_of(self.table_hashes)

    def hash_of(self, table_hashes: Mapping[str, str]) -> str:
        """The hash that the snapshot has if these are the hashes of its tables."""
        lines = [f"heartfelt-snapshot {SCHEMA_VERSION}", f"study {self.study.hash}"]
        lines += [f"{name} {value}" for name, value in sorted(table_hashes.items())]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @cached_property
    def counts(self) -> dict[str, int]:
        """What the snapshot holds, in numbers."""
        rated = {*self._answered_stimuli(), *self.means["stimulus"].to_list()}
        stimuli = self.stimuli
        missing = 0 if "found" not in stimuli.columns else int((~stimuli["found"].fill_null(False)).sum())
        return {
            "stimuli": stimuli.height,
            "rated": len(rated),
            "unrated": stimuli.height - len(rated),
            "raters": self.raters.height,
            "ratings": self.survey.ratings,
            **({"blank_answers": self.survey.blank} if self.survey.blank else {}),
            "questions": len(self.study.asked),
            "systems": stimuli["system"].n_unique() if "system" in stimuli.columns else 0,
            "intents": stimuli["intent"].drop_nulls().n_unique() if "intent" in stimuli.columns else 0,
            "means": self.means.height,
            "fields": self.fields.height,
            **({"traces": self.traces.height} if self.traces.height else {}),
            **({"adjudications": self.adjudications.height} if self.adjudications.height else {}),
            "left_out": self.ledger.height,
            "media_missing": missing,
        }

    def _answered_stimuli(self) -> list[str]:
        if not self.survey.blank:
            return self.survey.stimuli
        return answered(self.scan_ratings()).select(pl.col("stimulus").unique()).collect()["stimulus"].to_list()

    def write(self, folder: Path | str, *, replace: bool = False) -> Path:
        folder = Path(folder)
        with whole_folder(folder, replace=replace, private=True) as scratch:
            self._write_tables(scratch)
            write_text(scratch / "study.yaml", study_text(self.study))
            if self.source.media_root is not None:
                root = self.source.media_root.resolve()
                write_json(scratch / "media.json", {"root": os.path.relpath(root, folder.resolve())})
            for name, text in self.source.versions.items():
                (scratch / VERSIONS).mkdir(exist_ok=True)
                write_text(scratch / VERSIONS / f"{name}.yaml", text)
            write_json(scratch / MANIFEST, self._manifest())
        return folder

    def _write_tables(self, folder: Path) -> None:
        for contract in SMALL_TABLES:
            frame = self.table(contract.name)
            if frame.height or contract.name in {"stimuli", "raters"}:
                frame.write_parquet(folder / f"{contract.name}.parquet", compression="zstd")
        target = folder / RATINGS_FILE
        if self.ratings_file is None:
            self.ratings.write_parquet(target, compression="zstd")
            return
        # Only a temporary file is linked: linked to another snapshot's, both would have one mode.
        if self._spooled.keep_alive is not None:
            with suppress(OSError):
                os.link(self.ratings_file, target)
                return
        shutil.copyfile(self.ratings_file, target)

    def _manifest(self) -> dict[str, object]:
        reasons = self.ledger.group_by("what", "reason", "stage").len("count").sort("what", "reason", "stage")
        rows = {contract.name: self.table(contract.name).height for contract in SMALL_TABLES}
        return {
            "heartfelt_snapshot": SCHEMA_VERSION,
            "hash": self.hash,
            "study": {"name": self.study.name, "hash": self.study.hash},
            "counts": self.counts,
            "tables": {
                name: {"rows": rows.get(name, self.survey.rows), "hash": value}
                for name, value in sorted(self.table_hashes.items())
            },
            "source": self.source,
            "exclusions": reasons,
        }

    def _repr_html_(self) -> str:
        rows = [(name.replace("_", " "), f"{count:,}") for name, count in self.counts.items() if count]
        rows += [("not used", column.finding) for column in self.source.marked_columns]
        return html_table(f"Snapshot {self.study.name} {self.hash[:12]}", rows)

    def __repr__(self) -> str:
        c = self.counts
        blank = f", {self.survey.blank:,} blank," if self.survey.blank else ""
        unused = "".join(f"; not used: {column.finding}" for column in self.source.marked_columns)
        return (
            f"<Snapshot {self.study.name} {self.hash[:12]}: {c['ratings']:,} ratings{blank} by {c['raters']:,} raters of"
            f" {c['rated']:,} of {c['stimuli']:,} stimuli{unused}>"
        )


def spool(ratings: pl.DataFrame | pl.LazyFrame, where: str, progress: Progress | None = None) -> Spooled:
    """Bring ratings under their contract and survey them; a lazy table goes through a file, never through memory."""
    if isinstance(ratings, pl.DataFrame):
        frame = RATINGS.typed(ratings.lazy(), where).collect()
        return Spooled(frame, survey(frame, where))
    folder = TemporaryFolder()
    path = folder.path / "ratings.parquet"
    return Spooled(path, survey_on_the_way(RATINGS.typed(ratings, where), path, where, progress), folder)


def _with_all(raters: pl.DataFrame, survey_raters: list[str]) -> pl.DataFrame:
    listed = set(raters["rater"].to_list())
    new = [name for name in survey_raters if name not in listed]
    if not new:
        return raters
    return pl.concat([raters, pl.DataFrame({"rater": new}, schema={"rater": pl.String})], how="diagonal")


def probe_counts(snapshot: Snapshot) -> pl.DataFrame:
    """``stimulus, reason, ratings`` of every stimulus of the snapshot that the study sets aside as a probe."""
    aside = snapshot.study.set_aside
    present = [name for name in snapshot.stimuli["stimulus"] if name in aside] if aside else []
    schema = {"stimulus": pl.String, "reason": pl.String, "ratings": pl.Int64}
    counts: dict[str, int] = {}
    if present:
        rated = answered(snapshot.scan_ratings()).filter(pl.col("stimulus").is_in(present)).group_by("stimulus")
        counts = dict(rated.len().collect().rows())
    rows = [(name, aside[name], counts.get(name, 0)) for name in present]
    return pl.DataFrame(rows, schema=schema, orient="row")


def published_parts(stimuli: pl.DataFrame) -> list[str]:
    """The parts of the published split in order of appearance; an error where there is none."""
    names: list[str] = []
    if SPLIT in stimuli.columns:
        names = stimuli[SPLIT].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    if not names:
        raise InputError(
            f"The stimuli have no published split: no column '{SPLIT}'.",
            f"Add a column '{SPLIT}' to the stimuli, with values such as train, dev and test, or freeze a benchmark"
            " with a split.",
        )
    return names


def published_part(stimuli: pl.DataFrame, name: str) -> list[str]:
    names = published_parts(stimuli)
    if name not in names:
        raise InputError(f"The published split has no part '{name}'.", suggestion(name, names, "Parts"))
    return stimuli.filter(pl.col(SPLIT).cast(pl.String) == name)["stimulus"].to_list()
