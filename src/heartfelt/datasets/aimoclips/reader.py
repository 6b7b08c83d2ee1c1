"""AImoclips: valence and arousal of text-to-music clips, three CSV files and a folder of audio.

``clips_metadata.csv`` (clip means), ``ratings_metadata.csv`` (one row per rater and clip, in what looks like presentation
order) and ``emotion_intents_metadata.csv`` (reference coordinates). Clips with three or fewer ratings were left out of the
files by their authors; the grid of systems, intents and indices shows which, and they are in the ledger. The CSV files
call a clip ``{system}_{intent}_{index}_crop.wav``, the audio folder has it without ``_crop``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.tables.columns import NamedTable, need, stacked
from heartfelt.formats.tables.delimited import csv_text, line_ends, with_line_ends
from heartfelt.media.probe import AT_HAND, find_media, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study
from heartfelt.study.recipes import recipe_study
from heartfelt.study.study import Intent, System
from heartfelt.tables import lossless_types

CLIPS = "clips_metadata.csv"
RATINGS = "ratings_metadata.csv"
INTENTS = "emotion_intents_metadata.csv"
FILES = (CLIPS, RATINGS, INTENTS)
QUESTIONS = ("valence", "arousal")
PUBLISHED_LAYOUT = {CLIPS: "lf", RATINGS: "crlf", INTENTS: "lf, none at the end"}
INTENT_COLUMNS = ("quadrant", "emotion", "gt_valence", "gt_arousal")
CLIP_COLUMNS = ("index", "audio_file", "model", "emotion", "file_index", *QUESTIONS, "num_annotators")


class AimoclipsFormat(Format):
    """The three CSV files of AImoclips, byte for byte."""

    name = "aimoclips"
    about = "valence and arousal of text-to-music clips (three CSV files and music_clips/)"
    options: ClassVar[Mapping[str, str]] = {"media": "folder of the audio, music_clips/ beside the files if left out"}

    example_data = "example/aimoclips"

    def recognises(self, source: Path) -> bool:
        return all((source / name).is_file() for name in FILES)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        for name in FILES:
            if not (source / name).is_file():
                raise InputError(f"{source} has no {name}.", f"Point to the folder with {', '.join(FILES)}.")
        intents = _sheet(source / INTENTS, INTENT_COLUMNS, "emotion")
        intents = intents.with_columns(intents.numbers(name) for name in INTENT_COLUMNS[2:])
        clips = _clips(source / CLIPS)
        ratings = _sheet(source / RATINGS, ("user", "audio_file", *QUESTIONS), "user", "audio_file")
        ratings = ratings.with_columns(ratings.numbers(name) for name in QUESTIONS)
        _check_same_clips(clips, ratings.frame, source)
        stimuli, ledger = _grid(clips)
        root = source / options.get("media", "music_clips")
        stimuli = _with_paths(stimuli, root)
        if root.is_dir():
            stimuli = probe_stimuli(stimuli, root, str(source), progress)
        layout = {name: line_ends(source / name) for name in FILES}
        return Snapshot.build(
            _study(intents.frame, stimuli),
            stimuli=stimuli,
            ratings=_long(ratings.frame),
            ledger=ledger,
            source=Source(
                format=self.name,
                name=source.name,
                options=dict(options),
                media_root=root if root.is_dir() else None,
                layout=layout,
            ),
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        ratings = _wide(snapshot)
        need(snapshot.stimuli, ("system", "intent"), f"The table of stimuli of {snapshot.source.name}")
        rows = [
            (intent.group, intent.id, *(intent.reference.get(name) for name in QUESTIONS))
            for intent in snapshot.study.intents
        ]
        intents = pl.DataFrame(rows, schema=INTENT_COLUMNS, orient="row")
        layout = {**PUBLISHED_LAYOUT, **snapshot.source.layout}
        for name, frame in ((CLIPS, _clip_rows(snapshot, ratings)), (RATINGS, ratings), (INTENTS, intents)):
            write_text(target / name, with_line_ends(csv_text(frame), layout[name]))


def _sheet(path: Path, columns: Sequence[str], *keys: str) -> NamedTable:
    sheet = NamedTable.read(path)
    sheet.need(*columns)
    sheet.unique(*keys)
    return sheet


def _clips(path: Path) -> pl.DataFrame:
    sheet = _sheet(path, CLIP_COLUMNS, "audio_file")
    typed = [sheet.whole_numbers(name) for name in ("index", "file_index", "num_annotators")]
    typed += [sheet.numbers(name) for name in QUESTIONS]
    return lossless_types(sheet.frame.with_columns(typed), keep=["audio_file", "model", "emotion"])


def _check_same_clips(clips: pl.DataFrame, ratings: pl.DataFrame, source: Path) -> None:
    """The two files must describe the same clips; a file cut off between two lines shows here."""
    strangers = ratings.filter(~pl.col("audio_file").is_in(clips["audio_file"].implode()))
    if strangers.height:
        raise InputError(
            f"{source / RATINGS}: {strangers.height} ratings are of clips that {CLIPS} does not list; the first is"
            f" '{strangers['audio_file'][0]}'.",
            f"Use the {CLIPS} and {RATINGS} of the same release.",
        )
    counted = clips.join(
        ratings.group_by("audio_file").len("have"), on="audio_file", how="left", maintain_order="left"
    ).with_columns(pl.col("have").fill_null(0))
    short = counted.filter(pl.col("have") != pl.col("num_annotators"))
    if short.height:
        row = short.row(0, named=True)
        raise InputError(
            f"{source / RATINGS} has {row['have']} ratings of '{row['audio_file']}' where {CLIPS} says"
            f" {row['num_annotators']} ({short.height} clips differ).",
            "One of the files seems incomplete: get both from the same release.",
        )


def _grid(clips: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All clips of the systems x intents x indices grid, and a ledger of those the files leave out."""
    names = {"audio_file": "stimulus", "model": "system", "emotion": "intent"}
    listed = clips.rename(names | {name: f"mean_{name}" for name in QUESTIONS})
    indices = pl.DataFrame({"file_index": range(1, int(clips["file_index"].max() or 0) + 1)})  # type: ignore[arg-type]  # a column of integers
    grid = (
        listed.select("system")
        .unique(maintain_order=True)
        .join(listed.select("intent").unique(maintain_order=True), how="cross")
        .join(indices, how="cross")
        .join(listed, on=["system", "intent", "file_index"], how="anti", maintain_order="left")
        .with_columns(pl.format("{}_{}_{}_crop.wav", "system", "intent", "file_index").alias("stimulus"))
    )
    reason = "no ratings published: clips with three or fewer ratings were left out by the authors"
    ledger = grid.select("stimulus", what=pl.lit("stimulus"), reason=pl.lit(reason), stage=pl.lit("source"))
    return pl.concat([listed, grid], how="diagonal"), ledger


