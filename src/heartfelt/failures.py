"""What becomes of an error in one part of a larger piece of work. All stages use this module.

An expected error (:class:`~heartfelt.errors.HeartfeltError`: a statistic refuses, input cannot be used, an extra is
missing) becomes the reason why its part is missing. Anything else is a bug, and a bug is loud. A command collects its
bugs (``collect_bugs``): the other parts are still computed and written, then the bugs are printed and the command ends with
exit code 1. Where nobody collects them, as in a notebook, a bug is raised as itself. A full disk, like every error of the
operating system, is raised at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from traceback import format_exception, walk_tb
from typing import Generic, ParamSpec, TypeVar

from heartfelt.errors import HeartfeltError
from heartfelt.extras import missing_extra
from heartfelt.logs import shows_tracebacks

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")
_MAX_TEXT = 300
_PACKAGE = str(Path(__file__).parent)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bug:
    """An unexpected error, and the part of the work in which it was raised."""

    part: str
    error: Exception

    @property
    def summary(self) -> str:
        """The part, the kind of error and its text, in one line."""
        return f"{self.part}: {error_summary(self.error)}"


_BUGS: ContextVar[list[Bug] | None] = ContextVar("bugs", default=None)


@contextmanager
def collect_bugs() -> Iterator[list[Bug]]:
    """Collect the bugs of the block instead of raising them; yields the list they are added to."""
    bugs: list[Bug] = []
    token = _BUGS.set(bugs)
    try:
        yield bugs
    finally:
        _BUGS.reset(token)


def collecting_in_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function that other threads run add its bugs to the list of the thread that starts them."""
    bugs = _BUGS.get()

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        token = _BUGS.set(bugs)
        try:
            return function(*args, **options)
        finally:
            _BUGS.reset(token)

    return call


class WorkerBug(Exception):
    """A bug in another process; its cause holds the traceback there."""


@dataclass(frozen=True, slots=True)
class WorkerResult(Generic[T]):
    """What a function of another process returned, with its bugs: part, error in one line, traceback."""

    value: T
    bugs: tuple[tuple[str, str, str], ...]


def run_in_worker(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> WorkerResult[T]:
    """Call a function in another process so that its bugs reach the process that waits for the result."""
    with collect_bugs() as bugs:
        value = function(*args, **options)
    sent = ((bug.part, error_summary(bug.error), "".join(format_exception(bug.error))) for bug in bugs)
    return WorkerResult(value, tuple(sent))


def result_of_worker(result: WorkerResult[T]) -> T:
    """The value that another process returned; its bugs are collected, or logged where nobody collects bugs."""
    for part, summary, traceback in result.bugs:
        error = WorkerBug(summary)
        error.__cause__ = WorkerBug(f"in another process:\n{traceback}")
        _collect_or_log(Bug(part, error))
    return result.value


@dataclass(frozen=True, slots=True)
class Failed:
    """A part that could not be computed."""

    reason: str


def attempt(compute: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | Failed:
    """The result, or the reason of an expected error. A bug is collected, or raised where nobody collects bugs."""
    return _attempt(_name_of(compute), lambda: compute(*args, **options))


def attempt_part(part: str, compute: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | Failed:
    """The same for a part that has a name of its own."""
    return _attempt(part, lambda: compute(*args, **options))


def _attempt(part: str, compute: Callable[[], T]) -> T | Failed:
    try:
        return compute()
    except HeartfeltError as error:
        _log.info("%s: %s", part, error.problem, exc_info=_log.isEnabledFor(logging.DEBUG))
        return Failed(error.problem.strip().rstrip("."))
    except OSError:
        raise
    except Exception as error:
        missing = missing_extra(error) if isinstance(error, ModuleNotFoundError) else None
        if missing is not None:
            return Failed(missing.problem.rstrip("."))
        bugs = _BUGS.get()
        if bugs is None:
            raise
        _add_bug(bugs, Bug(part, error))
        return Failed(f"heartfelt failed here ({error_summary(error)})")


def report_bug(part: str, error: Exception) -> bool:
    """Report an error at the edge to foreign code if it is heartfelt's own, and return whether it is.

    For the few places where whatever a model or a plug-in raises becomes a problem in a row. The bug is collected, or
    logged with its traceback where nobody collects bugs: predictions that were paid for are not lost.
    """
    if not is_bug(error):
        return False
    _collect_or_log(Bug(part, error))
    return True


def _collect_or_log(bug: Bug) -> None:
    bugs = _BUGS.get()
    if bugs is None:
        _log.error("heartfelt failed in %s", bug.summary, exc_info=bug.error)
    else:
        _add_bug(bugs, bug)


def error_summary(error: BaseException) -> str:
    """The kind of an error and its text, shortened to one line."""
    if isinstance(error, WorkerBug):
        return str(error)
    text = " ".join(str(error).split())[:_MAX_TEXT]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


_BUG_KINDS = (TypeError, AttributeError, NameError, LookupError, AssertionError, ZeroDivisionError)


def is_bug(error: Exception) -> bool:
    """Whether a mistake in a program was raised by heartfelt's own code, not by a library that it calls.

    A call of somebody's Python function is made in ``predictors/function.py``, where wrong arguments are theirs.
    """
    if not isinstance(error, _BUG_KINDS):
        return False
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    return bool(files) and files[-1].startswith(_PACKAGE) and not files[-1].endswith("function.py")


def _add_bug(bugs: list[Bug], bug: Bug) -> None:
    """Add a bug once, however many parts or predictions run into it."""
    if bug.summary not in {earlier.summary for earlier in bugs}:
        # With tracebacks asked for, the command prints this one at its end.
        _log.debug("heartfelt failed in %s", bug.summary, exc_info=None if shows_tracebacks() else bug.error)
        bugs.append(bug)


def _name_of(compute: Callable[..., object]) -> str:
    while isinstance(compute, partial):
        compute = compute.func
    return str(getattr(compute, "__name__", type(compute).__name__)).strip("_").replace("_", " ")


@dataclass(slots=True)
class Failures:
    """Which parts failed, with their reasons; and the reasons of parts that are ``absent`` without having failed."""

    reasons: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def guard(self, part: str, otherwise: D, compute: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | D:
        """The part, or ``otherwise``, with the reason under the part's name."""
        result = attempt_part(part, compute, *args, **options)
        if isinstance(result, Failed):
            self.reasons[part] = result.reason
            return otherwise
        return result
