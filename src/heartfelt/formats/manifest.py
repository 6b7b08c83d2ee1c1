"""A study folder as it stands: ``study.yaml``, the manifest of stimuli, the items, and which media are there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.files import inside
from heartfelt.formats.columns import ids, need, read_table, unique_keys
from heartfelt.media.probe import probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, load_study
from heartfelt.study.load import STUDY_FILE
from heartfelt.tables import ITEMS, STIMULI, lossless_types


@dataclass(frozen=True, slots=True)
class OpenStudy:
    """A study with its stimuli, ready to be collected for."""

    study: Study
    folder: Path
    stimuli: pl.DataFrame
    items: pl.DataFrame

    @property
    def media_root(self) -> Path:
        """The folder that media paths are relative to."""
        return self.folder / self.study.stimuli.media

    @property
    def missing_media(self) -> list[str]:
        """Stimuli whose media file is missing or cannot be read."""
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
    return OpenStudy(study, home, stimuli, _items(home, study, stimuli))


def is_study(folder: Path) -> bool:
    """Whether ``folder`` holds a study."""
    return (folder / STUDY_FILE).is_file()


def study_snapshot(folder: Path, progress: Progress | None = None) -> Snapshot:
    """A study folder as a snapshot without ratings: what is to be asked, before anybody has answered."""
    opened = open_study(folder, progress)
    source = Source("study", folder.name, {}, opened.media_root)
    items = opened.items if opened.study.stimuli.items else None
    return Snapshot.build(opened.study, stimuli=opened.stimuli, items=items, source=source)


def _stimuli(source: Path, study: Study) -> pl.DataFrame:
    where = str(source)
    frame = read_table(source)
    need(frame, ["stimulus"], where)
    frame = frame.with_columns(ids(frame["stimulus"]).alias("stimulus"))
    unique_keys(frame, ["stimulus"], where)
    frame = lossless_types(frame, keep=["stimulus", "system", "intent", "prompt", "path"])
    for column, known in (
        ("system", [s.id for s in study.systems]),
        ("intent", [i.id for i in study.intents]),
    ):
        if column in frame.columns and known:
            _known(frame[column].cast(pl.String), column, known, where)
    return STIMULI.check(frame, where)


def _known(series: pl.Series, what: str, known: list[str], where: str) -> None:
    strange = (~series.is_in(known)).fill_null(False)
    if strange.any():
        row = int(strange.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + 2}, column '{what}': the study has no {what} '{series[row]}'.",
            suggestion(str(series[row]), known, f"{what.capitalize()}s of the study"),
        )


def _items(home: Path, study: Study, stimuli: pl.DataFrame) -> pl.DataFrame:
    if study.stimuli.items is None:
        questions = pl.DataFrame(
            {"question": [question.id for question in study.asked]}, schema={"question": pl.String}
        )
        return stimuli.select("stimulus").join(questions, how="cross")
    source = inside(home, study.stimuli.items, f"{home / STUDY_FILE}, stimuli.items")
    frame = read_table(source)
    need(frame, ITEMS.names, str(source))
    frame = frame.with_columns(ids(frame["stimulus"]).alias("stimulus"))
    _known(frame["stimulus"], "stimulus", stimuli["stimulus"].to_list(), str(source))
    _known(frame["question"], "question", [question.id for question in study.asked], str(source))
    return ITEMS.check(lossless_types(frame, keep=ITEMS.names), str(source))
