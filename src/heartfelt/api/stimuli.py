"""Stimuli before anybody rates them: ``make``, ``prepare``, ``draft``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.errors import InputError
from heartfelt.files import must_be_free
from heartfelt.predictors.drafts.options import DraftOptions
from heartfelt.stimuli.generation.result import MakeOptions
from heartfelt.stimuli.options import PrepareOptions

if TYPE_CHECKING:
    from heartfelt.predictors.drafts import Drafting
    from heartfelt.progress import Progress
    from heartfelt.stimuli import Making
    from heartfelt.stimuli.preparation.prepared import PreparationResult


def make(folder: Path | str, options: MakeOptions, *, progress: Progress | None = None) -> Making:
    """Make a study's stimuli with the generators that its make.yaml names; call it again to continue.

    Parameters
    ----------
    folder : path
        The study folder.

    Returns
    -------
    Making
        ``making.systems`` says what became of every system.
    """
    from heartfelt.stimuli import make_study

    refuse_collected(Path(folder), "making", "Copy study.yaml and make.yaml into a new folder, and make that.")
    return make_study(folder, options, progress)


def prepare(
    folder: Path | str, options: PrepareOptions, *, out: Path | str | None = None, progress: Progress | None = None
) -> PreparationResult:
    """Crop, level and convert every stimulus, check it, and test whether systems differ in loudness, length, brightness.

    Parameters
    ----------
    folder : path
        The study folder.
    out : path, optional
        The new folder to write a report into.

    Returns
    -------
    Preparation
        ``preparation.stimuli`` says what was done to each, ``preparation.differences`` how systems differ.
    """
    from heartfelt.report.pages.preparation import write_preparation
    from heartfelt.stimuli.preparation.preparing import prepare

    if out is not None:
        must_be_free(Path(out))
    refuse_collected(
        Path(folder), "preparing", "Copy study.yaml, the manifest and the media into a new folder, and prepare that."
    )
    vocals = None
    if options.content == "instrumental":
        from heartfelt.stimuli.preparation.vocals import vocal_check

        # What listens for voices: its weights are fetched before the first clip is touched.
        vocals = vocal_check()
    result = prepare(Path(folder), options, progress, vocals=vocals)
    if out is not None:
        write_preparation(result, Path(out))
    return result


def refuse_collected(folder: Path, work: str, fix: str) -> None:
    """Refuse to change the stimuli of a study that was opened to raters."""
    from heartfelt.collect.stored import has_collected

    if has_collected(folder):
        raise InputError(f"{folder} has been opened to raters; {work} would change what its stimuli are.", fix)


def draft(folder: Path | str, options: DraftOptions, *, progress: Progress | None = None) -> Drafting:
    """Let machines fill in the questions that people verify: pixels, built-in models, a language model, or a file.

    Parameters
    ----------
    folder : path
        The study folder.

    Returns
    -------
    Drafting
        ``drafting.fields`` says how many drafts every question has.
    """
    from heartfelt.predictors.drafts import draft

    return draft(folder, replace(options, fresh=options.replace and options.asking.cache is None), progress)
