"""A proposal for a table with two stimuli per row and which of them won."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import polars as pl

from heartfelt.formats.column_profiles import ColumnProfile
from heartfelt.formats.roles import (
    NO_RATER,
    SIMILAR,
    VOCABULARY,
    ProfiledTable,
    Proposal,
    RoleGuess,
    guess,
    name_score,
    ranked,
    uncertain,
)

SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"), ("one", "two"))
"""Words at either end of a name that tell the two sides of a pair apart."""
_COUNTED = {"win", "vote", "count", "prefer", "rank", "score", "rating", "goal"}
"""Words of columns that say how often, or how well, a side did."""
_MOST_QUESTIONS = 40


def _sides(table: ProfiledTable) -> tuple[ColumnProfile, ColumnProfile] | None:
    """The two columns whose names differ in a side only and that name stimuli or systems; stimuli come first."""
    candidates: list[tuple[int, ColumnProfile, ColumnProfile]] = []
    for first, right in combinations(table.columns.values(), 2):
        counts = _COUNTED & {*first.words}
        if counts or not _differ_in_side(first, right) or first.moments or (first.numeric and not first.whole):
            continue
        cells = [set(table.frame[side.name].cast(pl.String).drop_nulls().unique()) for side in (first, right)]
        kind = _kind(first, right)
        if kind or (cells[0] & cells[1] and max(first.distinct, right.distinct) > 1):
            candidates.append(({"stimulus": 2, "system": 1}.get(kind, 0), first, right))
    candidates.sort(key=lambda entry: -entry[0])
    return candidates[0][1:] if candidates else None


def _kind(first: ColumnProfile, right: ColumnProfile) -> str:
    """What the two columns name, by the words they share: stimulus, system, or nothing known."""
    shared = tuple(word for word, right_word in zip(first.words, right.words, strict=True) if word == right_word)
    bare = replace(first, words=shared)
    return next((role for role in ("stimulus", "system") if name_score(bare, role) >= SIMILAR), "")


def _differ_in_side(first: ColumnProfile, right: ColumnProfile) -> bool:
    a, b = first.words, right.words
    if len(a) != len(b) or a == b:
        return False
    indices = [index for index in range(len(a)) if a[index] != b[index]]
    return len(indices) == 1 and (a[indices[0]], b[indices[0]]) in SIDES


def pair_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no two columns are the sides of a pair, or none says who won."""
    sides = _sides(table)
    if sides is None:
        winner, loser = table.named("winner"), table.named("loser")
        if winner is None or loser is None or winner.numeric:
            return None
        sides = (winner, loser)
    used_columns = {side.name for side in sides}
    named = _kind(*sides) if len(sides[0].words) == len(sides[1].words) else ""
    kind = "_system" if named == "system" else ""
    guesses = [
        RoleGuess(role=f"{role}{kind}", column=side.name, score=0.9, evidence=side.facts())
        for role, side in zip(("first", "second"), sides, strict=True)
    ]
    answer = _pair_answer(table, sides)
    if answer is None:
        return None
    guesses += answer
    used_columns |= {name for guess in answer for name in guess.column.split(",")}
    doubts: dict[str, str] = {}
    if not named and (sides[0].words, sides[1].words) != (("winner",), ("loser",)):
        doubts["first"] = f"'{sides[0].name}' and '{sides[1].name}' are not named like stimuli"
    rater = [pair for pair in table.scored("rater", *used_columns) if pair[0].repeats or pair[1] >= SIMILAR]
    if rater:
        guesses.append(guess("rater", rater))
        doubts |= uncertain(guesses[-1])
    used_columns |= {guess.column for guess in guesses}
    question, prompt = table.named("question", *used_columns), table.named("prompt", *used_columns)
    if question is not None and question.distinct <= _MOST_QUESTIONS and not question.numeric:
        guesses.append(guess("question", [(question, 1.0)]))
    if kind and prompt is not None:
        guesses.append(guess("prompt", [(prompt, 1.0)]))
    return Proposal(
        format="long",
        layout="each row compares two stimuli",
        guesses=tuple(guesses),
        settings={} if rater else {"rater": NO_RATER},
        doubts=doubts,
    )


def _pair_answer(table: ProfiledTable, sides: tuple[ColumnProfile, ColumnProfile]) -> list[RoleGuess] | None:
    """The column that says which of two won, or the columns that count who chose which."""
    names = {side.name for side in sides}
    counts = [p for p in table.columns.values() if p.whole and p.low is not None and p.low >= 0 and p.name not in names]
    for first, right in combinations(counts, 2):
        wins = {"win", "vote", "count", "prefer"} & {*first.words}
        if wins and _differ_in_side(first, right):
            ties = [p.name for p in counts if p.noun in VOCABULARY["tie"]]
            votes = ",".join([first.name, right.name, *ties[:1]])
            return [RoleGuess(role="votes", column=votes, score=0.9, evidence="how many chose which")]
    cells = {str(cell) for side in sides for cell in table.frame[side.name].unique()}
    candidates = []
    for profile, score in table.scored("winner", *(names if table.named("loser") is None else ())):
        answers = {str(cell) for cell in table.frame[profile.name].drop_nulls().unique()}
        if not profile.numeric:
            candidates.append((profile, score + (0.5 if len(answers & cells) > len(answers) / 2 else 0.0)))
        elif profile.whole and profile.distinct <= 7:
            candidates.append((profile, score - 0.1))
    if candidates:
        best = ranked(candidates)
        return [guess("value" if best[0][0].numeric else "winner", best)]
    numbers = [(p, s) for p, s in table.scored("value", *names) if p.numeric and p.distinct <= 7]
    return [guess("value", numbers)] if numbers else None
