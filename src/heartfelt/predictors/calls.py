"""What one request to a hosted model cost and returned, recorded with every prediction that was read from it.

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
    at: str
    questions: tuple[str, ...]
    requested_model: str
    form: str
    status: int = 200
    model: str | None = None
    fingerprint: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    completion: str | None = None
    reasoning: str | None = None
    cached: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data without gaps."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Call:
        """The call that was written; names of later versions are ignored."""
        known = {field.name: row[field.name] for field in fields(cls) if field.name in row}
        return cls(**{**known, "questions": tuple(known["questions"])})


_COLUMNS = {
    "id": (pl.String, "the id that predictions name in their column 'call'"),
    "stimulus": (pl.String, "the stimulus it was about"),
    "request": (pl.String, "SHA-256 of the request as sent, media included"),
    "at": (pl.String, "when it was sent, in UTC"),
    "questions": (pl.String, "every question in the request, answered or not, separated by spaces"),
    "requested_model": (pl.String, "the model that was asked for"),
    "form": (pl.String, "how the answer was asked for: json_schema, json_object or plain"),
    "status": (pl.Int64, "the HTTP status"),
    "model": (pl.String, "the model as the server names it"),
    "fingerprint": (pl.String, "the server's system fingerprint"),
    "finish_reason": (pl.String, "why the model stopped writing"),
    "input_tokens": (pl.Int64, "tokens of the request, as the server counts them"),
    "cached_tokens": (pl.Int64, "how many of them the server had cached"),
    "output_tokens": (pl.Int64, "tokens of the answer, reasoning included"),
    "reasoning_tokens": (pl.Int64, "how many of them were reasoning"),
    "cost": (pl.Float64, "by the prices given as options"),
    "seconds": (pl.Float64, "how long the answer took"),
    "completion": (
        pl.String,
        "what the model wrote, unchanged; the server's whole answer if it was unreadable",
    ),
    "reasoning": (pl.String, "what the server returned as reasoning, apart from the answer"),
    "cached": (pl.Boolean, "whether this run took the answer from the cache"),
}
CALLS = Contract(
    "calls",
    "one row per request to a hosted model",
    tuple(Column(name, kind, about, nullable=True) for name, (kind, about) in _COLUMNS.items()),
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
