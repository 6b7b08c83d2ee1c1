"""Rules about traces: traces that never move, and clips that played while the page was in the background.

Both count bad traces of a rater and allow for a share of them (``at_most``) that has other reasons: a clip on which one value is
right, a phone call (:mod:`heartfelt.screening.tolerated`).

*Flat trace*: a trace is flat if all its samples lie within ``within`` of the scale's length, or if it has no sample at all.

*Away*: a trace is interrupted if the page was in the background for more than ``share`` of the time the clip took. Traces whose
source does not record it are not judged.
"""

from __future__ import annotations

import polars as pl

from heartfelt.screening.rule import RuleOptions, RuleVerdicts
from heartfelt.screening.tolerated import beyond_tolerated
from heartfelt.screening.view import RatingsView
from heartfelt.study.set_scale import Trace


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
