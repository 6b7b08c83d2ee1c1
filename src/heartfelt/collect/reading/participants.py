"""Everybody who came with a recruiter's id, with what it takes to decide about paying them. For the researcher alone."""

from __future__ import annotations

import json

import polars as pl
from sqlalchemy import Connection

from heartfelt.collect.messages.commands import AdmissionSettings
from heartfelt.collect.reading.tables import (
    arms,
    columns_of,
    exclusions,
    progress_in,
    query,
    screen_outs,
    standing,
    typed,
)
from heartfelt.collect.session.progress.endings import code_of
from heartfelt.collect.session.progress.sessions import session_code
from heartfelt.study import Study

_PARTICIPANTS = (
    "participant text, recruiter text, rater text, session text, assignment text, recruiter_study text, ended text,"
    "screener text, arm text, code text, trials integer, heard real, impossible integer, minutes real,"
    "arrived moment, last_seen moment"
)
_LONGEST_PAUSE = 1800.0
"""Seconds without any sign of a rater from which they were away: the time does not count."""


def participants(connection: Connection, settings: AdmissionSettings, study: Study) -> pl.DataFrame:
    """The recruiter's ids of raters: how far each came, how it ended, and how they listened.

    ``code`` is what the rater was given to hand in, also if they were excluded afterwards; ``heard`` the mean share of the
    clips that was heard, and ``impossible`` the number of trials with impossible listening, both without practice;
    ``minutes`` the time from the first to the last sign of the rater, without pauses of half an hour or more.
    """
    excluded, progress = exclusions(connection), progress_in(connection)
    heard, minutes = _heard(connection), _minutes(connection)
    assigned, screened, visits = arms(connection), screen_outs(connection), _visits(connection)
    rows = []
    for row in connection.exec_driver_sql(
        "SELECT p.rater AS number, r.rater, p.at, p.recruiter, p.participant, p.facts FROM participants p"
        " JOIN raters r ON r.number = p.rater ORDER BY p.rater"
    ):
        facts = json.loads(row.facts)
        current = standing(progress, excluded, row.number, row.at)
        ending = progress[row.number].state if row.number in progress else ""
        share, impossible = heard.get(row.number, (None, 0))
        rows.append(
            {
                "participant": row.participant,
                "recruiter": row.recruiter,
                "rater": row.rater,
                "session": facts.get("session"),
                "assignment": facts.get("assignment"),
                "recruiter_study": facts.get("study") or facts.get("hit"),
                "ended": current.state,
                "screener": screened.get(row.number),
                "arm": assigned.get(row.number),
                "code": session_code(study, settings, visits.get(row.number, 1))
                if ending == "later"
                else code_of(settings, ending, screened.get(row.number)),
                "trials": current.trials,
                "heard": share,
                "impossible": impossible,
                "minutes": minutes.get(row.number, 0.0),
                "arrived": row.at,
                "last_seen": current.last_seen,
            }
        )
    return typed(pl.DataFrame(rows, schema=columns_of(_PARTICIPANTS)), _PARTICIPANTS)


def _visits(connection: Connection) -> dict[int, int]:
    """The session that each rater who came back is in."""
    rows = connection.exec_driver_sql(
        "SELECT rater, max(number) AS visit FROM journal WHERE kind = 'revisited' GROUP BY rater"
    )
    return {row.rater: int(row.visit) for row in rows}


def _heard(connection: Connection) -> dict[int, tuple[float | None, int]]:
    """By rater: the mean share heard, and the trials with impossible listening."""
    rows = connection.exec_driver_sql(
        "SELECT rater, avg(heard) AS share, sum(CASE WHEN heard_flag = 'impossible' THEN 1 ELSE 0 END) AS impossible"
        " FROM answers WHERE kind <> 'practice' GROUP BY rater"
    )
    return {row.rater: (None if row.share is None else round(float(row.share), 3), int(row.impossible)) for row in rows}


def _minutes(connection: Connection) -> dict[int, float]:
    """The time each rater spent, in minutes."""
    signs = query(
        connection,
        "rater integer, at real",
        "FROM journal WHERE rater IS NOT NULL AND kind NOT IN ('lapsed', 'excluded', 'restored') ORDER BY seq",
    )
    passed = pl.col("at").diff()
    spent = passed.filter(passed.is_between(0, _LONGEST_PAUSE, closed="left")).sum() / 60
    table = signs.group_by("rater").agg(spent.round(1).alias("minutes"))
    return dict(table.iter_rows())
