"""Commands on stimuli before anybody rates them: ``intents`` and ``prompts`` choose words, ``prepare`` makes files ready."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, app, out, progress_bar, say, say_template
from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stimuli.options import IntentOptions, PrepareOptions, parse_range
from heartfelt.wording import number, plural

if TYPE_CHECKING:
    from heartfelt.stimuli.prompts.prompt_sets import PromptCoverage, PromptSet


@app.command()
def intents(
    options: IntentOptions,
    norms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Valence and arousal of words: Warriner, ANEW, NRC VAD, or word, valence, arousal."
        ),
    ] = None,
    words: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Words to choose from, one per line; all if left out.")
    ] = None,
    limits: Annotated[
        str | None, typer.Option("--range", metavar="LOW..HIGH", help="Between which numbers the norms lie.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the intents as YAML for study.yaml.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose emotion words by their valence and arousal, as many in every quadrant."""
    from heartfelt.files import write_text
    from heartfelt.stimuli.prompts.intents import choose_intents, intents_yaml, published_norms, read_norms

    word_norms = (
        published_norms() if norms is None else read_norms(norms, None if limits is None else parse_range(limits))
    )
    chosen = choose_intents(word_norms, _lines(words), options)
    if to is not None:
        write_text(to, intents_yaml(chosen.intents))
    if as_json:
        print(dumps(chosen))
        return
    say_template("intents", norms=word_norms, chosen=chosen)
    if to is not None:
        say(f"Wrote {to}: put it in place of 'intents' in study.yaml.")
    else:
        out.print(intents_yaml(chosen.intents), markup=False, end="")


def _lines(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.", "Give a text file with a word per line.") from None


@app.command()
def prompts(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A study folder, a text file with a prompt per line, or a table.")
    ],
    aspects: Annotated[
        Path | None, typer.Option(metavar="YAML", help="Words by aspect, in place of the built-in lists for music.")
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Systems to deal the prompts to; those of the study if left out."),
    ] = None,
    per_system: Annotated[int | None, typer.Option(min=1, help="Prompts for each system; all if left out.")] = None,
    seed: int = 0,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="CSV", help="Write which system renders which prompt.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look over the prompts: lengths, what they cover, duplicates; and deal them to systems."""
    from heartfelt.files import write_text
    from heartfelt.formats.tables.delimited import csv_text
    from heartfelt.stimuli.prompts.prompt_sets import ASPECTS, coverage, dealt, read_aspects, read_prompts

    read = read_prompts(source)
    covered = coverage(read, ASPECTS if aspects is None else read_aspects(aspects))
    names = _systems(source, systems)
    if to is not None and not names:
        raise InputError("No systems are named.", "Name them with --systems A,B.")
    if to is not None:
        write_text(to, csv_text(dealt(read, names, per_system, seed)))
    if as_json:
        print(dumps(covered))
        return
    _show(read, covered)
    if to is not None:
        say(f"Wrote {to}: {plural(len(names), 'system')}, a row per stimulus.")


def _systems(source: Path, names: str | None) -> list[str]:
    from heartfelt.formats.study_folder.manifest import is_study
    from heartfelt.study import load_study

    if names is not None:
        return [name.strip() for name in names.split(",") if name.strip()]
    return [system.id for system in load_study(source).systems] if source.is_dir() and is_study(source) else []


def _show(read: PromptSet, covered: PromptCoverage) -> None:
    least, *quartiles, most = (number(quantile, 0) for quantile in covered.quantiles)
    total = len(read.prompts)
    say_template("prompts", total=total, covered=covered, least=least, quartiles=quartiles, most=most)


@app.command()
def prepare(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder.")],
    options: PrepareOptions,
    report_to: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Also write a report into this new folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Crop, level and convert every stimulus, check it, and test whether systems differ in loudness, length, brightness."""
    from heartfelt.api import stimuli
    from heartfelt.report.pages.preparation import difference_words

    with progress_bar(f"preparing {folder}") as report:
        done = stimuli.prepare(folder, options, out=report_to, progress=report)
    if as_json:
        print(dumps(done))
    else:
        differences = [difference_words(difference) for difference in done.differences]
        remarks = [clip for clip in done.stimuli if clip.checks]
        report_file = None if report_to is None else report_to / "report.html"
        say_template("prepared", done=done, remarks=remarks, differences=differences, report=report_file)
    if done.failed:
        raise typer.Exit(1 if len(done.failed) < len(done.stimuli) else 2)
