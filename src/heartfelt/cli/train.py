"""``heartfelt train`` and ``heartfelt evaluate``: a model from ratings, and how well it really does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.data import parse_map
from heartfelt.files import must_be_free

if TYPE_CHECKING:
    from heartfelt.training import TrainOptions

_Source = Annotated[Path, typer.Argument(metavar="SOURCE", help="A snapshot, published data or a table.")]
_Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to make.")]
_Recipe = Annotated[str, typer.Option(help="va-audio, va-image or mos-audio: see docs/training.md.")]
_Format = Annotated[
    str | None, typer.Option("--format", "-f", help="The source's format; found out if left out.")
]
_Map = Annotated[
    list[str] | None,
    typer.Option("--map", "-m", metavar="OPTION=VALUE", help="An option of the format. May be repeated."),
]
_Policy = Annotated[str, typer.Option(help="Which raters are kept: see docs/screening.md.")]
_Heads = Annotated[
    str, typer.Option(metavar="KIND,…", help="Heads to choose from: ridge, kernel, mlp, ordinal.")
]
_Group = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Stimuli with the same value stay in one fold; auto looks for a theme, prompt or source, none folds by stimulus.",
    ),
]
_Split = Annotated[
    str | None,
    typer.Option(
        metavar="published", help="Fit to the published training part and evaluate on the other parts."
    ),
]
_Seed = Annotated[int, typer.Option(help="Seed of folds and networks.")]


def train(
    source: _Source,
    out: _Out,
    recipe: _Recipe = "va-audio",
    format: _Format = None,
    map: _Map = None,
    policy: _Policy = "default",
    heads: _Heads = "",
    group: _Group = "auto",
    split: _Split = None,
    seed: _Seed = 0,
) -> None:
    """Train a model: embeddings are kept, heads chosen on inner folds, the evaluation written beside the model."""
    options = _options(recipe, policy, heads, seed, group, split)
    _run(source, out, options, format, map or [], keep=True)


def evaluate(
    source: _Source,
    out: _Out,
    recipe: _Recipe = "va-audio",
    format: _Format = None,
    map: _Map = None,
    policy: _Policy = "default",
    heads: _Heads = "",
    group: _Group = "auto",
    split: _Split = None,
    seed: _Seed = 0,
) -> None:
    """Evaluate a recipe honestly: five folds of whole groups, leaving systems out, within cells, beside ceiling and bare means."""
    options = _options(recipe, policy, heads, seed, group, split)
    _run(source, out, options, format, map or [], keep=False)


def _options(recipe: str, policy: str, heads: str, seed: int, group: str, split: str | None) -> TrainOptions:
    from heartfelt.training import TrainOptions

    return TrainOptions(recipe, policy, _kinds(heads), seed, group=group, split=split or "")


def _kinds(heads: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in heads.split(",") if part.strip())


def _run(
    source: Path, out: Path, options: TrainOptions, format: str | None, given: list[str], *, keep: bool
) -> None:
    from heartfelt.cli import screen
    from heartfelt.cli.source import read_source
    from heartfelt.files import whole_folder
    from heartfelt.report.training import write_evaluation
    from heartfelt.training import train as run
    from heartfelt.training.card import evaluation_table

    must_be_free(out)
    with screen.progress_bar(f"reading {source}") as report:
        snapshot = read_source(source, format, parse_map(given), report)
        result = run(snapshot, options, report)
        with whole_folder(out) as made:
            if keep:
                result.model.write(made, replace=True)
            write_evaluation(result, made if not keep else made / "evaluation")
    for line in evaluation_table(result.evaluation.rows):
        screen.out.print(line, markup=False)
    screen.out.print(result.material.grouping.words, markup=False)
    for note in _notes(len(result.material.stimuli), result.material.ledger.height):
        screen.out.print(note, markup=False)
    screen.out.print(f"{'Model' if keep else 'Evaluation'}: {out}", markup=False)


def _notes(used: int, left_out: int) -> list[str]:
    words = [f"{used:,} stimuli were used."]
    if left_out:
        words.append(f"{left_out:,} with labels could not be used; ledger.csv says why.")
    return words


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(train)
    app.command()(evaluate)
