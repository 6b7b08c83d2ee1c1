"""What was collected as tables, one function per table. Columns are read by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import Connection, RowMapping

from heartfelt.collect.assign.model import Rater
from heartfelt.collect.session.progress.conditions import pending_between, pending_page
from heartfelt.collect.session.steps import page_before_trials
from heartfelt.study import Study
from heartfelt.study.parts.between import read_occurrence
from heartfelt.tables import MOMENT, QUESTIONNAIRES

_KINDS = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64, "boolean": pl.Boolean, "moment": pl.Float64}


def query(connection: Connection, columns: str, source: str) -> pl.DataFrame:
    """A table from the store: ``columns`` as in ``p.rater text, v.hash AS version text``, and the rest of the query."""
    pairs = [column.rpartition(" ")[::2] for column in columns.split(",")]
    result = connection.exec_driver_sql(f"SELECT {', '.join(name for name, _ in pairs)} {source}")
    names = [name.replace(".", " ").split()[-1] for name, _ in pairs]
    kinds = ", ".join(f"{name} {kind}" for name, (_, kind) in zip(names, pairs, strict=True))
    rows = [tuple(row) for row in result]
    return typed(pl.DataFrame(rows, schema=columns_of(kinds), orient="row"), kinds)


def columns_of(columns: str) -> dict[str, Any]:
    """Column types by name; moments are still seconds."""
    return {name: _KINDS[kind] for name, kind in (column.split() for column in columns.split(","))}


def typed(frame: pl.DataFrame, columns: str) -> pl.DataFrame:
    """The columns in the order given, with seconds since 1970 turned into moments."""
    pairs = (column.split() for column in columns.split(","))
    return frame.select(moment(name) if kind == "moment" else pl.col(name) for name, kind in pairs)


def moment(name: str) -> pl.Expr:
    """Seconds since 1970 as a moment."""
    return (pl.col(name) * 1e6).round().cast(pl.Int64).cast(MOMENT)


# --- progress of raters -----------------------------------------------------------------------------------------------


class Progress(NamedTuple):
    """How far a rater has come."""

    state: str
    """How the session ended, or: beginning, at work, away."""
    step: str | None
    trials: int
    """Trials answered, not counting practice."""
    of: int
    last_seen: float


def progress_of(rater: Rater, study: Study) -> Progress:
    """Where a rater is now."""
    state = rater.ended or ("at work" if rater.live else "away" if rater.instructed else "beginning")
    return Progress(state, _step(rater, study), rater.answered, rater.of, rater.last)


def _step(rater: Rater, study: Study) -> str:
    if rater.ended or rater.excluded:
        return "end"
    earlier = page_before_trials(study, rater)
    if earlier:
        return earlier
    idle = not rater.queue and not rater.plan
    if idle and rater.answered and study.after and _is_over(rater) and pending_page(study, rater, "after"):
        return "after"
    resting = idle and not rater.rested
    if (rater.queue or resting) and pending_between(study, rater, resting=resting):
        return "between"
    if not rater.queue:
        return "break" if rater.sessions else "trial"
    return "practice" if rater.queue[0].kind == "practice" else "trial"


def _is_over(rater: Rater) -> bool:
    """Whether no further session can be planned."""
    return rater.exhausted or rater.planned >= rater.target


def progress_in(connection: Connection) -> dict[int, Progress]:
    """Where every rater was at the moment the connection sees."""
    events = connection.exec_driver_sql(
        "SELECT rater, words FROM journal WHERE kind IN ('ended', 'resumed', 'revisited') ORDER BY seq"
    )
    ended: dict[int, str | None] = {row.rater: row.words for row in events}
    counts = connection.exec_driver_sql(
        "SELECT rater, count(*) AS trials FROM answers WHERE kind <> 'practice' GROUP BY rater"
    )
    answered: dict[int, int] = {row.rater: row.trials for row in counts}
    progress_rows = connection.exec_driver_sql(
        "SELECT rater, max(at) AS last_seen FROM journal WHERE rater IS NOT NULL"
        " AND kind NOT IN ('lapsed', 'excluded', 'restored') GROUP BY rater"
    ).all()
    out = {}
    for row in progress_rows:
        state = ended.get(row.rater) or ("under way" if row.rater in answered else "beginning")
        out[row.rater] = Progress(state, None, answered.get(row.rater, 0), 0, row.last_seen)
    return out


def standing(progress: Mapping[int, Progress], excluded: Mapping[int, str], rater: int, at: float) -> Progress:
    """How far a rater has come who arrived at that moment; that they are excluded goes before everything else."""
    current = progress.get(rater, Progress("beginning", None, 0, 0, at))
    return current._replace(state="excluded") if rater in excluded else current


def exclusions(connection: Connection) -> dict[int, str]:
    """Raters who are excluded now, with the reason."""
    out: dict[int, str] = {}
    for row in connection.exec_driver_sql("SELECT rater, excluded, reason FROM exclusions ORDER BY seq"):
        out.pop(row.rater, None)
        if row.excluded:
            out[row.rater] = row.reason or "no reason given"
    return out


def arms(connection: Connection) -> dict[int, str]:
    """The arm of every rater who is in one."""
    return {row.rater: row.arm for row in connection.exec_driver_sql("SELECT rater, arm FROM arms")}


def screen_outs(connection: Connection) -> dict[int, str]:
    """Raters whom a screener of the study screened out, with the screener."""
    rows = connection.exec_driver_sql("SELECT rater, screener FROM screen_outs")
    return {row.rater: row.screener for row in rows}


# --- tables -----------------------------------------------------------------------------------------------------------


def ratings(connection: Connection, quota: int | None, common: Sequence[str] = ()) -> pl.DataFrame:
    """Every answer to every question; ``counts`` says which fill an item's quota. What all get (``common``) has none."""
    frame = query(
        connection,
        "p.rater text, g.stimulus text, g.question text, g.value real, g.answer text, a.position integer,"
        "a.seconds real, a.at moment, g.repeat integer, a.trial integer, a.kind text, a.probe text, a.session integer,"
        "a.late boolean, a.plays integer, a.first_play real, a.focus_losses integer, a.heard real, a.heard_flag text,"
        "a.device text, a.comment text, v.hash AS study_version text, g.machine text, g.shown text, g.verdict text,"
        "g.first text, g.seconds AS field_seconds real, g.keystrokes integer, g.source text,"
        "a.rater AS rater_number integer",
        "FROM ratings g JOIN answers a ON a.trial = g.trial JOIN raters p ON p.number = a.rater"
        " JOIN versions v ON v.version = a.study_version ORDER BY a.at, a.trial",
    )
    number = pl.col("rater_number")
    out = [*exclusions(connection), *screen_outs(connection)]
    arm = number.replace_strict(arms(connection), default="", return_dtype=pl.String)
    frame = frame.with_columns(excluded=number.is_in(out), arm=arm)
    counts = candidate = (pl.col("kind") == "rating") & ~pl.col("excluded")
    if quota is not None:
        order = pl.struct(~candidate, "late", "at", "trial")
        fills = order.rank("ordinal").over("stimulus", "question", "arm") <= quota
        counts = candidate & (fills | pl.col("stimulus").is_in(list(common)))
    return frame.with_columns(counts=counts).drop("rater_number", "arm")


