"""What is drafted, by what, and how it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from heartfelt.options import Option, Without
from heartfelt.predictors.options import RunOptions, parse_budget

if TYPE_CHECKING:
    from heartfelt.predictors.interface.calls import Budget

GIVE_UP_AFTER = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOptions:
    """What is drafted, by what, and how it is asked."""

    fields: Annotated[
        tuple[str, ...],
        Option(
            help="Draft only this question; all that machines fill in first if left out.",
            flags=("--field",),
            metavar="QUESTION",
        ),
    ] = ()
    drafters: Annotated[
        tuple[str, ...],
        Option(
            help="The predictor that drafts; of one question, or of all that have none.",
            flags=("--with",),
            metavar="[QUESTION=]NAME[:ARG]",
        ),
    ] = ()
    replace: Annotated[bool, Option(help="Draft again what has a draft; without a cache, ask anew.")] = False
    fresh: bool = False
    """Whether a drafter is asked again what it has answered before; by default that answer is used."""
    language: Annotated[str | None, Option(help="The language a model writes in; the study's first if left out.")] = (
        None
    )
    budget: Annotated[
        Budget | None,
        Option(
            help="What the drafts of the study may cost in all, as 5, or 2000000tokens; earlier runs count.",
            metavar="AMOUNT",
            panel="Asking",
            parse=parse_budget,
        ),
    ] = None
    duplicates: Annotated[bool, Option(help="Look for near-duplicates among the images.")] = True
    asking: Annotated[RunOptions, Without("budget", "repeats")] = field(
        default_factory=lambda: RunOptions(give_up_after=GIVE_UP_AFTER)
    )
