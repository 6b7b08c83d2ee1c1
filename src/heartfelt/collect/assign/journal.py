"""Facts: what happened, in order. The state of a collection is what its facts add up to, in every process alike.

| kind | what happened | carries |
|---|---|---|
| arrived | somebody new came | words: the rater's id |
| consented | the rater agreed or not | number: 1 or 0 |
| told | the rater said who they are | number: 1, or 0 if screened out |
| heard | the headphone check was taken | number: 1, or 0 if screened out |
| ready | instructions read, or a break over | |
| planned | the next session was laid out | number: trials in all; words: its slots |
| leased | a trial is held for the rater | trial, unit; words: what kind, if not plain |
| retaken | a lapsed lease is held again | trial |
| shown | a trial was shown | trial; number: its place in the order |
| answered | a trial was answered | trial; number: 1 if late; words: values, where they steer, and under "" the seconds listened |
| returned | a trial was given back | trial; words: why |
| passed | a slot of the plan could not be filled | |
| exhausted | nothing is left for the rater | |
| renewed | the rater is still there | |
| lapsed | the rater's leases ran out | |
| ended | the rater has come to an end | words: how |
| resumed | somebody told that the study is full finds a place after all | |
| excluded, restored | a researcher left the rater out, or took them back | |
| erased | everything the rater said was deleted | trial: the highest so far; number: trials answered |
| declined | the rater did not agree, and nothing was kept | trial: the highest so far |
| set | settings changed | words: the settings |
| noted | something else was stored | |
"""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """One row of the journal."""

    seq: int
    at: float
    kind: str
    rater: int | None = None
    trial: int | None = None
    unit: int | None = None
    number: float | None = None
    words: str | None = None
