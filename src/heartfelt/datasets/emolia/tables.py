"""What the two EmoLia subsets share: finding their files, reading annotations, users and flags.

An item is a file under a key (an emotion and a task type; a dimension, a level and a polarity). Per item and rater
the last row by ``created_at`` counts, and of rows of the same moment the one further down; earlier rows and rows
without a rating go to the ledger with all their cells, so that the files can be written back as they were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.format import option_path
from heartfelt.formats.tables.columns import PARQUET, NamedTable
from heartfelt.formats.tables.delimited import header_of, line_ends, open_delimited
from heartfelt.tables import RATINGS, lossless_types

ANNOTATIONS, USERS, FLAGS, VARIABLES = "annotations.csv", "users.csv", "flags.csv", "variables.json"
SUPERSEDED = "answered again: of a rater's answers to one item the last counts"
UNANSWERED = "no rating given"
USER_COLUMNS = (
    "username", "is_active", "is_admin", "onboarded", "annotation_count", "created_at", "age", "languages",
    "gender", "consent", "degree", "expertise", "listening_setup",
)  # fmt: skip
ITEM = ["stimulus", "question"]
_RESERVED = sorted({*RATINGS.names, "what", "reason", "stage", "path"} - {"position"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EmoliaSubset:
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
        times = ("reaction_time_ms", "sample_time_ms", "created_at")
        return ("annotation_id", "username", *self.further, *self.keys, "file_name", "rating", *times)

    @property
    def flag_columns(self) -> tuple[str, ...]:
        return ("flag_id", "username", *self.keys, "file_name", "reason", "created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of one subset; only the annotations must be there."""

    annotations: Path
    users: Path | None
    flags: Path | None
    variables: Path | None
    media: Path | None

    def layout(self) -> dict[str, str]:
        """Line ends of the files that are there, and the columns of the tables among them."""
        tables = {ANNOTATIONS: self.annotations, USERS: self.users, FLAGS: self.flags}
        present = {name: path for name, path in {**tables, VARIABLES: self.variables}.items() if path}
        notes = {name: line_ends(path) for name, path in present.items()}
        for name, path in present.items():
            if name in tables and path.suffix.lower() not in PARQUET:
                notes[f"{name} columns"] = "\t".join(open_delimited(path).header)
        return notes


def find_files(source: Path, subset: EmoliaSubset, options: Mapping[str, str]) -> Files:
    """Find a subset's files from the repository's root, its ``annotations``, the subset's folder or the CSV."""
    annotations = find_annotations(source, subset)
    if annotations is None:
        raise InputError(
            f"{source} holds no {ANNOTATIONS} of {subset.name}.",
            f"Point to the repository's root (with annotations/{subset.name}/), to that folder, or to the CSV.",
        )
    base = source if source.is_dir() else source.parent
    variables, named = (option_path(options, option, base) for option in ("variables", "media"))
    folder = annotations.parent
    homes = [root / "dataset" / subset.name for root in (folder, *list(folder.resolve().parents)[:2])]
    return Files(
        annotations=annotations,
        users=_first(folder / USERS),
        flags=_first(folder / FLAGS),
        variables=variables or _first(folder / VARIABLES, *(home / VARIABLES for home in homes)),
        media=named or next((path for path in _media_folders(homes, subset) if path.is_dir()), None),
    )


def _media_folders(homes: Sequence[Path], subset: EmoliaSubset) -> list[Path]:
    """Where the media may be, the usual folder first."""
    usual = [home / "data" for home in homes]
    if not subset.further:
        return usual
    # An earlier layout had the <Emotion>_best folders directly below dataset/.
    flat = [path for home in homes for path in (home, home.parent)]
    return usual + [path for path in flat if path.is_dir() and next(path.glob("*_best"), None)]


def _first(*paths: Path) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def find_annotations(source: Path, subset: EmoliaSubset) -> Path | None:
    """The annotations at or below ``source``: those of this subset, or any if there are none."""
    if source.is_file():
        return source
    tails = ("", subset.name, f"annotations/{subset.name}", f"annotations_raw/{subset.name}", "annotations")
    files = [source / tail / ANNOTATIONS for tail in tails if (source / tail / ANNOTATIONS).is_file()]
    return next((path for path in files if is_subset(path, subset)), files[0] if files else None)


