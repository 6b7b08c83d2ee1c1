"""Rules about listening: less was heard than the study asks for, or more was reported than the time allowed.

*Heard*: the share of trials in which the rater heard less than the study's ``listening`` asks for, which is what the rating
page waits for before answers open. ``full``: the clip, and every member of a set, to the end (a share of ``enough``; players
stop reporting a moment before). ``started``: something of the clip, and of every member. ``free`` asks for nothing, so nobody
is judged. ``heard`` is limited by the time that passed on the server; a trial that the collection noted as
``incomplete`` counts too: a named reference is not rated, so nothing else shows whether it was heard.

*Impossible*: the share of trials whose listening the collection noted as ``impossible``: more was reported than the time on
the server allows, or the answer came without the listening that the page waits for. It is judged in every listening mode.

Both are judged trial by trial as in :mod:`heartfelt.screening.tolerated`; a set is one trial. Unit: share of trials. Trials
whose clips have no known length are ignored.
"""

from __future__ import annotations

import polars as pl

from heartfelt.screening.presentations import IMPOSSIBLE, INCOMPLETE
from heartfelt.screening.rule import RuleOptions, RuleVerdicts
from heartfelt.screening.tolerated import beyond_tolerated
from heartfelt.screening.view import RatingsView

NOT_RECORDED = "how much of each clip was heard was not recorded"
KNOWN_TRIALS = "trials with a clip of known length"


def _recorded(view: RatingsView) -> pl.DataFrame:
    """The trials in which it is known how much was heard."""
    recorded = pl.col("heard").is_not_null() | pl.col("heard_flag").is_not_null()
    return view.trials.filter(recorded) if view.trials.height else view.trials


def judge_heard(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    listening = view.study.design.listening
    table = _recorded(view)
    if not table.height:
        return NOT_RECORDED
    if listening == "free":
        return "the study lets raters answer without listening"
    heard, flag = pl.col("heard"), pl.col("heard_flag")
    too_little = heard < options.number("enough") if listening == "full" else heard <= 0.0
    bad = (too_little.fill_null(False) | flag.eq_missing(INCOMPLETE)).alias("bad")

    def sentence(count: str) -> str:
        return f"Heard less than the study asks for (listening: {listening}) in {count} trials"

    return [beyond_tolerated(view, table.select("rater", bad), options, sentence, KNOWN_TRIALS)]


def judge_impossible(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    table = _recorded(view).select("rater", pl.col("heard_flag").eq_missing(IMPOSSIBLE).alias("bad"))

    def sentence(count: str) -> str:
        return f"The listening was impossible, by its report or by the time that passed, in {count} trials"

    return [beyond_tolerated(view, table, options, sentence, KNOWN_TRIALS)]
