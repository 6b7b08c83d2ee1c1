"""A bench from end to end: ask every model, score what it said, write it all down.

What a model answered lies below ``runs/`` and is kept: the same bench into the same folder asks only for what is missing,
and writes the outputs anew. These are there when a bench has come to its end, each whole.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, labels
from heartfelt.predictors import Predictor, Run, RunOptions, cases, predictor_from, run
from heartfelt.progress import Progress
from heartfelt.report.bench.write import FILE, PAGE, fill_bench
from heartfelt.scoring import ModelInfo, ScoreOptions, Scores, Truth, score, truth_of
from heartfelt.scoring.layouts import LAYOUTS
from heartfelt.scoring.truth import ITEM
from heartfelt.snapshot import Snapshot

RUNS = "runs"


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How models are asked and scored; ``layout`` also writes a published system's own files."""

    score: ScoreOptions = field(default_factory=ScoreOptions)
    run: RunOptions = field(default_factory=RunOptions)
    questions: tuple[str, ...] | None = None
    layout: str | None = None
    layout_folder: Path | None = None
    """Where those files go, if not into the bench's own folder."""
    notes: tuple[str, ...] = ()
    """What else the page should say of how this was made."""

    def __post_init__(self) -> None:
        if self.layout is not None:
            LAYOUTS[self.layout]


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """What came of a bench."""

    scores: Scores
    runs: tuple[Run, ...]
    folder: Path


def run_bench(
    source: Snapshot | Benchmark,
    models: Sequence[str],
    folder: Path | str,
    options: BenchOptions | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Ask the models (``NAME[:ARG]``) about everything that can be scored, and write the outputs to ``folder``."""
    options = options or BenchOptions()
    target = Path(folder)
    _check(target, models)
    truth = truth_of(source, options.score)
    if options.layout is not None:
        LAYOUTS[options.layout].check(source)
    asked = _asked(truth, options.questions)
    # All are made before any is asked: a mistake in the last name costs nothing.
    made = [predictor_from(name) for name in models]
    _check_names([predictor.label or predictor.spec for predictor in made])
    put = cases(source, items=asked)
    known = source.items if isinstance(source, Benchmark) else labels(source).table
    runs, about = [], {}
    for predictor in made:
        with predictor:
            predictor.learn(source, known)
            place = target / RUNS / re.sub(r"[^\w.-]+", "_", predictor.spec)[:120]
            done = run(predictor, put, place, options.run, progress)
            runs.append(done)
            about[done.model] = model_info(predictor, done)
    predictions = pl.concat([one.table for one in runs], how="vertical")
    scores = score(truth, predictions, options.score, progress=progress, about=about)
    unused = pl.concat([scores.ledger, *(one.ledger for one in runs)], how="diagonal")
    scores = replace(scores, notes=(*options.notes, *_left(runs), *scores.notes), ledger=unused)
    _write(source, scores, predictions, target, options)
    return Bench(scores, tuple(runs), target)


def model_info(predictor: Predictor, done: Run) -> ModelInfo:
    """What is known of the model that answered: its spec, name, version and hash, and the confidence of its intervals."""
    from heartfelt.predictors.trained.predictor import TrainedPredictor

    info, claimed = predictor.info, None
    if isinstance(predictor, TrainedPredictor):
        claims = {output.confidence for output in predictor.model.outputs}
        claimed = claims.pop() if len(claims) == 1 else None
    version, hashed = info.version, info.hash
    if version is None and hashed is None:
        named = re.search(r"version ([^\s,;]+)|@([0-9a-f]{7,64})\b", done.identity)
        version = next((part for part in named.groups() if part), None) if named else None
        # A predictor made of the study's own labels names these, which are no weights of its own.
        own = "" if re.search(r"\bof (labels )?[0-9a-f]{16}", done.identity) else done.identity
        digest = re.search(r"\b(?:sha256:)?([0-9a-f]{16,64})\b", own)
        hashed = digest[1] if digest else None
    return ModelInfo(info.spec, info.display_name, info.predictor, version, hashed, done.identity, claimed)


def _left(runs: Sequence[Run]) -> list[str]:
    return [
        f"{one.ledger.height:,} entries of {one.model} could not be used; ledger.csv says why."
        for one in runs
        if one.ledger.height
    ]


def _check(target: Path, models: Sequence[str]) -> None:
    if not models:
        raise InputError("There is no model to ask.", "Name one or more with --model NAME[:ARG].")
    twice = sorted({name for name in models if list(models).count(name) > 1})
    if twice:
        raise InputError(f"The model '{twice[0]}' is named twice.", "Name each once.")
    ours = (target / RUNS).is_dir() or (target / FILE).is_file()
    if target.exists() and not ours and (not target.is_dir() or any(target.iterdir())):
        raise InputError(
            f"{target} already exists and holds no bench.", "Choose another folder, or remove this one first."
        )


def _check_names(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"Two models are called '{twice[0]}'.", "Give each a name of its own: NAME=SPEC.")


def _asked(truth: Truth, questions: Sequence[str] | None) -> pl.DataFrame:
    items = truth.items.select(ITEM)
    if questions is None:
        return items
    for name in questions:
        truth.study.question(name)
    kept = items.filter(pl.col("question").is_in(list(questions)))
    if not kept.height:
        raise InputError("Nobody rated anything under these questions.", "Name other questions.")
    return kept


def _write(
    source: Snapshot | Benchmark,
    scores: Scores,
    predictions: pl.DataFrame,
    target: Path,
    options: BenchOptions,
) -> None:
    """Fill a folder beside the runs, then put its files in their places, the page last."""
    snapshot = source if isinstance(source, Snapshot) else None
    scratch = Path(tempfile.mkdtemp(prefix=".new.", dir=target))
    try:
        if options.layout is not None:
            own = scratch / "own"
            own.mkdir()
            layout = LAYOUTS[options.layout]
            for made in layout.write_scores(source, predictions, scores, own, options.score):
                _put(made, (options.layout_folder or target) / made.relative_to(own))
            shutil.rmtree(own)
        fill_bench(scores, predictions, scratch, target / PAGE, snapshot)
        for made in sorted(scratch.iterdir(), key=lambda path: path.name == PAGE):
            _put(made, target / made.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _put(made: Path, place: Path) -> None:
    """Move a file or folder to its place, instead of what is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    made.replace(place)
