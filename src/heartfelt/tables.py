"""Column contracts: which columns each table between two stages must have, checked where it enters.

A contract lists the columns a stage may rely on. A table may carry more columns than its contract names;
they are passed on. Ids are always text, so ``7`` in one file and ``"7"`` in another are one rater.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import polars as pl

from heartfelt.errors import InputError, suggestion

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


def _text(name: str, about: str, *, nullable: bool = False) -> Column:
    return Column(name=name, dtype=pl.String, about=about, nullable=nullable)


def _optional(name: str, about: str, dtype: pl.DataType | type[pl.DataType] = pl.String) -> Column:
    return Column(name=name, dtype=dtype, about=about, required=False, nullable=True)


STIMULI = Contract(
    "stimuli",
    "one row per clip or image",
    (
        _text("stimulus", "the stimulus id"),
        _optional("system", "what made it"),
        _optional("intent", "what it was meant to convey"),
        _optional("prompt", "the text it was made from, or that text's id"),
        _optional("path", "its media file, relative to the media root"),
        _optional("reference", "its undistorted original: a stimulus id, or a file relative to the media root"),
        _optional("found", "whether the media file was there when read", pl.Boolean),
        _optional("duration", "its length in seconds", pl.Float64),
        _optional("rate", "audio samples per second", pl.Int64),
        _optional("channels", "audio channels", pl.Int64),
        _optional("width", "its width in pixels", pl.Int64),
        _optional("height", "its height in pixels", pl.Int64),
        _optional("bytes", "size of the media file", pl.Int64),
        _optional("media_problem", "why the media could not be probed"),
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
        Column(name="value", dtype=pl.Float64, about="the answer as a number, or the category's code", nullable=True),
        _optional("answer", "the answer in words"),
        _optional("position", "place in the rater's presentation order, from 1", pl.Int64),
        _optional("seconds", "time taken to answer", pl.Float64),
        _optional("at", "when it was answered", MOMENT),
        _optional("repeat", "0 for a first presentation, 1 for its first repeat", pl.Int64),
        _optional("trial", "the presentation, where stimuli were judged together: its rows share this id"),
        _optional("set", "the stimuli that were presented together"),
        _optional("place", "where the stimulus was presented in its trial, from 1", pl.Int64),
        _optional("role", "member, hidden-reference or anchor; x in an ABX trial"),
    ),
    key=("rater", "stimulus", "question", "repeat"),
)


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


TRACES = Contract(
    "traces",
    "one row per course over time that a rater gave while a clip played",
    (
        _text("rater", "the rater id"),
        _text("stimulus", "the stimulus id"),
        _text("question", "the question id"),
        Column(name="samples", dtype=pl.List(pl.Float32), about="the samples in order; empty ones are gaps"),
        _optional("rate", "samples per second; empty where samples are per beat or bar", pl.Float64),
        _optional("start", "seconds from the start of the clip to the first sample", pl.Float64),
        _optional("away", "seconds the page was in the background", pl.Float64),
        _optional("repeat", "0 for a first presentation, 1 for its first repeat", pl.Int64),
    ),
    key=("rater", "stimulus", "question", "repeat"),
)
FIELDS = Contract(
    "fields",
    "values a machine filled in, each with its source and what a person made of it",
    (
        _text("stimulus", "the stimulus id"),
        _text("field", "which field"),
        _text("machine", "the machine's value", nullable=True),
        _optional("source", "which machine"),
        _optional("verdict", "accepted, fixed or rejected"),
        _optional("final", "the value after a person verified it"),
        _optional("verified_by", "the rater who verified it"),
        _optional("at", "when it was verified", MOMENT),
        _optional("shown", "what the rater saw of it: true, hidden, or planted for another stimulus's value"),
        _optional("first", "the rater's first answer, where it was changed later; (rejected) for a rejected value"),
        _optional("seconds", "time the rater spent on it", pl.Float64),
        _optional("keystrokes", "keys and taps it took", pl.Int64),
        _optional("version", "the version of the model that wrote it"),
        _optional("prompt_hash", "a hash of what the model was asked"),
        _optional("drafted_at", "when the machine wrote it", MOMENT),
        _optional("confidence", "how sure the machine says it is, from 0 to 1", pl.Float64),
        _optional(
            "boxes", "where it saw what: tag, box (left, top, right, bottom as fractions) and confidence, as JSON"
        ),
        _optional("repeat", "0 for a first presentation, 1 for its first repeat", pl.Int64),
    ),
    key=("stimulus", "field", "source", "verified_by", "repeat"),
)
DRAFTS = Contract(
    "drafts",
    "what machines wrote about stimuli before anybody verified it: the file ``drafts.parquet`` of a study",
    (
        _text("stimulus", "the stimulus id"),
        _text("question", "the question id"),
        _text("value", "the machine's answer, as the question's scale writes answers"),
        _text("source", "which machine"),
        _optional("version", "the version of the model"),
        _optional("prompt_hash", "a hash of what the model was asked"),
        _optional("at", "when", MOMENT),
        _optional("confidence", "how sure the machine says it is, from 0 to 1", pl.Float64),
        _optional(
            "boxes", "where it saw what: tag, box (left, top, right, bottom as fractions) and confidence, as JSON"
        ),
        _optional("limits", "what the machine cannot see, in its own words"),
    ),
    key=("stimulus", "question"),
)
MEANS = Contract(
    "means",
    "published means where no single ratings were published",
    (
        _text("stimulus", "the stimulus id"),
        _text("question", "the question id"),
        Column(name="mean", dtype=pl.Float64, about="mean rating", nullable=True),
        _optional("sd", "standard deviation over raters", pl.Float64),
        _optional("n", "number of raters", pl.Int64),
    ),
    key=("stimulus", "question"),
)
ADJUDICATIONS = Contract(
    "adjudications",
    "items that a senior rater decided, each with its final value and the history behind it",
    (
        _text("stimulus", "the stimulus id"),
        _text("question", "the question id"),
        Column(
            name="value", dtype=pl.Float64, about="the final answer as a number, or the category's code", nullable=True
        ),
        _optional("answer", "the final answer in words"),
        _optional("rule", "the rules that selected the item, separated by commas"),
        _optional("by", "the id of the senior rater"),
        _optional("at", "when", MOMENT),
        _optional("comment", "what the senior rater wrote about it"),
        _optional("decisions", "how often it was decided; the latest is final", pl.Int64),
        _optional("history", "as JSON: the answers that were shown, the draft, and earlier decisions"),
    ),
    key=("stimulus", "question"),
)
QUESTIONNAIRES = Contract(
    "questionnaires",
    "answers to questionnaires between trials, one row per answer",
    (
        _text("rater", "the rater id"),
        _text("questionnaire", "the id of the questionnaire"),
        Column(name="after_trials", dtype=pl.Int64, about="trials the rater had answered when it came"),
        _text("question", "the question id"),
        Column(name="value", dtype=pl.Float64, about="the answer as a number, or the category's code", nullable=True),
        _optional("answer", "the answer in words"),
        _optional("at", "when it was answered", MOMENT),
    ),
    key=("rater", "questionnaire", "after_trials", "question"),
)
LEDGER = Contract(
    "ledger",
    "everything left out so far, and why",
    (
        _text("what", "rater, rating, stimulus, question, score, row, prediction, column, file or log"),
        _optional("rater", "the rater concerned"),
        _optional("stimulus", "the stimulus concerned"),
        _optional("question", "the question concerned"),
        _text("reason", "why, in words"),
        _text("stage", "which stage left it out"),
    ),
)

CONTRACTS: tuple[Contract, ...] = (
    STIMULI,
    RATERS,
    ITEMS,
    RATINGS,
    TRACES,
    FIELDS,
    MEANS,
    ADJUDICATIONS,
    QUESTIONNAIRES,
    LEDGER,
)


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
