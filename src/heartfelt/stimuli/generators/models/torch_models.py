"""What all generators that run a PyTorch model here share: settings, weights, precision, seeds, memory and provenance.

Every stimulus has its own random generator, on the CPU whatever the model runs on: the noise is the same on every machine and in
every batch. What a model computes from it can differ in the last bits between kinds of hardware and between batch sizes.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import logging
import platform
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from heartfelt.errors import InputError, MissingPartError
from heartfelt.extras import install_command
from heartfelt.files import sha256_of
from heartfelt.media.audio import Audio
from heartfelt.predictors.weights import hub_folder
from heartfelt.predictors.weights.network import hub_access
from heartfelt.stimuli.generators.generator import (
    CannotGenerate,
    GeneratorFacts,
    GeneratorOutOfMemory,
    GeneratorSettings,
    Licence,
)
from heartfelt.stimuli.generators.models.known_licences import licence_of
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt

T = TypeVar("T")
NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
"""How PyTorch phrases it where the exception's type does not say so."""


class Sampling(BaseModel):
    """How a model samples: the keys under ``settings``. An unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class ModelSettings(GeneratorSettings):
    """A system that is a model: which, how precisely and how many stimuli at once."""

    operational: ClassVar[frozenset[str]] = GeneratorSettings.operational | {"offload"}

    model: Annotated[str, Field(min_length=1, description="a name on the hub, or a folder")]
    revision: Annotated[str | None, Field(description="a branch, tag or commit of the hub")] = None
    batch: Annotated[int, Field(ge=1, le=512, description="stimuli at once")] = 4
    precision: Annotated[
        Literal["auto", "half", "bfloat16", "full"],
        Field(description="of the weights; auto: half (or bfloat16) on a GPU, full on a CPU"),
    ] = "auto"
    offload: Annotated[
        Literal["none", "model", "sequential"],
        Field(description="parts of the model wait in the computer's memory instead of the GPU's"),
    ] = "none"
    _home: Path = PrivateAttr(default_factory=Path)

    def model_post_init(self, context: Any) -> None:
        """Remember the study's folder, which relative paths start from."""
        self._home = Path((context or {}).get("folder", ""))

    def located(self, name: str) -> str:
        """A file or folder by its path, where there is one; any other name as it is."""
        path = self._home / Path(name).expanduser()
        return str(path) if path.exists() else name


def model_licence(settings: ModelSettings) -> Licence:
    return licence_of(settings.model)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model's folder. ``revision`` is the commit it was fetched at; a folder given by its path has a hash instead."""

    name: str
    folder: Path
    revision: str = ""
    content: str = ""

    def described(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            described: dict[str, Any] = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise CannotGenerate(
                f"{self.name} holds no model for this generator: it has no readable {name}.",
                "Give a folder written by save_pretrained, or the model's name on the hub.",
            ) from error
        return described


def library(name: str) -> Any:
    """A library of the extra ``generate``; its absence is an error that names the extra."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPartError(
            f"This generator needs {name}, and {error.name or 'a part of it'} is not installed.",
            f"Install what generators need: {install_command('generate')}",
        ) from error


def weights_of(name: str, revision: str | None = None, *, pipeline: bool = False) -> ModelFolder:
    """Where a model's files are: a folder, or the hub's cache, fetched on first use. ``pipeline``: one of Diffusers."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise CannotGenerate(
                f"{name} is a folder, and folders have no revision '{revision}'.",
                "Leave revision out, or give a name on the hub.",
            )
        return ModelFolder(name, folder.resolve(), content=_content_of(folder))
    if folder.exists() or name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise CannotGenerate(
            f"No model's folder is at {name}.", "Give a folder, or a name on the hub such as owner/name."
        )
    with listening("diffusers"):
        fetch = library("diffusers").DiffusionPipeline.download if pipeline else None
        model_folder = hub_folder(name, revision, fetch)
    return ModelFolder(name, model_folder, model_folder.name if model_folder.parent.name == "snapshots" else "")


def _content_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{sha256_of(path)}\n".encode())
    return digest.hexdigest()


