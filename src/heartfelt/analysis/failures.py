"""What becomes of a part of an analysis that cannot be computed: it is missing, and says why.

This is the one place with a broad except: a fault in one figure must not cost the reader every other number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from heartfelt.errors import HeartfeltError

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Failed:
    """A part that could not be computed."""

    why: str


def attempt(compute: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | Failed:
    """The result, or why there is none: the message of our own errors, else the kind and text of the exception."""
    try:
        return compute(*args, **options)
    except HeartfeltError as failure:
        return Failed(failure.problem.strip().rstrip("."))
    except Exception as failure:  # noqa: BLE001 - one part of an analysis: the others still stand
        text = " ".join(str(failure).split())[:300]
        return Failed(f"its computation failed ({type(failure).__name__}{': ' + text if text else ''})")


@dataclass(slots=True)
class Failures:
    """Which parts failed, and why; and why parts are ``absent`` that did not fail."""

    reasons: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def guard(
        self, part: str, otherwise: D, compute: Callable[P, T], *args: P.args, **options: P.kwargs
    ) -> T | D:
        """The part, or ``otherwise``, with the reason under the part's name."""
        made = attempt(compute, *args, **options)
        if isinstance(made, Failed):
            self.reasons[part] = made.why
            return otherwise
        return made
