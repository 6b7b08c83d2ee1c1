"""Column contracts: what each table between two stages must hold, checked where it enters.

A contract lists the columns a stage may rely on. A table may carry more columns than its contract names;
they are kept and passed on. Ids are always text, so ``7`` in one file and ``"7"`` in another are one rater.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from heartfelt.errors import InputError, suggestion

MOMENT = pl.Datetime("us", "UTC")


@dataclass(frozen=True, slots=True)
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
                    row = int(gaps.arg_max() or 0)
                    raise InputError(
                        f"{where}: the column '{column.name}' of {self.name} is empty in row {row + 1}"
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
            if column.name not in have:
                if column.required:
                    raise InputError(
                        f"{where}: the table of {self.name} has no column '{column.name}'.",
                        suggestion(column.name, have.names(), "It has"),
                    )
                continue
            if have[column.name] != column.dtype:
                casts.append(_cast(column, have[column.name]))
        extras = [name for name in have.names() if name not in self.names]
        ordered = [column.name for column in self.columns if column.name in have]
        return (
            frame.with_columns(casts).select(*ordered, *extras) if casts else frame.select(*ordered, *extras)
        )

    def check_key(self, frame: pl.DataFrame, where: str) -> None:
        """Raise if two rows share the contract's key."""
        key = [name for name in self.key if name in frame.columns]
        if not key or frame.height < 2:
            return
        known = frame.select(key).drop_nulls(key[0])
        # Equal rows have equal hashes: where no hash comes twice, no row does, at a fraction of the memory.
        if known.hash_rows().n_unique() == known.height:
            return
        doubled = known.filter(known.is_duplicated())
        if doubled.height:
            first = ", ".join(f"{name} '{doubled[name][0]}'" for name in key)
            raise InputError(
                f"{where}: {doubled.height} rows of {self.name} share their key; the first is {first}.",
                f"Keep one row per {' x '.join(key)}"
                + (
                    "; number repeated presentations in a column 'repeat'." if self.name == "ratings" else "."
                ),
            )


def _cast(column: Column, have: pl.DataType) -> pl.Expr:
    source = pl.col(column.name)
    if column.dtype == pl.String and have.is_float():
        whole = source.cast(pl.Int64, strict=False)
        return (
            pl.when(whole.cast(pl.Float64) == source)
            .then(whole.cast(pl.String))
            .otherwise(source.cast(pl.String))
            .alias(column.name)
        )
    if column.dtype == pl.Boolean and have == pl.String:
        return source.str.to_lowercase().replace_strict(
            {"true": True, "false": False}, return_dtype=pl.Boolean
        )
    if column.dtype == MOMENT and isinstance(have, pl.Datetime) and have.time_zone is None:
        return source.dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    return source.cast(column.dtype)


def _text(name: str, about: str, *, required: bool = True, nullable: bool = False) -> Column:
    return Column(name, pl.String, about, required, nullable)


STIMULI = Contract(
    "stimuli",
    "one row per clip or image",
    (
        _text("stimulus", "the stimulus id"),
        _text("system", "what made it", required=False, nullable=True),
        _text("intent", "what it was meant to convey", required=False, nullable=True),
        _text("prompt", "the text it was made from, or that text's id", required=False, nullable=True),
        _text("path", "its media file, relative to the media root", required=False, nullable=True),
        Column(
            "found", pl.Boolean, "whether the media file was there when read", required=False, nullable=True
        ),
        Column("duration", pl.Float64, "seconds", required=False, nullable=True),
        Column("rate", pl.Int64, "samples a second", required=False, nullable=True),
        Column("channels", pl.Int64, "audio channels", required=False, nullable=True),
        Column("width", pl.Int64, "pixels", required=False, nullable=True),
        Column("height", pl.Int64, "pixels", required=False, nullable=True),
        Column("bytes", pl.Int64, "size of the media file", required=False, nullable=True),
        _text("media_problem", "why the media could not be probed", required=False, nullable=True),
    ),
    key=("stimulus",),
)
RATERS = Contract("raters", "one row per person", (_text("rater", "the rater id"),), key=("rater",))
ITEMS = Contract(
    "items",
    "which stimulus is asked about under which question, with facts about the pair",
    (_text("stimulus", "the stimulus id"), _text("question", "the question id")),
    key=("stimulus", "question"),
)
RATINGS = Contract(
    "ratings",
    "one row per human answer; a rater is empty where only a vote count was published",
    (
        _text("rater", "the rater id", nullable=True),
        _text("stimulus", "the stimulus id"),
        _text("question", "the question id"),
        Column("value", pl.Float64, "the answer as a number, or the category's code", nullable=True),
        _text("answer", "the answer in words", required=False, nullable=True),
        Column(
            "position",
            pl.Int64,
            "place in the rater's presentation order, from 1",
            required=False,
            nullable=True,
        ),
        Column("seconds", pl.Float64, "time taken to answer", required=False, nullable=True),
        Column("at", MOMENT, "when", required=False, nullable=True),
        Column(
            "repeat",
            pl.Int64,
            "0 for a first presentation, 1 for its first repeat",
            required=False,
            nullable=True,
        ),
    ),
    key=("rater", "stimulus", "question", "repeat"),
)
FIELDS = Contract(
    "fields",
    "values a machine filled in, each with where it came from and what a person made of it",
    (
        _text("stimulus", "the stimulus id"),
        _text("field", "which field"),
        _text("machine", "the machine's value", nullable=True),
        _text("source", "which machine", required=False, nullable=True),
        _text("verdict", "accepted, fixed or rejected", required=False, nullable=True),
        _text("final", "the value after a person verified it", required=False, nullable=True),
        _text("verified_by", "the rater who verified it", required=False, nullable=True),
        Column("at", MOMENT, "when it was verified", required=False, nullable=True),
    ),
    key=("stimulus", "field", "source", "verified_by"),
)
MEANS = Contract(
    "means",
    "published means where no single ratings were published",
    (
        _text("stimulus", "the stimulus id"),
        _text("question", "the question id"),
        Column("mean", pl.Float64, "mean rating", nullable=True),
        Column("sd", pl.Float64, "standard deviation over raters", required=False, nullable=True),
        Column("n", pl.Int64, "number of raters", required=False, nullable=True),
    ),
    key=("stimulus", "question"),
)
LEDGER = Contract(
    "ledger",
    "everything left out so far, and why",
    (
        _text("what", "rater, rating, stimulus or row"),
        _text("rater", "the rater concerned", required=False, nullable=True),
        _text("stimulus", "the stimulus concerned", required=False, nullable=True),
        _text("question", "the question concerned", required=False, nullable=True),
        _text("reason", "why, in words"),
        _text("stage", "which stage left it out"),
    ),
)

