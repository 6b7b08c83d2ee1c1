"""``clap-mos``: MusicEval's baseline. CLAP is fine-tuned with a head on the sound and a head on the sound and its prompt.

After Liu et al. (2025), *MusicEval*: three-layer heads, L1 loss on every question, SGD at 5e-4, batches of 64, early stopping.
Where the published program departs from its paper, the paper is followed: sound is resampled to CLAP's own rate (48 kHz), the
heads have nonlinearities, evaluation uses fixed windows that cover the clip instead of a random crop, everything is seeded, and
a missing prompt is an error. Two choices are ours: the heads see the vectors scaled to numbers of about 1, and answer in
standard deviations around the mean label, so that SGD starts at the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from heartfelt.predictors.trained.folder import BaseModel
from heartfelt.predictors.weights.hub import loaded_from, model_of, quiet, transformers_library
from heartfelt.serialization import read_json, write_json
from heartfelt.training.finetuning.recipe import FINE_TUNE_RECIPES, Level
from heartfelt.training.finetuning.recipes.sound.sounds import (
    Crops,
    Words,
    answers_on_scale,
    check_tokenizer,
    longest_text,
)
from heartfelt.training.finetuning.settings import FineTuneSettings, listed
from heartfelt.training.finetuning.task import Batch, Example, FineTuneTask, OnnxExport, QuestionOutput, Tensors

if TYPE_CHECKING:
    import torch

    from heartfelt.progress import Progress
    from heartfelt.training.finetuning.stimuli.data import TrainingData


class ClapMosSettings(FineTuneSettings):
    """Settings of ``clap-mos``."""

    model: Annotated[str, Field(description="a CLAP model: a folder or a name on the hub")] = "laion/larger_clap_music"
    epochs: Annotated[int, Field(ge=1, description="passes over the training part, at most")] = 60
    patience: Annotated[int, Field(ge=1, description="epochs without a better validation loss")] = 10
    learning_rate: Annotated[float, Field(gt=0, description="the optimiser's rate")] = 5e-4
    momentum: Annotated[float, Field(ge=0, lt=1, description="of SGD")] = 0.9
    hidden: Annotated[
        tuple[int, int], BeforeValidator(listed), Field(description="sizes of the heads' hidden layers")
    ] = (256, 64)
    dropout: Annotated[float, Field(ge=0, lt=1, description="in the heads")] = 0.0
    freeze_text: Annotated[bool, Field(description="leave the text encoder as it is")] = False


class ClapMosTask(FineTuneTask):
    """CLAP and its heads."""

    def __init__(
        self, outputs: tuple[QuestionOutput, ...], clap: Any, processor: Any, settings: ClapMosSettings, credit: str
    ) -> None:
        from heartfelt.training.finetuning.recipes.sound.networks import ClapMosNetwork

        self.outputs, self.settings, self.processor, self._credit = outputs, settings, processor, credit
        extractor, tokenizer = processor.feature_extractor, processor.tokenizer
        check_tokenizer(settings.model, tokenizer, clap.config.text_config)
        self.crops = Crops(int(extractor.sampling_rate), int(extractor.nb_max_samples))
        self.words = Words(tokenizer, longest_text(tokenizer, clap.config.text_config))
        self.with_text = {output.question: output.shows_prompt for output in outputs}
        if settings.freeze_text or not any(self.with_text.values()):
            for part in (clap.text_model, clap.text_projection):
                part.requires_grad_(False)
        # What compares the two vectors in training of CLAP itself has no part in this.
        for name in ("logit_scale_a", "logit_scale_t"):
            getattr(clap, name).requires_grad_(False)
        self.module = ClapMosNetwork(clap, extractor, self.with_text, settings.hidden, settings.dropout)

    def prepare(self, examples: Sequence[Example], device: Any, progress: Progress | None = None) -> None:
        """Read every prompt once, before processes that prepare batches begin."""
        del device, progress
        if any(self.with_text.values()):
            for example in examples:
                self.words.of(example.prompt or "")

    def _inputs(self, samples: Any, example: Example) -> Tensors:
        import torch

        tensors = {"waveform": torch.from_numpy(np.ascontiguousarray(samples))}
        return tensors | (self.words.of(example.prompt or "") if any(self.with_text.values()) else {})

    def sample(self, example: Example, *, training: bool, generator: np.random.Generator) -> Tensors:
        samples = self.crops.random(example.path, generator) if training else self.crops.fixed(example.path)[0]
        return self._inputs(samples, example)

    def views(self, example: Example) -> Sequence[Tensors]:
        return [self._inputs(samples, example) for samples in self.crops.fixed(example.path)]

    def collate(self, samples: Sequence[Tensors]) -> Tensors:
        """Waveforms stacked, tokens filled to the longest."""
        import torch

        tensors = {"waveform": torch.stack([sample["waveform"] for sample in samples])}
        return tensors | (self.words.padded(samples) if "input_ids" in samples[0] else {})

    def loss(self, outputs: Tensors, batch: Batch) -> torch.Tensor:
        """The mean absolute error over stimuli and questions, in points of each scale, weighted by reliability."""
        import torch

        errors = []
        for output, value in zip(self.outputs, self._values(outputs), strict=True):
            name = output.question
            errors.append(batch.weights[name] * (value - batch.targets[name]).abs())
        return torch.stack(errors).mean()

    def _values(self, outputs: Tensors) -> list[Any]:
        return [output.mean + output.spread * outputs["values"][:, at] for at, output in enumerate(self.outputs)]

    def optimizer(self, settings: FineTuneSettings, steps: int) -> tuple[Any, Any | None]:
        import torch

        del steps
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        return torch.optim.SGD(trained, lr=settings.learning_rate, momentum=self.settings.momentum), None

    def answers(self, outputs: Tensors) -> Tensors:
        values = {output.question: value for output, value in zip(self.outputs, self._values(outputs), strict=True)}
        return answers_on_scale(values, {output.question: output.bounds for output in self.outputs})

    def save(self, folder: Path) -> None:
        with quiet():
            self.processor.save_pretrained(folder)
        heads = [
            {
                "question": output.question,
                "with_text": output.shows_prompt,
                "mean": output.mean,
                "spread": output.spread,
            }
            for output in self.outputs
        ]
        config = {
            "architecture": "clap-mos",
            "clap": self.module.clap.config.to_dict(),
            "heads": heads,
            "settings": self.settings.model_dump(mode="json"),
            "credit": self._credit,
        }
        write_json(folder / "config.json", config)

    def export(self) -> OnnxExport | None:
        """From the spectrogram and tokens of CLAP's own processor to standardised answers."""
        import torch

        silence = torch.zeros(2, self.crops.length)
        inputs: Tensors = {"input_features": self.module.log_mel(silence).contiguous()}
        if any(self.with_text.values()):
            inputs |= self.words.padded([self.words.of("a calm piano piece"), self.words.of("a calm piano piece")])
        return OnnxExport(self.module, inputs, ("values",), tuple(inputs)[1:])

    @property
    def base_models(self) -> tuple[BaseModel, ...]:
        return (BaseModel.named(self.settings.model),)

    @property
    def credit(self) -> tuple[str, ...]:
        return (self._credit, "Recipe: Liu, Wang, Zhao, Zhao, Bu, Xu, Zhou, Sun and Qin (2025), ICASSP 2025.")


