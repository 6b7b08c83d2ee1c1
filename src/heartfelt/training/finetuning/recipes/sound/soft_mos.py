"""``soft-mos``: cross-attention over frozen encoders of sound and text, trained on soft labels over bins of the scale.

The idea of the system that won the first track of the AudioMOS challenge 2025: the scale is cut into 20 bins; a label is not one of
them but a Gaussian around itself, so that a miss by one bin costs less than by ten; the loss is the divergence of the predicted
from the soft label, and the answer is the mean of the predicted distribution. Near the ends of a scale the Gaussian is cut off,
which draws its mean inwards; answers are mapped back by the same curve, so that a perfect prediction gives the label itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from heartfelt.predictors.trained.folder import BaseModel
from heartfelt.serialization import read_json, write_json
from heartfelt.training.finetuning.recipe import FINE_TUNE_RECIPES, Level
from heartfelt.training.finetuning.recipes.sound.encoders import SoundEncoder, States, TextEncoder
from heartfelt.training.finetuning.recipes.sound.sounds import answers_on_scale
from heartfelt.training.finetuning.settings import FineTuneSettings
from heartfelt.training.finetuning.task import Batch, Example, FineTuneTask, OnnxExport, QuestionOutput, Tensors

if TYPE_CHECKING:
    import torch

    from heartfelt.progress import Progress
    from heartfelt.training.finetuning.stimuli.data import TrainingData

AUDIO_FOLDER, TEXT_FOLDER = "audio_encoder", "text_encoder"
_GRID = 401


class SoftMosSettings(FineTuneSettings):
    """Settings of ``soft-mos``."""

    audio_model: Annotated[str, Field(description="an audio encoder: a folder or a name on the hub")] = (
        "MIT/ast-finetuned-audioset-10-10-0.4593"
    )
    text_model: Annotated[str, Field(description="a text encoder: a folder or a name on the hub")] = (
        "FacebookAI/roberta-base"
    )
    learning_rate: Annotated[float, Field(gt=0, description="the optimiser's rate")] = 5e-5
    weight_decay: Annotated[float, Field(ge=0, description="of AdamW")] = 0.01
    epochs: Annotated[int, Field(ge=1, description="passes over the training part, at most")] = 40
    seconds: Annotated[float, Field(gt=0, description="of each clip that are listened to")] = 30.0
    steps: Annotated[int, Field(ge=1, le=4096, description="states per clip, averaged over time")] = 64
    bins: Annotated[int, Field(ge=3, le=200, description="bins of a scale")] = 20
    kernel: Annotated[float, Field(gt=0, le=0.5, description="width of the Gaussian, as a share of the scale")] = 0.05
    width: Annotated[int, Field(ge=4, description="size of the network's states")] = 256
    layers: Annotated[int, Field(ge=1, le=12, description="of the network over the states")] = 2
    attention_heads: Annotated[int, Field(ge=1, description="of each layer")] = 4
    dropout: Annotated[float, Field(ge=0, lt=1, description="in the network over the states")] = 0.1

    @model_validator(mode="after")
    def _divisible(self) -> SoftMosSettings:
        if self.width % self.attention_heads:
            raise ValueError(f"width {self.width} must be a multiple of attention_heads {self.attention_heads}")
        return self


class SoftLabels:
    """Bins of one scale, soft labels over them, and the way back to a number."""

    def __init__(self, low: float, high: float, bins: int, kernel: float) -> None:
        import torch

        self.low, self.high = low, high
        self.centres = torch.linspace(low, high, bins)
        self.deviation = kernel * (high - low)
        self._grid = torch.linspace(low, high, _GRID)
        self._means = self.of(self._grid) @ self.centres

    def of(self, value: Any) -> Any:
        """The soft label of each number: ``(n, bins)``."""
        import torch

        distance = (self.centres.to(value.device) - value[:, None]) / self.deviation
        return torch.softmax(-0.5 * distance**2, dim=1)

    def number(self, probabilities: Any) -> Any:
        """The number whose soft label has the mean of these probabilities."""
        import torch

        mean = (probabilities @ self.centres.to(probabilities.device)).contiguous()
        means, grid = self._means.to(mean.device), self._grid.to(mean.device)
        at = torch.searchsorted(means, mean).clamp(1, _GRID - 1)
        share = ((mean - means[at - 1]) / (means[at] - means[at - 1])).clamp(0.0, 1.0)
        return grid[at - 1] + share * (grid[at] - grid[at - 1])


class SoftMosTask(FineTuneTask):
    """Two frozen encoders and the network over their states."""

    def __init__(
        self,
        outputs: tuple[QuestionOutput, ...],
        audio: SoundEncoder,
        text: TextEncoder | None,
        settings: SoftMosSettings,
        credit: Sequence[str],
    ) -> None:
        from heartfelt.training.finetuning.recipes.sound.networks import SoftMosNetwork

        self.outputs, self.audio, self.text, self.settings = outputs, audio, text, settings
        self._credit = tuple(credit)
        self.labels = [
            SoftLabels(*(output.bounds or _reach(output)), settings.bins, settings.kernel) for output in outputs
        ]
        self.module = SoftMosNetwork(
            audio.size,
            text.size if text is not None else 0,
            {output.question: output.shows_prompt for output in outputs},
            width=settings.width,
            layers=settings.layers,
            attention_heads=settings.attention_heads,
            bins=settings.bins,
            dropout=settings.dropout,
        )
        self._states: dict[str, States] = {}

    def prepare(self, examples: Sequence[Example], device: Any, progress: Progress | None = None) -> None:
        """The states of every clip and prompt, from the cache where they are there."""
        for done, example in enumerate(examples, 1):
            if example.content not in self._states:
                self._states[example.content] = self.audio.of(example.path, example.content, device)
            if self.text is not None:
                self.text.of(example.prompt or "", device)
            if progress is not None:
                progress("listening with the frozen encoders", done, len(examples))
        for encoder in (self.audio, self.text):
            if encoder is not None:
                encoder.model.to("cpu")

    def sample(self, example: Example, *, training: bool, generator: np.random.Generator) -> Tensors:
        """The stored states; nothing is drawn."""
        import torch

        del training, generator
        tensors = {"audio": torch.from_numpy(self._states[example.content])}
        if self.text is not None:
            tensors["text"] = torch.from_numpy(self.text.of(example.prompt or ""))
        return tensors

    def collate(self, samples: Sequence[Tensors]) -> Tensors:
        """Texts are filled to the longest, with a mask."""
        import torch

        tensors = {"audio": torch.stack([sample["audio"] for sample in samples])}
        if self.text is not None:
            pad = torch.nn.utils.rnn.pad_sequence
            tensors["text"] = pad([sample["text"] for sample in samples], batch_first=True)
            tensors["text_mask"] = pad([torch.ones(len(sample["text"])) for sample in samples], batch_first=True)
        return tensors

    def loss(self, outputs: Tensors, batch: Batch) -> torch.Tensor:
        """The mean divergence of the predicted distribution from the soft label, weighted by reliability."""
        import torch

        losses = []
        for at, (output, soft) in enumerate(zip(self.outputs, self.labels, strict=True)):
            target = soft.of(batch.targets[output.question])
            predicted = torch.log_softmax(outputs["logits"][:, at].float(), dim=1)
            divergence = torch.nn.functional.kl_div(predicted, target, reduction="none").sum(1)
            losses.append(batch.weights[output.question] * divergence)
        return torch.stack(losses).mean()

    def optimizer(self, settings: FineTuneSettings, steps: int) -> tuple[Any, Any | None]:
        """AdamW with a linear descent."""
        import torch

        decay = self.settings.weight_decay
        optimizer = torch.optim.AdamW(self.module.parameters(), lr=settings.learning_rate, weight_decay=decay)
        return optimizer, torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=max(steps, 1))

    def answers(self, outputs: Tensors) -> Tensors:
        import torch

        values = {
            output.question: soft.number(torch.softmax(outputs["logits"][:, at].float(), dim=1))
            for at, (output, soft) in enumerate(zip(self.outputs, self.labels, strict=True))
        }
        return answers_on_scale(values, {output.question: output.bounds for output in self.outputs})

    def save(self, folder: Path) -> None:
        self.audio.save(folder / AUDIO_FOLDER)
        if self.text is not None:
            self.text.save(folder / TEXT_FOLDER)
        heads = [
            {"question": output.question, "with_text": output.shows_prompt, "bins": soft.centres.tolist()}
            for output, soft in zip(self.outputs, self.labels, strict=True)
        ]
        config = {
            "architecture": "soft-mos",
            "heads": heads,
            "settings": self.settings.model_dump(mode="json"),
            "credit": list(self._credit),
        }
        write_json(folder / "config.json", config)

    def export(self) -> OnnxExport | None:
        """From the encoders' states to the logits of the bins."""
        import torch

        inputs: Tensors = {"audio": torch.randn(2, self.settings.steps, self.audio.size)}
        if self.text is not None:
            inputs |= {"text": torch.randn(2, 7, self.text.size), "text_mask": torch.ones(2, 7)}
        return OnnxExport(self.module, inputs, ("logits",), tuple(inputs)[1:])

    @property
    def base_models(self) -> tuple[BaseModel, ...]:
        names = [self.settings.audio_model, *([self.settings.text_model] if self.text else [])]
        return tuple(BaseModel.named(name) for name in names)

    @property
    def credit(self) -> tuple[str, ...]:
        return self._credit


