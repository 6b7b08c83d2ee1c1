"""Which items senior raters are to decide, what they see of each, and what they have decided.

An item is selected from the answers that count: ordinary trials of raters who are not excluded, first presentations, no
planted values (which test the rater). Selection is a function of what was collected and takes time in proportion to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import polars as pl
from sqlalchemy import Connection, text

from heartfelt.collect.material import StudyUnits, Unit
from heartfelt.collect.reading.tables import exclusions, moment, query
from heartfelt.serialization import dumps
from heartfelt.snapshot.adjudications import AdjudicationHistory, EarlierDecision, ShownAnswer
from heartfelt.streams import derived_seed
from heartfelt.study import Scale, Study
from heartfelt.study.consistency.adjudication import adjudicated, answer_key
from heartfelt.study.parts.adjudication_rules import (
    AdjudicationRule,
    DisagreementRule,
    FlaggedRule,
    PlantedRule,
    RandomRule,
    RejectedRule,
)
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import Tags
from heartfelt.study.scales.similarity import similarity
from heartfelt.tables import ADJUDICATIONS

ITEM = ["stimulus", "question"]
_UNIT = 2**63


class AnonymousAnswer(NamedTuple):
    """One answer to an item, without who gave it and when."""

    trial: int
    value: float | None
    answer: str | None
    verdict: str | None = None
    """What the rater made of the machine's draft, where there was one."""
    planted: bool = False
    """Whether a wrong value was shown on purpose: the answer is not shown."""

    @property
    def words(self) -> float | str | None:
        """The answer in words, else its number; None where the draft was rejected."""
        return self.value if self.answer is None else self.answer


class AdjudicationDecision(NamedTuple):
    """What a senior rater decided about an item."""

    seq: int
    at: float
    value: float | None
    answer: str | None
    comment: str | None
    rule: str
    made_by: str
    trials: tuple[int, ...] = ()
    """The trials whose answers were shown."""
    draft: str | None = None
    """The draft that was shown among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjudicationItem:
    """One item for senior raters: the rules that selected it, the answers, the draft, and its decisions, oldest first."""

    stimulus: str
    question: str
    rules: tuple[str, ...]
    answers: tuple[AnonymousAnswer, ...]
    draft: str | None = None
    decisions: tuple[AdjudicationDecision, ...] = ()
    media: str | None = None
    """The opaque id of the stimulus's media file."""
    prompt: str | None = None
    """The prompt, where the question shows it."""


@dataclass(frozen=True, slots=True)
class AdjudicationState:
    """Every item that waits for a senior rater or was decided by one, at the moment of the change with that number."""

    change: int
    items: tuple[AdjudicationItem, ...]

    @property
    def waiting(self) -> int:
        """Items that are selected and not decided."""
        return sum(not item.decisions for item in self.items)

    @property
    def decided(self) -> int:
        """Items with a decision."""
        return len(self.items) - self.waiting


def adjudication_state(connection: Connection, material: StudyUnits) -> AdjudicationState:
    """What waits for senior raters and what they decided, as ``connection`` sees it."""
    change = int(connection.exec_driver_sql("SELECT max(seq) FROM journal").scalar() or 0)
    study = material.study
    questions = adjudicated(study)
    decided = decisions(connection)
    if not questions and not decided:
        return AdjudicationState(change, ())
    answers = _answers(connection, [*questions, *{question for _, question in decided}])
    units = {(unit.stimulus, question): unit for unit in material.units.values() for question in unit.questions}
    rules = select(study, answers, _trials(connection), _flags(connection))
    stimulus_names = set(material.opened.stimuli["stimulus"].to_list())
    order = {question.id: index for index, question in enumerate(study.asked)}
    names = [item for item in dict.fromkeys([*rules, *decided]) if item[0] in stimulus_names and item[1] in order]
    stimuli = {stimulus: index for index, stimulus in enumerate(dict.fromkeys(stimulus for stimulus, _ in names))}
    names.sort(key=lambda item: (stimuli[item[0]], order[item[1]]))
    items = (
        _item(item, rules.get(item, ()), answers.get(item, ()), decided.get(item, ()), units.get(item), study)
        for item in names
    )
    return AdjudicationState(change, tuple(items))


def _item(
    item: tuple[str, str],
    rules: tuple[str, ...],
    answers: tuple[AnonymousAnswer, ...],
    made_decisions: tuple[AdjudicationDecision, ...],
    unit: Unit | None,
    study: Study,
) -> AdjudicationItem:
    stimulus, question = item
    decided = AdjudicationItem(
        stimulus=stimulus, question=question, rules=rules, answers=answers, decisions=made_decisions
    )
    if unit is None:
        return decided
    draft = unit.machine[question][0] if question in unit.machine else None
    prompt = unit.prompt if "prompt" in study.question(question).shows else None
    return replace(decided, draft=draft, media=unit.media, prompt=prompt)


Items: TypeAlias = Mapping[tuple[str, str], tuple[AnonymousAnswer, ...]]
_COUNTED = "FROM ratings g JOIN answers a ON a.trial = g.trial WHERE a.kind = 'rating' AND g.stimulus IS NOT NULL"


