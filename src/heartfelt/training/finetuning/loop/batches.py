"""Which stimuli each step sees, in which pieces, the processes that prepare them, and what a task answers for all of them.

Everything follows from the seed and the number of the step, so that training can begin again anywhere: the order of an epoch, the
draws of a sample (its crop) and the random numbers inside the module each have a stream of their own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.streams import stream
from heartfelt.training.finetuning.task import Batch, Example, FineTuneTask, Tensors

if TYPE_CHECKING:
    from heartfelt.training.finetuning.stimuli.data import TrainingData

Key: TypeAlias = tuple[int, int]
"""An epoch and the place of a stimulus."""
_MOST_WORKERS = 16


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One step of the optimiser: which stimuli this process computes, in pieces that fit the memory."""

    number: int
    epoch: int
    pieces: tuple[tuple[Key, ...], ...]
    last_of_epoch: bool

    @property
    def size(self) -> int:
        """Stimuli of this process."""
        return sum(len(piece) for piece in self.pieces)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchSchedule:
    """Every step of a training run."""

    places: Ints
    batch: int
    epochs: int
    seed: int
    rank: int = 0
    world: int = 1

    @property
    def per_epoch(self) -> int:
        return -(-self.places.size // self.batch)

    @property
    def total(self) -> int:
        return self.per_epoch * self.epochs

    def steps(self, start: int, pieces: int) -> Iterator[TrainingStep]:
        """The steps from ``start``, each in up to so many pieces."""
        order, epoch_of_order = self.places, -1
        for number in range(start, self.total):
            epoch, at = divmod(number, self.per_epoch)
            if epoch != epoch_of_order:
                order, epoch_of_order = (stream(self.seed, "finetune", "order", epoch).permutation(self.places), epoch)
            chosen = order[at * self.batch : (at + 1) * self.batch]
            # The last step of an epoch is filled from its beginning: every process computes as many stimuli as the others, and
            # not a single one where batches are larger, which batch normalisation cannot use.
            least = 2 * self.world if min(self.batch, order.size) >= 2 * self.world else self.world
            wanted = max(least, chosen.size + -chosen.size % self.world)
            share = np.concatenate([chosen, order[: wanted - chosen.size]])[self.rank :: self.world]
            size = max(1, -(-share.size // pieces))
            keys = [(epoch, int(index)) for index in share]
            cut = tuple(tuple(keys[first : first + size]) for first in range(0, len(keys), size))
            yield TrainingStep(number, epoch, cut, at + 1 == self.per_epoch)


class TrainingItems:
    """Samples by epoch and place: what a data loader reads in its processes."""

    def __init__(self, task: FineTuneTask, data: TrainingData) -> None:
        self.task, self.data = task, data

    def __getitem__(self, key: Key) -> tuple[Tensors, int]:
        epoch, index = key
        example = self.data.examples[index]
        draw = stream(self.data.seed, "finetune", "sample", epoch, example.source, example.stimulus)
        return self.task.sample(example, training=True, generator=draw), index

    def collate(self, items: Sequence[tuple[Tensors, int]]) -> Batch:
        """Samples with the labels of their stimuli."""
        return batch_of(self.task, self.data, [sample for sample, _ in items], [index for _, index in items])


class EvaluationItems:
    """The fixed views of some stimuli."""

    def __init__(
        self,
        task: FineTuneTask,
        examples: Sequence[Example],
        data: TrainingData | None = None,
        indices: Ints | None = None,
    ) -> None:
        self.task, self.examples, self.data, self.places = task, examples, data, indices

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, at: int) -> tuple[Sequence[Tensors], int]:
        return self.task.views(self.examples[at]), at

    def collate(self, items: Sequence[tuple[Sequence[Tensors], int]]) -> tuple[Batch, list[int]]:
        """Every view as a row, and whose it is."""
        samples = [view for views, _ in items for view in views]
        owners = [at for views, at in items for _ in views]
        if self.data is None or self.places is None:
            return Batch(self.task.collate(samples), {}, {}, len(samples)), owners
        return batch_of(self.task, self.data, samples, [int(self.places[at]) for at in owners]), owners


def batch_of(task: FineTuneTask, data: TrainingData, samples: Sequence[Tensors], indices: Sequence[int]) -> Batch:
    """Samples as a batch with the labels and weights of their stimuli."""
    import torch

    def column(values: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values[list(indices)], dtype=np.float32))

    return Batch(
        task.collate(samples),
        {target.question: column(target.values) for target in data.targets},
        {target.question: column(target.weight) for target in data.targets},
        len(samples),
    )


def worker_count(requested: int, stimuli: int, *, gpu: bool) -> int:
    """Processes that prepare batches; without a GPU none, since they would take the cores that compute."""
    if requested >= 0:
        return requested
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(_MOST_WORKERS, cores, stimuli) if gpu else 0


def loader(
    items: Any, *, workers: int, pin: bool, batches: Iterator[Sequence[Any]] | None = None, size: int = 1
) -> Any:
    """A data loader over the batches of keys, or over all items in order, ``size`` at a time."""
    import torch

    more: dict[str, object] = {"prefetch_factor": 4, "persistent_workers": True} if workers else {}
    if batches is not None:
        more["batch_sampler"] = _Keys(batches)
    else:
        more["batch_size"] = size
    return torch.utils.data.DataLoader(items, collate_fn=items.collate, num_workers=workers, pin_memory=pin, **more)


class _Keys:
    """Batches of keys for a data loader."""

    def __init__(self, batches: Iterator[Sequence[Any]]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return self._batches


def answer(
    task: FineTuneTask, model: Any, items: EvaluationItems, device: Any, size: int, workers: int = 0
) -> tuple[dict[str, Floats], float]:
    """Answers to every question in the order of the items, each the mean over its views; and the mean loss (NaN without labels)."""
    import torch

    sums: dict[str, Floats] = {}
    views = np.zeros(len(items))
    losses, weights = 0.0, 0
    model.eval()
    with torch.inference_mode():
        for batch, owners in loader(items, workers=min(workers, 4), pin=device.type != "cpu", size=size):
            moved = batch.to(device)
            outputs = model(**moved.inputs)
            if moved.targets:
                losses, weights = losses + float(task.loss(outputs, moved)) * batch.size, weights + batch.size
            np.add.at(views, owners, 1)
            for name, value in task.answers(outputs).items():
                rows = value.detach().float().cpu().numpy().astype(np.float64)
                sums.setdefault(name, np.zeros((len(items), *rows.shape[1:])))
                np.add.at(sums[name], owners, rows)
    means = {name: total / views.reshape(-1, *([1] * (total.ndim - 1))) for name, total in sums.items()}
    return means, losses / weights if weights else math.nan


def answers_for(task: FineTuneTask, examples: Sequence[Example], *, size: int = 16) -> dict[str, Floats]:
    """What a trained task answers for files that have no labels."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    task.module.to(device)
    task.prepare(examples, device)
    return answer(task, task.module, EvaluationItems(task, examples), device, size)[0]
