"""What one request to a hosted model cost and returned, kept beside every prediction that was read from it.

Tokens are counted by the server. ``cost`` is in the currency of the prices that were given, and missing without prices or
without counts. A call answered from the cache was paid for in an earlier run and is left out of a run's sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import polars as pl

from heartfelt.tables import Column, Contract


@dataclass(frozen=True, slots=True)
class Call:
    """One request and its answer."""

    id: str
    request: str
    """SHA-256 of the request as sent, media included."""
    at: str
    """When it was sent, in UTC."""
    questions: tuple[str, ...]
    """Every question in the request, whether its answer was used or not."""
    requested_model: str
    form: str
    """How the answer was asked for: json_schema, json_object or plain."""
    status: int = 200
    model: str | None = None
    """The model as the server names it."""
    fingerprint: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    completion: str | None = None
    """What the model wrote, unchanged; the whole answer of the server where it could not be read."""
    reasoning: str | None = None
    """What the server returned as reasoning, apart from the answer."""
    cached: bool = False
    """Whether this run took it from the cache instead of asking."""

    def to_json(self) -> dict[str, Any]:
        """Plain data without gaps."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Call:
        """The call that was written; names of later versions are ignored."""
        known = {name: value for name, value in row.items() if name in _NAMES}
        return cls(**{**known, "questions": tuple(known["questions"])})


_NAMES = frozenset(field.name for field in fields(Call))
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "status": pl.Int64,
    "input_tokens": pl.Int64,
    "cached_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "reasoning_tokens": pl.Int64,
    "cost": pl.Float64,
    "seconds": pl.Float64,
    "cached": pl.Boolean,
}
_ABOUT = {
    "id": "the id that predictions name in their column 'call'",
    "stimulus": "the stimulus it was about",
    "request": "SHA-256 of the request as sent, media included",
    "at": "when it was sent, in UTC",
    "questions": "every question in the request, separated by spaces",
    "requested_model": "the model that was asked for",
    "form": "how the answer was asked for: json_schema, json_object or plain",
    "status": "the HTTP status",
    "model": "the model as the server names it",
    "fingerprint": "the server's system fingerprint",
    "finish_reason": "why the model stopped writing",
    "input_tokens": "tokens of the request, as the server counts them",
    "cached_tokens": "those of them the server had kept",
    "output_tokens": "tokens of the answer, reasoning included",
    "reasoning_tokens": "those of them that were reasoning",
    "cost": "by the prices given as options",
    "seconds": "how long the answer took",
    "completion": "what the model wrote, unchanged",
    "reasoning": "what the server returned as reasoning, apart from the answer",
    "cached": "whether this run took the answer from the cache",
}
CALLS = Contract(
    "calls",
    "one row per request to a hosted model",
    tuple(Column(name, _TYPES.get(name, pl.String), about, nullable=True) for name, about in _ABOUT.items()),
)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the requests of a run, interrupted ones included, added up to."""

    requests: int
    input_tokens: int
    output_tokens: int
    without_counts: int
    """Requests for which the server returned no counts; the sums leave them out."""
    cost: float | None
    models: tuple[str, ...]
    fingerprints: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``run.json``."""
        return asdict(self)


def usage_of(calls: Iterable[Call]) -> Usage:
    """The sums over calls that were made, not taken from the cache."""
    made = [call for call in calls if not call.cached]
    counted = [call for call in made if call.input_tokens is not None and call.output_tokens is not None]
    costs = [call.cost for call in made if call.cost is not None]
    return Usage(
        len(made),
        sum(call.input_tokens or 0 for call in counted),
        sum(call.output_tokens or 0 for call in counted),
        len(made) - len(counted),
        round(sum(costs), 9) if costs else None,
        tuple(sorted({call.model for call in made if call.model})),
        tuple(sorted({call.fingerprint for call in made if call.fingerprint})),
    )


def calls_table(calls: Iterable[tuple[str, Call]]) -> pl.DataFrame:
    """A table under the contract ``CALLS`` of (stimulus, call)."""
    rows = [
        {**asdict(call), "stimulus": stimulus, "questions": " ".join(call.questions)}
        for stimulus, call in calls
    ]
    schema = {column.name: column.dtype for column in CALLS.columns}
    return CALLS.check(pl.DataFrame(rows, schema=schema), "calls")
