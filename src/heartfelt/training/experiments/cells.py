"""The cells of an experiment: each is one fit and what it predicts, stored in a file of its own.

A cell's file is named by a hash of everything its numbers depend on (the stimuli's content, labels, settings, seed, version of
heartfelt), and is written whole. A run that was interrupted, even by ``kill -9``, computes only what is missing; a changed
source or setting invalidates its own cells and no others. Cells run here or on a Ray cluster with the same result.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.execution.engines import ENGINES, Engine
from heartfelt.progress import Progress
from heartfelt.serialization import dumps, read_json, write_json
from heartfelt.training.heads.fitting import Floats, Ints
from heartfelt.training.heads.targets import CategoryTarget, LabelTarget

FOLDER = "cells"
MARK = "experiment.json"
TIMES = "times.json"
DOING = "fitting"
LEAST_ROWS = 10
"""Stimuli that a fit is made to at least."""
FULL = "full"
"""The labels of all ratings that are used."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExperimentCell:
    """One fit: the rows it is trained on and those it predicts.

    ``labels`` names the set of labels that is trained on; ``settings`` belong to the recipe; where ``shuffled`` names a random
    order, the labels are trained on in that order, which shows what chance reaches.
    """

    name: str
    train: Ints
    test: Ints
    seed: int
    settings: Mapping[str, str] = field(default_factory=dict)
    labels: str = FULL
    shuffled: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellResult:
    """What a cell predicts for its test rows, by question: numbers, or codes of categories.

    ``centre`` is the (weighted) mean of the labels it was trained on, or the most frequent category among them: what a model
    that knows nothing predicts.
    """

    key: str
    name: str
    values: Mapping[str, tuple[float, ...]]
    centre: Mapping[str, float]
    fitted: Mapping[str, str]
    """What was fitted, in words."""

    def of(self, question: str) -> Floats:
        """The predictions under one question."""
        return np.asarray(self.values[question], np.float64)

    def centred(self, question: str) -> Floats:
        """The predictions less the mean of the training labels."""
        return self.of(question) - self.centre[question]


@dataclass(frozen=True, slots=True, eq=False)
class LabelSet:
    """Labels that are trained on: by question the targets of each source, whose stimuli one after the other are a pool's rows."""

    targets: Mapping[str, tuple[LabelTarget, ...]]

    def label(self, question: str) -> Floats:
        """The label of every row as a mean of ratings; NaN where there is none."""
        return np.concatenate([target.label for target in self.targets[question]])

    def weight(self, question: str) -> Floats:
        """How much each of these labels counts."""
        return np.concatenate([target.weight for target in self.targets[question]])

    def shares(self, question: str) -> Floats:
        """The share of votes for each category, by row; NaN where there is no label."""
        shares = [target.shares for target in self.targets[question] if isinstance(target, CategoryTarget)]
        return np.concatenate(shares)

    def learned(self, question: str, rows: Ints) -> tuple[Floats, Floats]:
        """Labels and weights that a head learns from: where raters are modelled, from the answers about these rows alone."""
        label, weight = np.empty(rows.size), np.empty(rows.size)
        for target, selected, target_rows in self._sources(question, rows):
            if target_rows.size:
                learned = target.learned(target_rows)
                label[selected], weight[selected] = learned.label, learned.weight
        return label, weight

    def content(self, question: str, rows: Ints) -> list[bytes]:
        """Everything that ``learned`` depends on."""
        out = [column[rows].tobytes() for column in (self.label(question), self.weight(question))]
        for target, _, target_rows in self._sources(question, rows):
            if isinstance(target, CategoryTarget):
                out.append(target.shares[target_rows].tobytes())
            if target.answers is not None and target_rows.size:
                answers = target.answers.at(target_rows)
                out += [column.tobytes() for column in (answers.rater, answers.place, answers.value)]
        return out

    def _sources(self, question: str, rows: Ints) -> Iterator[tuple[LabelTarget, npt.NDArray[np.bool_], Ints]]:
        """Each source's target, which of the rows are its own, and their places in it."""
        start = 0
        for target in self.targets[question]:
            selected = (rows >= start) & (rows < start + target.label.size)
            yield target, selected, rows[selected] - start
            start += target.label.size


def most_frequent(codes: Sequence[float], shares: Floats, weight: Floats) -> float:
    """The category with most votes among training labels."""
    return float(codes[int(np.argmax(weight @ shares))])


class CellModel(Protocol):
    """A way to train and predict. It holds the data, and travels to workers by pickling."""

    @property
    def questions(self) -> tuple[str, ...]:
        """What is predicted."""

    @property
    def fields(self) -> list[str]:
        """Groups of features, or annotation fields, that can be dropped or kept."""

    def ablates(self, question: str, names: Sequence[str]) -> bool:
        """Whether dropping, or keeping only, these fields changes what a question is predicted from and leaves something."""

    def ablated(self, way: str, names: Sequence[str]) -> dict[str, str]:
        """The settings that go ``without`` some fields, or use ``only`` them."""

    def check(self, settings: Mapping[str, str]) -> None:
        """Raise for settings that a cell cannot have."""

    @property
    def labels(self) -> Mapping[str, LabelSet]:
        """The sets of labels that can be trained on, by name."""

    def with_labels(self, sets: Mapping[str, LabelSet]) -> CellModel:
        """The same with further sets of labels to train on."""

    def key(self, cell: ExperimentCell) -> str:
        """A hash of everything the cell's result depends on."""

    def fit_and_predict(self, cell: ExperimentCell) -> CellResult:
        """Train on the cell's training rows and predict its test rows; the same numbers on every machine."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What an engine runs: a batch of cells, each fitted."""

    fit: CellModel

    def __call__(self, batch: Sequence[ExperimentCell]) -> list[CellResult]:
        return [self._fitted(cell) for cell in batch]

    def _fitted(self, cell: ExperimentCell) -> CellResult:
        try:
            return self.fit.fit_and_predict(cell)
        except Exception as error:
            error.add_note(f"The fit '{cell.name}' failed; the fits that are complete are kept.")
            raise

    def lost(self, batch: Sequence[ExperimentCell], times: int) -> list[CellResult]:
        raise HeartfeltError(
            f"The worker of '{batch[0].name}' was lost {times} times.",
            "It may have run out of memory: give each worker more (--on ray --cpus 2), and run the command again.",
        )


