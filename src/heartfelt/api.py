"""The functions of a notebook: each takes a snapshot, a panel, a path or a table, and returns a typed result.

``heartfelt.screen``, ``label``, ``analyze``, ``bench``, ``predict``, ``train``, ``publish`` and ``plot`` are these;
``Snapshot`` has them as methods. ``heartfelt.plan`` comes before there are ratings, and takes a study folder. Options are plain
keywords here; what packages outside notebooks use are the options objects behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heartfelt.arguments import notebook_function
from heartfelt.snapshot import Snapshot

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from heartfelt.analysis import Analysis
    from heartfelt.benchmark import Bench
    from heartfelt.benchmark.bench import Models
    from heartfelt.labels import Labels
    from heartfelt.planning import Plan
    from heartfelt.predictors.calls import Budget
    from heartfelt.predictors.spec import PredictorLike
    from heartfelt.progress import Progress
    from heartfelt.publishing.papers.details import Details
    from heartfelt.publishing.publish import Published
    from heartfelt.screening import Panel, Policy
    from heartfelt.training import Trained


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


@notebook_function
def bench(
    source: object,
    models: Models,
    *,
    questions: Sequence[str] | None = None,
    folder: Path | str | None = None,
    seed: int = 0,
    budget: float | str | Budget | None = None,
    repeats: int = 1,
    at_once: int | None = None,
    timeout: float | None = None,
    cache: bool = False,
    progress: Progress | None = None,
) -> Bench:
    """Ask predictors about every item and score their answers against the labels and the human ceiling.

    Parameters
    ----------
    source : Snapshot, Panel, Benchmark, path or table
        What people rated.
    models : sequence of str, functions or Predictors, or a mapping
        Predictors as ``NAME[:ARGUMENT]``, Python functions or ``Predictor`` objects (see docs/predictors.md); a dict names them.
    questions : sequence of str, optional
        Only these.
    folder : path, optional
        Where predictions are stored as they arrive, so that a second call asks only for what is missing, and where
        the report is written. Models that an earlier bench of the same data left there are kept.
    seed : int
        Of the resampling.
    budget : float, str or Budget, optional
        What requests may cost in all, earlier ones in ``folder`` included: ``5``, or ``"2000000tokens"``.
    repeats : int
        How often servers and functions are asked; how far repeats agree is in ``bench.scores.about[model].consistency``.
    at_once, timeout, cache : int, float, bool
        Requests at the same time, seconds for one, and whether answers are reused between folders.
    progress : callable, optional
        Called with what is being done, the steps done and the steps in all.

    Returns
    -------
    Bench
        ``bench.scores`` has every metric with its interval and ceiling, and all pairs of models compared.

    Examples
    --------
    >>> bench = heartfelt.bench(ratings, ["system-mean", "constant"])
    >>> sorted(bench.scores.models)
    ['constant', 'system-mean']
    """
    from heartfelt.benchmark import BenchOptions, bench
    from heartfelt.labels import Benchmark
    from heartfelt.predictors import RunOptions, user_cache
    from heartfelt.predictors.budgets import read_budget
    from heartfelt.scoring import ScoreOptions, Selection

    only = None if questions is None else tuple(questions)
    stored, limit = user_cache() if cache else None, None if budget is None else read_budget(budget)
    asking = RunOptions(at_once, timeout=timeout, cache=stored, budget=limit, repeats=repeats)
    scoring = ScoreOptions(seed=seed, selection=Selection(questions=only))
    options = BenchOptions(score=scoring, run=asking, questions=only)
    asked = source if isinstance(source, Benchmark) else snapshot_of(source)
    if folder is None:
        return bench(asked, models, options, progress)
    from heartfelt.report.bench.write import run_bench

    return run_bench(asked, models, folder, options, progress)


@notebook_function
def predict(
    source: Any,
    model: PredictorLike = "valence-arousal",
    *,
    questions: Sequence[str] | None = None,
    folder: Path | str | None = None,
    study: Path | str | None = None,
    prompt: Any = None,
    reference: Path | str | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Predict what people would answer, for media files or for the items of a study.

    Parameters
    ----------
    source : path, list of paths, Snapshot or Panel
        Media files or folders of them (sound or images, as the model reads); or a snapshot, whose items are then predicted.
    model : str, path, function or Predictor
        A predictor as ``NAME[:ARGUMENT]``, the folder of a trained or fine-tuned model, or a function.
    questions : sequence of str, optional
        Only these.
    folder : path, optional
        Where answers are stored as they arrive, to be continued.
    study : path or str, optional
        Of files: a study or a recipe whose questions are asked; by default what the model answers by itself.
    prompt : str or dict of str by file, optional
        Of files: the text they were made from, or are to be compared with.
    reference : path, optional
        Of files: the undistorted original, or a folder with an original of the same name for every file.
    progress : callable, optional
        Called with what is being done, the steps done and the steps in all.

    Returns
    -------
    polars.DataFrame
        One row per file and question (``heartfelt.predictors.FILE_PREDICTIONS``) or per item (``PREDICTIONS``), answered or not:
        the predicted value with its interval, a flag and a warning where it is doubtful, or the problem why there is none.

    Examples
    --------
    >>> answers = heartfelt.predict(ratings, "system-mean")
    >>> answers.columns[:4]
    ['model', 'stimulus', 'question', 'value']
    """
    import polars as pl

    from heartfelt.screening import Panel

    if isinstance(source, Snapshot | Panel):
        from heartfelt.labels import labels
        from heartfelt.predictors import cases, predictor_from, run

        snapshot = snapshot_of(source)
        items = snapshot.items.select("stimulus", "question")
        if questions is not None:
            items = items.filter(pl.col("question").is_in(list(questions)))
        with predictor_from(model) as predictor:
            predictor.learn(snapshot, labels(snapshot).table)
            return run(predictor, cases(snapshot, items=items), folder, progress=progress).table

    from heartfelt.predictors.media_files import FileOptions, predict_files

    options = FileOptions(
        questions=tuple(questions or ()),
        study=study,
        prompt=prompt,
        reference=None if reference is None else Path(reference),
        folder=None if folder is None else Path(folder),
    )
    return predict_files(source, model, options, progress).table


