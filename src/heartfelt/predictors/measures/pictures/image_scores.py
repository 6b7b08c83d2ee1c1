"""``pickscore``, ``hpsv2``, ``imagereward`` and ``aesthetic``: what people prefer, by models trained on their choices.

PickScore is a CLIP model whose cosine of image and prompt, times its scale, is the score. HPSv2 is the cosine itself, from weights
in OpenCLIP's layout. ImageReward lets the prompt attend to the image (BLIP) and reads the first position off with a stack of linear
layers. The aesthetic predictor looks at the image alone: linear layers on the unit vector of CLIP. An image is upright RGB,
transparency on white, resized by its shorter side with Pillow's bicubic filter and cropped in the middle, one at a time.

Source: Kirstain et al. 2023, "Pick-a-Pic"; Wu et al. 2023, "Human Preference Score v2"; Xu et al. 2023, "ImageReward"; Schuhmann
et al. 2022, "LAION-5B" and its improved aesthetic predictor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.predictors.interface.predictor import PREDICTORS
from heartfelt.predictors.measures.contrastive import image_vector, text_vector, unit
from heartfelt.predictors.measures.hub_model import HubModel, HubScores, checkpoint_identity
from heartfelt.predictors.measures.metrics import MeasuredFile
from heartfelt.predictors.weights.checkpoint import (
    NamedTensors,
    blip_of_salesforce,
    clip_of_open_clip,
    filled,
    linear_stack,
    open_checkpoint,
)
from heartfelt.predictors.weights.hub import identity_of, loaded_from, model_of

_TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer_config.json")
_FITS = "how much people prefer the image, given the text it was made from"


class _ImageScores(HubScores):
    """A model that looks at one image; ``_processor`` names what prepares its input."""

    media_kinds = ("image",)
    processor: ClassVar[str] = ""
    """Where tokenizer and preprocessing come from unless they are next to the weights."""
    complete: ClassVar[bool] = False
    """Whether they are next to the weights on the hub."""

    def _processor(self, where: str, files: Sequence[str] = _TOKENIZERS) -> str:
        """The folder or name with the tokenizer or preprocessing: the option, the folder of the weights, or the default."""
        if "processor" in self.settings:
            return self.settings["processor"]
        if where == self.default and self.complete:
            return where
        path = Path(where)
        folder = path if path.is_dir() else path.parent if path.is_file() else None
        return str(folder) if folder and any((folder / name).is_file() for name in files) else self.processor

    def _with_processor(self, where: str, identity: str) -> str:
        return f"{identity} processor {identity_of(self._processor(where))}"

    def _tokenizer(self, library: Any, where: str) -> Any:
        return loaded_from(self._processor(where), library.AutoTokenizer.from_pretrained, config=False)


_WITH_PROCESSOR = {
    **HubModel.options,
    "processor": "a folder or name on the hub with the tokenizer (and the preprocessing of images, where it has one)",
}


class _Preference(_ImageScores):
    """A CLIP model that was trained on choices between images of one prompt."""

    needs_prompt = True
    options: ClassVar[Mapping[str, str]] = _WITH_PROCESSOR
    processor = "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"
    _model: Any
    _prepare: Any
    _tokenize: Any
    _scale: float

    def measure(self, content: bytes, prompt: str) -> MeasuredFile:
        longest = int(self._model.config.text_config.max_position_embeddings)
        words, remark = text_vector(self._model, self._tokenize, prompt, longest)
        cosine = float(unit(words) @ unit(image_vector(self._model, self._prepare, content)))
        return MeasuredFile({self.name: self._scale * cosine}, (remark,) if remark else ())


@PREDICTORS.register("pickscore")
class PickScore(_Preference):
    """PickScore: trained on what users of a web app chose."""

    name = "pickscore"
    about = "how much people prefer an image, given its prompt, by PickScore"
    default = "yuvalkirstain/PickScore_v1"
    complete = True
    argument = f"a folder or a name on the hub ({default})"
    scores: ClassVar[Mapping[str, str]] = {"pickscore": _FITS}

    def _load(self, library: Any, where: str) -> None:
        self._model = model_of(where, library.CLIPModel).to(self.device)
        self._scale = math.exp(self._model.logit_scale.item())
        used = self._processor(where, ("preprocessor_config.json",))
        self._prepare = loaded_from(used, library.CLIPImageProcessorPil.from_pretrained, config=False)
        self._tokenize = self._tokenizer(library, where)
        identity = identity_of(where, self._model)
        self._identity = identity if used == where else self._with_processor(where, identity)


@PREDICTORS.register("hpsv2")
class Hpsv2(_Preference):
    """Human Preference Score v2, from the authors' checkpoint."""

    name = "hpsv2"
    about = "how much people prefer an image, given its prompt, by HPSv2"
    default = "xswu/HPSv2"
    argument = f"the authors' file, its folder, or a name on the hub ({default})"
    scores: ClassVar[Mapping[str, str]] = {"hpsv2": _FITS}
    options: ClassVar[Mapping[str, str]] = {
        **_WITH_PROCESSOR,
        "version": "2.1 (default) or 2.0, where the folder holds both",
    }
    _scale = 1.0

    def _load(self, library: Any, where: str) -> None:
        files = {"2.1": "HPS_v2.1_compressed.pt", "2.0": "HPS_v2_compressed.pt"}
        version = self.settings.get("version", "2.1")
        if version not in files:
            raise InputError(f"HPSv2 has no version {version}.", f"Use {' or '.join(files)}.")
        file = files[version]
        checkpoint = open_checkpoint(where, (Path(file).with_suffix(".safetensors").name, file))
        self._model = clip_of_open_clip(library, checkpoint.state).to(self.device)
        self._prepare = _prepared(library, self._model.config.vision_config.image_size)
        self._tokenize = self._tokenizer(library, where)
        self._identity = self._with_processor(where, f"{checkpoint_identity(where, checkpoint)} {version}")


