"""EmoLia, subset emolia-emo: is a queried emotion present in speech.

Read from ``annotations.csv``, ``users.csv`` and the media. The stimulus is the file, the question
``{queried_emotion}/{task_type}``. The items say how each pair was chosen (``task_type``), from which emotion's
folder the clip came (``source_emotion``, several joined with ``|``) and whether the choice meant the emotion to be
present (``intended_present``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.datasets.emolia.reader import (
    ANNOTATIONS,
    USER_COLUMNS,
    USERS,
    Subset,
    beside_of,
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
from heartfelt.files import write_text
from heartfelt.formats.format import Format
from heartfelt.media.probe import probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study
from heartfelt.study.question import Question, readable
from heartfelt.study.recipes import recipe_study
from heartfelt.study.study import Intent

AFFIRMATIVE = "affirmative"
TASK_TYPES = (AFFIRMATIVE, "contrastive_1", "contrastive_2", "penultimate", "ultimate")
EMO = Subset(
    "emolia-emo",
    keys=("queried_emotion", "task_type"),
    answers=("not_present", "weakly_present", "strongly_present"),
    words={"task_type": TASK_TYPES},
    beside=("source_emotion",),
)


class EmoliaEmo(Format):
    """The emotion subset of EmoLia."""

    name: ClassVar[str] = EMO.name
    about: ClassVar[str] = (
        "is a queried emotion present in speech: not, weakly, strongly (annotations.csv, users.csv)"
    )
    options: ClassVar[Mapping[str, str]] = {
        "media": "folder of the <Emotion>_best folders; dataset/emolia-emo/data near the files if left out",
    }

    prediction_keys = (("file_name",), EMO.keys)

    def recognises(self, source: Path) -> bool:
        """Annotations with a queried emotion and a task type."""
        return recognises(source, EMO)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the annotations, the users and the flags there are, and find the audio."""
        files = find_files(source, EMO, options)
        rows = read_annotations(files.annotations, EMO).with_columns(pl.col("file_name").alias("stimulus"))
        flags = read_flags(files.flags, EMO)
        flags = None if flags is None else flags.with_columns(pl.col("file_name").alias("stimulus"))
        kept, left = split_last(rows)
        items = items_of(kept, left, flags, EMO)
        stimuli = _stimuli(items, kept, left, files.media)
        if files.media is not None:
            stimuli = probe_stimuli(stimuli, files.media, str(files.annotations), progress)
        drop = ["_row", "file_name", *EMO.keys]
        layout = {**files.layout(), **header_notes(files), **order_notes(left, items, flags)}
        return Snapshot.build(
            _study(items, stimuli),
            stimuli=stimuli,
            ratings=kept.drop(drop),
            raters=read_users(files.users, rows["rater"].unique(maintain_order=True).to_list()),
            items=items.drop("file_name").with_columns(
                (pl.col("task_type") == AFFIRMATIVE).alias("intended_present")
            ),
            ledger=ledger_of(left.drop(drop)),
            source=Source(self.name, source.name, dict(options), files.media, layout),
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``annotations.csv`` and ``users.csv``, and ``flags.csv`` where there are flags."""
        write_files(snapshot, target, EMO)

    def example(self, folder: Path) -> Path:
        """Four clips, four raters of whom one is no user; one answer given twice, one left empty."""
        root = folder / "emolia-bench"
        room = root / "annotations" / EMO.name
        room.mkdir(parents=True)
        rows = [line.replace("~", "").split(" ") for line in _EXAMPLE.splitlines()]
        lines = [",".join([*row[:-1], f"2026-04-15 {row[-1]}"]) for row in rows]
        write_text(room / ANNOTATIONS, "\n".join([",".join(EMO.columns), *lines]) + "\n")
        write_text(room / USERS, ",".join(USER_COLUMNS) + "\n" + _EXAMPLE_USERS)
        return root


# A tilde stands for an empty cell.
_EXAMPLE = """\
u9 user_10 Sadness Sadness affirmative EN_4.mp3 weakly_present 900 5128 12:00:09
u8 user_1 Anger Awe ultimate EN_1.mp3 not_present 2235 22908 12:00:08
u7 user_0 Joy___Glee Awe ultimate EN_1.mp3 weakly_present 58484 16775 12:00:07
u6 user_2 Anger Anger affirmative EN_1.mp3 strongly_present 1373 19542 12:00:06
u5 user_1 Anger Anger affirmative EN_1.mp3 strongly_present 1883 5653 12:00:06
u4 user_1 Anger Anger affirmative EN_1.mp3 not_present 2444 5704 12:00:03
u3 user_0 Jealousy___Envy Pain contrastive_1 EN_2.mp3 ~ 1029 17181 12:00:02
u2 user_0 Jealousy___Envy Jealousy___Envy affirmative EN_2.mp3 not_present 1051 17640 12:00:01
u1 user_2 Pain Pain penultimate DE_3.mp3 not_present 1136 3820 12:00:00"""
_EXAMPLE_USERS = (
    'user_0,1,0,True,3,2026-03-30T16:54:45.577Z,26,"English,Serbian",Female,True,Master’s degree,6,Headphones\n'
    'user_1,1,0,True,3,2026-03-31T11:05:00.347Z,33,"Spanish,English",Male,True,Psychology ,5,Earbuds (wired)\n'
    "user_2,1,0,True,2,2026-03-30T23:04:54.948Z,32,Hindi,Female,True,,6,External speakers\n"
)


def _stimuli(items: pl.DataFrame, kept: pl.DataFrame, left: pl.DataFrame, media: Path | None) -> pl.DataFrame:
    stimuli = items.select("stimulus").unique(maintain_order=True)
    stimuli = stimuli.join(
        beside_of(kept, left, "source_emotion"), on="stimulus", how="left", maintain_order="left"
    )
    paths: list[str | None] = []
    for name, sources in stimuli.select("stimulus", "source_emotion").iter_rows():
        candidates = [f"{source}_best/{name}" for source in (sources or "").split("|") if source]
        there = [path for path in candidates if media is not None and (media / path).is_file()]
        paths.append(next(iter(there or candidates), None))
    intent = pl.when(~pl.col("source_emotion").str.contains("|", literal=True)).then(pl.col("source_emotion"))
    return stimuli.with_columns(intent.alias("intent"), pl.Series("path", paths, pl.String))


def _study(items: pl.DataFrame, stimuli: pl.DataFrame) -> Study:
    """The recipe with the emotions and task types the data ask about, those it does not know last."""
    base = recipe_study(EMO.name)
    known = {
        emotion: question for question in base.questions for emotion in question.for_each["queried_emotion"]
    }
    asked = items.group_by("queried_emotion").agg(pl.col("task_type").unique())
    tasks = {emotion: sorted(found, key=TASK_TYPES.index) for emotion, found in asked.iter_rows()}
    order = [emotion for emotion in known if emotion in tasks] + sorted(set(tasks) - set(known))
    questions = [
        (known.get(emotion) or _question(emotion, base.questions[0])).model_copy(
            update={"for_each": {"queried_emotion": [emotion], "task_type": tasks[emotion]}}
        )
        for emotion in order
    ]
    sources = {one for text in stimuli["source_emotion"].drop_nulls() for one in text.split("|")}
    intents = [intent for intent in base.intents if intent.id in sources]
    intents += [Intent(id=name) for name in sorted(sources - {intent.id for intent in base.intents})]
    return base.changed(questions=questions, intents=intents)


def _question(emotion: str, like: Question) -> Question:
    return like.model_copy(update={"text": f"Does the speaker express {readable(emotion)}?"})
