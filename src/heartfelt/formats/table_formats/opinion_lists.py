"""Lists of opinion scores as audio quality research keeps them: SHEET and MOS-Bench, and AudioMOS 2025 track 2.

``sheet``: CSV files (train, dev, test) with ``wav_path``, ``score``, ``system_id``, ``sample_id`` and, where scores are single
ratings, ``listener_id``. ``audiomos``: CSV files with four means of each sample, 1 to 10.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse
from pathlib import Path, PurePath
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format, option_path
from heartfelt.formats.ratings.described import build, parse_scale, stated_scale
from heartfelt.formats.tables.columns import NamedTable
from heartfelt.formats.tables.delimited import csv_text, header_of, read_delimited
from heartfelt.formats.tables.source_table import SourceTable
from heartfelt.media.probe import PROBED, media_by_path
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.set_scale import Grade, Ranking, Trace
from heartfelt.tables import STIMULI, number_types
from heartfelt.wording import listed

SHEET_COLUMNS = ("wav_path", "score", "system_id", "sample_id")
AXES = {
    "production_quality": "Production_Quality",
    "production_complexity": "Production_Complexity",
    "content_enjoyment": "Content_Enjoyment",
    "content_usefulness": "Content_Usefulness",
}
_OPTIONS: Mapping[str, str] = {
    "question": "what the scores are about, 'quality' if left out",
    "scale": "the scale raters answered on, such as 1-5; read from the scores if left out",
    "media": "folder of the audio, searched below the source if left out",
    "name": "the study's name",
}
_RESERVED = {*STIMULI.names, "split", "source_path", "rater", "question", "value", *PROBED}
_SPLIT = re.compile(
    r"(?:^|[_.-])(train|training|dev|valid|validation|val|test|eval)(?:set|_list|_mos_list)?$", re.IGNORECASE
)
_SPLITS = {"training": "train", "valid": "dev", "validation": "dev", "val": "dev", "eval": "test"}
_SHARES = (("train", 70), ("dev", 85), ("test", 100))


def split_of(path: Path) -> str | None:
    """The part that the end of a file's name says: train, dev, test or none."""
    named = _SPLIT.search(path.stem)
    return None if named is None else _SPLITS.get(named[1].lower(), named[1].lower())


def _tables(source: Path, columns: Sequence[str]) -> tuple[list[Path], dict[str, str]]:
    """The CSV files in a folder that have these columns, or the file itself; and of the others why they are not read."""
    paths = [source] if source.is_file() else sorted(source.rglob("*.csv"))
    lacking = {path: list(filterfalse(header_of(path).__contains__, columns)) for path in paths}
    matching = [path for path, names in lacking.items() if not names]
    if not matching:
        raise InputError(
            f"{source} holds no table with the columns {', '.join(columns)}.",
            "Point to such a CSV file, or to the folder of them.",
        )
    unread = {
        path.relative_to(source).as_posix(): f"has no column{'s' if len(names) > 1 else ''} {listed(names)}"
        for path, names in lacking.items()
        if names
    }
    return matching, unread


def _further_columns(frames: Iterable[pl.DataFrame], columns: Iterable[str]) -> tuple[pl.DataFrame | None, list[str]]:
    """The other columns of lists as facts about stimuli, and a note on those that differ within a stimulus.

    A column whose name means something else in a snapshot becomes ``source_NAME``.
    """
    every = pl.concat([frame.drop(columns, strict=False) for frame in frames], how="diagonal")
    names = {name: f"source_{name}" if name in _RESERVED else name for name in every.columns if name != "sample_id"}
    if not names:
        return None, []
    by_stimulus = every.rename({"sample_id": "stimulus", **names}).group_by("stimulus", maintain_order=True)
    counts = by_stimulus.agg(pl.col(list(names.values())).drop_nulls().n_unique())
    constant = [name for name in names.values() if (counts[name] <= 1).all()]
    facts = by_stimulus.agg(pl.col(constant).drop_nulls().first())
    differing = (name for name, fact in names.items() if fact not in constant)
    notes = [f"'{name}' was not read: it differs within a stimulus." for name in differing]
    return number_types(facts, keep=["stimulus"]), notes


