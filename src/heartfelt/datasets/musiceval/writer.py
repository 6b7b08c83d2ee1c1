"""Writing MusicEval files: lists without a header, prompts with tabs, and ``ratings.csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text, with_line_ends
from heartfelt.media.probe import AUDIO
from heartfelt.snapshot import Snapshot

RATINGS = "ratings.csv"
SYSTEMS = "system_mos/system_mos_phase1.csv"
PROMPTS, DEMO_PROMPTS = "prompt_info.txt", "demo_prompt_info.txt"
_OPTIONAL = ("batch", "position", "repeat", "seconds", "at")


def write_release(snapshot: Snapshot, target: Path, columns: Mapping[str, str]) -> None:
    """Write a snapshot as a release; ``columns`` gives each question its column."""
    missing = [question for question in columns if question not in {q.id for q in snapshot.study.asked}]
    if missing:
        raise InputError(
            f"The study has no question '{missing[0]}', so it cannot be written as musiceval.",
            f"It needs the questions {' and '.join(columns)}; choose another format.",
        )
    own = snapshot.source.format == "musiceval"
    layout = snapshot.source.layout if own else {}
    splits = _splits(snapshot)
    means, ratings = _means(snapshot, columns), _ratings(snapshot, columns)
    files: dict[str, str] = {}
    wanted = [name for name in layout if name.endswith(".txt") and name.startswith(("sets/", "person_mos/"))]
    if not own and means.height:
        wanted = [
            f"sets/{split}_mos_list.txt"
            for split in splits["split"].fill_null("total").unique(maintain_order=True)
        ]
    for name in wanted:
        split = Path(name).name.removesuffix("_person_mos.txt").removesuffix("_mos_list.txt")
        frame = means if name.startswith("sets/") else ratings.select("wavname", "expert", *columns.values())
        frame = frame.join(splits, left_on="wavname", right_on="stimulus", how="left", maintain_order="left")
        mine = frame if split == "total" else frame.filter(pl.col("split") == split)
        files[name] = csv_text(
            _numbers(mine.drop("split"), columns.values(), layout.get(f"{name} numbers")), header=False
        )
    if ratings.height and (not own or RATINGS in layout):
        noted = layout.get(f"{RATINGS} columns", "").split("\t")
        order = [name for name in noted if name in ratings.columns] or ratings.columns
        files[RATINGS] = csv_text(_numbers(ratings, columns.values(), "whole").select(order))
    files.update(_systems(snapshot, means, columns, own))
    files.update(_prompts(snapshot, layout, own))
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(target / name, with_line_ends(text, layout.get(name, "lf")))


def _splits(snapshot: Snapshot) -> pl.DataFrame:
    stimuli = snapshot.stimuli
    return (
        stimuli.select("stimulus", "split")
        if "split" in stimuli.columns
        else stimuli.select("stimulus", pl.lit(None, pl.String).alias("split"))
    )


def _means(snapshot: Snapshot, columns: Mapping[str, str]) -> pl.DataFrame:
    means = snapshot.means
    if not means.height and snapshot.source.format != "musiceval":
        rated = snapshot.ratings.filter(pl.col("value").is_not_null())
        means = rated.group_by("stimulus", "question", maintain_order=True).agg(
            pl.mean("value").round(4).alias("mean")
        )
    return _wide(means.select("stimulus", "question", "mean"), "mean", columns).rename(
        {"stimulus": "wavname"}
    )


def _ratings(snapshot: Snapshot, columns: Mapping[str, str]) -> pl.DataFrame:
    frame = snapshot.ratings.drop("answer", strict=False)
    wide = _wide(frame, "value", columns).rename({"rater": "expert", "stimulus": "wavname"})
    first = ["expert", "wavname", *columns.values(), *(name for name in _OPTIONAL if name in wide.columns)]
    wide = wide.select(*first, *(name for name in wide.columns if name not in first))
    return (
        wide.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.f+00:00"))
        if "at" in wide.columns
        else wide
    )


def _wide(frame: pl.DataFrame, value: str, columns: Mapping[str, str]) -> pl.DataFrame:
    frame = frame.filter(pl.col("question").is_in(list(columns))).with_columns(
        pl.col("question").replace(columns)
    )
    index = [name for name in frame.columns if name not in {"question", value}]
    if not frame.height:
        return frame.select(*index, *(pl.lit(None, pl.Float64).alias(name) for name in columns.values()))
    wide = frame.pivot("question", index=index, values=value, maintain_order=True)
    wide = wide.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in columns.values() if name not in wide.columns
    )
    return wide.select(*index, *columns.values())


def _numbers(frame: pl.DataFrame, columns: Any, form: str | None) -> pl.DataFrame:
    """Scores as text: ``3.0`` as it is, or ``3`` where whole numbers were written without a point."""
    if form != "whole":
        return frame
    whole = [
        pl.when(pl.col(c) == pl.col(c).floor())
        .then(pl.col(c).cast(pl.Int64, strict=False).cast(pl.String))
        .otherwise(pl.col(c).cast(pl.String))
        .alias(c)
        for c in columns
    ]
    return frame.with_columns(whole)


def _systems(
    snapshot: Snapshot, means: pl.DataFrame, columns: Mapping[str, str], own: bool
) -> dict[str, str]:
    layout = snapshot.source.layout if own else {}
    names: Sequence[str] = list(columns.values())
    tables: dict[str, list[dict[str, Any]]] = {}
    for system in snapshot.study.systems:
        for file, scores in ((system.model_extra or {}).get("system_mos") or {}).items():
            tables.setdefault(f"system_mos/{file}.csv", []).append({"system": system.id, **scores})
    if not tables and not own and means.height and "system" in snapshot.stimuli.columns:
        joined = means.join(
            snapshot.stimuli.select("stimulus", "system"), left_on="wavname", right_on="stimulus"
        ).drop_nulls("system")
        tables[SYSTEMS] = (
            joined.group_by("system").agg(pl.mean(name).round(4) for name in names).sort("system").to_dicts()
        )
    out: dict[str, str] = {}
    for file, rows in tables.items():
        frame = pl.DataFrame(rows, schema={"system": pl.String, **dict.fromkeys(names, pl.Float64)})
        out[file] = csv_text(_numbers(frame, names, layout.get(f"{file} numbers")), header=False)
    return out


def _prompts(snapshot: Snapshot, layout: Mapping[str, str], own: bool) -> dict[str, str]:
    clips = {name for stem in snapshot.stimuli["stimulus"] for name in (stem, Path(stem).stem)}
    out: dict[str, str] = {}
    for file in (PROMPTS, DEMO_PROMPTS):
        demo = file == DEMO_PROMPTS
        mine = [
            p for p in snapshot.study.prompts if (p.id in clips or Path(p.id).suffix.lower() in AUDIO) == demo
        ]
        if file in layout or (not own and mine):
            head = "" if layout.get(f"{file} header") == "no" else "id\ttext\n"
            out[file] = head + "".join(f"{p.id}\t{_quoted(p.text.replace(chr(10), ' '))}\n" for p in mine)
    return out


def unquoted(text: str) -> str:
    """A prompt without the quotes that enclose all of it; quotes inside it are its own."""
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1].replace('""', ""):
        return text[1:-1].replace('""', '"')
    return text


def _quoted(text: str) -> str:
    """A prompt so that :func:`unquoted` gives it back."""
    return text if unquoted(text) == text else '"' + text.replace('"', '""') + '"'
