"""``start_study``: from the name of a recipe to a folder that can be run."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.formats.manifest import open_study
from heartfelt.make.starter.blocks import comment, listed, replace_block, substitute
from heartfelt.make.starter.readme import readme_text
from heartfelt.make.starter.sketch import STARTERS, Planned, Sketch, StarterOptions
from heartfelt.progress import Progress
from heartfelt.study import Study, parse_study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.recipes import recipe_text


@dataclass(frozen=True, slots=True)
class Started:
    """A study that was started: what its folder says. ``items`` is None where every question is asked of all."""

    study: Study
    folder: Path
    stimuli: pl.DataFrame
    items: pl.DataFrame | None


def start_study(
    recipe: str,
    folder: Path | str,
    options: StarterOptions | None = None,
    progress: Progress | None = None,
) -> Started:
    """Make a study folder after ``recipe``, either complete or absent; the same options give the same bytes."""
    options = options or StarterOptions()
    sketch = STARTERS[recipe](options.per_cell)
    text = _study_text(recipe, sketch, options)
    study = parse_study(text)
    stimuli = pl.DataFrame(
        [
            {"stimulus": planned.ask.stimulus, **planned.row, "path": planned.path}
            for planned in sketch.stimuli
        ]
    )
    items = None
    if sketch.items is not None:
        items = pl.DataFrame(list(sketch.items), schema=["stimulus", "question"], orient="row")
    with whole_folder(Path(folder)) as target:
        write_text(target / STUDY_FILE, text)
        write_text(target / study.stimuli.manifest, csv_text(stimuli))
        if items is not None and study.stimuli.items is not None:
            write_text(target / study.stimuli.items, csv_text(items))
        write_text(target / "README.md", readme_text(recipe, study, sketch, media=options.media))
        media = target / study.stimuli.media
        media.mkdir()
        if options.media:
            _render(sketch.stimuli, media, study.seed, progress)
        open_study(target)
    return Started(study, Path(folder), stimuli, items)


def _render(planned: tuple[Planned, ...], media: Path, seed: int, progress: Progress | None) -> None:
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


def _render_stimulus(planned: Planned, media: Path, seed: int) -> None:
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
    text = replace_block(text, "systems", listed("systems", systems, words), before="intents")
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
    there = len(cells) if published.design.distinct else len(rows)
    if wanted is None or wanted <= there:
        return text
    return substitute(
        text,
        rf"^  stimuli_per_rater: {wanted}$",
        f"  stimuli_per_rater: {there}  # as many as the examples allow; {wanted} in the published study",
    )