def _left_out(rows: pl.DataFrame, unread: Mapping[str, str]) -> pl.DataFrame:
    """Ledger entries of files that are not read, with the reason, and of rows without a score."""
    files = pl.DataFrame(
        {"reason": [f"{name} {reason}, so it was not read" for name, reason in unread.items()]},
        schema={"reason": pl.String},
    )
    scores = rows.filter(pl.col("value").is_null()).select("rater", "stimulus", "question")
    return pl.concat(
        [
            files.with_columns(what=pl.lit("file"), stage=pl.lit("import")),
            scores.with_columns(
                what=pl.lit("score"), reason=pl.lit("the list has no score here"), stage=pl.lit("import")
            ),
        ],
        how="diagonal",
    )


class OpinionList(Format):
    """What the three formats share: a table of scores becomes a snapshot, and a snapshot a file for each part."""

    options: ClassVar[Mapping[str, str]] = _OPTIONS
    scale: ClassVar[str] = "1-5"
    """What raters answered on, if all scores lie on it."""
    kind: ClassVar[str] = "speech"

    def _snapshot(
        self, source: Path, rows: pl.DataFrame, options: Mapping[str, str], progress: Progress | None,
        notes: Sequence[str] = (), raters: pl.DataFrame | None = None, unread: Mapping[str, str] | None = None,
        further: pl.DataFrame | None = None,
    ) -> Snapshot:  # fmt: skip
        """``rows`` are stimulus, question, value and, where scores are ratings, rater; with facts about the stimulus.

        Rows without a value are in the ledger, as are files that are ``unread``, with the reason; ``further`` has facts about
        stimuli that the format has no place for.
        """
        ledger, named = _left_out(rows, unread or {}), rows
        rows = rows.filter(pl.col("value").is_not_null())
        if not rows.height:
            raise InputError(f"{source} holds no scores.", "Point to lists with scores.")
        single = rows["rater"].is_not_null()
        ratings, published = rows.filter(single), rows.filter(~single)
        facts = [name for name in ("system", "split", "source_path") if name in rows.columns]
        stimuli = named.group_by("stimulus", maintain_order=True).agg(pl.col(facts).drop_nulls().first())
        _refuse_contradictions(named, facts, source)
        if further is not None:
            stimuli = stimuli.join(further, on="stimulus", how="left", maintain_order="left")
        base = source if source.is_dir() else source.parent
        media = option_path(options, "media", base) or (source if source.is_dir() else None)
        if media is not None:  # beside a file there may be anything
            stimuli = _with_paths(stimuli, media)
        scales = {
            question: stated_scale(question, options) or parse_scale(self._usual_scale(scores["value"]))
            for (question,), scores in rows.partition_by("question", as_dict=True).items()
        }
        where = source / source.name if source.is_dir() else source
        return build(
            self.name,
            SourceTable(path=where, rows=pl.LazyFrame(), options={"name": source.stem, "kind": self.kind, **options}),
            source,
            progress,
            stimuli=stimuli,
            scales=scales,
            notes=notes,
            ledger=ledger if ledger.height else None,
            ratings=ratings.select("rater", "stimulus", "question", "value") if ratings.height else None,
            means=published.select("stimulus", "question", mean="value") if published.height else None,
            raters=raters,
        )

    def _usual_scale(self, values: pl.Series) -> str:
        low, high = (float(end) for end in self.scale.split("-"))
        return self.scale if ((values >= low) & (values <= high)).all() else "numeric"


def _refuse_contradictions(rows: pl.DataFrame, facts: Sequence[str], source: Path) -> None:
    """Raise for a stimulus with two systems, parts or paths."""
    differing = rows.group_by("stimulus", maintain_order=True).agg(pl.col(facts).drop_nulls().n_unique())
    for name in facts:
        if (twice := differing.filter(pl.col(name) > 1)).height:
            raise InputError(
                f"{source}: the stimulus '{twice['stimulus'][0]}' has more than one {name.replace('_', ' ')}.",
                "Give every stimulus an id of its own, and put it into one part.",
            )


def _with_paths(stimuli: pl.DataFrame, root: Path) -> pl.DataFrame:
    """The stimuli with the media files that lie below ``root``, found by their name."""
    named = stimuli["source_path" if "source_path" in stimuli.columns else "stimulus"]
    files = media_by_path(root)
    paths = [files.get(PurePath(str(name).replace("\\", "/")).name) for name in named]
    return stimuli.with_columns(pl.Series("path", paths, dtype=pl.String)) if any(paths) else stimuli


