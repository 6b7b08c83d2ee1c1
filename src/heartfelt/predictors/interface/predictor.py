"""What a predictor is: something that predicts, for a stimulus and a question, what people would answer.

A predictor is given cases (a stimulus with every question about it) and answers every question of every case, in order.
What it cannot answer is a prediction with a ``problem``, never a missing one. A predictor that meets a transient error raises
:class:`TransientError` and is asked again later; any other error of a case becomes that case's problem. Where only some
questions of a case met a transient error, their predictions carry ``retry_after`` and only they are asked again.

Where stimuli were judged together, a predictor that ``compares`` is given a case for every set, whose ``members`` are the stimuli;
any other is asked for a number for each stimulus, and sets are decided by the differences.

A predictor must survive pickling, so that other processes and machines can have their own copy: what cannot travel (a session,
a connection) is left behind and made again when it is first needed.
"""

from __future__ import annotations

import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.interface.calls import Call
from heartfelt.registry import Registry
from heartfelt.tables import LEDGER, Column, Contract

if TYPE_CHECKING:
    from heartfelt.labels import Benchmark
    from heartfelt.snapshot import Snapshot
    from heartfelt.study import Scale

NO_MEDIA = "the media file is missing"
FROM_LABELS = "from the other half of the stimuli"
"""How the note of a prediction begins that is made of labels of the same system or cell."""


def _column(name: str, about: str, dtype: type[pl.DataType] = pl.String, *, required: bool = True) -> Column:
    return Column(name=name, dtype=dtype, about=about, required=required, nullable=True)


