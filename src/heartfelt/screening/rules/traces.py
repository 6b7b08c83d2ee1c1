"""Rules about traces: traces that never move, and clips that played while the page was in the background.

Both count bad traces of a rater and allow for a share of them (``at_most``) that has other reasons: a clip on which one value is
right, a phone call. p is the binomial chance of as many or more at that rate; the limit is Bonferroni over the raters judged.

*Flat trace*: a trace is flat if all its samples lie within ``within`` of the scale's length, or if it has no sample at all.

*Away*: a trace is interrupted if the page was in the background for more than ``share`` of the time the clip took. Traces whose
source does not record it are not judged.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from heartfelt.screening.rule import Rule, RuleOptions, Verdicts
from heartfelt.screening.view import RatingsView
from heartfelt.study.set_scale import Trace
from heartfelt.wording import p_value

LEAST = 5


def _flat(view: RatingsView, options: RuleOptions) -> list[Verdicts] | str:
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
    return [_counted(view, flat, options, "traces never move", f"fewer than {LEAST} traces")]


def _away(view: RatingsView, options: RuleOptions) -> list[Verdicts] | str:
    table = view.traces
    if not {"away", "rate"} <= set(table.columns) or not table["away"].count():
        return "how long the page was in the background was not recorded"
    known = table.filter(pl.col("away").is_not_null() & (pl.col("rate") > 0))
    length = pl.col("samples").list.len() / pl.col("rate")
    bad = known.select("rater", (pl.col("away") > options.number("share") * length).alias("bad"))
    why = f"fewer than {LEAST} traces with a known time in the background"
    return [_counted(view, bad, options, "traces were drawn with the page in the background", why)]


def _counted(view: RatingsView, table: pl.DataFrame, options: RuleOptions, what: str, few: str) -> Verdicts:
    from scipy.stats import binom

    rater = view.codes_of(table["rater"])
    size, at_most = len(view.raters), options.number("at_most")
    n = np.bincount(rater, minlength=size)
    bad = np.bincount(rater[table["bad"].to_numpy()], minlength=size)
    enough, some = n >= LEAST, np.maximum(n, 1)
    p = np.where(enough, binom.sf(bad - 1, n, at_most), np.nan)
    limit = options.alpha / max(int(enough.sum()), 1)
    asked = np.flatnonzero(n)
    return Verdicts(
        asked,
        n[asked],
        lambda row: (
            f"{int(bad[asked[row]])} of {int(n[asked[row]])} {what} ({p_value(p[asked[row]])} if every"
            f" {round(1 / at_most)}th did so by itself)."
        ),
        [None if ok else few for ok in enough[asked]],
        (bad / some)[asked],
        (binom.isf(limit, some, at_most) / some)[asked],
        p[asked],
        (p < limit)[asked],
    )


FLAT_TRACE = Rule(
    "flat-trace",
    "traces that stay at one value from start to end, or have no sample",
    "share of flat traces",
    _flat,
    {
        "within": (0.02, "the share of the scale's length that a flat trace stays within"),
        "at_most": (0.1, "the share of flat traces that clips without change may explain"),
    },
    examines="traces",
)
AWAY = Rule(
    "away",
    "traces drawn while the page was in the background for a good part of the clip",
    "share of interrupted traces",
    _away,
    {
        "share": (0.25, "the share of a clip's time in the background that makes a trace interrupted"),
        "at_most": (0.1, "the share of interrupted traces that a phone call may explain"),
    },
    examines="traces",
)