@dataclass(frozen=True, slots=True)
class _Mark:
    """What the folder of an experiment says of itself."""

    kind: str
    recipe: str


@dataclass(frozen=True, slots=True)
class FitTimes:
    """How many fits were made into a folder, and in how many seconds altogether, as many at a time as there were workers."""

    fits: int = 0
    seconds: float = 0.0


class CellStore:
    """The folder of an experiment: its mark, its cells and how long they took."""

    def __init__(self, folder: Path, kind: str, recipe: str) -> None:
        self.folder = folder
        self._mark = _Mark(kind, recipe)
        if folder.exists():
            self._check()

    def _check(self) -> None:
        mark, folder = self.folder / MARK, self.folder
        if not folder.is_dir() or (any(folder.iterdir()) and not mark.is_file()):
            raise InputError(
                f"{folder} already exists and holds something other than an experiment.",
                "Choose another folder for the results.",
            )
        if not mark.is_file():
            return
        try:
            stored = read_json(mark, _Mark)
        except InputError as error:
            raise InputError(f"{mark} cannot be read.", "Choose another folder, or remove this one first.") from error
        if stored != self._mark:
            raise InputError(
                f"{folder} holds another experiment: {stored.kind} with the recipe '{stored.recipe}'.",
                "Choose another folder for the results.",
            )

    def open(self) -> None:
        (self.folder / FOLDER).mkdir(parents=True, exist_ok=True)
        write_json(self.folder / MARK, self._mark)

    def _place(self, key: str) -> Path:
        return self.folder / FOLDER / f"{key}.json"

    def read(self, key: str, cell: ExperimentCell, questions: Iterable[str]) -> CellResult | None:
        """The stored result of a cell; None where there is none that can be read."""
        path = self._place(key)
        if not path.is_file():
            return None
        try:
            result = read_json(path, CellResult)
        except InputError:
            return None
        complete = all(len(result.values.get(name, ())) == cell.test.size for name in questions)
        return result if complete and result.key == key else None

    def write(self, result: CellResult) -> None:
        write_json(self._place(result.key), result)

    def times(self) -> FitTimes:
        try:
            return read_json(self.folder / TIMES, FitTimes)
        except InputError:
            return FitTimes()

    def add_times(self, fits: int, seconds: float) -> None:
        earlier = self.times()
        write_json(self.folder / TIMES, FitTimes(earlier.fits + fits, earlier.seconds + seconds))


def run_cells(
    cells: Sequence[ExperimentCell],
    fit: CellModel,
    store: CellStore,
    questions: Sequence[str],
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> list[CellResult]:
    """The results of cells, in their order: from the folder where they are there, else fitted and stored as they come."""
    _check_sizes(cells)
    store.open()
    keys = [fit.key(cell) for cell in cells]
    results: dict[str, CellResult] = {}
    missing: dict[str, ExperimentCell] = {}
    for key, cell in zip(keys, cells, strict=True):
        if key in results or key in missing:
            continue
        stored = store.read(key, cell, questions)
        if stored is None:
            missing[key] = cell
        else:
            results[key] = stored
    total = len(results) + len(missing)
    if progress is not None:
        progress(DOING, len(results), total)
    if missing:
        runner, last = engine or ENGINES["local"].make(), time.perf_counter()
        for batch in runner.map(_Job(fit), ((cell,) for cell in missing.values()), 1):
            for result in batch:
                # Stored as they come: a run that is killed keeps every fit that is complete.
                store.write(result)
                results[result.key] = result
                if progress is not None:
                    progress(DOING, len(results), total)
            now = time.perf_counter()
            store.add_times(len(batch), now - last)
            last = now
    return [results[key] for key in keys]


def _check_sizes(cells: Sequence[ExperimentCell]) -> None:
    smallest = min(cells, key=lambda cell: cell.train.size)
    if smallest.train.size < LEAST_ROWS:
        raise InputError(
            f"'{smallest.name}' has {smallest.train.size} training stimuli; {LEAST_ROWS} are needed.",
            "Use larger shares, fewer folds or more data. Copies and near-duplicates of test stimuli are not trained on.",
        )


def complete(cells: Sequence[ExperimentCell], fit: CellModel, store: CellStore, questions: Sequence[str]) -> list[bool]:
    """Which cells have a result already."""
    return [store.read(fit.key(cell), cell, questions) is not None for cell in cells]


def digest(*parts: object) -> str:
    state = hashlib.sha256()
    # Each part with its length: two parts must not hash like one that joins them.
    for part in parts:
        content = part if isinstance(part, bytes) else dumps(part).encode()
        state.update(f"{len(content)}:".encode())
        state.update(content)
    return state.hexdigest()[:40]
