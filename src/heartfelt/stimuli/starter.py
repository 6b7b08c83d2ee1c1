"""Starting a study from a published design: a folder that is valid and ready to run, with example stimuli.

A starter gives the sketch of a study: its systems, its stimuli, and what is asked about which of them. ``start_study``
writes the folder. Example clips are MP3 files, which are small and play in Chrome, Firefox and Safari; where libsndfile
was built without MP3 (before 1.1), they are FLAC.
"""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar, Protocol, TypeAlias

import polars as pl
from jinja2 import Environment

from heartfelt import __version__
from heartfelt.files import whole_folder, write_bytes, write_text
from heartfelt.formats.study_folder.drafts import write_drafts
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.media.audio import Audio
from heartfelt.progress import Progress
from heartfelt.registry import Registry
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.prompts.prompt import Generator, StimulusPrompt
from heartfelt.study import Study, parse_study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.model import say
from heartfelt.study.recipes import recipe_text
from heartfelt.templates import text_templates

MUSIC_STYLES: Mapping[str, str] = {
    "Sinewood": "warm additive tones",
    "Pluckbox": "plucked strings",
    "Brassline": "filtered sawtooth",
    "Chipling": "chip pulse waves",
}
"""What the systems of the built-in music synthesiser sound like."""


@dataclass(frozen=True, slots=True)
class StarterStimulus:
    """One stimulus: what its maker is asked for, and its row in the manifest, less the path."""

    ask: StimulusPrompt
    maker: Generator
    row: Mapping[str, str | None]

    @property
    def path(self) -> str:
        return f"{self.ask.system}/{self.ask.stimulus}{self.maker.suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What a starter adds to a recipe.

    ``systems`` are ids with a word on each; ``blocks`` replace top-level blocks of the ``study.yaml``;
    ``anchors`` are the stimuli of the anchor probe. ``items`` are pairs of stimulus and question; None asks
    every question of every stimulus. ``notes`` tell the reader of the folder's README what the examples are. ``drafts`` are
    what the synthesiser knows of its stimuli, by question and stimulus, for raters to verify.
    """

    systems: Mapping[str, str]
    stimuli: tuple[StarterStimulus, ...]
    notes: str
    items: tuple[tuple[str, str], ...] | None = None
    blocks: Mapping[str, str] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()
    drafts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


Starter: TypeAlias = Callable[[int], Sketch]
"""Makes the sketch of a recipe with the given number of stimuli per cell."""
STARTERS: Registry[Starter] = Registry(
    "recipe", homes=("heartfelt.datasets.*.starter", "heartfelt.stimuli.methods.starters")
)


# --- example clips ----------------------------------------------------------------------------------------------------


class ClipMaker(Protocol):
    """A generator that makes clips."""

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> Audio:
        """Make the clip."""


@dataclass(frozen=True, slots=True, eq=False)
class UncompressedClip:
    """A clip on its way to a compressed file."""

    audio: Audio
    kind: ClassVar[str] = "audio"

    def save(self, path: Path | str) -> Path:
        """Write the clip in the format its suffix names, MP3 included."""
        import soundfile

        path = Path(path)
        if path.suffix.lower() != ".mp3":
            return self.audio.save(path)
        memory = io.BytesIO()
        with soundfile.SoundFile(
            memory, "w", self.audio.rate, self.audio.channels, "MPEG_LAYER_III", format="MP3"
        ) as file:
            file.write(self.audio.samples)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, memory.getvalue())
        return path


@dataclass(frozen=True, slots=True)
class SmallClips:
    """A generator whose clips are saved as MP3."""

    maker: ClipMaker
    kind: str = "audio"
    systems: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """``.mp3`` where it can be written, else ``.flac``."""
        import soundfile

        return ".mp3" if "MP3" in soundfile.available_formats() else ".flac"

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> UncompressedClip:
        return UncompressedClip(self.maker.generate(prompt, seed))


# --- the folder -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """A study that was started: what its folder says. ``items`` is None where every question is asked of all."""

    study: Study
    folder: Path
    stimuli: pl.DataFrame
    items: pl.DataFrame | None


def start_study(
    recipe: str, folder: Path | str, options: StarterOptions | None = None, progress: Progress | None = None
) -> Started:
    """Make a study folder after ``recipe``, either complete or absent; the same options give the same bytes."""
    options = options or StarterOptions()
    sketch = STARTERS[recipe](options.per_cell)
    text = _study_text(recipe, sketch, options)
    study = parse_study(text)
    stimuli = pl.DataFrame(
        [{"stimulus": planned.ask.stimulus, **planned.row, "path": planned.path} for planned in sketch.stimuli]
    )
    items = None
    if sketch.items is not None:
        items = pl.DataFrame(list(sketch.items), schema=["stimulus", "question"], orient="row")
    with whole_folder(Path(folder)) as target:
        write_text(target / STUDY_FILE, text)
        write_text(target / study.stimuli.manifest, csv_text(stimuli))
        if items is not None and study.stimuli.items is not None:
            write_text(target / study.stimuli.items, csv_text(items))
        write_text(target / "README.md", _readme(recipe, study, sketch, media=options.media))
        media = target / study.stimuli.media
        media.mkdir()
        if options.media:
            _render(sketch.stimuli, media, study.seed, progress)
            _write_drafts(target, sketch)
        open_study(target)
    return Started(study, Path(folder), stimuli, items)


def _write_drafts(target: Path, sketch: Sketch) -> None:
    rows = [
        (stimulus, question, value, "synthesiser", __version__)
        for question, values in sketch.drafts.items()
        for stimulus, value in values.items()
    ]
    if rows:
        columns = ["stimulus", "question", "value", "source", "version"]
        write_drafts(target, pl.DataFrame(rows, schema=columns, orient="row"))


def _render(planned: tuple[StarterStimulus, ...], media: Path, seed: int, progress: Progress | None) -> None:
    """Render in threads; each stimulus has its own random streams, so their order does not matter."""
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        tasks = [pool.submit(_render_stimulus, stimulus, media, seed) for stimulus in planned]
        try:
            for number, task in enumerate(tasks, 1):
                task.result()
                if progress is not None:
                    progress("rendering stimuli", number, len(tasks))
        except BaseException:  # what waits is dropped, and it is raised again
            pool.shutdown(cancel_futures=True)
            raise


def _render_stimulus(planned: StarterStimulus, media: Path, seed: int) -> None:
    planned.maker.generate(planned.ask, seed).save(media / planned.path)


def _study_text(recipe: str, sketch: Sketch, options: StarterOptions) -> str:
    """The recipe's own text, with the built-in systems in the place of the published ones."""
    text = recipe_text(recipe)
    published = parse_study(text, f"recipe {recipe}")
    if options.seed is not None:
        text = substitute(text, r"^seed: .*$", f"seed: {options.seed}")
    words = "What made the example stimuli: parts of the built-in synthesiser. Put your own systems here."
    if published.systems:
        words += f" The published study had {', '.join(system.id for system in published.systems)}."
    systems = [f"id: {name}, group: built-in, style: {style}" for name, style in sketch.systems.items()]
    next_block = "intents" if published.intents else "prompts"
    text = replace_block(text, "systems", listed("systems", systems, words), before=next_block)
    for key, block in sketch.blocks.items():
        text = replace_block(text, key, block)
    if sketch.anchors:
        text = substitute(text, r"(type: anchor.* stimuli: )\[[^]]*\]", rf"\1[{', '.join(sketch.anchors)}]")
    text = _no_more_than_there_are(text, published, sketch)
    for key, number in options.design.items():
        text = substitute(text, rf"^  {re.escape(key)}: .*$", f"  {key}: {number}")
    head = comment(f"Made by 'heartfelt new {recipe}'. Edit it freely; 'heartfelt check' validates it.")
    return f"{head}\n{text}"


