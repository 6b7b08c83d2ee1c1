"""Rules about answers that repeat: one answer throughout, many equal answers in a row, one answer to all questions.

*Straight-lining*: a rater is a candidate whose most frequent answer makes up at least 95% of the answers to every question.
Such answers say nothing about the stimuli, whoever else does the same, so no comparison of answers is needed. What has to
be ruled out is a question to which one answer is right throughout. So ``p`` is the chance that a careful rater with a narrow
use of the scale gives one answer so often. That rater's *modal share* (the share of the most frequent answer) is the centre,
on the logit scale, of the raters whose answers vary, plus ``NARROW`` standard deviations between them; candidates are no
part of that norm, so it holds however many there are. The limit is Bonferroni over raters. Where half the raters or
more are candidates, those who vary must agree about the stimuli, or the candidates must have settled on different answers;
otherwise nobody is judged. Candidates whose few other answers follow the stimuli, clearly (p below 0.01) or more likely than
not by the rule ``informativeness``, are not flagged. Unit: share of the answers.

*Longest run*: the most equal answers in a row to one question, compared with the rater's own habits, so that no style of
using the scale can pass for carelessness. For each of the rater's answers ``v``, the chance of giving ``v`` again right after
``v`` is learnt from the rest of the sequence, without the longest run. It is a Beta distribution whose prior, worth
``PRIOR`` answers, lies at the rater's rate over all answers or at the share of ``v``, whichever is higher; this also covers
drift, and stimuli in blocks, which make neighbours alike. The chance of a run of ``L`` or more is at most the sum over ``v``
of (runs of ``v``) times the mean of ``rate^(L - 1)``. The limit is Bonferroni over raters and questions. Unit: answers.
Presentation order must be known. Source of the statistic: Johnson (2005), "Ascertaining the validity of individual
protocols from web-based personality inventories".

*Identical answers*: how often all questions of one trial get the same answer, over questions on scales with the same ends and
trials on which at least two of them were answered. A careful rater's share depends on the questions, so it is compared with
the panel's norm on the logit scale, with the binomial sampling error. Unit: share of trials. A halo between questions
and a coarse use of the scale are styles that raise the share, so a rater is flagged only if beyond the norm and at
``SAME_ON`` of the trials or more, where the questions no longer get answers of their own. A rater whose own answers to each
question would make them equal on ``BY_ITSELF`` of the trials, however they were paired, is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.screening.norm import MAD_TO_SD, RaterMeasure, compare_with_norm
from heartfelt.screening.rule import Reasons, RuleOptions, RuleVerdicts, evidence_of, is_judged
from heartfelt.screening.rules.ratings.informativeness import effects, no_information, panel_agrees
from heartfelt.screening.view.ratings import Bools, RatingsView, remembered
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.wording import listed, p_value

NARROW = 2.33
LEAST_SPREAD = 0.75
"""The least spread between raters, in logits: styles differ at least that much."""
NEARLY_ALL = 0.95
LEAST_ANSWERS = 5
FOLLOWS = 0.01
LIKELY = 0.5
ONE_ANSWER = 0.75
"""Candidates settle on one answer if this share of them does."""
NOBODY_VARIES = "nobody's answers vary, so one answer throughout may be right"
NO_AGREEMENT = (
    "half the raters or more give one answer throughout and the others do not agree about the stimuli,"
    " so that answer may be right"
)

LEAST_RUN_ANSWERS = 10
PRIOR = 4.0
ONE_RUN = "all answers are the same; see the rule straight-lining"

LEAST_TRIALS = 8
SAME_ON = 0.9
BY_ITSELF = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class ModalAnswers:
    """For each (question, rater): how often the most frequent answer was given, which it is, and the number of answers."""

    times: Floats
    answer: Floats
    n: Floats

    @property
    def enough(self) -> Bools:
        return np.asarray(self.n >= LEAST_ANSWERS)

    @property
    def share(self) -> Floats:
        """The modal share; NaN without an answer."""
        share: Floats = np.divide(self.times, self.n, out=np.full(self.n.shape, np.nan), where=self.n > 0)
        return share

    @property
    def constant(self) -> Bools:
        """Where (nearly) all answers are the same, of at least ``LEAST_ANSWERS``."""
        # A hair of tolerance: 57 of 60 is 0.95.
        return np.asarray(self.enough & (self.times >= NEARLY_ALL * self.n - 1e-9))


@remembered
def modal_answers(view: RatingsView) -> ModalAnswers:
    """The most frequent answer of every rater to every question, first presentations only."""
    shape = (len(view.questions), len(view.raters))
    rows = np.flatnonzero(view.first)
    owner = view.question[rows] * shape[1] + view.rater[rows]
    levels, level = np.unique(view.value[rows], return_inverse=True)
    width = max(levels.size, 1)
    key, times = np.unique(owner * width + level, return_counts=True)
    # By owner, the most frequent first; of equals the lowest answer, so that the order of rows does not matter.
    order = np.lexsort((-times, key // width))
    key, times = key[order], times[order]
    owners, first = np.unique(key // width, return_index=True)
    most, answer = np.zeros(shape[0] * shape[1]), np.full(shape[0] * shape[1], np.nan)
    most[owners], answer[owners] = times[first], levels[key[first] % width]
    n = np.bincount(owner, minlength=shape[0] * shape[1]).astype(np.float64)
    return ModalAnswers(most.reshape(shape), answer.reshape(shape), n.reshape(shape))


def narrow_share(times: Floats, n: Floats) -> float:
    """The modal share of a plausible narrow rater, from raters whose answers vary (at least one)."""
    share = (times + 0.5) / (n + 1.0)
    logit = np.log(share / (1 - share))
    centre = float(np.median(logit))
    spread = MAD_TO_SD * float(np.median(np.abs(logit - centre)))
    return float(1 / (1 + np.exp(-(centre + NARROW * max(spread, LEAST_SPREAD)))))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StraightLines:
    """Per rater: the smallest modal share over the questions, p, whether (nearly) constant, and why not judged."""

    share: Floats
    p: Floats
    candidate: Bools
    flagged: Bools
    why: Reasons


@remembered
def straight_lines(view: RatingsView, alpha: float, seed: int) -> StraightLines:
    """Who gives (nearly) one answer throughout, and whether that can be a careful rater's."""
    modal = modal_answers(view)
    enough = modal.enough
    share = np.where(enough, modal.share, np.inf).min(axis=0)
    judgeable: Bools = np.asarray(enough.any(axis=0))
    candidate: Bools = judgeable & np.asarray((modal.constant | ~enough).all(axis=0))
    p, someone_varies = _chances(view, candidate)
    effect = effects(view, seed)
    nobody = None if someone_varies else NOBODY_VARIES
    if (
        someone_varies
        and candidate.sum() * 2 >= judgeable.sum() > 0
        and not panel_agrees(effect, is_judged(effect.why))
        and not _answers_differ(view, candidate)
    ):
        nobody = NO_AGREEMENT
    reasons: Reasons = [
        f"fewer than {LEAST_ANSWERS} answers to a question" if not ok else nobody if constant else None
        for ok, constant in zip(judgeable.tolist(), candidate.tolist(), strict=True)
    ]
    posterior, _ = no_information(view, seed)
    follows = (is_judged(effect.why) & (effect.p < FOLLOWS)) | (posterior < LIKELY)
    flagged = candidate & is_judged(reasons) & ~follows & (p < RuleOptions(alpha).limit(int(judgeable.sum())))
    return StraightLines(
        share=np.where(judgeable, share, np.nan), p=p, candidate=candidate, flagged=flagged, why=reasons
    )


