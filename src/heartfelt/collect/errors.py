"""Why a collection says no: every refusal names the problem and the fix."""

from __future__ import annotations

from pathlib import Path

from heartfelt.collect.commands import Ending, TheEnd
from heartfelt.errors import DamagedError, HeartfeltError, InputError


class UnknownRater(HeartfeltError):
    """Somebody the collection has never seen, or an invitation nobody made."""


class NotYourTrial(HeartfeltError):
    """A trial that is not this rater's, or that they have not been shown."""


class TrialOver(HeartfeltError):
    """A trial that takes no more answers, because the rater gave it back."""


class OffScale(InputError):
    """An answer that its question does not allow. The question is named.

    ``questions`` are the ids of those at fault and ``detail`` is the problem without them, for whoever has other names
    for questions.
    """

    def __init__(self, problem: str, fix: str, questions: tuple[str, ...] = (), detail: str = "") -> None:
        super().__init__(problem, fix)
        self.questions = questions
        self.detail = detail or problem


class Unanswered(OffScale):
    """A question that has to be answered and was not."""


class StartedElsewhere(HeartfeltError):
    """Somebody brings the participant id of a rater, but nothing that shows they are that rater."""


class StudyClosed(HeartfeltError):
    """The study takes no new raters now: it is closed, or full. ``end`` is what they are shown."""

    ending: Ending = "closed"

    def __init__(self, problem: str, fix: str, end: TheEnd | None = None) -> None:
        super().__init__(problem, fix)
        self.end = end or TheEnd(self.ending)


class StudyFull(StudyClosed):
    """The study has all the raters or all the ratings it wants."""

    ending: Ending = "full"


class StudyBusy(StudyClosed):
    """Every place is held by somebody who is at work; one may become free in a moment."""

    ending: Ending = "wait"


class StoreAway(HeartfeltError):
    """The database cannot be reached, is locked or cannot grow. Nothing was stored; the same may be sent again."""


def store_away(why: object) -> StoreAway:
    """The error for a database that does not do its work now."""
    text = str(getattr(why, "orig", None) or why).strip().splitlines()
    return StoreAway(
        f"The database cannot store anything now: {text[0] if text else type(why).__name__}.",
        "Nothing was stored. Try again in a moment; if it goes on, check the database and the space left.",
    )


class StoreDamaged(DamagedError):
    """The file that holds the ratings is damaged. Nothing more is stored until a person has looked after it."""


def damaged(path: Path, words: str) -> StoreDamaged:
    """The error for a SQLite file that is broken: which one, and how to save what is in it."""
    return StoreDamaged(
        f"The file {path} with the collected ratings is damaged ({words}); nothing more is stored in it.",
        f"Stop the server and copy {path.name} with its -wal and -shm files to a safe place. Then restore your last"
        f" backup, or save what can be read: sqlite3 {path.name} .recover | sqlite3 recovered.sqlite, check the result"
        " with 'PRAGMA integrity_check', and put it in the place of the damaged file.",
    )