def is_subset(path: Path, subset: EmoliaSubset) -> bool:
    return {*subset.keys, "file_name", "rating"} <= header_of(path)


def read_annotations(path: Path, subset: EmoliaSubset) -> pl.DataFrame:
    """Every row of ``annotations.csv`` as a rating, with all columns the file has."""
    sheet = NamedTable.read(path)
    sheet.need(*subset.columns)
    sheet.not_taken(*_RESERVED)
    if not sheet.frame.height:
        raise InputError(f"{path} has a header but no rows.", "Point to a file with annotations.")
    sheet = _keyed(sheet, subset)
    answer = sheet.one_word_of("rating", subset.answers)
    codes = {word: float(code) for code, word in enumerate(subset.answers)}
    typed = [
        answer.alias("answer"),
        answer.replace_strict(codes, default=None, return_dtype=pl.Float64).alias("value"),
        (sheet.numbers("reaction_time_ms") / 1000).alias("seconds"),
        sheet.moments("created_at").alias("at"),
    ]
    sheet.numbers("sample_time_ms")
    named = sheet.frame.filter(pl.col("annotation_id").is_not_null()).unique()
    twice = named.filter(pl.col("annotation_id").is_duplicated())["annotation_id"].sort()
    if twice.len():
        line = int((sheet["annotation_id"] == twice[0]).arg_max() or 0) + 2
        raise InputError(
            f"{path}, line {line}: the annotation_id '{twice[0]}' stands before different rows.",
            "Give every annotation its own id, or keep only one of the rows.",
        )
    texts = ["rater", *subset.keys, *subset.further, "file_name", "annotation_id", "created_at", "answer"]
    return lossless_types(sheet.frame.rename({"username": "rater"}).drop("rating").with_columns(typed), keep=texts)


def _keyed(sheet: NamedTable, subset: EmoliaSubset) -> NamedTable:
    """A table of annotations or flags with clean ids and the question each row is about."""
    sheet = sheet.with_ids("username", *subset.further, *subset.keys, "file_name")
    sheet.filled("username", *subset.keys, "file_name")
    sheet = sheet.with_columns(sheet.one_word_of(name, words) for name, words in subset.words.items())
    for name in ("file_name", *subset.keys, *subset.further):
        if name in sheet:
            sheet.inside_paths(name)
            bad = sheet[name].str.contains(r"[\x00-\x1f]") | (sheet[name].str.len_chars() > 120)
            fix = "A name has at most 120 characters and no line breaks; the quotes in the file may be broken."
            sheet.refuse(bad, sheet[name].str.slice(0, 40), "'{cell}' is not a name.", fix)
    return sheet.with_columns(pl.concat_str(subset.keys, separator="/").alias("question"))


