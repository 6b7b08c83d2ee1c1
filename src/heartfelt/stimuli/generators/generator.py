"""What a generator must be able to do, and the registry of the kinds of generators that ``make.yaml`` can name.

A *kind* is known without loading anything: its settings are checked and its licence is shown before a model is built. A generator
that only has ``generate`` is enough; models that are faster in batches have ``generate_many`` too, and ``facts`` for the
provenance of every stimulus. One seed comes with every stimulus: the same prompt, settings and seed must make the same stimulus,
whatever else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from heartfelt.errors import HeartfeltError
from heartfelt.registry import Registry
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, Generator, StimulusPrompt

Where: TypeAlias = Literal["device", "cpu", "network", "here"]
"""Where a generator works: on a GPU or CPU with PyTorch, on a CPU (both may be another process or machine), behind a network, or on
this machine only."""


class GeneratorOutOfMemory(HeartfeltError):
    """A batch did not fit into memory: the runner halves the batch and continues."""

    def __init__(self, problem: str, fix: str = "Use smaller batches, half precision or a larger GPU.") -> None:
        super().__init__(problem, fix)


class CannotGenerate(HeartfeltError):
    """A generator that cannot work at all, whatever it is asked for: the run stops for its system."""


class NoStimulus(HeartfeltError):
    """A stimulus that cannot be made, whatever the seed: it is not tried again."""


class GenerationRefused(NoStimulus):
    """A stimulus that a service refuses to make: nothing is paid for it."""


class NotReached(HeartfeltError):
    """A service that could not be reached or was too busy: nothing is paid, and it may work later."""


@dataclass(frozen=True, slots=True)
class Licence:
    """The terms a model, and what it makes, may be used under."""

    name: str
    """Such as "CC BY-NC 4.0"; "not known" where nobody has looked it up."""
    url: str = ""
    commercial: bool | None = None
    """Whether commercial use is allowed; None where that is not known."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorFacts:
    """The provenance of what a generator makes."""

    model: str = ""
    revision: str = ""
    licence: str = ""
    licence_url: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What decided the result besides prompt and seed; JSON values. Never a key or a token."""
    hardware: str = ""
    weights_hash: str = ""


@runtime_checkable
class BatchGenerator(Generator, Protocol):
    """A generator that makes several stimuli at once."""

    @property
    def batch(self) -> int:
        """How many at once, at most."""

    def generate_many(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        """The stimuli in the order of the prompts; each depends on its own prompt and seed only.

        Raises :class:`GeneratorOutOfMemory` where the batch does not fit.
        """

    def facts(self) -> GeneratorFacts:
        """What is recorded with every stimulus."""

    def close(self) -> None:
        """Release what it holds."""


class GeneratorSettings(BaseModel):
    """A system's entry in ``make.yaml``; a kind of generator adds its own keys. An unknown key is a mistake.

    Settings are validated with the study folder in pydantic's context, so that a kind can resolve paths.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    operational: ClassVar[frozenset[str]] = frozenset(
        {"template", "templates", "attempts", "cost_each", "batch", "at_once", "timeout"}
    )
    """Keys that do not change what is made from a text and a seed; all others do, and a change of them is a new stimulus."""
    stated_later: ClassVar[frozenset[str]] = frozenset()
    """Keys that say what made a stimulus: stating them for the first time does not make it another one, changing them does."""
    inherited: ClassVar[frozenset[str]] = frozenset({"seconds", "size"})
    """Keys that are taken from the whole file where the system gives none."""

    generator: Annotated[str, Field(description="the kind of generator")]
    template: Annotated[str | None, Field(description="the text, with {intent} in it")] = None
    templates: Annotated[list[str] | None, Field(min_length=1, description="several texts per intent")] = None
    seconds: Annotated[float | None, Field(gt=0, le=3600, description="length of a clip")] = None
    size: Annotated[int | None, Field(ge=16, le=8192, description="pixels of an image's side")] = None
    suffix: Annotated[
        str | None, Field(pattern=r"^\.[A-Za-z0-9]{1,8}$", description="format of the files, such as .wav")
    ] = None
    attempts: Annotated[int | None, Field(ge=1, le=20, description="how often a stimulus is tried")] = None
    cost_each: Annotated[float | None, Field(ge=0, description="what one stimulus costs")] = None


S = TypeVar("S", bound=GeneratorSettings)


def no_licence(settings: GeneratorSettings) -> Licence | None:
    """For generators without a model of somebody else's."""
    del settings
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSurvey:
    """What a generator that takes stimuli from somewhere has, before anything is made."""

    missing: Mapping[str, str] = field(default_factory=dict)
    """Stimuli it has nothing for, and why."""
    surplus: tuple[str, ...] = ()
    """What it has that no stimulus asks for."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """A hash of what each stimulus is taken from; another hash is another stimulus."""
    provenance: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """What is stated about where each stimulus comes from, by columns of the manifest; it may be stated later, or corrected."""
    notes: tuple[str, ...] = ()
    """What a person should know about it."""


def nothing_to_check(settings: GeneratorSettings) -> None:
    """For generators that need nothing but their settings."""
    del settings


def no_survey(settings: GeneratorSettings, prompts: Sequence[StimulusPrompt]) -> SourceSurvey:
    """For generators that make what they are asked for."""
    del settings, prompts
    return SourceSurvey()


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorKind(Generic[S]):
    """One kind of generator: its settings, how to build it, and what is known before it is built."""

    name: str
    about: str
    """One line for people who choose."""
    settings: type[S]
    build: Callable[[S, str], Generator]
    """Make the generator for its settings on a device ("cpu", "cuda:0"); heavy libraries are imported here."""
    licence: Callable[[S], Licence | None] = no_licence
    """The licence of what the settings name, without loading it; None where nobody else's model is used."""
    where: Where = "device"
    check: Callable[[S], None] = nothing_to_check
    """Raise, with a fix, where something the generator needs is not there: a key, a program, a package; also by ``--dry-run``."""
    survey: Callable[[S, Sequence[StimulusPrompt]], SourceSurvey] = no_survey
    """Which stimuli there is something for; also run by ``--dry-run``."""
    retries: bool = True
    """Whether another seed can make another stimulus; a file that is silent stays silent."""
    at_once: int = 1
    """Batches under way at the same time, for generators that wait for others (``network`` and ``here``)."""


GENERATORS: Registry[GeneratorKind[GeneratorSettings]] = Registry(
    "generator",
    homes={
        "synth-music": "heartfelt.stimuli.generators.synth",
        "synth-voice": "heartfelt.stimuli.generators.synth",
        "synth-image": "heartfelt.stimuli.generators.synth",
        "folder": "heartfelt.stimuli.generators.folder",
        "command": "heartfelt.stimuli.generators.command",
        "http": "heartfelt.stimuli.generators.http",
        "python": "heartfelt.stimuli.generators.python",
        "musicgen": "heartfelt.stimuli.generators.models.musicgen",
        "text-to-speech": "heartfelt.stimuli.generators.models.text_to_speech",
        "audioldm2": "heartfelt.stimuli.generators.models.pipelines",
        "stable-audio": "heartfelt.stimuli.generators.models.pipelines",
        "text-to-image": "heartfelt.stimuli.generators.models.text_to_image",
    },
    plugins={"mustango": "heartfelt-mustango"},
)


def register(kind: GeneratorKind[S]) -> GeneratorKind[S]:
    GENERATORS.add(kind.name, kind)  # type: ignore[arg-type]  # its own settings are validated before they reach it
    return kind
