"""What is slow is done once, and not everything is kept."""

from __future__ import annotations

from heartfelt.predictors.execution.store import Recent


def test_a_thing_is_made_once_and_the_oldest_goes() -> None:
    made: list[str] = []
    retained: Recent[str] = Recent(most=2)

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return retained.get(key, make)

    assert [get(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]
    get("a")
    get("c")
    get("a")
    assert made == ["a", "b", "c"]
    get("b")
    assert made == ["a", "b", "c", "b"]