class ClapMosRecipe:
    """The recipe ``clap-mos``."""

    name = "clap-mos"
    about = (
        "CLAP fine-tuned on opinion scores of music: impression from the sound, alignment from the sound and its prompt"
    )
    media = "audio"
    questions: tuple[str, ...] = ("impression", "alignment")
    levels: tuple[Level, ...] = ("interval",)
    settings: type[FineTuneSettings] = ClapMosSettings

    def build(self, data: TrainingData, settings: ClapMosSettings) -> ClapMosTask:
        library = transformers_library(settings.model)
        data.need_prompts([output.question for output in data.outputs if output.shows_prompt])
        clap = model_of(settings.model, library.ClapModel)
        processor = loaded_from(settings.model, library.ClapProcessor.from_pretrained)
        credit = f"CLAP model: {settings.model} (Wu et al. 2023); see its page for the licence."
        return ClapMosTask(data.outputs, clap, processor, settings, credit)

    def load(self, folder: Path, outputs: tuple[QuestionOutput, ...]) -> ClapMosTask:
        library = transformers_library()
        stored: dict[str, Any] = read_json(folder / "config.json", dict[str, Any])
        clap = library.ClapModel(library.ClapConfig.from_dict(stored["clap"]))
        with quiet():
            processor = library.ClapProcessor.from_pretrained(folder)
        settings = ClapMosSettings.model_validate(stored["settings"])
        return ClapMosTask(outputs, clap, processor, settings, stored["credit"])


FINE_TUNE_RECIPES.add(ClapMosRecipe.name, ClapMosRecipe())
