"""How predictors are run, where the work is done, and what is asked about files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from heartfelt.errors import InputError
from heartfelt.extras import require_extra
from heartfelt.options import Option, options_of, written

if TYPE_CHECKING:
    from heartfelt.predictors.execution.engines import Engine
    from heartfelt.predictors.execution.work import Retry
    from heartfelt.predictors.interface.calls import Budget

_asking = partial(Option, panel="Asking")


def parse_budget(amount: str | float | Budget) -> Budget:
    """A budget as people write it."""
    from heartfelt.predictors.execution.budgets import read_budget

    return read_budget(amount)


def parse_cache(file: bool | Path | str) -> Path | None:
    """The file answers are cached in: the user's for True, none for False."""
    from heartfelt.predictors.execution.store import user_cache

    if isinstance(file, bool):
        return user_cache() if file else None
    return Path(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Where the work is done: here, or on the machines of a Ray cluster."""

    engine: Annotated[str | Engine, _asking("Where the work is done: local or ray.", flags=("--engine", "--on"))] = (
        "local"
    )
    engine_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the engine as text; those below are Ray's."""
    address: Annotated[str | None, _asking("The Ray cluster's address.")] = None
    workers: Annotated[int | None, _asking("Ray: how many workers; as many as fit if left out.", low=1)] = None
    cpus: Annotated[float | None, _asking("Ray: CPUs a worker takes, 1 if left out.", low=0)] = None
    gpus: Annotated[float | None, _asking("Ray: GPUs a worker takes, 0 if left out.", low=0)] = None

    def __post_init__(self) -> None:
        if isinstance(self.engine, str) and self.engine != "local":
            from heartfelt.predictors.execution.engines import ENGINES

            if ENGINES[self.engine].extra:
                require_extra(ENGINES[self.engine].extra)
        for name in ("address", "workers", "cpus", "gpus", "send_media"):
            if getattr(self, name, None) and self.engine != "ray":
                raise InputError(
                    f"{written(self, name)} is an option of the engine 'ray'.",
                    f"Give {written(self, 'engine')} ray too, or leave it out.",
                )

    def make_engine(self) -> Engine:
        """The engine, made with its options; one that was given as an object is that object."""
        if not isinstance(self.engine, str):
            return self.engine
        from heartfelt.predictors.execution.engines import ENGINES

        return ENGINES[self.engine].make(self._engine_settings)

    @property
    def _engine_settings(self) -> dict[str, str]:
        named = {name: getattr(self, name) for name in ("address", "workers", "cpus", "gpus")}
        named["media"] = "send" if getattr(self, "send_media", False) else None
        texts = {
            name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in named.items()
            if value is not None
        }
        return {**self.engine_options, **texts}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(EngineOptions):
    """How a predictor is run; what is None is left to the predictor."""

    send_media: Annotated[bool, _asking("Ray: send media to the workers, where machines share no disk.")] = False
    at_once: Annotated[
        int | None, _asking("Batches under way at the same time, of predictors that wait for a network.", low=1)
    ] = None
    batch: Annotated[int | None, _asking("Stimuli in a batch.", low=1)] = None
    retry: Retry | None = None
    """How often and after how long a question that met a transient error is asked again."""
    timeout: Annotated[
        float | None,
        _asking(
            "Seconds a stimulus may take at each attempt; ten minutes over a network and no limit here if left out."
        ),
    ] = None
    cache: Annotated[
        Path | None, _asking("Keep answers between runs, by content.", flags=("--cache/--no-cache",), parse=parse_cache)
    ] = None
    give_up_after: int | None = 50
    """Stop when this many cases in a row were lost to transient errors, or a server has refused as many and answered none."""
    budget: Annotated[
        Budget | None,
        _asking(
            "What requests may cost in all, as 5, or 2000000tokens; earlier runs into the same folder count. Cases it has no"
            " room for are not asked, and a later run asks them.",
            metavar="AMOUNT",
            parse=parse_budget,
        ),
    ] = None
    repeats: Annotated[
        int, _asking("Ask servers and functions N times per question; combine the answers.", low=1, metavar="N")
    ] = 1

    def __post_init__(self) -> None:
        EngineOptions.__post_init__(self)
        for name in ("at_once", "batch", "timeout", "give_up_after", "repeats"):
            number = getattr(self, name)
            if number is not None and number <= 0:
                shown = written(self, name) if name in options_of(RunOptions) else name
                raise InputError(f"{shown} must be above 0, not {number}.", "Give a number above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """What is asked about files, and how."""

    questions: Annotated[
        tuple[str, ...] | None, Option(help="Only this question of the predictor or the study.", flags=("--question",))
    ] = None
    study: Annotated[
        str | Path | None,
        Option(help="A study or recipe whose questions are asked; else the model's own.", metavar="STUDY"),
    ] = None
    prompt: Annotated[
        str | Mapping[str, str] | None, Option(help="The text the files were made from, or are compared with.")
    ] = None
    """One by file (path, name or stem) as a mapping."""
    reference: Annotated[
        Path | None, Option(help="The undistorted original, or a folder of originals by name.", metavar="PATH")
    ] = None
    folder: Path | None = None
    """Where answers are stored as they arrive, to be continued."""
    run: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str | Mapping | None):
            raise InputError(
                f"A prompt of type '{type(self.prompt).__name__}' cannot be used.",
                "Give a text, or a dict of texts by file.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where and how to serve a predictor."""

    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1"
    port: Annotated[int, Option(help="Port to listen on.", low=0, high=65535)] = 8100
    batch: Annotated[
        int | None, Option(help="Requests asked together; by default what the predictor prefers.", low=1)
    ] = None
    wait: Annotated[float, Option(help="Milliseconds a request waits for others to join it.", low=0, high=10_000)] = 5.0
    waiting: int = 512
    """This many requests may wait; more are asked to come back."""
    megabytes: Annotated[float, Option(help="How large a request may be, in MB.", flags=("--max-mb",), low=0.001)] = (
        64.0
    )
    media: Annotated[Path | None, Option(help="Media that requests name without sending them.", metavar="DIR")] = None
