"""A task: a PyTorch module with what belongs to the problem it is trained for. The training loop knows nothing else.

How a stimulus becomes tensors, the loss, the optimiser, and what the outputs mean. This module and the loop
(:mod:`heartfelt.training.finetuning.loop.engine`) need neither tables nor studies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.trained.folder import WEIGHTS, BaseModel

if TYPE_CHECKING:
    import torch

    from heartfelt.progress import Progress
    from heartfelt.snapshot import Snapshot
    from heartfelt.study import Scale
    from heartfelt.training.finetuning.settings import FineTuneSettings

Tensors: TypeAlias = "dict[str, torch.Tensor]"
"""Tensors by name: the inputs of a module, its outputs, or one sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A stimulus as a task sees it."""

    stimulus: str
    path: Path
    content: str
    """SHA-256 of the file: what is computed from a frozen part may be cached by it."""
    prompt: str | None = None
    system: str | None = None
    intent: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """Further columns of the stimuli, as text."""
    source: str = ""
    """The source it came from, where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutput:
    """What a model answers to one question, with what is known of the labels it was trained on."""

    question: str
    bounds: tuple[float, float] | None = None
    categories: Mapping[str, float] = field(default_factory=dict)
    """The code of each category, in the order of the probabilities; empty for a number."""
    mean: float = 0.0
    """The mean of the training labels: where an untrained model should start."""
    spread: float = 1.0
    """Their standard deviation."""
    shows_prompt: bool = False
    """Whether raters were shown the prompt, as for the fit to it."""

    @classmethod
    def of(cls, question: str, scale: Scale, values: npt.ArrayLike, *, shows_prompt: bool) -> QuestionOutput:
        finite = np.asarray(values, float)
        finite = finite[np.isfinite(finite)]
        number = scale.level == "interval"
        return cls(
            question=question,
            bounds=scale.bounds() if number else None,
            categories={} if number else dict(sorted(scale.codes().items(), key=lambda pair: pair[1])),
            mean=float(finite.mean()) if number and finite.size else 0.0,
            spread=(float(finite.std()) or 1.0) if number and finite.size else 1.0,
            shows_prompt=shows_prompt,
        )


@dataclass(slots=True)
class Batch:
    """Inputs of the module, and the labels of each question with their weights (0 where a stimulus has none).

    The target of a question with numbers has one number per stimulus, that of one with categories a row of shares.
    """

    inputs: Tensors
    targets: Tensors
    weights: Tensors
    size: int

    def _moved(self, change: Callable[[Any], Any]) -> Batch:
        inputs, targets, weights = (
            {key: change(value) for key, value in part.items()} for part in (self.inputs, self.targets, self.weights)
        )
        return Batch(inputs, targets, weights, self.size)

    def pin_memory(self) -> Batch:
        """The batch in memory that a GPU can copy from while it computes."""
        return self._moved(lambda tensor: tensor.pin_memory())

    def to(self, device: Any) -> Batch:
        return self._moved(lambda tensor: tensor.to(device, non_blocking=True))


class FineTuneTask(ABC):
    """A module with what belongs to the problem it is trained for. ``module(**inputs)`` returns tensors by name."""

    module: Any
    """A ``torch.nn.Module``. Its inputs are what ``collate`` returns; parameters that do not require gradients stay."""
    outputs: tuple[QuestionOutput, ...]
    """What it answers, in the order of the questions trained on."""
    weights_file: str = WEIGHTS
    """The file of its weights in a model's folder."""

    @abstractmethod
    def sample(self, example: Example, *, training: bool, generator: np.random.Generator) -> Tensors:
        """The inputs of one stimulus. Whatever is drawn at random comes from ``generator``, and only in training."""

    def views(self, example: Example) -> Sequence[Tensors]:
        """The fixed inputs a stimulus is evaluated with; answers are averaged over them. By default one."""
        return [self.sample(example, training=False, generator=np.random.default_rng(0))]

    def collate(self, samples: Sequence[Tensors]) -> Tensors:
        """Samples as one batch; by default they have equal shapes and are stacked."""
        import torch

        return {key: torch.stack([sample[key] for sample in samples]) for key in samples[0]}

    @abstractmethod
    def loss(self, outputs: Tensors, batch: Batch) -> torch.Tensor:
        """The loss of a batch: a mean over its stimuli, weighted by ``batch.weights``."""

    def optimizer(self, settings: FineTuneSettings, steps: int) -> tuple[Any, Any | None]:
        """The optimiser and, if wanted, a schedule that is moved after each of ``steps``. By default AdamW and a linear descent."""
        import torch

        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=settings.learning_rate)
        return optimizer, torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=max(steps, 1))

    @abstractmethod
    def answers(self, outputs: Tensors) -> Tensors:
        """For each question a number on its scale per stimulus, or a row of probabilities over its categories."""

    def know_fields(self, source: Snapshot) -> str:
        """Look up annotation fields of a source's stimuli, where they are inputs; a hash of them, empty where none is used."""
        del source
        return ""

    def prepare(self, examples: Sequence[Example], device: Any, progress: Progress | None = None) -> None:
        """Compute what does not change while training, such as embeddings by frozen parts. By default nothing."""
        del examples, device, progress

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write config.json and the files that preparing needs. The weights are written for it."""

    def export(self) -> OnnxExport | None:
        """What to write as model.onnx; None where there is no such form."""
        return None

    @property
    def base_models(self) -> tuple[BaseModel, ...]:
        """The pretrained models it starts from. By default none."""
        return ()

    @property
    def credit(self) -> tuple[str, ...]:
        """The models it starts from, with their licences where known; they go into the model card."""
        return ()


@dataclass(frozen=True, slots=True)
class OnnxExport:
    """A module for ONNX with example inputs; the first dimension of every input and output is the batch."""

    module: Any
    inputs: Tensors
    outputs: tuple[str, ...]
    texts: tuple[str, ...] = ()
    """Inputs whose second dimension, the length of a text, may differ too."""