def _numeric_questions(snapshot: Snapshot, name: str) -> list[str]:
    """The questions about single stimuli that are answered with numbers."""
    scales = {question.id: snapshot.study.scale_of(question.id) for question in snapshot.study.asked}
    questions = [q for q, s in scales.items() if s.level == "interval" and not isinstance(s, Grade | Ranking | Trace)]
    if not questions:
        raise InputError(f"The study asks nothing that {name} can hold.", "It holds questions answered with numbers.")
    return questions


def _scores(snapshot: Snapshot, question: str) -> pl.DataFrame:
    """``stimulus, rater, value, system, part`` of a question: ratings or, where there are none, means (without a rater)."""
    ratings = snapshot.ratings.filter((pl.col("question") == question) & pl.col("value").is_not_null())
    rows = ratings.select("stimulus", "rater", "value")
    if not rows.height:
        means = snapshot.means.filter((pl.col("question") == question) & pl.col("mean").is_not_null())
        rows = means.select("stimulus", pl.lit(None, pl.String).alias("rater"), pl.col("mean").alias("value"))
    named = [name for name in ("system", "split", "path", "source_path") if name in snapshot.stimuli.columns]
    rows = rows.join(snapshot.stimuli.select("stimulus", *named), on="stimulus", how="left", maintain_order="left")
    missing = [name for name in ("system", "split", "path", "source_path") if name not in named]
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    parts = [split or _part_of(name) for name, split in rows.select("stimulus", "split").iter_rows()]
    return rows.with_columns(pl.Series("part", parts, dtype=pl.String), pl.col("system").fill_null("unknown"))


def _part_of(stimulus: str) -> str:
    """Train, dev or test by a hash of the name, 70:15:15, for stimuli that belong to no part."""
    percentile = int.from_bytes(hashlib.sha256(stimulus.encode()).digest()[:8], "big") % 100
    return next(part for part, below in _SHARES if percentile < below)


def scores_by_question(snapshot: Snapshot, target: Path, name: str) -> Iterator[tuple[str, Path, pl.DataFrame]]:
    """Every question with its folder and scores: the target itself where only one is asked."""
    questions = _numeric_questions(snapshot, name)
    for question in questions:
        folder = target if len(questions) == 1 else target / question
        folder.mkdir(exist_ok=True)
        yield question, folder, _scores(snapshot, question)


class SheetFormat(OpinionList):
    """The CSV files of SHEET and MOS-Bench."""

    name = "sheet"
    about = "SHEET and MOS-Bench: CSV files (train, dev, test) with wav_path, score, system_id and sample_id"
    example_data = "example/sheet"

    def recognises(self, source: Path) -> bool:
        paths = [source] if source.is_file() else [*source.glob("*.csv"), *source.glob("*/*.csv")]
        return any(set(SHEET_COLUMNS) <= header_of(path) for path in paths)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        parts, frames = [], []
        paths, unread = _tables(source, SHEET_COLUMNS)
        for path in paths:
            sheet = NamedTable(read_delimited(path, ","), str(path)).with_ids("sample_id", "system_id", "listener_id")
            sheet.filled("sample_id", "wav_path")
            frames.append(sheet.frame)
            listener = sheet["listener_id"] if "listener_id" in sheet else pl.Series([None] * len(sheet.frame))
            about = sheet["question"] if "question" in sheet else pl.Series([None] * len(sheet.frame))
            frame = sheet.frame.select(
                pl.col("sample_id").alias("stimulus"), pl.col("system_id").alias("system"),
                pl.col("wav_path").alias("source_path"), pl.lit(split_of(path), pl.String).alias("split"),
                sheet.numbers("score").alias("value"), listener.cast(pl.String).alias("rater"),
                about.cast(pl.String).fill_null(options.get("question", "quality")).alias("question"),
            )  # fmt: skip
            parts.append(frame)
        read = {*SHEET_COLUMNS, "listener_id", "listener_idx", "question"} - {"sample_id"}
        facts, notes = _further_columns(frames, read)
        return self._snapshot(source, pl.concat(parts), options, progress, notes, unread=unread, further=facts)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        root = snapshot.source.media_root
        for question, folder, rows in scores_by_question(snapshot, target, self.name):
            trained = rows.sort(pl.col("part") != "train", "rater", maintain_order=True)["rater"]
            numbers = {name: index for index, name in enumerate(trained.drop_nulls().unique(maintain_order=True))}
            files = [
                str((root / path).resolve()) if root is not None and path else source or path or stimulus
                for stimulus, path, source in rows.select("stimulus", "path", "source_path").iter_rows()
            ]
            table = rows.select(
                pl.Series("wav_path", files, dtype=pl.String), pl.col("value").alias("score"),
                pl.col("system").alias("system_id"), pl.col("stimulus").alias("sample_id"),
                pl.col("rater").alias("listener_id"),
                pl.col("rater").replace_strict(numbers, default=None, return_dtype=pl.Int64).alias("listener_idx"),
                pl.lit(question).alias("question"), "part",
            )  # fmt: skip
            if not numbers:
                table = table.drop("listener_id", "listener_idx")
            for part in table["part"].unique(maintain_order=True):
                write_text(folder / f"{part}.csv", csv_text(table.filter(pl.col("part") == part).drop("part")))


