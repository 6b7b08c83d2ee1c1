"""A study folder as it stands: ``study.yaml``, the manifest of stimuli, the items, and which media are there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.files import inside
from heartfelt.formats.study_folder.drafts import read_drafts
from heartfelt.formats.tables.columns import NamedTable
from heartfelt.media.probe import AUDIO, IMAGES, PROBED, probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, load_study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.parts.sets import MadeSets, make_sets
from heartfelt.tables import DRAFTS, ITEMS, STIMULI, lossless_types

_PATH_NAMES = frozenset(
    ["file", "files", "filename", "file_name", "filepath", "file_path", "audio", "clip", "image", "media", "url", "wav"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStudy:
    """A study with its stimuli, ready to be collected for."""

    study: Study
    folder: Path
    stimuli: pl.DataFrame
    items: pl.DataFrame
    sets: MadeSets | None = None
    """The stimuli that are presented together, where the study says so."""
    drafts: pl.DataFrame = field(default_factory=DRAFTS.empty)
    """What machines wrote about the stimuli, for raters to verify."""

    @property
    def media_root(self) -> Path:
        return self.folder / self.study.stimuli.media

    @property
    def missing_media(self) -> list[str]:
        if "found" not in self.stimuli.columns:
            return []
        bad = ~pl.col("found").fill_null(False)
        if "media_problem" in self.stimuli.columns:
            bad = bad | pl.col("media_problem").is_not_null()
        return self.stimuli.filter(bad)["stimulus"].to_list()


def open_study(folder: Path | str, progress: Progress | None = None) -> OpenStudy:
    """Read a study folder: study, manifest and items are checked, media are found and probed."""
    path = Path(folder)
    home = path.parent if path.is_file() else path
    study = load_study(path)
    source = inside(home, study.stimuli.manifest, f"{home / STUDY_FILE}, stimuli.manifest")
    root = inside(home, study.stimuli.media, f"{home / STUDY_FILE}, stimuli.media")
    stimuli = _stimuli(source, study)
    if "path" in stimuli.columns:
        stimuli = probe_stimuli(stimuli, root, str(source), progress, home)
    items, sets = _items(home, study, stimuli), _sets(home, study, stimuli)
    return OpenStudy(study=study, folder=home, stimuli=stimuli, items=items, sets=sets, drafts=read_drafts(home, study))


def require_media(opened: OpenStudy) -> None:
    """Raise where no stimulus has anything to show, so that raters would be asked about nothing.

    A manifest without paths is enough for analysis, and for questions that show the stimulus's prompt.
    """
    stimuli, study = opened.stimuli, opened.study
    if "path" in stimuli.columns:
        if stimuli.height and len(opened.missing_media) == stimuli.height:
            raise InputError(
                f"{opened.folder}: none of the {stimuli.height:,} stimuli has a media file that can be read.",
                f"Put the files into {opened.media_root}, or correct the column 'path' of {study.stimuli.manifest}.",
            )
        return
    if "prompt" in stimuli.columns and any("prompt" in question.shows for question in study.asked):
        return
    nearest = _media_column(stimuli)
    raise InputError(
        f"{opened.folder / study.stimuli.manifest} has no column 'path', so no {study.media} would be shown.",
        "Add a column 'path' with each stimulus's file in the folder"
        f" '{study.stimuli.media}'." + (f" Is it the column '{nearest}'? Rename it to 'path'." if nearest else ""),
    )


def _media_column(stimuli: pl.DataFrame) -> str | None:
    """The column that most likely holds the paths of media: by its values, else by its name."""
    for name in stimuli.columns:
        values = stimuli[name].cast(pl.String, strict=False).drop_nulls().head(100).to_list()
        if values and all(PurePosixPath(value).suffix.lower() in AUDIO | IMAGES for value in values):
            return name
    return next((name for name in stimuli.columns if name.lower() in _PATH_NAMES), None)


def is_study(folder: Path) -> bool:
    return (folder / STUDY_FILE).is_file()


def study_snapshot(folder: Path, progress: Progress | None = None) -> Snapshot:
    """A study folder as a snapshot without ratings: what is to be asked, before anybody has answered."""
    opened = open_study(folder, progress)
    source = Source(format="study", name=folder.name, options={}, media_root=opened.media_root)
    items = opened.items if opened.study.stimuli.items else None
    return Snapshot.build(opened.study, stimuli=opened.stimuli, items=items, source=source)


def _stimuli(source: Path, study: Study) -> pl.DataFrame:
    sheet = NamedTable.read(source)
    sheet.need("stimulus")
    sheet = sheet.with_ids("stimulus")
    sheet.unique("stimulus")
    for column, entries in (("system", study.systems), ("intent", study.intents)):
        if column in sheet and entries:
            _known(sheet, column, [study_entry.id for study_entry in entries])
    frame = lossless_types(sheet.frame, keep=["stimulus", "system", "intent", "prompt", "path"])
    return STIMULI.check(frame, sheet.where)


def _known(sheet: NamedTable, column: str, allowed: list[str]) -> None:
    series = sheet[column].cast(pl.String)
    strange = (~series.is_in(allowed)).fill_null(False)
    if strange.any():
        fix = suggestion(str(series.filter(strange)[0]), allowed, f"{column.capitalize()}s of the study")
        sheet.refuse(strange, series, f"the study has no {column} '{{cell}}'.", fix)


def _items(home: Path, study: Study, stimuli: pl.DataFrame) -> pl.DataFrame:
    if study.stimuli.items is None:
        question_ids = pl.Series("question", [question.id for question in study.asked], pl.String)
        return stimuli.select("stimulus").join(question_ids.to_frame(), how="cross")
    source = inside(home, study.stimuli.items, f"{home / STUDY_FILE}, stimuli.items")
    sheet = NamedTable.read(source)
    sheet.need(*ITEMS.names)
    sheet = sheet.with_ids("stimulus")
    _known(sheet, "stimulus", stimuli["stimulus"].to_list())
    _known(sheet, "question", [question.id for question in study.asked])
    return ITEMS.check(lossless_types(sheet.frame, keep=ITEMS.names), sheet.where)


def _sets(home: Path, study: Study, stimuli: pl.DataFrame) -> MadeSets | None:
    if study.sets is None:
        return None
    rows: list[dict[str, object]] = []
    if study.sets.file is not None:
        sheet = NamedTable.read(inside(home, study.sets.file, f"{home / STUDY_FILE}, sets.file"))
        sheet.need("set", "stimulus")
        rows = sheet.with_ids("set").with_ids("stimulus").frame.to_dicts()
    columns = [name for name in stimuli.columns if name not in PROBED]
    return make_sets(study.sets, stimuli.select(columns).to_dicts(), rows, study.seed)
