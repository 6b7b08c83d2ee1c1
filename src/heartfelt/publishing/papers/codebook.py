"""The codebook: every column of every published table, with type, meaning, allowed values, unit, and what empty means.

What a column holds (how many cells are filled, how many different values, from where to where) is read from the published
files themselves. The same table in several layouts is described once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import polars as pl

from heartfelt.analysis.text.methods_section import scale_words
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.publishing.layouts.tables import category_texts
from heartfelt.publishing.papers.facts import by_layout, published_tables, question_words, title_of
from heartfelt.publishing.papers.rendering import render
from heartfelt.publishing.release.release import PublishedColumn, Release
from heartfelt.publishing.statements.columns import COLUMN_WORDS, UNDESCRIBED
from heartfelt.report.layout.markup import Grid, grid_markdown, one_line
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.scales.answer import Scale
from heartfelt.wording import number, plural

MOST_VALUES = 20
MAX_VALUE_LENGTH = 60
IDS = frozenset({"rater", "stimulus", "trial", "set", "prompt", "path", "verified_by", "by", "group", "sha256"})
TYPES = (
    ("list", "list of numbers"),
    ("array", "list of numbers"),
    ("struct", "media"),
    ("binary", "media"),
    ("audio", "media"),
    ("image", "media"),
    ("datetime", "date and time"),
    ("date", "date"),
    ("bool", "true or false"),
    ("uint", "whole number"),
    ("int", "whole number"),
    ("float", "number"),
    ("decimal", "number"),
)
"""What types are called, by how their names begin; everything else is text."""
READ = {".parquet", ".csv"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodebookColumn:
    """One column of one table."""

    table: str
    column: str
    type: str
    meaning: str
    values: str
    unit: str
    empty_means: str
    rows: int
    filled: int | None
    distinct: int | None
    lowest: str
    highest: str
    files: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A table as one layout has it: its files and their columns."""

    files: tuple[Path, ...]
    columns: tuple[PublishedColumn, ...]


def type_words(dtype: str) -> str:
    return next((words for start, words in TYPES if dtype.lower().startswith(start)), "text")


def codebook(release: Release, folder: Path) -> tuple[CodebookColumn, ...]:
    """Every column of every table below the release's ``folder``."""
    return tuple(
        entry for table, parts in _tables(release, folder).items() for entry in _entries(table, parts, release, folder)
    )


def undescribed(entries: tuple[CodebookColumn, ...]) -> tuple[str, ...]:
    """The columns that nobody has described, as ``table.column``."""
    return tuple(f"{entry.table}.{entry.column}" for entry in entries if entry.meaning == UNDESCRIBED)


def _tables(release: Release, folder: Path) -> dict[str, list[_Part]]:
    """The tables by name, each as the layouts have it."""
    out: dict[str, list[_Part]] = {}
    for (_, table), files in by_layout(published_tables(release, folder)).items():
        columns = {column.name: column for file in reversed(files) for column in reversed(file.columns)}
        paths = tuple(folder / file.path for file in files)
        out.setdefault(table, []).append(_Part(paths, tuple(reversed(columns.values()))))
    return out


def _entries(table: str, parts: list[_Part], release: Release, folder: Path) -> Iterator[CodebookColumn]:
    # Parquet first: its columns have types.
    ordered = sorted(parts, key=lambda part: part.files[0].suffix != ".parquet")
    done: set[str] = set()
    for part in ordered:
        new = [column for column in part.columns if column.name not in done]
        done |= {column.name for column in new}
        facts = _facts(part, [column.name for column in new])
        for column in new:
            column_files = [part for part in parts if column.name in {part_column.name for part_column in part.columns}]
            yield _entry(table, column, facts.get(column.name), _where(column_files, folder), release)


def _where(parts: list[_Part], folder: Path) -> str:
    out = []
    for part in parts:
        first = part.files[0].relative_to(folder).as_posix()
        out.append(first if len(part.files) == 1 else f"{first} and {plural(len(part.files) - 1, 'more file')}")
    return "; ".join(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    rows: int
    filled: int | None = None
    distinct: int | None = None
    lowest: str = ""
    highest: str = ""
    counts: tuple[tuple[str, int], ...] = ()


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path) if path.suffix == ".parquet" else pl.scan_csv(path, infer_schema=False)


def _facts(part: _Part, names: list[str]) -> dict[str, _Facts]:
    """What the columns hold. Media are not read."""
    paths = [path for path in part.files if path.suffix in READ and path.is_file()]
    if not paths or not names:
        return {}
    frame = pl.concat([_scan(path) for path in paths], how="diagonal_relaxed")
    schema = frame.collect_schema()
    single = [name for name in names if name in schema and not schema[name].is_nested() and schema[name] != pl.Binary]
    expressions = [expression for at, name in enumerate(single) for expression in _summaries(name, schema[name], at)]
    row = frame.select(pl.len().alias("rows"), *expressions).collect(engine="streaming").row(0, named=True)
    rows = int(row["rows"])
    out = {name: _Facts(rows=rows) for name in names}
    for at, name in enumerate(single):
        distinct = int(row[f"d{at}"])
        out[name] = _Facts(
            rows=rows,
            filled=int(row[f"n{at}"]),
            distinct=distinct,
            lowest=_shown(row.get(f"l{at}")),
            highest=_shown(row.get(f"h{at}")),
            counts=_counts(frame, name) if _listable(name, schema[name], distinct) else (),
        )
    return out


