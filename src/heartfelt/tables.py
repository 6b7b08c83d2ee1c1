"""Column contracts: which columns each table between two stages must have, checked where it enters.

A contract lists the columns a stage may rely on. A table may carry more columns than its contract names;
they are passed on. Ids are always text, so ``7`` in one file and ``"7"`` in another are one rater.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.files import packaged_toml

MOMENT = pl.Datetime("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a contract. ``required`` columns must be there; only ``nullable`` ones may have gaps."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    about: str
    required: bool = True
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Contract:
    """The columns of one table, and the key that names a row."""

    name: str
    about: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()

    def empty(self) -> pl.DataFrame:
        """A table without rows that keeps the contract."""
        return pl.DataFrame(schema={c.name: c.dtype for c in self.columns if c.required})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the contract's columns, required or not."""
        return tuple(column.name for column in self.columns)

    def check(self, frame: pl.DataFrame, where: str) -> pl.DataFrame:
        """Return ``frame`` with the contract's types and column order, or say what is wrong with it.

        ``where`` names the table's origin in the error.
        """
        frame = self.typed(frame.lazy(), where).collect()
        for column in self.columns:
            if column.name in frame.columns and not column.nullable:
                gaps = frame[column.name].is_null()
                if gaps.any():
                    raise InputError(
                        f"{where}: the column '{column.name}' of {self.name} is empty in row {gaps.arg_true()[0] + 1}"
                        f" ({gaps.sum()} such rows).",
                        f"Every row needs a {column.name} ({column.about}); fill it in or remove the row.",
                    )
        self.check_key(frame, where)
        return frame

    def typed(self, frame: pl.LazyFrame, where: str) -> pl.LazyFrame:
        """Return ``frame`` with the contract's types and column order, without looking at any row."""
        have = frame.collect_schema()
        casts: list[pl.Expr] = []
        for column in self.columns:
            if column.name in have and have[column.name] != column.dtype:
                casts.append(_cast(column, have[column.name]))
            elif column.required:
                need_columns(have.names(), [column.name], f"{where}: the table of {self.name}")
        extras = [name for name in have.names() if name not in self.names]
        ordered = [name for name in self.names if name in have]
        return frame.with_columns(casts).select(*ordered, *extras)

    def check_key(self, frame: pl.DataFrame, where: str) -> None:
        """Raise if two rows share the contract's key."""
        names = rating_key(frame.columns) if self.name == "ratings" else self.key
        key = [name for name in names if name in frame.columns]
        if not key or frame.height < 2:
            return
        with_key = frame.select(key).drop_nulls(key[0])
        # Equal rows have equal hashes: where no hash comes twice, no row does, at a fraction of the memory.
        if with_key.hash_rows().n_unique() == with_key.height:
            return
        doubled = with_key.filter(with_key.is_duplicated())
        if doubled.height:
            first = ", ".join(f"{name} '{doubled[name][0]}'" for name in key)
            repeats = "Number repeated presentations in a column 'repeat'. " if self.name == "ratings" else ""
            raise InputError(
                f"{where}: {doubled.height} rows of {self.name} share their key; the first is {first}.",
                f"{repeats}Keep one row per {' x '.join(key)} where they are copies.",
            )


def row_sum(columns: Iterable[pl.Expr]) -> pl.Expr:
    """The sum of columns in every row, from left to right, gaps as 0.

    Polars' ``sum_horizontal`` adds in whatever order its threads finish, so its last digit differs from run to run.
    """
    return reduce(lambda total, column: total + column.fill_null(0), columns, pl.lit(0))


def need_columns(have: Iterable[str], names: Iterable[str], where: str) -> None:
    """Raise for the first of ``names`` that is not among the columns; ``where`` names their table, as in 'The truth'."""
    columns = list(have)
    for name in names:
        if name not in columns:
            raise InputError(f"{where} has no column '{name}'.", suggestion(name, columns, "It has"))


def _cast(column: Column, have: pl.DataType) -> pl.Expr:
    source = pl.col(column.name)
    if column.dtype == pl.String and have.is_float():
        integers = source.cast(pl.Int64, strict=False)
        texts = pl.when(integers.cast(pl.Float64) == source).then(integers.cast(pl.String))
        return texts.otherwise(source.cast(pl.String)).alias(column.name)
    if column.dtype == pl.Boolean and have == pl.String:
        truth = {"true": True, "false": False}
        return source.str.to_lowercase().replace_strict(truth, return_dtype=pl.Boolean)
    if column.dtype == MOMENT and isinstance(have, pl.Datetime) and have.time_zone is None:
        return source.dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    return source.cast(column.dtype)


_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String,
    "number": pl.Float64,
    "integer": pl.Int64,
    "true/false": pl.Boolean,
    "moment": MOMENT,
    "samples": pl.List(pl.Float32),
}


