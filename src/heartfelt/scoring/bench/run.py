"""Ask every model about everything that can be scored, and score the answers.

With a ``folder`` answers are stored below ``runs/``: the same bench into the same folder asks only for what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.labels import Benchmark, labels
from heartfelt.media.decoded import keep_decoded
from heartfelt.predictors import Predictor, Run, RunOptions, cases, predictor_from, run
from heartfelt.predictors.execution.budgets import applies_to, with_other_runs
from heartfelt.predictors.execution.repeats import NOT_ASKED, self_consistency
from heartfelt.predictors.files.metric_files import LOWER, LOWER_IS_BETTER
from heartfelt.predictors.interface.spec import PredictorLike
from heartfelt.predictors.task import ask_of
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.scoring import ModelInfo, Scores, Truth, score, truth_of
from heartfelt.scoring.bench.earlier import RUNS, earlier_bench, run_folder
from heartfelt.scoring.bench.options import BenchOptions
from heartfelt.scoring.bench.stacking import with_stacks
from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.scoring.layouts import LAYOUTS
from heartfelt.snapshot import Snapshot
from heartfelt.wording import listed, plural

Models: TypeAlias = PredictorLike | Sequence[PredictorLike] | Mapping[str, PredictorLike]
"""One model, several, or several by the name each is to carry."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bench(ShortRepr):
    """Models asked and scored: their answers, the scores, and the run of each model."""

    scores: Scores
    predictions: pl.DataFrame
    runs: tuple[Run, ...]
    """Of the models that were asked now; models of an earlier bench in the same folder have only predictions and scores."""
    folder: Path | None = None

    @property
    def failed(self) -> dict[str, str]:
        """The models that were asked and answered nothing at all, each with the most frequent reason."""
        return {run.model: _main_problem(run.table) for run in self.runs if not run.counts["answered"]}

    def check(self) -> None:
        """Raise where a model answered nothing at all."""
        if not self.failed:
            return
        reasons = "; ".join(f"{model}: {reason.rstrip('.')}" for model, reason in self.failed.items())
        complete = [model for model in self.scores.models if model not in self.failed]
        done = f" The scores of {listed(complete)} are complete." if complete else ""
        raise NothingAnswered(
            f"{plural(len(self.failed), 'model')} answered nothing. {reasons}.{done}",
            "Check that the server runs and that its address and key are right, or what else the reason names; the same "
            "command asks only for what is missing.",
        )


class NothingAnswered(HeartfeltError):
    """A model that was asked and answered nothing at all."""

    exit_code = 1


def _main_problem(table: pl.DataFrame) -> str:
    problems = table["problem"].drop_nulls().value_counts(sort=True)
    # What was not asked any more says which failures came before.
    given_up = [text for text in problems["problem"] if not text.startswith("not asked")]
    return str((given_up or problems["problem"].to_list() or ["it was asked nothing"])[0])


def _as_list(models: Models) -> list[PredictorLike]:
    """The models one by one; those with a name of their own carry it."""
    if isinstance(models, Mapping):
        predictors = []
        for name, model in models.items():
            predictor = predictor_from(model)
            predictor.label = str(name)
            if not isinstance(model, str):
                predictor.spec = str(name)  # two functions may have the same name
            predictors.append(predictor)
        return list(predictors)
    if isinstance(models, str | Path | Predictor) or callable(models):
        return [models]
    try:
        return list(models)
    except TypeError:
        raise InputError(
            f"A value of type '{type(models).__name__}' does not name models.",
            "Give names such as 'intent', functions or predictors, in a list; or a dict of them by name.",
        ) from None


