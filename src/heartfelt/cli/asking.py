"""Options of the commands that ask predictors: where the work is done, how much of it at once, and the cache."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import typer

from heartfelt.errors import InputError
from heartfelt.extras import require_extra

_asking = partial(typer.Option, rich_help_panel="Asking")
EngineName = Annotated[str, _asking("--engine", help="Where the work is done: local or ray.")]
Address = Annotated[str | None, _asking("--address", help="The Ray cluster's address.")]
Workers = Annotated[
    int | None, _asking("--workers", min=1, help="Ray: how many workers; as many as fit if left out.")
]
Cpus = Annotated[float | None, _asking("--cpus", min=0, help="Ray: CPUs a worker takes, 1 if left out.")]
Gpus = Annotated[float | None, _asking("--gpus", min=0, help="Ray: GPUs a worker takes, 0 if left out.")]
SendMedia = Annotated[
    bool, _asking("--send-media", help="Ray: send media to the workers, where machines share no disk.")
]
AtOnce = Annotated[int | None, _asking("--at-once", min=1, help="Batches under way at the same time.")]
Batch = Annotated[int | None, _asking("--batch", min=1, help="Stimuli in a batch.")]
Timeout = Annotated[float | None, _asking("--timeout", help="Seconds a stimulus may take per request.")]
BudgetOption = Annotated[
    str | None,
    _asking(
        "--budget",
        metavar="AMOUNT",
        help="What requests may cost in all, as 5, or 2000000tokens; earlier runs into the same folder count.",
    ),
]
Repeats = Annotated[
    int,
    _asking(
        "--repeats",
        min=1,
        metavar="N",
        help="Ask servers and functions N times per question; combine the answers.",
    ),
]
UseCache = Annotated[bool, _asking("--cache/--no-cache", help="Keep answers between runs, by content.")]


def engine_options(
    engine: str,
    address: str | None,
    workers: int | None,
    cpus: float | None,
    gpus: float | None,
    send_media: bool,
) -> dict[str, str]:
    """The options of the engine that were given, as text; those of Ray are refused for any other."""
    media = "send" if send_media else None
    given: Mapping[str, str | float | None] = {
        "address": address,
        "workers": workers,
        "cpus": cpus,
        "gpus": gpus,
        "media": media,
    }
    options = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in given.items()
        if value is not None
    }
    if engine != "local":
        from heartfelt.predictors import ENGINES

        if ENGINES[engine].extra:
            require_extra(ENGINES[engine].extra)
    if options and engine != "ray":
        name = "send-media" if "media" in options else next(iter(options))
        raise InputError(f"--{name} is an option of the engine 'ray'.", "Add --engine ray, or leave it out.")
    return options
