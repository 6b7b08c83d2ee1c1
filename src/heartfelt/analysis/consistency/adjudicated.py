"""Items that senior raters decided: how many by which rule, and how often the decision agrees with raters and machine.

The majority is the answer that more of the raters gave than any other, among those the senior rater saw; a tie is none. Answers
that are numbers have no majority: there the decision less the mean of the raters is given. Shares have Wilson's interval and
differences Student's t, with items as the sample: they hold for items such as these, chosen by the same rule. Items drawn at
random (rule ``random``) stand for all items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.stats._bounds import t_mean, wilson
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Scale, Study
from heartfelt.study.consistency.adjudication import answer_key

ANY_RULE = "any"
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjudicatedQuestion:
    """The decided items of one question that one rule selected, or ``any`` rule."""

    question: str
    rule: str
    items: int
    with_majority: Estimate
    """Share of the decisions that are the majority's answer."""
    with_draft: Estimate
    """Share of the decisions that are the machine's draft."""
    with_nobody: Estimate
    """Share of the decisions that no rater gave."""
    difference: Estimate
    """For numbers: the mean over items of the decision less the mean of the raters."""


@dataclass(frozen=True, slots=True)
class Adjudicated:
    """What senior raters decided."""

    items: int
    senior_raters: int
    revised: int
    """Items that were decided more than once."""
    questions: tuple[AdjudicatedQuestion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """One item in plain values."""

    question: str
    rules: tuple[str, ...]
    final: Hashable
    value: float | None
    answers: tuple[Hashable, ...]
    values: tuple[float, ...]
    draft: Hashable | None

    @property
    def majority(self) -> Hashable | None:
        (first, most), *runners_up = Counter(self.answers).most_common() or [(None, 0)]
        return None if runners_up and runners_up[0][1] == most else first


def adjudicated_items(snapshot: Snapshot) -> Adjudicated | None:
    """What was decided, by question and rule; None if nothing was."""
    table = snapshot.adjudications
    if not table.height:
        return None
    asked_ids = {question.id for question in snapshot.study.asked}
    items = [_read(row, snapshot.study) for row in table.iter_rows(named=True) if row["question"] in asked_ids]
    asked = dict.fromkeys(question.id for question in snapshot.study.asked)
    rows = [row for question in asked for row in _by_rule(question, items, snapshot.study.scale_of(question))]
    people = table["by"].n_unique() if "by" in table.columns else 0
    revised = int((table["decisions"] > 1).sum()) if "decisions" in table.columns else 0
    return Adjudicated(len(items), people, revised, tuple(rows))


def _by_rule(question: str, items: Sequence[_Decided], scale: Scale) -> Iterator[AdjudicatedQuestion]:
    """The decided items of a question together, and by rule where several selected them."""
    of_question = [item for item in items if item.question == question]
    if not of_question:
        return
    yield _question(question, ANY_RULE, of_question, scale)
    rules = dict.fromkeys(rule for item in of_question for rule in item.rules)
    for rule in rules if len(rules) > 1 else ():
        yield _question(question, rule, [item for item in of_question if rule in item.rules], scale)


def _read(row: dict[str, object], study: Study) -> _Decided:
    question = str(row["question"])
    scale = study.scale_of(question)
    history = AdjudicationHistory.read(str(row.get("history") or "{}"))
    worded = [answer for answer in history.answers if answer.words is not None]
    value, answer = row["value"], row.get("answer")
    number = value if isinstance(value, float) else None
    words = number if answer is None else str(answer)
    return _Decided(
        question=question,
        rules=_rules(row.get("rule")),
        final=answer_key(words, scale),
        value=number,
        answers=tuple(answer_key(answer.words, scale) for answer in worded),
        values=tuple(answer.value for answer in worded if answer.value is not None),
        draft=_draft(history.draft, question, study),
    )


def _rules(text: object) -> tuple[str, ...]:
    """The rules that selected an item, which are stored with commas between them."""
    return tuple(name.strip() for name in str(text or "").split(",") if name.strip())


def _draft(text: str | None, question: str, study: Study) -> Hashable | None:
    if text is None:
        return None
    try:
        value, answer = study.read(study.question(question), text)
    except InputError:
        return None
    return answer_key(value if answer is None else answer, study.scale_of(question))


def _question(question: str, rule: str, items: Sequence[_Decided], scale: Scale) -> AdjudicatedQuestion:
    numbers = scale.level == "interval"
    majority = (
        Estimate.missing("answers that are numbers have no majority", "share of decisions with the majority")
        if numbers
        else _share(items, lambda item: item.majority, "share of decisions with the majority", "no item has a majority")
    )
    drafted = _share(
        items, lambda item: item.draft, "share of decisions with the draft", "no draft was shown to senior raters"
    )
    answered = [item for item in items if item.answers]
    alone = _shares(
        [item.final not in item.answers for item in answered], "share of decisions nobody gave", "no item has answers"
    )
    return AdjudicatedQuestion(
        question=question,
        rule=rule,
        items=len(items),
        with_majority=majority,
        with_draft=drafted,
        with_nobody=alone,
        difference=_difference(items, numbers),
    )


def _share(
    items: Sequence[_Decided], compared_answer: Callable[[_Decided], Hashable | None], method: str, reason: str
) -> Estimate:
    """The share of decisions that are the same as something else, among the items that have it."""
    both = [(item.final, compared_answer(item)) for item in items]
    return _shares([final == compared for final, compared in both if compared is not None], method, reason)


def _shares(same: Sequence[bool], method: str, reason: str) -> Estimate:
    counts = {"items": len(same)}
    if not same:
        return Estimate.missing(reason, method, counts)
    agreeing_share = Estimate(value=sum(same) / len(same), method=method, counts=counts)
    return agreeing_share.with_interval(*wilson(sum(same), len(same), _CONFIDENCE), "Wilson over items", _CONFIDENCE)


def _difference(items: Sequence[_Decided], numbers: bool) -> Estimate:
    method = "mean difference of the decision from the raters' mean"
    if not numbers:
        return Estimate.missing("the answers are not numbers", method)
    differences = [
        item.value - math.fsum(item.values) / len(item.values)
        for item in items
        if item.value is not None and item.values
    ]
    counts = {"items": len(differences)}
    if not differences:
        return Estimate.missing("no item has ratings and a decided number", method, counts)
    values = np.array(differences)
    mean_difference = Estimate(value=float(values.mean()), method=method, counts=counts)
    bounds = t_mean(values, _CONFIDENCE)
    if bounds is None:
        return Estimate(value=mean_difference.value, method=method, counts=counts, why_no_interval="one item")
    return mean_difference.with_interval(*bounds, "Student's t over items", _CONFIDENCE)
