"""Rules that compare one number per rater with the panel's norm (``heartfelt.screening.norm``).

*Agreement*: the correlation of a rater's answers with the mean of the other raters', question by question. Correlations are
compared on Fisher's scale, where their sampling error is 1 / sqrt(n - 3). A rater is flagged who agrees much less with the
others than is usual here, which includes one who runs against them (a scale read upside down). It is a test of being
unlike the panel, not of carrying no information; see ``informativeness`` for that. Range -1 to 1.

*Bias*: how much higher or lower a rater answers than the others do about the same stimuli. A biased rater is not a careless
one: their answers order the stimuli as well as anybody's, and labels that model raters remove the bias. So bias adds
nothing to the carelessness ranking and no policy here drops raters for it. Unit: scale points, positive when the rater
answers higher.

*Spread*: the standard deviation of a rater's answers to one question. The logarithm of the spread is compared; its sampling
variance is 1 / (2 (n - 1)). Half a step of rounding is added to the variance (Sheppard), so a rater who never moves has a
small spread rather than none. Unit: scale points. A narrow use of the scale is a common style, so a low spread is flagged
only where the answers are also likely to carry no information: the posterior chance of that (rule ``informativeness``) is at
least ``LIKELY``, or the rater gives one answer throughout (rule ``straight-lining``). Where neither can be known, a rater with
a low spread is not judged.

*Response time*: a rater's median time for a trial (a rating, a pair, a set, a trace), without its clips. The recorded
``seconds`` are taken as net of the clips unless at least 95% of them reach the clips' length: then they include it and it is
subtracted (the setting ``seconds`` says ``net`` or ``gross`` outright). Where the study lets raters answer before the clips
have ended, net times are cut off at 0, so the time from one answer to the next is taken instead. The logarithm of the
median is compared; its sampling error is 1.2533 s / sqrt(n) for times that scatter by ``s``. Unit: seconds. Only fast
raters are flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.screening.norm import RaterMeasure, Side, compare_with_norm, within_arms
from heartfelt.screening.rule import Judge, Reasons, RuleOptions, RuleVerdicts, evidence_of, too_few
from heartfelt.screening.rules.ratings.informativeness import no_information
from heartfelt.screening.rules.ratings.repetition import straight_lines
from heartfelt.screening.view.ratings import Bools, RatingsView
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.wording import number

LEAST_CORRELATED = 6
LEAST_ANSWERS = 5
LEAST_SECONDS = 0.05
INCLUDES_CLIP = 0.95
LIKELY = 0.5
AGAINST = -3.5
"""Standard errors below zero from which answers are said to run against the others'."""
NO_ORDER = "no question has ordered answers"
STYLE = " The answers follow the stimuli: a narrow use of the scale."
UNKNOWN = "the spread is low, which may be a style, and whether the answers follow the stimuli is not known: "
_TIMES = ("auto", "net", "gross")


