"""What was collected as tables, one function a table. Every one reads over the connection it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from heartfelt.collect.reading.progress import Progress
from heartfelt.tables import MOMENT

if TYPE_CHECKING:
    from sqlalchemy import Connection

TEXT, WHOLE, REAL, YES = pl.String, pl.Int64, pl.Float64, pl.Boolean

_RATINGS = """
SELECT p.rater, g.stimulus, g.question, g.value, g.answer, a.position, a.seconds, a.at, g.repeat,
       a.trial, a.kind, a.probe, a.session, a.late, a.plays, a.first_play, a.focus_losses, a.heard, a.heard_flag,
       a.device, a.comment,
       v.hash, g.machine, g.shown, g.verdict, a.rater
FROM ratings g JOIN answers a ON a.trial = g.trial JOIN raters p ON p.number = a.rater
     JOIN versions v ON v.version = a.study_version
ORDER BY a.at, a.trial
"""
RATING_COLUMNS: dict[str, Any] = {
    "rater": TEXT,
    "stimulus": TEXT,
    "question": TEXT,
    "value": REAL,
    "answer": TEXT,
    "position": WHOLE,
    "seconds": REAL,
    "at": REAL,
    "repeat": WHOLE,
    "trial": WHOLE,
    "kind": TEXT,
    "probe": TEXT,
    "session": WHOLE,
    "late": YES,
    "plays": WHOLE,
    "first_play": REAL,
    "focus_losses": WHOLE,
    "heard": REAL,
    "heard_flag": TEXT,
    "device": TEXT,
    "comment": TEXT,
    "study_version": TEXT,
    "machine": TEXT,
    "shown": TEXT,
    "verdict": TEXT,
    "_number": WHOLE,
}


def table(connection: Connection, sql: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of a query; a column ``at`` becomes a moment."""
    rows = connection.exec_driver_sql(sql).all()
    frame = pl.DataFrame([tuple(row) for row in rows], schema=dict(columns), orient="row")
    return frame.with_columns(moment(name) for name in ("at", "arrived", "last_seen") if name in columns)


def moment(name: str) -> pl.Expr:
    """Seconds since 1970 as a moment."""
    return (
        (pl.col(name) * 1e6)
        .round()
        .cast(pl.Int64)
        .cast(pl.Datetime("us"))
        .dt.replace_time_zone("UTC")
        .cast(MOMENT)
    )


def excluded(connection: Connection) -> dict[int, str]:
    """Raters who are left out now, with the reason."""
    out: dict[int, str] = {}
    rows = connection.exec_driver_sql("SELECT rater, excluded, reason FROM exclusions ORDER BY seq").all()
    for rater, left_out, reason in rows:
        if left_out:
            out[rater] = reason or "no reason given"
        else:
            out.pop(rater, None)
    return out


def ratings(connection: Connection, quota: int | None) -> pl.DataFrame:
    """Every answer to every question; ``counts`` says which fill an item's quota."""
    frame = table(connection, _RATINGS, RATING_COLUMNS)
    out = list(excluded(connection))
    frame = frame.with_columns(excluded=pl.col("_number").is_in(out)).drop("_number")
    candidate = (pl.col("kind") == "rating") & ~pl.col("excluded")
    if quota is None:
        return frame.with_columns(counts=candidate)
    order = pl.struct(~candidate, "late", "at", "trial")
    rank = order.rank("ordinal").over("stimulus", "question")
    return frame.with_columns(counts=candidate & (rank <= quota))


