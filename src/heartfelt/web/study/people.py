"""Raters as the dashboard shows them: where they are, what speaks for carelessness, every trial, and what they change."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from heartfelt.collect import Collection
from heartfelt.collect.errors import UnknownRater
from heartfelt.web.study.effect import effect
from heartfelt.web.study.figures import Board

_TRIAL = (
    "trial", "position", "kind", "status", "stimulus", "seconds", "first_play", "plays", "focus_losses", "heard",
    "heard_flag", "comment",
    "device",
)  # fmt: skip


def ranked(collection: Collection, board: Board) -> list[dict[str, Any]]:
    """Everybody who came, most evidence of carelessness first; those who rated nothing come last."""
    scores = {row["rater"]: row for row in board.ranking.iter_rows(named=True)}
    people = [
        _rater(row, scores.get(row["rater"]), board) for row in collection.raters().iter_rows(named=True)
    ]
    return sorted(
        people, key=lambda one: (one["rank"] is None, one["rank"] or 0, -one["trials"], one["rater"])
    )


def one(collection: Collection, board: Board, rater: str) -> dict[str, Any]:
    """One rater."""
    for person in ranked(collection, board):
        if person["rater"] == rater:
            return person
    raise UnknownRater(f"There is no rater '{rater[:80]}'.", "See the list of raters for their ids.")


def _rater(row: dict[str, Any], score: dict[str, Any] | None, board: Board) -> dict[str, Any]:
    return {
        "rater": row["rater"],
        "rank": score["rank"] if score else None,
        "score": score["score"] if score else None,
        "flagged_by": list(score["flagged_by"]) if score else [],
        "reasons": board.flagged.get(row["rater"], []),
        "state": row["state"],
        "trials": row["trials"] or 0,
        "recruiter": row["recruiter"],
        "language": row["language"],
        "arrived": row["arrived"],
        "seen": row["last_seen"],
        "excluded": row["excluded"],
        "reason": row["reason"],
    }


def trials(collection: Collection, rater: str) -> list[dict[str, Any]]:
    """Every trial of a rater, in the order they were shown."""
    media = collection.media_ids()
    rows = collection.trials(rater).sort("position", "leased_at", nulls_last=True).iter_rows(named=True)
    return [
        {name: row[name] for name in _TRIAL}
        | {
            "media": media.get(row["stimulus"]),
            "answers": _answers(row["answers"]),
            "late": bool(row["late"]),
            "at": row["answered_at"] or row["shown_at"] or row["leased_at"],
        }
        for row in rows
    ]


def _answers(text: str | None) -> dict[str, float | str | None]:
    """Answers by question; an answer to a machine's value comes with what the rater made of that."""
    given = json.loads(text) if text else {}
    return {name: f"{v[0]} ({v[1]})" if isinstance(v, list) else v for name, v in given.items()}


def effect_of(collection: Collection, rater: str) -> dict[str, Any]:
    """What excluding the rater would do; for one who is excluded, what restoring would."""
    people = collection.raters()
    mine = people.filter(pl.col("rater") == rater)
    if not mine.height:
        raise UnknownRater(f"There is no rater '{rater[:80]}'.", "See the list of raters for their ids.")
    out = bool(mine["excluded"][0])
    everything = collection.snapshot()
    gone = set(people.filter("excluded")["rater"].to_list())
    after = gone - {rater} if out else gone | {rater}
    sides = (everything.ratings.filter(~pl.col("rater").is_in(list(names))) for names in (gone, after))
    return {"rater": rater, "excluded": out, **effect(everything.study, everything.stimuli, *sides)}
