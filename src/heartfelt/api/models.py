"""Models next to people: ``bench``, ``distances``, ``predict``, ``train``, ``fine_tune``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartfelt.api.sources import read_parts, read_source, screened, snapshot_of
from heartfelt.errors import InputError
from heartfelt.extras import require_extra
from heartfelt.files import must_be_free, whole_folder
from heartfelt.options import ScreenedSourceOptions, SourceOptions
from heartfelt.predictors.options import FileOptions
from heartfelt.scoring.bench.options import BenchOptions
from heartfelt.scoring.options import DistanceOptions
from heartfelt.training.finetuning.options import FineTuneOptions
from heartfelt.training.options import TrainOptions

if TYPE_CHECKING:
    import polars as pl

    from heartfelt.labels import Benchmark
    from heartfelt.predictors.interface.spec import PredictorLike
    from heartfelt.progress import Progress
    from heartfelt.scoring.bench import Bench
    from heartfelt.scoring.bench.run import Models
    from heartfelt.scoring.set_distances.systems import SystemDistances
    from heartfelt.snapshot import Snapshot
    from heartfelt.training import Trained
    from heartfelt.training.finetuning import FineTuned


def bench(
    source: object,
    models: Models,
    options: BenchOptions,
    reading: ScreenedSourceOptions,
    *,
    systems: Mapping[str, Mapping[str, float]] | Path | str | None = None,
    folder: Path | str | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Ask predictors about every item and score their answers against the labels and the human ceiling.

    Parameters
    ----------
    source : Snapshot, Panel, Benchmark, path or table
        What people rated.
    models : sequence of str, functions or Predictors, or a mapping
        Predictors as ``NAME[:ARGUMENT]``, Python functions or ``Predictor`` objects (see docs/predictors.md); a dict names them.
    systems : mapping or path, optional
        System truth by question, or a file with S###,overall,textual; the scored clips' means if left out.
    folder : path, optional
        Where predictions are stored as they arrive, so that a second call asks only for what is missing, and where
        the report is written. Models that an earlier bench of the same data left there are kept.

    Returns
    -------
    Bench
        ``bench.scores`` has every metric with its interval and ceiling, and all pairs of models compared; how far repeats agree
        is in ``bench.scores.about[model].consistency``.

    Examples
    --------
    >>> bench = heartfelt.bench(ratings, ["system-mean", "constant"])
    >>> sorted(bench.scores.models)
    ['constant', 'system-mean']
    """
    return benches(source, models, options, reading, systems=systems, folder=folder, progress=progress)[0]


def benches(
    source: object,
    models: Models,
    options: BenchOptions,
    reading: ScreenedSourceOptions,
    *,
    systems: Mapping[str, Mapping[str, float]] | Path | str | None = None,
    folder: Path | str | None = None,
    progress: Progress | None = None,
) -> list[Bench]:
    """A bench, or one for each of the formats that a published layout is made of."""
    from heartfelt.formats.format import system_scores
    from heartfelt.predictors.execution.budgets import with_other_runs
    from heartfelt.report.bench.write import run_bench
    from heartfelt.scoring.bench import bench
    from heartfelt.scoring.bench.earlier import RUNS

    if isinstance(systems, Path | str):
        options = _with_truth(options, system_scores(Path(systems)), f"the file {Path(systems).name}")
    elif systems is not None:
        options = _with_truth(options, systems, "the caller")
    if reading.policy != "flag-only":
        note = f"Raters were screened by the policy '{reading.policy}' before labels were made."
        options = replace(options, notes=(*options.notes, note))
    parts = _rated(source, reading, options.layout, progress)
    if folder is None:
        return [bench(part, models, options, progress) for part in parts]
    home, results, allowance = Path(folder), [], options.run.budget
    options = replace(options, layout_folder=home)
    for part in parts:
        target = home if len(parts) == 1 else home / part.study.name
        # One budget for all parts: each counts what is spent on the others, its own runs are counted by the bench.
        remaining = None if allowance is None else with_other_runs(allowance, home, target / RUNS)
        part_options = replace(options, run=replace(options.run, budget=remaining))
        results.append(run_bench(part, models, target, part_options, progress))
    return results


def _with_truth(options: BenchOptions, systems: Mapping[str, Mapping[str, float]], origin: str) -> BenchOptions:
    return replace(options, score=replace(options.score, systems=systems, systems_from=origin))


def _rated(
    source: object, reading: ScreenedSourceOptions, layout: str | None, progress: Progress | None
) -> Sequence[Snapshot | Benchmark]:
    """What predictors are asked about: a frozen benchmark, or ratings, in parts where a layout has several."""
    from heartfelt.labels import Benchmark, load_benchmark

    frozen = source if isinstance(source, Benchmark) else None
    if frozen is None and isinstance(source, Path | str) and reading.format is None:
        manifest = Path(source) / "manifest.json"
        if manifest.is_file() and '"heartfelt_benchmark"' in manifest.read_text("utf-8", errors="replace"):
            frozen = load_benchmark(Path(source))
    if frozen is None:
        return [screened(part, reading.policy) for part in read_parts(source, reading, layout, progress)]
    if reading.policy != "flag-only":
        raise InputError("A frozen benchmark has no raters to screen.", "Leave the policy out.")
    return [frozen]


