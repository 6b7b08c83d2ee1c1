"""How far a rater has come: from the state in memory, or from the store as it was at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from heartfelt.collect.assign.rater import Rater
from heartfelt.study import Study
from heartfelt.study.probe import HeadphoneProbe

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Progress(NamedTuple):
    """Where a rater is."""

    state: str
    """How it ended, or: beginning, at work, away."""
    step: str | None
    trials: int
    """Trials answered, practice aside."""
    of: int
    last_seen: float


def progress_of(rater: Rater, study: Study) -> Progress:
    """Where a rater is now."""
    state = rater.ended or ("at work" if rater.live else "away" if rater.instructed else "beginning")
    return Progress(state, _step(rater, study), rater.answered, rater.of, rater.last)


def _step(rater: Rater, study: Study) -> str:
    if rater.ended or rater.excluded:
        return "end"
    if study.consent is not None and rater.agreed is None:
        return "consent"
    if study.demographics and not rater.told:
        return "demographics"
    if not rater.heard and any(isinstance(probe, HeadphoneProbe) for probe in study.probes):
        return "headphones"
    if not rater.instructed:
        return "instructions"
    if rater.queue:
        return "practice" if rater.queue[0].kind == "practice" else "trial"
    return "break" if rater.sessions else "trial"


def progress_in(connection: Connection) -> dict[int, Progress]:
    """Where every rater was at the moment the connection sees."""
    rows = connection.exec_driver_sql(
        "SELECT rater, words FROM journal WHERE kind IN ('ended', 'resumed') ORDER BY seq"
    )
    ended: dict[int, str | None] = {row[0]: row[1] for row in rows}
    rows = connection.exec_driver_sql(
        "SELECT rater, count(*) FROM answers WHERE kind <> 'practice' GROUP BY rater"
    )
    answered: dict[int, int] = {row[0]: row[1] for row in rows}
    seen = connection.exec_driver_sql(
        "SELECT rater, max(at) FROM journal WHERE rater IS NOT NULL"
        " AND kind NOT IN ('lapsed', 'excluded', 'restored') GROUP BY rater"
    ).all()
    return {
        rater: Progress(
            ended.get(rater) or ("under way" if rater in answered else "beginning"),
            None,
            answered.get(rater, 0),
            0,
            last,
        )
        for rater, last in seen
    }