_RATERS = (
    "rater text, recruiter text, state text, step text, trials integer, of integer, excluded boolean, reason text,"
    "arrived moment, last_seen moment, language text, agreed boolean, headphones_correct integer,"
    "headphones_passed boolean, device text, study_version text"
)


def raters(connection: Connection, progress: Mapping[int, Progress], study: Study) -> pl.DataFrame:
    """Everyone who came, with their demographic answers and progress."""
    result = connection.exec_driver_sql(
        "SELECT p.number, p.rater, p.recruiter, p.language, p.device, p.at AS arrived, d.answers, c.agreed, c.ticked,"
        " c.document,"
        " h.correct AS headphones_correct, h.passed AS headphones_passed, v.hash AS study_version"
        " FROM raters p LEFT JOIN demographics d ON d.rater = p.number LEFT JOIN consents c ON c.rater = p.number"
        " LEFT JOIN headphones h ON h.rater = p.number LEFT JOIN versions v ON v.version = p.study_version"
        " ORDER BY p.number"
    )
    people = result.mappings().all()
    repeated = {block.id for block in study.between if block.repeated}
    excluded, questioned = exclusions(connection), _questioned(connection, repeated)
    assigned = {"arm": arms(connection), "screener": screen_outs(connection)}
    by_design = {name: column for name, column in assigned.items() if column}
    rows = []
    for row in people:
        number = row["number"]
        about = {f"about_{key}": _plain(value) for key, value in json.loads(row["answers"] or "{}").items()}
        about |= questioned.get(number, {}) | _consented(row["ticked"], row["document"])
        exclusion = {"excluded": number in excluded, "reason": excluded.get(number)}
        current = standing(progress, excluded, number, row["arrived"])._asdict()
        design = {name: column.get(number) for name, column in by_design.items()}
        rows.append(_person(row) | current | about | exclusion | design)
    fixed_columns = columns_of(_RATERS) | dict.fromkeys(by_design, pl.String)
    extra = list(dict.fromkeys(key for row in rows for key in row if key not in fixed_columns))
    frame = pl.DataFrame(rows, schema={**fixed_columns, **dict.fromkeys(extra, pl.String)})
    return typed(frame, _RATERS).with_columns(
        *(frame[name] for name in by_design), *(_numbers_if_all(frame[name]) for name in extra)
    )


