"""Why a collection says no: every refusal names the problem and the fix."""

from __future__ import annotations

from heartfelt.collect.commands import Ending, TheEnd
from heartfelt.errors import HeartfeltError, InputError


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