def bench(
    source: Snapshot | Benchmark, models: Models, options: BenchOptions | None = None, progress: Progress | None = None
) -> Bench:
    """Ask the models about everything in ``source`` that can be scored, and score their answers.

    A model is ``NAME[:ARG]``, a Python function (see :mod:`heartfelt.predictors.interface.function`) or a
    ``Predictor``. Models that an earlier bench of the same data left in the folder are kept and scored again with the
    new ones.
    """
    options = options or BenchOptions()
    asked_models = _as_list(models)
    if not asked_models:
        raise InputError("No model was named.", "Name at least one with --model NAME[:ARG].")
    _no_duplicates(
        [model for model in asked_models if isinstance(model, str)], "The model '{}' is named twice.", "Name each once."
    )
    truth = truth_of(source, options.score, loudness=True)
    if options.layout is not None:
        LAYOUTS[options.layout].check(source)
    wanted = _asked(truth, options.questions)
    # All predictors are made before any is asked, so that a mistake in the last name costs nothing.
    asks = [ask_of(source.study, question) for question in source.study.asked]
    predictors = [part for model in asked_models for part in predictor_from(model).separate(asks)]
    names = [predictor.label or predictor.spec for predictor in predictors]
    _no_duplicates(
        names,
        "Two models are called '{}'.",
        "Give each a name of its own: NAME=SPEC, or in Python a dict {name: model}.",
    )
    notes = (*options.notes, *_asking_notes(predictors, names, options.run))
    earlier = earlier_bench(options.folder, names, truth.hash, options.score)
    runs, infos = _asked_all(source, wanted, predictors, options, progress)
    about = {**earlier.about, **infos}
    tables = [earlier.predictions, *(model_run.table for model_run in runs)]
    predictions = pl.concat([table for table in tables if table.height], how="diagonal")
    scores = with_stacks(score(truth, predictions, options.score, progress=progress, about=about), truth)
    ledgers = {**earlier.ledgers, **{model_run.model: model_run.ledger for model_run in runs}}
    ledger = pl.concat([scores.ledger, *ledgers.values()], how="diagonal")
    notes = (*notes, *_unasked_repeats(runs), *_notes_on_use(about, ledgers), *scores.notes)
    result = Bench(replace(scores, notes=notes, ledger=ledger), predictions, tuple(runs), options.folder)
    silent = tuple(f"{model} answered nothing: {reason}" for model, reason in result.failed.items())
    return replace(result, scores=replace(result.scores, notes=(*silent, *notes))) if silent else result


def _asked_all(
    source: Snapshot | Benchmark,
    wanted: pl.DataFrame,
    predictors: Sequence[Predictor],
    options: BenchOptions,
    progress: Progress | None,
) -> tuple[list[Run], dict[str, ModelInfo]]:
    """The run of every model, one after the other, and what is known about it."""
    kinds = {predictor.compares for predictor in predictors}
    cases_of = {compares: cases(source, items=wanted, compares=compares) for compares in kinds}
    label_table = source.items if isinstance(source, Benchmark) else labels(source).table
    runs: list[Run] = []
    about: dict[str, ModelInfo] = {}
    with _decoded_once(predictors, options):
        for predictor in predictors:
            with predictor:
                predictor.learn(source, label_table)
                home = None if options.folder is None else run_folder(options.folder / RUNS, predictor.spec)
                # What the earlier models have spent is known only now.
                asking = _asking(predictor, options.run, home, runs)
                done = run(predictor, cases_of[predictor.compares], home, asking, progress)
                about[done.model] = model_info(predictor, done)
            runs.append(done)
    return runs, about


