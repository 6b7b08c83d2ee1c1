"""Words of texts: ``words``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.api.sources import read_source
from heartfelt.errors import InputError
from heartfelt.files import must_be_free
from heartfelt.options import SourceOptions
from heartfelt.scoring.options import WordOptions

if TYPE_CHECKING:
    from heartfelt.formats.tables.texts import NamedTexts
    from heartfelt.progress import Progress
    from heartfelt.report.pages.words import WordStatistics


def words(
    source: Path | str,
    options: WordOptions,
    reading: SourceOptions,
    *,
    others: Mapping[str, Path | str] | None = None,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> WordStatistics:
    """Count the words of texts and measure how varied they are, next to other texts.

    Parameters
    ----------
    source : path
        A snapshot, a study folder, a table or a text file.
    others : mapping of str to path, optional
        Other texts by name to show next to these; FILE#COLUMN where the column has another name.
    out : path, optional
        The folder to write a report into.

    Returns
    -------
    WordStatistics
        The statistics of every set of texts, and how close they are to references.
    """
    from heartfelt.report.pages.words import WordStatistics, write_words
    from heartfelt.scoring.tasks.captions import caption_scores
    from heartfelt.stats.texts.diversity import compared

    if out is not None:
        must_be_free(Path(out))
    fields = list(options.fields)
    texts = _read(Path(source), [*fields, *options.against], reading.format, reading.map)
    corpora = {named.name: named.texts for named in texts[: max(len(fields), 1)]}
    for name, file in (others or {}).items():
        if name in corpora:
            raise InputError(f"Two sets of texts are called '{name}'.", "Choose another name.")
        corpora[name] = _file(Path(file), fields, name).texts
    results = compared(corpora, window=options.window, draws=options.draws)
    closeness = None
    if options.against:
        if progress is not None:
            progress("scoring against references", 0, 1)
        pairs = _pairs(texts[0], texts[1:])
        closeness = caption_scores(*pairs, bert_model=options.bert, bert_layer=options.layer, tools=options.tools)
    result = WordStatistics(results, ", ".join(options.against), closeness)
    if out is not None:
        write_words(result, Path(out))
    return result


def _read(source: Path, fields: Sequence[str], format: str | None, options: Mapping[str, object]) -> list[NamedTexts]:
    """The texts of every field; those of a text file have its name."""
    from heartfelt.formats.tables.texts import LINES, file_texts, snapshot_texts

    if format is None and not source.is_dir():
        if len(fields) > 1 and source.suffix.lower() in LINES:
            raise InputError(f"{source} has one text per line and no fields.", "Leave out --field and --against.")
        return [file_texts(source, name) for name in fields] or [file_texts(source, None)]
    if not fields:
        raise InputError(f"{source} may have many texts.", "Name those to count with --field.")
    snapshot = read_source(source, format, options)
    return [snapshot_texts(snapshot, name) for name in fields]


def _file(path: Path, fields: Sequence[str], name: str) -> NamedTexts:
    from heartfelt.formats.tables.texts import file_texts

    return file_texts(path, fields[0] if fields else None, name)


def _pairs(texts: NamedTexts, references: Sequence[NamedTexts]) -> tuple[list[str], list[list[str]]]:
    """The texts whose stimulus or row has a reference, and their references."""
    by_item: dict[str, list[str]] = {}
    for several in references:
        for item, text in zip(several.items, several.texts, strict=True):
            if text.strip():
                by_item.setdefault(item, []).append(text)
    rows = [(text, by_item[item]) for item, text in zip(texts.items, texts.texts, strict=True) if item in by_item]
    return [text for text, _ in rows], [several for _, several in rows]
