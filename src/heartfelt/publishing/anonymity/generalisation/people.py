"""Facts about raters, coarsened until nobody stands out, together with the days on which they took part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.columns.machine import machine_fact
from heartfelt.publishing.anonymity.columns.roles import Role, matching, rater_roles
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.generalisation.generalise import Generalised, GeneralisedColumn, generalise
from heartfelt.publishing.anonymity.generalisation.hierarchies import Hierarchy, Level, hierarchy
from heartfelt.publishing.options import TIMES, PublishOptions
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.wording import percent, plural

WHEN = "(when)"
"""The name of the periods in which a rater took part, among the facts that are coarsened together."""
_EVERY = {"day": "1d", "week": "1w", "month": "1mo"}
_DATED = (("ratings", "rater"), ("fields", "verified_by"))
SETTINGS = ("k", "l")
_LEFT_OUT = {
    "time": "Moments at which a person came or went are left out.",
    "duration": "How long a session took is left out: recruiters show it beside a person's id. Name it with --open to publish it.",
    "machine": "What is known of the person's machine is left out.",
    "wish": "What the person does not want to be shared is itself left out.",
}


def coarsen(draft: Draft, options: PublishOptions, earlier: pl.DataFrame | None = None) -> Draft:
    """Generalise what is known of raters, and when they took part, to ``k`` and ``l``.

    ``earlier`` has what earlier releases say of each ``rater``: groups are those of raters who share that too.
    """
    roles = rater_roles(draft, options)
    draft = _without_session_facts(draft, roles)
    facts, secret = _with_role(draft, roles, "quasi-identifier", "typed"), _with_role(draft, roles, "sensitive")
    if options.without_demographics:
        for name in (*facts, *secret, *_with_role(draft, roles, "text")):
            draft = draft.without("demographics", "raters", name, "Nothing is published of what is known of raters.")
        facts = []
    elif (facts or secret) and draft.tables["raters"].height < options.k:
        raise InputError(
            f"There are {plural(draft.tables['raters'].height, 'rater')}, fewer than k = {options.k}: their demographics"
            " cannot be published.",
            "Publish without demographics (--without-demographics), or collect more ratings.",
        )
    draft = _diverse(_shared_values(draft, roles, options), roles, options)
    raters = draft.tables["raters"]
    whens = _periods(draft, raters, options)
    choices = {f"about_{fact.id}": fact.choices for fact in draft.study.demographics}
    columns = [
        hierarchy(raters[name], options.k, typed_freely=roles[name] == "typed", choices=choices.get(name, ()))
        for name in facts
    ]
    generalised = Generalised({}, 0, 0, True)
    if raters.height >= options.k and (columns or len(whens.levels) > 1):
        generalised = generalise(
            [*columns, whens],
            [raters[name] for name in _with_role(draft, roles, "sensitive")],
            options.k,
            options.l,
            weights=_weights([*facts, WHEN], options),
            earlier=None if earlier is None else _known_already(raters, earlier),
        )
    for name in facts:
        draft = _generalised(draft, name, generalised.columns[name], options)
    return _dated(draft, whens, generalised.columns.get(WHEN), options)


def _with_role(draft: Draft, roles: dict[str, Role], *wanted: Role) -> list[str]:
    """The columns of the raters that are still there and have one of these roles."""
    return [name for name in draft.tables["raters"].columns if roles[name] in wanted]


def _without_session_facts(draft: Draft, roles: dict[str, Role]) -> Draft:
    """Without when a person came, how long they took, and with what machine."""
    raters = draft.tables["raters"]
    for name, role in roles.items():
        if role in _LEFT_OUT:
            about = _LEFT_OUT[role]
            if role == "machine":
                about = f"{about.rstrip('.')} ({machine_fact(raters[name]) or 'as collected'})."
            draft = draft.without("columns", "raters", name, about)
    return draft


def _weights(names: Sequence[str], options: PublishOptions) -> dict[str, float]:
    """How much every column matters; that of dates goes by the name of their column, ``at``."""
    return {
        name: weight
        for pattern, weight in options.weights.items()
        for name in names
        if matching([pattern], ["at" if name == WHEN else name])
    }


def _known_already(raters: pl.DataFrame, earlier: pl.DataFrame) -> pl.Series:
    joined = raters.select("rater").join(earlier, on="rater", how="left", maintain_order="left")
    return joined.to_series(1)


def facts_of(draft: Draft, options: PublishOptions) -> tuple[list[str], list[str]]:
    """The published columns that a rater could be known by, and the sensitive ones."""
    roles = rater_roles(draft, options)
    facts = [name for name, role in roles.items() if role in {"quasi-identifier", "typed"}]
    return facts, [name for name, role in roles.items() if role == "sensitive"]


def _shared_values(draft: Draft, roles: dict[str, Role], options: PublishOptions) -> Draft:
    """Sensitive columns, coarsened until every value is that of ``k`` raters: a value of one person would be a name."""
    for name in _with_role(draft, roles, "sensitive"):
        levels = hierarchy(draft.tables["raters"][name], options.k)
        column = generalise([levels], [], options.k, 1).columns[name]
        if column.about != "as given" or column.suppressed:
            draft = _generalised(draft, name, column, options)
    return draft


def _diverse(draft: Draft, roles: dict[str, Role], options: PublishOptions) -> Draft:
    """Without sensitive columns that have too few values for any group to be diverse."""
    about = f"Left out: the column has fewer than l = {options.l} values, so whoever took part would be known by it."
    for name in _with_role(draft, roles, "sensitive"):
        raters = draft.tables["raters"]
        if raters[name].n_unique() < options.l:
            left_out = raters.drop(name)
            draft = draft.after("demographics", "raters", name, about, left_out, lost=1.0, settings=_settings(options))
    return draft


def _settings(options: PublishOptions) -> dict[str, str]:
    return {name: str(getattr(options, name)) for name in SETTINGS}


def _generalised(draft: Draft, name: str, column: GeneralisedColumn, options: PublishOptions) -> Draft:
    """With a column as it was generalised; without it where nothing of it is left."""
    raters = draft.tables["raters"]
    emptied = column.values.null_count() == raters.height
    about = f"Published {column.about}."
    if emptied:
        about = f"Left out: other columns would have lost more, for k = {options.k}."
    elif column.suppressed:
        about = f"Published {column.about}; left out for {plural(column.suppressed, 'rater')} who would stand out."
    if column.also_in is not None:
        other_column, share = column.also_in
        about += f" {percent(share)} of what it says is also said by {'the dates' if other_column == WHEN else other_column}."
    return draft.after(
        "demographics",
        "raters",
        name,
        about,
        raters.drop(name) if emptied else raters.with_columns(column.values),
        rows=column.suppressed if column.about == "as given" else raters.height,
        lost=round(column.lost, 6),
        settings={**_settings(options), "emptied": str(column.emptied), "weight": f"{column.weight:g}"},
    )


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


def _dated(draft: Draft, whens: Hierarchy, column: GeneralisedColumn | None, options: PublishOptions) -> Draft:
    """Ratings and verified fields dated by the chosen period, and not at all where a person would stand out."""
    settings = _settings(options)
    period = _period(column)
    hidden: list[str] = []
    if column is not None and period is not None:
        hidden = (
            draft.tables["raters"]["rater"].filter(whens.original.is_not_null() & column.values.is_null()).to_list()
        )
    exceptions = f"; not at all for {plural(len(hidden), 'rater')} who would stand out" if hidden else ""
    for table, person in (*_DATED, ("adjudications", "by")):
        frame = draft.tables[table]
        if not draft.having(table, "at") or not frame.height:
            continue
        if column is None or period is None:
            left_out = frame.drop("at")
            draft = draft.after("times", table, "at", "When is left out.", left_out, lost=1.0, settings=settings)
            continue
        dates = pl.col("at").dt.truncate(_EVERY[period])
        shown = dates if table == "adjudications" else pl.when(~pl.col(person).is_in(hidden)).then(dates)
        about, lost = f"Dated by the {period}{exceptions}.", round(column.lost, 6)
        draft = draft.after("times", table, "at", about, frame.with_columns(at=shown), lost=lost, settings=settings)
    if draft.having("fields", "drafted_at"):
        by_day = draft.with_values("fields", drafted_at=pl.col("drafted_at").dt.truncate("1d"))
        draft = draft.after("times", "fields", "drafted_at", "Dated by the day.", by_day)
    if draft.having("adjudications", "history"):
        about = "Earlier decisions are not dated."
        draft = draft.after("times", "adjudications", "history", about, draft.with_histories(_undated))
    return draft


def _period(column: GeneralisedColumn | None) -> str | None:
    """The period by which answers are dated; None where they are not."""
    if column is None or column.values.null_count() == len(column.values):
        return None
    return next((name for name in _EVERY if column.about == f"by the {name}"), None)


def _undated(history: AdjudicationHistory) -> AdjudicationHistory:
    return replace(history, decisions=tuple(replace(decision, at=0.0) for decision in history.decisions))
