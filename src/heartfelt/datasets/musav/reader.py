"""``musav``: pairs of music tracks, with the one that annotators found higher in arousal or in valence.

``annotations.arousal.all`` and ``annotations.valence.all`` are JSON Lines with ``tripletid, songid_a, songid_b, annotator,
type, higher_value``; the answer is ``a``, ``b``, ``ab`` for a tie, or ``not_selected``. Tracks were drawn in triplets, of
which every pair was judged. A folder is read with all the files of this name in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.ratings.set_rows import (
    NO_ANSWER,
    REPEATED_ROW,
    SELF_PAIR,
    chosen,
    pair_ratings,
    repeated_rows,
    table_sets,
    unnamed,
    usable,
    with_trials,
)
from heartfelt.formats.tables.columns import NamedTable, need
from heartfelt.formats.tables.json_files import has_keys, json_records, looks_like_json
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Question, Study
from heartfelt.study.scales.set_scale import Choice

COLUMNS = ("tripletid", "songid_a", "songid_b", "annotator", "type", "higher_value")
TEXTS = {
    "arousal": "Which of the two tracks has the higher arousal?",
    "valence": "Which of the two tracks has the higher valence?",
}
CREDIT = (
    "Bogdanov, D., Lizarraga-Seijas, X., Alonso-Jiménez, P., & Serra, X. (2022). MusAV: A dataset of relative"
    " arousal-valence annotations for validation of audio models. ISMIR."
)


class MusAV(Format):
    """Relative annotations of arousal and valence."""

    name = "musav"
    about = "MusAV's pair annotations: annotations.arousal.all and annotations.valence.all"
    example_data = "example/annotations.arousal.all"
    writes = False

    def recognises(self, source: Path) -> bool:
        for path in _files(source):
            if not looks_like_json(path) or not has_keys(path, COLUMNS):
                return False
            try:
                if set(json_records(path).columns) >= set(COLUMNS):
                    return True
            except InputError:
                return False
        return False

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        del options, progress
        paths = _files(source)
        if not paths:
            raise InputError(f"{source} holds no annotations of MusAV.", "Point to annotations.arousal.all.")
        parts = []
        for path in paths:
            frame = json_records(path)
            need(frame, COLUMNS, str(path))
            parts.append(NamedTable(frame.select(COLUMNS), str(path)).with_ids(*COLUMNS).frame)
        names = {"tripletid": "triplet", "songid_a": "first", "songid_b": "second", "annotator": "rater"}
        answers = pl.concat(parts).rename({**names, "type": "question"})
        answers = answers.with_columns(chosen("higher_value", {}).alias("value"))
        faults = {
            "the track, the annotator or the question is not named": unnamed("first", "second", "rater", "question"),
            SELF_PAIR: pl.col("first") == pl.col("second"),
            NO_ANSWER: pl.col("higher_value").is_null() | (pl.col("higher_value") == "not_selected"),
            "the answer is none of a, b and ab": pl.col("value").is_null(),
            REPEATED_ROW: repeated_rows(answers),
        }
        named = {"rater": "rater", "stimulus": "first", "question": "question"}
        good, ledger = usable(answers, faults, str(source), named)
        good = with_trials(good)
        scale = Choice(type="choice", ties=True)
        stimuli = pl.concat([good["first"], good["second"]]).unique(maintain_order=True).rename("stimulus")
        study = Study(
            name="musav",
            title="MusAV",
            description="Pairs of music tracks: which is higher in arousal, which in valence.",
            scales={"higher": scale},
            questions=[
                Question(id=name, text=TEXTS.get(name, name), scale="higher", emotion="perceived")
                for name in good["question"].unique(maintain_order=True)
            ],
            sets=table_sets("pair"),
            credit=CREDIT,
        )
        return Snapshot.build(
            study,
            stimuli=stimuli.to_frame(),
            ratings=pair_ratings(good.drop("higher_value"), scale),
            source=Source(format=self.name, name=source.name),
            ledger=ledger,
        )


def _files(source: Path) -> list[Path]:
    return sorted(source.glob("annotations.*.all")) if source.is_dir() else [source] if source.is_file() else []


FORMATS.add(MusAV.name, MusAV())
