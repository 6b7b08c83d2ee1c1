"""``heartfelt train`` and ``heartfelt evaluate``: a model from ratings, and how well it really does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import (
    Format,
    Map,
    Out,
    Policy,
    app,
    parse_map,
    progress_bar,
    read_source,
    say,
)
from heartfelt.errors import InputError
from heartfelt.extras import require_extra

if TYPE_CHECKING:
    from heartfelt.training.finetuning import FineTuneOptions

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
    recipe: Annotated[
        str,
        typer.Option(
            help="A recipe of docs/training.md, such as va-audio or clap-mos, or my_package:recipe."
        ),
    ] = "va-audio",
    format: Format = None,
    map: Map = None,
    policy: Policy = "default",
    heads: Annotated[
        str, typer.Option(metavar="KIND,…", help="Heads to choose from: ridge, kernel, mlp, ordinal.")
    ] = "",
    embedding: Annotated[
        str,
        typer.Option(
            metavar="NAME[:MODEL]",
            help="An embedding in place of the recipe's: clap:MODEL, mert:MODEL, clip:MODEL, with a folder or a name on the hub.",
        ),
    ] = "",
    group: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Stimuli with the same value stay together; auto looks for a theme, prompt or source, none splits by stimulus.",
        ),
    ] = "auto",
    split: Annotated[
        str,
        typer.Option(
            metavar="published", help="Fit to the published training part and evaluate on the other parts."
        ),
    ] = "",
    folds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Cross-validate a fine-tuning recipe: N further models, each scored on the groups it has not seen.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of folds and networks.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of a fine-tuning recipe. May be repeated."
        ),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option("--settings", metavar="YAML", help="A file of such settings; --set takes precedence."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a fine-tuning run that was interrupted.")
    ] = False,
    export_only: Annotated[
        bool,
        typer.Option(
            "--export-only",
            help="Write the conversations of chat-lora for other trainers; nothing is trained.",
        ),
    ] = False,
) -> None:
    """Train a model, or only evaluate its recipe."""
    from heartfelt.files import must_be_free
    from heartfelt.training.finetuning import FineTuneOptions, is_fine_tuning

    must_be_free(out)
    with_model = context.info_name == "train"
    if is_fine_tuning(recipe):
        _refuse(heads, "--heads", "chooses heads on frozen embeddings")
        _refuse(embedding, "--embedding", "chooses what heads are trained on")
        if not with_model:
            raise InputError(
                f"'{recipe}' fine-tunes a model: evaluating it means training it.",
                "Use 'heartfelt train'; the scores are written next to the model.",
            )
        given = _settings(settings, settings_file)
        options = FineTuneOptions(recipe, given, policy, group, split, seed, folds=folds)
        if export_only:
            _refuse(folds, "--folds", "trains models")
            _refuse(resume, "--resume", "continues a training run")
            _export(sources, options, out, format, parse_map(map))
            return
        require_extra("finetune")
        _fine_tune(sources, options, out, format, parse_map(map), resume=resume)
        return
    given_options = (
        (settings, "--set"),
        (settings_file, "--settings"),
        (resume, "--resume"),
        (folds, "--folds"),
        (export_only, "--export-only"),
    )
    for value, name in given_options:
        _refuse(value, name, "is for fine-tuning recipes")
    if len(sources) > 1:
        raise InputError(
            f"'{recipe}' trains on one source, and {len(sources)} were given.",
            "Give one, or use a fine-tuning recipe.",
        )
    from heartfelt.files import whole_folder
    from heartfelt.report.pages.training import write_evaluation
    from heartfelt.training import TrainOptions
    from heartfelt.training import train as run
    from heartfelt.training.heads.card import evaluation_table

    kinds = tuple(part.strip() for part in heads.split(",") if part.strip())
    chosen = TrainOptions(recipe, policy, kinds, seed, group=group, split=split, embedding=embedding)
    with progress_bar(f"reading {sources[0]}") as report:
        result = run(read_source(sources[0], format, parse_map(map), report), chosen, report)
        with whole_folder(out) as made:
            if with_model:
                result.model.write(made, replace=True)
            write_evaluation(result, made / "evaluation" if with_model else made)
    say(*evaluation_table(result.evaluation.rows), result.material.grouping.words)
    say(f"{len(result.material.stimuli):,} stimuli were used; {result.material.label_words}.")
    say(*result.material.notes)
    if result.material.unreadable:
        ledger = "evaluation/ledger.csv" if with_model else "ledger.csv"
        say(f"{result.material.unreadable:,} with labels could not be used; {ledger} says why.")
    say(f"{'Model' if with_model else 'Evaluation'}: {out}")


def _refuse(value: object, option: str, what: str) -> None:
    if value:
        raise InputError(f"{option} {what}.", f"Leave out {option}, or choose another --recipe.")


def _settings(pairs: list[str] | None, file: Path | None) -> dict[str, object]:
    """Settings of a YAML file, then those of ``--set``."""
    given: dict[str, object] = {}
    if file is not None:
        import yaml

        try:
            stored = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError(f"{file} cannot be read: {error}.", "Give a YAML file of KEY: VALUE.") from error
        if not isinstance(stored, dict):
            raise InputError(f"{file} has no settings.", "Write one KEY: VALUE per line.")
        given |= {str(key): value for key, value in stored.items()}
    for pair in pairs or ():
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not key or not equals:
            raise InputError(f"'{pair}' is not of the form KEY=VALUE.", "Write for example --set epochs=5.")
        given[key] = value
    return given


def checkpoints_of(out: Path) -> Path:
    """Where the checkpoints of an unfinished run are: next to the folder that it will make."""
    return out.with_name(f"{out.name}.training")


def _export(
    sources: list[Path], options: FineTuneOptions, out: Path, format: str | None, mapped: dict[str, str]
) -> None:
    from heartfelt.files import whole_folder
    from heartfelt.training.finetuning.chat.export import export_chat_training

    with progress_bar(f"reading {sources[0]}") as report:
        snapshots = [read_source(source, format, mapped, report) for source in sources]
        with whole_folder(out) as made:
            done = export_chat_training(snapshots, options, made, report)
    say(*(f"{out / part.file}: {part.conversations:,} conversations" for part in done.parts.values()))
    say(done.split, done.grouping, *done.notes)
    if done.left_out:
        say(f"{done.left_out:,} stimuli could not be used; ledger.csv says why.")


def _fine_tune(
    sources: list[Path],
    options: FineTuneOptions,
    out: Path,
    format: str | None,
    mapped: dict[str, str],
    *,
    resume: bool,
) -> None:
    from heartfelt.files import whole_folder
    from heartfelt.report.pages.finetuning import write_training_report
    from heartfelt.training.finetuning import fine_tune
    from heartfelt.training.finetuning.card import score_table

    checkpoints = checkpoints_of(out)
    if resume and not checkpoints.is_dir():
        raise InputError(
            f"There is no unfinished run to continue: {checkpoints} is missing.", "Leave out --resume."
        )
    with progress_bar(f"reading {sources[0]}") as report:
        snapshots = [read_source(source, format, mapped, report) for source in sources]
        result = fine_tune(snapshots, options, checkpoints=checkpoints, resume=resume, progress=report)
        if not result.is_main:
            return
        with whole_folder(out) as made:
            facts = result.write(made)
            write_training_report(result, made / "evaluation")
    shutil.rmtree(checkpoints, ignore_errors=True)
    say(*score_table(facts.scores), facts.split, facts.grouping)
    epochs = f"{len(facts.fitted.history)} epochs ({facts.fitted.stopped})"
    say(f"{sum(facts.stimuli.values()):,} stimuli were used; {facts.labels}. {epochs}.")
    say(*facts.notes)
    if facts.left_out:
        say(f"{facts.left_out:,} could not be used; evaluation/ledger.csv says why.")
    say(f"Model: {out}")
