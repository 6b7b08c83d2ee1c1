"""Facts about raters, coarsened until nobody stands out, together with the days on which they took part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.generalise import Generalised, GeneralisedColumn, generalise
from heartfelt.publishing.anonymity.hierarchies import Hierarchy, Level, hierarchy
from heartfelt.publishing.anonymity.machine import machine_fact
from heartfelt.publishing.anonymity.roles import matching, rater_roles
from heartfelt.publishing.options import TIMES, PublishOptions
from heartfelt.publishing.release import ReleaseStep
from heartfelt.serialization import dumps
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
    raters = draft.tables["raters"]
    steps: list[ReleaseStep] = []
    dropped = [name for name, role in roles.items() if role in _LEFT_OUT]
    for name in dropped:
        about = _LEFT_OUT[roles[name]]
        if roles[name] == "machine":
            about = f"{about.rstrip('.')} ({machine_fact(raters[name]) or 'as collected'})."
        steps.append(
            ReleaseStep(kind="columns", table="raters", column=name, about=about, rows=raters.height, lost=1.0)
        )
    raters = raters.drop(dropped)
    facts = [name for name in raters.columns if roles[name] in {"quasi-identifier", "typed"}]
    secret = [name for name in raters.columns if roles[name] == "sensitive"]
    if options.without_demographics:
        texts = [name for name in raters.columns if roles[name] == "text"]
        for name in (*facts, *secret, *texts):
            about = "Nothing is published of what is known of raters."
            steps.append(
                ReleaseStep(kind="demographics", table="raters", column=name, about=about, rows=raters.height, lost=1.0)
            )
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
    choices = {f"about_{fact.id}": fact.choices for fact in draft.study.demographics}
    columns = [
        hierarchy(raters[name], options.k, typed_freely=roles[name] == "typed", choices=choices.get(name, ()))
        for name in facts
    ]
    generalised = Generalised({}, 0, 0, True)
    if raters.height >= options.k and (columns or len(whens.levels) > 1):
        generalised = generalise(
            [*columns, whens],
            [raters[name] for name in secret],
            options.k,
            options.l,
            weights=_weights([*facts, WHEN], options),
            earlier=None if earlier is None else _known_already(raters, earlier),
        )
    for name in facts:
        column = generalised.columns[name]
        raters = raters.with_columns(column.values) if column.values.null_count() < raters.height else raters.drop(name)
        steps.append(_step("raters", name, column, raters.height, options))
    draft = draft.changed(*steps, raters=raters)
    return _dated(draft, whens, generalised.columns.get(WHEN), options)


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


def _shared_values(
    raters: pl.DataFrame, secret: Sequence[str], options: PublishOptions
) -> tuple[pl.DataFrame, list[ReleaseStep]]:
    """Sensitive columns, coarsened until every value is that of ``k`` raters: a value of one person would be a name."""
    steps: list[ReleaseStep] = []
    for name in secret:
        generalised = generalise([hierarchy(raters[name], options.k)], [], options.k, 1).columns[name]
        if generalised.about == "as given" and not generalised.suppressed:
            continue
        gone = generalised.values.null_count() == raters.height
        raters = raters.drop(name) if gone else raters.with_columns(generalised.values)
        steps.append(_step("raters", name, generalised, raters.height, options))
    return raters, steps


def _diverse(
    raters: pl.DataFrame, secret: Sequence[str], options: PublishOptions
) -> tuple[pl.DataFrame, list[str], list[ReleaseStep]]:
    """Without sensitive columns that have too few values for any group to be diverse."""
    poor = [name for name in secret if raters[name].n_unique() < options.l]
    steps = []
    for name in poor:
        about = (
            f"Left out: the column has fewer than l = {options.l} values, so whoever took part would be known by it."
        )
        steps.append(
            ReleaseStep(
                kind="demographics",
                table="raters",
                column=name,
                about=about,
                rows=raters.height,
                lost=1.0,
                settings=_settings(options),
            )
        )
    return raters.drop(poor), [name for name in secret if name not in poor], steps


def _settings(options: PublishOptions) -> dict[str, str]:
    return {name: str(getattr(options, name)) for name in SETTINGS}


def _step(table: str, name: str, column: GeneralisedColumn, rows: int, options: PublishOptions) -> ReleaseStep:
    about = f"Published {column.about}."
    if column.values.null_count() == len(column.values):
        about = f"Left out: other columns would have lost more, for k = {options.k}."
    elif column.suppressed:
        about = f"Published {column.about}; left out for {plural(column.suppressed, 'rater')} who would stand out."
    if column.also_in is not None:
        other_column, share = column.also_in
        about += f" {percent(share)} of what it says is also said by {other_column if other_column != WHEN else 'the dates'}."
    changed = column.suppressed if column.about == "as given" else rows
    settings = {**_settings(options), "emptied": str(column.emptied), "weight": f"{column.weight:g}"}
    return ReleaseStep(
        kind="demographics",
        table=table,
        column=name,
        about=about,
        rows=changed,
        lost=round(column.lost, 6),
        settings=settings,
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
    period = None
    if column is not None:
        period = next((name for name in _EVERY if column.about == f"by the {name}"), None)
    dated = period is not None and column is not None and column.values.null_count() < len(column.values)
    tables: dict[str, pl.DataFrame] = {}
    steps: list[ReleaseStep] = []
    hidden: list[str] = []
    if dated and column is not None:
        lost_date = whens.original.is_not_null() & column.values.is_null()
        hidden = draft.tables["raters"]["rater"].filter(lost_date).to_list()
    for table, person in (*_DATED, ("adjudications", "by")):
        if draft.having(table, "at") and draft.tables[table].height:
            frame = draft.tables[table]
            if not dated or period is None:
                tables[table], about = frame.drop("at"), "When is left out."
            else:
                coarse_date = pl.col("at").dt.truncate(_EVERY[period])
                shown = (
                    coarse_date
                    if table == "adjudications"
                    else pl.when(~pl.col(person).is_in(hidden)).then(coarse_date)
                )
                tables[table] = frame.with_columns(shown.alias("at"))
                about = f"Dated by the {period}" + (
                    f"; not at all for {plural(len(hidden), 'rater')} who would stand out." if hidden else "."
                )
            lost = None if column is None else round(column.lost, 6)
            steps.append(
                ReleaseStep(
                    kind="times",
                    table=table,
                    column="at",
                    about=about,
                    rows=frame.height,
                    lost=lost if dated else 1.0,
                    settings=_settings(options),
                )
            )
    if draft.having("fields", "drafted_at"):
        frame = tables.get("fields", draft.tables["fields"])
        tables["fields"] = frame.with_columns(pl.col("drafted_at").dt.truncate("1d"))
        steps.append(
            ReleaseStep(kind="times", table="fields", column="drafted_at", about="Dated by the day.", rows=frame.height)
        )
    if draft.having("adjudications", "history"):
        frame = tables.get("adjudications", draft.tables["adjudications"])
        texts = [None if text is None else _undated(text) for text in frame["history"]]
        tables["adjudications"] = frame.with_columns(pl.Series("history", texts, pl.String))
        steps.append(
            ReleaseStep(
                kind="times",
                table="adjudications",
                column="history",
                about="Earlier decisions are not dated.",
                rows=frame.height,
            )
        )
    return draft.changed(*steps, **tables)


def _undated(text: str) -> str:
    history = AdjudicationHistory.read(text)
    decisions = tuple(replace(decision, at=0.0) for decision in history.decisions)
    return dumps(replace(history, decisions=decisions), indent=None)
