"""Columns that are not published: those the researcher drops, unknown ones, and names that would collide."""

from __future__ import annotations

import polars as pl

from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.machine import machine_fact
from heartfelt.publishing.anonymity.roles import matching, unknown_columns
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release import ReleaseStep
from heartfelt.tables import CONTRACTS

_ABOUT_PEOPLE = ("ratings", "traces", "fields", "adjudications", "ledger")


def leave_out_columns(draft: Draft, options: PublishOptions) -> Draft:
    """Without columns that may not or need not be published."""
    required = {
        (contract.name, column.name) for contract in CONTRACTS for column in contract.columns if column.required
    }
    steps: list[ReleaseStep] = []
    tables: dict[str, pl.DataFrame] = {}
    draft = _without_questionnaires(draft)
    for table, frame in draft.tables.items():
        gone = {
            name: "Left out as asked."
            for name in matching(options.drop, frame.columns)
            if (table, name) not in required
        }
        if table == "ratings" and "device" in frame.columns:
            gone["device"] = "What is known of the person's machine is left out."
        if table in _ABOUT_PEOPLE:
            for name in unknown_columns(draft, table, options):
                if name not in gone and (fact := machine_fact(frame[name])) is not None:
                    gone[name] = f"What is known of the person's machine is left out ({fact})."
                elif name not in gone and not _about_stimuli(frame, name):
                    gone[name] = "Left out: it may say something about a person. Name it with --open to publish it."
        tables[table] = frame.drop(list(gone))
        steps += [
            ReleaseStep(kind="columns", table=table, column=name, about=about, rows=frame.height, lost=1.0)
            for name, about in gone.items()
        ]
    return distinct_names(draft.changed(*steps, **tables))


def _without_questionnaires(draft: Draft) -> Draft:
    """Without what raters answered between trials: a course of answers about oneself may say who somebody is."""
    answers = draft.tables["questionnaires"]
    if not answers.height:
        return draft
    about = "Answers to questionnaires between trials are left out: they are about the person, and not generalised."
    step = ReleaseStep(kind="columns", table="questionnaires", column=None, about=about, rows=answers.height, lost=1.0)
    return draft.changed(step, questionnaires=answers.clear())


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
    steps: list[ReleaseStep] = []
    tables: dict[str, pl.DataFrame] = {}
    for table, frame in draft.tables.items():
        used_names: set[str] = set()
        renamed: dict[str, str] = {}
        for name in frame.columns:
            new, number = name, 1
            while _folded(new) in used_names:
                number += 1
                new = f"{name}_{number}"
            used_names.add(_folded(new))
            if new != name:
                renamed[name] = new
                about = f"Renamed from '{name}': another column has the same name but for case or spaces."
                steps.append(
                    ReleaseStep(
                        kind="columns", table=table, column=new, about=about, rows=frame.height, settings={"was": name}
                    )
                )
        tables[table] = frame.rename(renamed)
    return draft.changed(*steps, **tables)


def _folded(name: str) -> str:
    return "".join(name.casefold().replace("_", " ").split())
