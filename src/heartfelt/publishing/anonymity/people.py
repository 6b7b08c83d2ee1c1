"""Facts about raters, coarsened until nobody stands out, together with the days on which they took part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.generalise import Generalised, GeneralisedColumn, generalise
from heartfelt.publishing.anonymity.hierarchies import Hierarchy, Level, hierarchy
from heartfelt.publishing.anonymity.roles import rater_roles
from heartfelt.publishing.options import TIMES, PublishOptions
from heartfelt.publishing.release import Step
from heartfelt.serialization import dumps
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.wording import plural

WHEN = "(when)"
"""The name of the periods in which a rater took part, among the facts that are coarsened together."""
_EVERY = {"day": "1d", "week": "1w", "month": "1mo"}
_DATED = (("ratings", "rater"), ("fields", "verified_by"))
SETTINGS = ("k", "l")


def coarsen(draft: Draft, options: PublishOptions) -> Draft:
    """Generalise what is known of raters, and when they took part, to ``k`` and ``l``."""
    roles = rater_roles(draft, options)
    raters, steps = draft.tables["raters"], []
    dropped = [name for name, role in roles.items() if role in {"time", "machine", "wish"}]
    for name in dropped:
        about = {
            "time": "Moments at which a person came or went are left out.",
            "machine": "What is known of the person's machine is left out.",
            "wish": "What the person does not want to be shared is itself left out.",
        }[roles[name]]
        steps.append(Step("columns", "raters", name, about, raters.height, 1.0))
    raters = raters.drop(dropped)
    facts = [name for name in raters.columns if roles[name] in {"quasi-identifier", "typed"}]
    secret = [name for name in raters.columns if roles[name] == "sensitive"]
    if options.without_demographics:
        texts = [name for name in raters.columns if roles[name] == "text"]
        for name in (*facts, *secret, *texts):
            about = "Nothing is published of what is known of raters."
            steps.append(Step("demographics", "raters", name, about, raters.height, 1.0))
        raters, facts, secret = raters.drop(*facts, *secret, *texts), [], []
    elif (facts or secret) and raters.height < options.k:
        raise InputError(
            f"There are {plural(raters.height, 'rater')}, fewer than k = {options.k}: their demographics cannot be published.",
            "Publish without demographics (--without-demographics), or collect more ratings.",
        )
    raters, shared = _shared_values(raters, secret, options)
    secret = [name for name in secret if name in raters.columns]
    raters, secret, gone = _diverse(raters, secret, options)
    steps += [*shared, *gone]
    whens = _periods(draft, raters, options)
    columns = [hierarchy(raters[name], options.k, typed_freely=roles[name] == "typed") for name in facts]
    made = Generalised({}, 0, 0, True)
    if raters.height >= options.k and (columns or len(whens.levels) > 1):
        made = generalise([*columns, whens], [raters[name] for name in secret], options.k, options.l)
    for name in facts:
        column = made.columns[name]
        raters = (
            raters.with_columns(column.values)
            if column.values.null_count() < raters.height
            else raters.drop(name)
        )
        steps.append(_step("raters", name, column, raters.height, options))
    draft = draft.changed(*steps, raters=raters)
    return _dated(draft, whens, made.columns.get(WHEN), options)


def facts_of(draft: Draft, options: PublishOptions) -> tuple[list[str], list[str]]:
    """The published columns that a rater could be known by, and the sensitive ones."""
    roles = rater_roles(draft, options)
    facts = [name for name, role in roles.items() if role in {"quasi-identifier", "typed"}]
    return facts, [name for name, role in roles.items() if role == "sensitive"]


def _shared_values(
    raters: pl.DataFrame, secret: Sequence[str], options: PublishOptions
) -> tuple[pl.DataFrame, list[Step]]:
    """Sensitive columns, coarsened until every value is that of ``k`` raters: a value of one person would be a name."""
    steps: list[Step] = []
    for name in secret:
        made = generalise([hierarchy(raters[name], options.k)], [], options.k, 1).columns[name]
        if made.about == "as given" and not made.suppressed:
            continue
        gone = made.values.null_count() == raters.height
        raters = raters.drop(name) if gone else raters.with_columns(made.values)
        steps.append(_step("raters", name, made, raters.height, options))
    return raters, steps


def _diverse(
    raters: pl.DataFrame, secret: Sequence[str], options: PublishOptions
) -> tuple[pl.DataFrame, list[str], list[Step]]:
    """Without sensitive columns that have too few values for any group to be diverse."""
    poor = [name for name in secret if raters[name].n_unique() < options.l]
    steps = []
    for name in poor:
        about = f"Left out: the column has fewer than l = {options.l} values, so whoever took part would be known by it."
        steps.append(Step("demographics", "raters", name, about, raters.height, 1.0, _settings(options)))
    return raters.drop(poor), [name for name in secret if name not in poor], steps


def _settings(options: PublishOptions) -> dict[str, str]:
    return {name: str(getattr(options, name)) for name in SETTINGS}


def _step(table: str, name: str, column: GeneralisedColumn, rows: int, options: PublishOptions) -> Step:
    about = f"Published {column.about}."
    if column.values.null_count() == len(column.values):
        about = f"Left out: no level of detail is shared by k = {options.k} raters."
    elif column.suppressed:
        about = f"Published {column.about}; left out for {plural(column.suppressed, 'rater')} who would stand out."
    changed = column.suppressed if column.about == "as given" else rows
    return Step("demographics", table, name, about, changed, round(column.lost, 6), _settings(options))


# --- when -------------------------------------------------------------------------------------------------------------


def _periods(draft: Draft, raters: pl.DataFrame, options: PublishOptions) -> Hierarchy:
    """The periods in which every rater took part, as one text; by day, week, month, or not at all."""
    moments = [
        draft.tables[table].select(pl.col(person).alias("rater"), "at").drop_nulls()
        for table, person in _DATED
        if draft.having(table, person, "at") == (person, "at")
    ]
    nothing = Level("left out", pl.Series(WHEN, [None] * raters.height, pl.String))
    if not moments or not any(frame.height for frame in moments):
        return Hierarchy(WHEN, nothing.values, (nothing,))
    days = pl.concat(moments).with_columns(pl.col("at").dt.truncate("1d")).unique()
    finest = [name for name in TIMES[TIMES.index(options.times) :] if name != "none"]
    levels = [Level(f"by the {name}", _joined(days, raters, _EVERY[name])) for name in finest]
    return Hierarchy(WHEN, _joined(days, raters, "1d"), (*levels, nothing))


def _joined(days: pl.DataFrame, raters: pl.DataFrame, every: str) -> pl.Series:
    periods = days.select("rater", pl.col("at").dt.truncate(every).dt.date().cast(pl.String)).unique()
    texts = periods.sort("at").group_by("rater").agg(pl.col("at").str.join(" "))
    return raters.select("rater").join(texts, on="rater", how="left", maintain_order="left")["at"].alias(WHEN)


def _dated(
    draft: Draft, whens: Hierarchy, column: GeneralisedColumn | None, options: PublishOptions
) -> Draft:
    """Ratings and verified fields dated by the chosen period, and not at all where a person would stand out."""
    period = None
    if column is not None:
        period = next((name for name in _EVERY if column.about == f"by the {name}"), None)
    dated = period is not None and column is not None and column.values.null_count() < len(column.values)
    tables: dict[str, pl.DataFrame] = {}
    steps: list[Step] = []
    hidden: list[str] = []
    if dated and column is not None:
        known = whens.original.is_not_null() & column.values.is_null()
        hidden = draft.tables["raters"]["rater"].filter(known).to_list()
    for table, person in (*_DATED, ("adjudications", "by")):
        if draft.having(table, "at") and draft.tables[table].height:
            frame = draft.tables[table]
            if not dated or period is None:
                tables[table], about = frame.drop("at"), "When is left out."
            else:
                own = pl.col("at").dt.truncate(_EVERY[period])
                shown = own if table == "adjudications" else pl.when(~pl.col(person).is_in(hidden)).then(own)
                tables[table] = frame.with_columns(shown.alias("at"))
                about = f"Dated by the {period}" + (
                    f"; not at all for {plural(len(hidden), 'rater')} who would stand out." if hidden else "."
                )
            lost = None if column is None else round(column.lost, 6)
            steps.append(
                Step("times", table, "at", about, frame.height, lost if dated else 1.0, _settings(options))
            )
    if draft.having("fields", "drafted_at"):
        frame = tables.get("fields", draft.tables["fields"])
        tables["fields"] = frame.with_columns(pl.col("drafted_at").dt.truncate("1d"))
        steps.append(Step("times", "fields", "drafted_at", "Dated by the day.", frame.height))
    if draft.having("adjudications", "history"):
        frame = tables.get("adjudications", draft.tables["adjudications"])
        texts = [None if text is None else _undated(text) for text in frame["history"]]
        tables["adjudications"] = frame.with_columns(pl.Series("history", texts, pl.String))
        steps.append(
            Step("times", "adjudications", "history", "Earlier decisions are not dated.", frame.height)
        )
    return draft.changed(*steps, **tables)


def _undated(text: str) -> str:
    history = AdjudicationHistory.read(text)
    decisions = tuple(replace(each, at=0.0) for each in history.decisions)
    return dumps(replace(history, decisions=decisions), indent=None)


# --- durations, and unknown columns ----------------------------------------------------------------------------------

_DURATIONS: Mapping[str, tuple[str, ...]] = {
    "ratings": ("seconds", "first_play", "heard", "field_seconds"),
    "traces": ("away",),
    "fields": ("seconds",),
}


def round_durations(draft: Draft, step: float) -> Draft:
    """Durations rounded to ``step`` seconds, or left out where it is 0."""
    tables: dict[str, pl.DataFrame] = {}
    steps: list[Step] = []
    for table, names in _DURATIONS.items():
        for name in draft.having(table, *names):
            frame = tables.get(table, draft.tables[table])
            if not frame.height or not frame.schema[name].is_numeric():
                continue
            if step:
                digits = max(0, len(f"{step:.6f}".rstrip("0").partition(".")[2]))
                rounded = ((pl.col(name) / step).round() * step).round(digits)
                tables[table], about = frame.with_columns(rounded.alias(name)), f"Rounded to {step:g} s."
            else:
                tables[table], about = frame.drop(name), "Durations are left out."
            steps.append(Step("times", table, name, about, frame.height))
    return draft.changed(*steps, **tables)
