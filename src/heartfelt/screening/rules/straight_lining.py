"""Straight-lining: one answer throughout, to every question.

A rater is a candidate whose most frequent answer makes up at least 95% of the answers, question by question. No
comparison of the answers with other raters' is needed for that: such answers say nothing about the stimuli, whoever else
does the same. What has to be ruled out is a question to which one answer is right throughout. So ``p`` is the chance that
a careful rater with a narrow use of the scale gives one answer so often, learnt from the raters whose answers vary
(``heartfelt.screening.uniformity``), and the limit is Bonferroni over raters. Where half the raters or more are candidates,
those who vary must agree about the stimuli, or the candidates must have settled on different answers; otherwise nobody
is judged. Candidates whose few other answers follow the stimuli, clearly (p below 0.01) or more likely than not by the
rule ``informativeness``, are not flagged. Unit: share of the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.norm import evidence
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions
from heartfelt.screening.rules.informativeness import AGREEMENT_NEEDED, Effects, Informativeness
from heartfelt.screening.uniformity import LEAST_ANSWERS, NEARLY_ALL, modal_answers, narrow_share
from heartfelt.screening.view import Bools, RatingsView
from heartfelt.screening.words import chance
from heartfelt.stats.triples import Floats

FOLLOWS = 0.01
LIKELY = 0.5
ONE_ANSWER = 0.75
"""Candidates settle on one answer if this share of them does."""
NOBODY_VARIES = "nobody's answers vary, so one answer throughout may be right"
NO_AGREEMENT = (
    "half the raters or more give one answer throughout and the others do not agree about the stimuli,"
    " so that answer may be right"
)


@dataclass(frozen=True, slots=True, eq=False)
class StraightLines:
    """Per rater: the smallest modal share over the questions, p, whether (nearly) constant, and why not judged."""

    share: Floats
    p: Floats
    candidate: Bools
    flagged: Bools
    why: list[str | None]


class StraightLining(Rule):
    """One answer throughout."""

    name: ClassVar[str] = "straight-lining"
    about: ClassVar[str] = "one answer throughout to every question, where careful raters' answers vary"
    statistic: ClassVar[str] = "share of the most frequent answer"

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater."""
        lines = straight_lines(view, options)
        judged = np.array([reason is None for reason in lines.why], dtype=bool)
        modal = modal_answers(view)
        words = [
            f"Not judged: {reason}."
            if reason is not None
            else _sentence(modal.times[:, rater], modal.n[:, rater], float(lines.p[rater]))
            if lines.candidate[rater]
            else f"The most frequent answer is given in {lines.share[rater]:.0%} of the answers to a question."
            for rater, reason in enumerate(lines.why)
        ]
        return self.rows(
            rater=list(view.raters),
            value=np.where(judged, lines.share, np.nan),
            threshold=np.where(judged, NEARLY_ALL, np.nan),
            p=np.where(judged, lines.p, np.nan),
            flagged=lines.flagged,
            evidence=np.where(judged, np.where(lines.flagged, evidence(lines.p, MOST_EVIDENCE), 0.0), np.nan),
            words=words,
            n=view.ratings_of,
            why_missing=lines.why,
        )


def straight_lines(view: RatingsView, options: RuleOptions) -> StraightLines:
    """Who gives (nearly) one answer throughout, and whether that can be a careful rater's."""
    return view.remember(
        ("straight lines", options.alpha, options.seed), lambda: _straight_lines(view, options)
    )


def _straight_lines(view: RatingsView, options: RuleOptions) -> StraightLines:
    modal = modal_answers(view)
    enough = modal.n >= LEAST_ANSWERS
    share = np.where(enough, modal.share, np.inf).min(axis=0)
    known: Bools = np.asarray(enough.any(axis=0))
    candidate: Bools = known & np.asarray((modal.constant | ~enough).all(axis=0))
    p, nobody = _chances(view, candidate)
    why: list[str | None] = [
        None if ok else f"fewer than {LEAST_ANSWERS} answers to a question" for ok in known.tolist()
    ]
    rule = RULES[Informativeness.name]
    assert isinstance(rule, Informativeness)
    own = RuleOptions(options.alpha, options.seed)
    effects = rule.effects(view, own)
    if nobody is None and candidate.sum() * 2 >= known.sum() > 0:
        nobody = None if _movers_agree(effects) or _answers_differ(view, candidate) else NO_AGREEMENT
    if nobody is not None:
        why = [
            reason or (nobody if one else None) for reason, one in zip(why, candidate.tolist(), strict=True)
        ]
    posterior, _ = rule.no_information(view, own)
    known_effect = np.array([reason is None for reason in effects.why], dtype=bool)
    follows = (known_effect & (effects.p < FOLLOWS)) | (posterior < LIKELY)
    judged = np.array([reason is None for reason in why], dtype=bool)
    flagged = candidate & judged & ~follows & (p < options.alpha / max(int(known.sum()), 1))
    return StraightLines(np.where(known, share, np.nan), p, candidate, flagged, why)


def _chances(view: RatingsView, candidate: Bools) -> tuple[Floats, str | None]:
    """The chance, for each rater, that a careful narrow rater gives one answer as often; and why nobody can be judged."""
    from scipy.special import bdtrc

    modal = modal_answers(view)
    p, nobody = np.ones(len(view.raters)), NOBODY_VARIES
    for q in range(len(view.questions)):
        moving = (modal.n[q] >= LEAST_ANSWERS) & ~modal.constant[q]
        if not moving.any():
            continue
        nobody = ""
        narrow = narrow_share(modal.times[q, moving], modal.n[q, moving])
        asked = candidate & (modal.n[q] >= LEAST_ANSWERS)
        tail = bdtrc(modal.times[q, asked] - 1, modal.n[q, asked].astype(np.int64), narrow)
        p[asked] = np.minimum(p[asked], tail)
    return p, nobody or None


def _movers_agree(effects: Effects) -> bool:
    """Whether the raters whose answers vary agree about the stimuli."""
    known = np.array([reason is None for reason in effects.why], dtype=bool)
    z = effects.fisher[known] * np.sqrt(effects.weight[known])
    return bool(z.size) and float(z.sum() / np.sqrt(z.size)) >= AGREEMENT_NEEDED


def _answers_differ(view: RatingsView, candidate: Bools) -> bool:
    """Whether the candidates have settled on different answers to some question."""
    answer = modal_answers(view).answer
    for q in range(len(view.questions)):
        mine = answer[q, candidate]
        mine = mine[np.isfinite(mine)]
        if mine.size > 1 and np.unique(mine, return_counts=True)[1].max() < ONE_ANSWER * mine.size:
            return True
    return False


def _sentence(times: Floats, n: Floats, p: float) -> str:
    asked = n > 0
    total, same = int(n[asked].sum()), int(times[asked].sum())
    what = "all" if same == total else f"{same} of"
    each = " for each question" if int(asked.sum()) > 1 else ""
    return (
        f"{what.capitalize()} {total} answers are the same{each}, so they say nothing about the stimuli"
        f" ({chance(p)} for a careful rater who uses the scale narrowly)."
    )


RULES.add(StraightLining.name, StraightLining())
