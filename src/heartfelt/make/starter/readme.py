"""The README of a new study folder: what is what, and how to put in one's own stimuli."""

from __future__ import annotations

import textwrap

from heartfelt.make.starter.sketch import Sketch
from heartfelt.study import Study
from heartfelt.study.model import say

_WIDTH = 100


def readme_text(recipe: str, study: Study, sketch: Sketch, *, media: bool) -> str:
    """Write the README."""
    columns = ", ".join(f"`{name}`" for name in ("stimulus", *sketch.stimuli[0].row, "path"))
    items = (
        []
        if sketch.items is None
        else ["| `items.csv` | which stimulus is asked about under which question |"]
    )
    parts = [
        f"# {say(study.title)}",
        _wrapped(
            f"A study after `{recipe}`, made by `heartfelt new {recipe}`."
            + (" It is valid and can be run as it is." if media else " Its media are still to come.")
            + (f" Design: {study.credit}" if study.credit else "")
        ),
        "\n".join(
            [
                "| file | what it is |",
                "|---|---|",
                "| `study.yaml` | what is asked, of whom, about what; edit it freely |",
                f"| `stimuli.csv` | one row per stimulus: {columns} |",
                *items,
                "| `media/` | the files that `path` names |",
            ]
        ),
        "## The example stimuli",
        *(_wrapped(part) for part in sketch.notes.split("\n\n")),
        *(
            []
            if media
            else [_wrapped("They were not rendered: `stimuli.csv` lists them, `media/` is empty.")]
        ),
        "## Your own stimuli",
        _steps(study, sketch),
    ]
    return "\n\n".join(parts) + "\n"


def _steps(study: Study, sketch: Sketch) -> str:
    kinds = "shows PNG, JPEG and WebP" if study.media == "image" else "plays MP3, WAV and FLAC"
    steps = [
        f"Put the files into `media/`, in folders as you like. Every browser {kinds}.",
        "List them in `stimuli.csv` in place of the examples: an id of your choice, and the path below "
        "`media/`. Further columns are passed on.",
        "Name what made them under `systems` in `study.yaml`, and what they were meant to convey under "
        "`intents`; the manifest uses these ids."
        if study.intents
        else "Name what made them under `systems` in `study.yaml`, and the texts they were made from under "
        "`prompts`; the manifest uses these ids.",
    ]
    if sketch.items is not None:
        steps.append("Say in `items.csv` which question is asked about which of them.")
    if sketch.anchors:
        steps.append(
            "List the anchors in `stimuli.csv` without a system, and name them under `probes` in `study.yaml`."
        )
    steps.append("Run `heartfelt check` on this folder. It lists what is missing, and where.")
    steps.append(
        "Run `heartfelt serve` on it. Raters open the address it prints; the dashboard is at `/study` below it."
    )
    return "\n".join(_wrapped(step, f"{number}. ") for number, step in enumerate(steps, 1))


def _wrapped(text: str, first: str = "") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
