"""Proposals for tables with one row per stimulus: means, or a count per category; nobody knows who rated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from heartfelt.formats.proposals.column_profiles import ColumnProfile, share_unique
from heartfelt.formats.proposals.roles import (
    SIMILAR,
    VOCABULARY,
    ProfiledTable,
    Proposal,
    RoleGuess,
    evidence,
    facts_of_stimuli,
    guess,
    is_named_like,
    ranked,
    uncertain,
)
from heartfelt.formats.tables.columns import distinct_column, is_unnamed
from heartfelt.tables import row_sum

_COUNT_WORDS = {"vote", "count", "n"}
_TOTALS = {"n", "total", "sum"}
_STATED_TOTALS = {*_TOTALS, *["num", "number", "count", "vote", "response", "rating", "rater", "annotator", "answer"]}
_AFFIXES = tuple(
    pattern for word in ("votes", "vote", "count", "n") for pattern in (f"{{category}}_{word}", f"{word}_{{category}}")
)


def _item_key(table: ProfiledTable, *, joined: bool = False) -> tuple[RoleGuess, dict[str, str]] | None:
    """The stimulus of a table with one row per item, and doubts about it; None where there is none, or it names raters.

    ``joined``: two columns may name the stimulus together.
    """
    key = _key(table) or (_joined_key(table) if joined else None)
    if key is None:
        return None
    profile = table.columns.get(key[0].column)
    return None if profile is not None and is_named_like(profile, ["rater"]) else key


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


def means_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no column holds means."""
    key = _item_key(table)
    if key is None:
        return None
    stimulus, doubts = key
    numbers = [p for p in table.columns.values() if p.numeric and p.name != stimulus.column]
    means, decimals = list(filter(_is_mean, numbers)), list(filter(_is_decimal, numbers))
    guesses = [stimulus]
    if means:
        guesses += _figures(table, stimulus, means)
    elif decimals:
        guesses += _assumed_means(decimals, numbers)
        doubts["mean"] = f"'{decimals[0].name}' holds decimals: means are assumed"
    else:
        return None
    used_columns = {guess.column for guess in guesses}
    guesses += facts_of_stimuli(table, lambda p: not p.numeric and p.name not in used_columns)
    return Proposal(format="means", layout="one row per stimulus with means", guesses=tuple(guesses), doubts=doubts)


def _says(profile: ColumnProfile, role: str) -> bool:
    """Whether any word of the name is one that columns with this role are named after."""
    return not VOCABULARY[role].isdisjoint(profile.words)


def _is_mean(profile: ColumnProfile) -> bool:
    return _says(profile, "mean") and not _says(profile, "sd")


def _is_decimal(profile: ColumnProfile) -> bool:
    return _says(profile, "construct") and not profile.whole


def _figures(table: ProfiledTable, stimulus: RoleGuess, means: Sequence[ColumnProfile]) -> list[RoleGuess]:
    """The mean with its spread and count; none where names such as ``mos_valence`` say which question a column is about."""
    if len(means) > 1 or len(means[0].words) > 1:
        return []
    figures = {role: table.named(role, stimulus.column, means[0].name) for role in ("sd", "n")}
    profiles = {"mean": means[0], **{role: p for role, p in figures.items() if p is not None and p.numeric}}
    return [guess(role, [(profile, 1.0)]) for role, profile in profiles.items()]


def _assumed_means(decimals: Sequence[ColumnProfile], numbers: Sequence[ColumnProfile]) -> list[RoleGuess]:
    columns = ",".join(p.name for p in decimals)
    means = RoleGuess(role="mean", column=columns, score=SIMILAR, evidence=evidence(decimals[0], SIMILAR))
    counts = [p for p in numbers if p.whole and _says(p, "n")]
    return [means, *(RoleGuess(role="n", column=p.name, score=SIMILAR, evidence=p.facts()) for p in counts[:1])]


def tally_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal where columns of whole numbers add up to the number of answers that another column states in every row."""
    key = _item_key(table, joined=True)
    if key is None or table.frame.height < 2:
        return None
    stimulus, doubts = key
    columns = _counts(table, stimulus, _is_count)
    for total in filter(_states_total, columns):
        counts = [p for p in columns if p is not total]
        stated = table.frame[total.name].cast(pl.Float64, strict=False)
        if len(counts) > 1 and (_sums(table, counts) == stated).all():
            return _counted(stimulus, counts, f"each row sums to '{total.name}'", doubts)
    return None


def _counts(table: ProfiledTable, key: RoleGuess, is_count: Callable[[ColumnProfile], bool]) -> list[ColumnProfile]:
    return [profile for name, profile in table.columns.items() if name != key.column and is_count(profile)]


def _states_total(profile: ColumnProfile) -> bool:
    return bool(_STATED_TOTALS.intersection(profile.words) and profile.high)


def _sums(table: ProfiledTable, counts: Sequence[ColumnProfile]) -> pl.Series:
    numbers = (pl.col(profile.name).cast(pl.Float64, strict=False) for profile in counts)
    return table.frame.select(row_sum(numbers)).to_series()


def votes_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no columns hold counts: named so, or of one sum in all rows."""
    key = _item_key(table)
    if key is None:
        return None
    stimulus, doubts = key
    counts = _counts(table, stimulus, _can_count)
    named = [profile for profile in counts if _COUNT_WORDS.intersection(profile.words)]
    if len(named) > 1:
        return _counted(stimulus, named, "their names say votes", doubts)
    if min(len(counts), table.frame.height) < 2 or any(word.isdigit() for p in counts for word in p.words):
        return None
    sums = _sums(table, counts)
    return None if sums.n_unique() > 1 else _counted(stimulus, counts, f"each row sums to {sums[0]:g}", doubts)


def _is_count(profile: ColumnProfile) -> bool:
    """Whether every cell is a whole number from 0."""
    return profile.natural and profile.filled == profile.rows and not is_unnamed(profile.name)


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
