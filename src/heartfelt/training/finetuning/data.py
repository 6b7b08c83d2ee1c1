"""What a model is fine-tuned on: stimuli with files, the labels of each question, and the part each stimulus belongs to.

Raters are screened first. The label of a question with numbers is the mean, weighted by its reliability as in
:mod:`heartfelt.training.heads.material`; that of a question with categories is the share of votes for each of them, weighted
likewise. Several sources are put together if they ask the same questions on the same scales. What cannot be used is a row of
the ledger: labels without media, media without labels, files that cannot be read, copies that would cross from training to
scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import first_answers
from heartfelt.progress import Progress
from heartfelt.scoring.grouping import AUTO, StimulusGrouping, grouping_of, near_duplicates
from heartfelt.screening import Panel
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.study import Scale, Study
from heartfelt.training.finetuning.parts import Fold, TrainingParts, parts_of
from heartfelt.training.finetuning.recipe import FineTuneRecipe, FineTuneSettings
from heartfelt.training.finetuning.source import GatheredSource, LedgerRows, gather_source, labels_of_raters
from heartfelt.training.finetuning.task import Example, QuestionOutput
from heartfelt.training.heads.fitting import Floats
from heartfelt.training.heads.label_checks import (
    STAGE,
    LabelColumn,
    contradictions,
    joined_words,
    label_words,
    ledger_of,
    not_learnable,
    not_trained,
    require_enough,
    require_on_scale,
    require_train_part,
    texts_of,
    without_label,
)
from heartfelt.training.heads.targets import aligned, reliability_weights, vote_counts, vote_weights

if TYPE_CHECKING:
    from heartfelt.training.heads.fitting import Ints


@dataclass(frozen=True, slots=True, eq=False)
class FineTuneTarget:
    """The labels of one question, in the order of the stimuli."""

    output: QuestionOutput
    values: Floats
    """A number per stimulus, or a row of shares per stimulus; 0 where there is no label."""
    weight: Floats
    """0 where there is no label."""

    @property
    def question(self) -> str:
        return self.output.question


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingData:
    """Stimuli, labels, parts, and what could not be used."""

    sources: tuple[Snapshot, ...]
    panels: tuple[Panel, ...]
    examples: tuple[Example, ...]
    origin: Ints
    """The source of each stimulus, by its place among the sources."""
    targets: tuple[FineTuneTarget, ...]
    grouping: StimulusGrouping
    parts: TrainingParts
    ledger: pl.DataFrame
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def study_name(self) -> str:
        return " + ".join(dict.fromkeys(source.study.name for source in self.sources))

    @property
    def label_words(self) -> str:
        questions = [target.question for target in self.targets]
        pairs = list(zip(self.sources, self.panels, strict=True))
        words = [label_words(source, panel, questions) for source, panel in pairs]
        return joined_words(words, [source.study.name for source in self.sources])

    @property
    def unusable(self) -> int:
        return self.ledger.filter(pl.col("question").is_null()).height

    @property
    def outputs(self) -> tuple[QuestionOutput, ...]:
        return tuple(target.output for target in self.targets)

    def need_prompts(self, questions: Sequence[str]) -> None:
        lacking = [example.stimulus for example in self.examples if not example.prompt]
        if lacking and questions:
            raise InputError(
                f"{len(lacking):,} stimuli have no prompt, such as {lacking[0]}; '{questions[0]}' is about the prompt.",
                "Fill the column 'prompt' of the stimuli, or train on other questions: --set questions=NAME.",
            )


def gather_data(
    sources: Sequence[Snapshot],
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    *,
    policy: str = "default",
    group: str = AUTO,
    published: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainingData:
    """Screen, label, look for every file, and decide the parts."""
    return _gather_all(sources, recipe, settings, policy, group, published, seed, progress)(None)


def gather_folds(
    sources: Sequence[Snapshot],
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    count: int,
    *,
    policy: str = "default",
    group: str = AUTO,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[TrainingData, list[TrainingData]]:
    """The same for cross-validation: the data of a model that is trained on every fold, and those of each fold left out."""
    if settings.left_out_system:
        raise InputError("left_out_system leaves one system out, --folds every group in turn.", "Use one of the two.")
    fold_data = _gather_all(sources, recipe, settings, policy, group, False, seed, progress)
    return fold_data(Fold(0, count)), [fold_data(Fold(number + 1, count)) for number in range(count)]


def _gather_all(
    sources: Sequence[Snapshot],
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    policy: str,
    group: str,
    published: bool,
    seed: int,
    progress: Progress | None,
) -> Callable[[Fold | None], TrainingData]:
    """Everything but the parts; the data with the parts of a fold, or with those of the settings."""
    questions = _questions(sources, recipe, settings)
    if published:
        for source in sources:
            require_train_part(source)
    several = len(sources) > 1
    gathered = [
        gather_source(source, questions, policy, seed, f"{source.study.name} {number}" if several else "", progress)
        for number, source in enumerate(sources, 1)
    ]
    examples = [example for source_data in gathered for example in source_data.examples]
    ledger: LedgerRows = [row for source_data in gathered for row in source_data.ledger]
    require_enough(len(examples), ledger[0][4] if ledger else "")
    facts = pl.concat([source_data.facts for source_data in gathered], how="diagonal_relaxed")
    hashes = [bits for source_data in gathered for bits in source_data.hashes]
    contents = [example.content for example in examples]
    nothing = np.empty((len(examples), 0), np.float32)
    grouping = grouping_of(facts, contents, nothing, hashes, by=group)
    study = sources[0].study
    labelled, notes, rows_of_labels = _checked(gathered, examples, questions, settings.questions)
    ledger += rows_of_labels
    rare = [
        index
        for name, (value, weight) in labelled.items()
        if value.ndim == 2
        for index in _rare_categories(name, list(study.scale_of(name).labels().values()), value, weight, notes)
    ]
    copies = near_duplicates(contents, nothing, None, hashes)

    def with_parts(fold: Fold | None) -> TrainingData:
        parts = parts_of(
            grouping,
            copies,
            systems=[example.system for example in examples],
            published=texts_of(facts, SPLIT) if published else (),
            left_out_system=settings.left_out_system,
            test=settings.test,
            validation=settings.validation,
            rare=rare,
            fold=fold,
            seed=seed,
        )
        rows = [
            *ledger,
            *(("stimulus", None, examples[at].stimulus, None, reason, STAGE) for at, reason in parts.dropped.items()),
        ]
        return TrainingData(
            sources=tuple(sources),
            panels=tuple(source_data.panel for source_data in gathered),
            examples=tuple(examples),
            origin=np.repeat(np.arange(len(gathered)), [len(source_data.examples) for source_data in gathered]),
            targets=tuple(
                _target(study, name, value, weight, parts.train) for name, (value, weight) in labelled.items()
            ),
            grouping=grouping,
            parts=parts,
            ledger=ledger_of(rows),
            seed=seed,
            notes=tuple(notes),
        )

    return with_parts


def _checked(
    gathered: Sequence[GatheredSource], examples: Sequence[Example], questions: Sequence[str], required: Sequence[str]
) -> tuple[dict[str, tuple[Floats, Floats]], list[str], LedgerRows]:
    """Labels and weights of the questions that can be learned; notes and rows of the ledger about what cannot be used."""
    tables = [labels_of_raters(source_data.panel.snapshot()) for source_data in gathered]
    answers = [first_answers(source_data.panel.snapshot()) for source_data in gathered]
    labelled: dict[str, tuple[Floats, Floats]] = {}
    columns: list[LabelColumn] = []
    notes: list[str] = []
    rows: LedgerRows = []
    names = [example.stimulus for example in examples]
    for question in questions:
        scale = gathered[0].snapshot.study.scale_of(question)
        number = scale.level == "interval"
        parts = [
            _labels_of(question, source_data, table, votes)
            for source_data, table, votes in zip(gathered, tables, answers, strict=True)
        ]
        value, weight = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        codes = np.array(sorted(scale.labels()) or [0.0])
        label = np.where(weight > 0, value if number else codes[value.argmax(axis=1)], np.nan)
        bounds, categories = (scale.bounds(), None) if number else (None, scale.labels())
        column = LabelColumn(question=question, label=label, bounds=bounds, categories=categories)
        require_on_scale(column, names)
        notes += contradictions(column, [example.content for example in examples], names)
        for source_data, table, votes in zip(gathered, tables, answers, strict=True):
            answered = (table.drop_nulls("value") if number else votes).filter(pl.col("question") == question)
            words, missing = without_label(
                source_data.panel.snapshot(), question, set(answered["stimulus"].cast(pl.String))
            )
            files = {example.stimulus for example in source_data.examples}
            notes, rows = notes + words, rows + [row for row in missing if row[2] in files]
        columns.append(column)
        labelled[question] = (value, weight)
    reasons = not_learnable(columns, required=required)
    words, refused = not_trained(reasons)
    learnable = {name: part for name, part in labelled.items() if name not in reasons}
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
    study = sources[0].study
    fitting = {"audio": ("audio", "speech")}.get(recipe.media, (recipe.media,))
    for other_study in (source.study for source in sources if recipe.media and source.study.media not in fitting):
        raise InputError(
            f"The recipe '{recipe.name}' is for {recipe.media}, and '{other_study.name}' is a study of {other_study.media}.",
            "Choose another recipe: see docs/training.md.",
        )
    scales = {question.id: study.scale_of(question.id) for question in study.asked}
    able = [name for name, scale in scales.items() if scale.level in recipe.levels and not _is_trace(scale)]
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
    for other_study in (source.study for source in sources[1:]):
        for name in chosen:
            question_ids = {question.id for question in other_study.asked}
            if name not in question_ids or other_study.scale_of(name) != study.scale_of(name):
                difference = "does not ask it" if name not in question_ids else "has another scale for it"
                raise InputError(
                    f"'{study.name}' and '{other_study.name}' cannot be put together:"
                    f" '{other_study.name}' {difference} ('{name}').",
                    "Name questions they share (--set questions=NAME), or rename and rescale them when reading.",
                )
    return chosen


def _is_trace(scale: Scale) -> bool:
    from heartfelt.study.set_scale import Trace

    return isinstance(scale, Trace)


def _labels_of(
    question: str, source: GatheredSource, table: pl.DataFrame, votes: pl.DataFrame
) -> tuple[Floats, Floats]:
    """Labels and weights of one question for the stimuli of a source; 0 and 0 where there is none."""
    scale = source.snapshot.study.scale_of(question)
    names = [example.stimulus for example in source.examples]
    if scale.level == "interval":
        of_question = table.filter(pl.col("question") == question)
        label, sd, n = (aligned(of_question, column, names) for column in ("value", "sd", "n"))
        if not np.isfinite(label).any():
            return np.zeros(len(names)), np.zeros(len(names))
        return np.nan_to_num(label), reliability_weights(label, sd, n)[0]
    counts = vote_counts(votes.filter(pl.col("question") == question), names, sorted(scale.labels()))
    total = counts.sum(axis=1)
    weight = vote_weights(counts) if total.any() else np.zeros(len(names))
    return counts / np.maximum(total, 1.0)[:, None], weight


def _rare_categories(question: str, names: list[str], shares: Floats, weight: Floats, notes: list[str]) -> list[int]:
    """The stimuli that alone have their category, with a note about each."""
    top, labelled = shares.argmax(axis=1), weight > 0
    counts = np.bincount(top[labelled], minlength=shares.shape[1])
    rare = [int(np.flatnonzero(labelled & (top == code))[0]) for code in np.flatnonzero(counts == 1)]
    notes += [
        f"'{names[int(top[index])]}' is the label of one stimulus only ('{question}'): it can be trained on,"
        " but nothing says how well it is recognised."
        for index in rare
    ]
    return rare
