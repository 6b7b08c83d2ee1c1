"""What predictors of measured scores share: every file is measured once, and each score is an answer on a question's scale.

A question whose id is the name of a score (as for files without a study) gets the score itself. Any other question gets the score
the predictor was made for, the larger the better: a score with two ends is moved linearly onto points and numbers with two
ends, numbers without ends get it as it is, and scores without ends are answered off the scale (``score``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.answers.scales import moved_linearly
from heartfelt.predictors.execution.store import Recent
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.measures.images import Networks
from heartfelt.predictors.weights import Model
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Numeric

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MetricScore:
    """A number that a metric gives."""

    about: str
    worst: float | None = None
    best: float | None = None
    """The end that stands for the best answer; below ``worst`` where less is better. None where the score has no ends."""

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.worst is None or self.best is None else (self.worst, self.best)

    def ask(self, name: str, media: str) -> Ask:
        return Ask.number(name, text=self.about, media=media)


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """The scores of one file by name; None for a score it does not have."""

    scores: Mapping[str, float | None]
    warnings: tuple[str, ...] = ()


class MeasuringPredictor(Predictor, Generic[T]):
    """Looks at each file once; several threads may ask."""

    revision: ClassVar[int] = 1

    def __init__(self, argument: str, options: Mapping[str, str], *networks: str) -> None:
        del argument, options
        self._networks = Networks(*networks) if networks else None
        self._seen: Recent[T] = Recent()

    @property
    def identity(self) -> str:
        networks = f" of {self._networks.identity}" if self._networks else ""
        return f"{self.name} {self.revision} {self._settings()}{networks}"

    def _settings(self) -> str:
        """What arguments and options change, in a line."""
        return ""

    def network(self, name: str = "") -> Model:
        """A network, loaded (and pulled if necessary) when it is first needed; the only one by default."""
        assert self._networks is not None  # only those made with networks ask
        return self._networks[name or self._networks.names[0]]

    def describe(self) -> PredictorInfo:
        from heartfelt import __version__

        info = super().describe()
        if self._networks is None:
            return replace(info, model=self.name, version=__version__)
        return self._networks.described(info)


class MetricPredictor(MeasuringPredictor[MeasuredFile]):
    """Scores of a file, one of which answers a study's questions."""

    scores: ClassVar[Mapping[str, MetricScore]]
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Arguments that stand for several scores."""

    def __init__(self, argument: str, options: Mapping[str, str], *networks: str) -> None:
        super().__init__(argument, options, *networks)
        choices = {"": tuple(self.scores), **{name: (name,) for name in self.scores}, **self.groups}
        if argument not in choices:
            raise InputError(
                f"No score of {self.name} is called '{argument}'.",
                suggestion(argument, [name for name in choices if name], "Known scores"),
            )
        self.answers = choices[argument]
        """The scores it gives about files; a study's questions are answered with the first."""

    def _settings(self) -> str:
        return " ".join(self.answers)

    def file_asks(self) -> Sequence[Ask]:
        return [self.scores[name].ask(name, self.media_kinds[0]) for name in self.answers]

    @abstractmethod
    def measure(self, case: Case, score: str) -> MeasuredFile:
        """The scores of a case, this one among them."""

    def key(self, case: Case, score: str) -> str:
        """What decides a measurement: the same key is not measured twice."""
        del score
        return " ".join(file.hash for file in case.files)

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        return [self._answer(case, ask) for ask in case.asks]

    def _answer(self, case: Case, ask: Ask) -> Prediction:
        name = ask.question if ask.question in self.answers else self.answers[0]
        case.media_file  # noqa: B018  # raises where the file is missing
        measured = self._seen.get(self.key(case, name), lambda: self.measure(case, name))
        return on_scale(measured.scores.get(name), self.scores[name], ask, name, measured.warnings)


def on_scale(value: float | None, score: MetricScore, ask: Ask, name: str, warnings: Sequence[str] = ()) -> Prediction:
    if value is None:
        return Prediction.failed("; ".join(warnings) or f"{name} is not defined for this file")
    note, bounds, ends = "; ".join(warnings) or None, ask.scale.bounds(), score.ends
    if bounds is None and ask.question == name and isinstance(ask.scale, Numeric):
        return Prediction(value=value, note=note)
    if not _takes_numbers(ask.scale):
        between = "" if ends is None else " between two ends"
        return Prediction.failed(f"{name} is a number{between}, and this question has another kind of answer")
    if ends is None:
        return Prediction(score=value, note=note)
    worst, best = ends
    if bounds is None:
        return Prediction(value=value if best > worst else worst + best - value, note=note)
    return moved_linearly(value, ends, bounds, "the model gave", warnings)


def _takes_numbers(scale: Scale) -> bool:
    """Whether any number is an answer, or any between two ends; not where there is one end, or categories."""
    unbounded = isinstance(scale, Numeric) and scale.low is scale.high is None
    return not scale.labels() and (unbounded or scale.bounds() is not None)


@PREDICTORS.register("brisque")
class Brisque(MetricPredictor):
    """How natural, without noise, blur or blocks, an image looks."""

    name = "brisque"
    extra = "predict"
    about = "distortion of images (noise, blur, compression) without a reference, by BRISQUE"
    limits = "It knows photographs: style, drawing and content count as distortion or go unseen."
    media_kinds = ("image",)
    scores: ClassVar[Mapping[str, MetricScore]] = {"brisque": MetricScore("BRISQUE: 0 natural, 100 distorted", 100, 0)}

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options, "brisque")

    def measure(self, case: Case, score: str) -> MeasuredFile:
        from heartfelt.media.images.image import decode_image, image_doubts
        from heartfelt.predictors.networks.images.brisque import brisque

        del score
        content = case.media_file.content
        image = decode_image(content, name=case.media_file.path.name)
        return MeasuredFile({"brisque": brisque(image, model=self.network())}, image_doubts(content)[1])
