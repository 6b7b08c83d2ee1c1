"""``heartfelt words``: how many words texts have, how varied they are, and how close they are to references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.api.sources import read_source
from heartfelt.cli.command import Format, Map, Out, app, progress_bar, say
from heartfelt.cli.flags import parse_map
from heartfelt.errors import InputError

if TYPE_CHECKING:
    from heartfelt.formats.texts import NamedTexts


@app.command()
def words(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A snapshot, a study folder, a table (CSV, JSON), or a text file."
        ),
    ],
    out: Out,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="A text question, a field, a text column of the stimuli or of the table. May be repeated."
        ),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=FILE",
            help="Other texts to show next to these; FILE#COLUMN where the column is not --field. May be repeated.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="A field with reference texts for the same stimuli or rows. May be repeated."),
    ] = None,
    bert: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="A text encoder of Transformers for BERTScore: a folder or a hub name."
        ),
    ] = None,
    layer: Annotated[
        int | None, typer.Option(help="The layer BERTScore reads; the last if left out.")
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder with meteor-1.5.jar and spice-1.0.jar and their files."),
    ] = None,
    window: Annotated[int, typer.Option(help="Words in a window of MATTR.")] = 100,
    draws: Annotated[int, typer.Option(help="Words that HD-D draws.")] = 42,
    format: Format = None,
    map: Map = None,
) -> None:
    """Count the words of texts and measure how varied they are, next to other texts."""
    from heartfelt.files import must_be_free
    from heartfelt.report.words import WordStatistics, markdown, write_words
    from heartfelt.scoring.captions import caption_scores
    from heartfelt.stats.diversity import compared

    must_be_free(out)
    fields, others = field or [], parse_map(with_)
    with progress_bar(f"reading {source}") as report:
        if against and len(fields) != 1:
            raise InputError("References belong to one field.", "Give --field once with --against.")
        read = _read(source, [*fields, *(against or ())], format, parse_map(map))
        own = read[: max(len(fields), 1)]
        corpora = {texts.name: texts.texts for texts in own}
        for name, file in others.items():
            if name in corpora:
                raise InputError(f"Two sets of texts are called '{name}'.", "Choose another name for --with.")
            corpora[name] = _file(Path(file), fields, name).texts
        results = compared(corpora, window=window, draws=draws)
        closeness = None
        if against:
            report("scoring against references", 0, 1)
            pairs = _pairs(own[0], read[1:])
            closeness = caption_scores(*pairs, bert_model=bert, bert_layer=layer, tools=tools)
        result = WordStatistics(results, ", ".join(against or ()), closeness)
        write_words(result, out)
    say(markdown(result).rstrip(), f"Report: {out / 'report.html'}")


def _read(
    source: Path, fields: Sequence[str], format: str | None, options: Mapping[str, str]
) -> list[NamedTexts]:
    """The texts of every field; those of a text file have its name."""
    from heartfelt.formats.texts import LINES, file_texts, snapshot_texts

    if format is None and not source.is_dir():
        if len(fields) > 1 and source.suffix.lower() in LINES:
            raise InputError(
                f"{source} has one text per line and no fields.", "Leave out --field and --against."
            )
        return [file_texts(source, name) for name in fields] or [file_texts(source, None)]
    if not fields:
        raise InputError(f"{source} may have many texts.", "Name those to count with --field.")
    snapshot = read_source(source, format, options)
    return [snapshot_texts(snapshot, name) for name in fields]


def _file(path: Path, fields: Sequence[str], name: str) -> NamedTexts:
    from heartfelt.formats.texts import file_texts

    return file_texts(path, fields[0] if fields else None, name)


def _pairs(texts: NamedTexts, references: Sequence[NamedTexts]) -> tuple[list[str], list[list[str]]]:
    """The texts whose stimulus or row has a reference, and their references."""
    known: dict[str, list[str]] = {}
    for several in references:
        for item, text in zip(several.items, several.texts, strict=True):
            if text.strip():
                known.setdefault(item, []).append(text)
    rows = [(text, known[item]) for item, text in zip(texts.items, texts.texts, strict=True) if item in known]
    return [text for text, _ in rows], [own for _, own in rows]
