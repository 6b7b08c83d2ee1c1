"""Traces in plain tables: a row per sample, a list of samples per row, or a column per moment.

| options | the table has |
|---|---|
| ``time=COLUMN`` | a row per sample: rater, stimulus, time and one value column per question |
| ``samples=valence,arousal`` | a row per trace, a list of samples in each of these columns |
| ``samples=sample_{time}ms`` | a row per trace, a column for each moment |

Moments are in seconds, or in milliseconds where ``ms`` follows ``{time}`` or ends the column's name. Samples at regular
moments stay as they are, with gaps where one is missing; irregular ones are held until the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heartfelt.errors import InputError
from heartfelt.formats.proposals.roles import NO_RATER
from heartfelt.formats.ratings.described import build, new_names, stated_scale
from heartfelt.formats.ratings.set_rows import trace_means, unnamed, usable
from heartfelt.formats.tables.columns import ABOUT_STIMULUS, ids, need, number_expr
from heartfelt.formats.tables.delimited import collected, csv_text
from heartfelt.formats.tables.side_tables import roles_beside, with_listed
from heartfelt.formats.tables.source_table import SourceTable, pick, rows_of
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.set_scale import LONGEST_TRACE, Trace
from heartfelt.tables import TRACES

TRACE_OPTIONS: Mapping[str, str] = {
    "time": "column of the moment of a sample, where each row is a sample of a trace",
    "time_unit": "s or ms; ms where the time's column ends in ms",
    "samples": "columns with lists of samples, with commas, or a pattern such as sample_{time}ms",
    "rate": "samples per second, or their column",
    "start": "seconds from the start of the clip to the first sample, or their column",
}
"""Options of a long table of traces."""
TRACES_FILE = "traces.csv"
KEY = ("rater", "stimulus", "question", "repeat")
EMPTY = "a trace without samples"
REGULAR = 0.25
"""Moments that lie within this share of a step of a regular grid are on it."""
HIGHEST_RATE = 1000.0
BY_COLUMN, AVERAGE = "columns", "average"
"""The value of the option ``rater`` where every rater has a column, and who gave traces that nobody signed."""


def read_traces(format: str, table: SourceTable, source: Path, progress: Progress | None) -> Snapshot:
    """The snapshot of a table of traces: the traces, and their means as ratings."""
    options, where = table.options, table.where
    frame = collected(table.rows, table.path)
    if not frame.height:
        raise InputError(f"{table.path} has no rows.", "Point to a table with traces.")
    base, notes = _with_keys(frame, table)
    if "time" in options:
        traces, more = _from_rows(base, table)
        notes += more
    elif "{time}" in options["samples"]:
        traces = _from_columns(base, table)
    else:
        traces = _from_lists(base, table)
    traces = traces.with_columns(pl.col("question").replace(new_names(options, traces["question"].unique())))
    sample = pl.element()
    finite = pl.when(sample.is_finite()).then(sample).cast(pl.Float32)
    traces = traces.with_columns(pl.col("samples").list.eval(finite))
    columns = [name for name in (*KEY, "samples", "rate", "start", "away") if name in traces.columns]
    good, ledger = usable(
        traces.select(columns),
        {
            "the rater, the stimulus or the question is not named": unnamed("rater", "stimulus", "question"),
            EMPTY: pl.col("samples").list.drop_nulls().list.len().fill_null(0) == 0,
            "a second trace of the same rater, stimulus and question": ~pl.struct(
                name for name in KEY if name in traces.columns
            ).is_first_distinct(),
        },
        where,
        {"rater": "rater", "stimulus": "stimulus", "question": "question"},
    )
    good = good.select(columns)
    scales = {name: _scale(good, name, options, notes) for name in good["question"].unique(maintain_order=True)}
    return build(
        format,
        table,
        source,
        progress,
        stimuli=with_listed(_stimuli(base, table, good), table),
        scales=scales,
        notes=notes,
        ratings=trace_means(good),
        traces=good,
        ledger=ledger,
    )


def _with_keys(frame: pl.DataFrame, table: SourceTable) -> tuple[pl.DataFrame, list[str]]:
    """The rows with ``rater``, ``stimulus`` and ``repeat``, and a note where nobody is named."""
    names = {role: _named(table, role) for role in ("rater", "stimulus", "repeat")}
    base = frame.with_columns(ids(frame[column]).alias(role) for role, column in names.items() if column is not None)
    if names["repeat"] is not None:
        base = base.with_columns(pl.col("repeat").cast(pl.Int64, strict=False))
    if names["rater"] is not None:
        return base, []
    base = base.with_columns(pl.lit(AVERAGE).alias("rater"))
    note = f"The table does not say who rated; its traces are those of one rater, '{AVERAGE}'."
    return base, [note] if table.options["rater"] == NO_RATER else []


def gathered(source: Path, options: Mapping[str, str]) -> SourceTable:
    """All tables of a folder as one, with the columns ``filename`` (without its ending) and ``folder``."""
    paths = sorted(path for path in source.rglob("*") if path.suffix.lower() in {".csv", ".tsv", ".parquet"})
    if not paths:
        raise InputError(f"{source} holds no tables.", "Point to a folder of CSV, TSV or Parquet files.")
    parts = []
    for path in paths:
        rows = rows_of(path, {k: v for k, v in options.items() if k != "where"})
        parts.append(rows.with_columns(filename=pl.lit(path.stem), folder=pl.lit(path.parent.name)))
    all_rows = pl.concat(parts, how="diagonal_relaxed")
    # Media are looked for inside the folder.
    return SourceTable(path=source / source.name, rows=all_rows.lazy(), options=options)


def _named(table: SourceTable, role: str) -> str | None:
    if role == "repeat":
        return table.options.get("repeat")
    if role == "rater" and table.options.get("rater") in {NO_RATER, BY_COLUMN} - set(table.columns):
        return None
    return pick(table.columns, role, table.options, table.where)


def _questions(table: SourceTable, used_columns: Sequence[str]) -> list[str]:
    listed = table.names_in("value")
    if listed:
        need(table.columns, listed, table.where)
        return listed
    if _spread(table):
        about = {*used_columns, table.pick("stimulus"), table.options.get("question"), "filename", "folder"}
        return [name for name in table.columns if name not in about]
    usual = [name for name in table.columns if name in {"valence", "arousal"} and name not in used_columns]
    return usual or [table.pick("value")]


def _spread(table: SourceTable) -> bool:
    """Whether every rater has a column."""
    return table.options.get("rater") == BY_COLUMN and BY_COLUMN not in table.columns


def _from_rows(base: pl.DataFrame, table: SourceTable) -> tuple[pl.DataFrame, list[str]]:
    """From a row per sample."""
    options, time = table.options, table.options["time"]
    need(table.columns, [time], table.where)
    milliseconds = options.get("time_unit", "ms" if time.casefold().endswith("ms") else "s") == "ms"
    question_column = options.get("question") if options.get("question") in base.columns else None
    values = _questions(table, [time])
    key = ["rater", "stimulus", *(["repeat"] if "repeat" in options else [])]
    rows = base.select(
        *key,
        *([pl.col(question_column).cast(pl.String).alias("\0question")] if question_column else []),
        (number_expr(time) / (1000 if milliseconds else 1)).alias("\0time"),
        *(number_expr(name).alias(name) for name in values),
    )
    index = [name for name in rows.columns if name not in values]
    tall = rows.unpivot(values, index=index, variable_name="question", value_name="\0value")
    if _spread(table):
        named = pl.col("\0question") if question_column else pl.lit(options.get("question", "value"))
        tall = tall.with_columns(pl.col("question").alias("rater"), named.alias("question"))
    elif question_column:
        tall = tall.with_columns(pl.col("\0question").alias("question"))
    elif "question" in options:
        tall = tall.with_columns(pl.lit(options["question"]).alias("question"))
    tall = (
        tall.drop("\0question", strict=False).filter(pl.col("\0time").is_not_null()).sort("\0time", maintain_order=True)
    )
    grouped = tall.group_by(*key, "question", maintain_order=True).agg("\0time", "\0value")
    step = _step(grouped, options, table.where)
    irregular_count = 0
    samples, starts = [], []
    for times, course in grouped.select("\0time", "\0value").iter_rows():
        if (times[-1] - times[0]) / step > LONGEST_TRACE:
            raise InputError(
                f"{table.where}: a trace lasts {times[-1] - times[0]:g} s, more than {LONGEST_TRACE:,} samples.",
                "State the unit of the time (time_unit=ms) or fewer samples per second (rate=2).",
            )
        on_grid, regular = _on_grid(np.asarray(times, float), np.asarray(course, float), step)
        irregular_count += not regular
        samples.append(on_grid.tolist())
        starts.append(times[0])
    held = f"{irregular_count:,} traces have irregular moments; their samples were held until the next."
    listed = pl.Series("samples", samples, pl.List(pl.Float64))
    out = grouped.select(*key, "question").with_columns(
        listed.alias("samples"), pl.Series("start", starts, pl.Float64), pl.lit(1 / step).alias("rate")
    )
    return out, [held] if irregular_count else []


def _step(grouped: pl.DataFrame, options: Mapping[str, str], where: str) -> float:
    if "rate" in options:
        return 1 / _number(options, "rate", where)
    steps = grouped.select(pl.col("\0time").list.diff().explode()).to_series().drop_nulls()
    steps = steps.filter(steps > 0)
    if not steps.len():
        raise InputError(f"{where}: no trace has two moments.", "Check the column of the time, or state rate=SAMPLES.")
    return max(_usual(steps.to_numpy()), 1 / HIGHEST_RATE)


def _usual(steps: NDArray[np.float64]) -> float:
    """The step in the middle; of two, the shorter."""
    return float(np.quantile(steps, 0.5, method="lower"))


def _on_grid(times: NDArray[np.float64], values: NDArray[np.float64], step: float) -> tuple[NDArray[np.float64], bool]:
    """The samples at every step from the first moment, and whether all lay on that grid."""
    positions = (times - times[0]) / step
    nearest = np.rint(positions).astype(int)
    regular = bool((np.abs(positions - nearest) <= REGULAR).all() and (np.diff(nearest) > 0).all())
    size = int(nearest[-1]) + 1
    if regular:
        out = np.full(size, np.nan)
        out[nearest] = values
        return out, True
    last = np.searchsorted(times, times[0] + step * np.arange(size), side="right") - 1
    return values[np.maximum(last, 0)], False


def _from_lists(base: pl.DataFrame, table: SourceTable) -> pl.DataFrame:
    """From a list of samples per row."""
    columns = table.names_in("samples")
    need(table.columns, columns, table.where)
    parts = []
    for name in columns:
        cells = base[name]
        if not isinstance(cells.dtype, pl.List):
            text = cells.cast(pl.String).str.strip_chars().str.strip_chars("[]()").str.replace_all(r"[;\s]+", ",")
            parted = text.str.replace_all(",+", ",").str.split(",")
            cells = parted.list.eval(pl.element().str.strip_chars(" '\"").cast(pl.Float64, strict=False))
        cells = cells.cast(pl.List(pl.Float64), strict=False)
        parts.append(_row_traces(base, table, cells, question=_asked(table, name, single=len(columns) == 1)))
    return pl.concat(parts)


def _asked(table: SourceTable, name: str, *, single: bool) -> pl.Expr:
    named = table.options.get("question")
    if named in table.columns:
        return pl.col(str(named)).cast(pl.String)
    return pl.lit(named if named is not None and single else name)


def _from_columns(base: pl.DataFrame, table: SourceTable) -> pl.DataFrame:
    """From a column for each moment."""
    pattern = table.options["samples"]
    moments = _moments(table, pattern)
    order = sorted(moments, key=lambda name: moments[name])
    unit = 1000.0 if re.search(r"\{time\}_?ms", pattern) else 1.0
    times = np.array([moments[name] for name in order]) / unit
    step = _usual(np.diff(times)) if times.size > 1 else 1.0
    positions = np.rint((times - times[0]) / step).astype(int)
    cells: list[pl.Expr] = [pl.lit(None, pl.Float64)] * (int(positions[-1]) + 1)
    for name, position in zip(order, positions.tolist(), strict=True):
        cells[position] = number_expr(name)
    listed = base.select(pl.concat_list(cells).alias("samples")).to_series()
    # A clip that ends early has empty cells to the end of its row.
    numbers = listed.to_frame().with_row_index("\0row")
    longest = numbers.explode("samples").with_columns(pl.int_range(1, pl.len() + 1).over("\0row").alias("\0place"))
    ends = longest.filter(pl.col("samples").is_not_null()).group_by("\0row").agg(pl.col("\0place").max())
    sized = numbers.join(ends, on="\0row", how="left", maintain_order="left")
    cut = sized.select(pl.col("samples").list.head(pl.col("\0place").fill_null(0))).to_series()
    stem = pattern.split("{time}", maxsplit=1)[0].strip("_ ") or table.path.stem
    traces = _row_traces(base, table, cut, question=_asked(table, stem, single=True))
    stated_options = {"rate", "start"} & set(table.options)
    computed = {"rate": 1 / step, "start": float(times[0])}
    return traces.with_columns(pl.lit(v).alias(n) for n, v in computed.items() if n not in stated_options)


def _moments(table: SourceTable, pattern: str) -> dict[str, float]:
    """The columns of samples, each with the number in its name."""
    shape = re.compile("(?P<time>-?[0-9.]+)".join(re.escape(part) for part in pattern.split("{time}")))
    moments = {name: float(match["time"]) for name in table.columns if (match := shape.fullmatch(name))}
    if not moments:
        raise InputError(
            f"{table.where}: no column fits the pattern '{pattern}'.",
            f"The columns are: {', '.join(table.columns[:30])}.",
        )
    return moments


def _row_traces(base: pl.DataFrame, table: SourceTable, samples: pl.Series, question: pl.Expr) -> pl.DataFrame:
    options = table.options
    facts = []
    for name in ("rate", "start"):
        if options.get(name) in table.columns:
            facts.append(number_expr(options[name]).alias(name))
        elif name in options:
            facts.append(pl.lit(_number(options, name, table.where)).alias(name))
    key = [
        name
        for name in ("rater", "stimulus", "repeat")
        if name in base.columns and (name != "repeat" or name in options)
    ]
    return base.select(*key, question.alias("question"), samples.alias("samples"), *facts)


def _number(options: Mapping[str, str], name: str, where: str) -> float:
    try:
        number = float(options[name])
    except ValueError:
        number = 0.0 if name == "rate" else float("nan")
    if not np.isfinite(number) or (name == "rate" and not 0 < number <= HIGHEST_RATE):
        raise InputError(
            f"{where}: {name}={options[name]} is neither a column nor a number of this kind.", "Write rate=2."
        )
    return number


def _scale(traces: pl.DataFrame, question: str, options: Mapping[str, str], notes: list[str]) -> Trace:
    """The stated scale, or the usual one that holds all samples."""
    stated = stated_scale(question, options)
    if isinstance(stated, Trace):
        return stated
    bounds = stated.bounds() if stated is not None else None
    if bounds is not None:
        return Trace(type="trace", low=bounds[0], high=bounds[1])
    samples = traces.filter(pl.col("question") == question)["samples"].explode().drop_nulls().to_numpy()
    low, high = float(samples.min()), float(samples.max())
    for usual in ((-1.0, 1.0), (0.0, 1.0), (-10.0, 10.0), (0.0, 100.0), (-100.0, 100.0)):
        if usual[0] <= low and high <= usual[1]:
            notes.append(f"The scale of '{question}' was not stated; {usual[0]:g} to {usual[1]:g} was taken.")
            return Trace(type="trace", low=usual[0], high=usual[1])
    return Trace(type="trace", low=float(np.floor(low)), high=float(np.floor(high)) + 1)


def _stimuli(base: pl.DataFrame, table: SourceTable, traces: pl.DataFrame) -> pl.DataFrame:
    stimuli = traces.select("stimulus").unique(maintain_order=True)
    roles_beside(table)
    about = {role: table.options.get(role, role) for role in ABOUT_STIMULUS}
    columns = [pl.col(c).cast(pl.String).alias(r) for r, c in about.items() if c in base.columns]
    if not columns:
        return stimuli
    facts = base.select("stimulus", *columns).unique("stimulus", keep="first")
    return stimuli.join(facts, on="stimulus", how="left", maintain_order="left")


def traces_text(traces: pl.DataFrame) -> str:
    """Traces as CSV, a row per sample: ``sample`` counts from 0; a gap is an empty value."""
    rows = traces.with_columns(pl.int_ranges(pl.col("samples").list.len()).alias("sample"))
    rows = rows.explode("samples", "sample").rename({"samples": "value"})
    return csv_text(rows)


def written_traces(path: Path) -> pl.DataFrame:
    """The traces of a file written by :func:`traces_text`."""
    rows = rows_of(path, {})
    need(rows, ["rater", "stimulus", "question", "sample", "value"], str(path))
    numbers = [name for name in ("rate", "start", "away", "value") if name in rows.columns]
    counts = [name for name in ("repeat", "sample") if name in rows.columns]
    rows = rows.with_columns(
        *(number_expr(name) for name in numbers), *(number_expr(name).cast(pl.Int64) for name in counts)
    )
    key = [name for name in rows.columns if name not in {"sample", "value"}]
    rows = rows.sort("sample", maintain_order=True)
    listed = rows.group_by(key, maintain_order=True).agg(pl.col("value").cast(pl.Float32).alias("samples"))
    return TRACES.check(listed, str(path))
