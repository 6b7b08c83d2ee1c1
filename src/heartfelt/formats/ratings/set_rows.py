"""Ratings of trials in which stimuli were judged together, from tables that list them in their own way.

A table of pairs has a row per trial: ``first``, ``second`` and ``value``, that of the first (1 chosen, 0 not, 0.5 for a
tie; for a preference the grade in its favour). The ratings have a row per stimulus. Rows that cannot be used are left out
with a reason; the ledger lists them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.files import write_text
from heartfelt.formats.tables.columns import ABOUT_STIMULUS, ids
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.media.probe import PROBED
from heartfelt.snapshot import Snapshot
from heartfelt.study import study_text
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.parts.sets import Sets, SetType
from heartfelt.study.scales.set_scale import Choice, Preference
from heartfelt.tables import LEDGER, RATINGS, number_types
from heartfelt.wording import listed as join_names

SETS_FILE = "sets.csv"
MOST_NAMED = 6
ROW = "\0row"
"""The number of a source row, from 1, while rows are being sorted out."""
SELF_PAIR = "a stimulus is compared with itself"
NO_ANSWER = "no answer"
REPEATED_ROW = "the same row is there more than once"
FIRST, SECOND, TIE = 1.0, 0.0, 0.5
BOTH_BAD = {"tiebothbad", "bothbad", "bothbadvote", "bothsidesarebad"}
WORDS: Mapping[str, float] = {
    **dict.fromkeys(("a", "first", "left", "leftvote", "modela", "model1", "optiona", "systema", "songa"), FIRST),
    **dict.fromkeys(
        ("b", "second", "right", "rightvote", "modelb", "model2", "optionb", "systemb", "songb"), SECOND
    ),
    **dict.fromkeys(
        ("tie", "tied", "tievote", "draw", "equal", "same", "both", "ab", "neither", "nodifference",
         "nopreference", "aboutthesame", "bothgood", "undecided", *BOTH_BAD), TIE
    ),
}  # fmt: skip
"""The usual words for which of two was chosen, in lower case without anything but letters and digits."""


def table_sets(type: SetType, *, reference: str | None = None, anchors: Sequence[str] = ()) -> Sets:
    """The sets of data that somebody else collected: what the data list, in a table of its own when exported."""
    return Sets(type=type, rule="table", file=SETS_FILE, reference=reference, anchors=list(anchors))


def usable(
    table: pl.DataFrame, faults: Mapping[str, pl.Expr], where: str, named: Mapping[str, str] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows without fault, and a ledger of the others with the first reason that applies.

    ``named`` maps columns of the ledger (rater, stimulus, question) to those of the table. No row left is an error.
    """
    reason = pl.coalesce(pl.when(bad.fill_null(False)).then(pl.lit(words)) for words, bad in faults.items())
    marked = table.with_columns(pl.int_range(1, pl.len() + 1).alias(ROW) if ROW not in table.columns else ROW)
    marked = marked.with_columns(reason.alias("\0reason"))
    bad = marked.filter(pl.col("\0reason").is_not_null())
    about = {name: pl.col(column).cast(pl.String) for name, column in (named or {}).items()}
    ledger = bad.select(what=pl.lit("row"), **about, reason=pl.col("\0reason"), stage=pl.lit("import"), row=pl.col(ROW))
    good = marked.filter(pl.col("\0reason").is_null()).drop("\0reason")
    if not good.height:
        first = f": {ledger['reason'].mode().sort()[0]}" if ledger.height else ""
        raise InputError(
            f"{where} holds no row that can be used ({ledger.height:,} rows{first}).",
            "Check that the options name the right columns.",
        )
    return good, LEDGER.check(ledger, where)


def repeated_rows(table: pl.DataFrame) -> pl.Expr:
    """Whether a row equals an earlier one in every column."""
    columns = [name for name in table.columns if name != ROW]
    return ~pl.struct(columns).is_first_distinct() if columns else pl.lit(False)


def free_names(extras: Sequence[str], *reserved: str) -> dict[str, str]:
    """New names of columns that would be taken for something else: ``source_`` before the old one."""
    used_names = {*RATINGS.names, *ABOUT_STIMULUS, *reserved}
    return {name: f"source_{name}" for name in extras if name in used_names}


