"""Writing MusicEval files: lists without a header, prompts with tabs, and ``ratings.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text, with_line_ends
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
    is_own_format = snapshot.source.format == "musiceval"
    layout = snapshot.source.layout if is_own_format else {}
    means, ratings = _means(snapshot, columns, is_own_format), _ratings(snapshot, columns)
    scores = list(columns.values())
    lists = _lists(snapshot, means, ratings.select("wavname", "expert", *scores), layout if is_own_format else None)
    lists |= _systems(snapshot, means, scores, is_own_format)
    files: dict[str, str] = {}
    for name, frame in lists.items():
        spelt = _whole(frame, scores) if layout.get(f"{name} numbers") == "whole" else frame
        files[name] = csv_text(spelt, header=False)
    if ratings.height and (not is_own_format or RATINGS in layout):
        noted = layout.get(f"{RATINGS} columns", "").split("\t")
        order = [name for name in noted if name in ratings.columns] or ratings.columns
        files[RATINGS] = csv_text(_whole(ratings, scores).select(order))
    files |= _prompts(snapshot, layout, is_own_format)
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(target / name, with_line_ends(text, layout.get(name, "lf")))


def _lists(
    snapshot: Snapshot, means: pl.DataFrame, ratings: pl.DataFrame, layout: Mapping[str, str] | None
) -> dict[str, pl.DataFrame]:
    """The lists of means and of single ratings: those that were read, or where there is no ``layout`` those of all splits."""
    split = pl.col("split") if "split" in snapshot.stimuli.columns else pl.lit(None, pl.String).alias("split")
    splits = snapshot.stimuli.select(pl.col("stimulus").alias("wavname"), split)
    names = [name for name in layout or () if name.endswith(".txt") and name.startswith(("sets/", "person_mos/"))]
    if layout is None and means.height:
        parts = splits["split"].fill_null("total").unique(maintain_order=True)
        names = [f"sets/{part}_mos_list.txt" for part in parts]
    out = {}
    for name in names:
        part = Path(name).name.removesuffix("_person_mos.txt").removesuffix("_mos_list.txt")
        frame = means if name.startswith("sets/") else ratings
        frame = frame.join(splits, on="wavname", how="left", maintain_order="left")
        out[name] = (frame if part == "total" else frame.filter(pl.col("split") == part)).drop("split")
    return out


def _means(snapshot: Snapshot, columns: Mapping[str, str], is_own_format: bool) -> pl.DataFrame:
    means = snapshot.means
    if not means.height and not is_own_format:
        rated = snapshot.ratings.filter(pl.col("value").is_not_null())
        means = rated.group_by("stimulus", "question", maintain_order=True).agg(pl.mean("value").round(4).alias("mean"))
    return _wide(means.select("stimulus", "question", "mean"), "mean", columns)


def _ratings(snapshot: Snapshot, columns: Mapping[str, str]) -> pl.DataFrame:
    wide = _wide(snapshot.ratings.drop("answer", strict=False), "value", columns)
    first = ["expert", "wavname", *columns.values(), *(name for name in _OPTIONAL if name in wide.columns)]
    wide = wide.select(*first, pl.exclude(first))
    moment = pl.selectors.by_name("at", require_all=False).dt.strftime("%Y-%m-%dT%H:%M:%S%.f+00:00")
    return wide.with_columns(moment)


def _wide(frame: pl.DataFrame, value: str, columns: Mapping[str, str]) -> pl.DataFrame:
    """A row per clip (and rater) with a column per question, under the files' names."""
    frame = frame.filter(pl.col("question").is_in(list(columns)))
    index = [name for name in frame.columns if name not in {"question", value}]
    wide = frame.pivot("question", on_columns=list(columns), index=index, values=value, maintain_order=True)
    return wide.rename({"stimulus": "wavname", "rater": "expert", **columns}, strict=False)


def _whole(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Scores as text, whole numbers without a point."""
    return frame.with_columns(pl.col(columns).cast(pl.String).str.strip_suffix(".0"))


def _systems(
    snapshot: Snapshot, means: pl.DataFrame, scores: list[str], is_own_format: bool
) -> dict[str, pl.DataFrame]:
    tables: dict[str, list[dict[str, object]]] = {}
    for system in snapshot.study.systems:
        for file, published in ((system.model_extra or {}).get("system_mos") or {}).items():
            tables.setdefault(f"system_mos/{file}.csv", []).append({"system": system.id, **published})
    if not tables and not is_own_format and means.height and "system" in snapshot.stimuli.columns:
        made_by = snapshot.stimuli.select(pl.col("stimulus").alias("wavname"), "system").drop_nulls("system")
        by_system = means.join(made_by, on="wavname", maintain_order="left").group_by("system")
        tables[SYSTEMS] = by_system.agg(pl.mean(*scores).round(4)).sort("system").to_dicts()
    schema = {"system": pl.String, **dict.fromkeys(scores, pl.Float64)}
    return {file: pl.DataFrame(rows, schema=schema) for file, rows in tables.items()}


def _prompts(snapshot: Snapshot, layout: Mapping[str, str], is_own_format: bool) -> dict[str, str]:
    clips = {name for stem in snapshot.stimuli["stimulus"] for name in (stem, Path(stem).stem)}
    out: dict[str, str] = {}
    for file in (PROMPTS, DEMO_PROMPTS):
        demo = file == DEMO_PROMPTS
        prompts = [p for p in snapshot.study.prompts if (p.id in clips or Path(p.id).suffix.lower() in AUDIO) == demo]
        if file in layout or (not is_own_format and prompts):
            head = "" if layout.get(f"{file} header") == "no" else "id\ttext\n"
            out[file] = head + "".join(f"{p.id}\t{_quoted(p.text.replace(chr(10), ' '))}\n" for p in prompts)
    return out


def unquoted(text: str) -> str:
    """A prompt without the quotes that enclose all of it; quotes inside it are its own."""
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1].replace('""', ""):
        return text[1:-1].replace('""', '"')
    return text


def _quoted(text: str) -> str:
    """A prompt so that :func:`unquoted` gives it back."""
    return text if unquoted(text) == text else '"' + text.replace('"', '""') + '"'
