"""From sources to the data of fine-tuning: screen the raters, make labels, look for every file, decide the parts.

The label of a question with numbers is the mean, weighted by its reliability as in :mod:`heartfelt.training.heads.targets`; that of
a question with categories is the share of votes for each of them, weighted likewise. Several sources are put together if they ask
the same questions on the same scales. What cannot be used is a row of the ledger: labels without media, media without labels,
files that cannot be read, copies that would cross from training to scoring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.media.audio import content_hash
from heartfelt.media.images.duplicates import Bits
from heartfelt.predictors.task import prompt_of
from heartfelt.progress import Progress
from heartfelt.scoring.grouping import AUTO, StimulusGrouping, grouping_of, near_duplicates
from heartfelt.screening import Panel, screen
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.study import Scale, Study
from heartfelt.study.scales.set_scale import Trace
from heartfelt.training.finetuning.recipe import FineTuneRecipe
from heartfelt.training.finetuning.settings import FineTuneSettings
from heartfelt.training.finetuning.stimuli.data import FineTuneTarget, TrainingData
from heartfelt.training.finetuning.stimuli.parts import Fold, parts_of
from heartfelt.training.finetuning.task import Example, QuestionOutput
from heartfelt.training.heads.label_checks import (
    STAGE,
    LabelColumn,
    LedgerRow,
    contradictions,
    ledger_of,
    not_learnable,
    not_trained,
    require_enough,
    require_on_scale,
    require_train_part,
    without_label,
)
from heartfelt.training.heads.targets import LEAST_RATINGS, LabelSource, top_category
from heartfelt.training.media import fingerprint_of, read_media, texts_of

_NO_LABEL = "it has no label: nobody rated it, or too few people did"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GatheredSource:
    """The stimuli of one source with both a label and a file."""

    panel: Panel
    labels: LabelSource
    facts: pl.DataFrame
    examples: tuple[Example, ...]
    fingerprints: tuple[Bits | None, ...]
    ledger: tuple[LedgerRow, ...]

    def values(self, question: str) -> tuple[Floats, Floats]:
        """Labels, or shares of votes, and weights of one question; 0 and 0 for stimuli without a label."""
        names = [example.stimulus for example in self.examples]
        if self.labels.snapshot.study.scale_of(question).level == "interval":
            values, weight, _ = self.labels.numbers(question, names)
        else:
            values, weight = self.labels.vote_shares(question, names)
        return np.nan_to_num(values), weight


@dataclass(frozen=True, slots=True, eq=False)
class GatheredSources:
    """The stimuli of all sources, one source after the other."""

    sources: tuple[GatheredSource, ...]

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(chain.from_iterable(source.examples for source in self.sources))

    @property
    def fingerprints(self) -> tuple[Bits | None, ...]:
        return tuple(chain.from_iterable(source.fingerprints for source in self.sources))

    @property
    def ledger(self) -> tuple[LedgerRow, ...]:
        return tuple(chain.from_iterable(source.ledger for source in self.sources))

    @property
    def facts(self) -> pl.DataFrame:
        """The table of the stimuli."""
        return pl.concat([source.facts for source in self.sources], how="diagonal_relaxed")

    def values(self, question: str) -> tuple[Floats, Floats]:
        """Labels and weights of one question."""
        columns = zip(*(source.values(question) for source in self.sources), strict=True)
        value, weight = (np.concatenate(column) for column in columns)
        return value, weight

    def without_label(self, question: str) -> tuple[list[str], list[LedgerRow]]:
        """Notes and rows of the ledger about stimuli that have a file and no label under a question."""
        notes: list[str] = []
        rows: list[LedgerRow] = []
        for source in self.sources:
            words, missing = without_label(source.labels.snapshot, question, source.labels.labelled(question))
            files = {example.stimulus for example in source.examples}
            notes += words
            rows += [row for row in missing if row[2] in files]
        return notes, rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelledStimuli:
    """The stimuli of all sources with their labels: everything but the parts."""

    gathered: GatheredSources
    settings: FineTuneSettings
    published: tuple[str | None, ...]
    """The part of each stimulus in a published split, where that is used."""
    grouping: StimulusGrouping
    copies: Ints
    """The same number for near-duplicates."""
    labels: Mapping[str, tuple[Floats, Floats]]
    """By question, values and weights."""
    rare: tuple[int, ...]
    """Places whose category no other stimulus has."""
    ledger: tuple[LedgerRow, ...]
    notes: tuple[str, ...]
    seed: int

    def data(self, fold: Fold | None = None) -> TrainingData:
        """The data with the parts of a fold, or with those of the settings."""
        examples, gathered = self.gathered.examples, self.gathered.sources
        parts = parts_of(
            self.grouping,
            self.copies,
            systems=[example.system for example in examples],
            published=self.published,
            left_out_system=self.settings.left_out_system,
            test=self.settings.test,
            validation=self.settings.validation,
            rare=self.rare,
            fold=fold,
            seed=self.seed,
        )
        dropped: list[LedgerRow] = [
            ("stimulus", None, examples[at].stimulus, None, reason, STAGE) for at, reason in parts.dropped.items()
        ]
        panels = tuple(source.panel for source in gathered)
        study = panels[0].source.study
        return TrainingData(
            sources=tuple(panel.source for panel in panels),
            panels=panels,
            examples=examples,
            origin=np.repeat(np.arange(len(gathered)), [len(source.examples) for source in gathered]),
            targets=tuple(
                _target(study, name, value, weight, parts.train) for name, (value, weight) in self.labels.items()
            ),
            grouping=self.grouping,
            parts=parts,
            ledger=ledger_of([*self.ledger, *dropped]),
            seed=self.seed,
            fingerprints=self.gathered.fingerprints,
            notes=self.notes,
        )


class GatherOptions(TypedDict, total=False):
    """The options of :func:`gather_labelled`."""

    policy: str
    group: str
    published: bool
    seed: int
    progress: Progress | None


def gather_data(
    sources: Sequence[Snapshot], recipe: FineTuneRecipe, settings: FineTuneSettings, **options: Unpack[GatherOptions]
) -> TrainingData:
    """Screen, label, look for every file, and decide the parts."""
    return gather_labelled(sources, recipe, settings, **options).data()


def gather_folds(
    sources: Sequence[Snapshot],
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    count: int,
    **options: Unpack[GatherOptions],
) -> tuple[TrainingData, list[TrainingData]]:
    """The same for cross-validation: the data of a model that is trained on every fold, and those of each fold left out."""
    if settings.left_out_system:
        raise InputError("left_out_system leaves one system out, --folds every group in turn.", "Use one of the two.")
    labelled = gather_labelled(sources, recipe, settings, **options)
    return labelled.data(Fold(0, count)), [labelled.data(Fold(number + 1, count)) for number in range(count)]


def gather_labelled(
    sources: Sequence[Snapshot],
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    *,
    policy: str = "default",
    group: str = AUTO,
    published: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> LabelledStimuli:
    """Screen, label and look for every file, with what stays together."""
    questions = _questions(sources, recipe, settings)
    if published:
        for source in sources:
            require_train_part(source)
    titles = [f"{source.study.name} {number}" if len(sources) > 1 else "" for number, source in enumerate(sources, 1)]
    gathered = GatheredSources(
        tuple(
            gather_source(source, questions, policy, seed, title, progress)
            for source, title in zip(sources, titles, strict=True)
        )
    )
    contents = [example.content for example in gathered.examples]
    require_enough(len(contents), gathered.ledger[0][4] if gathered.ledger else "")
    labels, notes, rows = _learnable_labels(gathered, questions, settings.questions)
    rare, notes_on_rare = _rare_categories(sources[0].study, labels)
    facts, no_embedding = gathered.facts, np.empty((len(contents), 0), np.float32)
    return LabelledStimuli(
        gathered=gathered,
        settings=settings,
        published=texts_of(facts, SPLIT) if published else (),
        grouping=grouping_of(facts, contents, no_embedding, gathered.fingerprints, by=group),
        copies=near_duplicates(contents, no_embedding, None, gathered.fingerprints),
        labels=labels,
        rare=rare,
        ledger=(*gathered.ledger, *rows),
        notes=(*notes, *notes_on_rare),
        seed=seed,
    )


def gather_source(
    source: Snapshot, questions: Sequence[str], policy: str, seed: int, name: str, progress: Progress | None
) -> GatheredSource:
    """Screen the raters of a source and look for the file of every stimulus with a label."""
    panel = screen(source, policy, seed=seed)
    least = min(LEAST_RATINGS, source.study.design.minimum_ratings)
    labels = LabelSource.of(panel, least=least, scored=False)
    asked_about = pl.col("question").is_in(questions)
    with_labels = {
        stimulus for table in (labels.trained, labels.votes) for stimulus in table.filter(asked_about)["stimulus"]
    }
    prompts = {prompt.id: prompt.text for prompt in source.study.prompts}
    fingerprint = fingerprint_of(source.study.media)

    def look(stimulus: str, path: Path) -> tuple[Path, str, Bits | None] | str:
        # A file without a label is looked for, to say so, and not read.
        return (path, content_hash(path), fingerprint(path)) if stimulus in with_labels else _NO_LABEL

    examples, fingerprints, ledger = [], [], []
    stimuli = source.without_probes.stimuli
    media = read_media(source, stimuli, look, doing="looking at the media", progress=progress, workers=8)
    for (stimulus, file), row in zip(media, stimuli.iter_rows(named=True), strict=True):
        if isinstance(file, str):
            if stimulus in with_labels or file == _NO_LABEL:
                ledger.append(("stimulus", None, stimulus, None, file, STAGE))
            continue
        path, content, bits = file
        example = Example(
            stimulus=stimulus,
            path=path,
            content=content,
            prompt=prompt_of(row, prompts),
            system=row.get("system"),
            intent=row.get("intent"),
            facts={key: str(value) for key, value in row.items() if value is not None},
            source=name,
        )
        examples.append(example)
        fingerprints.append(bits)
    return GatheredSource(
        panel=panel,
        labels=labels,
        facts=_facts_of_source(stimuli, examples, name),
        examples=tuple(examples),
        fingerprints=tuple(fingerprints),
        ledger=tuple(ledger),
    )


def _facts_of_source(stimuli: pl.DataFrame, examples: Sequence[Example], source: str) -> pl.DataFrame:
    """The table of the stimuli used; where there are several sources, stimuli and prompts of one are told from the others'."""
    used = stimuli.filter(pl.col("stimulus").is_in([example.stimulus for example in examples]))
    if not source:
        return used
    told_apart = [name for name in ("stimulus", "prompt") if name in used.columns]
    return used.with_columns(
        pl.concat_str(pl.lit(f"{source}\x1f"), pl.col(name).cast(pl.String)).alias(name) for name in told_apart
    )


