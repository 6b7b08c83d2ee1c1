"""What a task answers: over its fixed views of each stimulus, averaged; for stimuli with labels also their loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.training.finetuning.batches import EvaluationItems, loader
from heartfelt.training.finetuning.task import Example, FineTuneTask

Floats: TypeAlias = npt.NDArray[np.float64]


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
