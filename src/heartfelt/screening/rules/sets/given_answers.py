"""Rules about answers as they were given on the page, trial by trial: a pattern, or the same answers as another rater's.

The answer to a trial is taken as a whole: the values of all its questions, and of a set those at each place on the page. Where
the order of presentation is random, such answers follow one another like independent draws, so p-values are binomial tails.

*Pattern*: the answers repeat themselves after a few trials (1 2 3 1 2 3; left, right, left, right). For each period from 2 to
``longest`` trials, p is the chance of so many answers equal to the one a period before, if each is so with the probability
of the rater's most frequent answer, or as often as over the other distances where that is more (slow drift). It is
Bonferroni over periods and raters. At least ``at_least`` of the answers must fit the period. A rater whose answers depend
on what was played (rule ``informativeness``, p below 0.01) is not flagged: the order of presentation may be regular.

*Parallel sets*: two raters gave the same answers to sets at the same trials, although other stimuli were presented, or at other
places. p is the chance of so many equal answers at the rate that both raters' use of the answers gives; it is Bonferroni over
all pairs of raters. Trials that presented the same count nothing. Where the times are known, only the rater who answered
later is flagged (in at least ``at_least`` of the trials): nobody can copy what has not been given yet. Else both are.

Both need twelve trials in a known order. Unit: share of trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.screening.rule import RuleOptions, RuleVerdicts, too_few
from heartfelt.screening.rules.ratings.informativeness import RESCUE, effects
from heartfelt.screening.tolerated import binomial_tail
from heartfelt.screening.view.ratings import RatingsView, remembered
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.wording import number, p_value

LEAST_TRIALS = 12
LEAST_PAIRS = 8
"""Answers that must have one a period before them."""
WORK_AT_MOST = 2e9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GivenAnswers:
    """Answers in presentation order: ``answer`` codes what was given, ``shown`` what was presented where, ``at`` is the time.

    ``at`` is in microseconds, 0 where it is not known. Rows of rater ``r`` begin at ``edges[r]``; raters whose order is not
    known have none.
    """

    answer: Ints
    shown: Ints
    at: Ints
    edges: Ints

    @property
    def n(self) -> Ints:
        return np.diff(self.edges)

    def of(self, rater: int) -> slice:
        return slice(int(self.edges[rater]), int(self.edges[rater + 1]))


@remembered
def given_answers(view: RatingsView) -> GivenAnswers:
    """The answers of every rater: those to sets where there are some, else those about single stimuli."""
    rows = _of_sets(view) if view.sets.height else _of_ratings(view)
    by_trial = (
        rows.group_by("rater", "trial", maintain_order=True)
        .agg(
            pl.struct("question", "place", "value").hash().sum().alias("answer"),
            pl.struct("stimulus", "place").hash().sum().alias("shown"),
            pl.min("when"),
            pl.max("at"),
        )
        .filter(pl.col("when").is_not_null().all().over("rater"))
        .sort("rater", "when", maintain_order=True)
    )
    rater = by_trial["rater"].to_numpy()
    return GivenAnswers(
        answer=by_trial["answer"].rank("dense").to_numpy().astype(np.int64),
        shown=by_trial["shown"].rank("dense").to_numpy().astype(np.int64),
        at=by_trial["at"].fill_null(0).to_numpy(),
        edges=np.searchsorted(rater, np.arange(len(view.raters) + 1)),
    )


def _of_ratings(view: RatingsView) -> pl.DataFrame:
    rows = np.flatnonzero(view.first & view.ordered[view.rater])
    return pl.DataFrame(
        {
            "rater": view.rater[rows],
            "trial": view.trial[rows],
            "when": view.trial[rows],
            "stimulus": view.stimulus[rows],
            "question": view.question[rows],
            "place": np.zeros(rows.size, np.int64),
            "value": view.value[rows],
            "at": np.zeros(rows.size, np.int64),
        }
    )


def _of_sets(view: RatingsView) -> pl.DataFrame:
    table = view.sets
    at = pl.col("at").dt.epoch("us") if "at" in table.columns else pl.lit(None, pl.Int64)
    position = [pl.col("position")] if "position" in table.columns else []
    when = pl.coalesce([*position, at]).alias("when")
    rater = pl.Series("rater", view.codes_of(table["rater"]))
    columns = ("trial", "stimulus", "question", "place", "value")
    return table.select(rater, when, at.alias("at"), *columns).filter(pl.col("place").is_not_null())


# --- pattern ----------------------------------------------------------------------------------------------------------


def judge_pattern(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    answers, longest = given_answers(view), int(options.number("longest"))
    size, n = len(view.raters), answers.n
    if not (n >= LEAST_TRIALS).any():
        return f"nobody has {LEAST_TRIALS} trials in a known order"
    p, share, period = np.ones(size), np.zeros(size), np.zeros(size, np.int64)
    for rater in np.flatnonzero(n >= LEAST_TRIALS).tolist():
        p[rater], share[rater], period[rater] = _periodic(answers.answer[answers.of(rater)], longest)
    judged = n >= LEAST_TRIALS
    regular = judged & (p < options.limit(int(judged.sum()))) & (share >= options.number("at_least"))
    follows = np.zeros(size, dtype=bool)
    if regular.any() and view.rater.size:
        effect = effects(view, options.seed)
        follows = regular & (effect.p < RESCUE) & (effect.r > 0)

    def words(rater: int) -> str:
        note = " They follow what was played all the same." if follows[rater] else ""
        return (
            f"{number(100 * share[rater], 0)}% of the answers equal the one {int(period[rater])} trials before"
            f" ({p_value(p[rater])} without a pattern).{note}"
        )

    return [
        RuleVerdicts.about(
            np.flatnonzero(n),
            n=n,
            words=words,
            why=too_few(n, LEAST_TRIALS, "trials in a known order"),
            value=share,
            threshold=options.number("at_least"),
            p=np.where(follows, 1.0, p),
            flagged=regular & ~follows,
        )
    ]


def _periodic(answer: Ints, longest: int) -> tuple[float, float, int]:
    """p of the most regular period, the share of answers that fit it, and its length."""
    n = answer.size
    distance = np.arange(1, min(longest, n - LEAST_PAIRS) + 1)
    equal = np.array([np.sum(answer[d:] == answer[:-d]) for d in distance])
    share = equal / (n - distance)
    usual = (float(np.unique(answer, return_counts=True)[1].max()) + 1.0) / (n + 1.0)
    best = 1 + int(np.argmin(binomial_tail(equal, n - distance, usual)[1:]))  # not 1: one answer throughout
    rate = max(usual, float(np.median(np.delete(share, best))))
    p = float(binomial_tail(equal[best], n - distance[best], rate)) * (distance.size - 1)
    return min(1.0, p), float(share[best]), int(distance[best])


# --- the same answers as another rater's ------------------------------------------------------------------------------


def judge_parallel_sets(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    answers = given_answers(view)
    n = answers.n
    judged = np.flatnonzero(n >= LEAST_TRIALS)
    if judged.size < 2:
        return f"fewer than two raters have {LEAST_TRIALS} trials in a known order"
    if float(judged.size) ** 2 * int(n.max()) > WORK_AT_MOST:
        return "there are too many raters to compare every two of them"
    p, share, earlier, partner = _closest(answers, judged)
    pairs = judged.size * (judged.size - 1) // 2
    adjusted = np.minimum(p * pairs, 1.0)
    equal = adjusted < options.alpha
    flagged = equal & (earlier < options.number("at_least"))
    links = coo_array((np.ones(int(equal.sum())), (np.flatnonzero(equal), partner[equal])), shape=(judged.size,) * 2)
    label = connected_components(links, directed=False)[1]
    names = [view.raters[rater] for rater in judged.tolist()]
    first = {int(code): names[row] for row, code in reversed(list(enumerate(label)))}
    group = [first[int(label[row])] if equal[row] else None for row in range(judged.size)]

    def words(row: int) -> str:
        note = " This rater answered first." if equal[row] and not flagged[row] else ""
        return (
            f"{number(100 * share[row], 0)}% of the answers equal those of {names[int(partner[row])]} at the same trials, where"
            f" other stimuli were presented ({p_value(adjusted[row])} among {pairs:,} pairs of raters).{note}"
        )

    return [
        RuleVerdicts(
            rater=judged,
            n=n[judged],
            words=words,
            value=share,
            p=np.where(equal & ~flagged, 1.0, adjusted),
            flagged=flagged,
            group=group,
        )
    ]


def _closest(answers: GivenAnswers, judged: Ints) -> tuple[Floats, Floats, Floats, Ints]:
    """For each judged rater and the one with the most equal answers: p, their share, the share given earlier, and who it is."""
    width = int(answers.n[judged].max())
    answer, shown, at = np.full((3, judged.size, width), -1, dtype=np.int64)
    use = np.zeros((judged.size, int(answers.answer.max()) + 1), dtype=np.float64)
    for row, rater in enumerate(judged.tolist()):
        rows = answers.of(rater)
        length = rows.stop - rows.start
        answer[row, :length], shown[row, :length] = answers.answer[rows], answers.shown[rows]
        at[row, :length] = answers.at[rows]
        use[row] = np.bincount(answers.answer[rows], minlength=use.shape[1]) / length
    p, share, earlier = np.ones(judged.size), np.zeros(judged.size), np.zeros(judged.size)
    partner = np.zeros(judged.size, dtype=np.int64)
    for row in range(judged.size):
        counted = (answer >= 0) & (answer[row] >= 0) & (shown != shown[row])
        n = counted.sum(axis=1)
        equal = (counted & (answer == answer[row])).sum(axis=1)
        rate = (use @ use[row] * n + 1.0) / (n + 1.0)
        chance = np.where(n >= LEAST_TRIALS, binomial_tail(equal, n, rate), 1.0)
        chance[row] = 1.0
        closest = int(np.argmin(chance))
        p[row], partner[row] = float(chance[closest]), closest
        some = max(int(n[closest]), 1)
        share[row] = equal[closest] / some
        earlier[row] = np.sum(counted[closest] & (at[row] < at[closest])) / some
    return p, share, earlier, partner
