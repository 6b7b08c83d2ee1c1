"""What predictors that look at images share: every image is decoded once for all questions about it, several at a time."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from heartfelt.errors import HeartfeltError
from heartfelt.extras import missing_package
from heartfelt.media.images.image import decode_image
from heartfelt.predictors.execution.store import Recent
from heartfelt.predictors.execution.work import error_line
from heartfelt.predictors.interface.predictor import Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.weights import MODELS, Model, load_model

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")


class ImagePredictor(Predictor, Generic[T]):
    """Looks at each image once and answers every question from what was seen."""

    batch = 16
    media_kinds = ("image",)

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        del argument, options
        self._seen: Recent[T] = Recent()

    @abstractmethod
    def look(self, image: Image) -> T:
        """Everything that is needed of an image, upright and in RGB."""

    @abstractmethod
    def answer(self, measured: T, ask: Ask) -> Prediction:
        """The answer to a question."""

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        # No more than eight: the largest images take a quarter of a gigabyte each.
        workers = min(len(cases), os.cpu_count() or 1, 8)
        if workers < 2:
            return [self.predict_case(case) for case in cases]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(self.predict_case, cases))

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        media = case.media_file

        def look() -> T:
            return self.look(decode_image(media.content, name=media.path.name))

        try:
            looked = self._seen.get(media.hash, look)
        except HeartfeltError as error:
            return [Prediction.failed(error_line(error))] * len(case.asks)
        return [self.answer(looked, ask) for ask in case.asks]


def _is_missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:
        return True


class Networks:
    """Models that are loaded, and pulled if necessary, when they are first needed; an error is not met twice."""

    def __init__(self, *names: str) -> None:
        problem = missing_package("onnxruntime") if _is_missing("onnxruntime") else None
        if problem is not None:
            raise problem
        self.names = names
        self._lock = Lock()
        self._loaded: dict[str, Model | HeartfeltError] = {}

    def __reduce__(self) -> tuple[type[Networks], tuple[str, ...]]:
        return type(self), self.names

    @property
    def identity(self) -> str:
        return ", ".join(MODELS[name].identity for name in self.names)

    def described(self, info: PredictorInfo) -> PredictorInfo:
        """``info`` with the networks, the versions of the packages they come from, and the hash of the last one's."""
        parts = [MODELS[name] for name in self.names]
        versions = ", ".join(dict.fromkeys(part.requirement for part in parts))
        return replace(info, model=" + ".join(self.names), version=versions, hash=parts[-1].sha256)

    def __getitem__(self, name: str) -> Model:
        with self._lock:
            if name not in self._loaded:
                try:
                    self._loaded[name] = load_model(name)
                except HeartfeltError as error:
                    self._loaded[name] = error
        loaded = self._loaded[name]
        if isinstance(loaded, HeartfeltError):
            raise loaded
        return loaded


class NetworkPredictor(ImagePredictor[T]):
    """Looks at images through networks."""

    _networks: Networks

    def describe(self) -> PredictorInfo:
        return self._networks.described(super().describe())
