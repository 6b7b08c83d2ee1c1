"""Sets in plain tables: a row per trial with a column for each member, or a row per member with a column of trials.

The first kind is read by :func:`read_members`: best and worst (``best``, ``worst``), ranks (``ranks``), or members listed
best first. The second kind are ordinary ratings with ``trial`` and, where they are known, ``set``, ``place`` and ``role``;
:func:`checked_trials` leaves out trials that cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.formats.ratings.described import build, stated_scale
from heartfelt.formats.ratings.set_rows import (
    ROW,
    free_names,
    numbered_again,
    numbered_extras,
    occurrence,
    reference_notes,
    table_sets,
    usable,
    without_repeats,
)
from heartfelt.formats.tables.columns import NamedTable, ids, need, number_expr
from heartfelt.formats.tables.delimited import collected
from heartfelt.formats.tables.side_tables import roles_beside, with_listed
from heartfelt.formats.tables.source_table import SourceTable
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study.parts.sets import Sets, SetType
from heartfelt.study.scales.scale import AnyScale
from heartfelt.study.scales.set_scale import BestWorst, Choice, Grade, Preference, Ranking, SetScale

TRIAL_OPTIONS: Mapping[str, str] = {
    "trial": "column of the trial, where stimuli were judged together",
    "set": "column of the stimuli that were presented together",
    "place": "column of the place of a stimulus in its trial, from 1",
    "role": "column of the role: member, hidden-reference, anchor, or x in an ABX trial",
    "type": "what was done with a set, where the scale does not say: pair, ab, abx, reference, mushra, ranking",
    "hidden_reference": "the system, or else the stimulus, that is the hidden reference",
    "low_anchors": "the systems, or else the stimuli, that are anchors in their sets, with commas",
}
"""Options of a long table with a row per stimulus of a trial."""
MEMBER_OPTIONS: Mapping[str, str] = {
    "members": "columns of the members of a set, with commas; listed best first unless best or ranks are named",
    "best": "column of the best of the members",
    "worst": "column of the worst of the members",
    "ranks": "columns of the members' ranks, with commas, 1 for the best",
}
"""Options of a long table with a row per trial and a column for each member."""
USUAL_TYPE: Mapping[type[SetScale], SetType] = {
    Choice: "pair",
    Preference: "pair",
    Grade: "mushra",
    Ranking: "ranking",
    BestWorst: "best-worst",
}
TYPES: tuple[SetType, ...] = get_args(SetType)
ONE_QUESTION = "preference"
ALONE = "the trial has one stimulus only"


def set_type(scale: AnyScale, options: Mapping[str, str], where: str) -> SetType:
    """The type of sets that the options state, or the usual one of the scale."""
    named = options.get("type")
    if named is None:
        usual = next((kind for scale_class, kind in USUAL_TYPE.items() if isinstance(scale, scale_class)), None)
        if usual is None:
            raise InputError(
                f"{where}: the scale does not say what was done with the stimuli of a trial.",
                "State the scale (scale=choice, preference:3, grade:0-100, rank or best-worst), or type=reference.",
            )
        return usual
    for set_kind in TYPES:
        if set_kind == named:
            return set_kind
    raise InputError(f"No type of sets is called '{named}'.", suggestion(named, TYPES, "Types"))


def trial_sets(kind: SetType, options: Mapping[str, str]) -> Sets:
    """The sets of a table, with the systems that options name as reference and anchors."""
    anchors = [part.strip() for part in options.get("low_anchors", "").split(",") if part.strip()]
    return table_sets(kind, reference=options.get("hidden_reference"), anchors=anchors if kind == "mushra" else ())


def with_roles(table: SourceTable, system: str | None, stimulus: str) -> pl.LazyFrame:
    """The rows with a column ``role`` after the options that name the reference and the anchors."""
    name = pl.col(system or stimulus).cast(pl.String).str.strip_chars()
    anchors = table.names_in("low_anchors")
    reference = table.options.get("hidden_reference")
    names = table.rows.select(name.unique()).collect().to_series().to_list()
    for wanted in (*anchors, *([reference] if reference else [])):
        if wanted not in names:
            raise InputError(
                f"{table.where}: nothing is called '{wanted}'.", suggestion(wanted, names[:200], "There are")
            )
    role = pl.when(name == reference).then(pl.lit("hidden-reference")) if reference else pl.lit(None, pl.String)
    anchor = pl.when(name.is_in(anchors)).then(pl.lit("anchor"))
    return table.rows.with_columns(pl.coalesce(role, anchor, pl.lit("member")).alias("role"))


def checked_trials(
    ratings: pl.DataFrame, scales: Mapping[str, AnyScale], kind: SetType, where: str, options: Mapping[str, str]
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The ratings of trials that can be used, a ledger of the others, and notes."""
    notes: list[str] = []
    trial = ("rater", "trial", "question")
    rows = _as_trials(ratings, scales, kind)
    faults: dict[str, pl.Expr] = {"the trial has no id": pl.col("trial").is_null()}
    for name, scale in scales.items():
        of_question = pl.col("question") == name
        faults |= {reason: of_question & bad for reason, bad in _contradictions(scale, kind, trial).items()}
    faults["no answer"] = pl.col("value").is_null()
    repeated = pl.struct(*trial, "stimulus", "value", *(["repeat"] if "repeat" in rows.columns else []))
    faults = {"the same row is there more than once": ~repeated.is_first_distinct(), **faults}
    named = {"rater": "rater", "stimulus": "stimulus", "question": "question"}
    good, ledger = usable(rows, faults, where, named)
    if "place" not in good.columns:
        order_known = options.get("order") == "known"
        position = occurrence(*trial) + 1 if order_known else pl.lit(None, pl.Int64)
        good = good.with_columns(position.alias("place"))
        if kind in {"pair", "ab"} and not order_known:
            notes.append(
                "No column says where a stimulus was presented, so no order is assumed. Name one with"
                f" {as_option('place', 'COLUMN')}, or say that the rows are in that order: {as_option('order', 'known')}."
            )
    if kind == "mushra":
        notes += reference_notes(good)
    return good.drop(ROW), ledger, notes


