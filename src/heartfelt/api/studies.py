"""Before and after the ratings: ``plan``, ``publish``, ``plot``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.api.sources import snapshot_of
from heartfelt.extras import require_extra
from heartfelt.files import must_be_free
from heartfelt.options import SourceOptions
from heartfelt.planning.options import PlanOptions
from heartfelt.publishing.options import PublishOptions
from heartfelt.snapshot import Snapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from heartfelt.planning import StudyPlan
    from heartfelt.progress import Progress
    from heartfelt.publishing.publish import PublishedStudy
    from heartfelt.publishing.statements.details import Details


def plan(
    study: Path | str,
    options: PlanOptions,
    *,
    pilot: object = None,
    out: Path | str | None = None,
    preregister: Path | str | None = None,
    progress: Progress | None = None,
) -> StudyPlan:
    """Say what a study will show, take and cost, by simulating its own design and a grid of others.

    Parameters
    ----------
    study : Path or str
        A study folder; its media are not needed.
    pilot : Snapshot, Panel, path or table, optional
        Ratings to estimate variances, drop-out and careless raters from; published figures if left out.
    out : path, optional
        The folder to write plan.html, plan.json and figures into.
    preregister : path, optional
        Where to write a preregistration in Markdown; preregistration.json goes into the study folder.

    Returns
    -------
    Plan
        ``plan.answers.sentences`` in words, ``plan.designs`` with every forecast, ``plan.best``.

    Examples
    --------
    >>> from heartfelt.stimuli.starter import StarterOptions, start_study
    >>> started = start_study("aimoclips", "planned", StarterOptions(media=False))
    >>> plan = heartfelt.plan("planned", ratings=[6], effect=2.0, studies=20, policy="flag-only")
    >>> print(plan.answers.raters)
    How many raters: ...
    """
    from heartfelt.planning import plan_study
    from heartfelt.planning.preregister import must_be_new
    from heartfelt.planning.preregister import preregister as register
    from heartfelt.report import write_plan

    if out is not None:
        must_be_free(Path(out))
    if preregister is not None:
        must_be_new(Path(study), Path(preregister))
    ratings = None if pilot is None else snapshot_of(pilot, progress=progress)
    result = plan_study(study, options, pilot=ratings, progress=progress)
    if out is not None:
        write_plan(result, Path(out))
    if preregister is not None:
        register(result, Path(study), Path(preregister))
    return result


def publish(
    source: object,
    out: Path | str,
    options: PublishOptions,
    reading: SourceOptions,
    *,
    details: Details | Path | str | None = None,
    progress: Progress | None = None,
) -> PublishedStudy:
    """Make a study anonymous and write it as a dataset with benchmark and papers.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings, with what is known of the raters.
    out : path
        The folder to make, for everybody to read. What stays private goes to ``out`` with ``-private``.
    details : Details or path, optional
        What only the authors know, or the ``publication.yaml`` that says it; that of ``source`` if it is a folder with one.

    Returns
    -------
    Published
        ``published.record`` lists every step, ``published.release`` has the anonymised snapshot and what was made from it, and
        ``published.comparison`` says how what was written differs from the source.

    Examples
    --------
    >>> published = heartfelt.publish(ratings, "published", layouts=[], figures=False)
    >>> published.release.snapshot.counts["ratings"]
    768
    """
    from heartfelt.collect.stored import has_collected
    from heartfelt.publishing.anonymity.key import refuse_inside
    from heartfelt.publishing.publish import publish
    from heartfelt.publishing.read_back import read_back
    from heartfelt.publishing.statements.details import Details, read_details

    out, path = Path(out), Path(source) if isinstance(source, str | Path) else None
    must_be_free(out)
    if options.ner:
        require_extra("ner")
    if path is not None:
        refuse_inside(out, path, "which is to be published")
        private_texts: tuple[str, ...] = (str(path.resolve()),)
        if has_collected(path):
            require_extra("serve")
            from heartfelt.collect.collection import recruiters_ids

            private_texts += recruiters_ids(path)
        options = replace(options, private_texts=private_texts)
    if not isinstance(details, Details):
        details = read_details(details or (path if path is not None and path.is_dir() else None))
    snapshot = snapshot_of(source, reading, progress)
    published = publish(snapshot, out, options, details, progress)
    comparison = read_back(snapshot, published.folder, published.private, options.key)
    return replace(published, comparison=comparison)


def plot(result: object, figure: str | None = None, *, task: str | None = None) -> Figure:
    """Draw a figure of a report in a notebook.

    Parameters
    ----------
    result : Analysis, Bench, Snapshot or Panel
        What ``heartfelt.analyze`` or ``heartfelt.bench`` returned. A snapshot or panel is analysed first.
    figure : str, optional
        Its name: see docs/report.md. The map or ranking of an analysis and the leaderboard of a bench if left out.
    task : str, optional
        Of a bench, the task to draw; the first if left out.

    Returns
    -------
    matplotlib.figure.Figure
        The figure as in the report, to show, change or save with ``savefig``.

    Examples
    --------
    >>> heartfelt.plot(heartfelt.analyze(ratings), "ceiling").get_axes()[0].get_xlabel() != ""
    True
    """
    from heartfelt.analysis import analyze
    from heartfelt.report import plot
    from heartfelt.screening import Panel

    if isinstance(result, Snapshot | Panel):
        return plot(analyze(snapshot_of(result)), figure, task=task)
    return plot(result, figure, task=task)