def _learnable_labels(
    gathered: GatheredSources, questions: Sequence[str], required: Sequence[str]
) -> tuple[dict[str, tuple[Floats, Floats]], list[str], list[LedgerRow]]:
    """Labels and weights of the questions that can be learned; notes and rows of the ledger about what cannot be used."""
    study, examples = gathered.sources[0].panel.source.study, gathered.examples
    names, contents = [example.stimulus for example in examples], [example.content for example in examples]
    labels: dict[str, tuple[Floats, Floats]] = {}
    columns: list[LabelColumn] = []
    notes: list[str] = []
    rows: list[LedgerRow] = []
    for question in questions:
        scale = study.scale_of(question)
        value, weight = labels[question] = gathered.values(question)
        labelled = weight > 0
        label = np.where(labelled, value, np.nan) if value.ndim == 1 else top_category(scale, value, labelled)
        column = LabelColumn.of(question, scale, label)
        require_on_scale(column, names)
        columns.append(column)
        words, missing = gathered.without_label(question)
        notes += [*contradictions(column, contents, names), *words]
        rows += missing
    reasons = not_learnable(columns, required=required)
    words, refused = not_trained(reasons)
    learnable = {name: values for name, values in labels.items() if name not in reasons}
    return learnable, [*notes, *words], [*rows, *refused]


