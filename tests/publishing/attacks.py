"""What an attacker has: every file of a release, read without heartfelt's own readers of releases."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import parse_study

MOODS = ("joy", "calm", "fear", "sadness")
STUDY = parse_study(
    "name: moods\nscales:\n  moods: {type: categories, categories: [joy, calm, fear, sadness]}\n"
    "  nine: {type: points, points: 9}\n"
    "questions:\n  - {id: mood, text: M, scale: moods}\n  - {id: appeal, text: A, scale: nine, required: false}\n"
)


def labels(stimuli: int = 40, seed: int = 1) -> list[int]:
    """A mood for every stimulus, no two neighbours the same by rule."""
    return [int(code) for code in np.random.default_rng(seed).integers(0, 4, stimuli)]


def label_only(
    moods: Sequence[int],
    hidden: int = 10,
    columns: Mapping[str, Sequence[object]] | None = None,
    *,
    names: Sequence[str] | None = None,
    appeal: Sequence[float] | None = None,
    source: Source | None = None,
    **tables: pl.DataFrame,
) -> Snapshot:
    """One label per stimulus and nobody who gave it; the last ``hidden`` stimuli are the part 'test'."""
    names = names or [f"c{at:02}" for at in range(len(moods))]
    parts = ["train"] * (len(moods) - hidden) + ["test"] * hidden
    stimuli = pl.DataFrame({"stimulus": names, "split": parts, **(columns or {})})
    answers = pl.DataFrame(
        {"rater": None, "stimulus": names, "question": "mood", "value": [float(code) for code in moods]},
        schema={"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64},
    )
    if appeal is not None:
        more = answers.with_columns(question=pl.lit("appeal"), value=pl.Series(appeal, dtype=pl.Float64))
        answers = pl.concat([answers, more])
    return Snapshot.build(STUDY, stimuli=stimuli, ratings=answers, source=source, **tables)


def tables_of(folder: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """Every table of a release, the records of tar shards among them."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".parquet":
            yield name, pl.read_parquet(path)
        elif path.suffix == ".csv":
            yield name, pl.read_csv(path, infer_schema=False)
        elif path.suffix == ".tar":
            with tarfile.open(path) as archive:
                opened = [archive.extractfile(each) for each in archive.getmembers() if each.name.endswith(".json")]
                records = [json.loads(each.read()) for each in opened if each is not None]
            texts = [{key: None if value is None else str(value) for key, value in each.items()} for each in records]
            yield name, pl.DataFrame(texts, infer_schema_length=None)


def said_about(folder: Path, stimuli: Sequence[str]) -> dict[str, set[str]]:
    """By file, the columns that do not say the same about all of the stimuli."""
    out: dict[str, set[str]] = {}
    for name, table in tables_of(folder):
        for column in (column for column in ("stimulus", "first", "second", "name") if column in table.columns):
            rows = table.filter(pl.col(column).cast(pl.String).is_in(list(stimuli)))
            said = {other for other in rows.columns if rows[other].n_unique() > 1}
            out[name] = out.get(name, set()) | said
    return out


def texts_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file as text: cells of tables, lines of the rest; and every name."""
    for name, table in tables_of(folder):
        for column in table.columns:
            for value in table[column].cast(pl.String, strict=False).drop_nulls().unique():
                yield f"{name}", str(value)
    for path in sorted(folder.rglob("*")):
        yield path.relative_to(folder).as_posix(), path.name
        if path.is_file() and path.suffix not in {".parquet", ".tar", ".csv", ".wav", ".png", ".pdf"}:
            for line in path.read_text(encoding="utf-8").splitlines():
                yield path.relative_to(folder).as_posix(), line


HEXADECIMAL = re.compile(r"(?<![0-9A-Za-z.])[0-9a-fA-F]{16,}(?![0-9A-Za-z])")
BASE64 = re.compile(
    r"(?<![0-9A-Za-z+/])(?:[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{22}==|[A-Za-z0-9_-]{43})(?![0-9A-Za-z+/=_-])"
)


def digests_of(folder: Path) -> dict[str, set[str]]:
    """By file, everything that looks like a hash."""
    out: dict[str, set[str]] = {}
    for name, text in texts_of(folder):
        values = [each for each in HEXADECIMAL.findall(text) if not each.isdecimal()] + BASE64.findall(text)
        out.setdefault(name.partition(".tar")[0], set()).update(value.lower() for value in values)
    return out
