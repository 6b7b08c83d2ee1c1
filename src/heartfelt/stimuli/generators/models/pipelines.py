"""Pipelines of Diffusers: what all share, and the two that make sound, ``audioldm2`` and ``stable-audio``."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from heartfelt.errors import InputError
from heartfelt.stimuli.generators.generator import CannotGenerate, GeneratorKind, register
from heartfelt.stimuli.generators.models.torch_models import (
    ModelGenerator,
    ModelSettings,
    Sampling,
    Unusable,
    clip_of,
    dtype_of,
    generator_of,
    library,
    listening,
    loaded,
    model_licence,
)
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt


def dtype_keyword() -> str:
    """Later releases of Diffusers call the type of the weights ``dtype``, and warn of the former name."""
    names = vars(library("diffusers.utils.deprecation_utils"))
    return "dtype" if "_resolve_dtype" in names else "torch_dtype"


class DiffusionSampling(Sampling):
    """What diffusion models share. Where a value is left out, it is the pipeline's own."""

    steps: Annotated[int | None, Field(ge=1, le=1000, description="denoising steps")] = None
    guidance_scale: Annotated[float | None, Field(ge=0, le=50, description="how closely it follows the text")] = None
    negative_prompt: Annotated[str | None, Field(description="what the result shall not be")] = None


class PipelineGenerator(ModelGenerator):
    """A pipeline in memory. A class names the pipelines it can run and the arguments of a call."""

    libraries: ClassVar[tuple[str, ...]] = ("torch", "diffusers", "transformers")
    pipeline = True
    about: ClassVar[str]
    """The models it is for, in an error message."""

    def _load(self) -> None:
        name = str(self.weights.described("model_index.json").get("_class_name"))
        pipeline_class = self._class_of(name)
        if pipeline_class is None:
            raise CannotGenerate(
                f"{self.weights.name} is a {name}, which this generator cannot run.",
                f"Use it for {self.about}, or choose the generator that fits this model.",
            )
        self.dtype = dtype_of(self.given, self.device, self._half(pipeline_class))
        model = loaded(
            self.weights,
            lambda path: pipeline_class.from_pretrained(
                path, **{dtype_keyword(): self.dtype}, **self._components(path)
            ),
        )
        model.set_progress_bar_config(disable=True)
        if self.given.offload == "model":
            model.enable_model_cpu_offload(device=self.device)
        elif self.given.offload == "sequential":
            model.enable_sequential_cpu_offload(device=self.device)
        else:
            model = model.to(self.device)
        self._model: Any = model
        self._arguments = inspect.signature(pipeline_class.__call__).parameters
        self._prepare()

    @abstractmethod
    def _class_of(self, name: str) -> Any:
        """The pipeline's class, or None where this generator cannot run it."""

    def _half(self, pipeline_class: Any) -> str:
        """The type of half precision that the pipeline was published for."""
        del pipeline_class
        return "float16"

    def _components(self, path: str) -> dict[str, object]:
        """Parts that must not be loaded as the folder says."""
        del path
        return {}

    def _prepare(self) -> None:
        """Adapt the loaded pipeline and check the settings against it."""

    def _shared(
        self, sampling: DiffusionSampling, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]
    ) -> dict[str, object]:
        arguments = {
            "num_inference_steps": sampling.steps,
            "guidance_scale": sampling.guidance_scale,
            "negative_prompt": sampling.negative_prompt and [sampling.negative_prompt] * len(prompts),
            "prompt": [prompt.text for prompt in prompts],
            "generator": [generator_of(seed) for seed in seeds],
        }
        return {name: value for name, value in arguments.items() if value is not None}

    def _refusal(self, prompt: StimulusPrompt) -> Unusable | None:
        parts = [part for name, part in self._model.components.items() if name.startswith("tokenizer")]
        tokens_left = [
            len(part(prompt.text, verbose=False)["input_ids"]) - part.model_max_length
            for part in parts
            if part is not None
        ]
        if not tokens_left or min(tokens_left) <= 0:
            return None
        return Unusable(
            self.kind, f"The prompt has {min(tokens_left)} tokens more than the model reads.", "Shorten the prompt."
        )

    def _default(self, name: str) -> object:
        return self._arguments[name].default if name in self._arguments else None

    def _sampled(self, sampling: DiffusionSampling) -> dict[str, object]:
        names = {"steps": "num_inference_steps", "guidance_scale": "guidance_scale"}
        stated = sampling.model_dump()
        defaults = {key: self._default(name) for key, name in names.items() if stated[key] is None}
        return (
            {"pipeline": type(self._model).__name__, "scheduler": type(self._model.scheduler).__name__}
            | stated
            | defaults
        )

    def _call(self, **arguments: Any) -> Any:
        with listening("diffusers", "transformers"):
            return self._model(**arguments)


class AudioLdm2Settings(ModelSettings):
    """Settings of ``audioldm2``."""

    settings: DiffusionSampling = DiffusionSampling()


