"""Reading MusicEval's lists: scores without a header, single ratings, and prompts with tabs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.datasets.musiceval.writer import unquoted
from heartfelt.errors import InputError
from heartfelt.formats.columns import (
    filled,
    ids,
    inside_paths,
    moments,
    need,
    not_taken,
    numbers,
    read_table,
    refuse,
    unique_keys,
    whole_numbers,
)
from heartfelt.formats.delimited import read_delimited
from heartfelt.formats.json_files import numbered_lines
from heartfelt.media.probe import AUDIO
from heartfelt.tables import lossless_types

SCORES = ("overall", "textual")
Names: TypeAlias = tuple[str, ...]


def _headless(path: Path, names: Names) -> tuple[pl.DataFrame, int]:
    """A list without a header, and the line of its first row; a header that is there is passed over."""
    frame = read_delimited(path, ",", names)
    first = frame.row(0) if frame.height else ()
    if first and str(first[0]).strip().casefold() in {"wavname", "wavid", "filename", "file", "system"}:
        return frame[1:], 2
    return frame, 1


def _scores(frame: pl.DataFrame, where: str, first: int) -> pl.DataFrame:
    frame = frame.with_columns(numbers(frame, name, where, first) for name in SCORES)
    for name in SCORES:
        problem = "the score {cell} is not between 1 and 5 ({rows} such cells)."
        fix = "MusicEval's scores run from 1 to 5; correct the list."
        refuse(~frame[name].is_between(1, 5), frame[name], where, problem, fix, first)
    return frame


def _clip_names(frame: pl.DataFrame, where: str, first: int = 2) -> pl.DataFrame:
    """Clip names without folders climbing out; one without an extension is a ``.wav``."""
    filled(frame, ["wavname"], where, first)
    inside_paths(frame["wavname"], where, first)
    suffix = "|".join(re.escape(ending) for ending in sorted(AUDIO))
    name = pl.col("wavname").str.strip_chars()
    return frame.with_columns(
        pl.when(name.str.contains(rf"(?i)({suffix})$")).then(name).otherwise(name + ".wav").alias("wavname")
    )


def read_means(path: Path, names: Names) -> pl.DataFrame:
    """``{split}_mos_list.txt``: one row per clip."""
    frame, first = _headless(path, names)
    frame = _scores(_clip_names(frame, str(path), first), str(path), first)
    unique_keys(frame, ["wavname"], str(path), first)
    return frame


def read_person(path: Path, names: Names) -> pl.DataFrame:
    """``{split}_person_mos.txt``: one row per clip and expert."""
    frame, first = _headless(path, names)
    frame = _scores(_clip_names(frame, str(path), first), str(path), first).with_columns(
        ids(frame["expert"]).alias("expert")
    )
    filled(frame, ["expert"], str(path), first)
    unique_keys(frame, ["expert", "wavname"], str(path), first)
    return frame


def read_ratings(path: Path) -> pl.DataFrame:
    """``ratings.csv``: one row per expert and presentation; the same clip again in the order is a repeat."""
    where = str(path)
    frame = read_table(path)
    need(frame, ("expert", "wavname", "overall", "textual"), where)
    not_taken(frame, ("rater", "stimulus", "question", "value", "answer", "mean"), where)
    frame = _clip_names(frame, where).with_columns(ids(frame["expert"]).alias("expert"))
    filled(frame, ["expert"], where)
    typed = [numbers(frame, name, where) for name in SCORES]
    typed += [whole_numbers(frame, name, where) for name in ("position", "repeat") if name in frame.columns]
    typed += [moments(frame, "at", where)] if "at" in frame.columns else []
    typed += [numbers(frame, "seconds", where)] if "seconds" in frame.columns else []
    frame = lossless_types(frame.with_columns(typed), keep=["expert", "wavname"])
    if "repeat" in frame.columns:
        unique_keys(frame, ["expert", "wavname", "repeat"], where)
        return frame
    if "position" not in frame.columns or not frame.select("expert", "wavname").is_duplicated().any():
        unique_keys(frame, ["expert", "wavname"], where)
        return frame
    order = ["batch", "position"] if "batch" in frame.columns else ["position"]
    unique_keys(frame, ["expert", "wavname", *order], where)
    again = pl.struct(order).rank("ordinal").over("expert", "wavname").cast(pl.Int64) - 1
    return frame.with_columns(again.alias("repeat"))


def read_systems(path: Path) -> dict[str, dict[str, float]]:
    """The published scores of each system."""
    frame, first = _headless(path, ("system", "overall", "textual"))
    frame = _scores(frame, str(path), first)
    filled(frame, ["system"], str(path), first)
    unique_keys(frame, ["system"], str(path), first)
    return {
        row["system"]: {name: row[name] for name in SCORES if row[name] is not None}
        for row in frame.iter_rows(named=True)
    }


def has_header(path: Path) -> bool:
    """Whether a list of prompts begins with ``id`` and ``text``."""
    first = next((line for _, line in numbered_lines(path)), "")
    return [cell.strip().casefold() for cell in first.split("\t")] == ["id", "text"]


def read_prompts(path: Path) -> dict[str, str]:
    """``id``, a tab, ``text``. Quotes in a text are its own unless they enclose all of it."""
    if not path.is_file():
        return {}
    prompts: dict[str, str] = {}
    skip = has_header(path)
    for number, line in numbered_lines(path):
        name, tab, text = line.partition("\t")
        name, text = name.strip(), text.strip()
        if skip:
            skip = False
            continue
        if not tab or not name or not text or len(name) > 200:
            raise InputError(
                f"{path}, line {number}: there is no id, tab and text.",
                "Write each prompt as its id, a tab and its text.",
            )
        text = unquoted(text)
        if prompts.get(name, text) != text:
            raise InputError(
                f"{path}, line {number}: the prompt '{name}' is there twice with different texts.",
                "Keep one of the two.",
            )
        prompts[name] = text
    return prompts
