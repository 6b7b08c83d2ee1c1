"""Models next to people: ``bench``, ``predict``, ``train``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartfelt.api.ratings import snapshot_of
from heartfelt.arguments import notebook_function
from heartfelt.snapshot import Snapshot

if TYPE_CHECKING:
    import polars as pl

    from heartfelt.predictors.execution.calls import Budget
    from heartfelt.predictors.spec import PredictorLike
    from heartfelt.progress import Progress
    from heartfelt.scoring.bench import Bench
    from heartfelt.scoring.bench.run import Models
    from heartfelt.training import Trained


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
    from heartfelt.labels import Benchmark
    from heartfelt.predictors import RunOptions, user_cache
    from heartfelt.predictors.execution.budgets import read_budget
    from heartfelt.scoring import ItemSelection, ScoreOptions
    from heartfelt.scoring.bench import BenchOptions, bench

    only = None if questions is None else tuple(questions)
    stored, limit = user_cache() if cache else None, None if budget is None else read_budget(budget)
    asking = RunOptions(at_once, timeout=timeout, cache=stored, budget=limit, repeats=repeats)
    scoring = ScoreOptions(seed=seed, selection=ItemSelection(questions=only))
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
    budget: float | str | Budget | None = None,
    repeats: int = 1,
    at_once: int | None = None,
    batch: int | None = None,
    timeout: float | None = None,
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
    budget : number, str or Budget, optional
        What requests to a hosted model may cost, such as 5, or ``2000000tokens``.
    repeats : int
        How often servers and functions are asked each question; the answers are combined.
    at_once, batch : int, optional
        Batches under way at the same time, and stimuli in a batch; the model's own choice if left out.
    timeout : float, optional
        Seconds a stimulus may take at each attempt.
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

    from heartfelt.predictors import RunOptions
    from heartfelt.predictors.execution.budgets import read_budget
    from heartfelt.screening import Panel

    limit = None if budget is None else read_budget(budget)
    asking = RunOptions(at_once, batch, timeout=timeout, budget=limit, repeats=repeats)
    if isinstance(source, Snapshot | Panel):
        from heartfelt.labels import labels
        from heartfelt.predictors import cases, predictor_from, run

        snapshot = snapshot_of(source)
        items = snapshot.items.select("stimulus", "question")
        if questions is not None:
            chosen = [snapshot.study.question(name).id for name in questions]
            items = items.filter(pl.col("question").is_in(chosen))
        with predictor_from(model) as predictor:
            predictor.learn(snapshot, labels(snapshot).table)
            asked = cases(snapshot, items=items, compares=predictor.compares)
            return run(predictor, asked, folder, asking, progress).table

    from heartfelt.predictors.files.media_files import FileOptions, predict_files

    options = FileOptions(
        questions=tuple(questions or ()),
        study=study,
        prompt=prompt,
        reference=None if reference is None else Path(reference),
        folder=None if folder is None else Path(folder),
        run=asking,
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