class AudioMosFormat(OpinionList):
    """The lists of AudioMOS 2025, track 2: four axes of Audiobox Aesthetics."""

    name = "audiomos"
    about = "AudioMOS 2025 track 2: CSV lists with sample_id, data_path and means on four axes, 1 to 10"
    options: ClassVar[Mapping[str, str]] = {name: text for name, text in _OPTIONS.items() if name != "question"}
    answer_columns: ClassVar[Mapping[str, str]] = {column: question for question, column in AXES.items()}
    example_data = "example/audiomos"
    scale = "1-10"
    kind = "audio"

    def recognises(self, source: Path) -> bool:
        paths = [source] if source.is_file() else list(source.glob("*.csv"))
        return any({"sample_id", *AXES.values()} <= header_of(path) for path in paths)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        parts, frames = [], []
        columns = ["sample_id", "data_path", *AXES.values()]
        paths, unread = _tables(source, columns)
        for path in paths:
            sheet = NamedTable(read_delimited(path, ","), str(path)).with_ids("sample_id")
            sheet.filled("sample_id")
            sheet.unique("sample_id")
            frames.append(sheet.frame)
            facts = sheet.frame.select(
                pl.col("sample_id").alias("stimulus"), pl.col("data_path").alias("source_path"),
                pl.col("data_path").str.extract(r"(?:^|[-_/])(sys[A-Za-z0-9]+)", 1).alias("system"),
                pl.lit(split_of(path), pl.String).alias("split"), pl.lit(None, pl.String).alias("rater"),
            )  # fmt: skip
            parts += [
                facts.with_columns(sheet.numbers(column).alias("value"), pl.lit(question).alias("question"))
                for question, column in AXES.items()
            ]
        further, notes = _further_columns(frames, [name for name in columns if name != "sample_id"])
        return self._snapshot(source, pl.concat(parts), options, progress, notes, unread=unread, further=further)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        missing = [question for question in AXES if question not in {q.id for q in snapshot.study.asked}]
        if missing:
            raise InputError(
                f"The study has no question '{missing[0]}', so it cannot be written as audiomos.",
                f"It needs the questions {', '.join(AXES)}; choose another format.",
            )
        parts = [
            _scores(snapshot, question).with_columns(pl.lit(name).alias("axis")) for question, name in AXES.items()
        ]
        wide = pl.concat(parts).pivot(
            "axis", on_columns=list(AXES.values()), index=["stimulus", "source_path", "path", "part"], values="value",
            aggregate_function="mean", maintain_order=True,
        )  # fmt: skip
        table = wide.select(
            pl.col("stimulus").alias("sample_id"),
            pl.coalesce("source_path", "path", "stimulus").alias("data_path"),
            *AXES.values(),
            "part",
        )
        for part in table["part"].unique(maintain_order=True):
            name = f"audiomos2025-track2-{'eval' if part == 'test' else part}_list.csv"
            write_text(target / name, csv_text(table.filter(pl.col("part") == part).drop("part")))


for _format in (SheetFormat(), AudioMosFormat()):
    FORMATS.add(_format.name, _format)
