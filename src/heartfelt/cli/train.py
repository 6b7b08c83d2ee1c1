"""``heartfelt train`` and ``heartfelt evaluate``: a model from ratings, and how well it really does."""

from __future__ import annotations

from typing import Annotated

import typer

from heartfelt.cli.command import (
    Format,
    Map,
    Out,
    Policy,
    Source,
    app,
    parse_map,
    progress_bar,
    read_source,
    say,
)


@app.command(
    "evaluate",
    help="Evaluate a recipe: five folds of whole groups, leaving systems out, within cells; next to the ceiling and cell means.",
)
@app.command(
    "train",
    help="Train a model: heads are chosen on inner folds, and the evaluation is written next to the model.",
)
def train(
    context: typer.Context,
    source: Source,
    out: Out,
    recipe: Annotated[
        str, typer.Option(help="va-audio, va-image or mos-audio: see docs/training.md.")
    ] = "va-audio",
    format: Format = None,
    map: Map = None,
    policy: Policy = "default",
    heads: Annotated[
        str, typer.Option(metavar="KIND,…", help="Heads to choose from: ridge, kernel, mlp, ordinal.")
    ] = "",
    group: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Stimuli with the same value stay in one fold; auto looks for a theme, prompt or source, none folds by stimulus.",
        ),
    ] = "auto",
    split: Annotated[
        str,
        typer.Option(
            metavar="published", help="Fit to the published training part and evaluate on the other parts."
        ),
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of folds and networks.")] = 0,
) -> None:
    """Train a model, or only evaluate its recipe."""
    from heartfelt.files import must_be_free, whole_folder
    from heartfelt.report.training import write_evaluation
    from heartfelt.training import TrainOptions
    from heartfelt.training import train as run
    from heartfelt.training.card import evaluation_table

    must_be_free(out)
    with_model = context.info_name == "train"
    kinds = tuple(part.strip() for part in heads.split(",") if part.strip())
    options = TrainOptions(recipe, policy, kinds, seed, group=group, split=split)
    with progress_bar(f"reading {source}") as report:
        result = run(read_source(source, format, parse_map(map), report), options, report)
        with whole_folder(out) as made:
            if with_model:
                result.model.write(made, replace=True)
            write_evaluation(result, made / "evaluation" if with_model else made)
    say(*evaluation_table(result.evaluation.rows), result.material.grouping.words)
    say(f"{len(result.material.stimuli):,} stimuli were used.")
    if result.material.ledger.height:
        say(f"{result.material.ledger.height:,} with labels could not be used; ledger.csv says why.")
    say(f"{'Model' if with_model else 'Evaluation'}: {out}")