PREDICTIONS = Contract(
    "predictions",
    "one row per item and predictor, whether it was answered or not",
    (
        Column(name="model", dtype=pl.String, about="the predictor, as it was requested"),
        Column(name="stimulus", dtype=pl.String, about="the stimulus id"),
        Column(name="question", dtype=pl.String, about="the question id"),
        _column("value", "the prediction on the question's scale, or its category's code", pl.Float64),
        _column("score", "a similarity or probability that is not on the scale", pl.Float64),
        _column("answer", "the predicted category, or the text"),
        _column("shares", "probabilities by category, as JSON"),
        _column("low", "lower bound the predictor gives", pl.Float64),
        _column("high", "upper bound the predictor gives", pl.Float64),
        _column("reason", "the predictor's own reason"),
        _column("note", "how it was made, such as out of fold"),
        _column("against", "the label to compare it with, where it is not the item's own", pl.Float64),
        Column(name="ok", dtype=pl.Boolean, about="whether there is a prediction"),
        _column("problem", "why there is none"),
        _column("flag", "what makes it doubtful, such as 'unlike training'; empty if nothing", required=False),
        _column("call", "the id of the request it was read from, in calls.parquet", required=False),
        _column("members", "of a set: the value of each stimulus, as JSON", required=False),
        _column(
            "orders",
            "of a pair that was judged in both orders: the value of whichever came first, in each order, as JSON",
            required=False,
        ),
        _column("samples", "of a trace: the samples in order, as JSON", required=False),
        _column("rate", "of a trace: samples per second", pl.Float64, required=False),
        _column("start", "of a trace: seconds to the first sample", pl.Float64, required=False),
        _column(
            "answer_sd",
            "of a file without a study: standard deviation of single people's answers around the value",
            pl.Float64,
            required=False,
        ),
        _column(
            "boxes",
            "where a detector saw what: tag, box (left, top, right, bottom as fractions) and confidence, as JSON",
            required=False,
        ),
        _column("repeats", "how many repeats of the question answered", pl.Int64, required=False),
        _column("spread", "standard deviation of the repeats' numbers", pl.Float64, required=False),
        _column("agreement", "share of the repeats that gave this answer", pl.Float64, required=False),
        Column(name="attempts", dtype=pl.Int64, about="how often it was asked"),
        _column("errors", "what earlier attempts met, as JSON", required=False),
        _column("seconds", "time its case took", pl.Float64),
    ),
    key=("model", "stimulus", "question"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question put to a predictor."""

    question: str
    scale: Scale
    text: str
    """What a model that matches text with media is given: the rubric, or a sentence that names what is asked about."""
    words: str = ""
    """The question as raters read it."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Facts about the question. ``media`` is always there: audio, speech or image. ``matches`` is ``prompt`` where raters judged
    the fit to the prompt: ``text`` is then the prompt, and the question is how well the media match it."""
    shown: str = ""
    """What raters were shown together with the stimulus: the written level or the prompt. Empty where nothing was."""
    none: bool = False
    """Whether ``heartfelt.study.scales.answer.NONE`` is an answer: there is nothing to answer (no face, no action)."""
    compared: bool = False
    """Whether raters compared stimuli, and a number is wanted for one of them: the larger is predicted to be preferred."""

    @classmethod
    def number(
        cls, question: str, low: float | None = None, high: float | None = None, *, text: str = "", media: str = ""
    ) -> Ask:
        """A number between two ends, or any number, as a predictor answers it about files that belong to no study."""
        from heartfelt.study.scales.scale import Numeric

        scale = Numeric(type="numeric", low=low, high=high)
        return cls(
            question=question,
            scale=scale,
            text=text or question,
            words=text or question,
            about={"media": media} if media else {},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What a prediction for this question may be called: the question, or the axis that a comparison is about."""
        axis = self.about.get("axis", "")
        return (self.question, axis) if axis and axis != self.question else (self.question,)


class Media:
    """The media file of a case: read once, however many ask for it. Only the path travels to other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[type[Media], tuple[Path]]:
        return type(self), (self.path,)

    @cached_property
    def content(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def base64(self) -> str:
        return base64.b64encode(self.content).decode("ascii")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content: the same content under another name has the same hash."""
        return hashlib.sha256(self.content).hexdigest()

    def release(self) -> None:
        """Drop the bytes from memory; the hash stays."""
        for name in ("content", "base64"):
            self.__dict__.pop(name, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A stimulus and every question about it."""

    stimulus: str
    asks: tuple[Ask, ...]
    media: Media | None = None
    """None where the file is missing; ``facts['path']`` then says where it was looked for."""
    system: str | None = None
    intent: str | None = None
    prompt: str | None = None
    """The text the stimulus was made from."""
    facts: Mapping[str, str] = field(default_factory=dict)
    members: tuple[Case, ...] = ()
    """The stimuli that are judged together; ``stimulus`` is then the name of the set. Empty for a single stimulus."""
    together: tuple[Ask, ...] = ()
    """Every question about the stimulus in this run, where ``asks`` is only what is still open; empty if that is all."""
    reference: Media | None = None
    """The undistorted original that the stimulus is compared with, for predictors that need one; None where none is known."""
    repeat: int = 0
    """Which repeat of the questions this is, counted from 0: a predictor whose answers vary is asked anew for each."""
    problem: str | None = None
    """Why nothing can be asked about it; None where that is not known beforehand."""

    @property
    def media_file(self) -> Media:
        """The media; an error where the file is missing."""
        if self.media is None:
            raise InputError(NO_MEDIA, "Put the file where the stimuli's table says it is.")
        return self.media

    @property
    def parts(self) -> tuple[Case, ...]:
        """The stimuli of the case: the members of a set, or the one stimulus."""
        return self.members or (self,)

    @property
    def files(self) -> tuple[Media, ...]:
        """The media of the case that are there, references included."""
        files = (file for part in self.parts for file in (part.media, part.reference))
        return tuple(file for file in files if file is not None)

    @property
    def all_asks(self) -> tuple[Ask, ...]:
        """Every question about the stimulus, answered already or not."""
        return self.together or self.asks

    def only(self, indices: Sequence[int]) -> Case:
        """The case with only some of its questions, by their places."""
        if len(indices) == len(self.asks):
            return self
        return replace(self, asks=tuple(self.asks[index] for index in indices), together=self.all_asks)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a predictor answers to one question; with a ``problem``, why there is no answer."""

    value: float | None = None
    _: KW_ONLY
    score: float | None = None
    answer: str | None = None
    shares: Mapping[str, float] | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    note: str | None = None
    against: float | None = None
    problem: str | None = None
    members: Mapping[str, float] | None = None
    """Of a set: each stimulus's value on the scale (chosen 1 or not 0, grade, rank, best 1 or worst -1). Probabilities of being
    chosen are ``shares``, by stimulus and ``tie``; what is missing to 1 is the probability of a tie."""
    orders: tuple[float, float] | None = None
    """Of a pair that was judged in both orders: the value of whichever came first in each of the two."""
    samples: tuple[float | None, ...] | None = None
    """Of a trace: the samples, None for a gap."""
    rate: float | None = None
    """Of a trace: samples per second; None where samples are per beat or bar."""
    start: float | None = None
    """Of a trace: seconds from the start of the clip to the first sample."""
    answer_sd: float | None = None
    """The standard deviation of single people's answers around the value."""
    boxes: tuple[Mapping[str, str | float | Sequence[float]], ...] | None = None
    """Where a detector saw what: ``tag``, ``box`` (left, top, right, bottom as fractions of the image) and ``confidence``."""
    repeats: int | None = None
    """How many repeats of the question answered, where it was asked several times and their answers are combined here."""
    spread: float | None = None
    """Standard deviation of the repeats' numbers."""
    agreement: float | None = None
    """Share of the repeats that gave this answer."""
    flag: str | None = None
    """What makes it doubtful, in a word or two that can be filtered by; ``note`` says more."""
    call: Call | None = field(default=None, compare=False)
    """The request to a server it was read from."""
    second_call: Call | None = field(default=None, compare=False)
    """The request with the two stimuli of a pair the other way round."""
    lost_calls: tuple[Call, ...] = field(default=(), compare=False)
    """Requests that may have been paid for and whose answers were not used: cut off, too late, or the one order of a pair."""
    errors: tuple[str, ...] | None = field(default=None, compare=False)
    """What earlier attempts met, in order: transient errors after which it was asked again."""
    retry_after: float | None = None
    """Ask this question again after this many seconds: it met a transient error (``problem``), or was not asked yet."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every request made for it, each once."""
        requests = (self.call, self.second_call, *self.lost_calls)
        return tuple({call.id: call for call in reversed(requests) if call is not None}.values())[::-1]

    @classmethod
    def failed(cls, problem: str) -> Prediction:
        """No prediction, and why."""
        return cls(problem=problem)

    @classmethod
    def later(
        cls, problem: str | None = None, after: float | None = None, lost_calls: tuple[Call, ...] = ()
    ) -> Prediction:
        """To be asked again: it met a transient error or (without a problem) was not asked yet."""
        return cls(problem=problem, retry_after=after or 0.0, lost_calls=lost_calls)


class TransientError(HeartfeltError):
    """It may work if asked again: too many requests, a server that is starting, a connection that broke."""

    def __init__(
        self,
        problem: str,
        fix: str = "Ask again later.",
        *,
        after: float | None = None,
        status: int | None = None,
        begun: bool = False,
    ) -> None:
        super().__init__(problem, fix)
        self.begun = begun
        """Whether the other side had received the request and may have worked on it, so that it may be paid for."""
        self.lost_calls: tuple[Call, ...] = ()
        """The records of such requests."""
        self.after = after
        """Seconds to wait, where the other side gave them."""
        self.status = status
        """The HTTP status, where there was an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictorInfo:
    """Which model made some predictions: a name for people, and a version and a hash to find the same model again."""

    spec: str
    """The text it was requested with."""
    display_name: str
    """A short name for tables and figures."""
    predictor: str
    """The registered predictor."""
    model: str | None = None
    """The model behind it: its name on a hub or a server, its own name, or its file."""
    version: str | None = None
    """The version of that model, where it is known."""
    hash: str | None = None
    """SHA-256 of the weights, the folder or the file, where they are available."""


class Predictor(ABC):
    """One predictor, ready to be asked. Made by the registered class's ``make``."""

    name: ClassVar[str]
    about: ClassVar[str]
    argument: ClassVar[str] = ""
    """What the ARG of ``NAME:ARG`` means; empty where there is none."""
    extra: ClassVar[str] = ""
    """The extra that it needs; empty where the base install has everything."""
    options: ClassVar[Mapping[str, str]] = {}
    """The further options ``make`` understands, each with a line of explanation."""
    limits: str = ""
    """What it cannot see, in words for people who verify its drafts; empty where there is nothing to say."""
    media_kinds: tuple[str, ...] = ()
    """The files it can read, ``audio`` (music and speech) and ``image``; empty where that depends on what it is given."""
    needs_media: bool = True
    """Whether it looks at the media; a case without them is then not put to it."""
    needs_reference: bool = False
    """Whether it compares a stimulus with its undistorted original (``Case.reference``)."""
    batch: int = 1
    """How many cases it prefers at once."""
    compares: bool = False
    """Whether it judges sets as a whole; if not, it is asked about each stimulus, and sets are decided by the differences."""
    at_once: int = 1
    """How many batches may run at the same time."""
    reach: Literal["here", "network"] = "here"
    metered: bool = True
    """Whether what it asks over a network is paid for, by request or token, so that a budget applies."""
    cacheable: bool = True
    """Whether its identity decides its answers for good. If not (a server, a function), no cache keeps them beyond a run."""
    spec: str = ""
    """The text it was requested with, such as ``endpoint:http://localhost:8000``."""
    label: str = ""
    """The name the user gave it, as in ``my model=file:predictions.csv``; predictions carry it."""

    def __init__(self, argument: str = "", options: Mapping[str, str] | None = None) -> None:
        del argument, options

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Self:
        """Make one from the text after the colon and further options; raise with a fix where it cannot be made."""
        return cls(argument, options or {})

    @classmethod
    def kind_for(cls, argument: str) -> type[Predictor]:
        """The class to make for an argument, where one name stands for several kinds."""
        del argument
        return cls

    @property
    def interval_confidence(self) -> float | None:
        """The share of new stimuli that its prediction intervals cover; None where it gives none or does not say."""
        return None

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that decides its answers (weights, version, prompt, settings): the cache is keyed by it."""

    @property
    def repeatable(self) -> bool:
        """Whether the same question may be answered differently when asked again: by a server or a function."""
        return self.reach == "network" or not self.cacheable

    @property
    def info(self) -> PredictorInfo:
        """Which model this is, with a name for people."""
        info = self.describe()
        return replace(info, display_name=self.label) if self.label else info

    def describe(self) -> PredictorInfo:
        """What is known of the model behind it."""
        spec = self.spec or self.name
        return PredictorInfo(spec=spec, display_name=spec, predictor=self.name)

    def request_digest(self, case: Case, ask: Ask) -> str:
        """A hash of what is sent with a question, besides the question itself, and decides its answer; empty for nothing."""
        del case, ask
        return ""

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """What a request of that size costs; None where that is not known."""
        del input_tokens, output_tokens
        return None

    def reuse(self, calls: Sequence[Call]) -> None:
        """Take the answers of these requests, which were paid for and not used yet, instead of sending them again."""
        del calls

    def calls_under_way(self, thread: int | None) -> tuple[Call, ...]:
        """The requests about the case that a thread is at work on, which may be paid for, if it is waited for no longer."""
        del thread
        return ()

    def file_asks(self) -> Sequence[Ask]:
        """The questions it answers about files that belong to no study; empty where it must be told what is asked."""
        return ()

    def separate(self, asks: Sequence[Ask]) -> Sequence[Predictor]:
        """The predictors it stands for, where it stands for several (a file with several metrics); else itself."""
        del asks
        return [self]

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Look at what people answered, where the predictor is made of it. An item's own label must not be used for it."""
        del source, labels

    def expect(self, cases: Sequence[Case]) -> None:
        """Look over everything that will be asked, before any of it is."""
        del cases

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Answer every question of every case, in order; by default case by case."""
        return [self.predict_case(case) for case in cases]

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        """Answer every question of one case, in order; by default one at a time."""
        return [self.predict_one(case, ask) for ask in case.asks]

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """Answer one question. A predictor implements this or one of the two above."""
        raise NotImplementedError

    def ledger(self) -> pl.DataFrame:
        """What it holds and could not use, such as rows of a file that belong to no stimulus."""
        return LEDGER.empty()

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Release what it holds; asked once more, it acquires it again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_HOMES = {
    "endpoint": "heartfelt.predictors.hosted.endpoint",
    "file": "heartfelt.predictors.files.file",
    **dict.fromkeys(("sham", "constant", "system-mean", "intent", "human"), "heartfelt.predictors.baselines"),
    **dict.fromkeys(("first", "measure"), "heartfelt.predictors.measures.simple_baselines"),
    "call": "heartfelt.predictors.interface.function",
    "tagger": "heartfelt.predictors.measures.pictures.tagger",
    "clap": "heartfelt.predictors.measures.contrastive",
    "clip": "heartfelt.predictors.measures.contrastive",
    **dict.fromkeys(
        ("pickscore", "hpsv2", "imagereward", "aesthetic"), "heartfelt.predictors.measures.pictures.image_scores"
    ),
    **dict.fromkeys(
        ("utmos", "audiobox-aesthetics", "scoreq", "nisqa"), "heartfelt.predictors.measures.audio.sound_scores"
    ),
    "chat": "heartfelt.predictors.hosted.chat",
    "pixels": "heartfelt.predictors.measures.pictures.pixels",
    "objects": "heartfelt.predictors.measures.pictures.objects",
    **dict.fromkeys(("faces", "expressions"), "heartfelt.predictors.measures.pictures.faces"),
    "speech-mos": "heartfelt.predictors.measures.audio.speech_mos",
    "brisque": "heartfelt.predictors.measures.metrics",
    **dict.fromkeys(("speech-activity", "notes", "pitch", "music-tags"), "heartfelt.predictors.measures.audio.sounds"),
    **dict.fromkeys(("stoi", "visqol"), "heartfelt.predictors.measures.audio.against_reference"),
    "trained": "heartfelt.predictors.trained.predictor",
    "valence-arousal": "heartfelt.predictors.trained.valence_arousal",
}
_INSTEAD = (
    "Put it behind a server and use 'endpoint:URL' or 'chat:MODEL@URL', or write its numbers to a table and use 'file:PATH'; "
    "see docs/how-to/own-predictor.md."
)
_REFUSED = {
    "q-align": (
        "Q-Align (OneAlign) runs only with Python code from the hub, and heartfelt never runs such code.",
        _INSTEAD,
    ),
    "utmosv2": ("UTMOSv2 is on no package index: its code is only on GitHub (sarulab-speech/UTMOSv2).", _INSTEAD),
    "aesthetic-v2-5": (
        "The code of aesthetic-predictor-v2-5 is under the AGPL, which heartfelt (Apache-2.0) does not build on.",
        f"Use 'aesthetic', LAION's predictor. {_INSTEAD}",
    ),
}
PREDICTORS: Registry[type[Predictor]] = Registry("predictor", homes=_HOMES, refused=_REFUSED)