class AudioLdm2(PipelineGenerator):
    """AudioLDM 2 (Liu et al. 2023)."""

    given: AudioLdm2Settings
    about = "AudioLDM 2, such as cvssp/audioldm2-music"

    def _class_of(self, name: str) -> Any:
        return library("diffusers").AudioLDM2Pipeline if name == "AudioLDM2Pipeline" else None

    def _components(self, path: str) -> dict[str, object]:
        # The published folders name the class GPT2Model, which no longer has what Diffusers calls while it generates. The class
        # with a head does, and its hidden states, which are all that is used, are the same.
        part = self.weights.described("model_index.json").get("language_model") or ["", ""]
        if part[1] != "GPT2Model":
            return {}
        language = library("transformers").GPT2LMHeadModel
        return {"language_model": language.from_pretrained(f"{path}/language_model", dtype=self.dtype)}

    def _prepare(self) -> None:
        vocoder = self._model.vocoder.config
        self.rate = int(vocoder.sampling_rate)
        self.seconds = self.given.seconds or 10.0
        per_second = self.rate / math.prod(vocoder.upsample_rates)
        least = self._model.vae_scale_factor / per_second
        if self.seconds < least:
            raise InputError(f"{self.weights.name} makes at least {least:.2f} s.", "Ask for more seconds and crop.")

    def _alike(self, prompt: StimulusPrompt) -> Hashable:
        # A longer neighbour would shift the positions of the language model's output.
        return len(self._model.tokenizer_2(prompt.text)["input_ids"])

    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        arguments = self._shared(self.given.settings, prompts, seeds)
        result = self._call(**arguments, audio_length_in_s=self.seconds, output_type="pt")
        return [clip_of(row, self.rate, self.seconds) for row in result.audios]

    def _sampling(self) -> Mapping[str, object]:
        return {"seconds": self.seconds, **self._sampled(self.given.settings)}


class StableAudioSampling(DiffusionSampling):
    """The model makes a piece that lasts to the clip's end; ``start`` leaves out its first seconds."""

    start: Annotated[float, Field(ge=0, description="seconds to leave out at the beginning")] = 0.0


class StableAudioSettings(ModelSettings):
    """Settings of ``stable-audio``."""

    settings: StableAudioSampling = StableAudioSampling()


class StableAudio(PipelineGenerator):
    """Stable Audio Open (Evans et al. 2024)."""

    given: StableAudioSettings
    about = "Stable Audio Open, such as stabilityai/stable-audio-open-1.0"

    def _class_of(self, name: str) -> Any:
        return library("diffusers").StableAudioPipeline if name == "StableAudioPipeline" else None

    def _components(self, path: str) -> dict[str, object]:
        del path
        return {"scheduler": None} if self._has_cosine() else {}

    def _has_cosine(self) -> bool:
        part = self.weights.described("model_index.json").get("scheduler") or ["", ""]
        return bool(part[1] == "CosineDPMSolverMultistepScheduler")

    def _prepare(self) -> None:
        model = self._model
        if self._has_cosine():
            config = self.weights.described("scheduler/scheduler_config.json")
            model.register_modules(scheduler=cosine_scheduler(config))
        self.rate = int(model.vae.config.sampling_rate)
        longest = model.transformer.config.sample_size * model.vae.hop_length / self.rate
        start, self.seconds = self.given.settings.start, self.given.seconds or min(10.0, longest)
        if start + self.seconds > longest:
            raise InputError(
                f"{self.weights.name} makes at most {longest:.1f} s, and {start + self.seconds:g} s are asked for.",
                "Ask for fewer seconds, or an earlier start.",
            )

    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        start = self.given.settings.start
        arguments = self._shared(self.given.settings, prompts, seeds)
        arguments |= {"audio_start_in_s": start, "audio_end_in_s": start + self.seconds}
        sound = self._call(**arguments, output_type="pt").audios
        return [clip_of(row, self.rate, self.seconds) for row in sound]

    def _sampling(self) -> Mapping[str, object]:
        return {"seconds": self.seconds, **self._sampled(self.given.settings)}


COSINE = {
    "sigma_min": 0.3,
    "sigma_max": 500.0,
    "sigma_data": 1.0,
    "sigma_schedule": "exponential",
    "prediction_type": "v_prediction",
}
"""Where a CosineDPMSolverMultistepScheduler starts from other values than the scheduler used instead of it."""


def cosine_scheduler(config: Mapping[str, Any]) -> Any:
    """The scheduler of Stable Audio Open, with the noise of every step from the stimulus's own generator.

    Diffusers' CosineDPMSolverMultistepScheduler takes it from a Brownian tree of another package (torchsde). The tree gives
    independent standard normal numbers for intervals that do not overlap, as those between steps do not; so fresh numbers have
    the same distribution. Everything else is the stochastic DPM-Solver++ of the EDM scheduler, with another scale of time.
    """
    edm = library("diffusers").EDMDPMSolverMultistepScheduler

    def precondition_noise(self: Any, sigma: Any) -> Any:
        del self
        sigma = library("torch").as_tensor(sigma)
        return sigma.atan() / math.pi * 2

    scheduler_class = type("CosineScheduler", (edm,), {"precondition_noise": precondition_noise})
    parameters = inspect.signature(edm.__init__).parameters
    arguments = {name: value for name, value in config.items() if name in parameters}
    return scheduler_class(**(COSINE | arguments), algorithm_type="sde-dpmsolver++")


register(
    GeneratorKind(
        name="audioldm2",
        about="music and sound from text: AudioLDM 2 of Diffusers",
        settings=AudioLdm2Settings,
        build=AudioLdm2,
        licence=model_licence,
    )
)
register(
    GeneratorKind(
        name="stable-audio",
        about="music and sound from text: Stable Audio Open of Diffusers",
        settings=StableAudioSettings,
        build=StableAudio,
        licence=model_licence,
    )
)
