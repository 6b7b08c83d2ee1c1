"""The two EmoLia subsets as formats.

``emolia-emo``: is a queried emotion present in speech. The stimulus is the file, the question
``{queried_emotion}/{task_type}``. The items say how each pair was chosen (``task_type``), from which emotion's folder the
clip came (``source_emotion``, several joined with ``|``) and whether the emotion was meant to be present
(``intended_present``).

``emolia-dim``: does speech match a written level of a dimension. The same file name stands in every folder, so a stimulus
is ``{dimension}/{level}/{polarity}/{file_name}``, its place below the media folder; the question is
``{dimension}/{level}/{polarity}``, with the level's text from ``variables.json`` as its rubric. The items say which answer
was meant (``intended``) and whether somebody flagged the clip (``flagged``).
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.datasets.emolia import tables
from heartfelt.datasets.emolia.tables import VARIABLES, EmoliaSubset, Files
from heartfelt.datasets.emolia.writer import write_files
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.tables.delimited import with_line_ends
from heartfelt.formats.tables.json_files import read_json
from heartfelt.media.probe import probe_stimuli
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Intent, Question, Study
from heartfelt.study.model import readable, say
from heartfelt.study.recipes import recipe_study

AFFIRMATIVE = "affirmative"
TASK_TYPES = (AFFIRMATIVE, "contrastive_1", "contrastive_2", "penultimate", "ultimate")
POLARITIES = ("positive", "negative")
EMO = EmoliaSubset(
    name="emolia-emo",
    keys=("queried_emotion", "task_type"),
    answers=("not_present", "weakly_present", "strongly_present"),
    words={"task_type": TASK_TYPES},
    further=("source_emotion",),
)
DIM = EmoliaSubset(
    name="emolia-dim", keys=("dimension", "level", "polarity"), answers=("no", "yes"), words={"polarity": POLARITIES}
)


class EmoliaFormat(Format):
    """What reading and writing the two subsets have in common; each says how its stimuli, items and study are made."""

    subset: ClassVar[EmoliaSubset]
    stimulus: ClassVar[pl.Expr]
    """The stimulus id of a row."""

    def recognises(self, source: Path) -> bool:
        if not source.is_dir() and source.suffix.lower() != ".csv":
            return False
        path = tables.find_annotations(source, self.subset)
        return path is not None and tables.is_subset(path, self.subset)

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        subset = self.subset
        files = tables.find_files(source, subset, options)
        rows = tables.read_annotations(files.annotations, subset)
        last, left_out = tables.split_last(rows.with_columns(self.stimulus.alias("stimulus")))
        flags = tables.read_flags(files.flags, subset, self.stimulus)
        items = tables.items_of(last, left_out, flags, subset)
        stimuli = self.stimuli(items, last, left_out, files.media)
        if files.media is not None:
            stimuli = probe_stimuli(stimuli, files.media, str(files.annotations), progress)
        drop = ["_row", "file_name", *subset.keys]
        layout = {**files.layout(), **tables.order_notes(left_out, items, flags)}
        return Snapshot.build(
            self.study(items, stimuli, files),
            stimuli=stimuli,
            ratings=last.drop(drop),
            raters=tables.read_users(files.users, rows["rater"].unique(maintain_order=True).to_list()),
            items=self.items(items.drop("file_name")),
            ledger=tables.ledger_of(left_out.drop(drop)),
            source=Source(
                format=self.name, name=source.name, options=dict(options), media_root=files.media, layout=layout
            ),
        )

    @abstractmethod
    def stimuli(self, items: pl.DataFrame, last: pl.DataFrame, left: pl.DataFrame, media: Path | None) -> pl.DataFrame:
        """The stimuli with their paths."""

    @abstractmethod
    def items(self, items: pl.DataFrame) -> pl.DataFrame:
        """The items with what they were chosen to show."""

    @abstractmethod
    def study(self, items: pl.DataFrame, stimuli: pl.DataFrame, files: Files) -> Study:
        """The recipe with what the data ask about."""

    def write(self, snapshot: Snapshot, target: Path) -> None:
        write_files(snapshot, target, self.subset)


class EmoliaEmo(EmoliaFormat):
    """The emotion subset of EmoLia."""

    name = EMO.name
    about = "is a queried emotion present in speech: not, weakly, strongly (annotations.csv, users.csv)"
    options: ClassVar[Mapping[str, str]] = {
        "media": "folder of the <Emotion>_best folders; dataset/emolia-emo/data near the files if left out"
    }
    prediction_keys = (("file_name",), EMO.keys)
    example_data = "example/emo/emolia-bench"
    subset: ClassVar[EmoliaSubset] = EMO
    stimulus = pl.col("file_name")

    def stimuli(
        self, items: pl.DataFrame, last: pl.DataFrame, left_out: pl.DataFrame, media: Path | None
    ) -> pl.DataFrame:
        """Each file once, with the emotions it was chosen for; its intent where that is one."""
        sources = tables.all_values(last, left_out, ["stimulus"], "source_emotion")
        stimuli = items.select("stimulus").unique(maintain_order=True)
        stimuli = stimuli.join(sources, on="stimulus", how="left", maintain_order="left")
        paths: list[str | None] = []
        for name, emotions in stimuli.iter_rows():
            candidates = [f"{emotion}_best/{name}" for emotion in (emotions or "").split("|") if emotion]
            present = [path for path in candidates if media is not None and (media / path).is_file()]
            paths.append(next(iter(present or candidates), None))
        emotion = pl.col("source_emotion")
        intent = pl.when(~emotion.str.contains("|", literal=True)).then(emotion)
        return stimuli.with_columns(intent.alias("intent"), pl.Series("path", paths, pl.String))

    def items(self, items: pl.DataFrame) -> pl.DataFrame:
        """An affirmative item was chosen to show the emotion."""
        return items.with_columns((pl.col("task_type") == AFFIRMATIVE).alias("intended_present"))

    def study(self, items: pl.DataFrame, stimuli: pl.DataFrame, files: Files) -> Study:
        """The recipe with the emotions and task types the data ask about, those it does not know last."""
        del files
        base = recipe_study(EMO.name)
        question_of = {emotion: q for q in base.questions for emotion in q.for_each["queried_emotion"]}
        task_types = items.group_by("queried_emotion").agg(pl.col("task_type").unique())
        tasks = {emotion: sorted(types, key=TASK_TYPES.index) for emotion, types in task_types.iter_rows()}
        questions = []
        for emotion in [name for name in question_of if name in tasks] + sorted(set(tasks) - set(question_of)):
            update: dict[str, object] = {"for_each": {"queried_emotion": [emotion], "task_type": tasks[emotion]}}
            if emotion not in question_of:
                update["text"] = f"Does the speaker express {readable(emotion)}?"
            questions.append(question_of.get(emotion, base.questions[0]).model_copy(update=update))
        return base.changed(questions=questions, intents=_emotions_meant(base.intents, stimuli))


def _emotions_meant(usual: Sequence[Intent], stimuli: pl.DataFrame) -> list[Intent]:
    """The intents of the stimuli, those that are not among the usual ones last."""
    sources = {source for text in stimuli["source_emotion"].drop_nulls() for source in text.split("|")}
    unusual = sorted(sources - {intent.id for intent in usual})
    return [*(intent for intent in usual if intent.id in sources), *(Intent(id=name) for name in unusual)]


class EmoliaDim(EmoliaFormat):
    """The dimension subset of EmoLia."""

    name = DIM.name
    about = "does speech match a written level: yes or no (annotations.csv, users.csv, flags.csv, variables.json)"
    options: ClassVar[Mapping[str, str]] = {
        "media": "folder of the <DIM>/<level>/<polarity> folders; dataset/emolia-dim/data near the files if left out",
        "variables": "the file with the written levels; variables.json beside or near the files if left out",
    }
    prediction_keys = ((*DIM.keys, "file_name"), DIM.keys)
    example_data = "example/dim/emolia-bench"
    subset: ClassVar[EmoliaSubset] = DIM
    stimulus = pl.concat_str(*DIM.keys, "file_name", separator="/")

    def stimuli(
        self, items: pl.DataFrame, last: pl.DataFrame, left_out: pl.DataFrame, media: Path | None
    ) -> pl.DataFrame:
        """Each item has a file of its own."""
        del last, left_out, media
        intent, path = pl.col("dimension").alias("intent"), pl.col("stimulus").alias("path")
        return items.select("stimulus", intent, path, *DIM.keys, "file_name")

    def items(self, items: pl.DataFrame) -> pl.DataFrame:
        """A clip of positive polarity was chosen to match its level."""
        intended = pl.when(pl.col("polarity") == "positive").then(pl.lit("yes")).otherwise(pl.lit("no"))
        flagged = pl.col("flagged") if "flagged" in items.columns else pl.lit(False).alias("flagged")
        return items.with_columns(intended.alias("intended"), flagged)

    def study(self, items: pl.DataFrame, stimuli: pl.DataFrame, files: Files) -> Study:
        """The recipe with the dimensions and written levels of the data.

        The recipe's own level texts are never used: they are not what these raters read.
        """
        del stimuli
        base = recipe_study(DIM.name)
        variables = {} if files.variables is None else _variables(files.variables)
        texts = {(name, level): text for name, facts in variables.items() for level, text in facts["levels"].items()}
        levels = items.select("dimension", "level").unique().sort("dimension", "level").rows()
        questions = [
            _dim_question(base.questions[0], name, level, texts.get((name, level)))
            for name, level in dict.fromkeys([*texts, *levels])
        ]
        intents = []
        for name in dict.fromkeys([*variables, *(name for name, _ in levels)]):
            facts = variables.get(name, {})
            more = {key: value for key, value in facts.items() if key not in ("short_description", "levels")}
            intents.append(Intent(id=name, text=facts.get("short_description"), **more))
        return base.changed(questions=questions, intents=intents)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        super().write(snapshot, target)
        variables = _levels(snapshot.study)
        if variables:
            text = json.dumps(variables, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
            write_text(target / VARIABLES, with_line_ends(text, snapshot.source.layout.get(VARIABLES, "lf")))


def _variables(path: Path) -> dict[str, dict[str, Any]]:
    """The written levels: dimension to descriptions and levels."""
    content = read_json(path)
    fix = 'It must look like {"TEMP": {"short_description": "Tempo", "levels": {"0": "very slow"}}}.'
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no dimensions.", fix)
    for name, dimension in content.items():
        if not isinstance(dimension, dict) or not isinstance(dimension.get("levels"), dict):
            raise InputError(f"{path}: the dimension '{name}' has no levels.", fix)
        short = {"short_description": dimension.get("short_description", "")}
        for level, text in {**dimension["levels"], **short}.items():
            if not isinstance(text, str):
                raise InputError(f"{path}: '{level}' of '{name}' is no text.", fix)
        for key in dimension:
            if key in Intent.model_fields:
                raise InputError(
                    f"{path}: '{name}' has a key '{key}', which is kept for something else here.", "Rename the key."
                )
    return content


def _dim_question(like: Question, dimension: str, level: str, rubric: str | None) -> Question:
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


for _format in (EmoliaEmo(), EmoliaDim()):
    FORMATS.add(_format.name, _format)