def _reach(output: QuestionOutput) -> tuple[float, float]:
    """The ends of a scale that has none: three standard deviations around the mean label."""
    return output.mean - 3 * output.spread, output.mean + 3 * output.spread


class SoftMosRecipe:
    """The recipe ``soft-mos``."""

    name = "soft-mos"
    about = "cross-attention over frozen audio and text encoders of any name, trained on soft labels"
    media = "audio"
    questions: tuple[str, ...] = ("impression", "alignment")
    levels: tuple[Level, ...] = ("interval",)
    settings: type[FineTuneSettings] = SoftMosSettings

    def build(self, data: TrainingData, settings: SoftMosSettings) -> SoftMosTask:
        about_text = [output.question for output in data.outputs if output.shows_prompt]
        data.need_prompts(about_text)
        audio = SoundEncoder(settings.audio_model, seconds=settings.seconds, steps=settings.steps)
        text = TextEncoder(settings.text_model) if about_text else None
        names = [settings.audio_model, *([settings.text_model] if text else [])]
        credit = [f"Frozen encoder: {name}; see its page for the licence." for name in names]
        credit.append("Recipe: after the system ranked first in track 1 of the AudioMOS challenge 2025.")
        return SoftMosTask(data.outputs, audio, text, settings, credit)

    def load(self, folder: Path, outputs: tuple[QuestionOutput, ...]) -> SoftMosTask:
        stored: dict[str, Any] = read_json(folder / "config.json", dict[str, Any])
        settings = SoftMosSettings.model_validate(stored["settings"])
        audio = SoundEncoder(str(folder / AUDIO_FOLDER), seconds=settings.seconds, steps=settings.steps)
        text = TextEncoder(str(folder / TEXT_FOLDER)) if (folder / TEXT_FOLDER).is_dir() else None
        return SoftMosTask(outputs, audio, text, settings, stored["credit"])


FINE_TUNE_RECIPES.add(SoftMosRecipe.name, SoftMosRecipe())
