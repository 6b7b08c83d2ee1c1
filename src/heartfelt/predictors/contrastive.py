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

import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, MissingPartError
from heartfelt.media.image import decode_image
from heartfelt.media.sound import decode
from heartfelt.predictors.predictor import (
    NO_MEDIA,
    PREDICTORS,
    Ask,
    Case,
    Prediction,
    Predictor,
    PredictorInfo,
)
from heartfelt.predictors.store import Recent
from heartfelt.predictors.texts import answer_texts, general_text
from heartfelt.study.scale import Categories, FreeText, Points, Tags

T = TypeVar("T")
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

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        folder = Path(where).expanduser()
        # Other processes may work in another folder.
        self.where = str(folder.resolve()) if folder.is_dir() else where
        self.given = dict(options)
        self.temperature = 1.0
        self._texts: Recent[tuple[Vector, str | None]] = Recent()
        self._media: Recent[Vector] = Recent()

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Self:
        """Load the model."""
        return cls(argument or cls.default, options or {})

    def _load(self, where: str, kind: Any) -> None:
        """Load the model of a Transformers class, and what follows from it."""
        self.device = _device_of(self.given.get("device", "auto"))
        self._model: Any = _model_of(where, kind).to(self.device)
        self.temperature = temperature_of(self.given, self._model)
        self._identity = _identity_of(where, self._model)

    def __reduce__(self) -> tuple[type[Matcher], tuple[str, dict[str, str]], dict[str, str]]:
        return type(self), (self.where, self.given), {"spec": self.spec, "label": self.label}

    @abstractmethod
    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""

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

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Answer every question of every case, in order."""
        return [self._case(case) for case in cases]

    def _case(self, case: Case) -> list[Prediction]:
        if case.media is None:
            return [Prediction.failed(NO_MEDIA)] * len(case.asks)
        content = case.media.content
        vector = self._media.get(case.media.hash, lambda: _unit(self.embed_media(content)))
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

    name: ClassVar[str] = "clap"
    about: ClassVar[str] = "cosine of text and sound by a CLAP model"
    default: ClassVar[str] = "laion/clap-htsat-unfused"
    argument: ClassVar[str] = "a folder or a name on the hub (laion/clap-htsat-unfused)"

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        super().__init__(where, options)
        library = transformers_library()
        self._load(where, library.ClapModel)
        processor = _loaded(where, library.ClapProcessor.from_pretrained)
        self._extract: Any = processor.feature_extractor
        self._tokenize: Any = processor.tokenizer

    @property
    def identity(self) -> str:
        """The model's content and what the options change."""
        return f"clap {self._identity} windows=1 temperature={self.temperature:.9g}"

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""
        # The text encoder counts its positions from two.
        longest = min(
            int(self._tokenize.model_max_length), self._model.config.text_config.max_position_embeddings - 2
        )
        return _text_vector(self._model, self._tokenize, text, longest)

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

    name: ClassVar[str] = "clip"
    about: ClassVar[str] = "cosine of text and image by a CLIP model"
    default: ClassVar[str] = "openai/clip-vit-base-patch32"
    argument: ClassVar[str] = "a folder or a name on the hub (openai/clip-vit-base-patch32)"

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        super().__init__(where, options)
        library = transformers_library()
        self._load(where, library.CLIPModel)
        self._prepare: Any = _loaded(where, library.CLIPImageProcessorPil.from_pretrained)
        self._tokenize: Any = _loaded(where, library.AutoTokenizer.from_pretrained)

    @property
    def identity(self) -> str:
        """The model's content and what the options change."""
        return f"clip {self._identity} temperature={self.temperature:.9g}"

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""
        longest = int(self._model.config.text_config.max_position_embeddings)
        return _text_vector(self._model, self._tokenize, text, longest)

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
    given = options.get("temperature")
    if given is None:
        scale = model.logit_scale_a if hasattr(model, "logit_scale_a") else model.logit_scale
        return math.exp(-scale.item())
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"'{given}' is not a temperature.", "Give a number above zero, such as 0.01.")
    return value


