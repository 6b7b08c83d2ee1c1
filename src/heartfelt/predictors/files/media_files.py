"""Predictions for media files that belong to no study: one way for every predictor, one row for every file and question.

What is asked is what the predictor answers by itself (``Predictor.file_asks``), the questions of a study, or how well a file
matches a text. A folder stands for the files in it of the kinds that the predictor reads. A file that cannot be answered has its
rows too, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.predictors.files.folders import SUFFIXES, FoundFile, find_files
from heartfelt.predictors.interface.predictor import Ask, Case, Media, Predictor
from heartfelt.predictors.interface.spec import PredictorLike, predictor_from
from heartfelt.predictors.options import FileOptions
from heartfelt.predictors.running import Run, run
from heartfelt.progress import Progress
from heartfelt.tables import Column, Contract
from heartfelt.wording import listed

PROMPT = "prompt"
"""The question how well a file matches a text."""


def _column(name: str, about: str, dtype: type[pl.DataType] = pl.String, *, required: bool = True) -> Column:
    return Column(name=name, dtype=dtype, about=about, required=required, nullable=True)


FILE_PREDICTIONS = Contract(
    "file predictions",
    "one row per file and question, answered or not",
    (
        Column(name="file", dtype=pl.String, about="the path, as it was given or found in a folder"),
        Column(name="question", dtype=pl.String, about="what was asked"),
        _column("value", "the prediction on the question's scale, or its category's code", pl.Float64),
        _column("low", "lower bound of the prediction interval", pl.Float64),
        _column("high", "upper bound of the prediction interval", pl.Float64),
        _column("confidence", "the share of new stimuli that intervals like it cover", pl.Float64),
        _column("spread", "standard deviation of single people's answers around the value", pl.Float64),
        _column("score", "a similarity or probability that is not on a scale", pl.Float64),
        _column("answer", "the predicted category, tags or text"),
        _column("shares", "probabilities by category or tag, as JSON"),
        _column("flag", "what makes it doubtful, such as 'unlike training'; empty if nothing"),
        _column("warning", "what to know before using it, in words"),
        Column(name="ok", dtype=pl.Boolean, about="whether there is a prediction"),
        _column("problem", "why there is none"),
        _column("samples", "the values of successive windows of a longer file, as JSON"),
        _column("rate", "windows per second", pl.Float64),
        _column("start", "seconds to the middle of the first window", pl.Float64),
        _column("reason", "the predictor's own reason"),
        _column("boxes", "where a detector saw what, as JSON"),
        Column(name="model", dtype=pl.String, about="the predictor, as it was requested"),
        _column("seconds", "time the file took", pl.Float64),
    ),
    key=("file", "question"),
)


@dataclass(frozen=True, slots=True, eq=False)
class FileRun:
    """The table of a run over files, under the contract ``FILE_PREDICTIONS``, and the run itself."""

    table: pl.DataFrame
    run: Run


def predict_files(
    files: object,
    model: PredictorLike | Path = "valence-arousal",
    options: FileOptions | None = None,
    progress: Progress | None = None,
) -> FileRun:
    """Ask a predictor about files and folders; every file has a row for every question."""
    options = options or FileOptions()
    predictor = predictor_from(model)
    with predictor:
        named = find_files(files, predictor.media_kinds)
        if not named:
            raise InputError("There are no files to predict.", "Give media files, or folders of them.")
        asks = _asks(predictor, options)
        cases = [_case(file, asks, options, predictor) for file in named]
        result = run(predictor, cases, options.folder, options.run, progress)
        return FileRun(_table(result, predictor), result)


def _asks(predictor: Predictor, options: FileOptions) -> tuple[Ask, ...]:
    asks = tuple(predictor.file_asks()) if options.study is None else _study_asks(options.study)
    if not asks and options.prompt is not None:
        asks = (replace(Ask.number(PROMPT), about={"matches": PROMPT}),)
    if not asks:
        raise InputError(
            f"The predictor '{predictor.spec or predictor.name}' must be told what to answer about files.",
            "Give a text to compare them with (prompt), the questions of a study (study), or ratings to predict: a snapshot.",
        )
    return _chosen(asks, options.questions) if options.questions else asks


def _chosen(asks: Sequence[Ask], questions: Sequence[str]) -> tuple[Ask, ...]:
    by_question = {ask.question: ask for ask in asks}
    for name in questions:
        if name not in by_question:
            raise UnknownNameError(f"There is no question '{name}' to ask.", suggestion(name, by_question, "Questions"))
    return tuple(by_question[name] for name in dict.fromkeys(questions))


def _study_asks(source: Path | str) -> tuple[Ask, ...]:
    from heartfelt.predictors.answers.sets import COMPARED
    from heartfelt.predictors.task import ask_of
    from heartfelt.study import load_study
    from heartfelt.study.recipes import recipe_study

    study = load_study(Path(source)) if Path(source).exists() else recipe_study(str(source))
    single_questions = [question for question in study.asked if not isinstance(study.scale_of(question.id), COMPARED)]
    if not single_questions:
        raise InputError(f"'{study.name}' compares stimuli and asks nothing about single ones.", "Give another study.")
    return tuple(ask_of(study, question) for question in single_questions)


def _case(file: FoundFile, asks: Sequence[Ask], options: FileOptions, predictor: Predictor) -> Case:
    path = file.path
    kind = "image" if path.suffix.lower() in SUFFIXES["image"] else "audio"
    prompt = _by_file(options.prompt, path)
    own_asks = tuple(_about_file(ask, kind, prompt) for ask in asks)
    if file.problem is not None:
        return Case(stimulus=file.name, asks=own_asks, prompt=prompt, problem=file.problem)
    media = Media(path) if path.is_file() else None
    facts = {} if media is not None else {"path": str(path)}
    originals = [] if options.reference is None else _originals(options.reference, path, predictor)
    if len(originals) > 1:
        names = listed([original.name for original in originals])
        problem = f"several references are named like it: {names}; leave one of them in {options.reference}"
        return Case(stimulus=file.name, asks=own_asks, prompt=prompt, problem=problem)
    reference = Media(originals[0]) if originals else None
    return Case(stimulus=file.name, asks=own_asks, media=media, prompt=prompt, facts=facts, reference=reference)


def _about_file(ask: Ask, kind: str, prompt: str | None) -> Ask:
    """The question with the medium of the file, and with its prompt where the fit to that is asked."""
    # A study's stimuli may be of another kind than the file; speech is a kind of audio.
    stated = ask.about.get("media", kind)
    ask = replace(ask, about={**ask.about, "media": kind if "image" in (stated, kind) else stated})
    if ask.about.get("matches") == PROMPT and prompt is not None:
        ask = replace(ask, text=prompt, shown=prompt)
    return ask


def _by_file(prompt: str | Mapping[str, str] | None, path: Path) -> str | None:
    if prompt is None or isinstance(prompt, str):
        return prompt
    return next((prompt[name] for name in (str(path), path.name, path.stem) if name in prompt), None)


def _originals(reference: Path, path: Path, predictor: Predictor) -> list[Path]:
    """What may be the original of a file: one for all, or those of the same name in a folder."""
    if reference.is_file():
        return [reference]
    if not reference.is_dir():
        raise InputError(f"There is no file or folder {reference}.", "Give the original, or a folder of originals.")
    kinds = predictor.media_kinds or tuple(SUFFIXES)
    suffixes = frozenset().union(*(SUFFIXES[kind] for kind in kinds))
    same = reference / path.name
    originals = [same] if same.is_file() else sorted(reference.glob(f"{escape(path.stem)}.*"))
    return [file for file in originals if file.suffix.lower() in suffixes]


def read_prompts(path: Path) -> dict[str, str]:
    from heartfelt.formats.tables.columns import need, read_table

    table = read_table(path)
    need(table, ("file", "prompt"), str(path))
    return dict(table.select(pl.col("file", "prompt").cast(pl.String)).drop_nulls().iter_rows())


def _table(result: Run, predictor: Predictor) -> pl.DataFrame:
    table = result.table.drop("spread", strict=False).rename(
        {"stimulus": "file", "note": "warning", "answer_sd": "spread"}, strict=False
    )
    bounded = pl.col("low").is_not_null()
    table = table.with_columns(
        pl.when(bounded).then(pl.lit(predictor.interval_confidence, pl.Float64)).alias("confidence")
    )
    columns = [
        pl.col(column.name) if column.name in table.columns else pl.lit(None, column.dtype).alias(column.name)
        for column in FILE_PREDICTIONS.columns
    ]
    return FILE_PREDICTIONS.check(table.select(columns), f"predictions of {result.model}")
