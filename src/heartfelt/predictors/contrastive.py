"""``clap`` and ``clip``: how well a text matches a sound or an image, by contrastive models of the Transformers library.

Text and media become vectors of one space, and their cosine is the score. What a question gets depends on its scale. A
statement that holds or does not (yes-no, ordered categories, numbers without words at both ends, and whatever has a text of its
own, such as the fit to a prompt) gets the cosine with that text as its ``score``. Unordered categories get one text each; the
shares are a softmax over the cosines divided by a temperature. Other points with words at both ends get the mean of the points
that have words, weighted by such a softmax. Text and tags cannot be matched: that is a problem. Every text and every medium
is embedded once, each by itself, so that no vector depends on what else was in a batch.

Sound is one channel at the model's rate, cut into windows of the model's own length: one after the other, the last one moved
back to end with the clip. A shorter clip is repeated to fill one window. The clip's vector is the mean of its windows' unit
vectors. Nothing is drawn at random. An image is upright RGB, transparency on white, prepared by the model's own
preprocessing with Pillow.

Source: Wu et al. 2023, "Large-scale contrastive language-audio pretraining with feature fusion and keyword-to-caption
augmentation", with the released models' own preprocessing, whose random crop the windows replace; Radford et al. 2021, "Learning
transferable visual models from natural language supervision".
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.image import decode_image
from heartfelt.media.sound import decode
from heartfelt.models.devices import checked_device
from heartfelt.models.hub import identity_of, loaded_from, model_of, transformers_library
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.spec import number_option
from heartfelt.predictors.store import Recent
from heartfelt.predictors.texts import answer_texts, general_text
from heartfelt.study.scale import Categories, FreeText, Points, Tags

Vector: TypeAlias = npt.NDArray[np.float32]
_WINDOWS_AT_ONCE = 16


class Matcher(Predictor):
    """A predictor that matches text with media. Other processes load the model for themselves."""

    default: ClassVar[str]
    """The model on the hub that is used by default."""
    options: ClassVar[Mapping[str, str]] = {
        "temperature": "what cosines are divided by before shares are made of them; by default the model's own",
        "device": "auto (a GPU where there is one), cpu or cuda",
    }

    model_class: ClassVar[str]
    """The model's class in the library."""

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        where = where or self.default
        folder = Path(where).expanduser()
        # Other processes may work in another folder.
        self.where = str(folder.resolve()) if folder.is_dir() else where
        self.given = dict(options)
        self._texts: Recent[tuple[Vector, str | None]] = Recent()
        self._media: Recent[Vector] = Recent()
        library = transformers_library(where)
        self.device = checked_device(options.get("device", "auto"))
        self._model: Any = model_of(where, getattr(library, self.model_class)).to(self.device)
        self.temperature = temperature_of(options, self._model)
        self._identity = identity_of(where, self._model)
        self._longest = int(self._model.config.text_config.max_position_embeddings)
        """How many tokens of a text are read."""
        self._tokenize = self._open(library, where)

    @property
    def identity(self) -> str:
        """The model's content and what the options change."""
        return f"{self.name} {self._identity} temperature={self.temperature:.9g}"

    @abstractmethod
    def _open(self, library: Any, where: str) -> Any:
        """Load what prepares the media; return the tokenizer."""

    def __reduce__(self) -> tuple[type[Matcher], tuple[str, dict[str, str]], dict[str, str]]:
        return type(self), (self.where, self.given), {"spec": self.spec, "label": self.label}

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""
        import torch

        tokens = self._tokenize(text, return_tensors="pt", truncation=True, max_length=self._longest)
        given = {name: tokens[name].to(self.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            output = self._model.get_text_features(**given)
        whole = len(self._tokenize(text, verbose=False)["input_ids"])
        remark = (
            f"only the first {self._longest} tokens of the text were read" if whole > self._longest else None
        )
        return output.pooler_output[0].float().cpu().numpy(), remark

    @abstractmethod
    def embed_media(self, content: bytes) -> Vector:
        """The vector of a media file's content."""

    def describe(self) -> PredictorInfo:
        """The folder's name or the name on the hub, with the hash of its files or its revision."""
        is_folder = self._identity.startswith("sha256:")
        short = Path(self.where).name if is_folder else self.where
        return PredictorInfo(
            self.spec or self.name,
            f"{self.name} {short}",
            self.name,
            self.where,
            None if is_folder else self._identity.rpartition("@")[2],
            self._identity.removeprefix("sha256:") if is_folder else None,
        )

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        """Embed the media once and match it with every question's texts."""
        content = case.media_file.content
        vector = self._media.get(case.media_file.hash, lambda: _unit(self.embed_media(content)))
        return [self._answer(ask, vector) for ask in case.asks]

    def _embedded(self, text: str) -> tuple[Vector, str | None]:
        vector, remark = self.embed_text(text)
        return _unit(vector), remark

    def _cosine(self, text: str, vector: Vector) -> tuple[float, str | None]:
        other, remark = self._texts.get(text, lambda: self._embedded(text))
        return float(np.clip(other @ vector, -1.0, 1.0)), remark

    def _answer(self, ask: Ask, vector: Vector) -> Prediction:
        scale = ask.scale
        if isinstance(scale, FreeText | Tags):
            return Prediction.failed(f"{self.name} matches texts with media and writes none itself")
        if isinstance(scale, Categories):
            by_code, remark = self._shares(answer_texts(ask), vector)
            names = scale.labels()
            best = max(by_code, key=by_code.__getitem__)
            shares = {names[code]: share for code, share in by_code.items()}
            return Prediction(value=best, answer=names[best], shares=shares, note=remark)
        if _between_words(ask):
            by_point, remark = self._shares(answer_texts(ask), vector)
            value = sum(point * share for point, share in by_point.items())
            return Prediction(value=min(max(value, min(by_point)), max(by_point)), note=remark)
        score, remark = self._cosine(ask.text, vector)
        return Prediction(score=score, note=remark)

    def _shares(self, texts: Mapping[float, str], vector: Vector) -> tuple[dict[float, float], str | None]:
        matches = [self._cosine(text, vector) for text in texts.values()]
        raised = np.array([cosine for cosine, _ in matches]) / self.temperature
        weight = np.exp(raised - raised.max())
        shares = (weight / weight.sum()).tolist()
        return dict(zip(texts, shares, strict=True)), next((remark for _, remark in matches if remark), None)


@PREDICTORS.register("clap")
class Clap(Matcher):
    """Text and sound in one space."""

    name = "clap"
    extra = "transformers"
    about = "cosine of text and sound by a CLAP model"
    default = "laion/clap-htsat-unfused"
    argument = f"a folder or a name on the hub ({default})"
    model_class = "ClapModel"

    @property
    def identity(self) -> str:
        """The model's content, the version of the windows, and what the options change."""
        return f"clap {self._identity} windows=1 temperature={self.temperature:.9g}"

    def _open(self, library: Any, where: str) -> Any:
        processor = loaded_from(where, library.ClapProcessor.from_pretrained)
        self._extract: Any = processor.feature_extractor
        # The text encoder counts its positions from two.
        self._longest = min(int(processor.tokenizer.model_max_length), self._longest - 2)
        return processor.tokenizer

    def embed_media(self, content: bytes) -> Vector:
        """The mean of the windows' unit vectors."""
        import torch

        rate = int(self._extract.sampling_rate)
        windows = cut_windows(decode(content, rate), int(self._extract.nb_max_samples))
        vectors = []
        for start in range(0, len(windows), _WINDOWS_AT_ONCE):
            some = windows[start : start + _WINDOWS_AT_ONCE]
            features = self._extract(some, sampling_rate=rate, return_tensors="pt")
            # The extractor marks a random window as longer than it is where fusion is on.
            longer = torch.zeros((len(some), 1), dtype=torch.bool, device=self.device)
            with torch.inference_mode():
                output = self._model.get_audio_features(
                    features["input_features"].float().to(self.device), is_longer=longer
                )
            vectors.append(output.pooler_output.float().cpu().numpy())
        every = np.concatenate(vectors)
        mean: Vector = (every / np.linalg.norm(every, axis=1, keepdims=True)).mean(axis=0)
        return mean


@PREDICTORS.register("clip")
class Clip(Matcher):
    """Text and image in one space."""

    name = "clip"
    extra = "transformers"
    about = "cosine of text and image by a CLIP model"
    default = "openai/clip-vit-base-patch32"
    argument = f"a folder or a name on the hub ({default})"
    model_class = "CLIPModel"

    def _open(self, library: Any, where: str) -> Any:
        self._prepare: Any = loaded_from(where, library.CLIPImageProcessorPil.from_pretrained)
        return loaded_from(where, library.AutoTokenizer.from_pretrained)

    def embed_media(self, content: bytes) -> Vector:
        """The image's vector."""
        import torch

        pixels = self._prepare(images=decode_image(content), return_tensors="pt")["pixel_values"]
        with torch.inference_mode():
            output = self._model.get_image_features(pixel_values=pixels.to(self.device))
        out: Vector = output.pooler_output[0].float().cpu().numpy()
        return out


def cut_windows(samples: npt.NDArray[np.float32], length: int) -> list[npt.NDArray[np.float32]]:
    """Windows of ``length`` samples that cover the clip, the last one ending with it; a shorter clip is the only one."""
    if samples.shape[0] <= length:
        return [samples]
    starts = list(range(0, samples.shape[0] - length + 1, length))
    if starts[-1] + length < samples.shape[0]:
        starts.append(samples.shape[0] - length)
    return [samples[start : start + length] for start in starts]


def _between_words(ask: Ask) -> bool:
    """Whether a question is answered by which of the scale's words fit: not where it has a text of its own."""
    scale = ask.scale
    if not isinstance(scale, Points) or not {scale.first, scale.last} <= set(scale.anchors):
        return False
    return ask.text in {"", general_text(scale, ask.words, ask.about)}


def _unit(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or length == 0.0:
        raise InputError(
            "The model's vector is zero or not finite.", "Check the model's weights; try device=cpu."
        )
    return (vector / np.float32(length)).astype(np.float32)


def temperature_of(options: Mapping[str, str], model: Any) -> float:
    """The temperature the options ask for, or the inverse of the scale the model was trained with."""
    if "temperature" not in options:
        scale = model.logit_scale_a if hasattr(model, "logit_scale_a") else model.logit_scale
        return math.exp(-scale.item())
    return number_option(options, "temperature", 1.0, 0.0, above=True)
