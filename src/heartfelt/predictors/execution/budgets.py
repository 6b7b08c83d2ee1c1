"""A budget for several runs: what earlier requests took counts, and a budget that cannot be checked is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from heartfelt.errors import InputError
from heartfelt.predictors.execution.store import JOURNAL, Journal
from heartfelt.predictors.interface.calls import Budget, Call
from heartfelt.predictors.interface.predictor import Predictor

_AMOUNT = re.compile(
    r"(?P<limit>(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d*)?(?:e[+-]?\d+)?)\s*(?P<unit>tokens?)?",
    re.IGNORECASE | re.ASCII,
)
"""A comma stands between thousands; as a decimal sign it would make 0,5 five."""


def read_budget(amount: str | float | Budget) -> Budget:
    """A budget as people write it: a cost such as 5, or ``2000000tokens``."""
    if isinstance(amount, Budget):
        return amount
    parts = _AMOUNT.fullmatch(str(amount).strip())
    limit = float(parts["limit"].replace(",", "").replace("_", "")) if parts else -1.0
    if parts is None or not limit < float("inf"):
        raise InputError(
            f"'{amount}' is not a budget.",
            "Give a cost such as 0.5, with a decimal point, or tokens such as 2000000tokens.",
        )
    return Budget(limit=limit, unit="tokens" if parts["unit"] else "cost")


def applies_to(budget: Budget | None, predictor: Predictor) -> bool:
    """Whether a predictor's requests take from a budget; an error where they do and what they cost is not known."""
    if budget is None or predictor.reach == "here" or not predictor.metered:
        return False
    if budget.unit == "cost" and predictor.name == "chat" and predictor.cost(1, 1) is None:
        raise InputError(
            f"The prices of '{predictor.spec}' are not known, so a budget cannot be checked.",
            "Give what a million tokens cost, as in chat[input_price=0.2,output_price=0.6]:MODEL@URL, or a budget in"
            " tokens, such as --budget 2000000tokens.",
        )
    return True


def with_calls(budget: Budget, calls: Iterable[tuple[str, Call]]) -> Budget:
    """The budget with what earlier requests of a run took, given as (stimulus, call), and with the dearest of its cases.

    Requests whose answers were lost count like the dearest case. Where the server did not count others, the price of a case is
    to be learnt again.
    """
    cases: dict[tuple[str, int], float] = defaultdict(float)
    lost, counted = 0, True
    for stimulus, call in calls:
        if not call.metered or call.cached:
            continue
        amount = budget.of(call)
        if amount is None and call.lost is not None:
            lost += 1
            continue
        cases[stimulus, call.repeat] += amount or 0.0
        counted = counted and amount is not None
    dearest = max(cases.values(), default=None)
    spent = budget.spent + sum(cases.values())
    if dearest is not None:
        spent, lost = spent + lost * dearest, 0
    return replace(budget, spent=spent, lost=budget.lost + lost, dearest=dearest if counted else None)


def with_other_runs(budget: Budget, folder: Path, home: Path, predictor: Predictor | None = None) -> Budget:
    """The budget with what every run below ``folder`` took, except those in ``home`` or below it.

    Requests that were made to the predictor's model before its prices were given count at these prices.
    """
    model = getattr(predictor, "model", None)

    def priced(call: Call) -> Call:
        if call.cost is not None or predictor is None or call.requested_model != model:
            return call
        return replace(call, cost=predictor.cost(call.input_tokens, call.output_tokens))

    for other_run in runs_below(folder):
        if not other_run.is_relative_to(home):
            calls = [(stimulus, priced(call)) for stimulus, call in calls_in(other_run)]
            budget = replace(with_calls(budget, calls), dearest=None)
    return budget


def runs_below(folder: Path) -> list[Path]:
    return [path.parent for path in sorted(folder.rglob(JOURNAL))]


def calls_in(home: Path) -> list[tuple[str, Call]]:
    """Every request that a run has made and the stimulus it was about, by its journal."""
    if not (home / JOURNAL).is_file():
        return []
    journal = Journal(home)
    journal.close()
    return list(journal.calls.values())