def _no_more_than_there_are(text: str, published: Study, sketch: Sketch) -> str:
    """Lower the stimuli a rater gets to what the examples allow; the published number stays in a comment."""
    wanted = published.design.stimuli_per_rater
    rows = [planned.row for planned in sketch.stimuli if planned.ask.stimulus not in sketch.anchors]
    cells = {tuple(row.get(name) for name in published.design.distinct) for row in rows}
    available = len(cells) if published.design.distinct else len(rows)
    if wanted is None or wanted <= available:
        return text
    return substitute(
        text,
        rf"^  stimuli_per_rater: {wanted}$",
        f"  stimuli_per_rater: {available}  # as many as the examples allow; {wanted} in the published study",
    )


# --- changing a study.yaml as a person would, so that its comments and its layout stay --------------------------------


def replace_block(text: str, key: str, block: str, *, before: str = "") -> str:
    """Put ``block`` in the place of the top-level ``key`` and of the comment above it.

    Where there is no such key, the block goes above the key ``before`` and its comment.
    """
    lines = text.splitlines()
    if any(line.startswith(f"{key}:") for line in lines):
        start, end = _extent(lines, key)
        return "\n".join([*lines[:start], *block.splitlines(), *lines[end:], ""])
    start, _ = _extent(lines, before)
    return "\n".join([*lines[:start], *block.splitlines(), "", *lines[start:], ""])


def _extent(lines: list[str], key: str) -> tuple[int, int]:
    """The lines of a top-level block: from the comment right above it to its last line that is not empty."""
    starts = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
    if len(starts) != 1:
        raise LookupError(f"the recipe has {len(starts)} blocks called '{key}'")
    start, end = starts[0], starts[0] + 1
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "-"))):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return start, end


def substitute(text: str, pattern: str, replacement: str) -> str:
    """Replace the one place where ``pattern`` matches; none or several are a mistake."""
    changed, count = re.subn(pattern, lambda match: match.expand(replacement), text, flags=re.MULTILINE)
    if count != 1:
        raise LookupError(f"the recipe has {count} places like '{pattern}'")
    return changed


def comment(words: str) -> str:
    return "\n".join(textwrap.wrap(words, 120, initial_indent="# ", subsequent_indent="# "))


def listed(key: str, entries: Iterable[str], words: str = "") -> str:
    """A block that is a list, one entry a line, with a comment above it."""
    lines = [comment(words)] if words else []
    return "\n".join([*lines, f"{key}:", *(f"  - {{{entry}}}" for entry in entries)])


# --- the README of the folder -----------------------------------------------------------------------------------------


def _readme(recipe: str, study: Study, sketch: Sketch, *, media: bool) -> str:
    template = _environment().get_template("readme.md.j2")
    columns = ", ".join(f"`{name}`" for name in ("stimulus", *sketch.stimuli[0].row, "path"))
    return template.render(
        recipe=recipe,
        study=study,
        sketch=sketch,
        media=media,
        columns=columns,
        title=say(study.title),
        credit=study.credit,
    )


@cache
def _environment() -> Environment:
    return text_templates("heartfelt.stimuli", wrapped=_wrapped)


def _wrapped(text: str, first: str = "") -> str:
    return textwrap.fill(
        text.strip(),
        100,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