CONTRACTS: tuple[Contract, ...] = (STIMULI, RATERS, ITEMS, RATINGS, FIELDS, MEANS, LEDGER)


_EXACT_DIGITS = 18
_NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"


def lossless_schema(frame: pl.LazyFrame, columns: Sequence[str]) -> dict[str, pl.DataType]:
    """The text columns that are numbers throughout: turning them into numbers and back gives the same text."""
    schema = frame.collect_schema()
    texts = [name for name in columns if schema[name] == pl.String]
    if not texts:
        return {}
    kinds: dict[str, pl.DataType] = {"int": pl.Int64(), "float": pl.Float64()}
    checks = [
        (
            pl.col(name).is_not_null().any()
            & (pl.col(name).cast(dtype, strict=False).cast(pl.String) == pl.col(name))
            .fill_null(pl.col(name).is_null())
            .all()
        ).alias(f"{kind} {name}")
        for name in texts
        for kind, dtype in kinds.items()
    ]
    found = frame.select(checks).collect(engine="streaming").row(0, named=True)
    out: dict[str, pl.DataType] = {}
    for name in texts:
        for kind, dtype in kinds.items():
            if found[f"{kind} {name}"] and name not in out:
                out[name] = dtype
    return out


def number_schema(frame: pl.LazyFrame, columns: Sequence[str]) -> dict[str, pl.DataType]:
    """The text columns that are numbers throughout, however many digits each cell was printed with.

    Ids and codes stay text: a leading zero, a plus sign, or two spellings of one number (versions 1.1 and 1.10) say that
    the text means more than the number.
    """
    schema = frame.collect_schema()
    texts = [name for name in columns if schema[name] == pl.String]
    if not texts:
        return {}
    checks: list[pl.Expr] = []
    for name in texts:
        cell = pl.col(name)
        checks += [
            (cell.is_not_null().any() & cell.str.contains(_NUMBER).fill_null(True).all()).alias(
                f"number {name}"
            ),
            cell.str.contains(r"[.eE]").any().alias(f"decimals {name}"),
            cell.str.contains(r"\.\d*0(?:[eE]|$)").any().alias(f"zeros {name}"),
            (cell.str.len_bytes() > _EXACT_DIGITS).any().alias(f"long {name}"),
        ]
    facts = frame.select(checks).collect(engine="streaming").row(0, named=True)
    numeric = [name for name in texts if facts[f"number {name}"]]
    spelt_twice = [name for name in numeric if facts[f"zeros {name}"]]
    if spelt_twice:
        distinct = frame.select(
            (pl.col(name).n_unique() == pl.col(name).cast(pl.Float64).n_unique()).alias(name)
            for name in spelt_twice
        )
        facts_of = distinct.collect(engine="streaming").row(0, named=True)
        numeric = [name for name in numeric if facts_of.get(name, True)]
    return {
        name: pl.Float64() if facts[f"decimals {name}"] else pl.Int64()
        for name in numeric
        if facts[f"decimals {name}"] or not facts[f"long {name}"]
    }


def number_types(frame: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
    """Turn text columns into numbers where :func:`number_schema` finds them; leave the rest alone."""
    numeric = number_schema(frame.lazy(), [name for name in frame.columns if name not in keep])
    return frame.with_columns(pl.col(name).cast(dtype) for name, dtype in numeric.items())


def lossless_types(frame: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
    """Turn text columns into numbers where turning them back gives the same text; leave the rest alone."""
    found = lossless_schema(frame.lazy(), [name for name in frame.columns if name not in keep])
    return frame.with_columns(pl.col(name).cast(dtype) for name, dtype in found.items())