def _numbers_if_all(column: pl.Series) -> pl.Series:
    """A column of texts as numbers, where every text is one."""
    numbers = column.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column


def _person(row: RowMapping) -> dict[str, object]:
    """What is stored about a rater as it is shown; databases differ in what they return for yes and no."""
    flags = {name: None if row[name] is None else bool(row[name]) for name in ("agreed", "headphones_passed")}
    hidden = {"number", "answers", "ticked", "document"}
    return {name: value for name, value in row.items() if name not in hidden} | flags


def _questioned(connection: Connection, repeated: Collection[str]) -> dict[int, dict[str, str]]:
    """Answers to questionnaires by rater, under ``before_``, ``after_`` or ``between_ID_`` and the question.

    Those to a questionnaire between trials that may come several times are not here: see :func:`questionnaires`.
    """
    out: dict[int, dict[str, str]] = {}
    for row in connection.exec_driver_sql(
        "SELECT rater, time, question, value, answer FROM questionnaires ORDER BY rater, time DESC, at, question"
    ):
        block = read_occurrence(row.time)
        if block is not None and block[0] in repeated:
            continue
        time = row.time if block is None else f"between_{block[0]}"
        answer = row.answer if row.answer is not None else f"{row.value:.12g}"
        out.setdefault(row.rater, {})[f"{time}_{row.question}"] = answer
    return out


def questionnaires(connection: Connection) -> pl.DataFrame | None:
    """Every answer to a questionnaire between trials: which one, after how many trials, the question, the answer."""
    table = query(
        connection,
        "p.rater text, q.time text, q.question text, q.value real, q.answer text, q.at moment",
        "FROM questionnaires q JOIN raters p ON p.number = q.rater WHERE q.time NOT IN ('before', 'after')"
        " ORDER BY q.rater, q.at, q.time, q.question",
    )
    if not table.height:
        return None
    blocks = [read_occurrence(time) or ("", 0) for time in table["time"].to_list()]
    names, trials = (list(column) for column in zip(*blocks, strict=True))
    columns = [pl.Series("questionnaire", names, pl.String), pl.Series("after_trials", trials, pl.Int64)]
    return table.with_columns(columns).select(QUESTIONNAIRES.names)


def _consented(ticked: str | None, document: str | None) -> dict[str, str]:
    """Which boxes of the consent were ticked, and the hash of the document that was shown, where there are such."""
    boxes = json.loads(ticked or "{}").items()
    shown = {} if document is None else {"consent_document": document}
    return {f"ticked_{box}": "yes" if yes else "no" for box, yes in boxes} | shown


def _plain(value: Any) -> str:
    return ";".join(str(part) for part in value) if isinstance(value, list) else str(value)


_TRIALS = (
    "trial text, kind text, status text, stimulus text, position integer, session integer, answers text, late boolean,"
    "seconds real, first_play real, plays integer, focus_losses integer, intervals text, changes text, heard real,"
    "heard_flag text, away real, members text, device text, comment text, probe text, repeat integer, leased_at moment,"
    "shown_at moment, answered_at moment, began moment"
)


def trials(connection: Connection, number: int, stimuli: Mapping[int, str]) -> pl.DataFrame:
    """Every trial of a rater with everything that was logged about it."""
    rows = _presentations(connection, number, stimuli)
    for answer in connection.exec_driver_sql(
        "SELECT trial, at AS answered_at, session, late, seconds, first_play, plays, focus_losses, intervals, changes,"
        f" heard, heard_flag, away, device, began, comment FROM answers WHERE rater = {int(number)}"
    ).mappings():
        logged = {name: value for name, value in answer.items() if name != "trial"}
        rows[answer["trial"]] |= logged | {"late": bool(answer["late"])}
    presented = _presented(connection, number)
    for trial, members in presented.items():
        rows[trial]["members"] = json.dumps(members, ensure_ascii=False)
    for trial, by_question in _answered(connection, number, presented.keys()).items():
        rows[trial]["answers"] = json.dumps(by_question, ensure_ascii=False)
    return typed(pl.DataFrame(list(rows.values()), schema=columns_of(_TRIALS)), _TRIALS)