def raters(connection: Connection, progress: Mapping[int, Progress]) -> pl.DataFrame:
    """Everyone who came, with what they said of themselves and where they are."""
    rows = connection.exec_driver_sql(
        "SELECT p.number, p.rater, p.recruiter, p.language, p.device, p.at, d.answers, c.agreed, v.hash"
        " FROM raters p LEFT JOIN demographics d ON d.rater = p.number LEFT JOIN consents c ON c.rater = p.number"
        " LEFT JOIN versions v ON v.version = p.study_version"
        " ORDER BY p.number"
    ).all()
    checks = {
        rater: (correct, bool(passed))
        for rater, correct, passed in connection.exec_driver_sql(
            "SELECT rater, correct, passed FROM headphones"
        ).all()
    }
    out = excluded(connection)
    told: list[dict[str, Any]] = []
    for number, name, recruiter, language, device, at, answers, agreed, version in rows:
        here = progress.get(number, Progress("beginning", None, 0, 0, at))
        about = {f"about_{key}": _plain(value) for key, value in json.loads(answers or "{}").items()}
        heard = checks.get(number, (None, None))
        told.append(
            {
                "rater": name,
                "recruiter": recruiter,
                "state": "excluded" if number in out else here.state,
                "step": here.step,
                "trials": here.trials,
                "of": here.of,
                "excluded": number in out,
                "reason": out.get(number),
                "arrived": at,
                "last_seen": here.last_seen,
                "language": language,
                "agreed": None if agreed is None else bool(agreed),
                "headphones_correct": heard[0],
                "headphones_passed": heard[1],
                "device": device,
                "study_version": version,
                **about,
            }
        )
    extra = dict.fromkeys(key for row in told for key in row if key not in _RATERS)
    frame = pl.DataFrame(told, schema={**_RATERS, **dict.fromkeys(extra, TEXT)})
    numbers = [
        name
        for name in extra
        if frame[name].cast(REAL, strict=False).null_count() == frame[name].null_count()
    ]
    return frame.with_columns(
        moment("arrived"), moment("last_seen"), *(pl.col(n).cast(REAL) for n in numbers)
    )


_RATERS: dict[str, Any] = {
    "rater": TEXT,
    "recruiter": TEXT,
    "state": TEXT,
    "step": TEXT,
    "trials": WHOLE,
    "of": WHOLE,
    "excluded": YES,
    "reason": TEXT,
    "arrived": REAL,
    "last_seen": REAL,
    "language": TEXT,
    "agreed": YES,
    "headphones_correct": WHOLE,
    "headphones_passed": YES,
    "device": TEXT,
    "study_version": TEXT,
}


def _plain(value: Any) -> str:
    return ";".join(str(part) for part in value) if isinstance(value, list) else str(value)


def trials(connection: Connection, number: int, units: Mapping[int, tuple[str, str]]) -> pl.DataFrame:
    """Every trial of a rater with everything that was logged of it."""
    facts = connection.exec_driver_sql(
        "SELECT kind, at, trial, unit, number, words FROM journal"
        f" WHERE rater = {int(number)} AND trial IS NOT NULL ORDER BY seq"
    ).all()
    found: dict[int, dict[str, Any]] = {}
    for kind, at, trial, unit, value, words in facts:
        row = found.setdefault(trial, {"trial": str(trial), "status": "held"})
        if kind == "leased":
            about = json.loads(words or "{}")
            row["stimulus"] = units.get(unit, (None, ""))[0] if unit is not None else None
            row.update(
                kind=about.get("kind", "rating"), probe=about.get("probe"), repeat=about.get("repeat", 0)
            )
            row["leased_at"] = at
        elif kind == "shown":
            row.update(shown_at=at, position=max(0, int(value or 0)), status="shown")
        elif kind == "answered":
            row["status"] = "late" if value else "answered"
        elif kind == "returned":
            row["status"] = f"given back: {words}"
    logged = connection.exec_driver_sql(
        "SELECT trial, at, session, late, seconds, first_play, plays, focus_losses, intervals, changes, heard,"
        f" heard_flag, device, began, comment FROM answers WHERE rater = {int(number)}"
    ).all()
    for trial, at, *rest in logged:
        names = ("session", "late", "seconds", "first_play", "plays", "focus_losses", "intervals", "changes",
                 "heard", "heard_flag")  # fmt: skip
        found[trial].update(
            dict(zip((*names, "device", "began", "comment"), rest, strict=True)), answered_at=at
        )
        found[trial]["late"] = bool(found[trial]["late"])
    given = connection.exec_driver_sql(
        f"SELECT trial, question, value, answer, verdict FROM ratings WHERE rater = {int(number)} ORDER BY trial"
    ).all()
    said: dict[int, dict[str, Any]] = {}
    for trial, question, value, answer, verdict in given:
        shown: Any = answer if answer is not None else value
        said.setdefault(trial, {})[question] = shown if verdict is None else [shown, verdict]
    for trial, answers in said.items():
        found[trial]["answers"] = json.dumps(answers, ensure_ascii=False)
    frame = pl.DataFrame(list(found.values()), schema=_TRIALS)
    return frame.with_columns(moment(name) for name in ("leased_at", "shown_at", "answered_at", "began"))


