"""A network for images with what surrounds it: samples, loss, optimiser, answers, and its folder."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.trained.folder import BaseModel
from heartfelt.predictors.weights import MODELS
from heartfelt.progress import Progress
from heartfelt.serialization import write_json
from heartfelt.training.finetuning.recipes.images.architectures import (
    ARCHITECTURES,
    FACE_COLUMNS,
    FACES,
    OBJECT_CLASSES,
    NetworkSpec,
)
from heartfelt.training.finetuning.recipes.images.attributes import Attribute, attribute_values
from heartfelt.training.finetuning.recipes.images.pictures import ImagePreprocessing
from heartfelt.training.finetuning.recipes.images.settings import ImageRecipeSettings
from heartfelt.training.finetuning.settings import FineTuneSettings
from heartfelt.training.finetuning.task import Batch, Example, FineTuneTask, OnnxExport, QuestionOutput, Tensors

if TYPE_CHECKING:
    import torch

    from heartfelt.snapshot import Snapshot
    from heartfelt.training.finetuning.recipes.images.networks.losses import LossOptions, Targets
    from heartfelt.training.finetuning.recipes.images.networks.network import EmotionNetwork

CONFIG = "config.json"
_Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
"""Inputs of one image by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """What config.json holds: everything but the weights."""

    network: NetworkSpec
    preparation: ImagePreprocessing
    attributes: tuple[Attribute, ...] = ()
    stimuli: tuple[str, ...] = ()
    """Which of faces and objects are inputs; empty where the architecture has none."""
    polarity: Mapping[str, str] = field(default_factory=dict)
    weights: str = ""
    """What the backbone began with."""


