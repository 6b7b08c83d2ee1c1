"""Tables with one comparison of two stimuli per row.

The answer is a word for the winner (``winner``), a number (``value``), or how many raters chose which (``votes``). A number
is read as a choice where it is 0, 0.5 or 1, and then 1 means the first; other numbers are a preference, and then a positive
one favours the second, as in a CMOS test. ``favours`` turns either round.

Which of two is listed first is taken for the order of presentation where pairs come in both orders; counts of votes and tables of
winners and losers list pairs in an order of their own. ``order=known`` and ``order=unknown`` say it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, UnclearColumnError, as_option, suggestion
from heartfelt.formats.proposals.roles import NO_RATER
from heartfelt.formats.ratings.described import (
    USUAL_STEPS,
    build,
    new_names,
    preference,
    stated_references,
    stated_scale,
    study_next_to,
)
from heartfelt.formats.ratings.set_rows import (
    BOTH_BAD,
    NO_ANSWER,
    REPEATED_ROW,
    SELF_PAIR,
    apart_by,
    chosen,
    free_names,
    further_answers,
    names_in,
    numbered_extras,
    pair_ratings,
    plain_word,
    repeated_rows,
    stated_words,
    table_sets,
    unnamed,
    usable,
    with_trials,
)
from heartfelt.formats.tables.columns import NamedTable, ids, need, number_expr
from heartfelt.formats.tables.delimited import collected
from heartfelt.formats.tables.side_tables import companion_of, own_columns, roles_beside, with_listed
from heartfelt.formats.tables.source_table import SourceTable, side_table
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import in_both_orders
from heartfelt.study.scales.scale import AnyScale
from heartfelt.study.scales.set_scale import Choice, Preference
from heartfelt.tables import number_types
from heartfelt.wording import listed as join_names

PAIR_OPTIONS: Mapping[str, str] = {
    "first": "column of the first stimulus of a pair; needs winner, value or votes",
    "second": "column of the second stimulus of a pair",
    "first_system": "column of the first stimulus' system",
    "second_system": "column of the second stimulus' system",
    "winner": "column of the winner of a pair; winner.WORD=first, second or tie explains a word in it",
    "order": "known if the first was presented first, unknown if not; known by default where pairs come in both orders",
    "favours": "the side that a number in favour of one side favours: first or second",
    "votes": "columns with how many chose the first, the second and neither, with commas",
}
"""Options of a long table with a pair per row."""
ONE_QUESTION = "preference"
BOTH_BAD_TEXT = "tie (bothbad)"
LONGEST_ID = 64
"""Prompts longer than this are texts, and get ids."""
MOST_STEPS = 10
ORDERS = ("known", "unknown")


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Which column of a table of pairs plays which role."""

    roles: Mapping[str, str]
    """first, second, first_system, second_system, winner, value, rater, question, prompt, intent and about the trial."""
    votes: tuple[str, ...] = ()
    """How many raters chose the first, the second and, where there is a third column, neither."""
    rater_columns: tuple[str, ...] = ()
    ordered: bool = False
    """Whether the format itself says that the first was presented first."""

    @property
    def taken(self) -> set[str]:
        return {*self.roles.values(), *self.votes, *self.rater_columns}


ROLES = (
    "first", "second", "first_system", "second_system", "winner", "prompt", "intent", "trial", "set", "position", "seconds",
    "at", "repeat",
)  # fmt: skip


def is_pairs(table: SourceTable) -> bool:
    """Whether each row compares two stimuli: the options say so, or columns have these very names."""
    columns, options = set(table.columns), set(table.options)
    named = {"first", "second"} <= columns and "stimulus" not in columns and "stimulus" not in options
    return bool({"first", "first_system", "votes"} & options) or named


def pair_columns(table: SourceTable) -> PairColumns:
    """The columns of a table of pairs: those the options name, else those with usual names."""
    options, columns, where = table.options, table.columns, table.where
    listed_roles = roles_beside(table, "battles.")
    present = [role for role in ROLES if role not in listed_roles and (role in options or role in columns)]
    roles = {role: options.get(role, role) for role in present}
    if options.get("rater") != NO_RATER and (rater := table.pick_optional("rater")) is not None:
        roles["rater"] = rater
    question_column = options.get("question", "question")
    if question_column in columns:
        roles["question"] = question_column
    votes = tuple(table.names_in("votes"))
    roles = _with_answer(roles, table, votes)
    need(columns, [*roles.values(), *votes], where)
    of_rater = own_columns(table, table.names_in("rater_columns"), "raters", "battles.")
    _require_both_sides(roles, where)
    if len(votes) not in {0, 2, 3}:
        raise InputError(f"{where}: votes= needs two or three columns.", "Write votes=wins_first,wins_second,ties.")
    return PairColumns(roles, votes, tuple(of_rater))


