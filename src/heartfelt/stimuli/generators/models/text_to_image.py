"""``text-to-image``: any text-to-image pipeline of Diffusers, by the class its model_index.json names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from heartfelt.errors import InputError, suggestion
from heartfelt.media.images.image import PictureFile
from heartfelt.stimuli.generators.generator import GeneratorKind, register
from heartfelt.stimuli.generators.models.pipelines import DiffusionSampling, PipelineGenerator
from heartfelt.stimuli.generators.models.torch_models import ModelSettings, Unusable, library, model_licence
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt

PADDED = (
    "StableDiffusionPipeline",
    "StableDiffusionXLPipeline",
    "StableDiffusion3Pipeline",
    "FluxPipeline",
    "PixArtAlphaPipeline",
    "PixArtSigmaPipeline",
)
"""Pipelines that pad every text to the same length; with others, only texts of the same length share a batch."""


class ImageSampling(DiffusionSampling):
    """``width`` and ``height`` count before the system's ``size``."""

    width: Annotated[int | None, Field(ge=8, le=8192, description="pixels")] = None
    height: Annotated[int | None, Field(ge=8, le=8192, description="pixels")] = None
    more: Annotated[
        dict[str, str | int | float | bool] | None,
        Field(description="further arguments of the pipeline's call, by name"),
    ] = None


class TextToImageSettings(ModelSettings):
    """Settings of ``text-to-image``."""

    settings: ImageSampling = ImageSampling()


class TextToImage(PipelineGenerator):
    """A text-to-image pipeline in memory."""

    kind: ClassVar[str] = "image"
    suffix: ClassVar[str] = ".png"
    given: TextToImageSettings
    about = "text-to-image models, such as stabilityai/stable-diffusion-xl-base-1.0"

    def _class_of(self, name: str) -> Any:
        pipelines = library("diffusers.pipelines.auto_pipeline")
        try:
            return pipelines._get_task_class(pipelines.AUTO_TEXT2IMAGE_PIPELINES_MAPPING, name)
        except ValueError:
            return None

    def _half(self, pipeline_class: Any) -> str:
        # Transformers that denoise overflow in half precision more easily than networks of convolutions.
        return "float16" if "unet" in pipeline_class._get_signature_keys(pipeline_class)[0] else "bfloat16"

    def _prepare(self) -> None:
        sampling = self.given.settings
        for name in ("negative_prompt", "guidance_scale"):
            if getattr(sampling, name) is not None and name not in self._arguments:
                raise InputError(f"{type(self._model).__name__} takes no {name}.", f"Leave {name} out.")
        for name in sampling.more or {}:
            if name not in self._arguments or name in {"prompt", "generator", "output_type", "return_dict"}:
                raise InputError(
                    f"{type(self._model).__name__} takes no '{name}'.", suggestion(name, self._arguments, "It takes")
                )
        size = {name: getattr(sampling, name) or self.given.size for name in ("width", "height")}
        self.size = {name: pixels for name, pixels in size.items() if pixels is not None}
        for name, pixels in self.size.items():
            if pixels % 8:
                raise InputError(
                    f"{name} is {pixels}, and images are made of squares of 8 pixels.",
                    f"Use {8 * (pixels // 8)} or {8 * (pixels // 8 + 1)}.",
                )

    def _alike(self, prompt: StimulusPrompt) -> Hashable:
        if type(self._model).__name__ in PADDED:
            return None
        tokenizers = [part for name, part in self._model.components.items() if name.startswith("tokenizer")]
        return tuple(len(part(prompt.text)["input_ids"]) for part in tokenizers if part is not None)

    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        arguments = self._shared(self.given.settings, prompts, seeds) | self.size | (self.given.settings.more or {})
        result = self._call(**arguments, output_type="np")
        flagged = getattr(result, "nsfw_content_detected", None) or [False] * len(prompts)
        return [_picture(pixels, bool(flag)) for pixels, flag in zip(result.images, flagged, strict=True)]

    def _sampling(self) -> Mapping[str, object]:
        sampled = self._sampled(self.given.settings)
        return sampled | self.size


def _picture(pixels: Any, flagged: bool) -> GeneratedMedium:
    """The image of an array of numbers from 0 to 1."""
    from PIL import Image

    if flagged:
        return Unusable("image", "The model's safety checker held the image back and returned a black one instead.")
    array = np.asarray(pixels, dtype=np.float32)
    if not np.isfinite(array).all():
        return Unusable.not_finite("image", "pixels")
    return PictureFile(Image.fromarray((array * 255).round().astype(np.uint8)))


register(
    GeneratorKind(
        name="text-to-image",
        about="images from text: any text-to-image pipeline of Diffusers",
        settings=TextToImageSettings,
        build=TextToImage,
        licence=model_licence,
    )
)
