"""``heartfelt predict``: valence and arousal, speech quality and tags of files, offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from heartfelt.errors import HeartfeltError

predict = typer.Typer(
    name="predict",
    help="Predict what listeners would say of sound files: valence and arousal, speech quality, tags.",
    no_args_is_help=True,
)

_Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="Sound files, or folders with sound files in them.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print a JSON list, one object a file.")]


@predict.command("valence-arousal")
def valence_arousal(
    files: _Files,
    as_json: _Json = False,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A model of 'heartfelt train' in place of the shipped one."),
    ] = None,
) -> None:
    """Valence and arousal on 1 to 9 with prediction intervals; a curve over time for files beyond fifteen seconds."""
    from heartfelt.cli import screen
    from heartfelt.predictors.trained.model import load_trained
    from heartfelt.predictors.valence_arousal import predict as run

    chosen = None if model is None else load_trained(model)
    with screen.progress_bar("predicting") as report:
        found = run(files, model=chosen, progress=report)
    if as_json:
        print(json.dumps([one.to_json() for one in found], ensure_ascii=False, indent=2, allow_nan=False))
    else:
        for one in found:
            _show(one.file, one.values, one.problem, one.fix, one.flag)
            for words in (*one.warnings, *([one.note] if one.note else [])):
                screen.out.print(f"    {words}", markup=False)
            for point in one.curve:
                words = ", ".join(f"{key} {value:.2f}" for key, value in point.items() if key != "start")
                screen.out.print(f"    from {point['start']:7.1f} s: {words}", markup=False)
    _leave([one.ok for one in found])


@predict.command("speech-quality")
def speech_quality(files: _Files, as_json: _Json = False) -> None:
    """How good speech sounds, from 1 to 5: DNSMOS (speech, background, overall) and DistillMOS."""
    from heartfelt.models.listening import speech_quality as judge

    _each(files, as_json, judge)


@predict.command("tags")
def tags(
    files: _Files,
    as_json: _Json = False,
    most: Annotated[int, typer.Option(help="How many tags to show of each file.")] = 5,
) -> None:
    """What MusicNN hears in music: tags with their probability."""
    from heartfelt.models.listening import tags as hear

    _each(files, as_json, hear, most)


def _each(files: list[Path], as_json: bool, hear: Callable[[Path], Any], most: int | None = None) -> None:
    """Ask of every file; one that fails is an answer too."""
    from heartfelt.cli import screen
    from heartfelt.predictors.valence_arousal import expanded
    from heartfelt.serialization import to_json

    out: list[Any] = []
    paths = list(expanded(files))
    with screen.progress_bar("predicting") as report:
        for place, path in enumerate(paths, 1):
            try:
                out.append(to_json(hear(path)))
            except HeartfeltError as error:
                out.append({"file": str(path), "problem": error.problem, "fix": error.fix})
            report("predicting", place, len(paths))
    if as_json:
        print(json.dumps(out, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        for one in out:
            values = dict(list(one.get("values", {}).items())[:most])
            _show(one["file"], values, one.get("problem"), one.get("fix"))
            for words in one.get("warnings", []):
                screen.out.print(f"    {words}", markup=False)
    _leave(["problem" not in one for one in out])


def _show(file: str, values: Any, problem: str | None, fix: str | None, flag: str | None = None) -> None:
    from heartfelt.cli import screen

    if problem is not None:
        screen.err.print(f"{problem} {fix}", markup=False, soft_wrap=True)
        return
    words = [
        f"{name} {one['value']:.2f}"
        + (f" [{one['low']:.2f}, {one['high']:.2f}]" if one.get("low") is not None else "")
        for name, one in values.items()
    ]
    mark = "" if flag is None else f" ({flag})"
    screen.out.print(f"{file}: {', '.join(words)}{mark}", markup=False)


def _leave(answered: list[bool]) -> None:
    """Leave with 0 if every file was answered, 1 if some were not, 2 if none was."""
    if not all(answered):
        raise typer.Exit(1 if any(answered) else 2)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(predict)