def _as_trials(ratings: pl.DataFrame, scales: Mapping[str, AnyScale], kind: SetType) -> pl.DataFrame:
    """The ratings with ``set``, ``trial`` and ``role``; of best and worst, members that are neither count 0."""
    rows = ratings if "set" in ratings.columns else ratings.with_columns(pl.col("trial").alias("set"))
    if "repeat" in rows.columns:
        rows = rows.with_columns(numbered_again("trial").alias("trial"))
    if "role" not in rows.columns:
        rows = rows.with_columns(pl.lit("x" if kind == "abx" else "member").alias("role"))
    extremes = [name for name, scale in scales.items() if isinstance(scale, BestWorst)]
    value = pl.when(pl.col("question").is_in(extremes)).then(pl.col("value").fill_null(0)).otherwise("value")
    return rows.with_columns(value.alias("value")) if extremes else rows


def with_ties(scales: Mapping[str, AnyScale], ratings: pl.DataFrame) -> dict[str, AnyScale]:
    """The scales, where a choice allows ties if there are some."""
    tied = set(ratings.filter(pl.col("value") == 0.5)["question"])
    return {
        name: scale.model_copy(update={"ties": name in tied}) if isinstance(scale, Choice) else scale
        for name, scale in scales.items()
    }


def _contradictions(scale: AnyScale, kind: SetType, trial: Sequence[str]) -> dict[str, pl.Expr]:
    """What makes a trial useless, with how to see it."""
    if kind in {"abx", "reference"} or not isinstance(scale, SetScale):
        return {}
    value, size = pl.col("value"), pl.len().over(trial)
    out = {ALONE: size < 2}
    if isinstance(scale, Choice | Preference):
        expected_sum = 1.0 if isinstance(scale, Choice) else 0.0
        out["a comparison of two has another number of stimuli"] = size != 2
        out["the two values of the trial contradict each other"] = value.sum().over(trial) != expected_sum
    if isinstance(scale, BestWorst):
        out["the trial has no single best and worst"] = _no_single_ends(trial)
    return out


def _no_single_ends(trial: Sequence[str]) -> pl.Expr:
    """Whether a trial has no best, no worst, or several."""
    return pl.any_horizontal((pl.col("value") == end).sum().over(trial) != 1 for end in (1, -1))


