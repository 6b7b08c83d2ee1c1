"""The time that is written into files: the real time, or a fixed one so that the same seed gives the same bytes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from heartfelt.errors import InputError

EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since 1970 that are written in place of the present moment (https://reproducible-builds.org/specs/source-date-epoch)."""

_fixed: datetime | None = None


def now() -> datetime:
    """This moment in UTC, unless the clock is fixed or SOURCE_DATE_EPOCH names another."""
    if _fixed is not None:
        return _fixed
    epoch = os.environ.get(EPOCH_VARIABLE)
    if not epoch:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"{EPOCH_VARIABLE} is '{epoch}', not a number of seconds since 1970.",
            "Set it to a whole number, or unset it.",
        ) from error


def timer() -> float:
    """Seconds for measuring how long something takes; under a fixed clock nothing takes any time."""
    return time.perf_counter() if _fixed is None else 0.0


@contextmanager
def fixed_clock(moment: datetime) -> Iterator[None]:
    """Write ``moment`` in place of the present, in all threads of this process."""
    global _fixed
    before, _fixed = _fixed, moment
    try:
        yield
    finally:
        _fixed = before