class ImageTask(FineTuneTask):
    """A network for images with what surrounds it."""

    def __init__(
        self,
        network: EmotionNetwork,
        config: ImageConfig,
        outputs: tuple[QuestionOutput, ...],
        losses: LossOptions | None = None,
        scales: Mapping[str, float] | None = None,
    ) -> None:
        self.module, self.config, self.outputs = network, config, outputs
        self._losses, self._scales = losses, dict(scales or {})
        self.category = next((output for output in outputs if output.categories), None)
        self.numbers = tuple(output for output in outputs if not output.categories)
        self._values: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._cache = FeatureCache()
        self._frozen: dict[str, _Arrays] = {}
        """What frozen networks see in a file, by its content."""

    @property
    def _embedded(self) -> bool:
        return bool(self.config.network.backbone == "efficientnet-lite2")

    @property
    def _needs_stimuli(self) -> bool:
        return ARCHITECTURES[self.config.network.architecture].needs_stimuli

    def sample(self, example: Example, *, training: bool, generator: np.random.Generator) -> Tensors:
        import torch

        out: _Arrays = {}
        if self._embedded or self._needs_stimuli:
            out |= self._frozen.get(example.content) or self._look(example)
        if not self._embedded and training:
            out["pixels"] = self.config.preparation.training(example.path, generator)
        elif not self._embedded:
            out["pixels"] = self.config.preparation.evaluation(example.path)
        if self.config.attributes:
            rows = [attribute.encode(self._attribute(example, attribute.name)) for attribute in self.config.attributes]
            out["attributes"] = np.concatenate(rows)
        return {name: torch.as_tensor(value) for name, value in out.items()}

    def _attribute(self, example: Example, name: str) -> tuple[str, ...]:
        values = self._values.get((example.source, example.stimulus))
        if values is not None:
            return values.get(name, ())
        text = example.facts.get(name)
        return () if text is None else (text.strip().casefold(),)

    def know_fields(self, source: Snapshot, name: str = "") -> str:
        """Look up the attributes of a study's stimuli; those of stimuli it does not know are missing.

        ``name`` is that of the source, where there are several.
        """
        used = hashlib.sha256()
        for attribute in self.config.attributes:
            try:
                values = attribute_values(source, attribute.name)
            except InputError:  # a study without this field: its values are missing
                values = {}
            for stimulus, field_values in values.items():
                self._values.setdefault((name, stimulus), {})[attribute.name] = field_values
            used.update(f"{attribute.name}{sorted(values.items())}".encode())
        return used.hexdigest()[:16] if self.config.attributes else ""

    def prepare(self, examples: Sequence[Example], device: Any, progress: Progress | None = None) -> None:
        """Compute what frozen networks see, once per file, several files at a time."""
        del device
        if not (self._embedded or self._needs_stimuli):
            return
        # Only what is asked for now stays in memory: a predictor may be asked for any number of files.
        wanted = {example.content: example for example in examples}
        self._frozen = {content: features for content, features in self._frozen.items() if content in wanted}
        todo = [example for content, example in wanted.items() if content not in self._frozen]
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for done, (example, features) in enumerate(zip(todo, pool.map(self._look, todo), strict=True), 1):
                self._frozen[example.content] = features
                if progress is not None:
                    progress("looking at the images", done, len(todo))

    def _look(self, example: Example) -> _Arrays:
        """What frozen networks see in an image, from the cache or computed."""
        from heartfelt.training.finetuning.recipes.images.stimuli import embedding_of, stimulus_inputs

        out: _Arrays = {}
        if self._embedded:
            out["embedding"] = embedding_of(example.path, self._cache)
        if self._needs_stimuli:
            out |= stimulus_inputs(example.path, self.config.stimuli, self._cache)._asdict()
        return out

    def loss(self, outputs: Tensors, batch: Batch) -> torch.Tensor:
        """The sum of the parts that the architecture has."""
        from heartfelt.training.finetuning.recipes.images.networks.losses import LossOptions, loss_parts

        parts = loss_parts(outputs, self._targets(batch), self.config.network, self._losses or LossOptions())
        return sum(parts.values())

    def _targets(self, batch: Batch) -> Targets:
        import torch

        from heartfelt.training.finetuning.recipes.images.networks.losses import Targets

        def weight(output: QuestionOutput) -> Any:
            return batch.weights[output.question] * self._scales.get(output.question, 1.0)

        some = next(iter(batch.targets.values()))
        nothing = torch.zeros((len(some), 0), device=some.device)
        category, category_weight, numbers, number_weight = nothing, nothing, nothing, nothing
        if self.category is not None:
            category, category_weight = batch.targets[self.category.question], weight(self.category)
        if self.numbers:
            units = [(batch.targets[out.question] - middle_of(out)) / half_of(out) for out in self.numbers]
            numbers = torch.stack(units, dim=1)
            number_weight = torch.stack([weight(output) for output in self.numbers], dim=1)
        return Targets(category, category_weight, numbers, number_weight)

    def answers(self, outputs: Tensors) -> Tensors:
        """Probabilities of the categories; numbers on their scales."""
        by_question: Tensors = {}
        if self.category is not None:
            by_question[self.category.question] = outputs["logits"].float().softmax(dim=1)
        for column, output in enumerate(self.numbers):
            values = middle_of(output) + half_of(output) * outputs["values"][:, column].float()
            by_question[output.question] = values if output.bounds is None else values.clamp(*output.bounds)
        return by_question

    def optimizer(self, settings: FineTuneSettings, steps: int) -> tuple[Any, Any | None]:
        """AdamW, larger steps for what starts untrained, no decay of biases and norms; a warm-up, then half a cosine."""
        import torch

        assert isinstance(settings, ImageRecipeSettings)
        groups = []
        for untrained in (False, True):
            rate = settings.learning_rate * (settings.head_rate if untrained else 1.0)
            for flat in (False, True):
                parameters = [
                    tensor
                    for name, tensor in self.module.named_parameters()
                    if tensor.requires_grad
                    and (not name.startswith("backbone.") or self._embedded) == untrained
                    and (tensor.ndim < 2) == flat
                ]
                if parameters:
                    groups.append(
                        {"params": parameters, "lr": rate, "weight_decay": 0.0 if flat else settings.weight_decay}
                    )
        optimizer = torch.optim.AdamW(groups)
        first = max(1, round(settings.warmup * steps))

        def share(step: int) -> float:
            if step < first:
                return (step + 1) / first
            return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - first) / max(1, steps - first))))

        return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)

    def save(self, folder: Path) -> None:
        write_json(folder / CONFIG, self.config)

    def export(self) -> OnnxExport | None:
        """The network on pixels from 0 to 255 (or the frozen network's numbers) and its further inputs."""
        import torch

        from heartfelt.training.finetuning.recipes.images.networks.backbones import BACKBONES

        spec, side = self.config.network, self.config.preparation.side
        if side % BACKBONES[spec.backbone].export_side:
            return None
        inputs: Tensors = {"pixels": torch.zeros((2, 3, side, side), dtype=torch.uint8)}
        if self._embedded:
            inputs = {"embedding": torch.zeros(2, self.module.backbone.network[1].in_features)}
        if spec.attributes:
            inputs["attributes"] = torch.zeros(2, sum(spec.attributes))
        if self._needs_stimuli:
            inputs |= {"faces": torch.zeros(2, FACES, FACE_COLUMNS), "face_mask": torch.zeros(2, FACES)}
            inputs |= {"objects": torch.zeros(2, OBJECT_CLASSES), "objects_known": torch.zeros(2)}
        names = [name for name, size in (("logits", spec.categories), ("values", spec.numbers)) if size]
        return OnnxExport(self.module, inputs, tuple(names))

    @property
    def base_models(self) -> tuple[BaseModel, ...]:
        if self._embedded and self.config.weights:
            return (BaseModel.of(MODELS[self.config.network.backbone]),)
        name = self.config.weights.partition(" (")[0]
        return (BaseModel.named(name),) if name else ()

    @property
    def credit(self) -> tuple[str, ...]:
        architecture = ARCHITECTURES[self.config.network.architecture]
        began = f"; began with {self.config.weights}" if self.config.weights else "; began with random weights"
        return (f"{architecture.name}: {architecture.source}{began}",)


def middle_of(output: QuestionOutput) -> float:
    """The middle of a question's scale, or the mean of its labels."""
    return output.mean if output.bounds is None else sum(output.bounds) / 2


def half_of(output: QuestionOutput) -> float:
    """Half the length of a question's scale, or two standard deviations of its labels."""
    return 2 * output.spread if output.bounds is None else (output.bounds[1] - output.bounds[0]) / 2
