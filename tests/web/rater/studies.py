"""Studies after the recipes, in small: a handful of stimuli with media of half a second, made in no time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import soundfile
from PIL import Image

from heartfelt.files import write_text
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study
from heartfelt.study import Study, load_study, study_text
from heartfelt.study.load import STUDY_FILE

RATE = 8000
SECONDS = 0.5


def tone(path: Path, seconds: float = SECONDS, pitch: float = 440.0) -> None:
    """A soft tone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    time = np.arange(int(seconds * RATE)) / RATE
    soundfile.write(path, 0.1 * np.sin(2 * np.pi * pitch * time), RATE)


def picture(path: Path, shade: int = 120) -> None:
    """A plain picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (320, 240), (shade, 140, 160)).save(path)


def small_study(
    recipe: str, folder: Path, *, count: int = 4, design: dict[str, Any] | None = None, **parts: Any
) -> Study:
    """The recipe with ``count`` stimuli or the stimuli of ``count`` sets, one practice trial and other ``parts``, in ``folder``."""
    started = start_study(recipe, folder, StarterOptions(media=False))
    study = load_study(folder)
    stimuli = started.stimuli.head(count)
    made = open_study(folder).sets
    if made is not None:
        members = {name for each in made.sets[:count] for name in each.stimuli}
        stimuli = started.stimuli.filter(pl.col("stimulus").is_in(list(members)))
    if recipe == "aigiemo":
        stimuli = stimuli.with_columns(pl.col("path").str.replace(r"\..*$", ".png"))
    else:
        stimuli = stimuli.with_columns(pl.col("path").str.replace(r"\.\w+$", ".wav"))
    if started.items is not None:
        items = started.items.filter(pl.col("stimulus").is_in(stimuli["stimulus"].to_list())).head(count)
        write_text(folder / str(study.stimuli.items), csv_text(items))
    stimuli = stimuli.with_columns(parts.pop("columns", []))
    write_text(folder / study.stimuli.manifest, csv_text(stimuli))
    for place, path in enumerate(stimuli["path"].to_list()):
        if recipe == "aigiemo":
            picture(folder / study.stimuli.media / path, 60 + 20 * place)
        else:
            tone(folder / study.stimuli.media / path, pitch=330 + 40 * place)
    changes = {"practice": 1, "stimuli_per_rater": count, "distinct": [], "batch": None, **(design or {})}
    small = study.changed(design=study.design.model_copy(update=changes), **{"probes": [], **parts})
    write_text(folder / STUDY_FILE, study_text(small))
    return load_study(folder)
