"""``musicgen``: MusicGen (Copet et al. 2023) of Transformers, mono, stereo and melody, from text.

Every stimulus is sampled exactly and with its own seed: adding Gumbel noise to the logarithms of the probabilities and taking the
largest is drawing from them (Gumbel 1954; Maddison et al. 2014), so the noise of each row comes from its own generator, and
Transformers, which draws a whole batch from one stream, only has to choose greedily.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from heartfelt.errors import InputError
from heartfelt.stimuli.generators.generator import CannotGenerate, GeneratorKind, register
from heartfelt.stimuli.generators.models.torch_models import (
    ModelGenerator,
    ModelSettings,
    Sampling,
    clip_of,
    dtype_of,
    generator_of,
    library,
    listening,
    loaded,
    model_licence,
)
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt

CLASSES = {"musicgen": "MusicgenForConditionalGeneration", "musicgen_melody": "MusicgenMelodyForConditionalGeneration"}
SECONDS = 10.0


class MusicGenSampling(Sampling):
    """The defaults are those of the model's authors (AudioCraft)."""

    guidance_scale: Annotated[float, Field(ge=1, le=30, description="1: none")] = 3.0
    temperature: Annotated[float, Field(gt=0, le=10, description="randomness")] = 1.0
    top_k: Annotated[int, Field(ge=0, description="choose among the most likely tokens; 0: all")] = 250
    top_p: Annotated[float, Field(gt=0, le=1, description="choose among tokens of this probability together")] = 1.0


class MusicGenSettings(ModelSettings):
    """Settings of ``musicgen``."""

    settings: MusicGenSampling = MusicGenSampling()


class Draws:
    """A logits processor that draws every row's token with the row's own generator: what it returns is for a greedy choice."""

    def __init__(self, generators: Sequence[Any], rows_each: int, sampling: MusicGenSampling) -> None:
        processors = library("transformers").generation.logits_process
        self.generators = generators
        self.each = rows_each
        self.warpers: list[Any] = []
        if sampling.temperature != 1.0:
            self.warpers.append(processors.TemperatureLogitsWarper(sampling.temperature))
        if sampling.top_k:
            self.warpers.append(processors.TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1.0:
            self.warpers.append(processors.TopPLogitsWarper(sampling.top_p))

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores of (stimuli x codebooks, tokens) with noise added."""
        torch = library("torch")
        if scores.shape[0] != len(self.generators) * self.each:
            raise CannotGenerate(
                f"Transformers gave {scores.shape[0]} rows of scores for {len(self.generators)} stimuli.",
                "Use a release of transformers that heartfelt was tried with (5.x).",
            )
        for warper in self.warpers:
            scores = warper(input_ids, scores)
        # In double precision: the largest number of single precision below 1 would cut off the tail of the noise.
        uniform = torch.empty(len(self.generators), self.each, scores.shape[1], dtype=torch.float64)
        for row, generator in zip(uniform, self.generators, strict=True):
            torch.rand(row.shape, generator=generator, out=row)
        noise = -torch.log(-torch.log(uniform.flatten(0, 1).to(scores.device)))
        return (scores.double() + noise).float()


class _DrawLast(list[Any]):
    """A list of logits processors whose last stays last: the model appends its guidance, which must come before the draw."""

    def append(self, processor: Any) -> None:
        self.insert(len(self) - 1, processor)


class MusicGen(ModelGenerator):
    """A MusicGen model in memory."""

    given: MusicGenSettings

    def _load(self) -> None:
        transformers = library("transformers")
        kind = self.weights.described("config.json").get("model_type")
        if kind not in CLASSES:
            raise CannotGenerate(
                f"{self.weights.name} is a model of type '{kind}', not MusicGen.",
                "Use a MusicGen model such as facebook/musicgen-small, or the generator that fits this model.",
            )
        self._is_melody = kind == "musicgen_melody"
        self.dtype = dtype_of(self.given, self.device)
        if self.given.offload != "none":
            raise CannotGenerate("musicgen has no offload.", "Leave it out; use half precision or a smaller model.")
        model_class = getattr(transformers, CLASSES[kind])
        self._tokenizer: Any = loaded(self.weights, transformers.AutoTokenizer.from_pretrained)
        model = loaded(self.weights, lambda path: model_class.from_pretrained(path, dtype=self.dtype))
        self._model: Any = model.to(self.device).eval()
        codec, decoder = self._model.config.audio_encoder, self._model.config.decoder
        self.rate = int(codec.sampling_rate)
        self.codebooks = int(decoder.num_codebooks)
        per_channel = self.codebooks // int(decoder.audio_channels)
        self.seconds = self.given.seconds or SECONDS
        # Each codebook of a channel lags one step behind the one before it.
        self.steps = math.ceil(self.seconds * codec.frame_rate) + per_channel - 1
        longest = int(decoder.max_position_embeddings)
        if self.steps >= longest:
            at_most = (longest - per_channel) / codec.frame_rate
            raise InputError(
                f"{self.weights.name} makes at most {at_most:.1f} s, and {self.seconds:g} s are asked for.",
                "Ask for fewer seconds.",
            )

    def _alike(self, prompt: StimulusPrompt) -> Hashable:
        # The melody models attend to the padding of shorter texts; the others do not.
        return len(self._tokenizer(prompt.text)["input_ids"]) if self._is_melody else None

    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        sampling = self.given.settings
        config = copy.deepcopy(self._model.generation_config)
        # All randomness and all limits on it are in the draws.
        config.update(do_sample=False, top_k=None, top_p=None, temperature=None)
        config.update(max_length=None, guidance_scale=sampling.guidance_scale, max_new_tokens=self.steps)
        texts = self._tokenizer([prompt.text for prompt in prompts], padding=True, return_tensors="pt")
        draws = Draws([generator_of(seed) for seed in seeds], self.codebooks, sampling)
        with listening("transformers"):
            sound = self._model.generate(
                input_ids=texts["input_ids"].to(self.device),
                attention_mask=texts["attention_mask"].to(self.device),
                generation_config=config,
                logits_processor=_DrawLast([draws]),
            )
        return [clip_of(row, self.rate, self.seconds) for row in sound]

    def _sampling(self) -> Mapping[str, object]:
        return {"seconds": self.seconds, **self.given.settings.model_dump()}


register(
    GeneratorKind(
        name="musicgen",
        about="music from text: MusicGen of Transformers",
        settings=MusicGenSettings,
        build=MusicGen,
        licence=model_licence,
    )
)
