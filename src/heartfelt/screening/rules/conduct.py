"""Rules about how raters took part: what they heard, traces that were not drawn, browsers that somebody used before.

*Heard*: the share of trials in which the rater heard less than the study's ``listening`` asks for, which is what the rating
page waits for before answers open. ``full``: the clip, and every member of a set, to the end (a share of ``enough``; players
stop reporting a moment before). ``started``: something of the clip, and of every member. ``free`` asks for nothing, so nobody
is judged. ``heard`` is limited by the time that passed on the server; a trial that the collection noted as
``incomplete`` counts too: a named reference is not rated, so nothing else shows whether it was heard.

*Impossible*: the share of trials whose listening the collection noted as ``impossible``: more was reported than the time on
the server allows, or the answer came without the listening that the page waits for. It is judged in every listening mode.

*Flat trace*: a trace is flat if all its samples lie within ``within`` of the scale's length, or if it has no sample at all.

*Away*: a trace is interrupted if the page was in the background for more than ``share`` of the time the clip took. Traces whose
source does not record it are not judged.

These four are judged trial by trial as in :mod:`heartfelt.screening.tolerated`, which allows for a share (``at_most``) that has
other reasons: a failing player, a clip on which one value is right, a phone call. A set is one trial. Unit: share of trials. Trials
whose clips have no known length are ignored.

*Shared browser*: whether somebody had taken part in the same browser before. The browser's signed cookie says how many raters of
the study used it before; nothing is stored that tells one person or browser from another. It may be one person with two accounts,
or two people who share a computer, so there is no p-value and no false-positive rate. Where more than ``at_most`` of the raters
came so, people take turns at the same machines, as in a laboratory, and nobody is judged. Unit: raters before this one.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from heartfelt.screening.rule import LIMIT_EVIDENCE, RuleOptions, RuleVerdicts
from heartfelt.screening.tolerated import beyond_tolerated
from heartfelt.screening.view.presentations import IMPOSSIBLE, INCOMPLETE
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.study.scales.set_scale import Trace
from heartfelt.wording import plural

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


def judge_flat_traces(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    table = view.traces
    lengths = {
        question.id: scale.high - scale.low
        for question in view.study.asked
        if isinstance(scale := view.study.scale_of(question.id), Trace)
    }
    length = pl.col("question").replace_strict(lengths, default=None, return_dtype=pl.Float64)
    samples = pl.col("samples")
    spread = (samples.list.max() - samples.list.min()).cast(pl.Float64).fill_null(0.0)
    flat = table.select("rater", (spread <= options.number("within") * length).alias("bad"))
    return [beyond_tolerated(view, flat, options, "{} traces never move".format, "traces")]


def judge_away(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    table = view.traces
    if not {"away", "rate"} <= set(table.columns) or not table["away"].count():
        return "how long the page was in the background was not recorded"
    timed = table.filter(pl.col("away").is_not_null() & (pl.col("rate") > 0))
    length = pl.col("samples").list.len() / pl.col("rate")
    bad = timed.select("rater", (pl.col("away") > options.number("share") * length).alias("bad"))
    sentence = "{} traces were drawn with the page in the background".format
    return [beyond_tolerated(view, bad, options, sentence, "traces with a known time in the background")]


def judge_shared_browser(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    before = np.array([view.raters_before.get(name, 0) for name in view.raters], dtype=np.int64)
    if np.mean(before > 0) > options.number("at_most"):
        return "many raters share browsers, as where people take turns at the same machines"
    rater = np.flatnonzero(before)
    return [
        RuleVerdicts(
            rater=rater,
            n=1,
            words=lambda row: (
                f"Came from a browser in which {plural(int(before[rater[row]]), 'rater')} had taken part before."
            ),
            value=before[rater],
            threshold=0.0,
            flagged=np.ones(rater.size, dtype=bool),
            evidence=LIMIT_EVIDENCE,
        )
    ]
