"""What a model is fine-tuned on: stimuli with files, the labels of each question, and the part each stimulus belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from heartfelt.errors import InputError
from heartfelt.training.finetuning.stimuli.parts import TrainingParts
from heartfelt.training.finetuning.task import Example, QuestionOutput
from heartfelt.training.heads.label_checks import joined_words, label_words

if TYPE_CHECKING:
    from heartfelt.media.images.duplicates import Bits
    from heartfelt.scoring.grouping import StimulusGrouping
    from heartfelt.screening import Panel
    from heartfelt.snapshot import Snapshot
    from heartfelt.stats.columns.triples import Floats, Ints


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
    fingerprints: tuple[Bits | None, ...] = ()
    """What tells near-duplicates of the stimuli."""
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