def _answers(connection: Connection, questions: Iterable[str]) -> Items:
    """The answers that count, by item."""
    frame = query(
        connection,
        "g.stimulus text, g.question text, g.trial integer, g.value real, g.answer text, g.verdict text, g.shown text",
        f"{_COUNTED}{_not_excluded(connection)} ORDER BY g.trial",
    ).filter(pl.col("question").is_in(list(set(questions))))
    out: dict[tuple[str, str], list[AnonymousAnswer]] = {}
    for stimulus, question, trial, value, answer, verdict, shown in frame.iter_rows():
        anonymous = AnonymousAnswer(trial, value, answer, verdict, shown == "planted")
        out.setdefault((stimulus, question), []).append(anonymous)
    return {item: tuple(answers) for item, answers in out.items()}


def _not_excluded(connection: Connection) -> str:
    numbers = ", ".join(str(int(number)) for number in exclusions(connection))
    return f" AND a.rater NOT IN ({numbers})" if numbers else ""


def _trials(connection: Connection) -> dict[str, int]:
    """How many trials about each stimulus were answered: a question left out by a condition has no answer in some."""
    rows = connection.exec_driver_sql(
        f"SELECT g.stimulus, count(DISTINCT g.trial) AS trials {_COUNTED}{_not_excluded(connection)} GROUP BY g.stimulus"
    )
    return {row.stimulus: row.trials for row in rows}


def _flags(connection: Connection) -> dict[str, int]:
    """How many raters who are not excluded reported each stimulus."""
    left_out = exclusions(connection)
    rows = connection.exec_driver_sql("SELECT DISTINCT stimulus, rater FROM flags WHERE stimulus IS NOT NULL")
    return Counter(row.stimulus for row in rows if row.rater not in left_out)


# --- rules ------------------------------------------------------------------------------------------------------------


