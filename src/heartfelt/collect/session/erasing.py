"""Forgetting one person: everything they said is deleted, a count is left, and their places open again."""

from __future__ import annotations

from typing import Literal

from heartfelt.collect.assign.rater import Rater
from heartfelt.collect.session.work import Work

_WHERE_DATA_IS = ("ratings", "answers", "demographics", "headphones", "flags", "media_problems", "exclusions")
_WHERE_PEOPLE_ARE = ("consents", "participants")


def forget(work: Work, rater: Rater, kind: Literal["erased", "declined"]) -> int:
    """Delete a rater from every table and from the journal; answers with the number of trials they had answered.

    A single fact without a name stays in their place, so that every process forgets them and the count is known.
    """
    number, first, trials = rater.number, rater.first_seq, rater.answered
    tables = _WHERE_PEOPLE_ARE if kind == "declined" else (*_WHERE_DATA_IS, *_WHERE_PEOPLE_ARE)
    seq = work.tell(kind, number, work.state.next_trial - 1, number=float(trials))
    values = {"rater": number}
    people = ("DELETE FROM raters WHERE number = :rater", values)
    # Before the new rows, so that the same person may come again at once; and after, for what is stored just now.
    work.first.append(people)
    work.changes += [(f"DELETE FROM {table} WHERE rater = :rater", values) for table in tables]
    work.changes.append(people)
    work.changes.append(
        (
            "DELETE FROM journal WHERE seq >= :first AND seq < :seq AND rater = :rater",
            {"rater": number, "first": first, "seq": seq},
        )
    )
    context = work.context
    context.languages.pop(rater.id, None)
    context.sessions.pop(rater.id, None)
    for person in [person for person, name in context.persons.items() if name == rater.id]:
        del context.persons[person]
    return trials
