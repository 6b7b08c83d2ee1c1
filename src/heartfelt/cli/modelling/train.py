"""``heartfelt train`` and ``heartfelt evaluate``: a model from ratings, and how well it really does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import Out, app, progress_bar, say
from heartfelt.errors import InputError
from heartfelt.options import SourceOptions
from heartfelt.training.finetuning.options import FineTuneOptions
from heartfelt.training.options import TrainOptions

_Sources = Annotated[
    list[Path],
    typer.Argument(metavar="SOURCE…", help="A snapshot, published data or a table; several for fine-tuning."),
]


@app.command(
    "evaluate",
    help="Evaluate a recipe: five folds of whole groups, leaving systems out, within cells; next to the ceiling and cell means.",
)
@app.command(
    "train",
    help="Train a model: a head on frozen embeddings, or a whole network (fine-tuning), with its evaluation next to it.",
)
def train(
    context: typer.Context,
    sources: _Sources,
    out: Out,
    options: TrainOptions,
    tuning: FineTuneOptions,
    reading: SourceOptions,
    settings_file: Annotated[
        Path | None, typer.Option("--settings", metavar="YAML", help="A file of such settings; --set takes precedence.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a fine-tuning run that was interrupted.")] = False,
    export_only: Annotated[
        bool,
        typer.Option(
            "--export-only", help="Write the conversations of chat-lora for other trainers; nothing is trained."
        ),
    ] = False,
) -> None:
    """Train a model, or only evaluate its recipe."""
    from heartfelt.api import models
    from heartfelt.files import must_be_free
    from heartfelt.training.finetuning import is_fine_tuning
    from heartfelt.training.heads.card import evaluation_table

    must_be_free(out)
    with_model, recipe = context.info_name == "train", options.recipe
    only_tuning = (
        (tuning.settings, "--set"),
        (settings_file, "--settings"),
        (resume, "--resume"),
        (tuning.folds, "--folds"),
        (export_only, "--export-only"),
    )
    if is_fine_tuning(recipe):
        _refuse(options.heads, "--heads", "chooses heads on frozen embeddings")
        _refuse(options.embedding, "--embedding", "chooses what heads are trained on")
        if not with_model:
            raise InputError(
                f"'{recipe}' fine-tunes a model: evaluating it means training it.",
                "Use 'heartfelt train'; the scores are written next to the model.",
            )
        if settings_file is not None:
            tuning = replace(tuning, settings={**_settings(settings_file), **tuning.settings})
        if export_only:
            _refuse(tuning.folds, "--folds", "trains models")
            _refuse(resume, "--resume", "continues a training run")
            _export(sources, tuning, reading, out)
            return
        _fine_tune(sources, tuning, reading, out, resume=resume)
        return
    for value, name in only_tuning:
        _refuse(value, name, "is for fine-tuning recipes")
    if len(sources) > 1:
        raise InputError(
            f"'{recipe}' trains on one source, and {len(sources)} were given.", "Give one, or use a fine-tuning recipe."
        )
    with progress_bar(f"reading {sources[0]}") as report:
        result = models.train(sources[0], options, reading, out=out, evaluate_only=not with_model, progress=report)
    say(*evaluation_table(result.evaluation.rows), result.material.grouping.words)
    say(f"{len(result.material.stimuli):,} stimuli were used; {result.material.label_words}.")
    say(*result.material.notes)
    if result.material.unreadable:
        ledger = "evaluation/ledger.csv" if with_model else "ledger.csv"
        say(f"{result.material.unreadable:,} with labels could not be used; {ledger} says why.")
    say(f"{'Model' if with_model else 'Evaluation'}: {out}")


def _refuse(value: object, option: str, problem: str) -> None:
    if value:
        raise InputError(f"{option} {problem}.", f"Leave out {option}, or choose another --recipe.")


def _settings(file: Path) -> dict[str, object]:
    import yaml

    try:
        stored = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file} cannot be read: {error}.", "Give a YAML file of KEY: VALUE.") from error
    if not isinstance(stored, dict):
        raise InputError(f"{file} has no settings.", "Write one KEY: VALUE per line.")
    return {str(key): value for key, value in stored.items()}


def _export(sources: list[Path], options: FineTuneOptions, reading: SourceOptions, out: Path) -> None:
    from heartfelt.api.sources import snapshot_of
    from heartfelt.files import whole_folder
    from heartfelt.training.finetuning.recipes.chat.export import export_chat_training

    with progress_bar(f"reading {sources[0]}") as report:
        snapshots = [snapshot_of(source, reading, report) for source in sources]
        with whole_folder(out) as folder:
            done = export_chat_training(snapshots, options, folder, report)
    say(*(f"{out / part.file}: {part.conversations:,} conversations" for part in done.parts.values()))
    say(done.split, done.grouping, *done.notes)
    if done.left_out:
        say(f"{done.left_out:,} stimuli could not be used; ledger.csv says why.")


def _fine_tune(
    sources: list[Path], options: FineTuneOptions, reading: SourceOptions, out: Path, *, resume: bool
) -> None:
    from heartfelt.api.models import fine_tune
    from heartfelt.training.finetuning.card import score_table

    with progress_bar(f"reading {sources[0]}") as report:
        result = fine_tune(sources, options, reading, out=out, resume=resume, progress=report)
    if not result.is_main:
        return
    facts = result.facts
    say(*score_table(facts.scores), facts.split, facts.grouping)
    epochs = f"{len(facts.fitted.history)} epochs ({facts.fitted.stopped})"
    say(f"{sum(facts.stimuli.values()):,} stimuli were used; {facts.labels}. {epochs}.")
    say(*facts.notes)
    if facts.left_out:
        say(f"{facts.left_out:,} could not be used; evaluation/ledger.csv says why.")
    say(f"Model: {out}")