def transformers_library() -> Any:
    """The library itself; its absence is an error that names the extra."""
    try:
        import torch  # noqa: F401  # only whether it is there
        import transformers
    except ImportError as error:
        raise MissingPartError(
            f"This predictor needs PyTorch and Transformers, and {error.name or 'a part of them'} is not installed.",
            "Install them with: pip install 'heartfelt[transformers]'",
        ) from error
    return transformers


def _loaded(where: str, load: Callable[[str], T]) -> T:
    """Call ``load`` with the folder or hub name; what goes wrong becomes a message with a fix."""
    folder = Path(where).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{where} is a file, not a folder with a model.", "Give the folder that holds it.")
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise InputError(
            f"{where} holds no model: it has no config.json.",
            "Give a folder written by save_pretrained, or a name on the hub such as 'laion/clap-htsat-unfused'.",
        )
    try:
        if not folder.is_dir():
            return load(where)
        with quiet():
            return load(str(folder))
    except Exception as error:  # the library raises errors of many kinds for a model it cannot load
        reason = str(error).strip().split("\n")[0][:300].rstrip(".")
        if folder.is_dir():
            raise InputError(
                f"The model in {where} does not load: {reason}.",
                "Check that the folder is complete and holds a model of this kind.",
            ) from error
        raise InputError(
            f"The model '{where}' is neither a folder here nor available from the hub: {reason}.",
            f"Check the name and the connection; or fetch it once where there is one ('hf download {where} "
            "--local-dir DIR') and give the folder.",
        ) from error


def _model_of(where: str, kind: Any) -> Any:
    """The model of one class, ready to answer; a folder that lacks some of its weights is refused."""

    def load(place: str) -> Any:
        config = Path(place) / "config.json"
        own = json.loads(config.read_bytes()).get("model_type") if config.is_file() else None
        if own not in {None, kind.config_class.model_type}:
            raise ValueError(f"it is a model of type '{own}', not '{kind.config_class.model_type}'")
        model, loading = kind.from_pretrained(place, output_loading_info=True)
        missing = sorted(loading["missing_keys"])
        if missing:
            raise ValueError(f"{len(missing)} of its weights are missing, such as {missing[0]}")
        return model.eval()

    return _loaded(where, load)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's bars for what takes no time; fetching from the hub keeps its own."""
    logging = transformers_library().utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _identity_of(where: str, model: Any) -> str:
    """What decides a model's answers: the content of its folder, or its name and revision on the hub."""
    folder = Path(where).expanduser()
    if not folder.is_dir():
        return f"{where}@{getattr(model.config, '_commit_hash', None) or 'unknown'}"
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".txt", ".safetensors", ".bin", ".model"}:
            with path.open("rb") as file:
                whole.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def _device_of(wanted: str) -> str:
    """Where the model shall run: ``auto`` takes a GPU where there is one."""
    import torch

    if wanted != "auto":
        try:
            return str(torch.zeros(0, device=wanted).device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(
                f"There is no device '{wanted}' here: {str(error).strip().splitlines()[0]}.",
                "Use device=auto, cpu or cuda.",
            ) from error
    return "cuda" if torch.cuda.is_available() else "cpu"


def _text_vector(model: Any, tokenize: Any, text: str, longest: int) -> tuple[Vector, str | None]:
    """A text's vector by a model's text encoder, and a remark where only a part of the text was read."""
    import torch

    tokens = tokenize(text, return_tensors="pt", truncation=True, max_length=longest)
    given = {name: tokens[name].to(model.device) for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        output = model.get_text_features(**given)
    whole = len(tokenize(text, verbose=False)["input_ids"])
    remark = f"only the first {longest} tokens of the text were read" if whole > longest else None
    return output.pooler_output[0].float().cpu().numpy(), remark
