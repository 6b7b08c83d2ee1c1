"""One error family: every failure a user can mend says what is wrong and what to do about it."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
_NEEDS_QUOTES = re.compile(r"[\s;|&<>*?()$\"'`\\]")


class HeartfeltError(Exception):
    """Something a person can fix.

    ``problem`` names what is wrong and where; ``fix`` says what to do next. The command line prints
    exactly these two lines and leaves with ``exit_code``.
    """

    exit_code = 2
    details: tuple[str, ...] = ()
    """Lines between the two, such as what speaks for a guess."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}\n{fix}")
        self.problem = problem
        self.fix = fix

    def __reduce__(self) -> tuple[type[HeartfeltError], tuple[str, str]]:
        return type(self), (self.problem, self.fix)


@contextmanager
def on_command_line() -> Iterator[None]:
    """Within this, :func:`as_option` writes options as a command takes them."""
    token = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(token)


def is_on_command_line() -> bool:
    """Whether a command is running, rather than a program that uses heartfelt."""
    return _ON_COMMAND_LINE.get()


def as_option(name: str, value: str) -> str:
    """An option of a format as the person who reads the message would write it.

    ``--map rater=user`` on the command line, ``rater="user"`` in Python, where ``scale.valence`` is
    ``scale={"valence": …}``.
    """
    if is_on_command_line():
        setting = f"{name}={value}"
        return f"--map {shlex.quote(setting) if _NEEDS_QUOTES.search(setting) else setting}"
    family, dot, key = name.partition(".")
    return f'{family}={{"{key}": "{value}"}}' if dot else f'{name}="{value}"'


class InputError(HeartfeltError):
    """A file, table or value that cannot be used as given."""


class RatingError(InputError):
    """A rating that cannot be used; ``rating`` says which: its rater, stimulus, question and answer."""

    rating: Mapping[str, str | float | None] = {}

    @classmethod
    def about(cls, rating: Mapping[str, str | float | None], problem: str, fix: str) -> RatingError:
        """The error for one rating."""
        error = cls(problem, fix)
        error.rating = {name: rating.get(name) for name in ("rater", "stimulus", "question", "value")}
        return error


class EmptyIdError(InputError):
    """A rating without a stimulus or a question."""


class UnclearColumnError(InputError):
    """A table in which no column is clearly the one that is needed."""


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


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, or None when nothing is close."""
    choices = {str(k).casefold(): str(k) for k in candidates}
    result = difflib.get_close_matches(name.casefold(), choices, n=1, cutoff=0.6)
    return choices[result[0]] if result else None


def suggestion(name: str, candidates: Iterable[str], label: str = "Known names") -> str:
    """Phrase a fix for an unknown name: the nearest one if there is one, and all of them."""
    names = sorted({str(k) for k in candidates})
    listing = f"{label}: {', '.join(names) or 'none'}."
    close = nearest(name, names)
    return f"Did you mean '{close}'? {listing}" if close else listing
