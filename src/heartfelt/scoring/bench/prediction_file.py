"""A file of predictions scored against a frozen benchmark.

The file is read as the predictor ``file`` reads it (:mod:`heartfelt.predictors.files.file`). Labels always come from the benchmark:
a column ``against``, with which a file can name other labels, is not used. Rows are scored in the order of their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark
from heartfelt.predictors import cases, run
from heartfelt.predictors.files.file import File
from heartfelt.predictors.files.metric_files import LOWER_IS_BETTER
from heartfelt.predictors.interface.predictor import Case, Predictor
from heartfelt.predictors.task import ask_of
from heartfelt.scoring import ModelInfo, ScoreOptions, Scores, Truth, score, truth_of
from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.wording import listed, plural


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FileAnswers:
    """What a file says about every item that is scored."""

    name: str
    """What its model is called."""
    predictions: pl.DataFrame
    """A row for every item that is scored, answered or not."""
    unused: pl.DataFrame
    """Rows of the file that belong to no scored item, with the reason."""
    content_hash: str
    """Of the predictions, whatever the order of rows and the kind of file."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredFile:
    """The scores of a file, with what was read from it."""

    scores: Scores
    answers: tuple[FileAnswers, ...]
    """Of each model that the file holds."""
    file_hash: str
    """SHA-256 of the file, or of the files of a folder one after the other."""


@dataclass(frozen=True, slots=True, eq=False)
class FileScorer:
    """Scores files against a part of a benchmark; what depends on the benchmark alone is prepared once."""

    benchmark: Benchmark
    options: ScoreOptions
    truth: Truth
    asked: Mapping[bool, list[Case]]
    """What is asked, of predictions for each stimulus and of predictions for sets."""

    @classmethod
    def of(cls, benchmark: Benchmark, options: ScoreOptions | None = None) -> FileScorer:
        """Prepare a benchmark, its rows in the order of their names."""
        options = options or ScoreOptions()
        ordered = in_order(benchmark)
        part = options.part
        if part is not None and not benchmark.part(part).height and part not in set(benchmark.choices["split"]):
            raise InputError(
                f"The part '{part}' of '{benchmark.study.name}' has no labels.",
                "They may be held out: submit to the server of the benchmark, or score against the private benchmark.",
            )
        truth = truth_of(ordered, options)
        items = truth.items.select(ITEM)
        cases_of = {compares: cases(ordered, items=items, compares=compares) for compares in (False, True)}
        return cls(ordered, options, truth, cases_of)

    def read(self, path: Path, name: str | None = None) -> FileAnswers:
        """Read a file of one model; ``name`` is what it is called, by default the file's own name."""
        predictors = self._predictors(path)
        if len(predictors) > 1:
            names = listed([predictor.label for predictor in predictors])
            raise InputError(
                f"{path.name} holds {len(predictors)} metrics ({names}), and only one model can be read here.",
                "Keep the column of one of them.",
            )
        return self._read(predictors[0], name or path.stem, path)

    def _predictors(self, path: Path) -> Sequence[Predictor]:
        """The file's model; of a file with several metrics, each of them."""
        study = self.benchmark.study
        return File(str(path), {}).separate([ask_of(study, question) for question in study.asked])

    def _read(self, predictor: Predictor, name: str, path: Path) -> FileAnswers:
        predictor.spec = predictor.spec or f"file:{name}"
        predictor.label = name
        answered = run(predictor, self.asked[predictor.compares])
        table = answered.table.with_columns(pl.lit(None, pl.Float64).alias("against")).sort(ITEM)
        content = table_hash("predictions", table.drop("model", "seconds", strict=False))
        notes = []
        if answered.table["against"].is_not_null().any():
            notes.append("The file names labels of its own ('against'); the benchmark's labels were used.")
        notes += _unused(answered.ledger, path)
        if isinstance(predictor, File) and predictor.lower_is_better:
            notes.append(LOWER_IS_BETTER.format(name))
        return FileAnswers(
            name=name, predictions=table, unused=answered.ledger, content_hash=content, notes=tuple(notes)
        )

    def score(self, *read: FileAnswers, file_hash: str = "") -> ScoredFile:
        predictions = pl.concat([answers.predictions for answers in read], how="diagonal")
        about = {
            answers.name: ModelInfo(
                spec=answers.name, display_name=answers.name, predictor="file", hash=answers.content_hash
            )
            for answers in read
        }
        scores = score(self.truth, predictions, self.options, about=about)
        notes = tuple(dict.fromkeys(note for answers in read for note in answers.notes))
        return ScoredFile(replace(scores, notes=(*scores.notes, *notes)), read, file_hash)

    def score_file(self, path: Path, name: str | None = None) -> ScoredFile:
        predictors = self._predictors(path)
        several = len(predictors) > 1
        read = [
            self._read(predictor, predictor.label if several else name or path.stem, path) for predictor in predictors
        ]
        return self.score(*read, file_hash=predictors[0].info.hash or "")


def _unused(ledger: pl.DataFrame, path: Path) -> Iterator[str]:
    """For each reason why something in a file was not used, how often that is so; without the name of the file."""
    reasons = (reason.removeprefix(f"{path.name}: ") for reason in ledger["reason"])
    counts = Counter(re.sub(r"^row \d+ ", "a row ", reason) for reason in reasons)
    for reason, count in sorted(counts.items()):
        yield f"{plural(count, 'entry', 'entries')} of the file could not be used: {reason}."


def in_order(benchmark: Benchmark) -> Benchmark:
    """The same benchmark with the rows of every table in the order of their names."""
    return replace(
        benchmark,
        items=benchmark.items.sort("question", "stimulus"),
        stimuli=benchmark.stimuli.sort("stimulus"),
        choices=benchmark.choices.sort(pl.all()),
        strengths=benchmark.strengths.sort("question", "of", "name"),
        courses=benchmark.courses.sort("question", "stimulus"),
    )
