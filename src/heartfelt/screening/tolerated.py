"""Trials that went wrong more often than a tolerated share explains.

The null hypothesis: each of a rater's n trials goes wrong by itself with probability ``at_most`` or less, independently
(a player that fails, a lost connection, a phone call). p is the binomial chance of as many wrong trials or more at that
rate, so under the null p is at most uniform; the limit is Bonferroni over the raters judged. Five trials are needed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from heartfelt.screening.rule import RuleOptions, RuleVerdicts, too_few
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.wording import p_value

LEAST_TRIALS = 5


def binomial_tail(hits: Ints, n: Ints, rate: Floats | float) -> Floats:
    """The chance of so many hits or more among n, each with probability ``rate``."""
    from scipy.special import bdtrc

    return np.asarray(np.where(hits > 0, bdtrc(np.maximum(hits - 1, 0), n, rate), 1.0), np.float64)


def beyond_tolerated(
    view: RatingsView, table: pl.DataFrame, options: RuleOptions, sentence: Callable[[str], str], trials: str
) -> RuleVerdicts:
    """Verdicts on a table of ``rater`` and ``bad``, a row per trial. ``sentence`` is given "3 of 20" and names what is bad."""
    from scipy.stats import binom

    rater = view.codes_of(table["rater"])
    size, at_most = len(view.raters), options.number("at_most")
    n = np.bincount(rater, minlength=size)
    bad = np.bincount(rater[table["bad"].to_numpy()], minlength=size)
    enough, some = n >= LEAST_TRIALS, np.maximum(n, 1)
    p = np.where(enough, binomial_tail(bad, n, at_most), np.nan)
    limit = options.limit(int(enough.sum()))

    def words(rater: int) -> str:
        chance = f"{p_value(p[rater])} if every {round(1 / at_most)}th did so by itself"
        return f"{sentence(f'{int(bad[rater])} of {int(n[rater])}')} ({chance})."

    return RuleVerdicts.about(
        np.flatnonzero(n),
        n=n,
        words=words,
        why=too_few(n, LEAST_TRIALS, trials),
        value=bad / some,
        threshold=binom.isf(limit, some, at_most) / some,
        p=p,
        flagged=p < limit,
    )
