"""Rules about people who verify a machine's drafts: whether they look at all, and whether they take time to.

*Rubber-stamping*: the share of planted drafts that a rater accepts. A planted draft belongs to another stimulus and is clearly
wrong (``heartfelt.study.scales.similarity``). Everybody misses some, so a rater may accept a share of up to ``at_most``, or as
large a share as the other raters accept of the same field where that is more: some wrong drafts are hard to notice. Raters
who accept every planted draft do not count among the others unless they are half of the panel. The p-value is the chance of
accepting as many or more at those shares (a sum of independent draws), and the limit is Bonferroni over the raters who met
a planted draft. Unit: share of planted drafts.

*Hasty verification*: the median time for a draft, compared with the panel's norm. Where the time for a field was not
recorded, it is the time from one trial's answer to the next, divided by the drafts of the trial. Unit: seconds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from heartfelt.screening.norm import compare_with_norm
from heartfelt.screening.rule import Reasons, RuleOptions, RuleVerdicts
from heartfelt.screening.rules.ratings.against_norm import LEAST_SECONDS, time_measure
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.stats.columns.triples import Floats
from heartfelt.study import Study
from heartfelt.wording import number, p_value, percent, plural

LEAST_STAMPED = 4
WEIGHT = 10.0
"""How many planted drafts the tolerated share is worth, in estimating that of the other raters."""
LEAST_POWER = 0.9
PLANTED_SHARES = (0.05, 0.075, 0.1, 0.15, 0.2, 0.25)
_LONGEST_GAP = 1800.0
"""Seconds between two trials that count as work; a longer gap is a break."""


def judge_rubber_stamping(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    at_most = options.number("at_most")
    planted = view.drafts.filter(pl.col("wrong").fill_null(False))
    if not planted.height:
        return "no rater met a planted draft"
    accepted = planted.with_columns((pl.col("verdict") == "accepted").alias("accepted"))
    counts = accepted.group_by("rater", "field", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("accepted").sum().alias("k")
    )
    counts = counts.with_columns(_tolerated(at_most))
    by_rater = counts.group_by("rater", maintain_order=True).agg("n", "k", "tolerated")
    raters = view.codes_of(by_rater["rater"])
    n, k, p = (np.zeros(raters.size) for _ in range(3))
    reasons: Reasons = [None] * raters.size
    least, limits = options.limit(raters.size), np.zeros(raters.size)
    for row, (_, sizes, hits, tolerated) in enumerate(by_rater.iter_rows()):
        n[row], k[row] = sum(sizes), sum(hits)
        tail = at_least(np.repeat(tolerated, sizes))
        p[row] = tail[int(k[row])]
        enough = np.flatnonzero(tail < least)
        limits[row] = enough[0] / n[row] if enough.size else np.nan
        if not enough.size:
            reasons[row] = f"{plural(int(n[row]), 'planted draft')}; accepting every one could be chance"

    def words(row: int) -> str:
        return (
            f"Accepted {int(k[row])} of {int(n[row])} planted drafts, which belong to other stimuli ({p_value(p[row])} for"
            f" somebody who misses {percent(at_most)} of them, or as many as the others do)."
        )

    return [
        RuleVerdicts(
            rater=raters,
            n=n.astype(np.int64),
            words=words,
            why=reasons,
            value=k / n,
            threshold=limits,
            p=p,
            flagged=p < least,
        )
    ]


def _tolerated(at_most: float) -> pl.Expr:
    """The share of planted drafts of a field that a rater may accept: ``at_most``, or that of the others where it is more.

    Raters who accept everything do not count among the others, unless they are half of the panel: then planted drafts are
    no test. Few planted drafts of a field say little about it, so the others' share is drawn to ``at_most``.
    """
    met, stamped = (pl.col(name).sum().over("rater") for name in ("n", "k"))
    everything = (met == stamped) & (met >= LEAST_STAMPED)
    few = pl.col("rater").filter(everything).n_unique() < pl.col("rater").n_unique() / 2
    counted = pl.when(everything & few).then(0)
    n, k = (counted.otherwise(pl.col(name)) for name in ("n", "k"))
    others_n, others_k = (part.sum().over("field") - part for part in (n, k))
    return ((others_k + WEIGHT * at_most) / (others_n + WEIGHT)).clip(lower_bound=at_most).alias("tolerated")


def at_least(chances: Floats) -> Floats:
    """The chance that 0, 1, 2 … or more of independent events happen, given the chance of each."""
    # The chances differ by field: the sum's distribution is a convolution, not a binomial.
    exactly = np.ones(1)
    for chance in chances.tolist():
        exactly = np.convolve(exactly, (1.0 - chance, chance))
    out: Floats = np.minimum(np.cumsum(exactly[::-1])[::-1], 1.0)
    return out


def detection_power(
    planted: float, drafts: int, raters: int, *, miss: float = 1.0, at_most: float = 0.2, alpha: float = 0.05
) -> float:
    """The chance of flagging a rater who accepts a share ``miss`` of planted errors, in a panel that misses up to ``at_most``.

    Each of ``drafts`` drafts is planted with probability ``planted``.
    """
    from scipy.stats import binom

    shown = np.arange(drafts + 1)
    least = alpha / raters
    critical = binom.isf(least, shown, at_most) + 1
    flagged = np.where(critical <= shown, binom.sf(critical - 1, shown, miss), 0.0)
    return float(np.sum(binom.pmf(shown, drafts, planted) * flagged))


def advise_planting(study: Study, stimuli: int, drafts: int) -> list[str]:
    """Why raters who accept every draft may go unnoticed in a study with so many drafts of so many stimuli, and what helps."""
    design = study.design
    stimuli_each = min(design.stimuli_per_rater or stimuli, stimuli)
    shown = round(stimuli_each * drafts / stimuli)
    raters = max(1, round(stimuli * design.ratings_per_item / stimuli_each))
    if not design.planted_drafts:
        return ["no drafts are planted (planted_drafts: 0), so nobody can tell who accepts them without looking."]
    power = detection_power(design.planted_drafts, shown, raters)
    if power >= LEAST_POWER:
        return []
    chance = (
        f"a rater who accepts every draft would be noticed with a chance of {percent(power)}: about"
        f" {number(design.planted_drafts * shown, 1)} of the {plural(shown, 'draft')} that a rater verifies are planted."
    )
    shares = [share for share in PLANTED_SHARES if detection_power(share, shown, raters) >= LEAST_POWER]
    remedy = f"planted_drafts: {shares[0]:g}" if shares else "More drafts for each rater"
    return [f"{chance} {remedy} would make it {percent(LEAST_POWER)} or more."]


def judge_hasty_verification(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    visible = view.drafts.filter(pl.col("shown") != "hidden")
    by_trial = visible.group_by("rater", "stimulus", maintain_order=True).agg(
        pl.len().alias("drafts"), pl.col("seconds").mean(), pl.col("at").max()
    )
    if by_trial["seconds"].count():
        times = by_trial.with_columns(pl.col("seconds").alias("each"))
    else:
        gap = pl.col("at").diff().dt.total_milliseconds().over("rater") / 1000
        times = by_trial.sort("rater", "at").with_columns(gap.alias("gap"))
        times = times.filter(pl.col("gap") <= _LONGEST_GAP).with_columns(
            (pl.col("gap") / pl.col("drafts")).alias("each")
        )
    times = times.filter(pl.col("each").is_not_null())
    if not times.height:
        return "no times of verifications were recorded"
    seconds: Floats = np.maximum(times["each"].to_numpy(), LEAST_SECONDS)
    measure = time_measure(view, times["rater"], seconds, " for a draft", "stimuli with times")
    measure = replace(measure, asked=np.unique(view.codes_of(visible["rater"])))
    return compare_with_norm([measure], "low", options.alpha)
