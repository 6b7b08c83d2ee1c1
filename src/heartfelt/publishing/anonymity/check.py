"""The last check before anything is published: nothing private is in any file, and nobody stands out."""

from __future__ import annotations

import socket
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.errors import HeartfeltError
from heartfelt.media.metadata import has_metadata
from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, Draft
from heartfelt.publishing.anonymity.recognise.personal_data import (
    folded,
    folded_texts,
    is_telling,
    is_too_short,
    whole_word,
)
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release.release import ReleaseStep
from heartfelt.publishing.statements.details import Details
from heartfelt.serialization import dumps
from heartfelt.snapshot import Snapshot
from heartfelt.study import study_text
from heartfelt.wording import plural

_PERSON_FIELDS = frozenset(column for _, column in PERSON_COLUMNS)
_BINARY = frozenset(
    f".{name}"
    for name in (
        *("wav", "mp3", "opus", "ogg", "flac", "m4a", "mp4", "aac", "aif", "aiff", "caf", "au", "w64"),
        *("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "avif", "heic", "pdf", "woff2", "npy"),
    )
)
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_AT_ONCE = 2_000_000
"""Texts that are searched together."""
_Texts: TypeAlias = tuple[str, str, pl.Series]
"""A file, where in it, and the texts there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A private text in a file."""

    file: str
    where: str
    private: str
    text: str
    """The cell, line or name that holds it."""


class PrivateDataError(HeartfeltError):
    """Something private in what was to be published."""

    def __init__(self, problem: str, fix: str, hits: Sequence[Hit] = ()) -> None:
        super().__init__(problem, fix)
        self.hits = tuple(hits)
        """Every private text that may be decided about; none where publishing itself went wrong."""


@dataclass(frozen=True, slots=True)
class PrivateTexts:
    """What must not be in any published file."""

    ids: tuple[str, ...]
    """Of people, as the source knows them; not to be in a column that says who."""
    texts: tuple[str, ...]
    """Not to be anywhere: ids that could not be there by chance, quarantined texts, recruiters' ids, paths, names of machines."""


def private_texts(
    draft: Draft, people: Sequence[str], quarantined: Iterable[str], details: Details, options: PublishOptions
) -> PrivateTexts:
    """Everything of a source that no file may hold.

    What the study, its stimuli or the authors' own statements say is public, even if a rater typed it too.
    """
    stimuli = [draft.tables[name].select(pl.col(pl.String)) for name in ("stimuli", "items")]
    public = {text for frame in stimuli for column in frame for text in column.drop_nulls().unique().to_list()}
    stated = study_text(draft.study) + dumps(details)
    allowed = {folded(text) for text in options.allow}

    def is_private(text: str) -> bool:
        return not (is_too_short(text) or text in public or folded(text) in allowed or text in stated)

    root, host = draft.source.media_root, socket.gethostname()
    machine = [str(Path.home()), *([] if root is None else [str(root.resolve())]), *filter(is_telling, [host])]
    texts = [*filter(is_telling, people), *options.private_texts, *quarantined, *machine]
    return PrivateTexts(tuple(people), tuple(filter(is_private, dict.fromkeys(texts))))


# --- files ------------------------------------------------------------------------------------------------------------


def check_files(folder: Path, private: PrivateTexts) -> int:
    """Search every file below ``folder``, and its name; return how many were searched, or raise with what is in which."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    waiting: list[_Texts] = [("", "the name of a file", pl.Series(list(paths), dtype=pl.String))]
    texts_to_find = {folded(text): text for text in private.texts}
    files = {name: path for name, path in paths.items() if path.is_file()}
    hits: list[Hit] = []
    for name, path in files.items():
        for where, texts in texts_in(path):
            _check_ids(name, where, texts, private.ids)
            waiting.append((name, where, texts))
            if sum(texts.len() for _, _, texts in waiting) > _AT_ONCE:
                hits += _search(waiting, texts_to_find)
                waiting.clear()
    hits += _search(waiting, texts_to_find)
    if hits:
        raise _private(hits, undecided=True)
    return len(files)


def _check_ids(file: str, where: str, texts: pl.Series, ids: Sequence[str]) -> None:
    """Raise where a column that says who still has an id of the source."""
    if where.rpartition(" ")[2] in _PERSON_FIELDS:
        same = texts.filter(texts.is_in(list(ids)))
        if same.len():
            raise _private([Hit(file=file, where=where, private=same[0], text=same[0])], undecided=False)


def _search(waiting: Sequence[_Texts], private: Mapping[str, str]) -> list[Hit]:
    """Where one of the texts holds a private one that is not part of a longer word, whatever its capitals and width."""
    if not private or not waiting:
        return []
    everything = pl.concat([texts.rename("text") for _, _, texts in waiting]).unique(maintain_order=True).drop_nulls()
    frame = pl.DataFrame({"text": everything, "folded": folded_texts(everything)})
    frame = frame.filter(pl.col("folded").str.contains_any(list(private)))
    inside = pl.col("folded").str.extract_many(list(private), overlapping=True).list.unique(maintain_order=True)
    return [
        Hit(file=file or text, where=where, private=private[match], text=text)
        for text, folded_text, matches in frame.with_columns(inside.alias("matches")).iter_rows()
        for match in matches
        if whole_word(match).search(folded_text)
        for file, where, texts in waiting
        if texts.is_in([text]).any()
    ]


def _private(hits: Sequence[Hit], *, undecided: bool) -> PrivateDataError:
    first = hits[0]
    shown = first.private if len(first.private) <= 40 else f"{first.private[:37]}..."
    more = "" if len(hits) == 1 else f" ({plural(len(hits) - 1, 'more place')} of this kind)"
    return PrivateDataError(
        f"Nothing was published: {first.file} ({first.where}) holds '{shown}', which is private{more}.",
        "Leave the column out with --drop, decide about the text in quarantine.csv, or allow it with --allow.",
        hits if undecided else (),
    )


def texts_in(path: Path) -> Iterator[tuple[str, pl.Series]]:
    """Every text of a file, with where in it."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        yield from _columns(pl.scan_parquet(path))
        yield ("its metadata", pl.Series([f"{key} {value}" for key, value in pl.read_parquet_metadata(path).items()]))
    elif suffix == ".tar":
        yield from _members(path)
    elif suffix in _SEPARATORS:
        if path.stat().st_size:
            separator = _SEPARATORS[suffix]
            yield from _columns(pl.scan_csv(path, infer_schema=False, separator=separator, truncate_ragged_lines=True))
            yield "a line that is too long", _beyond_the_header(path, separator)
    elif suffix not in _BINARY:
        yield "its text", _lines(path.read_bytes())


def _members(path: Path) -> Iterator[tuple[str, pl.Series]]:
    with tarfile.open(path) as archive:
        for member in archive:
            yield "a name", pl.Series([member.name, member.uname, member.gname])
            opened = archive.extractfile(member)
            if opened is not None and Path(member.name).suffix.lower() not in _BINARY:
                yield member.name, _lines(opened.read())


def _lines(content: bytes) -> pl.Series:
    return pl.Series(content.decode("utf-8", errors="replace").splitlines(), dtype=pl.String)


def _beyond_the_header(path: Path, separator: str) -> pl.Series:
    """Lines of a table that may have more cells than it has columns: no column holds those."""
    lines = _lines(path.read_bytes())
    cells = lines.str.count_matches(separator)
    return lines.filter(cells > cells[0])


def _columns(frame: pl.LazyFrame) -> Iterator[tuple[str, pl.Series]]:
    schema = frame.collect_schema()
    yield "the name of a column", pl.Series(schema.names(), dtype=pl.String)
    for name, dtype in schema.items():
        if isinstance(dtype, pl.List | pl.Array):
            yield from _columns(frame.select(pl.col(name).explode()))
        elif isinstance(dtype, pl.Struct):
            yield from _columns(frame.select(pl.col(name).struct.unnest()))
        elif dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
            yield (f"column {name}", frame.select(pl.col(name).cast(pl.String)).drop_nulls().unique().collect()[name])


def check_media(folder: Path) -> None:
    for path in sorted((folder / "media").rglob("*")):
        if path.is_file() and has_metadata(path):
            name = path.relative_to(folder).as_posix()
            hit = Hit(file=name, where="a media file", private="metadata", text=name)
            raise _private([hit], undecided=False)


# --- people -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Groups:
    """Raters who share everything that is published of them and when they took part."""

    count: int
    smallest: int
    """The raters in the smallest group; 0 where raters are unknown."""
    diversity: int | None
    """The fewest values of a sensitive column in a group; None where there is no such column."""


def known_of_raters(snapshot: Snapshot, facts: Sequence[str], *more: str) -> tuple[pl.DataFrame, list[str]]:
    """Raters with the published ``facts`` and the periods in which their answers are dated, and the names of these columns."""
    raters = snapshot.raters.select("rater", *facts, *more)
    dated = []
    if "at" in snapshot.scan_ratings().collect_schema():
        dated.append(snapshot.scan_ratings().select("rater", "at").unique().collect())
    if {"at", "verified_by"} <= set(snapshot.fields.columns):
        dated.append(snapshot.fields.select(pl.col("verified_by").alias("rater"), "at").unique())
    names = list(facts)
    if dated:
        periods = pl.concat(dated).drop_nulls().unique().sort("at")
        texts = periods.group_by("rater").agg(pl.col("at").cast(pl.String).str.join(" ").alias("_when"))
        raters, names = raters.join(texts, on="rater", how="left", maintain_order="left"), [*names, "_when"]
    return raters, names


def groups_of_raters(
    snapshot: Snapshot, facts: Sequence[str], sensitive: Sequence[str], earlier: pl.DataFrame | None = None
) -> Groups:
    """Count raters by what is published of them, and by what ``earlier`` releases say of each ``rater``."""
    raters, names = known_of_raters(snapshot, facts, *sensitive)
    if earlier is not None:
        raters = raters.join(earlier, on="rater", how="left", maintain_order="left")
        names += [name for name in earlier.columns if name != "rater"]
    if not raters.height:
        return Groups(0, 0, None)
    groups = raters.group_by(names or pl.lit(0)).agg(pl.len(), pl.col(sensitive).n_unique().name.prefix("_n_"))
    fewest = [min(groups[f"_n_{name}"].to_list()) for name in sensitive]
    return Groups(groups.height, min(groups["len"].to_list()), min(fewest, default=None))


def check_groups(
    snapshot: Snapshot,
    facts: Sequence[str],
    sensitive: Sequence[str],
    options: PublishOptions,
    earlier: pl.DataFrame | None = None,
) -> Groups:
    """Raise if fewer than ``k`` raters share a combination of facts and dates, or have fewer than ``l`` sensitive values."""
    groups = groups_of_raters(snapshot, facts, sensitive, earlier)
    alike = groups.count > 1 and groups.smallest < options.k
    if alike or (groups.diversity is not None and groups.diversity < options.l):
        problem = f"only {plural(groups.smallest, 'rater')} share a combination of facts, fewer than k = {options.k}"
        if not alike:
            problem = f"a group of raters has fewer than l = {options.l} values of a sensitive column"
        raise PrivateDataError(
            f"Nothing was published: {problem}.", "Leave a column out with --drop, or publish without demographics."
        )
    return groups


def check_step(private: PrivateTexts, groups: Groups, options: PublishOptions) -> ReleaseStep:
    """What is checked, as a step: a release that fails it is not written."""
    about = (
        f"Every file was searched for {plural(len(private.ids), 'id')} of people, and for {plural(len(private.texts), 'text')}"
        " that must not be published anywhere; none was there."
    )
    also = ", here and in earlier releases," if options.earlier else ""
    if groups.count:
        about += (
            f" The smallest of {plural(groups.count, 'group')} of raters with the same published facts and dates{also} has"
            f" {plural(groups.smallest, 'rater')}."
        )
    settings = {"k": str(options.k), "smallest": str(groups.smallest), "groups": str(groups.count)}
    return ReleaseStep(kind="check", table="raters", column=None, about=about, rows=0, lost=None, settings=settings)
