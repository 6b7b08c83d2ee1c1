"""A proposal for a table with two stimuli per row and which of them won."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import polars as pl

from heartfelt.formats.proposals.column_profiles import ColumnProfile
from heartfelt.formats.proposals.roles import (
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
_VOTES = {"win", "vote", "count", "prefer"}
_MOST_QUESTIONS = 40
_MOST_GRADES = 7
"""Different numbers above which a column does not say which of two won."""


def _sides(table: ProfiledTable) -> tuple[ColumnProfile, ColumnProfile] | None:
    """The two columns whose names differ in a side only and that name stimuli or systems; stimuli come first."""
    pairs = [
        (score, pair)
        for pair in combinations(table.columns.values(), 2)
        if (score := _pair_score(table, *pair)) is not None
    ]
    return max(pairs, key=lambda entry: entry[0])[1] if pairs else None


def _pair_score(table: ProfiledTable, first: ColumnProfile, right: ColumnProfile) -> int | None:
    """How well two columns are the sides of a pair: 2 for stimuli, 1 for systems, 0 for cells in common; None if not at all."""
    decimals = first.numeric and not first.whole
    if first.moments or decimals or not _COUNTED.isdisjoint(first.words) or not _differ_in_side(first, right):
        return None
    kind = _kind(first, right)
    if kind:
        return {"stimulus": 2, "system": 1}[kind]
    cells = [set(table.frame[side.name].cast(pl.String).drop_nulls().unique()) for side in (first, right)]
    return 0 if cells[0] & cells[1] and max(first.distinct, right.distinct) > 1 else None


def _winner_and_loser(table: ProfiledTable) -> tuple[ColumnProfile, ColumnProfile] | None:
    winner, loser = table.named("winner"), table.named("loser")
    return None if winner is None or loser is None or winner.numeric else (winner, loser)


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
    sides = _sides(table) or _winner_and_loser(table)
    answer = None if sides is None else _pair_answer(table, sides)
    if sides is None or answer is None:
        return None
    named = _kind(*sides) if len(sides[0].words) == len(sides[1].words) else ""
    kind = "_system" if named == "system" else ""
    guesses = [
        RoleGuess(role=f"{role}{kind}", column=side.name, score=0.9, evidence=side.facts())
        for role, side in zip(("first", "second"), sides, strict=True)
    ]
    guesses += answer
    doubts = {} if named else _doubt_about(sides)
    used_columns = {side.name for side in sides} | {name for guess in answer for name in guess.column.split(",")}
    raters = [pair for pair in table.scored("rater", *used_columns) if pair[0].repeats or pair[1] >= SIMILAR]
    if raters:
        guesses.append(guess("rater", raters))
        doubts |= uncertain(guesses[-1])
    return Proposal(
        format="long",
        layout="each row compares two stimuli",
        guesses=(*guesses, *_question_and_prompt(table, used_columns | {guess.column for guess in guesses}, kind)),
        settings={} if raters else {"rater": NO_RATER},
        doubts=doubts,
    )


def _doubt_about(sides: tuple[ColumnProfile, ColumnProfile]) -> dict[str, str]:
    if (sides[0].words, sides[1].words) == (("winner",), ("loser",)):
        return {}
    return {"first": f"'{sides[0].name}' and '{sides[1].name}' are not named like stimuli"}


def _question_and_prompt(table: ProfiledTable, used_columns: set[str], kind: str) -> list[RoleGuess]:
    """The column of the question, and of systems that of the prompt they answered."""
    question, prompt = table.named("question", *used_columns), table.named("prompt", *used_columns)
    out = []
    if question is not None and question.distinct <= _MOST_QUESTIONS and not question.numeric:
        out.append(guess("question", [(question, 1.0)]))
    if kind and prompt is not None:
        out.append(guess("prompt", [(prompt, 1.0)]))
    return out


def _pair_answer(table: ProfiledTable, sides: tuple[ColumnProfile, ColumnProfile]) -> list[RoleGuess] | None:
    """The column that says which of two won, or the columns that count who chose which."""
    names = {side.name for side in sides}
    votes = _vote_columns(table, names)
    if votes:
        return [RoleGuess(role="votes", column=",".join(votes), score=0.9, evidence="how many chose which")]
    winners = ranked(_winner_candidates(table, sides, names))
    if winners:
        return [guess("value" if winners[0][0].numeric else "winner", winners)]
    numbers = [(p, s) for p, s in table.scored("value", *names) if p.numeric and p.distinct <= _MOST_GRADES]
    return [guess("value", numbers)] if numbers else None


def _vote_columns(table: ProfiledTable, names: set[str]) -> list[str]:
    """Two columns of counts that differ in a side, and the one of ties."""
    counts = [profile for name, profile in table.columns.items() if profile.natural and name not in names]
    for first, right in combinations(counts, 2):
        if not _VOTES.isdisjoint(first.words) and _differ_in_side(first, right):
            ties = [p.name for p in counts if p.noun in VOCABULARY["tie"]]
            return [first.name, right.name, *ties[:1]]
    return []


def _winner_candidates(
    table: ProfiledTable, sides: tuple[ColumnProfile, ColumnProfile], names: set[str]
) -> Iterator[tuple[ColumnProfile, float]]:
    """Columns named like winners: best where most of their cells are names of the two sides."""
    cells = {str(cell) for side in sides for cell in table.frame[side.name].unique()}
    for profile, score in table.scored("winner", *(names if table.named("loser") is None else ())):
        if not profile.numeric:
            answers = {str(cell) for cell in table.frame[profile.name].drop_nulls().unique()}
            yield profile, score + (0.5 if len(answers & cells) > len(answers) / 2 else 0.0)
        elif profile.whole and profile.distinct <= _MOST_GRADES:
            yield profile, score - 0.1
