"""Columns that are not published: those the researcher drops, unknown ones, and names that would collide."""

from __future__ import annotations

import polars as pl

from heartfelt.publishing.anonymity.columns.machine import machine_fact
from heartfelt.publishing.anonymity.columns.roles import matching, unknown_columns
from heartfelt.publishing.anonymity.draft import REQUIRED, Draft
from heartfelt.publishing.options import PublishOptions

_ABOUT_PEOPLE = ("ratings", "traces", "fields", "adjudications", "ledger")


def leave_out_columns(draft: Draft, options: PublishOptions) -> Draft:
    """Without columns that may not or need not be published."""
    draft = _without_questionnaires(draft)
    for table in draft.tables:
        for name, about in _unpublished(draft, table, options).items():
            draft = draft.without("columns", table, name, about)
    return distinct_names(draft)


def _unpublished(draft: Draft, table: str, options: PublishOptions) -> dict[str, str]:
    """The columns of a table that are left out, each with the reason."""
    frame = draft.tables[table]
    required = {name for owner, name in REQUIRED if owner == table}
    gone = {name: "Left out as asked." for name in matching(options.drop, frame.columns) if name not in required}
    if table == "ratings" and "device" in frame.columns:
        gone["device"] = "What is known of the person's machine is left out."
    if table in _ABOUT_PEOPLE:
        for name in unknown_columns(draft, table, options):
            if name not in gone and (reason := _about_a_person(frame, name)) is not None:
                gone[name] = reason
    return gone


def _about_a_person(frame: pl.DataFrame, name: str) -> str | None:
    """Why a column that nobody described is left out; None where it says nothing about people."""
    if (fact := machine_fact(frame[name])) is not None:
        return f"What is known of the person's machine is left out ({fact})."
    if _about_stimuli(frame, name):
        return None
    return "Left out: it may say something about a person. Name it with --open to publish it."


def _without_questionnaires(draft: Draft) -> Draft:
    """Without what raters answered between trials: a course of answers about oneself may say who somebody is."""
    answers = draft.tables["questionnaires"]
    if not answers.height:
        return draft
    about = "Answers to questionnaires between trials are left out: they are about the person, and not generalised."
    return draft.after("columns", "questionnaires", None, about, answers.clear(), lost=1.0)


def _about_stimuli(frame: pl.DataFrame, name: str) -> bool:
    """Whether a column says the same of a stimulus and question whoever answered."""
    keys = [column for column in ("stimulus", "question", "field") if column in frame.columns]
    if "stimulus" not in keys or not frame.height:
        return False
    facts = frame.lazy().group_by(keys).agg(pl.n_unique(name).alias("values"), pl.len().alias("rows")).collect()
    several = facts.filter(pl.col("rows") > 1)
    return bool((facts["values"] == 1).all()) and 0 < facts.height <= 2 * several.height


def distinct_names(draft: Draft) -> Draft:
    """Columns whose names differ only in case or spaces get a number: many programs take them for the same."""
    for table, frame in draft.tables.items():
        used_names: set[str] = set()
        names: dict[str, str] = {}
        for name in frame.columns:
            new, number = name, 1
            while _folded(new) in used_names:
                number += 1
                new = f"{name}_{number}"
            used_names.add(_folded(new))
            names[name] = new
            if new != name:
                about = f"Renamed from '{name}': another column has the same name but for case or spaces."
                draft = draft.after("columns", table, new, about, settings={"was": name})
        draft = draft.changed(**{table: frame.rename(names)})
    return draft


def _folded(name: str) -> str:
    return "".join(name.casefold().replace("_", " ").split())
