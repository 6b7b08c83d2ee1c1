"""What a model is trained on: a recipe, and stimuli with their embedding and labels, weighted by reliability.

Labels need two ratings here; what is evaluated keeps to the study's own minimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import first_answers
from heartfelt.media.images.duplicates import Bits
from heartfelt.predictors.task import cases
from heartfelt.predictors.trained.embeddings import EMBEDDINGS
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.progress import Progress
from heartfelt.registry import Registry
from heartfelt.scoring.grouping import AUTO, StimulusGrouping, grouping_of
from heartfelt.screening import Panel, screen
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.training.heads.calibrating import Domains
from heartfelt.training.heads.fitting import COMPONENTS, Ints, Rows
from heartfelt.training.heads.label_checks import (
    LEAST_STIMULI,
    STAGE,
    TRAIN,
    LabelColumn,
    LedgerRow,
    contradictions,
    label_words,
    ledger_of,
    not_learnable,
    not_trained,
    require_enough,
    require_on_scale,
    require_train_part,
    without_label,
)
from heartfelt.training.heads.targets import LEAST_RATINGS, LabelSource, LabelTarget
from heartfelt.training.media import picture_hashes, read_media, texts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
    """Which embedding, which questions, which heads.

    ``questions`` are the ids to use where the study has them; if it has none of them, every question answered with numbers
    is used. ``with_text`` marks, by a part of the question's id, those about the fit of stimulus and text.
    """

    name: str
    about: str
    embedding: str
    questions: tuple[str, ...] = ()
    with_text: tuple[str, ...] = ()
    text_embedding: str | None = None
    kinds: tuple[str, ...] = ("ridge", "kernel")
    raters: bool = False
    """Whether heads learn from single answers by way of a model of the raters, instead of from means."""
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Blocks of the embedding that a question's head does not look at, by a part of the question's id."""
    components: int = COMPONENTS
    """How many components of the embedding heads other than ridge look at."""

    def is_for(self, question: str) -> bool:
        """Whether a question is one of those the recipe is made for, by a part of its id."""
        return any(part in question.casefold() for part in self.questions)

    def embedding_of(self, question: str) -> str:
        about_text = any(part in question.casefold() for part in self.with_text)
        return self.text_embedding if about_text and self.text_embedding else self.embedding

    def with_embedding(self, name: str, media: str) -> TrainingRecipe:
        """The recipe with another embedding, for a study of these media."""
        embedding = EMBEDDINGS[name]
        if (media == "image") != (embedding.media == "image"):
            raise InputError(
                f"The embedding '{name}' is for {embedding.media}, and the study has {media}.",
                f"Choose one for {media}; see docs/training.md.",
            )
        return replace(self, embedding=embedding.name, with_text=(), text_embedding=None, ignored={})

    def ignored_by(self, question: str) -> tuple[str, ...]:
        """The blocks that a question's head does not look at."""
        return next((names for part, names in self.ignored.items() if part in question.casefold()), ())


