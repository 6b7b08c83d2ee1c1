"""The time that goes into files can be fixed."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from heartfelt import clock
from heartfelt.errors import InputError

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_the_clock_is_real_unless_it_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(clock.EPOCH_VARIABLE, raising=False)
    before = datetime.now(UTC)
    assert before <= clock.now() <= datetime.now(UTC)
    with clock.fixed_clock(MOMENT):
        assert clock.now() == MOMENT
        assert clock.timer() == clock.timer() == 0.0
    assert clock.now() >= before
    assert clock.timer() > 0.0


def test_threads_that_run_already_see_the_fixed_clock() -> None:
    go, seen = threading.Event(), []

    def look() -> None:
        go.wait(10)
        seen.append(clock.now())

    thread = threading.Thread(target=look)
    thread.start()
    with clock.fixed_clock(MOMENT):
        go.set()
        thread.join(10)
    assert seen == [MOMENT]


def test_the_moment_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(clock.EPOCH_VARIABLE, str(int(MOMENT.timestamp())))
    assert clock.now() == MOMENT
    for wrong in ("yesterday", "9" * 30):
        monkeypatch.setenv(clock.EPOCH_VARIABLE, wrong)
        with pytest.raises(InputError, match=clock.EPOCH_VARIABLE):
            clock.now()
