"""Rules about stimuli judged together: always one side, always a tie, disagreement with the rest, circular triads, MUSHRA.

Comparisons are those of systems where the stimuli have several, else those of stimuli; rankings and best-worst answers count with
the pairs that follow from them.

*Side bias*: the share of first choices among a rater's decided comparisons. The order of presentation is random, so without
a preference for a side it is near one half. Careful raters differ a little in such a preference, so p is the binomial chance of so
one-sided answers at the rate of a careful rater with a strong one: the median of the others plus 2.33 standard deviations between
raters on the logit scale, of at least 0.3 each. The limit is Bonferroni over the raters judged, and one side must have got at
least ``at_least`` of the decided answers. Ten decided comparisons are needed.

*Always tie*: at least ``at_least`` of the answers are ties. p is the binomial chance of so many ties at the rate of a careful
rater with many: that of the others' median plus 2.33 standard deviations between raters on the logit scale, at least 0.75. So
nobody is flagged where ties are the right answer.

*Choice agreement*: the correlation of a rater's decided comparisons (1 for the first, -1 for the second) with what the other
raters' answers predict: by strengths fitted without the rater, or by the others' answers to the same two stimuli where there are
more than 60 contestants. The order of presentation is random, so the correlation of somebody who does not look has mean 0 and
variance 1 / n. Raters are taken as two kinds and flagged as in :mod:`heartfelt.screening.rules.ratings.informativeness`.

*Circular triads*: the share of triads (a over b, b over c, c over a) among those a rater judged completely, compared with the
panel's norm on the arcsine scale; only high shares. Guessing gives one quarter. Ten triads are needed.

*MUSHRA*: the post-screening of ITU-R BS.1534-3. A listener is flagged who grades the hidden reference below 90 in more than
15% of the items. A standard without a false-positive rate. Its limit on the mid-range anchor is applied in the analysis,
where that anchor is known. Where one stimulus is judged next to the named reference (DCR), the hidden reference is missed two
points or more below the top of the scale, and one miss is not enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.screening.norm import RaterMeasure, compare_with_norm
from heartfelt.screening.rule import LIMIT_EVIDENCE, RuleOptions, RuleVerdicts, too_few
from heartfelt.screening.rules.ratings.informativeness import Effects, judged_as_two_kinds
from heartfelt.screening.tolerated import binomial_tail
from heartfelt.screening.view.ratings import RatingsView, remembered
from heartfelt.snapshot.comparisons import choices, contests, members
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.comparison.judges.consistency import TRIADS_AT_MOST, count_triads, strengths_without_each
from heartfelt.stats.comparison.mushra import LIMIT, MOST_ITEMS
from heartfelt.stats.comparison.pairs import Comparisons, as_comparisons
from heartfelt.wording import number, p_value, percent

LEAST = 10
FEW_CONTESTANTS = 60
WORK_AT_MOST = 2e8
NARROW = 0.75
DEVIATIONS = 2.33
ROBUST = 1.4826
"""Standard deviations per median absolute deviation."""
MANY_RATERS = 500
LEAST_SIDE_SPREAD = 0.3
"""Log odds by which careful raters may differ in their preference for a side, at least."""
SHORT_SCALE = 10.0
"""A scale this long or shorter is answered in points."""
NOTHING = "no question compares stimuli in pairs or ranks"


@dataclass(frozen=True, slots=True, eq=False)
class QuestionComparisons:
    """The comparisons of one question, raters by their codes in the view."""

    question: str
    rater: Ints
    table: pl.DataFrame
    """``first, second, value`` of systems or stimuli, and the stimuli themselves."""
    ties: bool
    """Whether raters could answer that there is no difference."""

    @property
    def ordered(self) -> bool:
        """Whether it is known which of two was presented first."""
        return bool(self.table["ordered"].all())

    def count(self, raters: int, rows: npt.NDArray[np.bool_] | None = None) -> Ints:
        """How many comparisons each rater has, of all or of some."""
        return np.bincount(self.rater if rows is None else self.rater[rows], minlength=raters)

    @property
    def coded(self) -> Comparisons:
        return as_comparisons(self.rater, self.table["first"], self.table["second"], self.table["value"])

    @property
    def value(self) -> Floats:
        """1 for the first, 0 for the second, 0.5 for a tie."""
        return self.table["value"].to_numpy()


@remembered
def compared(view: RatingsView) -> list[QuestionComparisons]:
    out = []
    several = "system" in view.stimuli.columns and view.stimuli["system"].drop_nulls().n_unique() > 1
    for question in view.study.asked if view.sets.height else ():
        table = choices(view.sets, question.id, view.study.scale_of(question.id))
        if not table.height:
            continue
        comparisons = contests(table, view.stimuli, "system") if several else None
        if comparisons is None or not comparisons.height:
            comparisons = contests(table, view.stimuli, "stimulus")
        rater = view.codes_of(comparisons["rater"])
        scale = view.study.scale_of(question.id)
        ties = bool(getattr(scale, "ties", False)) or getattr(scale, "type", "") == "preference"
        out.append(QuestionComparisons(question.id, rater, comparisons, ties))
    return out


# --- one side, ties ---------------------------------------------------------------------------------------------------


def judge_sides(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    every = [answers for answers in compared(view) if _paired(view, answers.question)]
    if not every:
        return "no question asks for a choice between two"
    if view.study.sets is not None and view.study.sets.reference_first:
        return "the reference always came first, so that a side is also a preference"
    every = [answers for answers in every if answers.ordered]
    if not every:
        return "the order of presentation was not recorded"
    size = len(view.raters)
    decided = [answers.count(size, answers.value != 0.5) for answers in every]
    limit = options.limit(sum(int((n >= LEAST).sum()) for n in decided))
    return [
        _sides(answers, n, limit, options.number("at_least"), size) for answers, n in zip(every, decided, strict=True)
    ]


def _paired(view: RatingsView, question: str) -> bool:
    return getattr(view.study.scale_of(question), "type", "") in {"choice", "preference"}


def _sides(answers: QuestionComparisons, n: Ints, limit: float, at_least: float, size: int) -> RuleVerdicts:
    firsts = np.bincount(answers.rater[answers.value == 1.0], minlength=size)
    p = _side_chances(firsts, n)
    share = firsts / np.maximum(n, 1)
    one_sided = np.maximum(share, 1.0 - share)

    def words(r: int) -> str:
        side = "first" if share[r] >= 0.5 else "second"
        many = int(firsts[r] if share[r] >= 0.5 else n[r] - firsts[r])
        return (
            f"Chose the {side} of two in {many} of {int(n[r])} decided answers to '{answers.question}', where the order was random"
            f" ({p_value(p[r])} for a careful rater)."
        )

    return RuleVerdicts.about(
        np.flatnonzero(answers.count(size)),
        n=n,
        words=words,
        why=too_few(n, LEAST, "decided comparisons"),
        value=share,
        threshold=np.where(share >= 0.5, at_least, 1.0 - at_least),
        p=p,
        flagged=(p < limit) & (one_sided >= at_least),
        question=answers.question,
    )


def _side_chances(firsts: Ints, n: Ints) -> Floats:
    """The chance of so one-sided answers, or more so, from a careful rater with a strong preference for that side."""
    from scipy.special import bdtr, expit

    low, high = _careful_range(firsts, n, LEAST_SIDE_SPREAD)
    return np.minimum(2.0 * np.minimum(binomial_tail(firsts, n, expit(high)), bdtr(firsts, n, expit(low))), 1.0)


def _careful_range(hits: Ints, n: Ints, least_spread: float) -> tuple[Floats, Floats]:
    """For each rater, the range of log odds that the other raters' habits span: their median and 2.33 deviations either way."""
    from scipy.special import logit

    log_odds = logit((hits + 0.5) / (n + 1.0))
    centre, spread = np.zeros(n.size), np.full(n.size, least_spread)
    enough = n >= LEAST
    many = int(enough.sum()) > MANY_RATERS
    for r in (None,) if many else np.flatnonzero(n).tolist():
        # Among many raters, leaving the rater out does not move the median.
        compared_with = log_odds[enough if r is None else enough & (np.arange(n.size) != r)]
        if compared_with.size > 1:
            index = slice(None) if r is None else r
            middle = float(np.median(compared_with))
            centre[index] = middle
            spread[index] = max(least_spread, ROBUST * float(np.median(np.abs(compared_with - middle))))
    return centre - DEVIATIONS * spread, centre + DEVIATIONS * spread