_WITH_LEVEL = ("signal", "rhythm", "roughness")
"""What changes with the level of a recording. A louder one is more arousing, but no more pleasant."""
RECIPES: Registry[TrainingRecipe] = Registry("training recipe")
for _recipe in (
    TrainingRecipe(
        name="va-audio",
        about="valence and arousal of music",
        embedding="music-msd",
        questions=("valence", "arousal"),
        kinds=("kernel",),
        raters=True,
        ignored={"valence": _WITH_LEVEL, "": tuple(f"{name}, levelled" for name in _WITH_LEVEL)},
        components=48,
    ),
    TrainingRecipe(
        name="va-image",
        about="valence and arousal of pictures",
        embedding="picture-stages",
        questions=("valence", "arousal"),
        raters=True,
    ),
    TrainingRecipe(
        name="mos-audio",
        about="opinion of music: impression from the sound, alignment from the sound and its prompt together",
        embedding="music",
        questions=("impression", "alignment"),
        with_text=("align", "fit", "match"),
        text_embedding="music-words",
        kinds=("ridge", "mlp", "ordinal"),
    ),
):
    RECIPES.add(_recipe.name, _recipe)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingStimuli:
    """Stimuli with embeddings, labels and facts."""

    snapshot: Snapshot
    panel: Panel
    recipe: TrainingRecipe
    stimuli: tuple[str, ...]
    hashes: tuple[str, ...]
    """Of the content of each file."""
    features: Mapping[str, npt.NDArray[np.float32]]
    """Rows by embedding."""
    system: tuple[str | None, ...]
    intent: tuple[str | None, ...]
    targets: tuple[LabelTarget, ...]
    ledger: pl.DataFrame
    grouping: StimulusGrouping
    fingerprints: tuple[Bits | None, ...] = ()
    """What tells near-duplicates by their media; empty where the embedding does."""
    split: tuple[str | None, ...] = ()
    """The part of the published split each stimulus belongs to; empty where none was asked for."""
    seed: int = 0
    notes: tuple[str, ...] = ()
    """What is doubtful about the labels, and what was left out, a sentence each."""

    @property
    def unreadable(self) -> int:
        return self.ledger.filter(pl.col("question").is_null()).height

    @property
    def label_words(self) -> str:
        return label_words(self.snapshot, self.panel, [target.question for target in self.targets])

    def target(self, question: str) -> LabelTarget:
        """The labels of one question."""
        return next(target for target in self.targets if target.question == question)

    def learnable(self) -> TrainingStimuli:
        """Only the questions that can be learned; an error where there is none."""
        reasons = not_learnable([target.column for target in self.targets])
        notes, rows = not_trained(reasons)
        return replace(
            self,
            targets=tuple(target for target in self.targets if target.question not in reasons),
            ledger=pl.concat([self.ledger, ledger_of(rows)]),
            notes=(*self.notes, *notes),
        )

    @property
    def widest(self) -> str:
        return max((target.embedding for target in self.targets), key=lambda name: EMBEDDINGS[name]().size)

    def domains(self) -> Domains:
        """What parts of the stimuli span, in the widest embedding."""
        blocks = tuple(block.size for block in EMBEDDINGS[self.widest].blocks)
        return Domains(self.features[self.widest], blocks)

    @property
    def systems(self) -> Ints | None:
        """A number for each stimulus's system; None where some have none."""
        if any(name is None for name in self.system):
            return None
        return np.unique([str(name) for name in self.system], return_inverse=True)[1].astype(np.int64)

    @property
    def cells(self) -> list[str] | None:
        """System and intent of each stimulus as one name; None where some lack either."""
        pairs = list(zip(self.system, self.intent, strict=True))
        if any(None in pair for pair in pairs):
            return None
        return [f"{system}\x1f{intent}" for system, intent in pairs]

    def part(self, name: str) -> TrainingStimuli:
        """Only the stimuli of one part of the published split."""
        at = np.array([index for index, part in enumerate(self.split) if part == name], dtype=np.int64)
        if at.size < (LEAST_STIMULI if name == TRAIN else 1):
            raise InputError(
                f"{at.size} stimuli of the published part '{name}' can be used; {LEAST_STIMULI} are needed to train.",
                "Check the column 'split' and the media.",
            )

        def of(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(values[index] for index in at) if values else ()

        return replace(
            self,
            stimuli=of(self.stimuli),
            hashes=of(self.hashes),
            fingerprints=of(self.fingerprints),
            features={key: rows[at] for key, rows in self.features.items()},
            system=of(self.system),
            intent=of(self.intent),
            targets=tuple(target.part(at) for target in self.targets),
            grouping=replace(self.grouping, groups=self.grouping.at(at), names=of(self.grouping.names)),
            split=of(self.split),
        )

    def rows(self, target: LabelTarget, at: npt.NDArray[Any]) -> Rows:
        """What a head of this target is fitted to, from the stimuli at these places."""
        blocks = EMBEDDINGS[target.embedding].blocks
        x = self.features[target.embedding]
        spread = np.full(len(at), target.spread)
        learned = target.learned(at)
        return Rows(
            x=x[at],
            y=learned.label,
            weight=learned.weight,
            spread=spread,
            blocks=blocks,
            points=target.points,
            seed=self.seed,
            ignored=self.recipe.ignored_by(target.question),
            variance=learned.variance,
            answers=learned.spread,
            components=self.recipe.components,
        )


def gather(
    snapshot: Snapshot,
    recipe: TrainingRecipe,
    *,
    policy: str = "default",
    seed: int = 0,
    group: str = AUTO,
    split: bool = False,
    wanted_questions: Sequence[str] | None = None,
    cache: FeatureCache | None = None,
    progress: Progress | None = None,
) -> TrainingStimuli:
    """Screen the raters, make labels, and embed every file; what cannot be used is a row of the ledger.

    ``group`` is the column whose stimuli stay in one fold, ``auto`` or ``none``; ``split`` notes the published split. With
    ``wanted_questions`` those with categories can be used: those named there, or all of a study that has no others.
    """
    if split:
        require_train_part(snapshot)
    panel = screen(snapshot, policy, seed=seed)
    source = LabelSource.of(panel, least_votes=LEAST_RATINGS, raters=recipe.raters)
    questions, notes, rows = _checked(source, _questions(snapshot, recipe, wanted_questions))
    labelled = source.trained.filter(pl.col("question").is_in(questions))["stimulus"].unique()
    facts = source.snapshot.stimuli.filter(pl.col("stimulus").is_in(labelled.implode()))
    wanted = {recipe.embedding_of(name) for name in questions}
    embedded, problems = _embed(snapshot, facts, wanted, cache, progress)
    facts = facts.filter(pl.col("stimulus").is_in(list(embedded)))
    stimuli = tuple(facts["stimulus"].to_list())
    require_enough(len(stimuli), next(iter(problems.values()), ""))
    features = {name: np.stack([embedded[stimulus][0][name] for stimulus in stimuli]) for name in sorted(wanted)}
    hashes = tuple(embedded[name][1] for name in stimuli)
    fingerprints = picture_hashes(snapshot, facts)
    rows += [("stimulus", None, name, None, reason, STAGE) for name, reason in problems.items()]
    material = TrainingStimuli(
        snapshot=snapshot,
        panel=panel,
        recipe=recipe,
        stimuli=stimuli,
        hashes=hashes,
        fingerprints=fingerprints,
        features=features,
        system=texts_of(facts, "system"),
        intent=texts_of(facts, "intent"),
        targets=tuple(source.target(name, recipe.embedding_of(name), stimuli) for name in questions),
        ledger=ledger_of(rows),
        grouping=grouping_of(
            facts,
            hashes,
            features[recipe.embedding],
            fingerprints,
            cosine=EMBEDDINGS[recipe.embedding].near_duplicate,
            by=group,
        ),
        split=texts_of(facts, SPLIT) if split else (),
        seed=seed,
        notes=tuple(notes),
    ).learnable()
    doubts = [note for target in material.targets for note in contradictions(target.column, hashes, stimuli)]
    return replace(material, notes=(*material.notes, *doubts))


def _checked(source: LabelSource, questions: Sequence[str]) -> tuple[list[str], list[str], list[LedgerRow]]:
    """The questions whose labels can be learned, before any file is read; notes and rows of the ledger about the others."""
    columns, notes, rows = [], [], []
    for question in questions:
        table = source.trained.filter(pl.col("question") == question).drop_nulls("value")
        label = table["value"].cast(pl.Float64).to_numpy()
        column = LabelColumn.of(question, source.snapshot.study.scale_of(question), label)
        require_on_scale(column, table["stimulus"].cast(pl.String).to_list())
        columns.append(column)
        words, missing = without_label(source.snapshot, question, source.labelled(question))
        notes += words
        rows += missing
    # What is too little is said after the files were read, with the first reason.
    reasons = not_learnable([column for column in columns if column.label.size >= LEAST_STIMULI], least=0)
    words, refused = not_trained(reasons)
    learnable = [question for question in questions if question not in reasons]
    return learnable, [*notes, *words], [*rows, *refused]


def _questions(snapshot: Snapshot, recipe: TrainingRecipe, wanted: Sequence[str] | None) -> list[str]:
    """The questions trained on: the recipe's own, or all with numbers; with ``wanted``, categories may be among them."""
    study = snapshot.study
    levels = {question.id: study.scale_of(question.id).level for question in study.asked}
    numbers = [name for name, level in levels.items() if level == "interval"]
    categories = [name for name, level in levels.items() if level in ("nominal", "ordinal")]
    if wanted is not None:
        chosen = [name for name in categories if not numbers or name in wanted]
        if chosen:
            return [*(name for name in numbers if name in wanted), *chosen]
    if not numbers:
        raise InputError(
            f"No question of '{study.name}' is answered with numbers, so there is nothing to train on.",
            "Recipes learn means of numbers; see docs/training.md.",
        )
    return [name for name in numbers if recipe.is_for(name)] or numbers


_Embedded: TypeAlias = tuple[dict[str, npt.NDArray[np.float32]], str]
"""Rows of one stimulus by embedding, and the hash of its content."""


def _embed(
    snapshot: Snapshot, facts: pl.DataFrame, embeddings: set[str], cache: FeatureCache | None, progress: Progress | None
) -> tuple[dict[str, _Embedded], dict[str, str]]:
    """Every stimulus embedded, from the cache or computed on all cores, and why some cannot be."""
    cache = cache or FeatureCache()
    looks = {name: EMBEDDINGS[name]() for name in sorted(embeddings)}
    texts: dict[str, str | None] = {}
    if any(look.uses_text for look in looks.values()):
        texts = {case.stimulus: case.prompt for case in cases(snapshot, labelled=False)}

    def embed(stimulus: str, file: Path) -> _Embedded:
        rows, content = {}, ""
        for name, look in looks.items():
            features, content = cache.of(look, file, texts.get(stimulus))
            rows[name] = features.mean
        return rows, content

    embedded: dict[str, _Embedded] = {}
    problems: dict[str, str] = {}
    for name, result in read_media(snapshot, facts, embed, doing="embedding the stimuli", progress=progress):
        if isinstance(result, str):
            problems[name] = result
        else:
            embedded[name] = result
    return embedded, problems


def answers_of(material: TrainingStimuli, side: str, question: str) -> pl.DataFrame:
    """Single ratings of the stimuli used, for the ceiling: rater, stimulus, value."""
    source = material.snapshot if side == "everyone" else material.panel.snapshot()
    answers = first_answers(source).filter(
        (pl.col("question") == question) & pl.col("stimulus").is_in(list(material.stimuli)) & pl.col("known")
    )
    return answers.select("rater", "stimulus", "value")
