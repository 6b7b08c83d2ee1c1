"""Buckets that fill again."""

from __future__ import annotations

import pytest

from heartfelt.web.security import guard
from heartfelt.web.security.guard import RateLimit
from tests.web.security.test_cookies import Clock


def test_a_minutes_worth_may_come_at_once_and_then_waits() -> None:
    clock = Clock()
    limit = RateLimit(6, clock)
    assert [limit.take("a") for _ in range(6)] == [0.0] * 6
    assert limit.take("a") == 10.0
    assert limit.take("b") == 0.0
    clock.now += 10
    assert limit.take("a") == 0.0
    assert limit.take("a") > 0


def test_being_refused_does_not_cost_more() -> None:
    clock = Clock()
    limit = RateLimit(1, clock)
    limit.take("a")
    for _ in range(100):
        limit.take("a")
    clock.now += 60
    assert limit.take("a") == 0.0


def test_what_is_given_back_was_not_taken() -> None:
    limit = RateLimit(2, Clock())
    for _ in range(10):
        assert limit.take("a") == 0.0
        limit.give_back("a")
    limit.give_back("a")
    assert [limit.take("a") > 0 for _ in range(3)] == [False, False, True]


def test_zero_is_no_limit() -> None:
    limit = RateLimit(0, Clock())
    assert not any(limit.take("a") for _ in range(10_000))


def test_memory_is_bounded() -> None:
    limit = RateLimit(1, Clock())
    for number in range(guard.MOST_KEYS + 100):
        limit.take(str(number))
    assert len(limit._buckets) == guard.MOST_KEYS
    assert limit.take(str(guard.MOST_KEYS + 99)) > 0


def test_a_bucket_is_forgotten_only_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_KEYS", 3)
    limit = RateLimit(1, Clock())
    for key in "abc":
        assert limit.take(key) == 0.0
    assert [limit.take(key) for key in "abc"] == [60.0] * 3
    assert limit.take("d") == 0.0
    assert limit.wait("b") == 60.0
    assert limit.wait("a") == 0.0, "the one that was longest not seen"
    assert limit.wait("e") == 0.0
    assert len(limit._buckets) == 3, "looking takes no bucket"


def test_part_of_a_minute_fills_part_of_a_bucket() -> None:
    clock = Clock()
    limit = RateLimit(4, clock)
    assert [limit.take("a") for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 15.0]
    clock.now += 6
    assert limit.take("a") == pytest.approx(9.0)
    assert limit.wait("a") == pytest.approx(9.0)
    clock.now += 9
    assert limit.take("a") == 0.0
    limit.give_back("a")
    assert limit.take("a") == 0.0
    assert limit.take("a") == pytest.approx(15.0)
    clock.now += 3600
    limit.give_back("a")
    assert [limit.take("a") for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 15.0]