def judge_ties(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    every = [answers for answers in compared(view) if answers.ties]
    if not every:
        return "no question offers a tie"
    size = len(view.raters)
    limit = options.limit(sum(int((answers.count(size) >= LEAST).sum()) for answers in every))
    return [_ties(answers, limit, options.number("at_least"), size) for answers in every]


def _ties(answers: QuestionComparisons, limit: float, at_least: float, size: int) -> RuleVerdicts:
    from scipy.special import expit

    n, tied = answers.count(size), answers.count(size, answers.value == 0.5)
    share = tied / np.maximum(n, 1)
    _, high = _careful_range(tied, n, 0.0)
    p = binomial_tail(tied, n, np.maximum(NARROW, expit(high)))

    def words(r: int) -> str:
        times = f"{int(tied[r])} of {int(n[r])} times"
        return f"Answered '{answers.question}' with a tie {times} ({p_value(p[r])} for a careful rater)."

    return RuleVerdicts.about(
        np.flatnonzero(n),
        n=n,
        words=words,
        why=too_few(n, LEAST, "comparisons"),
        value=share,
        threshold=at_least,
        p=p,
        flagged=(share >= at_least) & (p < limit),
        question=answers.question,
    )


# --- agreement and triads ---------------------------------------------------------------------------------------------


def _share(angle: Floats) -> Floats:
    return np.asarray(np.sin(np.clip(angle, 0.0, np.pi / 2)) ** 2)


def judge_choice_agreement(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    every = compared(view)
    if not every:
        return NOTHING
    return [
        judged_as_two_kinds(
            _effects(view, answers),
            options,
            f"The answers to '{answers.question}' correlate {{}} with what the others' answers predict",
            answers.question,
        )
        for answers in every
    ]


def _effects(view: RatingsView, answers: QuestionComparisons) -> Effects:
    """Each rater's correlation of decided answers (1 or -1 for the first) with predictions from the other raters.

    The order of presentation is random, so for a rater who does not look the sign of each prediction is a coin toss: the
    correlation has mean 0 and variance 1 / n, whatever side or pattern the rater prefers.
    """
    from scipy.special import ndtr

    size = len(view.raters)
    predicted = _by_strengths(answers) if _is_small(view, answers) else _by_majorities(answers)
    lean = 2.0 * answers.value - 1.0
    used = (lean != 0) & (np.abs(predicted) > 1e-9)
    rater, x, y = answers.rater[used], predicted[used], lean[used]
    n = np.bincount(rater, minlength=size)
    squares = np.bincount(rater, x * x, minlength=size)
    r = np.bincount(rater, x * y, minlength=size) / np.sqrt(np.maximum(squares * n, 1e-300))
    reasons = too_few(n, LEAST, "decided comparisons that the others predict")
    p = 2.0 * ndtr(-np.abs(r) * np.sqrt(n))
    return Effects(
        r=np.asarray(r), weight=np.maximum(n - 1.0, 1.0), p=np.asarray(p), n=answers.count(size), why=reasons
    )


def _is_small(view: RatingsView, answers: QuestionComparisons) -> bool:
    """Whether strengths can be fitted without each rater in turn."""
    table = answers.table
    contestants = pl.concat([table["first"], table["second"].alias("first")]).n_unique()
    return contestants <= FEW_CONTESTANTS and len(view.raters) * table.height <= WORK_AT_MOST


def _by_strengths(answers: QuestionComparisons) -> Floats:
    """How far each comparison favours the first, from the strengths that the other raters' answers give: -1 to 1."""
    data = answers.coded
    out = np.zeros(data.size)
    for rater, strengths in enumerate(strengths_without_each(data)):
        if strengths is not None:
            of_rater = data.rater == rater
            out[of_rater] = np.tanh((strengths[data.first[of_rater]] - strengths[data.second[of_rater]]) / 2.0)
    return out


def _by_majorities(comparisons: QuestionComparisons) -> Floats:
    """The same from the other raters' answers to the same two stimuli."""
    turned = pl.col("first_stimulus") > pl.col("second_stimulus")
    pair = pl.concat_str(
        pl.min_horizontal("first_stimulus", "second_stimulus"),
        pl.max_horizontal("first_stimulus", "second_stimulus"),
        separator="\x1f",
    )
    sign = pl.when(turned).then(-1.0).otherwise(1.0)
    lean = sign * (2.0 * pl.col("value") - 1.0)
    table = comparisons.table.select(
        pl.Series("rater", comparisons.rater), pair.alias("pair"), sign.alias("sign"), lean.alias("lean")
    )
    sums, counts = pl.col("lean").sum(), pl.len()
    others_sum = sums.over("pair") - sums.over("pair", "rater")
    answers = counts.over("pair") - counts.over("pair", "rater")
    return table.select(pl.col("sign") * others_sum / (answers + 1.0)).to_series().to_numpy()


def judge_circular_triads(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    every = compared(view)
    if not every:
        return NOTHING
    size, measures, uncounted = len(view.raters), [], False
    for answers in every:
        data = answers.coded
        decided = np.flatnonzero(data.value != 0.5)
        decided = decided[np.argsort(answers.rater[decided], kind="stable")]
        edges = np.searchsorted(answers.rater[decided], np.arange(size + 1))
        triads, circular = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for rater, (start, end) in enumerate(pairwise(edges.tolist())):
            counted = count_triads(data, decided[start:end]) if end - start > 2 else None
            uncounted |= counted is None and end - start > 2
            if counted is not None:
                triads[rater], circular[rater] = counted.count, counted.circular
        if triads.any():
            measures.append(_triad_measure(answers, triads, circular))
    if not measures:
        if uncounted:
            return f"the raters judged more than {TRIADS_AT_MOST:,} triads each, too many to count"
        return "no rater judged three contestants in all three pairs"
    return compare_with_norm(measures, "high", options.alpha)


def _triad_measure(answers: QuestionComparisons, triads: Ints, circular: Ints) -> RaterMeasure:
    share = (circular + 0.375) / (triads + 0.75)
    about = f"triads in the answers to '{answers.question}' are circular"
    return RaterMeasure(
        question=answers.question,
        asked=np.flatnonzero(answers.count(triads.size)),
        value=np.arcsin(np.sqrt(share)),
        error=0.5 / np.sqrt(np.maximum(triads, 1)),
        n=triads,
        why=too_few(triads, LEAST, "complete triads"),
        finding=lambda rater: f"{int(circular[rater])} of {int(triads[rater])} {about}",
        median=percent,
        ending=lambda _rater: "; guessing gives 25%.",
        shown=_share,
    )


# --- MUSHRA -----------------------------------------------------------------------------------------------------------


def judge_mushra(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    del options
    out = [measure for question in view.study.asked if (measure := _listeners(view, question.id)) is not None]
    return out or "no question has grades of a hidden reference"


def _listeners(view: RatingsView, question: str) -> RuleVerdicts | None:
    rows = members(view.sets, question)
    bounds = view.study.scale_of(question).bounds()
    hidden = rows.filter(pl.col("role") == "hidden-reference")
    if not hidden.height or bounds is None:
        return None
    low, high = bounds
    sets = view.study.sets
    alone = sets is not None and sets.type == "reference"
    # Next to the named reference one point of a short scale may be an honest doubt, and so may one trial.
    below = high - 1.0 if alone and high - low <= SHORT_SCALE else low + (high - low) * LIMIT / 100.0
    counted = hidden.group_by("rater").agg(pl.len().alias("n"), (pl.col("value") < below).sum().alias("below"))
    rater = view.codes_of(counted["rater"])
    order = np.argsort(rater)
    n, missed = counted["n"].to_numpy()[order], counted["below"].to_numpy()[order]
    share = missed / n
    flagged = (share > MOST_ITEMS) & (missed > 1 if alone else missed > 0)
    limit = "the limit is" if alone else "ITU-R BS.1534 allows"
    return RuleVerdicts(
        rater=rater[order],
        n=n,
        words=lambda row: (
            f"Graded the hidden reference below {number(below)} in {int(missed[row])} of {int(n[row])} items of '{question}'"
            f" ({limit} {percent(MOST_ITEMS)})."
        ),
        value=share,
        threshold=MOST_ITEMS,
        flagged=flagged,
        evidence=np.where(flagged, LIMIT_EVIDENCE, 0.0),
        question=question,
    )
