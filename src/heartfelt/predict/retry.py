"""When to ask again: exponential back-off with jitter from a named stream, or what the other side said."""

from __future__ import annotations

from dataclasses import dataclass

from heartfelt.errors import InputError
from heartfelt.streams import stream


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and after how long a question that met bad weather is asked again."""

    retries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.retries < 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise InputError("Retries and waits cannot be negative.", "Give 0 retries to ask only once.")

    def wait(self, stimulus: str, attempt: int, said: float = 0.0) -> float:
        """Seconds before the next attempt, after ``attempt`` of them; at least what the other side said."""
        plain = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        jitter = float(stream(self.seed, "retry", stimulus, attempt).random())
        return min(self.longest_wait, max(said, plain * (0.5 + 0.5 * jitter)))
