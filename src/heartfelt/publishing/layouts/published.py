"""Published systems' own layouts: the release as the files that their tools read.

A study fits a system's layout if it can be written in it and reading the files back gives every rating and published mean.
``published`` writes all that fit and lists the others with the reason; ``published:<system>`` insists on one.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.files import write_text
from heartfelt.formats import FORMATS, export
from heartfelt.progress import Progress
from heartfelt.publishing.layouts.layout import LAYOUTS
from heartfelt.publishing.release.release import PublishedFile, Release
from heartfelt.snapshot import Snapshot

FOLDER = "layouts"
_DATASETS = "heartfelt.datasets."
_MEDIA = "The media are in the release's folder `media`; heartfelt reads them with `--map media=../../media`."


@dataclass(frozen=True, slots=True)
class LayoutFit:
    """Whether a study fits a published system's layout."""

    system: str
    about: str
    why_not: str | None = None


def systems() -> list[str]:
    return [name for name, format in FORMATS.items() if format.writes and type(format).__module__.startswith(_DATASETS)]


def write_system(snapshot: Snapshot, system: str, target: Path) -> LayoutFit:
    """Write ``target`` in a system's layout; where the study does not fit, nothing is written and the result says why."""
    about = FORMATS[system].about
    try:
        export(snapshot, system, target)
        lost = _lost(snapshot, FORMATS[system].read(target, {}))
    except HeartfeltError as error:
        lost = error.problem
    if lost is not None:
        shutil.rmtree(target, ignore_errors=True)
    return LayoutFit(system, about, lost)


def _lost(before: Snapshot, after: Snapshot) -> str | None:
    for name, count in (("ratings", before.survey.ratings), ("means", before.means.height)):
        have = after.survey.ratings if name == "ratings" else after.means.height
        if name == "ratings" and have != count:
            return f"its files hold {have:,} of {count:,} ratings"
        if name == "means" and not before.survey.ratings and have != count:
            return f"its files hold {have:,} of {count:,} published means"
    total = [version.scan_ratings().select(pl.col("value").sum()).collect().item() for version in (before, after)]
    if abs(total[0] - total[1]) > 1e-6 * max(1.0, abs(total[0])):
        return "its files hold other values than the ratings"
    return None


class PublishedSystem:
    """One system's own layout."""

    def __init__(self, system: str) -> None:
        self.system = system
        self.name = f"published:{system}"
        self.about = f"the layout of {system}: {FORMATS[system].about}"

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write ``layouts/<system>/``, or raise with the reason why the study does not fit."""
        progress(f"writing the layout of {self.system}", 0, 1)
        fit = write_system(release.snapshot, self.system, folder / FOLDER / self.system)
        if fit.why_not is not None:
            raise InputError(
                f"The study does not fit the layout of {self.system}: {fit.why_not.rstrip('.')}.",
                "Leave it out, or choose 'published', which writes the layouts that fit.",
            )
        return ()


class PublishedSystems:
    """Every system's layout that the study fits."""

    name = "published"
    about = "the layouts of published systems that the study fits, each in a folder of its own"

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write the layouts that fit, and ``layouts/README.md`` with the reasons for the others."""
        names = systems()
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        lines = ["# Layouts of published systems", "", _MEDIA, "", "| system | written | why not |", "|---|---|---|"]
        for done, system in enumerate(names):
            progress("writing the layouts of published systems", done, len(names))
            fit = write_system(release.snapshot, system, folder / FOLDER / system)
            reason = (fit.why_not or "").replace("|", "\\|").replace("\n", " ")
            lines.append(f"| {system} | {'yes' if fit.why_not is None else 'no'} | {reason} |")
        write_text(folder / FOLDER / "README.md", "\n".join(lines) + "\n")
        return ()


LAYOUTS.add(PublishedSystems.name, PublishedSystems())
for _system in systems():
    LAYOUTS.add(f"published:{_system}", PublishedSystem(_system))
