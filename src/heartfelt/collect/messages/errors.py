"""The errors of a collection: each names the problem and the fix."""

from __future__ import annotations

from pathlib import Path

from heartfelt.collect.messages.commands import Ending, SessionEnd
from heartfelt.errors import DamagedError, HeartfeltError, InputError


class UnknownRater(HeartfeltError):
    """A rater the collection does not know, or an invitation that was never made."""


class TrialNotFound(HeartfeltError):
    """A trial that belongs to another rater, or that has not been shown."""


class TrialClosed(HeartfeltError):
    """A trial that accepts no answers, because the rater gave it back."""


class InvalidAnswer(InputError):
    """An answer that its question does not allow.

    ``questions`` are the ids of the questions concerned, and ``detail`` is the problem without them, for callers that
    call questions by other names.
    """

    def __init__(self, problem: str, fix: str, questions: tuple[str, ...] = (), detail: str = "") -> None:
        super().__init__(problem, fix)
        self.questions = questions
        self.detail = detail or problem


class MissingAnswer(InvalidAnswer):
    """A required question without an answer."""


class StartedElsewhere(HeartfeltError):
    """A participant id that is in use, from a browser that cannot prove to be that rater's."""


class UnknownAdjudicator(HeartfeltError):
    """A senior rater the collection does not know, or whose link was revoked."""


class DecidedElsewhere(HeartfeltError):
    """An item that another senior rater decided in the meantime."""


class PageAnswered(HeartfeltError):
    """Answers to a page that has other answers already, from another tab."""


def page_answered() -> PageAnswered:
    """The refusal of a second tab's answers to a page."""
    return PageAnswered(
        "You answered this page in another tab. Those answers count, and these were not saved.",
        "Please use one tab only.",
    )


class MediaChanged(HeartfeltError):
    """A media file that is not the one that was rated."""


class StudyClosed(HeartfeltError):
    """The study admits no new raters now. ``end`` is what they are shown."""

    ending: Ending = "closed"

    def __init__(self, problem: str, fix: str, end: SessionEnd | None = None) -> None:
        super().__init__(problem, fix)
        self.end = end or SessionEnd(ending=self.ending)


class StudyFull(StudyClosed):
    """The study has all the raters or all the ratings it needs."""

    ending: Ending = "full"


class StudyBusy(StudyClosed):
    """Every place is taken by a rater at work; one may become free in a moment."""

    ending: Ending = "wait"


class StoreUnavailable(HeartfeltError):
    """The database cannot be reached, is locked or cannot grow. Nothing was stored; the command may be sent again."""


def store_unavailable(error: object) -> StoreUnavailable:
    """The error for a database that does not respond as it should."""
    text = str(getattr(error, "orig", None) or error).strip().splitlines()
    return StoreUnavailable(
        f"The database cannot store anything now: {text[0] if text else type(error).__name__}.",
        "Nothing was stored. Try again in a moment; if it keeps failing, check the database and the free disk space.",
    )


class StoreDamaged(DamagedError):
    """The file that holds the ratings is damaged. Nothing more is stored until somebody repairs it."""


def store_damaged(path: Path, details: str) -> StoreDamaged:
    """The error for a broken SQLite file: which one, and how to save its contents."""
    return StoreDamaged(
        f"The file {path} with the collected ratings is damaged ({details}); nothing more is stored in it.",
        f"Stop the server and copy {path.name} with its -wal and -shm files to a safe place. Then restore your last"
        f" backup, or recover what can be read: sqlite3 {path.name} .recover | sqlite3 recovered.sqlite, check the result"
        " with 'PRAGMA integrity_check', and replace the damaged file with it.",
    )