def split_last(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that count and those that do not; both keep the file's order and a column ``_row``."""
    rows = rows.with_row_index("_row")
    last = (
        rows.filter(pl.col("value").is_not_null())
        .sort("at", "_row", nulls_last=False)
        .unique(["rater", *ITEM], keep="last", maintain_order=True)["_row"]
    )
    counts = pl.col("_row").is_in(last.implode())
    return rows.filter(counts), rows.filter(~counts)


def ledger_of(left_out: pl.DataFrame) -> pl.DataFrame | None:
    """The rows that do not count, with the reason and all their cells."""
    reason = pl.when(pl.col("value").is_null()).then(pl.lit(UNANSWERED)).otherwise(pl.lit(SUPERSEDED))
    rows = left_out.with_columns(what=pl.lit("rating"), reason=reason, stage=pl.lit("source"))
    return rows.drop("value", "seconds", "at") if left_out.height else None


def read_users(path: Path | None, rater_ids: list[str]) -> pl.DataFrame:
    """The raters: everyone in ``users.csv``, then those who only appear in the annotations."""
    raters = pl.DataFrame({"rater": rater_ids}, schema={"rater": pl.String})
    if path is None:
        return raters
    sheet = NamedTable.read(path)
    sheet.need("username")
    sheet.not_taken("rater", "in_users_csv")
    sheet = sheet.with_ids("username")
    sheet.filled("username")
    sheet.unique("username")
    users = lossless_types(sheet.frame, keep=["username"]).rename({"username": "rater"})
    strangers = raters.join(users, on="rater", how="anti", maintain_order="left")
    both = (users.with_columns(in_users_csv=True), strangers.with_columns(in_users_csv=False))
    return pl.concat(both, how="diagonal")


def read_flags(path: Path | None, subset: EmoliaSubset, stimulus: pl.Expr) -> pl.DataFrame | None:
    """The rows of ``flags.csv``, each with its place in the file and what it says as JSON."""
    if path is None:
        return None
    sheet = NamedTable.read(path)
    sheet.need(*subset.flag_columns)
    sheet.not_taken("rater", "stimulus", "question", "flags", "flagged")
    frame = _keyed(sheet, subset).frame
    flag_rows = frame.select(pl.exclude(*subset.keys, "file_name", "question")).iter_rows(named=True)
    texts = pl.Series("flags", [json.dumps(row, ensure_ascii=False) for row in flag_rows], pl.String)
    keyed = frame.select(*subset.keys, "file_name", "question", stimulus.alias("stimulus"))
    return keyed.with_columns(texts).with_row_index("_row")


def items_of(
    last: pl.DataFrame, left_out: pl.DataFrame, flags: pl.DataFrame | None, subset: EmoliaSubset
) -> pl.DataFrame:
    """One row per item with its key; items that only a flag names are there too."""
    names = [*ITEM, "file_name", *subset.keys]
    parts = [frame.select(names) for frame in (last, left_out, flags) if frame is not None]
    items = pl.concat(parts).unique(ITEM, keep="first", maintain_order=True)
    for name in subset.further:
        items = items.join(all_values(last, left_out, ITEM, name), on=ITEM, how="left", maintain_order="left")
    if flags is None:
        return items
    texts = flags.group_by(ITEM, maintain_order=True).agg("flags")
    joined = texts.with_columns(pl.format("[{}]", pl.col("flags").list.join(", ")).alias("flags"))
    items = items.join(joined, on=ITEM, how="left", maintain_order="left")
    return items.with_columns(pl.col("flags").is_not_null().alias("flagged"))


def all_values(last: pl.DataFrame, left_out: pl.DataFrame, by: list[str], name: str) -> pl.DataFrame:
    """All values of a column per group, joined with ``|``; rows that do not count only where no others are."""
    unmatched = left_out.join(last, on=by, how="anti", maintain_order="left")
    both = pl.concat([last.select(*by, name), unmatched.select(*by, name)])
    joined = both.group_by(by).agg(pl.col(name).drop_nulls().unique().sort().str.join("|"))
    return joined.with_columns(pl.col(name).replace("", None))


def order_notes(left_out: pl.DataFrame, items: pl.DataFrame, flags: pl.DataFrame | None) -> dict[str, str]:
    """Where the rows that are kept elsewhere stood in their files."""
    notes: dict[str, str] = {}
    if left_out.height:
        notes[f"{ANNOTATIONS} left out"] = ",".join(map(str, left_out["_row"]))
    if flags is not None and flags.height:
        placed = items.select(ITEM).with_row_index("_item").join(flags, on=ITEM, maintain_order="left")
        notes[f"{FLAGS} order"] = ",".join(map(str, placed.sort("_item", "_row")["_row"]))
    return notes


def file_names(stimuli: pl.DataFrame) -> pl.DataFrame:
    """``stimulus``, ``file_name`` and ``_intent`` of any study's stimuli; a stimulus without a file name is its own."""
    name = pl.col("file_name" if "file_name" in stimuli.columns else "stimulus").alias("file_name")
    intent = pl.col("intent") if "intent" in stimuli.columns else pl.lit(None, pl.String)
    return stimuli.select("stimulus", name, intent.alias("_intent"))


def spelt(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with ``True`` and ``False`` for truth values, as pandas spells them."""
    words = {True: "True", False: "False"}
    return frame.with_columns(pl.selectors.boolean().replace_strict(words, return_dtype=pl.String))
