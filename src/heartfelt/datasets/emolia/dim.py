"""EmoLia, subset emolia-dim: does speech match a written level of a dimension (yes or no).

Read from ``annotations.csv``, ``users.csv``, ``flags.csv``, ``variables.json`` (the written levels) and the media. The
same file name stands in every folder, so a stimulus is ``{dimension}/{level}/{polarity}/{file_name}``, its place
below the media folder; the question is ``{dimension}/{level}/{polarity}``, with the level's text as its rubric. The
items say what the choice meant the answer to be (``intended``) and whether somebody flagged the clip (``flagged``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.datasets.emolia.reader import (
    ANNOTATIONS,
    FLAGS,
    USERS,
    VARIABLES,
    Subset,
    find_files,
    header_notes,
    items_of,
    ledger_of,
    order_notes,
    read_annotations,
    read_flags,
    read_users,
    recognises,
    split_last,
)
from heartfelt.datasets.emolia.writer import write_files
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.delimited import with_line_ends
from heartfelt.formats.format import Format
from heartfelt.formats.lines import read_json
from heartfelt.media.probe import probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.question import Question
from heartfelt.study.recipes import recipe_study
from heartfelt.study.study import Intent

POLARITIES = ("positive", "negative")
DIM = Subset(
    "emolia-dim",
    keys=("dimension", "level", "polarity"),
    answers=("no", "yes"),
    words={"polarity": POLARITIES},
)


class EmoliaDim(Format):
    """The dimension subset of EmoLia."""

    name: ClassVar[str] = DIM.name
    about: ClassVar[str] = (
        "does speech match a written level: yes or no (annotations.csv, users.csv, flags.csv, variables.json)"
    )
    options: ClassVar[Mapping[str, str]] = {
        "media": "folder of the <DIM>/<level>/<polarity> folders; dataset/emolia-dim/data near the files if left out",
        "variables": "the file with the written levels; variables.json beside or near the files if left out",
    }

    prediction_keys = ((*DIM.keys, "file_name"), DIM.keys)

    def recognises(self, source: Path) -> bool:
        """Annotations with a dimension, a level and a polarity."""
        return recognises(source, DIM)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read annotations, users, flags and levels, and find the audio."""
        files = find_files(source, DIM, options)
        place = pl.concat_str(*DIM.keys, "file_name", separator="/").alias("stimulus")
        rows = read_annotations(files.annotations, DIM).with_columns(place)
        flags = read_flags(files.flags, DIM)
        flags = None if flags is None else flags.with_columns(place)
        kept, left = split_last(rows)
        items = items_of(kept, left, flags, DIM)
        stimuli = items.select(
            "stimulus",
            pl.col("dimension").alias("intent"),
            pl.col("stimulus").alias("path"),
            *DIM.keys,
            "file_name",
        )
        if files.media is not None:
            stimuli = probe_stimuli(stimuli, files.media, str(files.annotations), progress)
        variables = None if files.variables is None else _variables(files.variables)
        drop = ["_row", "file_name", *DIM.keys]
        layout = {**files.layout(), **header_notes(files), **order_notes(left, items, flags)}
        flagged = pl.col("flagged") if flags is not None else pl.lit(False).alias("flagged")
        intended = pl.when(pl.col("polarity") == "positive").then(pl.lit("yes")).otherwise(pl.lit("no"))
        return Snapshot.build(
            _study(items, variables),
            stimuli=stimuli,
            ratings=kept.drop(drop),
            raters=read_users(files.users, rows["rater"].unique(maintain_order=True).to_list()),
            items=items.drop("file_name").with_columns(intended.alias("intended"), flagged),
            ledger=ledger_of(left.drop(drop)),
            source=Source(self.name, source.name, dict(options), files.media, layout),
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``annotations.csv``, and ``users.csv``, ``flags.csv`` and ``variables.json`` where there are any."""
        write_files(snapshot, target, DIM)
        variables = _levels(snapshot.study)
        if variables:
            text = json.dumps(variables, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
            write_text(target / VARIABLES, with_line_ends(text, snapshot.source.layout.get(VARIABLES, "lf")))

    def example(self, folder: Path) -> Path:
        """Two dimensions, one with words for levels; a flag by somebody who is no user."""
        root = folder / "emolia-bench"
        room = root / "annotations" / DIM.name
        room.mkdir(parents=True)
        rows = [line.split(" ") for line in _EXAMPLE.splitlines()]
        lines = [",".join([*row[:-1], f"2026-05-03 {row[-1]}"]) for row in rows]
        write_text(room / ANNOTATIONS, "\n".join([",".join(DIM.columns), *lines]) + "\n")
        write_text(room / USERS, _EXAMPLE_USERS)
        write_text(room / FLAGS, ",".join(DIM.flag_columns) + "\n" + _EXAMPLE_FLAGS)
        (root / "dataset" / DIM.name).mkdir(parents=True)
        text = json.dumps(_EXAMPLE_LEVELS, ensure_ascii=False, indent=2)
        write_text(root / "dataset" / DIM.name / VARIABLES, text)
        return root


_EXAMPLE = """\
d6 user_0 TEMP 5 positive sample_00.mp3 yes 8305 10908 10:23:11
d5 user_1 TEMP 5 positive sample_00.mp3 no 27330 5695 10:23:02
d4 user_1 TEMP 5 positive sample_00.mp3 yes 3986 8020 10:22:34
d3 user_0 TEMP 5 negative sample_00.mp3 no 4108 3204 10:22:30
d2 user_0 LANG European positive sample_07.mp3 yes 4324 4140 10:22:26
d1 user_1 LANG Asian negative sample_00.mp3 no 1814 8176 10:22:21"""
_EXAMPLE_USERS = (
    "username,is_active,is_admin,onboarded,annotation_count,created_at,age,gender,languages,listening_setup,"
    "degree,expertise,consent\n"
    'user_0,1,0,True,3,2026-04-28T21:30:36.460Z,26,Female,"English,Serbian",Headphones,"BA, MA",5,True\n'
    "user_1,1,0,True,3,2026-04-28T22:43:00.945Z,33,Female,Hindi,External speakers,MS ,6,True\n"
)
_EXAMPLE_FLAGS = (
    'f2,user_7,TEMP,5,negative,sample_09.mp3,"silence, nothing else",2026-05-04 09:56:15\n'
    "f1,user_0,TEMP,5,positive,sample_00.mp3,two speakers,2026-05-03 19:14:04\n"
)
_EXAMPLE_LEVELS = {
    "TEMP": {
        "short_description": "Tempo",
        "long_description": "How fast words follow each other.",
        "levels": {"0": "Very slow.", "5": "Fast: “words run together”."},
    },
    "LANG": {
        "short_description": "Language",
        "long_description": "",
        "levels": {"Asian": "An Asian language."},
    },
}


def _variables(path: Path) -> dict[str, dict[str, Any]]:
    """The written levels: dimension to descriptions and levels."""
    content = read_json(path)
    fix = 'It must look like {"TEMP": {"short_description": "Tempo", "levels": {"0": "very slow"}}}.'
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no dimensions.", fix)
    for name, dimension in content.items():
        if not isinstance(dimension, dict) or not isinstance(dimension.get("levels"), dict):
            raise InputError(f"{path}: the dimension '{name}' has no levels.", fix)
        for level, text in {
            **dimension["levels"],
            "short_description": dimension.get("short_description", ""),
        }.items():
            if not isinstance(text, str):
                raise InputError(f"{path}: '{level}' of '{name}' is no text.", fix)
        for key in dimension:
            if key in Intent.model_fields:
                raise InputError(
                    f"{path}: '{name}' has a key '{key}', which is kept for something else here.",
                    "Rename the key.",
                )
    return content


def _study(items: pl.DataFrame, variables: dict[str, dict[str, Any]] | None) -> Study:
    """The recipe with the dimensions and levels of the data.

    The recipe's own level texts are never used: they are not what these raters read.
    """
    base = recipe_study(DIM.name)
    like = base.questions[0]
    texts = {
        (name, level): text
        for name, one in (variables or {}).items()
        for level, text in one["levels"].items()
    }
    seen = {
        (row[0], row[1]): None
        for row in items.select("dimension", "level").unique().sort("dimension", "level").iter_rows()
    }
    questions = [_question(like, *pair, texts.get(pair)) for pair in {**texts, **seen}]
    named = dict.fromkeys([*(variables or {}), *(pair[0] for pair in seen)])
    intents = []
    for name in named:
        facts = (variables or {}).get(name, {})
        more = {key: value for key, value in facts.items() if key not in ("short_description", "levels")}
        intents.append(Intent(id=name, text=facts.get("short_description"), **more))
    return base.changed(questions=questions, intents=intents)


def _question(like: Question, dimension: str, level: str, rubric: str | None) -> Question:
    return like.model_copy(
        update={
            "rubric": rubric,
            "shows": like.shows if rubric else [],
            "text": like.text if rubric else f"Does this voice match level {level} of {dimension}?",
            "for_each": {"dimension": [dimension], "level": [level], "polarity": list(POLARITIES)},
        }
    )


def _levels(study: Study) -> dict[str, dict[str, Any]]:
    """The written levels a study holds, as ``variables.json`` has them."""
    facts = {intent.id: intent for intent in study.intents}
    out: dict[str, dict[str, Any]] = {}
    for question in study.questions:
        if question.rubric is None or not {"dimension", "level"} <= question.for_each.keys():
            continue
        for dimension in question.for_each["dimension"]:
            intent = facts.get(dimension)
            more = dict((intent.model_extra or {}) if intent else {})
            short = {"short_description": say(intent.text)} if intent and intent.text is not None else {}
            entry = out.setdefault(dimension, {**short, **more, "levels": {}})
            for level in question.for_each["level"]:
                entry["levels"][level] = say(question.rubric)
    return out
