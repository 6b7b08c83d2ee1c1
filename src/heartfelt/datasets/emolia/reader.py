"""What the two EmoLia subsets share: finding their files, reading annotations, users and flags.

An item is a file under a key (an emotion and a task type; a dimension, a level and a polarity). Per item and rater
the last row by ``created_at`` counts, and of rows of the same moment the one further down; earlier rows and rows
without a rating go to the ledger with all their cells, so that the files can be written back as they were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.columns import (
    filled,
    ids,
    inside_paths,
    moments,
    need,
    not_taken,
    numbers,
    one_word_of,
    read_table,
    refuse,
    unique_keys,
)
from heartfelt.formats.delimited import line_ends, open_delimited
from heartfelt.tables import RATINGS, lossless_types

ANNOTATIONS, USERS, FLAGS, VARIABLES = "annotations.csv", "users.csv", "flags.csv", "variables.json"
SUPERSEDED = "answered again: of a rater's answers to one item the last counts"
UNANSWERED = "no rating given"
USER_COLUMNS = (
    "username", "is_active", "is_admin", "onboarded", "annotation_count", "created_at", "age", "languages",
    "gender", "consent", "degree", "expertise", "listening_setup",
)  # fmt: skip
_RESERVED = {*RATINGS.names, "what", "reason", "stage", "path"} - {"position"}


@dataclass(frozen=True, slots=True)
class Subset:
    """One subset: what its files are called and hold."""

    name: str
    keys: tuple[str, ...]
    """What names an item, next to the file; joined with ``/`` it is the question's id."""
    answers: tuple[str, ...]
    """The answers, in the order of their codes 0, 1, ..."""
    words: Mapping[str, tuple[str, ...]]
    """The words a key may take, where they are fixed."""
    further: tuple[str, ...] = ()
    """Columns of the annotations that are no part of the key."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of ``annotations.csv``."""
        times = ("reaction_time_ms", "sample_time_ms", "created_at")
        return ("annotation_id", "username", *self.further, *self.keys, "file_name", "rating", *times)

    @property
    def flag_columns(self) -> tuple[str, ...]:
        """The columns of ``flags.csv``."""
        return ("flag_id", "username", *self.keys, "file_name", "reason", "created_at")


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one subset; only the annotations must be there."""

    annotations: Path
    users: Path | None
    flags: Path | None
    variables: Path | None
    media: Path | None

    def layout(self) -> dict[str, str]:
        """Line ends of the files that are there."""
        there = (self.annotations, self.users, self.flags, self.variables)
        names = (ANNOTATIONS, USERS, FLAGS, VARIABLES)
        return {name: line_ends(path) for name, path in zip(names, there, strict=True) if path is not None}


def find_files(source: Path, subset: Subset, options: Mapping[str, str]) -> Files:
    """Find a subset's files from the repository's root, its ``annotations``, the subset's folder or the CSV."""
    annotations = find_annotations(source, subset)
    if annotations is None:
        raise InputError(
            f"{source} holds no {ANNOTATIONS} of {subset.name}.",
            f"Point to the repository's root (with annotations/{subset.name}/), to that folder, or to the CSV.",
        )
    folder = annotations.parent
    around = [folder, *list(folder.resolve().parents)[:2]]
    homes = [place / "dataset" / subset.name for place in around]
    return Files(
        annotations,
        _first(folder / USERS),
        _first(folder / FLAGS),
        _named(options, "variables", source)
        or _first(folder / VARIABLES, *(home / VARIABLES for home in homes)),
        _media(options, source, homes, subset),
    )


def find_annotations(source: Path, subset: Subset) -> Path | None:
    """The annotations at or below ``source``: those of this subset, or any if there are none."""
    if source.is_file():
        return source
    tails = ("", subset.name, f"annotations/{subset.name}", f"annotations_raw/{subset.name}", "annotations")
    files = [source / tail / ANNOTATIONS for tail in tails if (source / tail / ANNOTATIONS).is_file()]
    return next((path for path in files if is_subset(path, subset)), files[0] if files else None)


