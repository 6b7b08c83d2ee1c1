"""``clip``: how well a text matches a picture, by a contrastive language-image model of the Transformers library.

The picture is upright RGB, transparency on white, prepared by the model's own preprocessing with Pillow.

Source: Radford et al. 2021, "Learning transferable visual models from natural language supervision".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.media.image import decode_image
from heartfelt.predictors.matching import Matcher, Vector
from heartfelt.predictors.predictor import PREDICTORS
from heartfelt.predictors.pretrained import loaded, text_vector, transformers_library
from heartfelt.predictors.tiny import write_tiny_clip

DEFAULT = "openai/clip-vit-base-patch32"


@PREDICTORS.register("clip")
class Clip(Matcher):
    """Text and picture in one space."""

    name: ClassVar[str] = "clip"
    about: ClassVar[str] = "cosine of text and picture by a CLIP model"
    default: ClassVar[str] = DEFAULT
    argument: ClassVar[str] = f"a folder or a name on the hub ({DEFAULT})"

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        super().__init__(where, options)
        library = transformers_library()
        self._load(where, library.CLIPModel)
        self._prepare: Any = loaded(where, library.CLIPImageProcessorPil.from_pretrained)
        self._tokenize: Any = loaded(where, library.AutoTokenizer.from_pretrained)

    @classmethod
    def example(cls, folder: Path) -> str:
        """A tiny model with random weights."""
        return str(write_tiny_clip(folder / "tiny-clip"))

    @property
    def identity(self) -> str:
        """The model's content and what the options change."""
        return f"clip {self._identity} temperature={self.temperature:.9g}"

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""
        longest = int(self._model.config.text_config.max_position_embeddings)
        return text_vector(self._model, self._tokenize, text, longest)

    def embed_media(self, content: bytes) -> Vector:
        """The picture's vector."""
        import torch

        pixels = self._prepare(images=decode_image(content), return_tensors="pt")["pixel_values"]
        with torch.inference_mode():
            found = self._model.get_image_features(pixel_values=pixels.to(self.device))
        out: Vector = found.pooler_output[0].float().cpu().numpy()
        return out