class _Messages(logging.Handler):
    """What a library logs, collected instead of shown."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def listening(*names: str) -> Iterator[list[str]]:
    """Collect the warnings that libraries log, and show neither these nor their progress bars."""
    messages = _Messages()
    loggers = [logging.getLogger(name) for name in names]
    before = [(list(logger.handlers), logger.level) for logger in loggers]
    utilities = [library(f"{name}.utils.logging") for name in names]
    shown = [utility.is_progress_bar_enabled() for utility in utilities]
    try:
        for logger, utility in zip(loggers, utilities, strict=True):
            logger.handlers, logger.level = [messages], logging.WARNING
            utility.disable_progress_bar()
        with warnings.catch_warnings():
            # What libraries tell each other about their future is not for people who generate stimuli.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield messages.texts
    finally:
        for logger, (handlers, level), utility, bar in zip(loggers, before, utilities, shown, strict=True):
            logger.handlers, logger.level = handlers, level
            if bar:
                utility.enable_progress_bar()


def loaded(weights: ModelFolder, load: Callable[[str], T]) -> T:
    """Call ``load`` with the model's folder; a model that does not load, or only in part, is an error with a fix."""
    fix = "Check that the folder is complete and that the generator fits the model."
    try:
        with hub_access(str(weights.folder)), listening("transformers", "diffusers") as messages:
            out = load(str(weights.folder))
    except ImportError as error:
        raise MissingPartError(
            f"{weights.name} needs a package that is not installed: {_first_line(error)}.",
            f"Install it in the same environment; {install_command('generate')} brings what most models need.",
        ) from error
    except Exception as error:  # the libraries raise errors of many kinds for a model they cannot load
        raise CannotGenerate(f"The model {weights.name} does not load: {_first_line(error)}.", fix) from error
    incomplete = [text for text in messages if "newly initialized" in text]
    if incomplete:
        raise CannotGenerate(f"Some weights of {weights.name} are missing, so it would make noise.", fix)
    return out


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300].rstrip(".")


def dtype_of(settings: ModelSettings, device: str, preferred: str = "float16") -> Any:
    """The type of the weights: ``preferred`` where ``auto`` meets a GPU."""
    torch = library("torch")
    on_cpu = device.startswith("cpu")
    if settings.precision == "half" and on_cpu:
        raise CannotGenerate(
            "Half precision needs a GPU, and this model runs on the CPU.", "Use precision: bfloat16 or full."
        )
    names = {"half": "float16", "bfloat16": "bfloat16", "full": "float32"}
    return getattr(torch, names.get(settings.precision, "float32" if on_cpu else preferred))


def within_memory(count: int, device: str, work: Callable[[], T]) -> T:
    """Do the work; where it needs too much memory, release what it held and raise :class:`GeneratorOutOfMemory`."""
    torch = library("torch")
    try:
        with torch.no_grad():
            return work()
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        is_certain = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not is_certain and not any(text in str(error).lower() for text in NO_MEMORY):
            raise
    # Raised outside the handler, so that no traceback holds on to the tensors.
    release(device)
    stimuli = "one stimulus" if count == 1 else f"{count} stimuli at once"
    raise GeneratorOutOfMemory(f"The memory of {device} is too small for {stimuli}.")


def release(device: str) -> None:
    gc.collect()
    if device.startswith("cuda"):
        library("torch").cuda.empty_cache()


def generator_of(seed: int) -> Any:
    return library("torch").Generator("cpu").manual_seed(seed % 2**63)


@dataclass(frozen=True, slots=True)
class Unusable:
    """What a model made instead of a stimulus; saving it raises with the reason."""

    kind: str
    problem: str
    fix: str = "Try another seed, or another wording of the prompt."

    @classmethod
    def not_finite(cls, kind: str, parts: str) -> Unusable:
        """What overflowed."""
        problem = f"The model's {parts} are not finite numbers."
        return cls(kind, problem, "Use precision: full or bfloat16; half precision overflows in some models.")

    def save(self, path: Path | str) -> Path:
        """Raise: there is nothing to save."""
        del path
        raise InputError(self.problem, self.fix)


