"""What senior raters do: be admitted, decide items, and be forgotten."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from heartfelt.collect.messages import adjudicators as commands
from heartfelt.collect.messages.errors import DecidedElsewhere, InvalidAnswer, UnknownAdjudicator
from heartfelt.collect.session.progress.transaction import Transaction, clean
from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.study import Study
from heartfelt.study.consistency.adjudication import adjudicated
from heartfelt.study.scales.answer import Coded
from heartfelt.study.scales.scale import FreeText

_LONGEST_COMMENT = 4000
_LONGEST_TEXT = 20_000
_MOST = 1_000


def add(work: Transaction, command: commands.AddAdjudicator) -> str:
    """Admit a senior rater."""
    if work.study.adjudication is None:
        raise InputError(
            "The study has no adjudication, so senior raters would have nothing to decide.",
            "Add 'adjudication' to study.yaml (docs/adjudication.md) and open the study again.",
        )
    if len(work.context.adjudicators) >= _MOST:
        raise InputError(f"The study has {_MOST:,} senior raters already.", "Erase those who are done.")
    name = f"a{secrets.token_hex(8)}"
    _store(work, name, active=True, note=clean(command.note, 500))
    return name


def check(work: Transaction, command: commands.AdjudicatorCommand[Any]) -> None:
    """Raise unless the senior rater is admitted."""
    if not work.context.adjudicators.get(command.adjudicator):
        raise UnknownAdjudicator("This link is no longer valid.", "Ask the researcher for a new one.")


def revoke(work: Transaction, command: commands.RevokeAdjudicator) -> None:
    """Make a link invalid; revoking it again changes nothing."""
    if _known(work, command.adjudicator):
        _store(work, command.adjudicator, active=False, note=None)


def erase(work: Transaction, command: commands.EraseAdjudicator) -> None:
    """Delete a senior rater and their decisions. An earlier decision of somebody else is final again."""
    name = command.adjudicator
    _known(work, name)
    del work.context.adjudicators[name]
    work.record("noted", words="erased a senior rater")
    work.after_rows.append(("DELETE FROM adjudications WHERE made_by = :name", {"name": name}))
    work.after_rows.append(("DELETE FROM adjudicators WHERE adjudicator = :name", {"name": name}))


def _known(work: Transaction, name: str) -> bool:
    """Whether the senior rater is admitted now; an unknown one is an error."""
    adjudicators = work.context.adjudicators
    if name not in adjudicators:
        raise UnknownNameError(
            f"No senior rater has the id '{clean(name, 80)}'.", suggestion(name, adjudicators, "Senior raters")
        )
    return adjudicators[name]


def _store(work: Transaction, name: str, *, active: bool, note: str | None) -> None:
    seq = work.record("noted", words="senior rater admitted" if active else "senior rater revoked")
    work.insert("adjudicators", seq=seq, at=work.now, adjudicator=name, note=note, active=active)
    work.context.adjudicators[name] = active


def decide(work: Transaction, command: commands.Adjudicate) -> commands.StoredDecision:
    """Store a decision, unless another one was made since the item was shown."""
    check(work, command)
    item = (command.stimulus, command.question)
    if command.question not in adjudicated(work.study):
        raise InvalidAnswer("This question is not decided by senior raters.", "Reload the page.")
    key = str(clean(command.key, 80))
    latest, latest_key = work.state.decisions.get(item, (0, ""))
    if latest_key == key:
        return commands.StoredDecision(latest, "already")
    if latest > command.seen:
        raise DecidedElsewhere("Another senior rater decided this item in the meantime.", "Continue with the next one.")
    value, answer = _read(work.study, command.question, command.value)
    shown = {"trials": list(command.trials), "draft": command.draft}
    seq = work.record("adjudicated", words=json.dumps([*item, key], ensure_ascii=False))
    work.insert(
        "adjudications",
        seq=seq,
        at=work.now,
        stimulus=command.stimulus,
        question=command.question,
        value=value,
        answer=answer,
        comment=clean(command.comment, _LONGEST_COMMENT) or None,
        rule=command.rule,
        history=json.dumps(shown, ensure_ascii=False),
        made_by=command.adjudicator,
    )
    return commands.StoredDecision(seq, "stored")


def _read(study: Study, question: str, answer_given: Any) -> Coded:
    if answer_given is None or answer_given == [] or (isinstance(answer_given, str) and not answer_given.strip()):
        raise InvalidAnswer("A decision needs an answer.", "Pick one of the answers, or enter another.")
    if isinstance(answer_given, Mapping) or (isinstance(answer_given, str) and len(answer_given) > _LONGEST_TEXT):
        raise InvalidAnswer("This is not an answer.", "Answer as the question asks.")
    try:
        value, answer = study.read(study.question(question), answer_given)
    except InputError as error:
        raise InvalidAnswer(str(clean(error.problem, 300)), str(clean(error.fix, 2000))) from None
    return value, clean(answer)


def forget_words(work: Transaction, rater: int) -> None:
    """Of decisions that took over a text, delete those whose text an erased rater wrote: their items wait again.

    Numbers, categories and tags are the senior rater's own; the history lists answers by trial, and those of the
    erased rater are gone with their trials.
    """
    for question in adjudicated(work.study):
        if isinstance(work.study.scale_of(question), FreeText):
            work.after_rows.append(
                (
                    "DELETE FROM adjudications WHERE question = :question AND EXISTS (SELECT 1 FROM ratings g"
                    " WHERE g.rater = :rater AND g.stimulus = adjudications.stimulus"
                    " AND g.question = adjudications.question AND g.answer = adjudications.answer)",
                    {"question": question, "rater": rater},
                )
            )