def _with_answer(roles: Mapping[str, str], table: SourceTable, votes: tuple[str, ...]) -> dict[str, str]:
    """The roles with the column of the answer, in words or as a number; votes and winners are one already."""
    if "value" not in table.options and (votes or "winner" in roles):
        return {**roles}
    value = table.pick("value")
    words = table.rows.select(number_expr(value).is_null().all()).head(1).collect().item()
    unanswered = {role: column for role, column in roles.items() if role != "winner"}
    return {**unanswered, "winner" if words or stated_words(table.options) else "value": value}


def _require_both_sides(roles: Mapping[str, str], where: str) -> None:
    for side in ("first", "second"):
        if side not in roles and f"{side}_system" not in roles:
            raise UnclearColumnError(
                f"{where}: no column is the {side} of the pair.", f"Name it with {as_option(side, 'COLUMN')}."
            )
    if ("first" in roles) != ("second" in roles):
        raise InputError(f"{where}: first and second belong together.", "Name both columns, or neither.")


def read_pairs(
    format: str, table: SourceTable, source: Path, progress: Progress | None, columns: PairColumns
) -> Snapshot:
    """The snapshot of a table of pairs; rows that cannot be used are in the ledger."""
    frame, notes = _plain_columns(table, columns)
    options = table.options
    pairs = _pairs(NamedTable(frame, table.where, position=table.position), columns, options.get("question"))
    renamed = new_names(options, pairs["question"].drop_nulls().unique())
    pairs = pairs.with_columns(pl.col("question").replace(renamed)) if renamed else pairs
    pairs, scale = _answered(pairs, columns, options, table.where)
    named = {"rater": "rater", "stimulus": "first", "question": "question"}
    pairs, ledger = usable(pairs, _faults(pairs, columns, scale), table.where, named)
    pairs = numbered_extras(pairs, "first", "second", "first_system", "second_system", "winner")
    stimuli, unsure = _stimuli(pairs, table.where)
    notes += unsure
    if "rater" not in columns.roles:
        notes.append("No column names the rater: results over raters are not available.")
    ordered, assumed = _ordered(pairs, columns, options)
    pairs = with_trials(
        pairs.drop("\0empty", "winner", "first_system", "second_system", "prompt", "intent", strict=False)
    )
    notes += [*_direction(columns, options, scale), *assumed, *_repeats(pairs, columns)]
    if isinstance(scale, Choice):
        scale = scale.model_copy(update={"ties": bool((pairs["value"] == 0.5).any())})
    questions = pairs["question"].unique(maintain_order=True).to_list()
    stated = any(stated_scale(name, options) for name in questions) or stated_references(options, table.path.parent)
    people = companion_of(table, "raters", "battles.")
    raters = _raters(frame, columns) if people is None else side_table(people, "rater", options.get("raters_id"))
    return build(
        format,
        table,
        source,
        progress,
        stimuli=with_listed(stimuli, table, stem="battles."),
        scales=dict.fromkeys(questions, scale),
        notes=notes,
        study=None if stated else study_next_to(table.path, set(questions)),
        sets=table_sets("ab" if options.get("type") == "ab" else "pair"),
        ratings=pair_ratings(pairs, scale, ordered=ordered),
        raters=raters,
        ledger=ledger,
        reading=[_understood(columns)],
    )


def _faults(pairs: pl.DataFrame, columns: PairColumns, scale: Choice | Preference) -> dict[str, pl.Expr]:
    """Which rows cannot be used, by reason."""
    faults = {
        "a stimulus or the question has no name": unnamed("first", "second", "question"),
        SELF_PAIR: pl.col("first") == pl.col("second"),
        NO_ANSWER: pl.col("\0empty"),
        "the answer is neither side nor a tie": pl.col("value").is_null(),
    }
    if isinstance(scale, Choice):
        faults["the answer is not 0, 0.5 or 1"] = ~pl.col("value").is_in([0.0, 0.5, 1.0])
    else:
        faults[f"the answer is not between {-scale.steps} and {scale.steps}"] = pl.col("value").abs() > scale.steps
    if {"at", "trial"} & set(columns.roles) and not columns.votes:
        faults[REPEATED_ROW] = repeated_rows(pairs)
    return faults


