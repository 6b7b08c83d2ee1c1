"""The tables of a release, as every layout has them: plain types, the part of each row, and what each column means.

``stimuli`` has the published media in place of where files lay; ``labels`` are the benchmark's items; ``questions`` and
``categories`` say what the codes mean. Rows about a stimulus have its part in ``split``. A row that compares stimuli of
different parts belongs to none and is marked ``between``. A column of the source whose name is needed here is
renamed to ``source_<name>``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from heartfelt.labels.benchmark import Benchmark
from heartfelt.publishing.release.release import PublishedColumn, Release
from heartfelt.publishing.release.splits import UNASSIGNED, placement, split_of
from heartfelt.publishing.statements.columns import COLUMN_WORDS, UNDESCRIBED, about_column
from heartfelt.snapshot.comparisons import TRIAL, has_sets
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.scales.scale import Category
from heartfelt.tables import CONTRACTS

BETWEEN = "between"
"""The part of rows that compare stimuli of different parts."""
_COLUMN_DESCRIPTIONS: Mapping[str, Mapping[str, str]] = COLUMN_WORDS["release_columns"]
MEDIA_COLUMNS = _COLUMN_DESCRIPTIONS["stimuli"]
_OF_THE_SOURCE = ("path", "found", "media_problem", "bytes")
"""What was true of the files the data were read with, not of those published."""
_ABOUT = {contract.name: contract.about for contract in CONTRACTS} | COLUMN_WORDS["release_tables"]
_OPTIONAL = ("items", "traces", "fields", "means", "adjudications", "ledger")


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseTable:
    """One table of a release."""

    name: str
    about: str
    frame: pl.LazyFrame
    columns: tuple[PublishedColumn, ...]

    @property
    def divided(self) -> bool:
        """Whether each row belongs to a part."""
        return any(column.name == SPLIT for column in self.columns)


def release_tables(release: Release) -> tuple[ReleaseTable, ...]:
    """Every table that has rows, the stimuli first."""
    placed = placement(release).select("stimulus", SPLIT)
    snapshot, parts = release.snapshot, placed.lazy()
    frames: dict[str, pl.LazyFrame] = {
        "stimuli": _stimuli(release).lazy().join(parts, on="stimulus", how="left", maintain_order="left")
    }
    if release.benchmark is not None:
        frames |= _benchmark_tables(release.benchmark)
    if snapshot.survey.ratings:
        frames["ratings"] = _ratings(snapshot.scan_ratings(), parts)
    if snapshot.raters.height:
        frames["raters"] = snapshot.raters.lazy()
    for name in _OPTIONAL:
        table = snapshot.table(name)
        if table.height:
            frame = without_clash(table.lazy(), [SPLIT])
            if "stimulus" in table.columns and name != "ledger":
                frame = frame.join(parts, on="stimulus", how="left", maintain_order="left")
                frame = frame.with_columns(pl.col(SPLIT).fill_null(UNASSIGNED))
            frames[name] = frame
    frames |= _study_tables(snapshot.study)
    return tuple(_described(name, frame, release) for name, frame in frames.items())


def _described(name: str, frame: pl.LazyFrame, release: Release) -> ReleaseTable:
    frame = _portable_types(frame)
    key = "benchmark items" if name == "labels" else name
    columns = []
    for column, dtype in frame.collect_schema().items():
        about = _COLUMN_DESCRIPTIONS.get(name, {}).get(column)
        about = about or about_column(key, column, release.snapshot.study, release.details)
        if column == SPLIT and about == UNDESCRIBED:
            about = "the part its stimulus belongs to"
        columns.append(PublishedColumn(column, dtype_name(dtype), about))
    return ReleaseTable(name, _ABOUT[name], frame, tuple(columns))


def dtype_name(dtype: pl.DataType) -> str:
    """A type as the codebook writes it: string, float64, datetime, list[float32]."""
    if isinstance(dtype, pl.List | pl.Array):
        return f"list[{dtype_name(dtype.inner)}]"  # type: ignore[arg-type]  # an instance once a schema was collected
    return {pl.Datetime: "datetime", pl.Null: "string"}.get(dtype.base_type(), str(dtype).lower())


def _portable_types(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Only types that every reader knows."""
    casts = []
    for name, dtype in frame.collect_schema().items():
        if dtype.base_type() in {pl.Categorical, pl.Enum, pl.Time, pl.Duration, pl.Null}:
            casts.append(pl.col(name).cast(pl.String))
        elif dtype.base_type() == pl.Struct:
            casts.append(pl.col(name).struct.json_encode())
        elif dtype.base_type() == pl.Decimal:
            casts.append(pl.col(name).cast(pl.Float64))
    return frame.with_columns(casts) if casts else frame