@notebook_function
def train(
    source: object,
    recipe: str = "va-audio",
    *,
    policy: str = "default",
    heads: Sequence[str] = (),
    embedding: str = "",
    group: str = "auto",
    confidence: float = 0.9,
    seed: int = 0,
    progress: Progress | None = None,
) -> Trained:
    """Train a model on the labels of a study and evaluate it without leakage.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings, with media files.
    recipe : str
        What is embedded and which heads are tried: see docs/training.md.
    policy : str
        The screening behind the labels.
    heads : sequence of str
        Kinds of heads to choose from; the recipe's own if empty.
    embedding : str
        In place of the recipe's: ``clap:MODEL``, ``mert:MODEL`` or ``clip:MODEL``, with a folder or a name on the hub.
    group : str
        The column of the stimuli whose groups stay in one fold; ``auto`` looks for one, ``none`` folds by stimulus.
    confidence : float
        Of the prediction intervals.
    seed : int
        Of the folds and fits.
    progress : callable, optional
        Called with what is being done, the steps done and the steps in all.

    Returns
    -------
    Trained
        ``trained.model`` predicts and is saved with ``model.write(folder)``; ``trained.evaluation`` says how well it does.
    """
    from heartfelt.training import TrainOptions, train

    options = TrainOptions(recipe, policy, tuple(heads), seed, confidence, group=group, embedding=embedding)
    return train(snapshot_of(source), options, progress)


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
) -> Plan:
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
    >>> from heartfelt.make.starter import StarterOptions, start_study
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
) -> Published:
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
