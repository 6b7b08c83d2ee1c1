"""Cells of the recipes that fit heads on frozen embeddings.

Settings: ``heads`` (kinds to choose from, such as ``ridge+kernel``), ``keep`` and ``drop`` (groups of columns, such as
``msd+tags``), ``setting`` (fixes a head's own setting, such as ``1`` for ridge or ``0.6:0.3`` for kernel, instead of choosing it
on inner folds) and ``weights`` (``reliability`` or ``equal``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from heartfelt import __version__
from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, EmbeddingBlock, columns_of
from heartfelt.predictors.trained.heads.head import KINDS, Head
from heartfelt.streams import stream
from heartfelt.training.experiments.cells import (
    FULL,
    LEAST_ROWS,
    CellResult,
    ExperimentCell,
    LabelSet,
    digest,
    most_frequent,
)
from heartfelt.training.experiments.pool import StimulusPool
from heartfelt.training.heads.fitting import Floats, Ints, Rows, ScaledRows, Setting, choose, fit
from heartfelt.training.heads.material import TrainingRecipe
from heartfelt.training.heads.targets import CategoryTarget, LabelTarget

WEIGHTS = ("reliability", "equal")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenSettings:
    """How heads are fitted; what is empty is left to the recipe."""

    heads: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    setting: Setting = ()
    weights: str = "reliability"

    @classmethod
    def parse(cls, setting_texts: Mapping[str, str], blocks: Sequence[str]) -> FrozenSettings:
        """From text; what is unknown is refused with the nearest name."""
        names = ("heads", "keep", "drop", "setting", "weights")
        for name in setting_texts:
            if name not in names:
                raise InputError(f"There is no setting '{name}'.", suggestion(name, names, "Settings"))
        heads = _names(setting_texts.get("heads", ""), KINDS, "head", "Heads")
        sides = [
            _names(setting_texts.get(name, ""), blocks, "group of features", "Groups") for name in ("keep", "drop")
        ]
        setting = _setting(setting_texts.get("setting", ""))
        weights = setting_texts.get("weights", WEIGHTS[0])
        if weights not in WEIGHTS:
            raise InputError(f"weights={weights} is unknown.", suggestion(weights, WEIGHTS, "Weights"))
        if setting and (len(heads) != 1 or len(setting) != (2 if heads == ("kernel",) else 1)):
            raise InputError(
                f"setting={setting_texts['setting']} fixes a head's own setting and needs that head alone.",
                "Write for example heads=ridge with setting=1, or heads=kernel with setting=0.6:0.3 (width:penalty).",
            )
        return cls(heads=heads, keep=sides[0], drop=sides[1], setting=setting, weights=weights)


def _names(text: str, choices: Sequence[str], noun: str, listing: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split("+") if part.strip())
    for name in names:
        if name not in choices:
            raise InputError(f"There is no {noun} '{name}'.", suggestion(name, choices, listing))
    return names


def _setting(text: str) -> Setting:
    try:
        values = tuple(float(part) for part in text.split(":") if part.strip())
    except ValueError as error:
        raise InputError(
            f"setting={text} is not a number.", "Write for example setting=1 or setting=0.6:0.3."
        ) from error
    if any(not np.isfinite(value) or value <= 0 for value in values):
        raise InputError(f"setting={text} must be above 0.", "Write for example setting=1.")
    return values


@dataclass(frozen=True, eq=False, kw_only=True)
class FrozenFit:
    """Heads on frozen embeddings, fitted to parts of a pool."""

    recipe: TrainingRecipe
    questions: tuple[str, ...]
    features: Mapping[str, npt.NDArray[np.float32]]
    """By embedding."""
    blocks: Mapping[str, tuple[EmbeddingBlock, ...]]
    """By embedding."""
    identity: tuple[str, ...]
    """What the embeddings' numbers depend on."""
    labels: Mapping[str, LabelSet]
    groups: Ints
    systems: Ints
    """A number for each row's system; -1 where it has none."""
    base: Mapping[str, str] = field(default_factory=dict)
    """Settings that hold for every cell."""

    @classmethod
    def of(cls, pool: StimulusPool, settings: Mapping[str, str] | None = None) -> FrozenFit:
        recipe = pool.materials[0].recipe
        embeddings = sorted({targets[0].embedding for targets in pool.targets.values()})
        fit_of_pool = cls(
            recipe=recipe,
            questions=pool.questions,
            features={
                name: np.concatenate([material.features[name] for material in pool.materials]) for name in embeddings
            },
            blocks={name: EMBEDDINGS[name].blocks for name in embeddings},
            identity=tuple(EMBEDDINGS[name]().identity for name in embeddings),
            labels={FULL: pool.labels},
            groups=pool.groups,
            systems=_systems(pool),
            base=dict(settings or {}),
        )
        fit_of_pool.check({})
        return fit_of_pool

    def _first(self, question: str) -> LabelTarget:
        """A question as the first source asks it."""
        return self.labels[FULL].targets[question][0]

    def _ignored(self, question: str) -> tuple[str, ...]:
        """Blocks that a question's head does not look at."""
        return self.recipe.ignored_by(self._first(question).question)

    def _spread(self, question: str) -> Floats:
        """The spread of single ratings about each row."""
        targets = self.labels[FULL].targets[question]
        return np.concatenate([np.full(target.label.size, target.spread) for target in targets])

    @property
    def fields(self) -> list[str]:
        """The groups of columns that any question's embedding has."""
        return list(dict.fromkeys(block.name for blocks in self.blocks.values() for block in blocks))

    def ablates(self, question: str, names: Sequence[str]) -> bool:
        """Whether a question's embedding has some of the groups, and others."""
        used = {block.name for block in self.blocks[self._first(question).embedding]} - set(self._ignored(question))
        return bool(used & set(names)) and bool(used - set(names))

    def ablated(self, way: str, names: Sequence[str]) -> dict[str, str]:
        """The settings that go ``without`` some groups, or use ``only`` them."""
        return {"drop" if way == "without" else "keep": "+".join(names)}

    def check(self, settings: Mapping[str, str]) -> None:
        self.settings(settings)

    def with_labels(self, sets: Mapping[str, LabelSet]) -> FrozenFit:
        return replace(self, labels={**self.labels, **sets})

    def settings(self, cell_settings: Mapping[str, str]) -> FrozenSettings:
        """A cell's settings, on top of those that hold for all."""
        return FrozenSettings.parse({**self.base, **cell_settings}, self.fields)

    @cached_property
    def _rows(self) -> list[bytes]:
        """A hash of each row's features."""
        parts = [array for _, array in sorted(self.features.items())]
        return [digest(*(part[at].tobytes() for part in parts)).encode() for at in range(self.groups.size)]

    def __getstate__(self) -> dict[str, object]:
        # Not sent to workers: the hashes of rows are worked out again from the features.
        return {name: value for name, value in self.__dict__.items() if name != "_rows"}

    def key(self, cell: ExperimentCell) -> str:
        """A hash of the rows, labels, embeddings, recipe and settings that decide a cell's predictions."""
        labels, settings = self.labels[cell.labels], self.settings(cell.settings)
        # Groups and systems matter as partitions; their numbers depend on rows that have no part in the cell.
        partitions = [
            np.unique(column[cell.train], return_inverse=True)[1].astype(np.int64).tobytes()
            for column in (self.groups, self.systems)
        ]
        return digest(
            __version__,
            list(self.identity),
            self.recipe.name,
            [*(settings.heads or self.recipe.kinds), *settings.setting, settings.weights, self.recipe.components],
            [[block.name for block in self._columns(name, settings)[1]] for name in self.questions],
            [cell.seed, cell.shuffled],
            list(self.questions),
            b"".join(self._rows[at] for at in cell.train),
            *partitions,
            b"".join(self._rows[at] for at in cell.test),
            *(part for name in self.questions for part in labels.content(name, cell.train)),
            *(self._spread(name)[cell.train].tobytes() for name in self.questions),
            *(self._first(name).points.tobytes() for name in self.questions),
        )

    def fit_and_predict(self, cell: ExperimentCell) -> CellResult:
        """A head for each question, chosen and fitted on the training rows alone."""
        settings = self.settings(cell.settings)
        values, centre, fitted = {}, {}, {}
        for question in self.questions:
            heads, centre[question], words = self._heads(cell, question, settings)
            target, columns = self._first(question), self._columns(question, settings)[0]
            x = self.features[target.embedding][cell.test][:, columns]
            answers = [head.stored().answer(x) for head in heads]
            if isinstance(target, CategoryTarget):
                predicted = np.array(target.codes)[np.argmax(answers, axis=0)]
            else:
                predicted = target.on_scale(answers[0])
            values[question] = tuple(float(value) for value in predicted)
            fitted[question] = words
        return CellResult(key=self.key(cell), name=cell.name, values=values, centre=centre, fitted=fitted)

    def _heads(self, cell: ExperimentCell, question: str, settings: FrozenSettings) -> tuple[list[Head], float, str]:
        """The head of a question, or one for the share of votes of each category; what knows nothing predicts; what was fitted."""
        labels = self.labels[cell.labels]
        at = cell.train[np.isfinite(labels.label(question)[cell.train])]
        if at.size < LEAST_ROWS:
            raise InputError(
                f"'{cell.name}' has {at.size} training stimuli with a label under '{question}'; {LEAST_ROWS} are needed.",
                "Use larger shares, fewer folds or more data.",
            )
        target = self._first(question)
        if isinstance(target, CategoryTarget):
            y, weight = labels.shares(question)[at], labels.weight(question)[at]
        else:
            y, weight = labels.learned(question, at)
        if cell.shuffled:
            y = stream(cell.seed, "experiments", "shuffled", question, cell.shuffled).permutation(y)
        if settings.weights != WEIGHTS[0]:
            weight = np.ones(at.size)
        if isinstance(target, CategoryTarget):
            chosen_heads = [self._head(cell, question, settings, at, column, weight) for column in y.T]
            words = ", ".join(dict.fromkeys(words for _, words in chosen_heads))
            return [head for head, _ in chosen_heads], most_frequent(target.codes, y, weight), words
        head, words = self._head(cell, question, settings, at, y, weight)
        return [head], float(weight @ y / weight.sum()), words

    def _head(
        self, cell: ExperimentCell, question: str, settings: FrozenSettings, at: Ints, y: Floats, weight: Floats
    ) -> tuple[Head, str]:
        columns, blocks = self._columns(question, settings)
        rows = Rows(
            x=self.features[self._first(question).embedding][at][:, columns],
            y=y,
            weight=weight,
            spread=self._spread(question)[at],
            blocks=blocks,
            points=self._first(question).points,
            seed=cell.seed,
            components=self.recipe.components,
        )
        kinds = settings.heads or self.recipe.kinds
        if settings.setting:
            head = fit(kinds[0], ScaledRows(rows), settings.setting)
            return head, f"{kinds[0]} {_words(settings.setting)}"
        groups = self.groups[at]
        if np.unique(groups).size < 2:
            raise InputError(
                f"All training stimuli of '{cell.name}' belong to one group, so no head can be chosen without leaks.",
                "Group by a column with more values (--group), or use --group none.",
            )
        systems = self.systems[at]
        chosen = choose(rows, None if (systems < 0).any() else systems, kinds, groups)
        return chosen.head, f"{chosen.kind} {_words(chosen.setting)}"

    def _columns(self, question: str, settings: FrozenSettings) -> tuple[Ints, list[EmbeddingBlock]]:
        """The columns that are used, and the blocks they make up."""
        blocks = self.blocks[self._first(question).embedding]
        used = [
            block
            for block in blocks
            if (not settings.keep or block.name in settings.keep)
            and block.name not in (*settings.drop, *self._ignored(question))
        ]
        if not used:
            raise InputError(f"No feature is left for '{question}'.", "Keep at least one group, or drop fewer.")
        where = columns_of(blocks)
        return np.concatenate([np.arange(w.start, w.stop) for w in (where[b.name] for b in used)]), used


def _words(setting: Setting) -> str:
    return ", ".join(f"{part:g}" for part in setting)


def _systems(pool: StimulusPool) -> Ints:
    names = [
        None if system is None else f"{at}\x1f{system}"
        for at, material in enumerate(pool.materials)
        for system in material.system
    ]
    code_by_name = {name: index for index, name in enumerate(sorted({name for name in names if name is not None}))}
    return np.array([-1 if name is None else code_by_name[name] for name in names], np.int64)