def is_subset(path: Path, subset: Subset) -> bool:
    """Whether the header of a file has the keys of this subset."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            header = {name.strip() for name in file.readline().split(",")}
    except OSError:
        return False
    return {*subset.keys, "file_name", "rating"} <= header


def _first(*paths: Path) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _named(options: Mapping[str, str], option: str, source: Path) -> Path | None:
    if option not in options:
        return None
    path = (source if source.is_dir() else source.parent) / options[option]
    if not path.exists():
        raise InputError(
            f"There is no {path} (option '{option}').", "Check the path; it is relative to the source."
        )
    return path


def _media(options: Mapping[str, str], source: Path, homes: list[Path], subset: Subset) -> Path | None:
    named = _named(options, "media", source)
    places = [home / "data" for home in homes]
    if subset.further:  # an earlier layout had the <Emotion>_best folders directly below dataset/
        flat = [place for home in homes for place in (home, home.parent)]
        places += [place for place in flat if place.is_dir() and next(place.glob("*_best"), None)]
    return named or next((place for place in places if place.is_dir()), None)


def read_annotations(path: Path, subset: Subset) -> pl.DataFrame:
    """Every row of ``annotations.csv`` as a rating, with all columns the file has."""
    where = str(path)
    frame = read_table(path)
    need(frame, subset.columns, where)
    not_taken(frame, sorted(_RESERVED), where)
    if not frame.height:
        raise InputError(f"{path} has a header but no rows.", "Point to a file with annotations.")
    frame = keyed(frame, subset, where)
    answer = one_word_of(frame, "rating", subset.answers, where)
    codes = {word: float(code) for code, word in enumerate(subset.answers)}
    typed = [
        answer.alias("answer"),
        answer.replace_strict(codes, default=None, return_dtype=pl.Float64).alias("value"),
        (numbers(frame, "reaction_time_ms", where) / 1000).alias("seconds"),
        moments(frame, "created_at", where).alias("at"),
    ]
    numbers(frame, "sample_time_ms", where)
    _same_id_same_row(frame, where)
    frame = frame.rename({"username": "rater"}).drop("rating").with_columns(typed)
    return lossless_types(
        frame,
        keep=["rater", *subset.keys, *subset.further, "file_name", "annotation_id", "created_at", "answer"],
    )


def keyed(frame: pl.DataFrame, subset: Subset, where: str) -> pl.DataFrame:
    """A table of annotations or flags with clean ids and the question each row is about."""
    names = ("username", *subset.further, *subset.keys, "file_name")
    frame = frame.with_columns(ids(frame[name]).alias(name) for name in names if name in frame.columns)
    filled(frame, ["username", *subset.keys, "file_name"], where)
    for name, words in subset.words.items():
        frame = frame.with_columns(one_word_of(frame, name, words, where))
    for name in ("file_name", *subset.keys, *subset.further):
        if name in frame.columns:
            inside_paths(frame[name], where)
            _plain_names(frame[name], where)
    return frame.with_columns(pl.concat_str(subset.keys, separator="/").alias("question"))


def _plain_names(series: pl.Series, where: str) -> None:
    bad = series.str.contains(r"[\x00-\x1f]") | (series.str.len_chars() > 120)
    fix = "A name has at most 120 characters and no line breaks; the quotes in the file may be broken."
    refuse(bad, series.str.slice(0, 40), where, "'{cell}' is not a name.", fix)


def _same_id_same_row(frame: pl.DataFrame, where: str) -> None:
    """An id that stands before two different rows means that a file was put together wrongly."""
    ids_twice = (
        frame.filter(pl.col("annotation_id").is_not_null())
        .unique()
        .filter(pl.col("annotation_id").is_duplicated())
    )
    if ids_twice.height:
        name = ids_twice["annotation_id"].sort()[0]
        line = int((frame["annotation_id"] == name).arg_max() or 0) + 2
        raise InputError(
            f"{where}, line {line}: the annotation_id '{name}' stands before different rows.",
            "Give every annotation its own id, or keep only one of the rows.",
        )


def split_last(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that count and those that do not; both keep the file's order and a column ``_row``."""
    rows = rows.with_row_index("_row")
    last = (
        rows.filter(pl.col("value").is_not_null())
        .sort("at", "_row", nulls_last=False)
        .unique(["rater", "stimulus", "question"], keep="last", maintain_order=True)["_row"]
    )
    counts = pl.col("_row").is_in(last.implode())
    return rows.filter(counts), rows.filter(~counts)


def ledger_of(left: pl.DataFrame) -> pl.DataFrame | None:
    """The rows that do not count, with the reason and all their cells."""
    if not left.height:
        return None
    reason = pl.when(pl.col("value").is_null()).then(pl.lit(UNANSWERED)).otherwise(pl.lit(SUPERSEDED))
    rows = left.with_columns(
        pl.lit("rating").alias("what"), reason.alias("reason"), pl.lit("source").alias("stage")
    )
    return rows.drop("value", "seconds", "at")