def _ordered(pairs: pl.DataFrame, columns: PairColumns, options: Mapping[str, str]) -> tuple[bool, list[str]]:
    """Whether the first of two was presented first, and a note on what was assumed."""
    stated, roles = options.get("order"), columns.roles
    if stated not in {None, *ORDERS}:
        raise InputError(f"order={stated} is not understood.", suggestion(str(stated), ORDERS, "Choose from"))
    if stated is not None or columns.ordered:
        return stated != "unknown", []
    named = _named_sides(pairs)
    decided = pairs["value"].filter(~pairs["value"].is_in([0.0 if (pairs["value"] < 0).any() else 0.5]))
    if columns.votes:
        reason = "votes are counted whichever came first"
    elif roles.get("winner", "") in {roles.get("first"), roles.get("first_system")} or decided.n_unique() == 1:
        reason = "the winner is always on the same side"
    elif not any(in_both_orders(*pairs.select(sides)) for sides in named):
        reason = "pairs do not come in both orders"
    else:
        how = as_option("order", "unknown")
        return True, [f"The first of two is taken as presented first, since pairs come in both orders; if not: {how}."]
    how = as_option("order", "known")
    return False, [f"No order of presentation is assumed: {reason}. If the first was presented first: {how}."]


def _named_sides(pairs: pl.DataFrame) -> list[tuple[str, str]]:
    """The pairs of columns that name both sides: the stimuli, and the systems where both are known."""
    sides = [("first", "second"), ("first_system", "second_system")]
    return [pair for pair in sides if set(pair) <= set(pairs.columns)]


def _repeats(pairs: pl.DataFrame, columns: PairColumns) -> list[str]:
    """A note on raters who judged a pair more than once."""
    sides = {side: columns.roles.get(side) or columns.roles[f"{side}_system"] for side in ("first", "second")}
    advice = [as_option(f"{side}_system", column) for side, column in sides.items()]
    presented = [columns.roles["prompt"]] if "prompt" in columns.roles else []
    advice.append(as_option("prompt", "+".join([*presented, "{column}"])))
    further, differ = further_answers(pairs, ("question", "set"))
    if not further:
        return []
    used = f"{further:,} of {pairs.height:,} answers are a rater's further answers to the same pair; all are used."
    return [used + apart_by(differ, " ".join(advice))]


def _understood(columns: PairColumns) -> str:
    parts = [f"{column} as {role.replace('_', ' ')}" for role, column in columns.roles.items()]
    return f"read {', '.join([*parts, *([f'{join_names(columns.votes)} as votes'] if columns.votes else [])])}"


def _plain_columns(table: SourceTable, columns: PairColumns) -> tuple[pl.DataFrame, list[str]]:
    """The rows without columns of lists, and a note on those."""
    table.refuse_nested(columns.taken)
    schema = table.rows.collect_schema()
    nested = [name for name, dtype in schema.items() if dtype.is_nested() and name not in columns.taken]
    frame = collected(table.rows.drop(nested), table.path)
    if not frame.height:
        raise InputError(f"{table.path} has no rows.", "Point to a table with one comparison per row.")
    if not nested:
        return frame, []
    listed = ", ".join(f"'{name}'" for name in nested[:6]) + (" …" if len(nested) > 6 else "")
    return frame, [f"Columns with lists, such as conversations, were left out: {listed}."]


def _pairs(sheet: NamedTable, columns: PairColumns, question: str | None) -> pl.DataFrame:
    """``rater, question, first, second``, the answer as it is, and what else is known."""
    frame, roles = sheet.frame, columns.roles
    extras = [name for name in frame.columns if name not in columns.taken]
    free = free_names(extras, "first", "second", "first_system", "second_system", "winner")
    out = frame.select(extras).rename(free).get_columns()
    texts = ["rater", "question", "trial", "set", "winner", "prompt", "intent", "first_system", "second_system"]
    out += [names_in(frame[roles[role]]).alias(role) for role in texts if role in roles]
    typed = {"at": sheet.moments, "position": sheet.whole_numbers, "repeat": sheet.whole_numbers}
    typed |= {"seconds": sheet.numbers, "value": frame.get_column}
    out += [read(roles[role]).alias(role) for role, read in typed.items() if role in roles]
    out += [frame[name].alias(f"\0votes{index}") for index, name in enumerate(columns.votes)]
    table = pl.DataFrame(out) if out else frame.select()
    question_id = question if question is not None and "question" not in roles else ONE_QUESTION
    constants = {"rater": pl.lit(None, pl.String), "question": pl.lit(question_id)}
    table = table.with_columns(word.alias(name) for name, word in constants.items() if name not in roles)
    if "first" in roles:
        first, second = (names_in(frame[roles[side]]).alias(side) for side in ("first", "second"))
        return table.with_columns(first, second)
    return table.with_columns(_stimuli_of_systems(table))