def _notes_on_use(about: Mapping[str, ModelInfo], ledgers: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    """Which models are metrics of which less is better, and whose files hold entries that could not be used."""
    lower = [model for model, info in about.items() if info.display_name.endswith(LOWER)]
    if lower:
        yield LOWER_IS_BETTER.format(listed(lower))
    for model, table in ledgers.items():
        if table.height:
            yield f"{plural(table.height, 'entry', 'entries')} of {model} could not be used; ledger.csv says why."


def _decoded_once(predictors: Sequence[Predictor], options: BenchOptions) -> AbstractContextManager[object]:
    """Where media are read by several models, or for several repeats, what was decoded is kept for the others."""
    readers = sum(predictor.needs_media for predictor in predictors)
    if (readers < 2 and options.run.repeats < 2) or options.run.engine != "local":
        return nullcontext()
    folder = options.folder
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return keep_decoded(folder)


def _asking_notes(predictors: Sequence[Predictor], names: Sequence[str], options: RunOptions) -> Iterator[str]:
    """What is to be known of repeats; an error where a budget cannot be checked or nothing can be repeated."""
    for predictor in predictors:
        applies_to(options.budget, predictor)
    if options.repeats == 1:
        return
    by_name = dict(zip(names, predictors, strict=True))
    once = [name for name, predictor in by_name.items() if not predictor.repeatable]
    if len(once) == len(names):
        raise InputError(
            f"{listed(once)} would give the same answers however often asked.",
            "Leave out repeats; they are for servers and functions.",
        )
    if once:
        yield f"{listed(once)} gave one answer per question, because repeats would be the same."
    cold = [name for name in by_name if name not in once and getattr(by_name[name], "temperature", None) == 0.0]
    if cold:
        yield (
            f"Repeats of {listed(cold)} were at temperature 0 and show only how far the server's answers vary by themselves."
            " Set a temperature, as in chat[temperature=1]."
        )


def _unasked_repeats(runs: Sequence[Run]) -> Iterator[str]:
    """Items whose answers rest on fewer repeats than were wanted, because a run came to an early end."""
    for done in runs:
        if done.repeated is None:
            continue
        unasked = done.repeated.filter(pl.col("problem").str.starts_with(NOT_ASKED))
        answered = done.table.filter("ok")
        unasked = unasked.join(answered, on=["stimulus", "question"], how="semi", maintain_order="left")
        if unasked.height:
            items = unasked.select("stimulus", "question").n_unique()
            lacking = f"{plural(items, 'answered item')} {'lacks' if items == 1 else 'lack'}"
            yield f"{done.model}: {lacking} {plural(unasked.height, 'repeat')} ({unasked['problem'][0]})."


def _asking(predictor: Predictor, options: RunOptions, home: Path | None, runs: Sequence[Run]) -> RunOptions:
    """How one of the models is asked: once where repeats would be the same, with what the others left of the budget."""
    if not predictor.repeatable:
        options = replace(options, repeats=1)
    budget = options.budget
    if budget is None or not applies_to(budget, predictor):
        return replace(options, budget=None)
    if home is not None:
        return replace(options, budget=with_other_runs(budget, home.parent, home, predictor))
    spent = sum(budget.taken_by(done.usage) for done in runs if done.usage is not None)
    return replace(options, budget=replace(budget, spent=budget.spent + spent))


def model_info(predictor: Predictor, done: Run) -> ModelInfo:
    """What is known about the model that answered: its spec, name, version and hash, and the confidence of its intervals."""
    info, claimed = predictor.info, predictor.interval_confidence
    version, hashed = info.version, info.hash
    if version is None and hashed is None:
        named = re.search(r"version (?!by name|unknown)([^\s,;]+)|@([0-9a-f]{7,64})\b", done.identity)
        version = next((part for part in named.groups() if part), None) if named else None
        # A predictor made of the study's own labels names these, which are not weights of its own.
        model_identity = "" if re.search(r"\bof (labels )?[0-9a-f]{16}", done.identity) else done.identity
        digest = re.search(r"\b(?:sha256:)?([0-9a-f]{16,64})\b", model_identity)
        hashed = digest[1] if digest else None
    return ModelInfo(
        spec=info.spec,
        display_name=info.display_name,
        predictor=info.predictor,
        version=version,
        hash=hashed,
        identity=done.identity,
        interval_confidence=claimed,
        usage=done.usage,
        consistency={} if done.repeated is None else self_consistency(done.repeated),
    )


def _no_duplicates(names: Sequence[str], problem: str, fix: str) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InputError(problem.format(twice[0]), fix)


def _asked(truth: Truth, questions: Sequence[str] | None) -> pl.DataFrame:
    items = truth.items.select(ITEM)
    if questions is None:
        return items
    for name in questions:
        truth.study.question(name)
    items = items.filter(pl.col("question").is_in(list(questions)))
    if not items.height:
        raise InputError("No item was rated under these questions.", "Name other questions.")
    return items