def _summaries(name: str, dtype: pl.DataType, at: int) -> list[pl.Expr]:
    """How many cells of a column are filled, how many differ, and the lowest and highest where there is an order."""
    column = pl.col(name)
    out = [column.count().alias(f"n{at}"), column.drop_nulls().n_unique().alias(f"d{at}")]
    if dtype.is_numeric() or dtype.is_temporal():
        out += [column.min().alias(f"l{at}"), column.max().alias(f"h{at}")]
    return out


def _counts(frame: pl.LazyFrame, name: str) -> tuple[tuple[str, int], ...]:
    cells = frame.select(pl.col(name).cast(pl.String).alias("v")).drop_nulls()
    pairs = sorted(cells.group_by("v").len("n").collect().iter_rows())
    return tuple((str(value), int(count)) for value, count in pairs)


def _listable(name: str, dtype: pl.DataType, distinct: int) -> bool:
    return name not in IDS and dtype in (pl.String, pl.Boolean, pl.Categorical) and 0 < distinct <= MOST_VALUES


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _entry(table: str, column: PublishedColumn, facts: _Facts | None, files: str, release: Release) -> CodebookColumn:
    facts = facts or _Facts(rows=0)
    return CodebookColumn(
        table=table,
        column=column.name,
        type=type_words(column.dtype),
        meaning=" ".join(column.about.split()) or UNDESCRIBED,
        values=_values(table, column.name, facts, release.snapshot.study),
        unit=COLUMN_WORDS["units"].get(column.name, ""),
        empty_means=_empty_means(table, column.name, facts),
        rows=facts.rows,
        filled=facts.filled,
        distinct=facts.distinct,
        lowest=facts.lowest,
        highest=facts.highest,
        files=files,
    )


def _empty_means(table: str, name: str, facts: _Facts) -> str:
    if facts.filled == facts.rows:
        return "never empty"
    unknown = "not answered, or removed so that nobody can be identified" if table == "raters" else "not known"
    return str(COLUMN_WORDS["empty"].get(name, unknown))


def _values(table: str, name: str, facts: _Facts, study: Study) -> str:
    """Allowed values where the study says so; else those that occur, with their counts."""
    if name in {"value", "label", "answer", "low", "high"} and table in {"ratings", "benchmark items", "labels"}:
        return "see the question's scale"
    if name == "question":
        return "see the questions"
    fact = next(
        (demographic for demographic in study.demographics if name in {demographic.id, f"about_{demographic.id}"}), None
    )
    if fact is not None and fact.choices and not facts.counts:
        return "; ".join(fact.choices)
    return "; ".join(f"{one_line(value, MAX_VALUE_LENGTH)} ({number(count)})" for value, count in facts.counts)


# --- questions and scales ---------------------------------------------------------------------------------------------


SET_CODES: Mapping[str, str] = {
    "choice": "1 = chosen; 0 = not chosen; 0.5 = tie",
    "preference": "positive = in its favour; negative = against it; 0 = about the same",
    "rank": "1 = best",
    "best-worst": "1 = best; -1 = worst; 0 = neither",
    "trace": "the mean over the clip; the samples are in the table traces",
}
"""What the value of a stimulus means that was judged with others, or over time, by the type of scale."""


def codes_words(scale: Scale) -> str:
    """The codes of a scale's categories or points with their labels: ``0 = no; 1 = yes``."""
    if set_codes := SET_CODES.get(getattr(scale, "type", "")):
        return set_codes
    shown = category_texts(scale) if getattr(scale, "categories", ()) else {}
    texts = {
        code: f"{name} ({shown[name]})" if (shown.get(name) or name) != name else name
        for code, name in scale.labels().items()
    }
    texts |= {float(at): say(text) for at, text in getattr(scale, "anchors", {}).items()}
    return "; ".join(f"{at:g} = {one_line(text, MAX_VALUE_LENGTH)}" for at, text in sorted(texts.items()))


def questions_grid(study: Study) -> Grid:
    """Every question with its text, scale, level of measurement and codes."""
    rows = []
    for question in study.asked:
        scale = study.scale_of(question.id)
        judged = {"perceived": "expressed", "felt": "felt"}.get(question.emotion or "", "")
        rows.append(
            (question.id, question_words(question), scale_words(scale), scale.level, judged, codes_words(scale))
        )
    columns = ("question", "text", "answered with", "level", "emotion", "codes")
    return Grid(name="questions", caption="Questions and scales", columns=columns, rows=tuple(rows))


def write_codebook(release: Release, folder: Path) -> tuple[CodebookColumn, ...]:
    """Write CODEBOOK.md and codebook.csv; return the entries."""
    entries = codebook(release, folder)
    frame = pl.DataFrame(
        entries,
        schema=dict.fromkeys(CodebookColumn.__slots__, pl.String)
        | dict.fromkeys(("rows", "filled", "distinct"), pl.Int64),
        strict=False,
        orient="row",
    )
    write_text(folder / "codebook.csv", csv_text(frame))
    write_text(folder / "CODEBOOK.md", codebook_text(release, entries))
    return entries


def codebook_text(release: Release, entries: tuple[CodebookColumn, ...]) -> str:
    tables = []
    for name, group in groupby(entries, lambda entry: entry.table):
        columns = list(group)
        files = dict.fromkeys(file for column in columns for file in column.files.split("; "))
        tables.append((name, columns, "; ".join(files)))
    return render(
        "codebook.md.j2",
        title=title_of(release),
        questions=grid_markdown(questions_grid(release.snapshot.study), caption=False),
        tables=tables,
    )
