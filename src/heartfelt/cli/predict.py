"""``heartfelt predict`` and ``heartfelt conveyance``: what listeners would say of sound files, and of generated clips."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import Out, TrainedFolder, app, err, progress_bar, read_source, say
from heartfelt.errors import HeartfeltError
from heartfelt.files import must_be_free
from heartfelt.serialization import dumps

if TYPE_CHECKING:
    from heartfelt.models.listening import ModelAnswers
    from heartfelt.predictors.trained.model import TrainedModel
    from heartfelt.stats.estimate import Estimate

predict = typer.Typer(
    name="predict",
    help="Predict what listeners would say of sound files: valence and arousal, speech quality, tags.",
    no_args_is_help=True,
)
app.add_typer(predict)
_Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="Sound files, or folders with sound files in them.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print a JSON list, one object per file.")]


def _trained(folder: Path | None) -> TrainedModel | None:
    from heartfelt.predictors.trained.model import load_trained

    return None if folder is None else load_trained(folder)


@predict.command("valence-arousal")
def valence_arousal(files: _Files, as_json: _Json = False, model: TrainedFolder = None) -> None:
    """Valence and arousal on 1 to 9 with prediction intervals; a curve over time for files beyond fifteen seconds."""
    from heartfelt.predictors.valence_arousal import predict as run

    with progress_bar("predicting") as report:
        predictions = run(files, model=_trained(model), progress=report)
    if as_json:
        print(dumps(predictions))
    for each in () if as_json else predictions:
        if not each.ok:
            _complain(f"{each.problem} {each.fix}")
            continue
        bounded = {
            name: _bounded(value["value"], value["low"], value["high"]) for name, value in each.values.items()
        }
        numbers = ", ".join(f"{name} {words}" for name, words in bounded.items())
        say(f"{each.file}: {numbers}" + (f" ({each.flag})" if each.flag else ""))
        say(*(f"    {remark}" for remark in (*each.warnings, each.note) if remark))
        for point in each.curve:
            words = ", ".join(f"{key} {value:.2f}" for key, value in point.items() if key != "start")
            say(f"    from {point['start']:7.1f} s: {words}")
    _leave([each.ok for each in predictions])


@predict.command("trained")
def trained(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Media files, or folders of them.")],
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="A model of 'heartfelt train'.")],
    as_json: _Json = False,
    prompt: Annotated[
        str, typer.Option(help="The text the files were made from, for models that judge the fit to it.")
    ] = "",
) -> None:
    """What a model of a fine-tuning recipe answers for files; for other models, see valence-arousal."""
    from heartfelt.errors import InputError
    from heartfelt.media.probe import AUDIO, IMAGES
    from heartfelt.predictors.finetuned import answers_for_files, is_fine_tuned, load_fine_tuned

    if not is_fine_tuned(model):
        raise InputError(
            f"{model} holds no fine-tuned model.",
            "Give a folder of a fine-tuning recipe, or use 'heartfelt predict valence-arousal --model DIR'.",
        )
    paths = [
        file
        for path in files
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if not path.is_dir() or file.suffix.lower() in AUDIO | IMAGES
    ]
    answers = answers_for_files(load_fine_tuned(model), paths, prompt or None)
    if as_json:
        print(dumps(answers))
    for each in () if as_json else answers:
        if each.problem:
            _complain(f"{each.problem} {each.fix}")
            continue
        say(f"{each.file}: {each.words}" + (" (the model was trained on it)" if each.trained_on else ""))
    _leave([not each.problem for each in answers])


@predict.command("speech-quality")
def speech_quality(files: _Files, as_json: _Json = False) -> None:
    """How good speech sounds, from 1 to 5: DNSMOS (speech, background, overall) and DistillMOS."""
    from heartfelt.models.listening import speech_quality as judge

    _each(files, as_json, judge)


@predict.command("tags")
def tags(
    files: _Files,
    as_json: _Json = False,
    most: Annotated[int, typer.Option(help="How many tags to show per file.")] = 5,
) -> None:
    """What MusicNN hears in music: tags with their probability."""
    from heartfelt.models.listening import tags as hear

    _each(files, as_json, hear, most)


def _each(
    files: list[Path], as_json: bool, ask: Callable[[Path], ModelAnswers], most: int | None = None
) -> None:
    """Ask about every file; a file that fails has an entry too."""
    from heartfelt.predictors.valence_arousal import expanded

    answers: list[tuple[Path, ModelAnswers | HeartfeltError]] = []
    paths = list(expanded(files))
    with progress_bar("predicting") as report:
        for place, path in enumerate(paths, 1):
            try:
                answers.append((path, ask(path)))
            except HeartfeltError as error:
                answers.append((path, error))
            report("predicting", place, len(paths))
    failed = [isinstance(answer, HeartfeltError) for _, answer in answers]
    rows: list[object] = []
    for path, answer in answers:
        if isinstance(answer, HeartfeltError):
            rows.append({"file": str(path), "problem": answer.problem, "fix": answer.fix})
            if not as_json:
                _complain(f"{answer.problem} {answer.fix}")
            continue
        rows.append(answer)
        if not as_json:
            known = list(answer.values.items())[:most]
            say(f"{answer.file}: {', '.join(f'{n} {_bounded(e.value, e.low, e.high)}' for n, e in known)}")
            say(*(f"    {warning}" for warning in answer.warnings))
    if as_json:
        print(dumps(rows))
    _leave([not each for each in failed])


def _bounded(value: float | None, low: float | None = None, high: float | None = None) -> str:
    return f"{value:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low is not None else "")


def _complain(words: str) -> None:
    err.print(words, markup=False, soft_wrap=True)


def _leave(answered: list[bool]) -> None:
    """Leave with 0 if every file was answered, 1 if some were not, 2 if none was."""
    if not all(answered):
        raise typer.Exit(1 if any(answered) else 2)


@app.command()
def conveyance(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A study, a snapshot, or clips with a CSV of intents or in subfolders named after intents.",
        ),
    ],
    out: Out,
    ratings: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Ratings of some clips: rater, stimulus, valence, arousal."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="YAML", help="A study whose intents have reference coordinates.")
    ] = None,
    model: TrainedFolder = None,
) -> None:
    """Predict deviation, slopes and quadrants of generated clips, with the predictor's own error in every interval."""
    from heartfelt.conveyance import convey
    from heartfelt.report.conveyance import flagged_words, headline, write_conveyance

    must_be_free(out)
    with progress_bar(f"reading {folder}") as report:
        conveyed = convey(
            folder, study=study, ratings=ratings, model=_trained(model), progress=report, read=read_source
        )
        write_conveyance(conveyed, out)
    say(headline(conveyed.result) + flagged_words(conveyed))
    for row in conveyed.result.deviation_by_system:
        say(f"• {row.system}, {row.question}: {_signed(row.deviation)} from the intents")
    failed = int((~conveyed.run.table["ok"]).sum())
    if failed:
        say(f"{failed:,} questions could not be answered; ledger.csv says why.")
    say(f"Report: {out / 'report.html'}")


def _signed(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"unknown ({estimate.why_missing})"
    bounds = "" if estimate.low is None else f" [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    return f"{estimate.value:+.2f}{bounds}"
