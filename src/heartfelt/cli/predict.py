"""``heartfelt predict``: valence and arousal, speech quality and tags of files, offline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.errors import HeartfeltError
from heartfelt.serialization import dumps

if TYPE_CHECKING:
    from heartfelt.models.listening import ModelAnswers

predict = typer.Typer(
    name="predict",
    help="Predict what listeners would say of sound files: valence and arousal, speech quality, tags.",
    no_args_is_help=True,
)

_Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="Sound files, or folders with sound files in them.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print a JSON list, one object per file.")]


@predict.command("valence-arousal")
def valence_arousal(
    files: _Files,
    as_json: _Json = False,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A model made by 'heartfelt train' in place of the shipped one."),
    ] = None,
) -> None:
    """Valence and arousal on 1 to 9 with prediction intervals; a curve over time for files beyond fifteen seconds."""
    from heartfelt.cli import screen
    from heartfelt.predictors.trained.model import load_trained
    from heartfelt.predictors.valence_arousal import predict as run

    chosen = None if model is None else load_trained(model)
    with screen.progress_bar("predicting") as report:
        predictions = run(files, model=chosen, progress=report)
    if as_json:
        print(dumps(predictions))
    else:
        for each in predictions:
            remarks = (*each.warnings, *([each.note] if each.note else []))
            values = {name: _numbers(**value) for name, value in each.values.items()}
            _show(each.file, values, (each.problem, each.fix), each.flag, remarks)
            for point in each.curve:
                words = ", ".join(f"{key} {value:.2f}" for key, value in point.items() if key != "start")
                screen.out.print(f"    from {point['start']:7.1f} s: {words}", markup=False)
    _leave([each.ok for each in predictions])


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
    from heartfelt.cli import screen
    from heartfelt.predictors.valence_arousal import expanded

    answers: list[tuple[Path, ModelAnswers | HeartfeltError]] = []
    paths = list(expanded(files))
    with screen.progress_bar("predicting") as report:
        for place, path in enumerate(paths, 1):
            try:
                answers.append((path, ask(path)))
            except HeartfeltError as error:
                answers.append((path, error))
            report("predicting", place, len(paths))
    if as_json:
        rows = [
            {"file": str(path), "problem": answer.problem, "fix": answer.fix}
            if isinstance(answer, HeartfeltError)
            else answer
            for path, answer in answers
        ]
        print(dumps(rows))
    else:
        for path, answer in answers:
            if isinstance(answer, HeartfeltError):
                _show(str(path), {}, (answer.problem, answer.fix))
                continue
            values = {
                name: _numbers(estimate.value, estimate.low, estimate.high)
                for name, estimate in list(answer.values.items())[:most]
            }
            _show(answer.file, values, remarks=answer.warnings)
    _leave([not isinstance(answer, HeartfeltError) for _, answer in answers])


def _numbers(value: float | None, low: float | None = None, high: float | None = None) -> str:
    return f"{value:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low is not None else "")


def _show(
    file: str,
    values: Mapping[str, str],
    problem: tuple[str | None, str | None] = (None, None),
    flag: str | None = None,
    remarks: Sequence[str] = (),
) -> None:
    from heartfelt.cli import screen

    if problem[0] is not None:
        screen.err.print(" ".join(part or "" for part in problem), markup=False, soft_wrap=True)
        return
    words = ", ".join(f"{name} {numbers}" for name, numbers in values.items())
    mark = "" if flag is None else f" ({flag})"
    screen.out.print(f"{file}: {words}{mark}", markup=False)
    for remark in remarks:
        screen.out.print(f"    {remark}", markup=False)


def _leave(answered: list[bool]) -> None:
    """Leave with 0 if every file was answered, 1 if some were not, 2 if none was."""
    if not all(answered):
        raise typer.Exit(1 if any(answered) else 2)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(predict)