@PREDICTORS.register("imagereward")
class ImageReward(_ImageScores):
    """ImageReward: BLIP and linear layers, from the authors' checkpoint."""

    name = "imagereward"
    about = "how much people prefer an image, given its prompt, by ImageReward"
    default = "zai-org/ImageReward"
    argument = f"the authors' file, its folder, or a name on the hub ({default})"
    scores: ClassVar[Mapping[str, str]] = {"imagereward": _FITS}
    needs_prompt = True
    options: ClassVar[Mapping[str, str]] = _WITH_PROCESSOR
    processor = "google-bert/bert-base-uncased"
    _LONGEST = 35
    _MEAN, _SD = 0.16717362830052426, 1.0333394966054072
    """The published mean and standard deviation of the rewards."""

    def _load(self, library: Any, where: str) -> None:
        checkpoint = open_checkpoint(where, ("ImageReward.safetensors", "ImageReward.pt"))
        self._tokenize = self._tokenizer(library, where)
        pad = int(self._tokenize.pad_token_id)
        image, text = blip_of_salesforce(library, checkpoint.state.with_prefix("blip."), pad)
        self._image, self._text = image.to(self.device), text.to(self.device)
        if not (layers := checkpoint.state.with_prefix("mlp.layers.")):
            raise InputError(f"{where} has no weights 'mlp.layers'.", "Give the file of ImageReward's authors.")
        self._head = linear_stack(layers).to(self.device)
        self._prepare = _prepared(library, image.config.image_size)
        self._identity = self._with_processor(where, checkpoint_identity(where, checkpoint))

    def measure(self, content: bytes, prompt: str) -> MeasuredFile:
        import torch

        pixels = self._prepare(images=decode_image(content), return_tensors="pt")["pixel_values"]
        longest = self._LONGEST
        tokens = self._tokenize(prompt, padding="max_length", truncation=True, max_length=longest, return_tensors="pt")
        token_count = len(self._tokenize(prompt, verbose=False)["input_ids"])
        notes = (f"only the first {longest} tokens of the text were read",) if token_count > longest else ()
        with torch.inference_mode():
            image_states = self._image(pixel_values=pixels.to(self.device)).last_hidden_state
            read = self._text(
                input_ids=tokens["input_ids"].to(self.device),
                attention_mask=tokens["attention_mask"].to(self.device),
                encoder_hidden_states=image_states,
                encoder_attention_mask=torch.ones(image_states.shape[:-1], dtype=torch.long, device=self.device),
            ).last_hidden_state
            reward = float(self._head(read[:, 0, :]))
        return MeasuredFile({self.name: (reward - self._MEAN) / self._SD}, notes)


@PREDICTORS.register("aesthetic")
class Aesthetic(_ImageScores):
    """An aesthetic predictor of LAION's kind: linear layers on CLIP's vector of the image."""

    name = "aesthetic"
    about = "how beautiful people find an image, by LAION's aesthetic predictor"
    default = "shunk031/aesthetics-predictor-v2-sac-logos-ava1-l14-linearMSE"
    argument = f"a folder or a name on the hub ({default})"
    scores: ClassVar[Mapping[str, str]] = {"aesthetic": "how beautiful the image is, about 1 to 10"}
    _RELU_LAYERS = (0, 3, 6, 9, 11)
    """The places of the linear layers in the version that has rectifiers between them."""

    def _load(self, library: Any, where: str) -> None:
        import torch

        checkpoint = open_checkpoint(where, ("model.safetensors", "pytorch_model.bin"), ("config.json",))
        layers = checkpoint.state.with_prefix("layers.")
        if single := checkpoint.state.with_prefix("predictor."):
            layers = single.renamed(((r"^", "0."),))
        if not layers:
            raise InputError(
                f"{where} has no weights 'layers' or 'predictor': it is not an aesthetic predictor.",
                f"Give a model like {self.default}.",
            )
        layer_numbers = tuple(sorted({int(name.split(".")[0]) for name in layers}))
        between = torch.nn.ReLU if layer_numbers == self._RELU_LAYERS else None
        self._head = linear_stack(layers, between).to(self.device)
        folder = str(checkpoint.path.parent)
        config = loaded_from(folder, library.CLIPVisionConfig.from_pretrained)
        names = [name for name in checkpoint.state if name.startswith(("vision_model.", "visual_projection."))]
        encoder = NamedTensors({name: checkpoint.state[name] for name in names}, checkpoint.path.name)
        encoder.pop("vision_model.embeddings.position_ids", None)
        model = filled(library.CLIPVisionModelWithProjection(config), encoder)
        self._model = model.to(self.device)
        self._prepare = _prepared(library, config.image_size)
        self._identity = checkpoint_identity(where, checkpoint)

    def measure(self, content: bytes, prompt: str) -> MeasuredFile:
        import torch

        del prompt
        pixels = self._prepare(images=decode_image(content), return_tensors="pt")["pixel_values"]
        with torch.inference_mode():
            vector = self._model(pixel_values=pixels.to(self.device)).image_embeds
            value = float(self._head(vector / vector.norm(dim=-1, keepdim=True)))
        return MeasuredFile({self.name: value})


def _prepared(library: Any, size: int) -> Any:
    """CLIP's preprocessing for images of this size: resize the shorter side, crop the middle, CLIP's mean and spread."""
    square = {"height": size, "width": size}
    return library.CLIPImageProcessorPil(size={"shortest_edge": size}, crop_size=square)
