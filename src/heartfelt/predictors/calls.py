"""What one request to a hosted model cost and returned, recorded with every prediction that was read from it.

Tokens are counted by the server. ``cost`` is in the currency of the prices that were given, and missing without prices or
without counts. A call answered from the cache was paid for in an earlier run and is left out of a run's sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

import polars as pl

from heartfelt.tables import Column, Contract


def _column(about: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True)
class Call:
    """One request and its answer."""

    id: str = _column("the id that predictions name in their column 'call'")
    request: str = _column("SHA-256 of the request as sent, media included")
    at: str = _column("when it was sent, in UTC")
    questions: tuple[str, ...] = _column(
        "every question in the request, answered or not, separated by spaces"
    )
    requested_model: str = _column("the model that was asked for")
    form: str = _column("how the answer was asked for: json_schema, json_object or plain")
    status: int = _column("the HTTP status", 200)
    model: str | None = _column("the model as the server names it", None)
    fingerprint: str | None = _column("the server's system fingerprint", None)
    finish_reason: str | None = _column("why the model stopped writing", None)
    input_tokens: int | None = _column("tokens of the request, as the server counts them", None)
    cached_tokens: int | None = _column("how many of them the server had cached", None)
    output_tokens: int | None = _column("tokens of the answer, reasoning included", None)
    reasoning_tokens: int | None = _column("how many of them were reasoning", None)
    cost: float | None = _column("by the prices given as options", None)
    seconds: float = _column("how long the answer took", 0.0)
    completion: str | None = _column(
        "what the model wrote, unchanged; the server's whole answer if it was unreadable", None
    )
    reasoning: str | None = _column("what the server returned as reasoning, apart from the answer", None)
    cached: bool = _column("whether this run took the answer from the cache", False)

    def to_json(self) -> dict[str, Any]:
        """Plain data without gaps."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Call:
        """The call that was written; names of later versions are ignored."""
        known = {each.name: row[each.name] for each in fields(cls) if each.name in row}
        return cls(**{**known, "questions": tuple(known["questions"])})


_TYPES = {"int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
_COLUMNS = [
    Column(
        each.name, _TYPES.get(str(each.type).split(" ")[0], pl.String), each.metadata["about"], nullable=True
    )
    for each in fields(Call)
]
_COLUMNS.insert(1, Column("stimulus", pl.String, "the stimulus it was about", nullable=True))
CALLS = Contract("calls", "one row per request to a hosted model", tuple(_COLUMNS))


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
