"""From ratings to labels and an analysis: ``screen``, ``label``, ``analyze``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heartfelt.arguments import notebook_function
from heartfelt.snapshot import Snapshot

if TYPE_CHECKING:
    from heartfelt.analysis import Analysis
    from heartfelt.labels import Labels
    from heartfelt.progress import Progress
    from heartfelt.screening import Panel, Policy


def snapshot_of(source: object) -> Snapshot:
    """The snapshot behind whatever a person may hand over: itself, a panel's, or what ``heartfelt.read`` makes of it."""
    from heartfelt.formats import read
    from heartfelt.screening import Panel

    if isinstance(source, Snapshot):
        return source
    return source.snapshot() if isinstance(source, Panel) else read(source)


@notebook_function
def screen(
    source: object,
    policy: Policy | str | Path = "default",
    *,
    seed: int = 0,
    exclude: Iterable[str] = (),
    restore: Iterable[str] = (),
) -> Panel:
    """Judge every rater by the rules of a policy and leave out those it drops.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings. A path or a Polars or pandas table is read with ``heartfelt.read``.
    policy : Policy, str or Path
        A policy's name (``default``, ``flag-only``, ``strict`` …) or a YAML file: see docs/screening.md.
    seed : int
        Seed of the rules that resample.
    exclude, restore : iterable of str
        Raters to leave out, or to retain, whatever the rules say.

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

    return screen(snapshot_of(source), policy, seed=seed, exclude=exclude, restore=restore)


@notebook_function
def label(
    source: object,
    *,
    method: Literal["mean", "median", "mode", "p910", "dawid-skene"] | None = None,
    minimum_ratings: int | None = None,
    ties: Literal["missing", "lowest", "highest"] = "missing",
    confidence: float = 0.95,
    adjudicated: Literal["categories", "all", "none"] = "categories",
) -> Labels:
    """Estimate a label for every item, with its uncertainty.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings.
    method : str, optional
        How; the mean of numbers and the mode of categories if left out.
    minimum_ratings : int, optional
        Items with fewer ratings get no label but a row in the ledger; the study's own minimum if left out.
    ties : str
        What to do where the most frequent categories are tied.
    confidence : float
        Of the intervals.
    adjudicated : str
        Which labels are those that senior raters decided: of questions with categories, all, or none.

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
    from heartfelt.labels import LabelOptions, labels

    options = LabelOptions(method, minimum_ratings, ties, confidence, adjudicated)
    return labels(snapshot_of(source), options)


@notebook_function
def analyze(
    source: object,
    *,
    policy: Policy | str | Path = "flag-only",
    by: str | None = None,
    covariates: Sequence[str] = (),
    smallest_effect: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
    future_raters: Literal["alike", "careless"] = "alike",
    progress: Progress | None = None,
) -> Analysis:
    """Measure everything a report shows: reliability, ceilings, systems, effects, raters.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings.
    policy : Policy, str or Path
        What becomes of flagged raters; ``flag-only`` retains everybody.
    by : str, optional
        A column of the raters whose groups are compared, such as ``language``.
    covariates : sequence of str
        Numeric columns of the stimuli, or ``loudness``, to hold constant.
    smallest_effect : float, optional
        The smallest difference between two systems that would matter, in points: tests equivalence within it.
    resamples, seed : int
        Of the intervals that resample.
    future_raters : {"alike", "careless"}
        Whom intervals of reliability are for: raters like these, or raters some of whom are careless.
    progress : callable, optional
        Called with what is being done, the steps done and the steps in all.

    Returns
    -------
    Analysis
        ``analysis.summary`` holds the typed results, ``labels``, ``raters`` and ``ledger`` are tables;
        ``heartfelt.report.write_analysis(analysis, folder)`` writes the report.

    Examples
    --------
    >>> analysis = heartfelt.analyze(ratings)
    >>> sorted(analysis.summary.reliability)
    ['arousal', 'valence']
    """
    from heartfelt.analysis import AnalyzeOptions, analyze

    options = AnalyzeOptions(
        policy=policy,
        by=by,
        covariates=tuple(covariates),
        smallest_effect=smallest_effect,
        resamples=resamples,
        seed=seed,
        future_raters=future_raters,
    )
    return analyze(snapshot_of(source), options, progress)
