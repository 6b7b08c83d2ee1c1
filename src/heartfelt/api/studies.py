"""Before and after the ratings: ``plan``, ``publish``, ``plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heartfelt.api.ratings import analyze, snapshot_of
from heartfelt.arguments import notebook_function
from heartfelt.snapshot import Snapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from heartfelt.planning import StudyPlan
    from heartfelt.progress import Progress
    from heartfelt.publishing.papers.details import Details
    from heartfelt.publishing.publish import PublishedStudy


@notebook_function
def plan(
    study: Path | str,
    *,
    raters: Sequence[int] = (),
    ratings: Sequence[int] = (),
    clips: Sequence[int] = (),
    per_rater: Sequence[int] = (),
    effect: float | None = None,
    smallest_effect: float | None = None,
    tastes: float | None = None,
    pilot: object = None,
    policy: Literal["default", "flag-only", "strict"] = "default",
    studies: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> StudyPlan:
    """Say what a study will show, take and cost, by simulating its own design and a grid of others.

    Parameters
    ----------
    study : Path or str
        A study folder; its media are not needed.
    raters, ratings, clips, per_rater : sequence of int
        The grid: people who come, ratings per clip, clips per system and intent, trials per rater. A usual grid if all are empty.
    effect : float, optional
        The difference between two systems that the study should find, in points of the scale.
    smallest_effect : float, optional
        The margin within which systems should be shown to be equivalent, in points; the study's own if left out.
    tastes : float, optional
        Standard deviation of raters' tastes for systems, in points; the pilot's if left out.
    pilot : Snapshot, Panel, path or table, optional
        Ratings to estimate variances, drop-out and careless raters from; published figures if left out.
    policy : str
        What screening does with careless raters.
    studies : int
        Simulated studies per design, at most.
    seed : int
        Of the simulations.
    progress : callable, optional
        Called with what is being done, the steps done and the steps in all.

    Returns
    -------
    Plan
        ``plan.answers.sentences`` in words, ``plan.designs`` with every forecast, ``plan.best``; prices and more are options of
        ``heartfelt.planning.plan_study``.

    Examples
    --------
    >>> from heartfelt.stimuli.starter import StarterOptions, start_study
    >>> started = start_study("aimoclips", "planned", StarterOptions(media=False))
    >>> plan = heartfelt.plan("planned", ratings=[6], effect=2.0, studies=20, policy="flag-only")
    >>> print(plan.answers.raters)
    How many raters: ...
    """
    from heartfelt.planning import PlanOptions, plan_study

    options = PlanOptions(
        raters=tuple(raters),
        ratings=tuple(ratings),
        clips=tuple(clips),
        per_rater=tuple(per_rater),
        effect=effect,
        smallest_effect=smallest_effect,
        tastes=tastes,
        policy=policy,
        studies=studies,
        seed=seed,
    )
    known = None if pilot is None else snapshot_of(pilot)
    return plan_study(study, options, pilot=known, progress=progress)


@notebook_function
def publish(
    source: object,
    out: Path | str,
    *,
    k: int = 5,
    l: int = 2,  # noqa: E741  # the letter the literature uses for diversity
    sensitive: Sequence[str] = (),
    open: Sequence[str] = (),
    drop: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    earlier: Sequence[Path | str] = (),
    people: Literal["all", "earlier", "new"] = "all",
    times: Literal["day", "week", "month", "none"] = "day",
    seconds: float = 0.0,
    texts: Literal["search", "review", "drop"] | None = None,
    ner: Mapping[str, str] | None = None,
    decisions: Path | str | None = None,
    private: Path | str | None = None,
    without_demographics: bool = False,
    layouts: Sequence[str] | None = None,
    split: Mapping[str, object] | None = None,
    hold_out: str | None = None,
    hold_out_columns: Sequence[str] = (),
    hold_out_anyway: Sequence[str] = (),
    details: Details | Path | str | None = None,
    figures: bool = True,
    progress: Progress | None = None,
) -> PublishedStudy:
    """Make a study anonymous and write it as a dataset with benchmark and papers.

    Parameters
    ----------
    source, out : Snapshot, Panel, path or table; path
        The ratings, with what is known of the raters; the folder to make. What stays private goes to ``out`` with ``-private``.
    k, l : int
        Raters who share every published combination of facts about them, and values of each sensitive column among them.
    sensitive, open, drop : sequence of str
        Columns of the raters that nobody should learn about a person; columns to publish as they are, because nobody could know
        a rater by them (``before_*`` names several); and columns of any table to leave out.
    weights : mapping of str to float, optional
        How much columns of the raters matter where detail has to go, such as ``{"age": 3}``; 1 if left out.
    earlier, people : sequence of path, str
        Earlier releases of the same people, checked together with this one; whether all, only theirs or ``new`` people go out.
    times, seconds : str, float
        The finest period in which a rating is dated, and what answer times are rounded to; 0 publishes none.
    texts, ner : str, mapping, optional
        Whether texts with personal data wait for a decision (``search``), all texts do (``review``, for up to 200 if left out), or
        none is published (``drop``); spaCy models by language that look for names, which needs ``heartfelt[ner]``.
    decisions, private : path, optional
        The ``quarantine.csv`` with decisions about texts, and the folder with key, quarantine and pseudonyms.
    without_demographics : bool
        Publish nothing that is known of raters.
    layouts, split : sequence of str, mapping, optional
        Layouts to write (docs/layouts.md); how stimuli are divided, such as ``{"by": "prompt", "seed": 3}`` or ``{"test": 0.2}``.
    hold_out, hold_out_columns, hold_out_anyway : str, sequence of str
        A part whose ratings and labels are not published; columns about it to publish unless, or even if, they predict its labels.
    details : Details or path, optional
        What only the authors know, or the ``publication.yaml`` that says it; that of ``source`` if it is a folder with one.
    figures, progress : bool, callable, optional
        Whether figures are drawn; what is called with what is being done, the steps done and the steps in all.

    Returns
    -------
    Published
        ``published.record`` lists every step, ``published.release`` has the anonymised snapshot and what was made from it.
        Further options are those of ``heartfelt.publishing.options.PublishOptions``.

    Examples
    --------
    >>> published = heartfelt.publish(ratings, "published", layouts=[], figures=False)
    >>> published.release.snapshot.counts["ratings"]
    768
    """
    from heartfelt.collect.recruited import recruiters_ids
    from heartfelt.publishing.anonymity.key import refuse_inside
    from heartfelt.publishing.options import PublishOptions
    from heartfelt.publishing.papers.details import Details, read_details
    from heartfelt.publishing.publish import publish

    options = PublishOptions(
        k=k,
        l=l,
        sensitive=tuple(sensitive),
        open=tuple(open),
        drop=tuple(drop),
        weights=dict(weights or {}),
        earlier=tuple(map(Path, earlier)),
        people=people,
        seconds=seconds,
        decisions=None if decisions is None else Path(decisions),
        private=None if private is None else Path(private),
        private_texts=recruiters_ids(source) if isinstance(source, str | Path) else (),
        times=times,
        texts=texts,
        ner=dict(ner or {}),
        without_demographics=without_demographics,
        layouts=None if layouts is None else tuple(layouts),
        split={name: str(value) for name, value in (split or {}).items()},
        hold_out=hold_out,
        hold_out_columns=tuple(hold_out_columns),
        hold_out_anyway=tuple(hold_out_anyway),
        figures=figures,
    )
    if isinstance(source, str | Path):
        refuse_inside(Path(out), Path(source), "which is to be published")
    if not isinstance(details, Details):
        own = source if isinstance(source, str | Path) and Path(source).is_dir() else None
        details = read_details(details or own)
    return publish(snapshot_of(source), out, options, details, progress=progress)


@notebook_function
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
    from heartfelt.report import plot
    from heartfelt.screening import Panel

    return plot(analyze(result) if isinstance(result, Snapshot | Panel) else result, figure, task=task)
