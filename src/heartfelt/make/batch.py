"""Making all stimuli of a study: one file and one row per prompt, failures included."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.files import inside
from heartfelt.make.generators import SynthMusic
from heartfelt.make.prompts import Generator, Prompt
from heartfelt.media.audio import content_hash, read_audio
from heartfelt.media.probe import FACTS

_SCHEMA: dict[str, Any] = {
    "stimulus": pl.String,
    "system": pl.String,
    "intent": pl.String,
    "prompt": pl.String,
    "path": pl.String,
    **FACTS,
    "sha256": pl.String,
}


def make_stimuli(
    prompts: Iterable[Prompt],
    folder: Path | str,
    *,
    generator: Generator | None = None,
    suffix: str | None = None,
    seed: int = 0,
    keep: bool = True,
    progress: Callable[[Prompt], None] | None = None,
) -> pl.DataFrame:
    """Make every prompt's stimulus under ``folder/{system}/{stimulus}{suffix}`` and describe what is there.

    With ``keep``, a readable file that already exists is left as it is, so an interrupted run continues where it
    stopped. A prompt that fails becomes a row whose ``media_problem`` says why; the others are made all the same.
    The result is a table of stimuli, with the reference coordinates and the content's ``sha256``.
    """
    maker = generator or SynthMusic()
    root, ending = Path(folder), suffix or maker.suffix
    asked = list(prompts)
    if len({prompt.stimulus for prompt in asked}) < len(asked):
        raise InputError(
            "Two prompts would make the same stimulus.", "Give every prompt its own stimulus id."
        )
    rows: list[dict[str, Any]] = []
    coordinates = sorted({question for prompt in asked for question in prompt.coordinates})
    for prompt in asked:
        relative = f"{prompt.system}/{prompt.stimulus}{ending}"
        path = inside(root, relative, f"stimulus {prompt.stimulus}")
        row: dict[str, Any] = {
            "stimulus": prompt.stimulus,
            "system": prompt.system,
            "intent": prompt.intent,
            "prompt": prompt.text,
            "path": relative,
            **{question: prompt.coordinates.get(question) for question in coordinates},
        }
        rows.append(row | _make_one(maker, prompt, path, seed, keep))
        if progress:
            progress(prompt)
    return pl.DataFrame(rows, schema=_SCHEMA | dict.fromkeys(coordinates, pl.Float64))


def _make_one(maker: Generator, prompt: Prompt, path: Path, seed: int, keep: bool) -> dict[str, Any]:
    if keep and path.exists():
        try:
            return _described(maker.kind, path)
        except HeartfeltError:
            path.unlink()
    try:
        maker.generate(prompt, seed).save(path)
        return _described(maker.kind, path)
    except Exception as error:  # noqa: BLE001 - one stimulus of many: the failure becomes its row
        problem = error.problem if isinstance(error, HeartfeltError) else f"{type(error).__name__}: {error}"
        return {"found": False, "media_problem": problem}


def _described(kind: str, path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {"found": True, "bytes": path.stat().st_size, "sha256": content_hash(path)}
    if kind == "audio":
        audio = read_audio(path)
        return facts | {"duration": audio.seconds, "rate": audio.rate, "channels": audio.channels}
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            image.load()
            return facts | {"width": image.width, "height": image.height}
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(
            f"{path} cannot be read as an image: {error}.", "Make or fetch this image again."
        ) from error