def _with_paths(stimuli: pl.DataFrame, root: Path) -> pl.DataFrame:
    files = find_media(root) if root.is_dir() else {}
    paths = []
    for name, system in stimuli.select("stimulus", "system").iter_rows():
        stem = name.removesuffix(".wav").removesuffix("_crop")
        paths.append(files.get(stem, f"{system}/{stem}.wav"))
    return stimuli.with_columns(pl.Series("path", paths, dtype=pl.String))


def _study(intents: pl.DataFrame, stimuli: pl.DataFrame) -> Study:
    base = recipe_study("aimoclips")
    stated_systems = {system.id: system for system in base.systems}
    systems = [stated_systems.get(name, System(id=name)) for name in stimuli["system"].unique(maintain_order=True)]
    rows = [
        Intent(
            id=row["emotion"],
            group=row["quadrant"],
            reference={"valence": row["gt_valence"], "arousal": row["gt_arousal"]},
        )
        for row in intents.iter_rows(named=True)
    ]
    return base.model_copy(update={"systems": systems, "intents": rows, "prompts": []})


def _long(ratings: pl.DataFrame) -> pl.DataFrame:
    """One row per answer; the order of a rater's rows is their presentation order when the rows stand together."""
    runs = int((ratings["user"] != ratings["user"].shift()).fill_null(True).sum())
    if runs == ratings["user"].n_unique():
        ratings = ratings.with_columns(pl.int_range(1, pl.len() + 1).over("user").alias("position"))
    return stacked(ratings, {name: name for name in QUESTIONS}, {"user": "rater", "audio_file": "stimulus"})


def _wide(snapshot: Snapshot) -> pl.DataFrame:
    frame = snapshot.ratings.filter(pl.col("question").is_in(QUESTIONS))
    wide = frame.drop("answer", strict=False).pivot("question", values="value", maintain_order=True)
    need(wide, QUESTIONS, snapshot.source.name)
    integer_columns = [name for name in QUESTIONS if (wide[name] == wide[name].floor()).all()]
    first = {"rater": "user", "stimulus": "audio_file", **{name: name for name in QUESTIONS}}
    ours = {*first, "question", "value", "answer", "position", "seconds", "at", "repeat"}
    extras = {name: name for name in frame.columns if name not in ours}
    return wide.with_columns(pl.col(integer_columns).cast(pl.Int64)).select(
        pl.col(name).alias(column) for name, column in {**first, **extras}.items()
    )


def _clip_rows(snapshot: Snapshot, ratings: pl.DataFrame) -> pl.DataFrame:
    rated = ratings.group_by("audio_file", maintain_order=True).agg(
        *(pl.col(name).mean().round(3) for name in QUESTIONS), pl.len().cast(pl.Int64).alias("num_annotators")
    )
    stimuli = snapshot.stimuli.rename({"stimulus": "audio_file", "system": "model", "intent": "emotion"})
    if "index" in stimuli.columns:
        stimuli = stimuli.drop("num_annotators", strict=False)
    joined = stimuli.join(rated, on="audio_file", how="inner", maintain_order="left")
    if "index" not in joined.columns:
        joined = joined.with_row_index("index", offset=1)
    if "file_index" not in joined.columns:
        joined = joined.with_columns(pl.int_range(1, pl.len() + 1).over("model", "emotion").alias("file_index"))
    for name in QUESTIONS:
        if f"mean_{name}" in joined.columns:
            joined = joined.with_columns(pl.col(f"mean_{name}").fill_null(pl.col(name)).alias(name))
    used_columns = {"mean_valence", "mean_arousal", "prompt", *AT_HAND, *CLIP_COLUMNS}
    extras = [name for name in joined.columns if name not in used_columns]
    return joined.sort("index").select(*CLIP_COLUMNS, *extras)


FORMATS.add(AimoclipsFormat.name, AimoclipsFormat())
