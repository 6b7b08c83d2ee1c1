"""Commands on stimuli before anybody rates them: ``intents`` and ``prompts`` choose words, ``prepare`` makes files ready."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, app, out, progress_bar, say
from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stimuli.options import IntentOptions, PrepareOptions, parse_range
from heartfelt.wording import interval, listed, number, plural

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
    say(
        f"{plural(word_norms.table.height, 'word')} with norms ({word_norms.layout}), {chosen.between} between quadrants."
    )
    for quadrant, count in chosen.candidates.items():
        picked = [
            f"{intent.id} ({number(intent.reference['valence'], 2)}, {number(intent.reference['arousal'], 2)})"
            for intent in chosen.intents
            if intent.group == quadrant
        ]
        say(f"  {quadrant}: {', '.join(picked)}; from {plural(count, 'word')}")
    say(*(f"  {note}" for note in chosen.notes))
    if word_norms.source is not None:
        say(f"Cite: {word_norms.source.words}")
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
    from heartfelt.formats.delimited import csv_text
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
    from heartfelt.formats.manifest import is_study
    from heartfelt.study import load_study

    if names is not None:
        return [name.strip() for name in names.split(",") if name.strip()]
    return [system.id for system in load_study(source).systems] if source.is_dir() and is_study(source) else []


def _show(read: PromptSet, covered: PromptCoverage) -> None:
    total = len(read.prompts)
    least, *quartiles, most = (number(quantile, 0) for quantile in covered.quantiles)
    say(
        f"{plural(total, 'prompt')}; words per prompt {interval(covered.diversity.words_per_text, 1)},"
        f" quartiles {', '.join(quartiles)}, from {least} to {most}."
    )
    if len(covered.sources) > 1:
        say("Sources: " + ", ".join(f"{name} {count}" for name, count in covered.sources.items()) + ".")
    say("Prompts that mention: " + ", ".join(f"{name} {count}" for name, count in covered.aspects.items()) + ".")
    if covered.without_aspect:
        say(f"No aspect recognised in {len(covered.without_aspect)}: {listed(covered.without_aspect, 5)}.")
    for group in covered.duplicates[:10]:
        say(f"The same prompt: {listed(group)}.")
    for first, second, share in covered.near_duplicates[:10]:
        say(f"Nearly the same ({number(share, 2)} of their words): {first}, {second}.")


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
        total = len(done.stimuli)
        say(f"{total - len(done.failed)} of {plural(total, 'stimulus', 'stimuli')} prepared; originals are untouched.")
        for clip in done.failed[:10]:
            say(f"  {clip.stimulus}: {clip.problem}")
        remarks = [clip for clip in done.stimuli if clip.checks]
        for clip in remarks[:10]:
            say(f"  {clip.stimulus}: {clip.checks}")
        if len(remarks) > 10:
            say(f"  … and {len(remarks) - 10} more with a remark: see the column 'checks' of the manifest.")
        say(*(difference_words(difference) for difference in done.differences))
        if report_to is not None:
            say(f"Report: {report_to / 'report.html'}")
    if done.failed:
        raise typer.Exit(1 if len(done.failed) < len(done.stimuli) else 2)