def read_members(format: str, table: SourceTable, source: Path, progress: Progress | None) -> Snapshot:
    """The snapshot of a table with a row per trial and a column for each member."""
    options, where = table.options, table.where
    members, ranks = table.names_in("members"), table.names_in("ranks")
    need(table.columns, [*members, *ranks, *(options[end] for end in ("best", "worst") if end in options)], where)
    if len(members) < 2 or (ranks and len(ranks) != len(members)):
        raise InputError(
            f"{where}: a set needs two members or more, and as many ranks.", "Write members=a,b,c ranks=x,y,z."
        )
    if ("best" in options) != ("worst" in options):
        raise InputError(f"{where}: best and worst belong together.", "Name both columns, or neither.")
    sheet = NamedTable(collected(table.rows, table.path), where, position=table.position)
    question = options.get("question", ONE_QUESTION)
    scale = stated_scale(question, options) or (
        BestWorst(type="best-worst") if "best" in options else Ranking(type="rank")
    )
    rows = _tall(sheet, table, members, ranks).with_columns(pl.lit(question).alias("question"))
    trial = (ROW,)
    stimulus, value = pl.col("stimulus"), pl.col("value")
    faults = {
        "the set is empty": pl.len().over(trial) == 0,
        ALONE: pl.len().over(trial) < 2,
        "a stimulus is in the set twice": stimulus.n_unique().over(trial) < pl.len().over(trial),
    }
    if "best" in options:
        faults["best and worst are not two different members of the set"] = _no_single_ends(trial)
    else:
        faults["a member has no rank"] = value.is_null().any().over(trial)
    good, ledger = usable(rows, faults, where, {"rater": "rater", "stimulus": "stimulus"})
    good = _with_ids(numbered_extras(good))
    kind = set_type(scale, options, where)
    roles_beside(table)
    return build(
        format,
        table,
        source,
        progress,
        stimuli=with_listed(good.select("stimulus").unique(maintain_order=True), table),
        scales={question: scale},
        sets=trial_sets(kind, options),
        ratings=good.drop(ROW),
        ledger=ledger,
    )


def _tall(sheet: NamedTable, table: SourceTable, members: Sequence[str], ranks: Sequence[str]) -> pl.DataFrame:
    """A row per member: ``rater, stimulus, place, value``, the number of the source row, and what else is known."""
    frame, options = sheet.frame, table.options
    ends = [options[end] for end in ("best", "worst") if end in options]
    base = _rows_of_sets(frame, table, [*members, *ranks, *ends])
    answers = [ids(frame[name]) for name in ends]
    parts = []
    for position, name in enumerate(members, 1):
        stimulus = ids(frame[name])
        if ends:
            # The answer is the member itself, its column or its place.
            hits = [(answer == stimulus) | (answer == name) | (answer == str(position)) for answer in answers]
            value = hits[0].cast(pl.Float64).fill_null(0) - hits[1].cast(pl.Float64).fill_null(0)
        elif ranks:
            value = frame.select(number_expr(ranks[position - 1])).to_series()
        else:
            value = pl.Series([float(position)] * frame.height)
        parts.append(
            base.with_columns(
                stimulus.alias("stimulus"),
                value.alias("value"),
                pl.lit(position, pl.Int64).alias("place"),
                pl.lit("member").alias("role"),
            )
        )
    tall = pl.concat(parts).sort(ROW, "place").filter(pl.col("stimulus").is_not_null() & (pl.col("stimulus") != ""))
    return tall if ends or ranks else tall.with_columns(pl.lit(None, pl.Int64).alias("place"))


def _rows_of_sets(frame: pl.DataFrame, table: SourceTable, used_columns: Sequence[str]) -> pl.DataFrame:
    """The number of each source row, who judged the set, its id and trial where columns name them, and the other columns."""
    rater = None if table.options.get("rater") == "none" else table.pick_optional("rater")
    named = {role: table.options[role] for role in ("trial", "set") if role in table.options}
    reserved = {rater, *used_columns, *named.values()}
    extras = [name for name in frame.columns if name not in reserved and not frame.schema[name].is_nested()]
    raters = ids(frame[rater]) if rater is not None else pl.Series([None] * frame.height, dtype=pl.String)
    facts = [
        pl.int_range(1, frame.height + 1, eager=True).alias(ROW),
        raters.alias("rater"),
        *(ids(frame[name]).alias(role) for role, name in named.items()),
    ]
    return pl.DataFrame([*facts, *frame.select(extras).rename(free_names(extras)).get_columns()])


def _with_ids(rows: pl.DataFrame) -> pl.DataFrame:
    """``set`` (the members in alphabetical order) and ``trial``, where the table has none."""
    if "set" not in rows.columns:
        listed = pl.col("stimulus").sort().str.join("|").over(ROW)
        rows = rows.with_columns(listed.alias("set"))
    if "trial" in rows.columns:
        return rows
    trials = rows.select(ROW, "rater", "set").unique(ROW, keep="first", maintain_order=True)
    trials = trials.with_columns(occurrence("rater", "set").alias("repeat"))
    number = pl.col(ROW).cast(pl.String)
    trials = trials.with_columns(
        pl.when(pl.col("rater").is_null()).then(number).otherwise(numbered_again("set")).alias("trial")
    )
    return without_repeats(rows.join(trials.select(ROW, "trial", "repeat"), on=ROW, maintain_order="left"))
