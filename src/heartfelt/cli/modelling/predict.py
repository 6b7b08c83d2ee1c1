"""``heartfelt predict`` and ``heartfelt conveyance``: what people would answer about files, and about generated clips."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heartfelt.api.sources import read_source
from heartfelt.cli.command import Out, TrainedFolder, app, err, progress_bar, say
from heartfelt.files import must_be_free
from heartfelt.predictors.options import FileOptions
from heartfelt.serialization import dumps
from heartfelt.wording import percent

if TYPE_CHECKING:
    import polars as pl

    from heartfelt.predictors.trained.model import TrainedModel
    from heartfelt.stats.estimate import Estimate

MOST_TAGS = 5
_Row = Mapping[str, Any]


@app.command()
def predict(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Media files, or folders of them.", show_default=False)
    ],
    options: FileOptions,
    model: Annotated[
        str, typer.Option("--model", "-p", metavar="NAME[:ARG]", help="A predictor, or a trained model's folder.")
    ] = "valence-arousal",
    prompts: Annotated[
        Path | None, typer.Option(metavar="CSV", help="A text for each file: columns file and prompt.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write the answers here, and continue there.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list, one object per file and question.")
    ] = False,
) -> None:
    """Predict what people would answer about sound files or images: any built-in, trained or fine-tuned model."""
    from heartfelt.api.models import predict as run
    from heartfelt.predictors.files.media_files import read_prompts

    if prompts is not None:
        options = replace(options, prompt=read_prompts(prompts))
    with progress_bar("predicting") as report:
        table = run(files, model, options=options, folder=out, progress=report)
    by_file: dict[str, list[_Row]] = {}
    for row in _rows(table):
        by_file.setdefault(row["file"], []).append(row)
    if as_json:
        print(dumps([row for rows in by_file.values() for row in rows]))
    else:
        _show_files(by_file.values(), out)
    answered = [any(row["ok"] for row in rows) for rows in by_file.values()]
    if not all(answered):
        raise typer.Exit(1 if any(answered) else 2)


def _rows(table: pl.DataFrame) -> Iterator[_Row]:
    """The rows as objects for JSON: what is empty is left out, and texts that hold JSON are read."""
    for row in table.iter_rows(named=True):
        filled = {name: value for name, value in row.items() if value is not None}
        yield filled | {name: json.loads(filled[name]) for name in ("shares", "samples", "boxes") if name in filled}


def _show_files(files: Iterable[Sequence[_Row]], out: Path | None) -> None:
    for rows in files:
        answered = [row for row in rows if row["ok"]]
        if answered:
            _show_answers(answered)
        _show_problems(rows)
    if out is not None:
        say(f"Predictions: {out / 'predictions.csv'}")


def _show_answers(rows: Sequence[_Row]) -> None:
    """The answers about one file: a line with all of them, then what to know about them."""
    flags = list(dict.fromkeys(row["flag"] for row in rows if row.get("flag")))
    flagged = f" ({'; '.join(flags)})" if flags else ""
    say(f"{rows[0]['file']}: {', '.join(_answer(row) for row in rows)}{flagged}")
    say(*(f"    {remark}" for remark in dict.fromkeys(row["warning"] for row in rows if "warning" in row)))
    _show_windows(rows)


def _show_problems(rows: Sequence[_Row]) -> None:
    """Why questions about one file have no answer."""
    for problem, questions in _problems(rows).items():
        names = "" if len(questions) == len(rows) else f" ({', '.join(questions)})"
        prefix = "" if rows[0]["file"] in problem else f"{rows[0]['file']}{names}: "
        err.print(f"{prefix}{problem}", markup=False, soft_wrap=True)


def _answer(row: _Row) -> str:
    """A question with its answer in a few words; of tags the most probable."""
    if "shares" in row and len(row["shares"]) > 1:
        top = sorted(row["shares"].items(), key=lambda pair: -pair[1])[:MOST_TAGS]
        return f"{row['question']}: {', '.join(f'{name} {percent(share)}' for name, share in top)}"
    if "answer" in row:
        return f"{row['question']} {row['answer']}"
    if "value" not in row:
        return f"{row['question']} {row['score']:.2f} (score, not on the scale)"
    bounds = f" [{row['low']:.2f}, {row['high']:.2f}]" if "low" in row and "high" in row else ""
    return f"{row['question']} {row['value']:.2f}{bounds}"


def _show_windows(rows: Sequence[_Row]) -> None:
    """A line for each window of a longer file."""
    windows = [row for row in rows if "samples" in row]
    for at in range(len(windows[0]["samples"]) if windows else 0):
        middle = windows[0]["start"] + at / windows[0]["rate"]
        values = ", ".join(f"{row['question']} {row['samples'][at]:.2f}" for row in windows)
        say(f"    around {middle:7.1f} s: {values}")


def _problems(rows: Sequence[_Row]) -> dict[str, list[str]]:
    """The questions without an answer, by the reason."""
    problems: dict[str, list[str]] = {}
    for row in rows:
        if not row["ok"]:
            problems.setdefault(row["problem"], []).append(row["question"])
    return problems


def _trained(folder: Path | None) -> TrainedModel | None:
    from heartfelt.predictors.trained.model import load_trained

    return None if folder is None else load_trained(folder)


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
        Path | None, typer.Option(metavar="CSV", help="Ratings of some clips: rater, stimulus, valence, arousal.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="YAML", help="A study whose intents have reference coordinates.")
    ] = None,
    model: TrainedFolder = None,
) -> None:
    """Predict deviation, slopes and quadrants of generated clips, with the predictor's own error in every interval."""
    from heartfelt.report.pages.conveyance import flagged_words, headline, write_conveyance
    from heartfelt.scoring.conveyance import convey

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