def distances(
    source: object,
    options: DistanceOptions,
    reading: ScreenedSourceOptions,
    *,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> SystemDistances:
    """Measure how far each system's stimuli lie from a reference set, and whether people's system means follow.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        What has stimuli with systems and media files; or a folder with a subfolder per system, without ratings.
    out : path, optional
        The folder to write the report into.

    Returns
    -------
    Distances
        ``distances.systems`` has every distance with its interval, ``distances.closeness`` the correlations with people's means
        beside the ceiling.
    """
    from heartfelt.report.pages.distances import write_distances
    from heartfelt.scoring.set_distances.stimulus_sets import is_data
    from heartfelt.scoring.set_distances.systems import distances

    if out is not None:
        must_be_free(Path(out))
    folder = Path(source) if isinstance(source, str | Path) else None
    chosen = reading.format is not None or bool(reading.map)
    data: Snapshot | Path
    if folder is not None and not (folder.exists() and (chosen or is_data(folder))):
        data = folder
    else:
        data = screened(snapshot_of(source, reading, progress), reading.policy)
    result = distances(data, options, progress, read=read_source)
    if out is not None:
        write_distances(result, Path(out))
    return result


def predict(
    source: Any,
    model: PredictorLike = "valence-arousal",
    *,
    options: FileOptions,
    folder: Path | str | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Predict what people would answer, for media files or for the items of a study.

    Parameters
    ----------
    source : path, list of paths, Snapshot or Panel
        Media files or folders of them (sound or images, as the model reads); or a snapshot, whose items are then predicted.
    model : str, path, function or Predictor
        A predictor as ``NAME[:ARGUMENT]``, the folder of a trained or fine-tuned model, or a function.
    folder : path, optional
        Where answers are stored as they arrive, to be continued.

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

    from heartfelt.predictors.files.media_files import predict_files
    from heartfelt.screening import Panel
    from heartfelt.snapshot import Snapshot

    home = None if folder is None else Path(folder)
    if not isinstance(source, Snapshot | Panel):
        return predict_files(source, model, replace(options, folder=home), progress).table
    from heartfelt.labels import labels
    from heartfelt.predictors import cases, predictor_from, run

    snapshot = snapshot_of(source)
    items = snapshot.items.select("stimulus", "question")
    if options.questions:
        chosen = [snapshot.study.question(name).id for name in options.questions]
        items = items.filter(pl.col("question").is_in(chosen))
    with predictor_from(model) as predictor:
        predictor.learn(snapshot, labels(snapshot).table)
        chosen_cases = cases(snapshot, items=items, compares=predictor.compares)
        return run(predictor, chosen_cases, home, options.run, progress).table


def train(
    source: object,
    options: TrainOptions,
    reading: SourceOptions,
    *,
    out: Path | str | None = None,
    evaluate_only: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Train a model on the labels of a study and evaluate it without leakage.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        The ratings, with media files.
    out : path, optional
        The folder to write the model and its evaluation into.
    evaluate_only : bool
        Write only the evaluation.

    Returns
    -------
    Trained
        ``trained.model`` predicts and is saved with ``model.write(folder)``; ``trained.evaluation`` says how well it does.
    """
    from heartfelt.report.pages.training import write_evaluation
    from heartfelt.training import train

    if out is not None:
        must_be_free(Path(out))
    result = train(snapshot_of(source, reading, progress), options, progress)
    if out is not None:
        with whole_folder(Path(out)) as folder:
            if not evaluate_only:
                result.model.write(folder, replace=True)
            write_evaluation(result, folder if evaluate_only else folder / "evaluation")
    return result


def fine_tune(
    sources: object,
    options: FineTuneOptions,
    reading: SourceOptions,
    *,
    out: Path | str,
    resume: bool = False,
    progress: Progress | None = None,
) -> FineTuned:
    """Fine-tune a whole network on the labels of one or several studies, and evaluate it on stimuli it has not seen.

    Parameters
    ----------
    sources : Snapshot, Panel, path or table, or a list of these
        The ratings, with media files.
    out : path
        The folder to write the model and its evaluation into; checkpoints are next to it until it is complete.
    resume : bool
        Continue a run that was interrupted.

    Returns
    -------
    FineTuned
        ``tuned.facts`` says what it was made from and how well it does, ``tuned.predictions`` what it predicts for every stimulus
        that was not trained on.
    """
    import shutil

    from heartfelt.report.pages.finetuning import write_training_report
    from heartfelt.training.finetuning import fine_tune

    require_extra("finetune")
    target = Path(out)
    must_be_free(target)
    checkpoints = checkpoints_of(target)
    if resume and not checkpoints.is_dir():
        raise InputError(f"There is no unfinished run to continue: {checkpoints} is missing.", "Leave out resume.")
    several = sources if isinstance(sources, Sequence) and not isinstance(sources, str) else [sources]
    snapshots = [snapshot_of(source, reading, progress) for source in several]
    result = fine_tune(snapshots, options, checkpoints=checkpoints, resume=resume, progress=progress)
    if result.is_main:
        with whole_folder(target) as folder:
            facts = result.write(folder)
            write_training_report(result, folder / "evaluation")
        shutil.rmtree(checkpoints, ignore_errors=True)
        result = replace(result, facts=facts)
    return result


def checkpoints_of(out: Path) -> Path:
    """Where the checkpoints of an unfinished run are: next to the folder that it will make."""
    return out.with_name(f"{out.name}.training")