def names_in(column: pl.Series) -> pl.Series:
    """Ids as text; an empty one is none."""
    return ids(column).replace("", None)


def numbered_extras(rows: pl.DataFrame, *text_columns: str) -> pl.DataFrame:
    """The rows with text columns that hold numbers throughout as numbers, but for those that mean something here."""
    return number_types(rows, keep=[*RATINGS.names, *ABOUT_STIMULUS, *text_columns])


def unnamed(*columns: str) -> pl.Expr:
    """Whether a column that names something is empty."""
    return pl.any_horizontal(pl.col(name).is_null() | (pl.col(name) == "") for name in columns)


def joined_ledgers(*ledgers: pl.DataFrame | None) -> pl.DataFrame | None:
    """One ledger of several, in their order."""
    parts = [ledger for ledger in ledgers if ledger is not None and ledger.height]
    return pl.concat(parts, how="diagonal") if parts else None


def chosen(winner: str, words: Mapping[str, float], sides: Sequence[tuple[str, str]] = ()) -> pl.Expr:
    """The value of the first: from the name of the winner, where it is that of one side, or from a word for a side.

    ``sides`` are pairs of columns with the names of the first and the second; ``words`` are those given by options.
    """
    text = pl.col(winner).cast(pl.String).str.strip_chars()
    by_word = text.replace_strict(words, default=None, return_dtype=pl.Float64) if words else pl.lit(None)
    by_name = [
        pl.when(text == pl.col(side).cast(pl.String)).then(value)
        for first, second in sides
        for side, value in ((first, FIRST), (second, SECOND))
    ]
    usual = plain_word(winner).replace_strict(WORDS, default=None, return_dtype=pl.Float64)
    return pl.coalesce(by_word, *by_name, usual).cast(pl.Float64)


def plain_word(column: str) -> pl.Expr:
    """Text in lower case with letters and digits only."""
    return pl.col(column).cast(pl.String).str.to_lowercase().str.replace_all(r"[^a-z0-9]", "")


def stated_words(options: Mapping[str, str]) -> dict[str, float]:
    """The words that options ``winner.WORD=first``, ``second`` or ``tie`` explain."""
    sides = {"first": FIRST, "second": SECOND, "tie": TIE}
    out: dict[str, float] = {}
    for option, side in options.items():
        family, dot, word = option.partition(".")
        if family == "winner" and dot:
            if side not in sides:
                raise InputError(f"'{option}={side}' names no side.", "Write first, second or tie.")
            out[word] = sides[side]
    return out


