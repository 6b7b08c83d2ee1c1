"""From ratings to labels and an analysis: ``screen``, ``label``, ``analyze``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.api.sources import read_parts, snapshot_of
from heartfelt.files import TemporaryFolder, must_be_free, whole_folder
from heartfelt.labels import LabelOptions
from heartfelt.options import SourceOptions
from heartfelt.report.options import ReportOptions
from heartfelt.screening.options import ScreenOptions

if TYPE_CHECKING:
    from heartfelt.analysis import Analysis
    from heartfelt.labels import Labels
    from heartfelt.progress import Progress
    from heartfelt.screening import Panel


def screen(source: object, options: ScreenOptions, reading: SourceOptions) -> Panel:
    """Judge every rater by the rules of a policy and leave out those it drops.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings. A path or a Polars or pandas table is read with ``heartfelt.read``.

    Returns
    -------
    Panel
        ``panel.snapshot()`` is what was retained, ``panel.flags`` what every rule found and ``panel.ledger`` what was left
        out, with reasons.

    Examples
    --------
    >>> panel = heartfelt.screen(ratings)
    >>> panel.counts.raters, panel.counts.retained
    (12, 12)
    """
    from heartfelt.screening import screen

    return screen(
        snapshot_of(source, reading),
        options.policy,
        seed=options.seed,
        exclude=options.exclude,
        restore=options.restore,
    )


def label(source: object, options: LabelOptions, reading: SourceOptions) -> Labels:
    """Estimate a label for every item, with its uncertainty.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings.

    Returns
    -------
    Labels
        ``labels.table`` has one row per item (``value``, ``standard_error``, ``low``, ``high``, ``n`` …).

    Examples
    --------
    >>> labels = heartfelt.label(ratings)
    >>> labels.table.select("question", "n").row(0)
    ('valence', 12)
    """
    from heartfelt.labels import labels

    return labels(snapshot_of(source, reading), options)


def analyze(
    source: object,
    options: AnalyzeOptions,
    reading: SourceOptions,
    writing: ReportOptions,
    *,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Measure how far ratings can be trusted and what they say about systems, intents and raters.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings.
    out : path, optional
        The folder to write the report, its tables and figures into.

    Returns
    -------
    Analysis
        ``analysis.summary`` holds the typed results, ``labels``, ``raters`` and ``ledger`` are tables.

    Examples
    --------
    >>> analysis = heartfelt.analyze(ratings)
    >>> sorted(analysis.summary.reliability)
    ['arousal', 'valence']
    """
    return analyses(source, options, reading, writing, out=out, progress=progress)[0]


def analyses(
    source: object,
    options: AnalyzeOptions,
    reading: SourceOptions,
    writing: ReportOptions,
    *,
    out: Path | str | None = None,
    estimate: Callable[[int], None] | None = None,
    progress: Progress | None = None,
) -> list[Analysis]:
    """An analysis, or one for each of the formats that a published layout is made of.

    ``estimate`` is told the number of ratings before the work begins.
    """
    from heartfelt.analysis import analyze
    from heartfelt.analysis.data.preregistration import find_preregistration
    from heartfelt.report import write_analysis
    from heartfelt.report.drawing.processes import waiting_helper
    from heartfelt.scoring.layouts import LAYOUTS

    if out is not None:
        must_be_free(Path(out))
    if options.preregistration is None and isinstance(source, Path | str):
        options = replace(options, preregistration=find_preregistration(Path(source)))
    snapshots = read_parts(source, reading, writing.layout, progress)
    if estimate is not None:
        estimate(sum(snapshot.counts["ratings"] for snapshot in snapshots))
    if out is None:
        return [analyze(snapshot, options, progress) for snapshot in snapshots]
    # What cannot be written fails before the analysis, and before ``out`` is there.
    published = TemporaryFolder()
    if writing.layout is not None:
        LAYOUTS[writing.layout].write_analysis(snapshots, published.path)
    with waiting_helper(writing.figures) as helper:
        results = [analyze(snapshot, options, progress) for snapshot in snapshots]
        with whole_folder(Path(out)) as scratch:
            for result in results:
                name = result.snapshot.study.name if len(results) > 1 else ""
                write_analysis(result, scratch / name, figures=writing.figures, progress=progress, helper=helper)
                helper = None
            for path in published.path.iterdir():
                shutil.move(path, scratch / path.name)
    return results
