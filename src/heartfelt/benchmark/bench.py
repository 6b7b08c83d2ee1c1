"""Ask every model about everything that can be scored, and score the answers.

With a ``folder`` answers are stored below ``runs/``: the same bench into the same folder asks only for what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, labels
from heartfelt.predictors import Predictor, Run, RunOptions, cases, predictor_from, run
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.scoring import ModelInfo, ScoreOptions, Scores, Truth, score, truth_of
from heartfelt.scoring.layouts import LAYOUTS
from heartfelt.scoring.truth import ITEM
from heartfelt.snapshot import Snapshot

RUNS = "runs"


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How models are asked and scored.

    ``layout`` names a published system whose own files are written too, into ``layout_folder`` if not into the folder of the
    bench. ``notes`` say what else is to be known about how this was made.
    """

    score: ScoreOptions = field(default_factory=ScoreOptions)
    run: RunOptions = field(default_factory=RunOptions)
    questions: tuple[str, ...] | None = None
    layout: str | None = None
    layout_folder: Path | None = None
    notes: tuple[str, ...] = ()
    folder: Path | None = None
    """Where answers are stored; None: nowhere."""

    def __post_init__(self) -> None:
        if self.layout is not None:
            LAYOUTS[self.layout]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bench(ShortRepr):
    """Models asked and scored: their answers, the scores, and the run of each model."""

    scores: Scores
    predictions: pl.DataFrame
    runs: tuple[Run, ...]
    folder: Path | None = None


def bench(
    source: Snapshot | Benchmark,
    models: Sequence[str],
    options: BenchOptions | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Ask the models (``NAME[:ARG]``) about everything in ``source`` that can be scored, and score their answers."""
    options = options or BenchOptions()
    if not models:
        raise InputError("No model was named.", "Name at least one with --model NAME[:ARG].")
    _no_duplicates(models, "The model '{}' is named twice.", "Name each once.")
    truth = truth_of(source, options.score)
    if options.layout is not None:
        LAYOUTS[options.layout].check(source)
    wanted = _asked(truth, options.questions)
    # All predictors are made before any is asked, so that a mistake in the last name costs nothing.
    predictors = [predictor_from(name) for name in models]
    names = [predictor.label or predictor.spec for predictor in predictors]
    _no_duplicates(names, "Two models are called '{}'.", "Give each a name of its own: NAME=SPEC.")
    kinds = {predictor.compares for predictor in predictors}
    asked = {compares: cases(source, items=wanted, compares=compares) for compares in kinds}
    known = source.items if isinstance(source, Benchmark) else labels(source).table
    runs, about = [], {}
    for predictor in predictors:
        name = re.sub(r"[^\w.-]+", "_", predictor.spec)[:120]
        with predictor:
            predictor.learn(source, known)
            place = None if options.folder is None else options.folder / RUNS / name
            done = run(predictor, asked[predictor.compares], place, options.run, progress)
            about[done.model] = model_info(predictor, done)
        runs.append(done)
    predictions = pl.concat([each.table for each in runs], how="diagonal")
    scores = score(truth, predictions, options.score, progress=progress, about=about)
    unusable = [
        f"{each.ledger.height:,} entries of {each.model} could not be used; ledger.csv says why."
        for each in runs
        if each.ledger.height
    ]
    ledger = pl.concat([scores.ledger, *(each.ledger for each in runs)], how="diagonal")
    scores = replace(scores, notes=(*options.notes, *unusable, *scores.notes), ledger=ledger)
    return Bench(scores, predictions, tuple(runs), options.folder)


def model_info(predictor: Predictor, done: Run) -> ModelInfo:
    """What is known about the model that answered: its spec, name, version and hash, and the confidence of its intervals."""
    from heartfelt.predictors.trained.predictor import TrainedPredictor

    info, claimed = predictor.info, None
    if isinstance(predictor, TrainedPredictor):
        claims = {output.confidence for output in predictor.model.outputs}
        claimed = claims.pop() if len(claims) == 1 else None
    version, hashed = info.version, info.hash
    if version is None and hashed is None:
        named = re.search(r"version ([^\s,;]+)|@([0-9a-f]{7,64})\b", done.identity)
        version = next((part for part in named.groups() if part), None) if named else None
        # A predictor made of the study's own labels names these, which are not weights of its own.
        own = "" if re.search(r"\bof (labels )?[0-9a-f]{16}", done.identity) else done.identity
        digest = re.search(r"\b(?:sha256:)?([0-9a-f]{16,64})\b", own)
        hashed = digest[1] if digest else None
    return ModelInfo(info.spec, info.display_name, info.predictor, version, hashed, done.identity, claimed)


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