def _contract(name: str, about: str, columns: Sequence[Mapping[str, Any]], key: Sequence[str] = ()) -> Contract:
    """A contract as ``contracts.toml`` writes it."""
    parts = [
        Column(
            name=column["name"],
            dtype=_TYPES[column.get("type", "text")],
            about=column["about"],
            required=not column.get("optional"),
            nullable="optional" in column or "nullable" in column,
        )
        for column in columns
    ]
    return Contract(name, about, tuple(parts), tuple(key))


_ALL = {name: _contract(name, **facts) for name, facts in packaged_toml("heartfelt", "contracts.toml").items()}
STIMULI, RATERS, ITEMS, RATINGS, TRACES = (_ALL[name] for name in ("stimuli", "raters", "items", "ratings", "traces"))
FIELDS, MEANS, LEDGER, DRAFTS = (_ALL[name] for name in ("fields", "means", "ledger", "drafts"))
ADJUDICATIONS, QUESTIONNAIRES = _ALL["adjudications"], _ALL["questionnaires"]
CONTRACTS = tuple(contract for contract in _ALL.values() if contract is not DRAFTS)
"""Every table of a snapshot; ``DRAFTS`` is the file ``drafts.parquet`` of a study, before anybody verified them."""


def is_answered(columns: Iterable[str]) -> pl.Expr:
    """Whether a row of the ratings holds an answer, as a number or in words; rows that do not are blank."""
    value = pl.col("value").is_not_null()
    return value | pl.col("answer").is_not_null() if "answer" in set(columns) else value


def answered(ratings: pl.LazyFrame) -> pl.LazyFrame:
    """The ratings that hold an answer: what every count of ratings counts."""
    return ratings.filter(is_answered(ratings.collect_schema().names()))


def rating_key(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that name a rating; a stimulus may come in several trials where stimuli were judged together."""
    names = set(columns)
    trial = ("trial",) if {"trial", "place"} <= names else ()
    return tuple(name for name in (*RATINGS.key, *trial) if name in names)


_EXACT_DIGITS = 18
_NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"


def number_schema(frame: pl.LazyFrame, columns: Sequence[str]) -> dict[str, pl.DataType]:
    """The text columns that are numbers throughout, however many digits each cell was printed with.

    Ids and codes stay text: a leading zero, a plus sign, or two spellings of one number (versions 1.1 and 1.10) show that
    the text means more than the number.
    """
    schema = frame.collect_schema()
    texts = [name for name in columns if schema[name] == pl.String]
    checks: list[pl.Expr] = []
    for name in texts:
        cell = pl.col(name)
        number = cell.is_not_null().any() & cell.str.contains(_NUMBER).fill_null(True).all()
        checks += [
            number.alias(f"number {name}"),
            cell.str.contains(r"[.eE]").any().alias(f"decimals {name}"),
            cell.str.contains(r"\.\d*0(?:[eE]|$)").any().alias(f"zeros {name}"),
            (cell.str.len_bytes() > _EXACT_DIGITS).any().alias(f"long {name}"),
        ]
    facts = _facts(frame, checks)
    numeric = [name for name in texts if facts[f"number {name}"]]
    spelt_twice = _facts(
        frame,
        [
            (pl.col(name).n_unique() != pl.col(name).cast(pl.Float64).n_unique()).alias(name)
            for name in numeric
            if facts[f"zeros {name}"]
        ],
    )
    return {
        name: pl.Float64() if facts[f"decimals {name}"] else pl.Int64()
        for name in numeric
        if not spelt_twice.get(name) and (facts[f"decimals {name}"] or not facts[f"long {name}"])
    }


def _facts(frame: pl.LazyFrame, checks: Sequence[pl.Expr]) -> dict[str, bool]:
    return frame.select(checks).collect(engine="streaming").row(0, named=True) if checks else {}


def number_types(frame: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
    """Turn text columns into numbers where :func:`number_schema` finds them; leave the rest alone."""
    numeric = number_schema(frame.lazy(), [name for name in frame.columns if name not in keep])
    return frame.with_columns(pl.col(name).cast(dtype) for name, dtype in numeric.items())


def lossless_types(frame: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
    """Turn text columns into numbers where turning them back gives the same text; leave the rest alone."""
    out: list[pl.Series] = []
    for column in (frame[name] for name in frame.columns if name not in keep):
        if column.dtype != pl.String:
            continue
        for dtype in (pl.Int64, pl.Float64):
            number = column.cast(dtype, strict=False)
            if column.null_count() < column.len() and number.cast(pl.String).equals(column, null_equal=True):
                out.append(number)
                break
    return frame.with_columns(out)
