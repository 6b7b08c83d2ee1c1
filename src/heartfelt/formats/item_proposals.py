"""Proposals for tables with one row per stimulus: means, or a count per category; nobody knows who rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from heartfelt.formats.column_profiles import ColumnProfile, share_unique
from heartfelt.formats.columns import distinct_column, is_unnamed
from heartfelt.formats.roles import (
    CONSTRUCTS,
    SIMILAR,
    VOCABULARY,
    ProfiledTable,
    Proposal,
    RoleGuess,
    evidence,
    facts_of_stimuli,
    guess,
    name_score,
    ranked,
    uncertain,
)
from heartfelt.tables import row_sum

_COUNT_WORDS = {"vote", "count", "n"}
_TOTALS = {"n", "total", "sum"}
_STATED_TOTALS = {*_TOTALS, *["num", "number", "count", "vote", "response", "rating", "rater", "annotator", "answer"]}
_AFFIXES = tuple(
    pattern for word in ("votes", "vote", "count", "n") for pattern in (f"{{category}}_{word}", f"{word}_{{category}}")
)


def _key(table: ProfiledTable) -> tuple[RoleGuess, dict[str, str]] | None:
    """The stimulus of a table with one row each."""
    candidates = ranked((p, s + (0.5 if p.media else 0.0)) for p, s in table.scored("stimulus") if p.unique)
    if not candidates:
        return _unnamed_key(table)
    best = guess("stimulus", candidates)
    return best, uncertain(best)


def _unnamed_key(table: ProfiledTable) -> tuple[RoleGuess, dict[str, str]] | None:
    """The column that can only be the id although its name does not say so."""
    name = distinct_column(table.frame)
    if name is None:
        return None
    key = RoleGuess(role="stimulus", column=name, score=SIMILAR, evidence="all of its cells differ")
    return key, {"stimulus": f"no column is named like a stimulus; only in '{name}' do all cells differ"}


def _joined_key(table: ProfiledTable) -> tuple[RoleGuess, dict[str, str]] | None:
    """A column named like a stimulus and one of words that together name every row, such as file and modality."""
    for named, score in table.scored("stimulus"):
        for partner in table.columns.values():
            words = not partner.numeric and partner.repeats and partner is not named
            if score >= SIMILAR and words and share_unique(table.frame, [named.name, partner.name]) == 1.0:
                column = f"{named.name}+{partner.name}"
                because = f"'{named.name}' comes with several '{partner.name}'"
                key = RoleGuess(role="stimulus", column=column, score=SIMILAR, evidence=because)
                return key, {"stimulus": f"{because}; both together name a row"}
    return None


def _names_raters(table: ProfiledTable, column: str) -> bool:
    return column in table.columns and name_score(table.columns[column], "rater") >= SIMILAR


def means_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no column holds means."""
    key = _key(table)
    if key is None or _names_raters(table, key[0].column):
        return None
    stimulus, doubts = key
    numbers = [p for p in table.columns.values() if p.numeric and p.name != stimulus.column]
    means = [p for p in numbers if {*p.words} & VOCABULARY["mean"] and not {*p.words} & VOCABULARY["sd"]]
    counts = [p for p in numbers if p.whole and ({*p.words} & VOCABULARY["n"]) and p not in means]
    decimals = [p for p in numbers if {*p.words} & CONSTRUCTS and not p.whole]
    if not means and not decimals:
        return None
    guesses = [stimulus]
    if not means:
        columns = ",".join(p.name for p in decimals)
        guesses.append(RoleGuess(role="mean", column=columns, score=SIMILAR, evidence=evidence(decimals[0], SIMILAR)))
        if counts:
            guesses.append(RoleGuess(role="n", column=counts[0].name, score=SIMILAR, evidence=counts[0].facts()))
        doubts["mean"] = f"'{decimals[0].name}' holds decimals: means are assumed"
    elif len(means) == 1 and len(means[0].words) == 1:
        guesses.append(guess("mean", [(means[0], 1.0)]))
        figures = {role: table.named(role, stimulus.column, means[0].name) for role in ("sd", "n")}
        guesses += [
            guess(role, [(profile, 1.0)])
            for role, profile in figures.items()
            if profile is not None and profile.numeric
        ]
    used_columns = {guess.column for guess in guesses}
    guesses += facts_of_stimuli(table, lambda p: not p.numeric and p.name not in used_columns)
    return Proposal(format="means", layout="one row per stimulus with means", guesses=tuple(guesses), doubts=doubts)


def tally_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal where columns of whole numbers add up to the number of answers that another column states in every row."""
    key = _key(table) or _joined_key(table)
    if key is None or table.frame.height < 2 or _names_raters(table, key[0].column):
        return None
    stimulus, doubts = key
    count_columns = [p for name, p in table.columns.items() if name != stimulus.column and _is_count(p)]
    numbers = table.frame.select(pl.col(p.name).cast(pl.Float64, strict=False) for p in count_columns)
    for total in (p for p in count_columns if {*p.words} & _STATED_TOTALS and p.high):
        counts = [p for p in count_columns if p is not total]
        if (
            len(counts) > 1
            and (numbers.select(row_sum(pl.col(p.name) for p in counts)).to_series() == numbers[total.name]).all()
        ):
            return _counted(stimulus, counts, f"each row sums to '{total.name}'", doubts)
    return None


def votes_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no columns hold counts: named so, or of one sum in all rows."""
    key = _key(table)
    if key is None or _names_raters(table, key[0].column):
        return None
    stimulus, doubts = key
    counts = [profile for name, profile in table.columns.items() if name != stimulus.column and _can_count(profile)]
    named = [profile for profile in counts if _COUNT_WORDS & {*profile.words}]
    if len(named) > 1:
        return _counted(stimulus, named, "their names say votes", doubts)
    if len(counts) < 2 or table.frame.height < 2 or any(word.isdigit() for p in counts for word in p.words):
        return None
    numbers = (pl.col(profile.name).cast(pl.Float64, strict=False) for profile in counts)
    sums = table.frame.select(row_sum(numbers)).to_series()
    return None if sums.n_unique() > 1 else _counted(stimulus, counts, f"each row sums to {sums[0]:g}", doubts)


def _is_count(profile: ColumnProfile) -> bool:
    """Whether every cell is a whole number from 0."""
    counts = profile.whole and profile.low is not None and profile.low >= 0 and profile.filled == profile.rows
    return counts and not is_unnamed(profile.name)


def _can_count(profile: ColumnProfile) -> bool:
    people = profile.noun in VOCABULARY["background"] | VOCABULARY["rater"]
    total = people or profile.name.casefold() in _TOTALS
    return _is_count(profile) and not total and profile.words[-1:] != ("total",)


def _counted(stimulus: RoleGuess, counts: Sequence[ColumnProfile], reason: str, doubts: Mapping[str, str]) -> Proposal:
    names = [profile.name for profile in counts]
    pattern = next((affix for affix in _AFFIXES if all(_fits(affix, name) for name in names)), None)
    columns = RoleGuess(role="categories", column=",".join(names), score=0.8, evidence=reason)
    return Proposal(
        format="votes",
        layout="one row per item with a count per category",
        guesses=(stimulus, columns) if pattern is None else (stimulus,),
        settings={} if pattern is None else {"pattern": pattern},
        doubts=doubts,
    )


def _fits(affix: str, name: str) -> bool:
    before, _, after = affix.partition("{category}")
    return name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
