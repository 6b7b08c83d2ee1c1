"""What one request to a hosted model cost and returned, recorded with every prediction that was read from it.

Tokens are counted by the server. ``cost`` is in the currency of the prices that were given, and missing without prices or
without counts. A call answered from the cache was paid for in an earlier run and is left out of a run's sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Literal

import polars as pl

from heartfelt.errors import InputError
from heartfelt.tables import Column, Contract
from heartfelt.wording import money

SIMILARITY = "similarity"
"""The form of a request to a server that answers a text and a file with a number."""


def _column(about: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request and its answer."""

    id: str = _column("the id that predictions name in their column 'call'")
    request: str = _column("SHA-256 of the request as sent, media included")
    at: str = _column("when it was sent, in UTC")
    questions: tuple[str, ...] = _column("every question in the request, answered or not, separated by spaces")
    requested_model: str = _column("the model that was asked for")
    form: str = _column("how the answer was asked for: json_schema, json_object, plain or similarity")
    status: int | None = _column("the HTTP status; missing where no answer came to its end", 200)
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
    repeat: int = _column("which repeat of the questions it was for, counted from 0", 0)
    prompt: str | None = _column("what was sent as text, media left out; never a key", None)
    lost: str | None = _column("why its answer is missing or incomplete, although it may be paid for", None)

    @property
    def metered(self) -> bool:
        """Whether the server counts tokens; one that answers with similarities does not."""
        return self.form != SIMILARITY

    def to_json(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Call:
        """The call that was written; names of later versions are ignored."""
        values = {column.name: row[column.name] for column in fields(cls) if column.name in row}
        return cls(**{**values, "questions": tuple(values["questions"])})


_TYPES = {"int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
_COLUMNS = [
    Column(
        name=column.name,
        dtype=_TYPES.get(str(column.type).split(" ")[0], pl.String),
        about=column.metadata["about"],
        nullable=True,
    )
    for column in fields(Call)
]
_COLUMNS.insert(1, Column(name="stimulus", dtype=pl.String, about="the stimulus it was about", nullable=True))
CALLS = Contract("calls", "one row per request to a hosted model", tuple(_COLUMNS))


@dataclass(frozen=True, slots=True, kw_only=True)
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
    items: int = 0
    """Items that were answered."""

    @property
    def cost_per_item(self) -> float | None:
        """The cost of all requests over the items answered; None where either is missing."""
        return self.cost / self.items if self.cost is not None and self.items else None


def usage_of(calls: Iterable[Call]) -> Usage:
    """The sums over calls that were made, not taken from the cache."""
    sent = [call for call in calls if not call.cached]
    counted = [
        (call.input_tokens, call.output_tokens)
        for call in sent
        if call.input_tokens is not None and call.output_tokens is not None
    ]
    return Usage(
        requests=len(sent),
        input_tokens=sum(tokens for tokens, _ in counted),
        output_tokens=sum(tokens for _, tokens in counted),
        without_counts=len(sent) - len(counted),
        cost=_sum_of_costs(sent),
        models=_distinct(call.model for call in sent),
        fingerprints=_distinct(call.fingerprint for call in sent),
    )


def _sum_of_costs(calls: Iterable[Call]) -> float | None:
    costs = [call.cost for call in calls if call.cost is not None]
    return round(sum(costs), 9) if costs else None


def _distinct(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({text for text in texts if text}))


def calls_table(calls: Iterable[tuple[str, Call]]) -> pl.DataFrame:
    rows = [{**asdict(call), "stimulus": stimulus, "questions": " ".join(call.questions)} for stimulus, call in calls]
    schema = {column.name: column.dtype for column in CALLS.columns}
    return CALLS.check(pl.DataFrame(rows, schema=schema), "calls")


def within(limit: float, amount: float) -> bool:
    """Whether an amount is within a limit; sums of prices such as 0.1 are off by rounding, which is no overspending."""
    return amount <= limit * (1 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the requests of a run may cost, or how many tokens they may take, input and output together."""

    limit: float
    unit: Literal["cost", "tokens"] = "cost"
    spent: float = 0.0
    """What was spent on the same work before this run."""
    lost: int = 0
    """Requests before this run whose answers were lost, while nothing was known yet of what a case takes."""
    dearest: float | None = None
    """The most a case took before this run; None where none was asked."""

    def __post_init__(self) -> None:
        if not 0 <= self.limit < float("inf"):
            raise InputError(f"A budget of {self.limit:g} is not possible.", "Give a number from 0.")

    def of(self, call: Call) -> float | None:
        """What a request took of the budget; None where that is not known."""
        if call.cached:
            return 0.0
        if self.unit == "cost":
            return call.cost
        counts = (call.input_tokens, call.output_tokens)
        return None if None in counts else float(sum(count or 0 for count in counts))

    def taken_by(self, usage: Usage) -> float:
        """What the requests of a run took, as far as that is known."""
        if self.unit == "cost":
            return usage.cost or 0.0
        return float(usage.input_tokens + usage.output_tokens)

    def words(self, amount: float) -> str:
        return f"{amount:,.0f} tokens" if self.unit == "tokens" else money(amount)


class Spending:
    """What a run has spent of its budget so far.

    A case is sent only if the budget has room for it and for all that are under way, each at the price of the dearest case so
    far; the very first case is sent alone, to learn that price. The budget is exceeded only if a case costs more than any before.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget, self._counted, self._lost = budget, budget.spent, budget.lost
        self.dearest = budget.dearest
        """What the dearest case took; None before one was paid for."""
        self._under_way = 0
        self._uncounted = False

    def allows(self, cases: int) -> bool:
        if self._uncounted or self.spent >= self.budget.limit:
            return False
        if self.dearest is None:
            return not self._under_way
        return within(self.budget.limit, self.spent + (self._under_way + cases) * self.dearest)

    def send(self, cases: int) -> None:
        self._under_way += cases

    def receive(self, calls: Iterable[Call]) -> None:
        """Note what the requests of one case took; those whose answers were lost count like the dearest case."""
        self._under_way -= 1
        sent = [call for call in calls if not call.cached]
        amounts = [amount for call in sent if (amount := self.budget.of(call)) is not None]
        uncounted = [call for call in sent if self.budget.of(call) is None]
        self._lost += sum(call.lost is not None for call in uncounted)
        self._uncounted = self._uncounted or any(call.lost is None for call in uncounted)
        if amounts:
            self._counted += sum(amounts)
            self.dearest = max(self.dearest or 0.0, sum(amounts))

    @property
    def spent(self) -> float:
        return self._counted + self._lost * (self.dearest or 0.0)

    @property
    def reason(self) -> str:
        if self._uncounted:
            return "not asked: the server returned no token counts, so the budget cannot be checked"
        spent, limit = self.budget.words(self.spent), self.budget.words(self.budget.limit)
        return f"not asked: the budget has no room for another request ({spent} of {limit} spent)"
