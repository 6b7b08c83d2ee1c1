"""Proposals for tables with one row per stimulus: means, or a count per category; nobody knows who rated."""

from __future__ import annotations

import polars as pl

from heartfelt.formats.roles import (
    CONSTRUCTS,
    SIMILAR,
    VOCABULARY,
    ProfiledTable,
    Proposal,
    RoleGuess,
    evidence,
    guess,
    name_score,
    ranked,
    uncertain,
)


def _key(table: ProfiledTable) -> tuple[RoleGuess, dict[str, str]] | None:
    """The stimulus of a table with one row each."""
    found = ranked((p, s + (0.5 if p.media else 0.0)) for p, s in table.scored("stimulus") if p.unique)
    if not found:
        return None
    best = guess("stimulus", found)
    return best, uncertain(best)


def means_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no column holds means."""
    key = _key(table)
    if key is None or name_score(table.columns[key[0].column], "rater") >= SIMILAR:
        return None
    stimulus, doubts = key
    numbers = [p for p in table.columns.values() if p.numeric and p.name != stimulus.column]
    means = [p for p in numbers if {*p.words} & VOCABULARY["mean"] and not {*p.words} & VOCABULARY["sd"]]
    counts = [p for p in numbers if p.whole and ({*p.words} & VOCABULARY["n"]) and p not in means]
    plain = [p for p in numbers if {*p.words} & CONSTRUCTS and not p.whole]
    if not means and not plain:
        return None
    guesses = [stimulus]
    if not means:
        columns = ",".join(p.name for p in plain)
        guesses.append(
            RoleGuess(role="mean", column=columns, score=SIMILAR, evidence=evidence(plain[0], SIMILAR))
        )
        if counts:
            guesses.append(
                RoleGuess(role="n", column=counts[0].name, score=SIMILAR, evidence=counts[0].facts())
            )
        doubts["mean"] = f"'{plain[0].name}' holds decimals: means are assumed"
    elif len(means) == 1 and len(means[0].words) == 1:
        guesses.append(guess("mean", [(means[0], 1.0)]))
        for role in ("sd", "n"):
            if (own := table.named(role, stimulus.column, means[0].name)) is not None and own.numeric:
                guesses.append(guess(role, [(own, 1.0)]))
    guesses += _facts_of_unique(table, {guess.column for guess in guesses})
    return Proposal(
        format="means", layout="one row per stimulus with means", guesses=tuple(guesses), doubts=doubts
    )


def _facts_of_unique(table: ProfiledTable, taken: set[str]) -> list[RoleGuess]:
    """Systems, intents and prompts of a table with one row per stimulus."""
    out = []
    for role in ("system", "intent", "prompt"):
        own = [
            (p, s)
            for p, s in table.scored(role, *taken)
            if s >= SIMILAR and not p.numeric and p.filled == p.rows
        ]
        if own:
            out.append(guess(role, own))
    return out


def votes_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no columns hold counts."""
    key = _key(table)
    if key is None or name_score(table.columns[key[0].column], "rater") >= SIMILAR:
        return None
    stimulus, doubts = key
    counts = [
        p
        for p in table.columns.values()
        if p.name != stimulus.column and p.whole and p.low is not None and p.low >= 0 and p.filled == p.rows
        and p.noun not in VOCABULARY["background"] and p.words[-1:] != ("total",) and p.name.casefold() not in {"n", "total", "sum"}
    ]  # fmt: skip
    words = [p for p in counts if {"vote", "count", "n"} & {*p.words}]
    numbered = [p for p in counts if any(word.isdigit() for word in p.words)]
    chosen = (
        words
        if len(words) > 1
        else [p for p in counts if p not in numbered or not {*p.words} & VOCABULARY["rater"]]
    )
    if len(chosen) < 2:
        return None
    sums = table.frame.select(
        pl.sum_horizontal(pl.col(p.name).cast(pl.Float64, strict=False) for p in chosen)
    ).to_series()
    same = sums.n_unique() == 1 and table.frame.height > 1
    if len(words) < 2 and not (same and not numbered):
        return None
    listed = ",".join(p.name for p in chosen)
    column = RoleGuess(
        role="categories", column=listed, score=0.8, evidence="its names say votes" if len(words) > 1 else f"each row sums to {sums[0]:g}"
    )  # fmt: skip
    return Proposal(
        format="votes", layout="one row per item with a count per category", guesses=(stimulus, column),
        doubts=doubts,
    )  # fmt: skip