def without_clash(frame: pl.LazyFrame, needed: Collection[str]) -> pl.LazyFrame:
    """The columns of the source under names that leave ``needed`` free."""
    names = frame.collect_schema().names()
    used_names, renamed = {*names, *needed}, {}
    for name in names:
        new = name
        while name in needed and new in used_names:
            new = f"source_{new}"
        renamed[name] = new
        used_names.add(new)
    return frame.rename(renamed)


def _stimuli(release: Release) -> pl.DataFrame:
    stimuli = release.snapshot.stimuli.drop(_OF_THE_SOURCE, strict=False)
    media = stimuli.select("stimulus").join(_media(release), on="stimulus", how="left", maintain_order="left")
    added = [name for name in MEDIA_COLUMNS if media[name].null_count() < media.height]
    same = [name for name in added if name in stimuli.columns and stimuli[name].equals(media[name])]
    if split_of(release).by == SPLIT:
        same.append(SPLIT)
    stimuli = without_clash(stimuli.drop(same).lazy(), [*added, SPLIT]).collect()
    return stimuli.with_columns(media[name] for name in added)


def _media(release: Release) -> pl.DataFrame:
    rows = [
        (medium.stimulus, medium.path, medium.sha256 or None, medium.bytes or None, medium.link, medium.why_absent)
        for medium in release.media.values()
    ]
    schema = {"stimulus": pl.String, **dict.fromkeys(MEDIA_COLUMNS, pl.String), "bytes": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _ratings(ratings: pl.LazyFrame, parts: pl.LazyFrame) -> pl.LazyFrame:
    frame = without_clash(ratings, [SPLIT]).join(parts, on="stimulus", how="left", maintain_order="left")
    if not has_sets(ratings):
        return frame
    crosses_parts = pl.col("trial").is_not_null() & (pl.col(SPLIT).n_unique().over(TRIAL) > 1)
    return frame.with_columns(pl.when(crosses_parts).then(pl.lit(BETWEEN)).otherwise(SPLIT).alias(SPLIT))


def _benchmark_tables(benchmark: Benchmark) -> dict[str, pl.LazyFrame]:
    tables = {"labels": benchmark.items, "choices": benchmark.choices}
    tables |= {"strengths": benchmark.strengths, "courses": benchmark.courses}
    frames = {name: table.lazy() for name, table in tables.items() if table.height}
    if "choices" in frames:
        frames["choices"] = frames["choices"].with_columns(pl.col(SPLIT).fill_null(BETWEEN))
    return frames


def _study_tables(study: Study) -> dict[str, pl.LazyFrame]:
    questions, categories = [], []
    for question in study.asked:
        scale = study.scale_of(question.id)
        low, high = scale.bounds() or (None, None)
        text = say(question.text)
        facts = (
            question.id,
            text,
            question.scale,
            study.scales[question.scale].type,
            scale.level,
            question.emotion,
            low,
            high,
        )
        questions.append(facts)
        texts = category_texts(scale)
        for rank, (category, code) in enumerate(scale.codes().items(), 1):
            categories.append((question.id, category, code, rank, texts.get(category, category)))
    schema = dict.fromkeys(_COLUMN_DESCRIPTIONS["questions"], pl.String)
    tables = {"questions": pl.DataFrame(questions, {**schema, "low": pl.Float64, "high": pl.Float64}, orient="row")}
    if categories:
        schema = dict.fromkeys(_COLUMN_DESCRIPTIONS["categories"], pl.String)
        category_schema = {**schema, "code": pl.Float64, "place": pl.Int64}
        tables["categories"] = pl.DataFrame(categories, category_schema, orient="row")
    return {name: table.lazy() for name, table in tables.items()}


def category_texts(scale: object) -> dict[str, str]:
    listed = getattr(scale, "categories", ())
    texts = {category.id: say(category.text) for category in listed if isinstance(category, Category) and category.text}
    words = {name: getattr(scale, name, None) for name in ("yes", "no")}
    return texts | {name: say(text) for name, text in words.items() if text}