def read_users(path: Path | None, seen: list[str]) -> pl.DataFrame:
    """The raters: everyone in ``users.csv``, then those who only appear in the annotations."""
    here = pl.DataFrame({"rater": seen}, schema={"rater": pl.String})
    if path is None:
        return here
    where = str(path)
    frame = read_table(path)
    need(frame, ["username"], where)
    not_taken(frame, ["rater", "in_users_csv"], where)
    frame = frame.with_columns(ids(frame["username"]).alias("username"))
    filled(frame, ["username"], where)
    unique_keys(frame, ["username"], where)
    frame = (
        lossless_types(frame, keep=["username"])
        .rename({"username": "rater"})
        .with_columns(in_users_csv=pl.lit(True))
    )
    strangers = here.join(frame, on="rater", how="anti", maintain_order="left").with_columns(
        in_users_csv=pl.lit(False)
    )
    return pl.concat([frame, strangers], how="diagonal")


def read_flags(path: Path | None, subset: Subset) -> pl.DataFrame | None:
    """The rows of ``flags.csv``, each with its place in the file and what it says as JSON."""
    if path is None:
        return None
    where = str(path)
    frame = read_table(path)
    need(frame, subset.flag_columns, where)
    not_taken(frame, ["rater", "stimulus", "question", "flags", "flagged"], where)
    frame = keyed(frame, subset, where)
    own = [name for name in frame.columns if name not in {*subset.keys, "file_name", "question"}]
    texts = [json.dumps(row, ensure_ascii=False) for row in frame.select(own).iter_rows(named=True)]
    return (
        frame.select(*subset.keys, "file_name", "question")
        .with_columns(pl.Series("flags", texts, pl.String))
        .with_row_index("_row")
    )


def items_of(
    last: pl.DataFrame, left: pl.DataFrame, flags: pl.DataFrame | None, subset: Subset
) -> pl.DataFrame:
    """One row per item with its key; items that only a flag names are there too."""
    names = ["stimulus", "question", "file_name", *subset.keys]
    parts = [last.select(*names, *subset.further), left.select(*names, *subset.further)]
    if flags is not None:
        parts.append(flags.select(names))
    items = (
        pl.concat(parts, how="diagonal")
        .unique(["stimulus", "question"], keep="first", maintain_order=True)
        .select(names)
    )
    for name in subset.further:
        items = items.join(
            all_values(last, left, ["stimulus", "question"], name),
            on=["stimulus", "question"],
            how="left",
            maintain_order="left",
        )
    if flags is None:
        return items
    texts = flags.group_by("stimulus", "question", maintain_order=True).agg("flags")
    joined = texts.with_columns(pl.format("[{}]", pl.col("flags").list.join(", ")).alias("flags"))
    items = items.join(joined, on=["stimulus", "question"], how="left", maintain_order="left")
    return items.with_columns(pl.col("flags").is_not_null().alias("flagged"))


def all_values(last: pl.DataFrame, left: pl.DataFrame, by: list[str], name: str) -> pl.DataFrame:
    """All values of a column per group, joined with ``|``; rows that do not count only where no others are."""
    rest = left.join(last, on=by, how="anti")
    both = pl.concat([last.select(*by, name), rest.select(*by, name)])
    joined = both.group_by(by).agg(pl.col(name).drop_nulls().unique().sort().str.join("|"))
    return joined.with_columns(pl.col(name).replace("", None))


def order_notes(left: pl.DataFrame, items: pl.DataFrame, flags: pl.DataFrame | None) -> dict[str, str]:
    """Where the rows that are kept elsewhere stood in their files."""
    notes: dict[str, str] = {}
    if left.height:
        notes[f"{ANNOTATIONS} left out"] = ",".join(map(str, left["_row"]))
    if flags is not None and flags.height:
        placed = (
            items.select("stimulus", "question")
            .with_row_index("_item")
            .join(flags, on=["stimulus", "question"])
        )
        notes[f"{FLAGS} order"] = ",".join(map(str, placed.sort("_item", "_row")["_row"]))
    return notes


def header_notes(files: Files) -> dict[str, str]:
    """The columns of the files, in the order they have there."""
    there = {ANNOTATIONS: files.annotations, USERS: files.users, FLAGS: files.flags}
    text = {
        name: path
        for name, path in there.items()
        if path is not None and path.suffix.lower() not in {".parquet", ".pq"}
    }
    return {f"{name} columns": "\t".join(open_delimited(path).header) for name, path in text.items()}
