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
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image, image_doubts
from heartfelt.media.sound import decode, decode_with_doubts
from heartfelt.predictors.answers.texts import answer_texts, general_text
from heartfelt.predictors.execution.store import Recent
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction
from heartfelt.predictors.interface.spec import number_option
from heartfelt.predictors.measures.hub_model import HubModel
from heartfelt.predictors.networks.mel import RATE, silence_doubts
from heartfelt.predictors.weights.hub import identity_of, loaded_from, model_of
from heartfelt.study.scales.scale import Categories, FreeText, Points, Tags

Vector: TypeAlias = npt.NDArray[np.float32]
_WINDOWS_AT_ONCE = 16


class Matcher(HubModel):
    """A predictor that matches text with media."""

    options: ClassVar[Mapping[str, str]] = {
        "temperature": "what cosines are divided by before shares are made of them; by default the model's own",
        **HubModel.options,
    }

    model_class: ClassVar[str]
    """The model's class in the library."""

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        super().__init__(where, options)
        self._texts: Recent[tuple[Vector, str | None]] = Recent()
        self._media: Recent[tuple[Vector, tuple[str, ...]]] = Recent()

    def _load(self, library: Any, where: str) -> None:
        self._model: Any = model_of(where, getattr(library, self.model_class)).to(self.device)
        self.temperature = temperature_of(self.settings, self._model)
        self._identity = identity_of(where, self._model)
        self._longest = int(self._model.config.text_config.max_position_embeddings)
        """How many tokens of a text are read."""
        self._tokenize = self._open(library, where)

    @property
    def identity(self) -> str:
        return f"{self.name} {self._identity} temperature={self.temperature:.9g}"

    @abstractmethod
    def _open(self, library: Any, where: str) -> Any:
        """Load what prepares the media; return the tokenizer."""

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""
        return text_vector(self._model, self._tokenize, text, self._longest)

    @abstractmethod
    def embed_media(self, content: bytes) -> Vector:
        """The vector of a media file's content."""

    @abstractmethod
    def doubts_about(self, content: bytes) -> tuple[str, ...]:
        """What is doubtful about a media file's content."""

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        content = case.media_file.content
        vector, doubts = self._media.get(
            case.media_file.hash, lambda: (unit(self.embed_media(content)), self.doubts_about(content))
        )
        answers = [self._answer(ask, vector) for ask in case.asks]
        return [replace(answer, note="; ".join(filter(None, (answer.note, *doubts))) or None) for answer in answers]

    def _embedded(self, text: str) -> tuple[Vector, str | None]:
        vector, remark = self.embed_text(text)
        return unit(vector), remark

    def _cosine(self, text: str, vector: Vector) -> tuple[float, str | None]:
        text_vector, remark = self._texts.get(text, lambda: self._embedded(text))
        return float(np.clip(text_vector @ vector, -1.0, 1.0)), remark

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
class ClapMatch(Matcher):
    """Text and sound in one space."""

    name = "clap"
    media_kinds = ("audio",)
    about = "cosine of text and sound by a CLAP model"
    default = "laion/clap-htsat-unfused"
    argument = f"a folder or a name on the hub ({default})"
    model_class = "ClapModel"

    @property
    def identity(self) -> str:
        return f"clap {self._identity} windows=1 temperature={self.temperature:.9g}"

    def _open(self, library: Any, where: str) -> Any:
        processor = loaded_from(where, library.ClapProcessor.from_pretrained)
        self._extract: Any = processor.feature_extractor
        # The text encoder counts its positions from two.
        self._longest = min(int(processor.tokenizer.model_max_length), self._longest - 2)
        return processor.tokenizer

    def embed_media(self, content: bytes) -> Vector:
        return self.embed_samples(decode(content, self.rate))

    def doubts_about(self, content: bytes) -> tuple[str, ...]:
        samples, doubts = decode_with_doubts(content, RATE, min(self.rate, RATE))
        return (*doubts, *silence_doubts(samples))

    @property
    def rate(self) -> int:
        return int(self._extract.sampling_rate)

    def embed_samples(self, samples: Vector) -> Vector:
        """The mean of the unit vectors of the windows of one channel at the model's rate."""
        import torch

        rate = self.rate
        windows = cut_windows(samples, int(self._extract.nb_max_samples))
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
class ClipMatch(Matcher):
    """Text and image in one space."""

    name = "clip"
    media_kinds = ("image",)
    about = "cosine of text and image by a CLIP model"
    default = "openai/clip-vit-base-patch32"
    argument = f"a folder or a name on the hub ({default})"
    model_class = "CLIPModel"

    def _open(self, library: Any, where: str) -> Any:
        self._prepare: Any = loaded_from(where, library.CLIPImageProcessorPil.from_pretrained)
        return loaded_from(where, library.AutoTokenizer.from_pretrained)

    def embed_media(self, content: bytes) -> Vector:
        return image_vector(self._model, self._prepare, content)

    def doubts_about(self, content: bytes) -> tuple[str, ...]:
        return image_doubts(content)[1]


def image_vector(model: Any, prepare: Any, content: bytes) -> Vector:
    import torch

    pixels = prepare(images=decode_image(content), return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        output = model.get_image_features(pixel_values=pixels.to(model.device))
    out: Vector = output.pooler_output[0].float().cpu().numpy()
    return out


def text_vector(model: Any, tokenize: Any, text: str, longest: int) -> tuple[Vector, str | None]:
    """The vector of a text by a contrastive model, and a remark where only its first ``longest`` tokens were read."""
    import torch

    tokens = tokenize(text, return_tensors="pt", truncation=True, max_length=longest)
    inputs = {name: tokens[name].to(model.device) for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        output = model.get_text_features(**inputs)
    token_count = len(tokenize(text, verbose=False)["input_ids"])
    remark = f"only the first {longest} tokens of the text were read" if token_count > longest else None
    return output.pooler_output[0].float().cpu().numpy(), remark


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


def unit(vector: Vector) -> Vector:
    """The vector with a length of 1; an error where it has none."""
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or length == 0.0:
        raise InputError("The model's vector is zero or not finite.", "Check the model's weights; try device=cpu.")
    return (vector / np.float32(length)).astype(np.float32)


def temperature_of(options: Mapping[str, str], model: Any) -> float:
    """The temperature the options ask for, or the inverse of the scale the model was trained with."""
    if "temperature" not in options:
        scale = model.logit_scale_a if hasattr(model, "logit_scale_a") else model.logit_scale
        return math.exp(-scale.item())
    return number_option(options, "temperature", 1.0, 0.0, above=True)