def _target(study: Study, name: str, value: Floats, weight: Floats, train: Ints) -> FineTuneTarget:
    """The labels of a question, with what is known of those of the training part."""
    labelled = value[train][weight[train] > 0]
    if not labelled.size:
        raise InputError(
            f"No stimulus of the training part has a label for '{name}'.",
            "Train on other questions: --set questions=NAME.",
        )
    flat = labelled if labelled.ndim == 1 else labelled.argmax(axis=1)
    if np.ptp(flat) == 0:
        raise InputError(
            f"All {len(flat):,} stimuli of the training part have the same label for '{name}'.",
            "Use another --group or seed, add stimuli with other labels, or train on other questions: --set questions=NAME.",
        )
    shows = "prompt" in study.question(name).shows
    return FineTuneTarget(QuestionOutput.of(name, study.scale_of(name), flat, shows_prompt=shows), value, weight)


def _questions(sources: Sequence[Snapshot], recipe: FineTuneRecipe, settings: FineTuneSettings) -> list[str]:
    """The questions trained on: those of the settings, the recipe's own where the study has them, or all that raters answer."""
    studies = [source.study for source in sources]
    _require_media(studies, recipe)
    study = studies[0]
    able = [question.id for question in study.asked if _can_learn(recipe, study.scale_of(question.id))]
    for name in settings.questions:
        if name not in able:
            raise InputError(
                f"'{name}' is not a question that '{recipe.name}' can learn.", suggestion(name, able, "Questions")
            )
    if not able:
        raise InputError(
            f"'{study.name}' asks nothing that '{recipe.name}' can learn ({', '.join(recipe.levels)} scales).",
            "Choose another recipe: see docs/training.md.",
        )
    preferred = [name for name in able if any(part in name.casefold() for part in recipe.questions)]
    rated = [name for name in able if not study.question(name).machine_first]
    chosen = list(settings.questions) or preferred or rated or able
    _require_shared(studies, chosen)
    return chosen