def _chances(view: RatingsView, candidate: Bools) -> tuple[Floats, bool]:
    """The chance, for each rater, that a careful narrow rater gives one answer as often; and whether any answers vary."""
    from scipy.special import bdtrc

    modal = modal_answers(view)
    p, someone_varies = np.ones(len(view.raters)), False
    for q in range(len(view.questions)):
        moving = modal.enough[q] & ~modal.constant[q]
        if not moving.any():
            continue
        someone_varies = True
        narrow = narrow_share(modal.times[q, moving], modal.n[q, moving])
        tested = candidate & modal.enough[q]
        tail = bdtrc(modal.times[q, tested] - 1, modal.n[q, tested].astype(np.int64), narrow)
        p[tested] = np.minimum(p[tested], tail)
    return p, someone_varies


def _answers_differ(view: RatingsView, candidate: Bools) -> bool:
    """Whether the candidates have settled on different answers to some question."""
    answer = modal_answers(view).answer
    for q in range(len(view.questions)):
        answers = answer[q, candidate]
        answers = answers[np.isfinite(answers)]
        if answers.size > 1 and np.unique(answers, return_counts=True)[1].max() < ONE_ANSWER * answers.size:
            return True
    return False


def judge_straight_lining(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts]:
    lines, modal = straight_lines(view, options.alpha, options.seed), modal_answers(view)

    def words(rater: int) -> str:
        if not lines.candidate[rater]:
            return f"The most frequent answer is given in {lines.share[rater]:.0%} of the answers to a question."
        n, times = modal.n[:, rater], modal.times[:, rater]
        total, same = int(n.sum()), int(times.sum())
        per_question = " for each question" if np.count_nonzero(n) > 1 else ""
        return (
            f"{'All' if same == total else f'{same} of'} {total} answers are the same{per_question}, so they say nothing about the"
            f" stimuli ({p_value(lines.p[rater])} for a careful rater who uses the scale narrowly)."
        )

    return [
        RuleVerdicts(
            rater=None,
            n=view.ratings_of,
            words=words,
            why=lines.why,
            value=lines.share,
            threshold=NEARLY_ALL,
            p=lines.p,
            flagged=lines.flagged,
            evidence=np.where(lines.flagged, evidence_of(lines.p), 0.0),
        )
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of equal answers in presentation order. ``owner`` is question x raters + rater; ``last`` ends a sequence."""

    owner: Ints
    level: Ints
    length: Floats
    last: Bools


def runs_of(view: RatingsView) -> Runs:
    rows = np.flatnonzero(view.first)
    rows = rows[np.lexsort((view.trial[rows], view.rater[rows], view.question[rows]))]
    owner = view.question[rows] * len(view.raters) + view.rater[rows]
    _, level = np.unique(view.value[rows], return_inverse=True)
    if not rows.size:
        return Runs(owner, level, np.zeros(0), np.zeros(0, dtype=bool))
    new = np.flatnonzero(np.concatenate([[True], (owner[1:] != owner[:-1]) | (level[1:] != level[:-1])]))
    length = np.diff(np.append(new, rows.size)).astype(np.float64)
    last = np.append(owner[new][1:] != owner[new][:-1], True)
    return Runs(owner[new], level[new], length, last)


def longest_runs(runs: Runs, owners: int) -> Floats:
    longest = np.zeros(owners)
    np.maximum.at(longest, runs.owner, runs.length)
    return longest


def run_chances(runs: Runs, owners: int) -> Floats:
    """The chance (at most), for each owner, of a run as long as the longest, by the owner's own habits; 1 without runs."""
    from scipy.special import betaln

    out = np.zeros(owners)
    if not runs.owner.size:
        return out + 1.0
    longest = longest_runs(runs, owners)
    order = np.lexsort((-runs.length, runs.owner))
    first = np.unique(runs.owner[order], return_index=True)[1]
    spare = np.ones(runs.owner.size)
    spare[order[first]] = 0.0  # the longest run is no evidence about itself
    again, ended = spare * (runs.length - 1), spare * ~runs.last
    width = int(runs.level.max()) + 1
    key, group = np.unique(runs.owner * width + runs.level, return_inverse=True)
    of = key // width
    rate = (np.bincount(runs.owner, again, owners) + 0.5) / (np.bincount(runs.owner, again + ended, owners) + 1.0)
    answers = np.bincount(runs.owner, spare * runs.length, owners)
    share = (np.bincount(group, spare * runs.length) + 0.5) / (answers[of] + 1.0)
    expected = np.maximum(rate[of], share)
    stay = np.bincount(group, again) + PRIOR * expected
    leave = np.bincount(group, ended) + PRIOR * (1 - expected)
    log_mean = betaln(stay + longest[of] - 1, leave) - betaln(stay, leave)
    np.add.at(out, of, np.bincount(group) * np.exp(log_mean))
    out[np.bincount(runs.owner, minlength=owners) == 0] = 1.0
    return np.minimum(out, 1.0)


def judge_longest_run(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts]:
    shape = (len(view.questions), len(view.raters))
    runs, owners = runs_of(view), shape[0] * shape[1]
    p = run_chances(runs, owners).reshape(shape)
    longest = longest_runs(runs, owners).reshape(shape)
    n = modal_answers(view).n
    limit = options.limit(int(((n >= LEAST_RUN_ANSWERS) & (longest < n) & view.ordered).sum()))
    return [_runs_of_question(view, q, n[q], longest[q], p[q], limit) for q in range(shape[0])]


def _runs_of_question(view: RatingsView, q: int, n: Floats, longest: Floats, p: Floats, limit: float) -> RuleVerdicts:
    reasons: Reasons = [
        "the order of presentation is not known"
        if not ordered
        else f"fewer than {LEAST_RUN_ANSWERS} answers"
        if count < LEAST_RUN_ANSWERS
        else ONE_RUN
        if run == count
        else None
        for ordered, count, run in zip(view.ordered.tolist(), n.tolist(), longest.tolist(), strict=True)
    ]
    question = view.questions[q]

    def words(rater: int) -> str:
        return (
            f"Gives the same answer to '{question}' {int(longest[rater])} times in a row of {int(n[rater])}"
            f" ({p_value(p[rater])} by this rater's other answers)."
        )

    return RuleVerdicts.about(
        np.flatnonzero(n > 0), n=n, words=words, why=reasons, value=longest, p=p, flagged=p < limit, question=question
    )


def judge_identical_answers(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    sets: dict[tuple[float, float], list[int]] = {}
    for q, question in enumerate(view.questions):
        ends = view.study.scale_of(question).bounds()
        if ends is not None and not view.unordered[q] and ends != (0.0, 1.0):
            sets.setdefault(ends, []).append(q)
    measures = [_identical_measure(view, members) for members in sets.values() if len(members) > 1]
    measures = [measure for measure in measures if measure.asked.size]
    if not measures:
        return "no two questions of a trial share a scale of more than two points"
    result = compare_with_norm(measures, "high", options.alpha)
    assert not isinstance(result, str)
    for verdicts in result:
        # The shown value has half a trial added on each side; the share itself is what must be high.
        n = np.asarray(verdicts.n)
        share = (np.asarray(verdicts.value) * (n + 1) - 0.5) / n
        verdicts.flagged = np.asarray(verdicts.flagged) & (share >= SAME_ON - 1e-9)
    return result


def _identical_measure(view: RatingsView, members: list[int]) -> RaterMeasure:
    rows = np.flatnonzero(view.first & np.isin(view.question, members))
    trial, value = view.trial[rows], view.value[rows]
    new = np.flatnonzero(np.diff(trial, prepend=-1))
    several = np.diff(np.append(new, rows.size)) > 1
    same = np.zeros(0, dtype=bool)
    if new.size:
        same = np.maximum.reduceat(value, new) == np.minimum.reduceat(value, new)
    owner = view.rater[rows[new]][several]
    n = np.bincount(owner, minlength=len(view.raters))
    hits = np.bincount(owner, same[several], len(view.raters))
    share = (hits + 0.5) / (n + 1.0)
    pointless = _equal_by_itself(view, members) >= BY_ITSELF
    names = listed([f"'{view.questions[q]}'" for q in members])

    def back(numbers: Floats) -> Floats:
        return 1 / (1 + np.exp(-numbers))

    reasons: Reasons = [
        f"fewer than {LEAST_TRIALS} trials with several answers"
        if count < LEAST_TRIALS
        else "nearly all answers to these questions are one value"
        if alone
        else None
        for count, alone in zip(n.tolist(), pointless.tolist(), strict=True)
    ]
    error = 1 / np.sqrt((n + 1.0) * share * (1 - share))
    return RaterMeasure(
        question=None,
        asked=np.flatnonzero(n),
        value=np.log(share / (1 - share)),
        error=error,
        n=n,
        why=reasons,
        finding=lambda rater: f"Gives {names} the same answer on {int(hits[rater])} of {int(n[rater])} trials",
        median=lambda centre: f"{100 * centre:.0f}%",
        shown=back,
    )


def _equal_by_itself(view: RatingsView, members: list[int]) -> Floats:
    """The share of trials on which each rater's answers would be equal if the questions had nothing to do with each other."""
    rows = np.flatnonzero(view.first & np.isin(view.question, members))
    levels, level = np.unique(view.value[rows], return_inverse=True)
    width, raters = max(levels.size, 1), len(view.raters)
    together = np.ones(raters * width)
    for q in members:
        of_question = view.question[rows] == q
        n = np.bincount(view.rater[rows][of_question], minlength=raters)
        times = np.bincount(view.rater[rows][of_question] * width + level[of_question], minlength=raters * width)
        # A question the rater was not asked says nothing about the others.
        together *= np.where(np.repeat(n, width) > 0, times / np.maximum(np.repeat(n, width), 1), 1.0)
    expected: Floats = together.reshape(raters, width).sum(axis=1)
    return expected
