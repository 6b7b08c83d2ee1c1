"""One file per rule; importing this package registers them all."""

from heartfelt.screening.rule import RULES
from heartfelt.screening.rules import (
    agreement,
    anchor,
    bias,
    bt500,
    change,
    collusion,
    heard,
    identical_answers,
    informativeness,
    longest_run,
    p913,
    repeat_difference,
    response_time,
    spread,
    straight_lining,
)

__all__ = [
    "RULES",
    "agreement",
    "anchor",
    "bias",
    "bt500",
    "change",
    "collusion",
    "heard",
    "identical_answers",
    "informativeness",
    "longest_run",
    "p913",
    "repeat_difference",
    "response_time",
    "spread",
    "straight_lining",
]