def _stimuli_of_systems(table: pl.DataFrame) -> list[pl.Expr]:
    """``first`` and ``second`` of a table that names systems only: what each made for the prompt, or the system itself."""
    if "prompt" not in table.columns:
        return [pl.col(f"{side}_system").alias(side) for side in ("first", "second")]
    prompt = pl.col("prompt")
    if (table["prompt"].str.len_chars() > LONGEST_ID).any():
        prompt = pl.format("prompt-{}", prompt.rank("dense"))
    return [pl.concat_str(prompt, f"{side}_system", separator="/").alias(side) for side in ("first", "second")]


def _answered(
    pairs: pl.DataFrame, columns: PairColumns, options: Mapping[str, str], where: str
) -> tuple[pl.DataFrame, Choice | Preference]:
    """The pairs with ``value``, that of the first, and the scale it is on."""
    flipped = _favours(options)
    if columns.votes:
        return _voted(pairs, columns.votes, where), Choice(type="choice", ties=True)
    if "winner" in columns.roles:
        value = _value_of_winners(pairs, columns.roles["winner"], options, where)
        value = 1.0 - value if flipped == "second" else value
        empty = pl.col("winner").is_null() | (pl.col("winner") == "")
        out = pairs.with_columns(value.alias("value"), empty.alias("\0empty"))
        bad = plain_word("winner").is_in(list(BOTH_BAD))
        if out.select(bad.any()).item():
            out = out.with_columns(pl.when(bad).then(pl.lit(BOTH_BAD_TEXT)).alias("answer"))
        return out, Choice(type="choice", ties=True)
    text = pl.col("value").cast(pl.String).str.strip_chars()
    empty = text.is_null() | text.is_in(["", "NA", "NaN", "nan", "null"])
    out = pairs.with_columns(number_expr("value"), empty.alias("\0empty"))
    scale = _scale(out, options, where)
    if isinstance(scale, Choice):
        value = 1.0 - pl.col("value") if flipped == "second" else pl.col("value")
    else:
        against = pl.when(pl.col("value") == 0).then(0.0).otherwise(-pl.col("value"))
        value = pl.col("value") if flipped == "first" else against
    return out.with_columns(value.alias("value")), scale


def _value_of_winners(pairs: pl.DataFrame, column: str, options: Mapping[str, str], where: str) -> pl.Expr:
    """The value of the first, by the names or words of winners; an error where they are numbers that nobody explained."""
    sides = list(reversed(_named_sides(pairs)))
    words = _words(pairs["winner"], options)
    value = chosen("winner", words, sides)
    if not words and _numbers_alone(pairs, value):
        codes = sorted(pairs["winner"].drop_nulls().unique().to_list())
        stated = " ".join(as_option(f"winner.{code}", "SIDE") for code in codes[:3] if code)
        raise InputError(
            f"{where}: '{column}' holds numbers, not the names of winners.",
            f"Say what each number means (first, second or tie): {stated}.",
        )
    return value


def _direction(columns: PairColumns, options: Mapping[str, str], scale: Choice | Preference) -> list[str]:
    """A note on which side numbers were taken to favour, where nobody said it."""
    if "value" not in columns.roles or "favours" in options or "scale" in options:
        return []
    if isinstance(scale, Choice):
        meaning, opposite = "1 is taken to mean that the first was chosen", "second"
    else:
        meaning, opposite = "Positive numbers are taken to favour the second", "first"
    return [f"{meaning}; if it is the {opposite}: {as_option('favours', opposite)}."]


def _favours(options: Mapping[str, str]) -> str | None:
    side = options.get("favours")
    if side not in {None, "first", "second"}:
        raise InputError(f"favours={side} is not a side.", suggestion(str(side), ["first", "second"], "Sides"))
    return side


def _numbers_alone(pairs: pl.DataFrame, value: pl.Expr) -> bool:
    """Whether every winner is a number and none of them names a side."""
    filled = pairs.filter(pl.col("winner").is_not_null() & (pl.col("winner") != ""))
    return filled.height > 0 and bool(
        filled.select(value.is_null().all() & number_expr("winner").is_not_null().all()).item()
    )