def _presentations(connection: Connection, number: int, stimuli: Mapping[int, str]) -> dict[int, dict[str, object]]:
    """What the journal says of a rater's trials: what was reserved, whether it was shown, and what became of it."""
    rows: dict[int, dict[str, object]] = {}
    for event in connection.exec_driver_sql(
        "SELECT kind, at, trial, unit, number, words FROM journal"
        f" WHERE rater = {int(number)} AND trial IS NOT NULL ORDER BY seq"
    ):
        row = rows.setdefault(event.trial, {"trial": str(event.trial), "status": "held"})
        match event.kind:
            case "leased":
                about = json.loads(event.words or "{}")
                row |= {name: about.get(name, default) for name, default in _LEASE_DEFAULTS.items()}
                row |= {"stimulus": stimuli.get(event.unit), "leased_at": event.at}
            case "shown":
                row |= {"shown_at": event.at, "position": max(0, int(event.number or 0)), "status": "shown"}
            case "answered":
                row["status"] = "late" if event.number else "answered"
            case "returned":
                row["status"] = f"given back: {event.words}"
    return rows


def _presented(connection: Connection, number: int) -> dict[int, list[dict[str, object]]]:
    """The members of the sets that were presented to a rater, by trial."""
    presented: dict[int, list[dict[str, object]]] = {}
    for member in connection.exec_driver_sql(
        "SELECT trial, place, stimulus, role, kind, heard, intervals FROM members"
        f" WHERE rater = {int(number)} ORDER BY trial, place"
    ).mappings():
        shown = {name: value for name, value in member.items() if name != "trial"}
        shown["intervals"] = json.loads(shown["intervals"] or "[]")
        presented.setdefault(member["trial"], []).append(shown)
    return presented


def _answered(connection: Connection, number: int, sets: Collection[int]) -> dict[int, dict[str, object]]:
    """A rater's answers by trial and question, with the verdict on a draft; ``sets`` are the trials with sets."""
    answers: dict[int, dict[str, object]] = {}
    for rating in connection.exec_driver_sql(
        f"SELECT trial, question, value, answer, verdict FROM ratings WHERE rater = {int(number)} ORDER BY trial"
    ):
        # Of a set the number says more than the text: a place from 1, or a grade.
        in_words = rating.answer is not None and not (rating.trial in sets and rating.value is not None)
        answer = rating.answer if in_words else rating.value
        by_question = answers.setdefault(rating.trial, {})
        by_question[rating.question] = answer if rating.verdict is None else [answer, rating.verdict]
    return answers


_LEASE_DEFAULTS: Mapping[str, object] = {"kind": "rating", "probe": None, "repeat": 0}


_WAITING = "rater text, participant text, recruiter text, session integer, opens moment, closes moment, due boolean"


def waiting(
    connection: Connection, raters: Sequence[Rater], opening: Callable[[Rater], tuple[float, float | None]], now: float
) -> pl.DataFrame:
    """Raters whose next session is still to come or open, with the recruiter's id where there is one."""
    people = connection.exec_driver_sql("SELECT rater, participant, recruiter FROM participants")
    by_number = {row.rater: (row.participant, row.recruiter) for row in people}
    rows = []
    for rater in raters:
        opens, closes = opening(rater)
        if rater.ended != "later" or rater.excluded or (closes is not None and closes < now):
            continue
        participant, recruiter = by_number.get(rater.number, (None, "open"))
        rows.append(
            {
                "rater": rater.id,
                "participant": participant,
                "recruiter": recruiter,
                "session": rater.visit + 1,
                "opens": opens,
                "closes": closes,
                "due": opens <= now,
            }
        )
    frame = pl.DataFrame(rows, schema=columns_of(_WAITING))
    return typed(frame, _WAITING).sort("opens", "rater")


def flags(connection: Connection) -> pl.DataFrame:
    """Problems with stimuli that raters reported."""
    return query(
        connection,
        "f.at moment, p.rater text, f.trial integer, f.stimulus text, f.reason text, f.comment text,f.skipped boolean",
        "FROM flags f JOIN raters p ON p.number = f.rater ORDER BY f.seq",
    )


def problems(connection: Connection, missing: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Media that could not be shown: noticed when the study was opened (no rater), or by a rater."""
    reported = query(
        connection,
        "m.stimulus text, p.rater text, m.problem text, m.at moment",
        "FROM media_problems m JOIN raters p ON p.number = m.rater ORDER BY m.seq",
    )
    at_start = [{"stimulus": stimulus, "problem": problem} for stimulus, problem in missing]
    return pl.concat([pl.DataFrame(at_start, schema=reported.schema), reported])


def invitations(connection: Connection, hash_of: Callable[[str], str]) -> pl.DataFrame:
    """Every invitation, and the rater who came by it."""
    columns = "invitation text, at moment, note text"
    frame = query(connection, columns, "FROM invitations ORDER BY at, invitation")
    people = connection.exec_driver_sql("SELECT person, rater FROM raters WHERE recruiter = 'link'")
    by_person = {row.person: row.rater for row in people}
    names = [by_person.get(hash_of(invitation)) for invitation in frame["invitation"].to_list()]
    return frame.with_columns(rater=pl.Series(names, dtype=pl.String))
