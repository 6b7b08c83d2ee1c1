"""Cells of the fine-tuning recipes: each trains a whole model and predicts the cell's test stimuli.

Questions answered with numbers are used, and those with categories where they are named or there are no others. Early stopping
uses whole groups of the training part, never the test part; the labels of test stimuli are not among the data a model is given.
Settings are the recipe's own; several names are joined by ``+`` (``attributes=scene+objects``). Fields that can be ablated are
the annotation fields a recipe has as inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from heartfelt import __version__
from heartfelt.errors import InputError
from heartfelt.scoring.grouping import StimulusGrouping
from heartfelt.snapshot import Snapshot
from heartfelt.streams import derived_seed, stream
from heartfelt.study import Scale
from heartfelt.tables import LEDGER
from heartfelt.training.experiments.cells import FULL, CellResult, ExperimentCell, LabelSet, digest, most_frequent
from heartfelt.training.experiments.pool import StimulusPool
from heartfelt.training.finetuning import (
    Example,
    FineTuneRecipe,
    FineTuneSettings,
    QuestionOutput,
    TrainingData,
    recipe_named,
    settings_of,
)
from heartfelt.training.finetuning import FineTuneTarget as FineTuneTarget
from heartfelt.training.finetuning.recipes.images.attributes import chosen_attributes
from heartfelt.training.finetuning.stimuli.parts import TrainingParts
from heartfelt.training.heads.fitting import Floats, Ints, left_out_share
from heartfelt.training.heads.material import TrainingRecipe, TrainingStimuli
from heartfelt.training.heads.targets import LabelSource

ATTRIBUTES = "attributes"
"""The setting that names annotation fields."""
WITH_FIELDS = {"attributes": "image-emotion"}
"""Recipes that always have fields as inputs, and the same recipe without any."""
_SEVERAL = (ATTRIBUTES, "questions", "stimuli")


def material_of(name: str, snapshot: Snapshot, data: TrainingData, questions: Sequence[str] = ()) -> TrainingStimuli:
    """The stimuli gathered for fine-tuning in the form experiments use, without embeddings.

    Questions with categories are those ``asked`` for, or all of them where there are no others.
    """
    source = LabelSource.of(data.panels[0])
    stimuli = tuple(example.stimulus for example in data.examples)
    recipe = TrainingRecipe(name=name, about="", embedding="")
    numbers = any(not output.categories for output in data.outputs)
    used = [
        output.question
        for output in data.outputs
        if not output.categories or not numbers or output.question in questions
    ]
    return TrainingStimuli(
        snapshot=snapshot,
        panel=data.panels[0],
        recipe=recipe,
        stimuli=stimuli,
        hashes=tuple(example.content for example in data.examples),
        fingerprints=data.fingerprints,
        features={},
        system=tuple(example.system for example in data.examples),
        intent=tuple(example.intent for example in data.examples),
        targets=tuple(source.target(question, "", stimuli) for question in used),
        ledger=data.ledger,
        grouping=data.grouping,
    )


def settings_text(setting_texts: Mapping[str, str]) -> dict[str, object]:
    """Settings as a recipe reads them: several names are joined by commas there."""
    return {key: value.replace("+", ",") if key in _SEVERAL else value for key, value in setting_texts.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class FineTuneFit:
    """A fine-tuning recipe, trained on parts of a pool."""

    name: str
    questions: tuple[str, ...]
    examples: tuple[Example, ...]
    sources: tuple[Snapshot, ...]
    origin: Ints
    labels: Mapping[str, LabelSet]
    scales: Mapping[str, Scale]
    shows_prompt: Mapping[str, bool]
    groups: Ints
    base: Mapping[str, str] = field(default_factory=dict)
    """Settings that hold for every cell."""

    @classmethod
    def of(
        cls, name: str, pool: StimulusPool, data: Sequence[TrainingData], settings: Mapping[str, str]
    ) -> FineTuneFit:
        examples = [
            replace(example, source=f"{number}") if len(data) > 1 else example
            for number, source in enumerate(data)
            for example in source.examples
        ]
        study = pool.materials[0].snapshot.study
        fit = cls(
            name=name,
            questions=pool.questions,
            examples=tuple(examples),
            sources=tuple(material.snapshot for material in pool.materials),
            origin=np.repeat(np.arange(len(data)), [len(source.examples) for source in data]).astype(np.int64),
            labels={FULL: pool.labels},
            scales={name: targets[0].scale for name, targets in pool.targets.items()},
            shows_prompt={
                name: "prompt" in study.question(targets[0].question).shows for name, targets in pool.targets.items()
            },
            groups=pool.groups,
            base=dict(settings),
        )
        fit.check({})
        return fit

    def _recipe(self, cell_settings: Mapping[str, str]) -> tuple[FineTuneRecipe, FineTuneSettings]:
        """The recipe and settings of a cell; a recipe with fields is replaced by the plain one where none is left."""
        setting_texts = settings_text({**self.base, **cell_settings})
        name = WITH_FIELDS[self.name] if setting_texts.get(ATTRIBUTES) == "" and self.name in WITH_FIELDS else self.name
        recipe = recipe_named(name)
        return recipe, settings_of(recipe, setting_texts)

    @property
    def fields(self) -> list[str]:
        _, settings = self._recipe({})
        wanted = tuple(getattr(settings, ATTRIBUTES, ()))
        if not wanted and self.name not in WITH_FIELDS:
            return []
        return list(chosen_attributes(self.sources[0].study, wanted or ("all",), self.questions))

    def ablates(self, question: str, names: Sequence[str]) -> bool:
        """The stimulus itself is always left."""
        del question
        return bool(names)

    def ablated(self, way: str, names: Sequence[str]) -> dict[str, str]:
        """The settings that go ``without`` some fields, or use ``only`` them."""
        remaining = [name for name in self.fields if (name in names) == (way == "only")]
        return {ATTRIBUTES: "+".join(remaining)}

    def check(self, settings: Mapping[str, str]) -> None:
        self._recipe(settings)

    def with_labels(self, sets: Mapping[str, LabelSet]) -> FineTuneFit:
        return replace(self, labels={**self.labels, **sets})

    def key(self, cell: ExperimentCell) -> str:
        """A hash of the files, prompts, facts, labels, recipe and settings that decide a cell's predictions."""
        recipe, settings = self._recipe(cell.settings)
        sets = self.labels[cell.labels]
        groups = np.unique(self.groups[cell.train], return_inverse=True)[1].astype(np.int64)
        rows = np.concatenate([cell.train, cell.test])
        return digest(
            __version__,
            recipe.name,
            settings.model_dump(mode="json"),
            [cell.seed, cell.shuffled, int(cell.train.size), *self.questions],
            [[example.content, example.prompt, dict(example.facts)] for example in (self.examples[at] for at in rows)],
            [self.sources[number].table_hashes["fields"] for number in np.unique(self.origin[rows])],
            groups.tobytes(),
            *(part for name in self.questions for part in sets.content(name, cell.train)),
        )

    def fit_and_predict(self, cell: ExperimentCell) -> CellResult:
        import torch

        from heartfelt.training.finetuning.loop.engine import TrainingLoop

        recipe, settings = self._recipe(cell.settings)
        data = self._data(cell, settings)
        torch.manual_seed(derived_seed(cell.seed, "finetune", "weights"))
        engine = TrainingLoop(recipe.build(data, settings), data, settings)
        fitted = engine.fit()
        test = data.parts.test["test"]
        answers, _ = engine.answer_parts(engine.task.module, test)
        words = f"{recipe.name}, {fitted.best_epoch} epochs"
        return CellResult(
            key=self.key(cell),
            name=cell.name,
            values={name: self._values(name, answers[name]) for name in self.questions},
            centre={target.question: self._centre(target) for target in data.targets},
            fitted=dict.fromkeys(self.questions, words),
        )

    def _values(self, question: str, answers: Floats) -> tuple[float, ...]:
        """Numbers as they are, of probabilities the code of the most probable category."""
        codes = self._codes(question)
        best = np.array(codes)[answers.argmax(axis=1)] if codes else answers
        return tuple(float(value) for value in best)

    def _codes(self, question: str) -> tuple[float, ...]:
        scale = self.scales[question]
        return () if scale.level == "interval" else tuple(float(code) for code in sorted(scale.labels()))

    def _centre(self, target: FineTuneTarget) -> float:
        codes = self._codes(target.question)
        return most_frequent(codes, target.values, target.weight) if codes else target.output.mean

    def _data(self, cell: ExperimentCell, settings: FineTuneSettings) -> TrainingData:
        """The data of one cell: its rows alone, and labels of the training rows alone."""
        rows = np.concatenate([cell.train, cell.test])
        count = cell.train.size
        stop = left_out_share(self.groups[cell.train], settings.validation, cell.seed, "experiments", "validation")
        if stop.all():
            raise InputError(
                f"All training stimuli of '{cell.name}' belong to one group, so nothing is left to stop early by.",
                "Group by a column with more values (--group), or use --group none.",
            )
        train, validation = np.flatnonzero(~stop), np.flatnonzero(stop)
        targets = [self._target(name, cell, rows, train) for name in self.questions]
        parts = TrainingParts(
            train=train, validation=validation, test={"test": np.arange(count, rows.size)}, words="", dropped={}
        )
        used = np.unique(self.origin[rows])
        return TrainingData(
            sources=tuple(self.sources[number] for number in used),
            panels=(),
            examples=tuple(self.examples[at] for at in rows),
            origin=np.searchsorted(used, self.origin[rows]),
            targets=tuple(targets),
            grouping=StimulusGrouping(groups=self.groups[rows], by=""),
            parts=parts,
            ledger=LEDGER.empty(),
            seed=cell.seed,
        )

    def _target(self, question: str, cell: ExperimentCell, rows: Ints, train: Ints) -> FineTuneTarget:
        sets = self.labels[cell.labels]
        codes = self._codes(question)
        label = (sets.shares(question) if codes else sets.label(question))[cell.train]
        weight = sets.weight(question)[cell.train]
        labelled = np.flatnonzero(np.isfinite(label if not codes else label[:, 0]))
        if np.intersect1d(labelled, train).size < 2:
            raise InputError(
                f"'{cell.name}' has fewer than two training stimuli with a label under '{question}'.",
                "Use larger shares, fewer folds or more data.",
            )
        if cell.shuffled:
            order = stream(cell.seed, "experiments", "shuffled", question, cell.shuffled)
            label = label.copy()
            label[labelled] = order.permutation(label[labelled])
        values, weights = np.zeros((rows.size, *label.shape[1:])), np.zeros(rows.size)
        values[labelled], weights[labelled] = label[labelled], weight[labelled]
        labelled_train = np.intersect1d(labelled, train)
        shows = self.shows_prompt[question]
        return FineTuneTarget(
            QuestionOutput.of(question, self.scales[question], values[labelled_train], shows_prompt=shows),
            values,
            weights,
        )