def _by_question(measure: Callable[[RatingsView, int], RaterMeasure], side: Side) -> Judge:
    """Compare a measure of every question with ordered answers."""

    def judge(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
        measures = [measure(view, q) for q in view.ordered_questions]
        return compare_with_norm(measures, side, options.alpha) if measures else NO_ORDER

    return judge


def _shared_answers(view: RatingsView, q: int) -> tuple[Ints, Ints]:
    """Rows of the channels with answers to a question about stimuli that others rated, and the raters who were asked."""
    channels = view.channels
    of_q = channels.question[channels.channel] == q
    return np.flatnonzero(of_q & (view.consensus.count > 0)), np.unique(channels.rater[of_q])


def _agreement_measure(view: RatingsView, q: int) -> RaterMeasure:
    rows, raters = _shared_answers(view, q)
    channels = view.channels
    r, n, flat_own, flat_others = correlations(
        channels.rater[rows], channels.value[rows], view.consensus.others[rows], len(view.raters)
    )
    reasons = too_few(n, LEAST_CORRELATED, "answers to stimuli that others rated")
    for rater in np.flatnonzero((n >= LEAST_CORRELATED) & (flat_own | flat_others)).tolist():
        reasons[rater] = (
            "all answers are the same, so they correlate with nothing"
            if flat_own[rater]
            else "the others' means do not differ between the stimuli"
        )
    value = np.arctanh(np.clip(r, -0.999, 0.999))
    question = view.questions[q]

    def ending(rater: int) -> str:
        if value[rater] * np.sqrt(max(n[rater] - 3, 1)) < AGAINST:
            return ". The answers run against the others', as they would on a scale read the other way round."
        return "."

    return RaterMeasure(
        question=question,
        asked=raters,
        value=value,
        error=1 / np.sqrt(np.maximum(n - 3, 1)),
        n=n,
        why=reasons,
        finding=lambda rater: f"The answers to '{question}' correlate {number(r[rater], 2)} with the others' means",
        ending=ending,
        shown=np.tanh,
    )


def correlations(rater: Ints, x: Floats, y: Floats, raters: int) -> tuple[Floats, Ints, Bools, Bools]:
    """Pearson correlation per rater (0 where a side does not vary), n, and whether each side is flat."""
    n = np.bincount(rater, minlength=raters)
    dx = x - (np.bincount(rater, x, raters) / np.maximum(n, 1))[rater]
    dy = y - (np.bincount(rater, y, raters) / np.maximum(n, 1))[rater]
    xx, yy = np.bincount(rater, dx * dx, raters), np.bincount(rater, dy * dy, raters)
    xy = np.bincount(rater, dx * dy, raters)
    flat_x, flat_y = xx < 1e-12 * np.maximum(n, 1), yy < 1e-12 * np.maximum(n, 1)
    scale = np.sqrt(xx * yy)
    r = np.divide(xy, scale, out=np.zeros(raters), where=~(flat_x | flat_y))
    return np.clip(r, -1.0, 1.0), n, flat_x, flat_y


def moments(rater: Ints, value: Floats, raters: int) -> tuple[Ints, Floats, Floats]:
    """Count, mean and variance (n - 1) of each rater's values; 0 where there are none."""
    n = np.bincount(rater, minlength=raters)
    mean = np.bincount(rater, value, raters) / np.maximum(n, 1)
    squares = np.bincount(rater, (value - mean[rater]) ** 2, raters)
    return n, mean, squares / np.maximum(n - 1, 1)


def _bias_measure(view: RatingsView, q: int) -> RaterMeasure:
    rows, raters = _shared_answers(view, q)
    difference = view.channels.value[rows] - view.consensus.others[rows]
    n, mean, variance = moments(view.channels.rater[rows], difference, len(view.raters))
    question = view.questions[q]

    def finding(rater: int) -> str:
        difference = f"{number(abs(mean[rater]), 2)} points {'higher' if mean[rater] >= 0 else 'lower'}"
        return f"Answers '{question}' {difference} than the others do about the same stimuli"

    return RaterMeasure(
        question=question,
        asked=raters,
        value=mean,
        error=np.sqrt(variance / np.maximum(n, 1)),
        n=n,
        why=too_few(n, LEAST_ANSWERS, "answers to stimuli that others rated"),
        finding=finding,
        median=None,
    )


def judge_spread(view: RatingsView, options: RuleOptions) -> Sequence[RuleVerdicts] | str:
    result = _by_question(_spread_measure, "low")(view, options)
    if isinstance(result, str) or not any(np.any(verdicts.flagged) for verdicts in result):
        return result
    posterior, unknown = no_information(view, options.seed)
    constant = straight_lines(view, options.alpha, options.seed).flagged
    empty = constant | (np.nan_to_num(posterior) >= LIKELY)
    for verdicts in result:
        _keep_careless(verdicts, empty, constant, unknown)
    return result


def _keep_careless(verdicts: RuleVerdicts, empty: Bools, constant: Bools, unknown: Reasons) -> None:
    """Keep the flags of raters whose answers are likely to carry no information; the others use the scale narrowly."""
    low, rater = np.asarray(verdicts.flagged), verdicts.rater
    assert rater is not None
    assert verdicts.why is not None
    follows = low & ~empty[rater]
    for row in np.flatnonzero(low).tolist():
        reason = None if constant[rater[row]] else unknown[rater[row]]
        if reason is not None:
            verdicts.why[row] = UNKNOWN + reason
    words = verdicts.words
    verdicts.words = lambda row: words(row) + (STYLE if follows[row] else "")
    if verdicts.p is not None:
        verdicts.evidence = np.where(follows, 0.0, evidence_of(verdicts.p))
    verdicts.flagged = low & ~follows


def _spread_measure(view: RatingsView, q: int) -> RaterMeasure:
    rows = view.first & (view.question == q)
    n, _, variance = moments(view.rater[rows], view.value[rows], len(view.raters))
    levels = np.unique(view.value[rows])
    step = float(np.diff(levels).min()) if levels.size > 1 else 1.0
    spread, error = 0.5 * np.log(variance + step**2 / 12), 1 / np.sqrt(2 * np.maximum(n - 1, 1))
    question = view.questions[q]

    return RaterMeasure(
        question=question,
        asked=np.flatnonzero(n),
        value=spread,
        error=error,
        n=n,
        why=too_few(n, LEAST_ANSWERS, "answers"),
        finding=lambda rater: f"The answers to '{question}' spread by {number(np.sqrt(variance[rater]), 2)} points",
        shown=np.exp,
    )


def judge_response_time(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    way = str(options.settings["seconds"])
    if way not in _TIMES:
        raise InputError(
            f"The setting 'seconds' of the rule 'response-time' is '{way}'.", suggestion(way, _TIMES, "Choices")
        )
    times = _recorded_times(view)
    if not times.height:
        return "no response times were recorded"
    if way == "auto" and view.study.design.listening != "full" and (times["clip"] > 0).any():
        times = view.trials.select("rater", pl.col("gap").alias("seconds")).drop_nulls()
        if not times.height:
            return "the time from one answer to the next is not known, and the clips need not be heard to the end"
        seconds = np.maximum(times["seconds"].to_numpy(), LEAST_SECONDS)
        return _fast(view, time_measure(view, times["rater"], seconds, " from one answer to the next"), options)
    seconds, gross = net_seconds(view, way)
    about = " for an answer after subtracting the clip" if gross else " for an answer"
    return _fast(view, time_measure(view, times["rater"], seconds, about), options)


def _fast(view: RatingsView, measure: RaterMeasure, options: RuleOptions) -> list[RuleVerdicts] | str:
    return compare_with_norm(within_arms(measure, view), "low", options.alpha)


def _recorded_times(view: RatingsView) -> pl.DataFrame:
    """``rater, seconds, clip``: every time recorded for a trial; answers that share one count once."""
    if not view.trials.height:
        return view.trials
    return view.trials.explode("seconds").filter(pl.col("seconds").is_finite())


def net_seconds(view: RatingsView, way: str = "auto") -> tuple[Floats, bool]:
    """Every recorded time without the clips, and whether their length had to be subtracted."""
    times = _recorded_times(view)
    seconds, clip = times["seconds"].to_numpy(), times["clip"].to_numpy()
    reached = seconds[clip > 0] >= clip[clip > 0]
    gross = way == "gross" or (way == "auto" and bool(reached.size) and float(np.mean(reached)) >= INCLUDES_CLIP)
    return np.maximum(seconds - clip if gross else seconds, LEAST_SECONDS), gross


def median_log_times(rater: Ints, seconds: Floats, raters: int) -> tuple[Floats, Floats, Ints]:
    """The median of the log seconds of each rater, its sampling error, and how many there are."""
    log = np.log(seconds)
    order = np.lexsort((log, rater))
    rater, log = rater[order], log[order]
    n, _, variance = moments(rater, log, raters)
    start = np.cumsum(n) - n
    last = max(log.size - 1, 0)
    low, high = (np.minimum(start + offset, last) for offset in ((n - 1) // 2, n // 2))
    middle = (log[low] + log[high]) / 2 if log.size else np.zeros(n.size)
    return middle, 1.2533 * np.sqrt(variance / np.maximum(n, 1)), n


def time_measure(
    view: RatingsView, rater: pl.Series, seconds: Floats, about: str, counted: str = "response times"
) -> RaterMeasure:
    """The median time of each rater; ``about`` says in the sentence for what, ``counted`` what a rater may have too few of."""
    middle, error, n = median_log_times(view.codes_of(rater), seconds, len(view.raters))
    return RaterMeasure(
        question=None,
        asked=np.flatnonzero(n),
        value=middle,
        error=error,
        n=n,
        why=too_few(n, LEAST_ANSWERS, counted),
        finding=lambda rater: f"Takes {number(np.exp(middle[rater]), 2)} s{about}",
        median=lambda centre: f"{number(centre, 2)} s",
        shown=np.exp,
    )


judge_agreement = _by_question(_agreement_measure, "low")
judge_bias = _by_question(_bias_measure, "both")