_TRIALS: dict[str, Any] = {
    "trial": TEXT,
    "kind": TEXT,
    "status": TEXT,
    "stimulus": TEXT,
    "position": WHOLE,
    "session": WHOLE,
    "answers": TEXT,
    "late": YES,
    "seconds": REAL,
    "first_play": REAL,
    "plays": WHOLE,
    "focus_losses": WHOLE,
    "intervals": TEXT,
    "changes": TEXT,
    "heard": REAL,
    "heard_flag": TEXT,
    "device": TEXT,
    "comment": TEXT,
    "probe": TEXT,
    "repeat": WHOLE,
    "leased_at": REAL,
    "shown_at": REAL,
    "answered_at": REAL,
    "began": REAL,
}


def participants(connection: Connection, progress: Mapping[int, Progress]) -> pl.DataFrame:
    """The recruiter's ids of raters, with how far each came and whether they were left out."""
    out = excluded(connection)
    rows = []
    for number, rater, at, recruiter, participant, facts in connection.exec_driver_sql(
        "SELECT p.rater, r.rater, p.at, p.recruiter, p.participant, p.facts FROM participants p"
        " JOIN raters r ON r.number = p.rater ORDER BY p.rater"
    ):
        said = json.loads(facts)
        here = progress.get(number, Progress("beginning", None, 0, 0, at))
        ended = "excluded" if number in out else here.state
        more = (said.get("session"), said.get("assignment"), said.get("study") or said.get("hit"))
        rows.append((participant, recruiter, rater, *more, ended, here.trials, at, here.last_seen))
    return pl.DataFrame(rows, schema=_PARTICIPANTS, orient="row").with_columns(
        moment("arrived"), moment("last_seen")
    )


_PARTICIPANTS: dict[str, Any] = {
    **dict.fromkeys(("participant", "recruiter", "rater", "session", "assignment", "recruiter_study"), TEXT),
    "ended": TEXT,
    "trials": WHOLE,
    "arrived": REAL,
    "last_seen": REAL,
}


def flags(connection: Connection) -> pl.DataFrame:
    """What raters found wrong with stimuli."""
    return table(
        connection,
        "SELECT f.at, p.rater, f.trial, f.stimulus, f.reason, f.comment, f.skipped FROM flags f"
        " JOIN raters p ON p.number = f.rater ORDER BY f.seq",
        {
            "at": REAL,
            "rater": TEXT,
            "trial": WHOLE,
            "stimulus": TEXT,
            "reason": TEXT,
            "comment": TEXT,
            "skipped": YES,
        },
    )


def problems(connection: Connection, missing: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Media that could not be shown: found when the study was opened (no rater), or met by a rater."""
    met = table(
        connection,
        "SELECT m.stimulus, p.rater, m.problem, m.at FROM media_problems m JOIN raters p ON p.number = m.rater"
        " ORDER BY m.seq",
        {"stimulus": TEXT, "rater": TEXT, "problem": TEXT, "at": REAL},
    )
    first = pl.DataFrame(
        [(stimulus, None, problem, None) for stimulus, problem in missing], schema=met.schema, orient="row"
    )
    return pl.concat([first, met])


def invitations(connection: Connection, came: Mapping[str, str]) -> pl.DataFrame:
    """Every invitation; ``came`` names the rater who came by it."""
    frame = table(
        connection,
        "SELECT invitation, at, note FROM invitations ORDER BY at, invitation",
        {"invitation": TEXT, "at": REAL, "note": TEXT},
    )
    names = [came.get(one) for one in frame["invitation"].to_list()]
    return frame.with_columns(rater=pl.Series(names, dtype=TEXT))