def clip_of(samples: Any, rate: int, seconds: float | None = None) -> GeneratedMedium:
    """A clip of a tensor shaped (frames,) or (channels, frames), cut to ``seconds``.

    Where the samples pass full scale, the whole clip is turned down until they do not; nothing is clipped.
    """
    array: np.ndarray[Any, np.dtype[np.float32]] = samples.detach().float().cpu().numpy()
    array = np.ascontiguousarray(np.atleast_2d(array).T, dtype=np.float32)
    if seconds is not None:
        array = array[: round(seconds * rate)]
    if not array.size:
        return Unusable("audio", "The model made a clip without samples.")
    if not np.isfinite(array).all():
        return Unusable.not_finite("audio", "samples")
    peak = float(np.abs(array).max())
    return Audio(array / np.float32(peak) if peak > 1.0 else array, rate)


def hardware_of(device: str) -> str:
    if device.startswith("cuda"):
        return str(library("torch").cuda.get_device_name(device))
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


class ModelGenerator(ABC):
    """A generator around a model. A class says how to load it and how to render a batch."""

    kind: ClassVar[str] = "audio"
    suffix: ClassVar[str] = ".flac"
    systems: tuple[str, ...] = ()
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    pipeline: ClassVar[bool] = False
    """Whether the model is a pipeline of Diffusers."""
    dtype: Any
    """PyTorch's type of the weights."""

    def __init__(self, settings: ModelSettings, device: str) -> None:
        for name in self.libraries:
            library(name)
        self.given = settings
        self.device = device
        self.weights = weights_of(settings.located(settings.model), settings.revision, pipeline=self.pipeline)
        if settings.offload != "none" and device.startswith("cpu"):
            raise CannotGenerate(
                "offload moves parts of a model off a GPU, and this model runs on the CPU.",
                "Leave offload out, or run on a GPU.",
            )
        with listening("transformers", *({"diffusers"} & set(self.libraries))):
            self._load()

    @property
    def batch(self) -> int:
        """How many stimuli are made at once, at most."""
        return self.given.batch

    @abstractmethod
    def _load(self) -> None:
        """Load the model and place it on the device."""

    @abstractmethod
    def _render(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        """The stimuli of a batch of prompts that are alike."""

    def _alike(self, prompt: StimulusPrompt) -> Hashable:
        """Prompts that may share a batch have the same value: those that a model's padding would mix have different ones."""
        del prompt
        return None

    def _refusal(self, prompt: StimulusPrompt) -> Unusable | None:
        """Why nothing is made from a prompt, where that is so."""
        del prompt
        return None

    @abstractmethod
    def _sampling(self) -> Mapping[str, object]:
        """What decided the result besides prompt, seed and precision."""

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> GeneratedMedium:
        return self.generate_many([prompt], [seed])[0]

    def generate_many(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        groups: dict[Hashable, list[int]] = {}
        out: dict[int, GeneratedMedium] = {}
        for index, prompt in enumerate(prompts):
            refusal = self._refusal(prompt)
            if refusal is None:
                groups.setdefault(self._alike(prompt), []).append(index)
            else:
                out[index] = refusal
        for indices in groups.values():
            chosen, chosen_seeds = (
                [prompts[position] for position in indices],
                [seeds[position] for position in indices],
            )
            media = within_memory(len(indices), self.device, lambda: self._render(chosen, chosen_seeds))  # noqa: B023 - called at once
            out |= zip(indices, media, strict=True)
        return [out[position] for position in range(len(prompts))]

    @cached_property
    def _facts(self) -> GeneratorFacts:
        licence = licence_of(self.given.model)
        settings = {
            **self._sampling(),
            "precision": str(self.dtype).removeprefix("torch."),
            "libraries": {name: str(library(name).__version__) for name in self.libraries},
        }
        return GeneratorFacts(
            model=self.weights.folder.name if self.weights.content else self.weights.name,
            revision=self.weights.revision,
            licence=licence.name,
            licence_url=licence.url,
            settings=settings,
            hardware=hardware_of(self.device),
            weights_hash=self.weights.content,
        )

    def facts(self) -> GeneratorFacts:
        """The provenance of every stimulus."""
        return self._facts

    def close(self) -> None:
        """Release the model's memory."""
        for name in [name for name in vars(self) if name.startswith("_model")]:
            delattr(self, name)
        release(self.device)
