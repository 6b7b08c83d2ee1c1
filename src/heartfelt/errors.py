"""One error family: every failure a user can mend says what is wrong and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HeartfeltError(Exception):
    """Something a person can fix.

    ``problem`` names what is wrong and where; ``fix`` says what to do next. The command line prints
    exactly these two lines and leaves with ``exit_code``.
    """

    exit_code = 2

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}\n{fix}")
        self.problem = problem
        self.fix = fix

    def __reduce__(self) -> tuple[type[HeartfeltError], tuple[str, str]]:
        return type(self), (self.problem, self.fix)


class InputError(HeartfeltError):
    """A file, table or value that cannot be used as given."""


class StudyError(HeartfeltError):
    """A ``study.yaml`` that does not describe a study."""


class UnknownNameError(HeartfeltError):
    """A name that nothing is registered under."""


class MissingPartError(HeartfeltError):
    """An optional part of heartfelt that is not installed."""


class Interrupted(HeartfeltError):
    """Work that somebody stopped with Ctrl-C."""

    exit_code = 130

    def __init__(self, problem: str = "Stopped. What was complete is kept.", fix: str = "") -> None:
        super().__init__(problem, fix)


class DamagedError(HeartfeltError):
    """Stored data that does not match its own manifest."""


def require(valid: bool, problem: str, fix: str) -> None:
    """Raise an ``InputError`` unless ``valid``."""
    if not valid:
        raise InputError(problem, fix)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, or None when nothing is close."""
    choices = {str(k).casefold(): str(k) for k in known}
    result = difflib.get_close_matches(name.casefold(), choices, n=1, cutoff=0.6)
    return choices[result[0]] if result else None


def suggestion(name: str, known: Iterable[str], what: str = "Known names") -> str:
    """Phrase a fix for an unknown name: the nearest one if there is one, and all of them."""
    names = sorted({str(k) for k in known})
    listing = f"{what}: {', '.join(names) or 'none'}."
    close = nearest(name, names)
    return f"Did you mean '{close}'? {listing}" if close else listing