def with_trials(pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs with ``set`` (the two stimuli, in either order) and ``trial``, where they have none.

    ``repeat`` numbers a rater's trials with the same set. Where raters are unknown every row is a trial of its own.
    """
    if "set" not in pairs.columns:
        names = pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second")
        pairs = pairs.with_columns(pl.concat_str(names, separator="|").alias("set"))
    if "trial" in pairs.columns:
        return pairs
    number = pl.int_range(1, pl.len() + 1) if ROW not in pairs.columns else pl.col(ROW)
    if pairs["rater"].is_null().all():
        return pairs.with_columns(number.cast(pl.String).alias("trial"))
    pairs = pairs.with_columns(occurrence("rater", "question", "set").alias("repeat"))
    trial = pl.when(pl.col("rater").is_null()).then(number.cast(pl.String)).otherwise(numbered_again("set"))
    repeat = pl.when(pl.col("rater").is_not_null()).then("repeat").otherwise(0)
    return without_repeats(pairs.with_columns(trial.alias("trial"), repeat.cast(pl.Int64).alias("repeat")))


def occurrence(*key: str) -> pl.Expr:
    """How often the key of a row came before: 0 for the first time."""
    return (pl.col(key[0]).is_null() | True).cum_sum().over(pl.struct(key).hash()).cast(pl.Int64) - 1


def numbered_again(name: str) -> pl.Expr:
    """The name as it is at a first presentation, and with its number (``#2``) at the next ones."""
    return pl.when(pl.col("repeat") > 0).then(pl.format("{}#{}", name, pl.col("repeat") + 1)).otherwise(name)


def without_repeats(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without their column ``repeat`` where nothing was presented more than once."""
    return rows if (rows["repeat"] > 0).any() else rows.drop("repeat")


def pair_ratings(pairs: pl.DataFrame, scale: Choice | Preference, *, ordered: bool = True) -> pl.DataFrame:
    """The ratings of pairs: two rows per trial, the first stimulus at place 1; no places where they were not ``ordered``."""
    value = pl.col("value")
    against = pl.when(value == 0).then(0.0).otherwise(-value)  # never -0.0
    second = 1.0 - value if isinstance(scale, Choice) else against
    further_columns = pl.exclude("first", "second", ROW)
    sides = (
        pairs.select(
            further_columns, stimulus=pl.col(name), place=pl.lit(position if ordered else None, pl.Int64)
        ).with_columns(side_value.alias("value"))
        for name, position, side_value in (("first", 1, value), ("second", 2, second))
    )
    return pl.concat(sides).with_columns(pl.lit("member").alias("role"))


def trace_means(traces: pl.DataFrame) -> pl.DataFrame:
    """The ratings that go with traces: the mean of each over its samples."""
    columns = [name for name in ("rater", "stimulus", "question", "repeat") if name in traces.columns]
    return traces.select(*columns, value=pl.col("samples").cast(pl.List(pl.Float64)).list.mean())


def further_answers(rows: pl.DataFrame, item: Sequence[str]) -> tuple[int, list[str]]:
    """How many rows are a known rater's further answers to the same ``item``, and the columns that differ between these answers.

    Columns that follow from the answer, such as a second spelling of the winner, or that number the rows, such as the time, are
    left out.
    """
    key = ["rater", *item]
    named = rows.filter(pl.col("rater").is_not_null())
    again = named.filter(pl.struct(key).is_duplicated())
    if not again.height:
        return 0, []
    ours = {*RATINGS.names, *key, "first", "second", ROW}
    extras = [
        name
        for name in again.columns
        if name not in ours and not name.startswith("\0") and 2 * again[name].n_unique() <= again.height
    ]
    by_rater, by_answer = (
        again.group_by(group).agg(pl.col(name).n_unique() for name in extras) for group in (key, [*item, "value"])
    )
    many = again.height >= 5 * by_answer.height
    differ = [name for name in extras if (by_rater[name] > 1).any() and not (many and (by_answer[name] == 1).all())]
    return again.height - again.select(pl.struct(key).n_unique()).item(), differ


def apart_by(columns: Sequence[str], advice: str) -> str:
    """A sentence on columns that differ between a rater's answers to the same thing; ``advice`` names one as ``{column}``."""
    if not columns:
        return ""
    named = join_names([f"'{name}'" for name in columns], MOST_NAMED)
    return f" They differ in {named}; if one of these says what was presented: {advice.format(column=columns[0])}."


def reference_notes(rows: pl.DataFrame) -> list[str]:
    """A note where trials of a MUSHRA test lack the hidden reference."""
    hidden = (pl.col("role") == "hidden-reference").any()
    trials = rows.group_by("rater", "trial").agg(hidden.alias("hidden"))
    lacking = int((~trials["hidden"]).sum())
    if lacking == trials.height:
        name = as_option("hidden_reference", "NAME")
        return [f"No stimulus has the role of the hidden reference; name it with {name}."]
    return [f"{lacking:,} of {trials.height:,} trials have no hidden reference."] if lacking else []


def write_beside(snapshot: Snapshot, target: Path) -> None:
    """Write stimuli, raters and study, and the table of sets that the study names, as far as the ratings show them."""
    write_text(target / "stimuli.csv", csv_text(snapshot.stimuli.drop(PROBED, strict=False)))
    write_text(target / "raters.csv", csv_text(snapshot.raters))
    write_text(target / STUDY_FILE, study_text(snapshot.study))
    sets, ratings = snapshot.study.sets, snapshot.ratings
    if sets is None or sets.file is None or not {"set", "role"} <= set(ratings.columns):
        return
    role = pl.col("role").replace({"hidden-reference": "reference", "x": "member"})
    rows = ratings.select("set", "stimulus", role).drop_nulls("set").unique(maintain_order=True)
    write_text(target / SETS_FILE, csv_text(rows.sort("set", maintain_order=True)))
