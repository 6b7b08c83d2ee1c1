"""``voicemos``: the folder ``DATA`` of the VoiceMOS challenges, with the data set BVCC.

``sets/*_mos_list.txt`` holds a clip and its mean on each line; ``sets/TRAINSET``, ``DEVSET`` and ``TESTSET`` hold single ratings:
system, clip, score, anything, listener. ``mydata_system.csv`` has the means of the systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS
from heartfelt.formats.table_formats.opinion_lists import OpinionList, scores_by_question, split_of
from heartfelt.formats.tables.columns import NamedTable
from heartfelt.formats.tables.delimited import csv_text, first_row, header_of, read_delimited
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot

_INFO = ("age", "gender", "hearing")
LISTENERS = {"TRAINSET": "train", "DEVSET": "dev", "TESTSET": "test"}
MEANS_END = "_mos_list.txt"
_SYSTEM = pl.col("stimulus").str.extract(r"^(?:.*/)?([^/-]+)-", 1).alias("system")
"""What stands before the hyphen in the name of a clip."""


class VoiceMosFormat(OpinionList):
    """The folder DATA of the VoiceMOS challenges (BVCC)."""

    name = "voicemos"
    about = "VoiceMOS challenge (BVCC): the folder DATA with sets/ (clip means, ratings by listener) and wav/"
    example_data = "example/DATA"

    def recognises(self, source: Path) -> bool:
        if source.is_file():
            return source.name.endswith(MEANS_END) and len(first_row(source)) == 2
        lists = sorted(_data(source).glob(f"sets/*{MEANS_END}"))
        return bool(lists) and len(first_row(lists[0])) == 2

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        sets = source.parent if source.is_file() else _data(source) / "sets"
        every = [source] if source.is_file() else sorted(sets.glob("*")) if sets.is_dir() else []
        lists = [path for path in every if path.name.endswith(MEANS_END)]
        single = [path for path in every if path.name in LISTENERS]
        if not lists and not single:
            raise InputError(
                f"{source} holds none of sets/*{MEANS_END} and sets/TRAINSET.", "Point to the folder DATA."
            )
        question = options.get("question", "quality")
        rated = [_of_listeners(path) for path in single]
        clips = {name for frame in rated for name in frame["stimulus"]}
        parts = [frame.drop(*_INFO) for frame in rated]
        for path in lists:
            sheet = NamedTable(read_delimited(path, ",", ("stimulus", "score")), str(path), first=1)
            sheet.filled("stimulus")
            sheet.unique("stimulus")
            frame = sheet.frame.select(
                "stimulus", _SYSTEM, pl.lit(split_of(path), pl.String).alias("split"),
                pl.lit(None, pl.String).alias("rater"), sheet.numbers("score").alias("value"),
            )  # fmt: skip
            parts.append(
                frame.filter(~pl.col("stimulus").is_in(list(clips))).select(parts[0].columns if parts else pl.all())
            )
        rows = pl.concat(parts).with_columns(pl.lit(question).alias("question"))
        repeated = "The lists of means repeat the ratings and were not read for clips that have single ratings."
        people = pl.concat(rated).group_by("rater", maintain_order=True).agg(pl.col(_INFO).first()) if rated else None
        unread = {
            path.relative_to(sets.parent).as_posix(): "is no list of scores of the challenge"
            for path in every
            if path not in {*lists, *single}
        }
        return self._snapshot(source, rows, options, progress, [repeated] if clips else [], people, unread)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        for part in snapshot.stimuli["split"].drop_nulls().unique() if "split" in snapshot.stimuli.columns else ():
            if part not in LISTENERS.values():
                raise InputError(
                    f"The stimuli have the part '{part}', and voicemos has train, dev and test.",
                    "Name the parts like these, or choose another format.",
                )
        facts = [name for name in _INFO if name in snapshot.raters.columns]
        people = {row["rater"]: row for row in snapshot.raters.select("rater", *facts).to_dicts()}
        for _, folder, rows in scores_by_question(snapshot, target, self.name):
            data = folder / "DATA"
            (data / "sets").mkdir(parents=True)
            clips = [_clip_name(*row) for row in rows.select("stimulus", "system").iter_rows()]
            named = rows.with_columns(pl.Series("clip", clips, dtype=pl.String))
            _refuse_shared_names(named)
            for part in named["part"].unique(maintain_order=True):
                chosen = named.filter(pl.col("part") == part)
                means = chosen.group_by("clip", maintain_order=True).agg(pl.mean("value"))
                name = "val" if part == "dev" else part
                write_text(data / "sets" / f"{name}{MEANS_END}", csv_text(means, header=False))
                single = chosen.filter(pl.col("rater").is_not_null())
                if single.height:
                    info = [_info(str(name), people.get(str(name), {})) for name in single["rater"]]
                    listed = single.select(
                        "system", "clip", pl.col("value").cast(pl.String).str.strip_suffix(".0"), pl.lit("1").alias("_")
                    )
                    lines = csv_text(listed.with_columns(pl.Series("info", info, dtype=pl.String)), header=False)
                    write_text(data / "sets" / f"{part.upper()}SET", lines)
            system_rows = named.filter(pl.col("part") != "test").group_by("system").agg(pl.mean("value").alias("mean"))
            systems = system_rows.sort("system").rename({"system": "system_ID"})
            write_text(data / "mydata_system.csv", csv_text(systems))

    def system_scores(self, path: Path) -> dict[str, dict[str, float]] | None:
        if not {"system_ID", "mean"} <= header_of(path):
            return None
        sheet = NamedTable(read_delimited(path, ","), str(path))
        return {"quality": dict(zip(sheet["system_ID"], sheet.numbers("mean"), strict=True))}


def _data(source: Path) -> Path:
    """The folder that holds ``sets``: the source, or DATA in it or in one of its folders."""
    folders = [
        folder for folder in (source, source / "DATA", *sorted(source.glob("*/DATA"))) if (folder / "sets").is_dir()
    ]
    return folders[0] if folders else source


def _of_listeners(path: Path) -> pl.DataFrame:
    """One rating per line; the listener is the third part of the last field, with an age range and a gender around it."""
    frame = read_delimited(path, ",", ("system", "stimulus", "score", "ignored", "info"))
    sheet = NamedTable(frame, str(path), first=1)
    sheet.filled("stimulus", "info")
    parts = pl.col("info").str.split("_")
    named = (parts.list.len() == 7) & (parts.list.first() == "{}")
    return sheet.frame.select(
        "stimulus", "system", pl.lit(LISTENERS[path.name]).alias("split"),
        pl.when(named).then(parts.list.get(2, null_on_oob=True)).otherwise("info").alias("rater"),
        sheet.numbers("score").alias("value"),
        *(
            pl.when(named).then(parts.list.get(index, null_on_oob=True).replace({"na": None})).alias(name)
            for name, index in zip(_INFO, (1, 3, 6), strict=True)
        ),
    )  # fmt: skip


def _info(rater: str, facts: Mapping[str, object]) -> str:
    """What stands for a listener; a name that holds an underscore stands alone, since it could not be read back."""
    age, gender, hearing = (str(facts.get(name) or "na") for name in _INFO)
    return rater if "_" in f"{rater}{age}{gender}{hearing}" else f"{{}}_{age}_{rater}_{gender}_na_na_{hearing}"


def _refuse_shared_names(named: pl.DataFrame) -> None:
    """Raise where two stimuli would be written as one clip, since a list holds one mean for each."""
    clips = named.group_by("clip", maintain_order=True).agg(pl.col("stimulus").unique(maintain_order=True))
    for clip, stimuli in clips.iter_rows():
        if len(stimuli) > 1:
            raise InputError(
                f"The stimuli '{stimuli[0]}' and '{stimuli[1]}' would both be written as '{clip}'.",
                "Rename one of them, or choose another format.",
            )


def _clip_name(stimulus: str, system: str) -> str:
    """A file name that begins with its system and a hyphen, as the challenge's scripts expect."""
    flat = stimulus.replace("/", "_")
    return flat if flat.startswith(f"{system}-") else f"{system.replace('-', '_')}-{flat}"


FORMATS.add(VoiceMosFormat.name, VoiceMosFormat())