def _words(winners: pl.Series, options: Mapping[str, str]) -> dict[str, float]:
    """What the options say about words; 1, 2 and 0 stand for the first, the second and a tie."""
    stated = stated_words(options)
    distinct = set(winners.drop_nulls().unique().to_list())
    if not stated and "2" in distinct and distinct <= {"0", "1", "2"}:
        return {"1": 1.0, "2": 0.0, "0": 0.5}
    return stated


def _scale(pairs: pl.DataFrame, options: Mapping[str, str], where: str) -> Choice | Preference:
    stated: AnyScale | None = stated_scale(str(pairs["question"][0]), options)
    if isinstance(stated, Choice | Preference):
        return stated
    if stated is not None:
        raise InputError(f"{where}: a pair is not answered on this scale.", "Write scale=choice or scale=preference:3.")
    values = pairs["value"].drop_nulls()
    if values.is_in([0.0, 0.5, 1.0]).all():
        return Choice(type="choice", ties=True)
    steps = int(values.cast(pl.Float64).abs().to_numpy().max()) if values.len() else 1
    if steps > MOST_STEPS or not (values == values.floor()).all():
        raise InputError(
            f"{where}: the answers are neither choices (0, 0.5, 1) nor grades of up to {MOST_STEPS} steps.",
            f"Name the column of the answer with {as_option('value', 'COLUMN')} or {as_option('winner', 'COLUMN')},"
            " or state the scale.",
        )
    return preference(max(steps, USUAL_STEPS))


def _voted(pairs: pl.DataFrame, votes: Sequence[str], where: str) -> pl.DataFrame:
    """One row per vote, from counts; a row without any count stays as one without an answer."""
    sheet = NamedTable(pairs.rename({f"\0votes{index}": name for index, name in enumerate(votes)}), where)
    parts = []
    for name, value in zip(votes, (1.0, 0.0, 0.5), strict=False):
        rows = pairs.drop([f"\0votes{index}" for index in range(len(votes))])
        repeated = pl.int_range(pl.len()).repeat_by(sheet.vote_counts(name)).explode()
        parts.append(rows[rows.select(repeated).to_series().drop_nulls()].with_columns(value=pl.lit(value)))
    blank = pairs.filter(pl.all_horizontal(sheet.numbers(name).is_null() for name in votes))
    parts.append(blank.select(parts[0].columns[:-1]).with_columns(value=pl.lit(None, pl.Float64)))
    return pl.concat(parts).with_columns(pl.col("value").is_null().alias("\0empty"))


def _stimuli(pairs: pl.DataFrame, where: str) -> tuple[pl.DataFrame, list[str]]:
    """The stimuli with their systems, prompts and intents, and a note on prompts and intents that differ between rows."""
    about = [name for name in ("prompt", "intent") if name in pairs.columns]
    sides = []
    for side in ("first", "second"):
        system = f"{side}_system"
        system_columns = [pl.col(system).alias("system")] if system in pairs.columns else []
        sides.append(pairs.select(pl.col(side).alias("stimulus"), *system_columns, *about))
    facts = pl.concat(sides, how="diagonal").unique(maintain_order=True)
    if not facts["stimulus"].is_duplicated().any():
        return facts, []
    distinct = facts.group_by("stimulus").agg(pl.exclude("stimulus").drop_nulls().n_unique())
    if "system" in facts.columns and (distinct["system"] > 1).any():
        name = distinct.filter(pl.col("system") > 1)["stimulus"].sort()[0]
        raise InputError(
            f"{where}: stimulus '{name}' is by two systems.", "Give every stimulus an id of its own, or one system."
        )
    stimuli = facts.group_by("stimulus", maintain_order=True).agg(pl.exclude("stimulus").drop_nulls().first())
    notes = []
    for name in about:
        several = distinct.filter(pl.col(name) > 1)["stimulus"].to_list()
        if several:
            single = pl.when(~pl.col("stimulus").is_in(several)).then(name)
            stimuli = stimuli.with_columns(single.alias(name))
            notes.append(f"{len(several):,} stimuli come with more than one {name}; theirs was left empty.")
    return stimuli, notes


def _raters(frame: pl.DataFrame, columns: PairColumns) -> pl.DataFrame | None:
    if "rater" not in columns.roles or not columns.rater_columns:
        return None
    facts = frame.select(ids(frame[columns.roles["rater"]]).alias("rater"), *columns.rater_columns)
    return number_types(facts.drop_nulls("rater").unique("rater", keep="first", maintain_order=True), keep=["rater"])
