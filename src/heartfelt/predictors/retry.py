"""When to ask again: exponential back-off with jitter from a named stream, or after as long as the other side asks for."""

from __future__ import annotations

from dataclasses import dataclass

from heartfelt.errors import InputError
from heartfelt.streams import stream


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and after how long a question that met a transient error is asked again."""

    retries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0
    """Seconds the doubling waits grow to; what a server asks for may be longer."""
    seed: int = 0
    longest_retry_after: float = 900.0
    """Seconds a server may ask for (Retry-After); a question whose server asks for more fails and says so."""

    def __post_init__(self) -> None:
        if min(self.retries, self.first_wait, self.longest_wait, self.longest_retry_after) < 0:
            raise InputError("Retries and waits cannot be negative.", "Give 0 retries to ask only once.")

    def wait(self, stimulus: str, attempt: int, retry_after: float = 0.0) -> float | None:
        """Seconds before the next attempt, after ``attempt`` of them; None where the server asks for too long a wait."""
        if retry_after > self.longest_retry_after:
            return None
        plain = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        jitter = float(stream(self.seed, "retry", stimulus, attempt).random())
        return max(retry_after, plain * (0.5 + 0.5 * jitter))

    def too_long(self, problem: str, retry_after: float) -> str:
        """Why a question is not asked again whose server asks for too long a wait."""
        return (
            f"{problem}; the server asks to wait {retry_after:,.0f} s, and no more than"
            f" {self.longest_retry_after:,.0f} s is waited"
        )