def _can_learn(recipe: FineTuneRecipe, scale: Scale) -> bool:
    return scale.level in recipe.levels and not isinstance(scale, Trace)


def _require_media(studies: Sequence[Study], recipe: FineTuneRecipe) -> None:
    """Refuse a study of other media than the recipe is for."""
    fitting = {"audio": ("audio", "speech")}.get(recipe.media, (recipe.media,))
    for study in studies:
        if recipe.media and study.media not in fitting:
            raise InputError(
                f"The recipe '{recipe.name}' is for {recipe.media}, and '{study.name}' is a study of {study.media}.",
                "Choose another recipe: see docs/training.md.",
            )


def _require_shared(studies: Sequence[Study], questions: Sequence[str]) -> None:
    """Refuse studies that do not ask the same questions on the same scales."""
    first = studies[0]
    for study in studies[1:]:
        question_ids = {question.id for question in study.asked}
        for name in questions:
            if name not in question_ids or study.scale_of(name) != first.scale_of(name):
                difference = "does not ask it" if name not in question_ids else "has another scale for it"
                raise InputError(
                    f"'{first.name}' and '{study.name}' cannot be put together: '{study.name}' {difference} ('{name}').",
                    "Name questions they share (--set questions=NAME), or rename and rescale them when reading.",
                )


def _rare_categories(study: Study, labels: Mapping[str, tuple[Floats, Floats]]) -> tuple[tuple[int, ...], list[str]]:
    """The stimuli that alone have their category, with a note about each."""
    rare: list[int] = []
    notes = []
    for question, (shares, weight) in labels.items():
        if shares.ndim == 1:
            continue
        top, labelled = shares.argmax(axis=1), weight > 0
        counts = np.bincount(top[labelled], minlength=shares.shape[1])
        alone = [int(np.flatnonzero(labelled & (top == code))[0]) for code in np.flatnonzero(counts == 1)]
        names = list(study.scale_of(question).labels().values())
        rare += alone
        notes += [
            f"'{names[int(top[at])]}' is the label of one stimulus only ('{question}'): it can be trained on,"
            " but nothing says how well it is recognised."
            for at in alone
        ]
    return tuple(rare), notes