def select(
    study: Study, items: Items, trials: Mapping[str, int], flags: Mapping[str, int]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """The items that a rule of the study selects, each with the names of its rules in the study's order.

    ``trials`` and ``flags`` are how many trials about a stimulus were answered, and how many raters reported it.
    """
    adjudication = study.adjudication
    if adjudication is None:
        return {}
    needed = adjudication.after or study.design.ratings_per_item
    together = study.design.questions_per_page == "all"
    decided, set_aside = set(adjudicated(study)), study.set_aside
    selected: dict[tuple[str, str], tuple[str, ...]] = {}
    for item, answers in items.items():
        stimulus, question = item
        count = trials.get(stimulus, 0) if together else len(answers)
        if question not in decided or stimulus in set_aside or count < needed:
            continue
        flagged = flags.get(stimulus, 0)
        names = dict.fromkeys(rule.type for rule in adjudication.rules if _selects(rule, study, item, answers, flagged))
        if names:
            selected[item] = tuple(names)
    return selected


def _selects(
    rule: AdjudicationRule, study: Study, item: tuple[str, str], answers: Sequence[AnonymousAnswer], flagged: int
) -> bool:
    """Whether a rule selects an item; ``flagged`` is how many raters reported its stimulus."""
    match rule:
        case DisagreementRule():
            applies = not rule.questions or item[1] in rule.questions
            return applies and disagree(rule, study.scale_of(item[1]), counted(answers))
        case RejectedRule():
            return _count_verdicts(answers, "rejected", planted=False) >= rule.at_least
        case PlantedRule():
            return _count_verdicts(answers, "accepted", planted=True) >= rule.at_least
        case FlaggedRule():
            return flagged >= rule.at_least
        case RandomRule():
            return derived_seed(study.seed, "adjudication", *item) < rule.share * _UNIT
        case _:
            return True


def _count_verdicts(answers: Iterable[AnonymousAnswer], verdict: str, *, planted: bool) -> int:
    return sum(answer.verdict == verdict and answer.planted == planted for answer in answers)


def counted(answers: Iterable[AnonymousAnswer]) -> list[AnonymousAnswer]:
    """Answers that are ratings: not rejections without an answer, and not given under a planted value."""
    return [response for response in answers if response.words is not None and not response.planted]


def disagree(rule: DisagreementRule, scale: Scale, answers: Sequence[AnonymousAnswer]) -> bool:
    """Whether answers on a scale disagree beyond the rule's limit; fewer than two never do."""
    if len(answers) < 2:
        return False
    if scale.level == "nominal":
        return _largest_share(response.words for response in answers) <= rule.share_at_most
    if isinstance(scale, Tags):
        return _mean_overlap(scale, answers) < rule.overlap_below
    if scale.level == "text":
        return len({answer_key(response.words, scale) for response in answers}) == len(answers)
    none = [response.answer == NONE for response in answers]
    if any(none) and not all(none):
        return _largest_share(none) <= rule.share_at_most
    return _spread_too_far(*rule.limits(scale), [r.value for r in answers if r.value is not None])


def _spread_too_far(range_above: float | None, sd_above: float | None, values: Sequence[float]) -> bool:
    """Whether numbers lie further apart than a limit of their range, or of their standard deviation, allows."""
    if len(values) < 2:
        return False
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return (range_above is not None and max(values) - min(values) > range_above) or (
        sd_above is not None and variance**0.5 > sd_above
    )


def _largest_share(answers: Iterable[object]) -> float:
    counts = Counter(answers)
    return max(counts.values()) / counts.total()


def _mean_overlap(scale: Tags, answers: Sequence[AnonymousAnswer]) -> float:
    """The mean of Jaccard's index over all pairs; two empty sets are equal."""
    pairs = list(combinations([str(response.words) for response in answers], 2))
    return sum(similarity(scale, *pair) for pair in pairs) / len(pairs)


# --- decisions --------------------------------------------------------------------------------------------------------


def decisions(connection: Connection) -> dict[tuple[str, str], tuple[AdjudicationDecision, ...]]:
    """Every decision by item, oldest first."""
    out: dict[tuple[str, str], list[AdjudicationDecision]] = {}
    for row in connection.exec_driver_sql(
        "SELECT stimulus, question, seq, at, value, answer, comment, rule, made_by, history FROM adjudications"
        " ORDER BY seq"
    ):
        decision = _decision(row[2:])
        out.setdefault((row.stimulus, row.question), []).append(decision)
    return {item: tuple(item_decisions) for item, item_decisions in out.items()}


def _decision(columns: Sequence[Any]) -> AdjudicationDecision:
    *about, history = columns
    shown = json.loads(history)
    return AdjudicationDecision._make((*about, tuple(shown["trials"]), shown["draft"]))


def decision_before(
    connection: Connection, adjudicator: str, before: int
) -> tuple[str, str, AdjudicationDecision] | None:
    """Stimulus, question and decision of a senior rater's latest decision before that number."""
    row = connection.execute(
        text(
            "SELECT stimulus, question, seq, at, value, answer, comment, rule, made_by, history FROM adjudications"
            " WHERE made_by = :by AND seq < :before ORDER BY seq DESC LIMIT 1"
        ),
        {"by": adjudicator, "before": before},
    ).first()
    if row is None:
        return None
    return row.stimulus, row.question, _decision(row[2:])


def adjudicators(connection: Connection) -> pl.DataFrame:
    """Every senior rater: their id, since when, the note, whether their link is valid, and how many decisions they made."""
    frame = query(
        connection,
        "d.adjudicator text, d.at moment, d.note text, d.active boolean, d.seq integer",
        "FROM adjudicators d ORDER BY d.seq",
    )
    counts = query(
        connection,
        "made_by text, n integer",
        "FROM (SELECT made_by, count(*) AS n FROM adjudications GROUP BY made_by) c",
    ).rename({"made_by": "adjudicator", "n": "decisions"})
    people = frame.group_by("adjudicator", maintain_order=True).agg(
        pl.first("at"), pl.col("note").drop_nulls().first(), pl.last("active")
    )
    return people.join(counts, on="adjudicator", how="left", maintain_order="left").with_columns(
        pl.col("decisions").fill_null(0)
    )


def adjudications(connection: Connection, study: Study, everything: pl.DataFrame) -> pl.DataFrame | None:
    """The final value of every decided item with its history, from all answers that were collected; None if there are none.

    The history lists the answers that were shown, each with its rater, what the rater made of the draft and whether the
    rater is excluded by now; how many were erased since; the draft; and the earlier decisions.
    """
    question_ids = {question.id for question in study.asked}
    by_item = {
        item: item_decisions for item, item_decisions in decisions(connection).items() if item[1] in question_ids
    }
    if not by_item:
        return None
    shown = {trial for item_decisions in by_item.values() for trial in item_decisions[-1].trials}
    columns = ("trial", "question", "rater", "value", "answer", "verdict", "excluded")
    rows = everything.filter(pl.col("trial").is_in(list(shown))).select(columns)
    answers = {
        (trial, question): ShownAnswer(rater=rater, value=value, answer=answer, verdict=verdict, excluded=excluded)
        for trial, question, rater, value, answer, verdict, excluded in rows.iter_rows()
    }
    out = [
        _adjudication(item, item_decisions, [answers.get((trial, item[1])) for trial in item_decisions[-1].trials])
        for item, item_decisions in by_item.items()
    ]
    kinds: dict[str, Any] = {column.name: column.dtype for column in ADJUDICATIONS.columns}
    return pl.DataFrame(out, schema={**kinds, "at": pl.Float64}, orient="row").with_columns(moment("at"))


def _adjudication(
    item: tuple[str, str], item_decisions: Sequence[AdjudicationDecision], shown: Sequence[ShownAnswer | None]
) -> tuple[Any, ...]:
    last = item_decisions[-1]
    answers = tuple(answer for answer in shown if answer is not None)
    earlier = tuple(
        EarlierDecision(
            at=decision.at, by=decision.made_by, value=decision.value, answer=decision.answer, comment=decision.comment
        )
        for decision in item_decisions[:-1]
    )
    history = AdjudicationHistory(answers, len(shown) - len(answers), last.draft, earlier)
    about = (last.value, last.answer, last.rule, last.made_by, last.at, last.comment, len(item_decisions))
    return (*item, *about, dumps(history, indent=None))
