"""From the columns of somebody's table to a proposal: which layout it has, and which column plays which role in it.

Layouts are tried from the most to the least specific: two stimuli per row, one answer per row, one row per stimulus with
means, with counts or with a column per rater, one row per rater with a column per stimulus.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import polars as pl

from heartfelt.formats.column_profiles import ColumnProfile, determined_by, profiles, share_unique
from heartfelt.formats.roles import (
    CONSTRUCTS,
    NO_RATER,
    SIMILAR,
    VOCABULARY,
    WEAK,
    Proposal,
    RoleGuess,
    evidence,
    guess,
    name_score,
    ranked,
)
from heartfelt.formats.wide_names import wide_proposal

SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"), ("one", "two"))
"""Words at either end of a name that tell the two sides of a pair apart."""
USUAL_SCALES = ((1, 5), (1, 7), (1, 9), (1, 10), (0, 10), (0, 100), (-3, 3), (1, 3), (1, 4), (1, 6))
_MOST_QUESTIONS = 40
_ALMOST_UNIQUE = 0.98
_CLOSE = 0.15
"""A runner-up whose score is nearer than this makes a guess doubtful."""
_MOST_ANSWERS = 101
_TEXT_OF_A_CELL = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows that a proposal rests on, and the profile of each column."""

    frame: pl.DataFrame
    columns: dict[str, ColumnProfile]

    def scored(self, role: str, *taken: str | None) -> list[tuple[ColumnProfile, float]]:
        """The columns by how far their names speak for a role."""
        return ranked((p, name_score(p, role)) for n, p in self.columns.items() if n not in taken)

    def named(self, role: str, *taken: str | None) -> ColumnProfile | None:
        """The column whose name speaks most for a role, if one does."""
        best = [profile for profile, score in self.scored(role, *taken) if score >= SIMILAR]
        return best[0] if best else None


def propose(frame: pl.DataFrame) -> Proposal | None:
    """How a table can be read; None where nothing speaks for any layout. ``frame`` may be the first rows only."""
    table = Table(frame=frame, columns={n: p for n, p in profiles(frame).items() if p.filled})
    if not table.columns or not frame.height:
        return None
    for layout in (_pairs, _long, _means, _votes, _wide):
        proposal = layout(table)
        if proposal is not None:
            return proposal
    return None


def _wide(table: Table) -> Proposal | None:
    return wide_proposal(table.columns)


# Two stimuli per row


def _sides(table: Table) -> tuple[ColumnProfile, ColumnProfile] | None:
    """The two columns whose names differ in a side only, and whose cells are names from one list."""
    found: list[tuple[int, ColumnProfile, ColumnProfile]] = []
    for left, right in combinations(table.columns.values(), 2):
        if not _differ_in_side(left, right) or left.moments or (left.numeric and not left.whole):
            continue
        cells = [set(table.frame[p.name].cast(pl.String).drop_nulls().unique()) for p in (left, right)]
        shared = len(cells[0] & cells[1]) / max(1, min(map(len, cells)))
        counted = {"win", "vote", "count", "prefer", "rank", "score", "rating", "goal"} & {*left.words}
        if not counted and (shared > 0 or left.media) and max(left.distinct, right.distinct) > 1:
            system = name_score(left, "system") >= SIMILAR
            found.append(
                (2 if name_score(left, "stimulus") >= SIMILAR else 1 if not system else 0, left, right)
            )
    found.sort(key=lambda entry: -entry[0])
    return found[0][1:] if found else None


def _differ_in_side(left: ColumnProfile, right: ColumnProfile) -> bool:
    a, b = left.words, right.words
    if len(a) != len(b) or a == b:
        return False
    places = [place for place in range(len(a)) if a[place] != b[place]]
    return len(places) == 1 and (a[places[0]], b[places[0]]) in SIDES


def _pairs(table: Table) -> Proposal | None:
    sides = _sides(table)
    if sides is None:
        winner, loser = table.named("winner"), table.named("loser")
        if winner is None or loser is None or winner.numeric:
            return None
        sides = (winner, loser)
    taken = {side.name for side in sides}
    kind = "_system" if name_score(sides[0], "system") >= SIMILAR else ""
    guesses = [
        RoleGuess(role=f"{role}{kind}", column=side.name, score=0.9, evidence=side.facts())
        for role, side in zip(("first", "second"), sides, strict=True)
    ]
    answer = _pair_answer(table, sides)
    if answer is None:
        return None
    guesses += answer
    taken |= {name for guess in answer for name in guess.column.split(",")}
    doubts = (
        []
        if kind or name_score(sides[0], "stimulus") >= SIMILAR
        else [f"'{sides[0].name}' may not name stimuli"]
    )
    rater = [pair for pair in table.scored("rater", *taken) if pair[0].repeats or pair[1] >= SIMILAR]
    if rater:
        guesses.append(guess("rater", rater))
        doubts += (
            []
            if rater[0][1] >= SIMILAR
            else [f"no column is named like a rater; '{rater[0][0].name}' may be one"]
        )
    taken |= {guess.column for guess in guesses}
    question = table.named("question", *taken)
    if question is not None and question.distinct <= _MOST_QUESTIONS and not question.numeric:
        guesses.append(guess("question", [(question, 1.0)]))
    prompt = table.named("prompt", *taken)
    if kind and prompt is not None:
        guesses.append(guess("prompt", [(prompt, 1.0)]))
    return Proposal(
        format="long",
        layout="each row compares two stimuli",
        guesses=tuple(guesses),
        settings={} if rater else {"rater": NO_RATER},
        doubts=tuple(doubts),
    )


def _pair_answer(table: Table, sides: tuple[ColumnProfile, ColumnProfile]) -> list[RoleGuess] | None:
    """The column that says which of two won, or the columns that count who chose which."""
    names = {side.name for side in sides}
    counts = [
        p
        for p in table.columns.values()
        if p.whole and p.low is not None and p.low >= 0 and p.name not in names
    ]
    for left, right in combinations(counts, 2):
        wins = {"win", "vote", "count", "prefer"} & {*left.words}
        if wins and _differ_in_side(left, right):
            ties = [p.name for p in counts if p.noun in VOCABULARY["tie"]]
            votes = ",".join([left.name, right.name, *ties[:1]])
            return [RoleGuess(role="votes", column=votes, score=0.9, evidence="how many chose which")]
    cells = {str(cell) for side in sides for cell in table.frame[side.name].unique()}
    found = []
    for profile, score in table.scored("winner", *(names if table.named("loser") is None else ())):
        answers = {str(cell) for cell in table.frame[profile.name].drop_nulls().unique()}
        if not profile.numeric:
            found.append((profile, score + (0.5 if len(answers & cells) > len(answers) / 2 else 0.0)))
        elif profile.whole and profile.distinct <= 7:
            found.append((profile, score - 0.1))
    if found:
        best = ranked(found)
        return [guess("value" if best[0][0].numeric else "winner", best)]
    numbers = [(p, s) for p, s in table.scored("value", *names) if p.numeric and p.distinct <= 7]
    return [guess("value", numbers)] if numbers else None


# One answer per row


def _long(table: Table) -> Proposal | None:
    raters = [(p, _id_score(p, "rater", s)) for p, s in _all_scores(table, "rater") if _can_be_id(p)]
    stimuli = [(p, _id_score(p, "stimulus", s)) for p, s in _all_scores(table, "stimulus") if _can_be_id(p)]
    raters, stimuli = ranked(raters), ranked(stimuli)
    pair = _best_pair(table, raters, stimuli)
    if pair is None:
        return _without_rater(table, stimuli)
    rater, stimulus = pair
    taken = {rater.column, *stimulus.column.split("+")}
    question = _question(table, rater.column, stimulus.column, taken)
    if question is not None:
        taken.add(question.column)
    values, doubts = _values(
        table, taken, rater.column, stimulus.column.split("+"), single=question is not None
    )
    if values is None:
        return None
    taken |= set(values.column.split(","))
    guesses = [rater, stimulus, *([question] if question else []), values]
    guesses += _facts_of_stimuli(table, stimulus.column.split("+"), taken)
    doubts = [*_doubts(rater), *_doubts(stimulus), *doubts]
    settings = _settings(table, rater, stimulus, question, values)
    if "repeat" in settings:
        doubts.append(
            "some raters have several answers for one stimulus; they are numbered in the order of the rows"
        )
    if "where" in settings:
        doubts.append(f"rows without a stimulus are left out ({settings['where']})")
    return Proposal(
        format="long", layout="one answer per row" if len(values.column.split(",")) == 1 else "one row per rater and stimulus",
        guesses=tuple(guesses), settings=settings, doubts=tuple(doubts),
    )  # fmt: skip


def _all_scores(table: Table, role: str) -> list[tuple[ColumnProfile, float]]:
    return [(profile, name_score(profile, role)) for profile in table.columns.values()]


def _can_be_id(profile: ColumnProfile) -> bool:
    decimals = profile.numeric and not profile.whole
    about = {"value", "winner", "background", "n", "sd", "seconds", "position"} - (
        {"n", "winner"} if profile.is_id else set()
    )
    named = any(name_score(profile, role) >= SIMILAR for role in about)
    rated = name_score(profile, "rater") >= SIMILAR or name_score(profile, "stimulus") >= SIMILAR
    return not decimals and not profile.moments and (rated or not named) and profile.noun not in CONSTRUCTS


def _id_score(profile: ColumnProfile, role: str, name: float) -> float:
    """The name's score, and a little for cells that look the part."""
    score = name
    if role == "stimulus" and profile.media:
        score += 0.5
    if role == "rater" and profile.media:
        return 0.0
    if not profile.repeats:
        score -= 0.3
    if profile.noun == "path" and not profile.media:
        score -= 0.2
    other = "stimulus" if role == "rater" else "rater"
    if name < SIMILAR and any(
        name_score(profile, rival) >= SIMILAR
        for rival in (other, "system", "question", "prompt", "intent", "repeat")
    ):
        return 0.0
    if name < SIMILAR and profile.repeats and profile.length <= _TEXT_OF_A_CELL:
        few = profile.numeric and profile.distinct <= 10 and profile.low is not None and profile.low >= 0
        score += 0.05 if few else 0.25
    return score


def _best_pair(
    table: Table, raters: list[tuple[ColumnProfile, float]], stimuli: list[tuple[ColumnProfile, float]]
) -> tuple[RoleGuess, RoleGuess] | None:
    """The rater and the stimulus that name a row best: by their own scores, and by how few rows share both."""
    best: tuple[float, int, int] | None = None
    for i, (rater, rater_score) in enumerate(raters[:5]):
        for j, (stimulus, stimulus_score) in enumerate(stimuli[:5]):
            if rater.name == stimulus.name or rater.unique or (stimulus.unique and rater_score < SIMILAR):
                continue
            if rater_score < WEAK and stimulus_score < WEAK:
                continue
            score = (
                rater_score + stimulus_score + 0.5 * share_unique(table.frame, [rater.name, stimulus.name])
            )
            if best is None or score > best[0] + 1e-9:
                best = (score, i, j)
    if best is None:
        return None
    _, i, j = best
    others = (
        [p for p in raters if p[0].name != stimuli[j][0].name],
        [p for p in stimuli if p[0].name != raters[i][0].name],
    )
    rater = guess("rater", [raters[i], *(p for p in others[0] if p[0].name != raters[i][0].name)])
    stimulus = guess("stimulus", [stimuli[j], *(p for p in others[1] if p[0].name != stimuli[j][0].name)])
    system = table.named("system", rater.column)
    keys = [rater.column, stimulus.column]
    if system is not None and system.name not in keys and system.distinct > 1:
        doubled = share_unique(table.frame, keys) < _ALMOST_UNIQUE
        if doubled and not determined_by(table.frame, [stimulus.column], [system.name]):
            joined = f"{stimulus.column}+{system.name}"
            stimulus = RoleGuess(
                role="stimulus", column=joined, score=stimulus.score, runner_up=stimulus.column,
                evidence=f"a row is about both: '{stimulus.column}' comes with each '{system.name}'",
            )  # fmt: skip
    return rater, stimulus


def _doubts(best: RoleGuess) -> list[str]:
    if best.score >= SIMILAR:
        return []
    return [f"no column is clearly named like a {best.role}; '{best.column}' is the best guess"]


def _question(table: Table, rater: str, stimulus: str, taken: set[str]) -> RoleGuess | None:
    """A column that names the question, where the rows need one or its name says so."""
    doubled = share_unique(table.frame, [rater, *stimulus.split("+")]) < _ALMOST_UNIQUE
    found = [
        (profile, score)
        for profile, score in table.scored("question", *taken)
        if score >= SIMILAR
        and 1 <= profile.distinct <= _MOST_QUESTIONS
        and not profile.numeric
        and profile.filled == profile.rows
    ]
    return guess("question", found) if found and (doubled or found[0][1] == 1.0) else None


def _values(
    table: Table, taken: set[str], rater: str, stimulus: list[str], *, single: bool
) -> tuple[RoleGuess | None, list[str]]:
    """The columns of answers, and what is doubtful about them."""
    others = [name for name in table.columns if name not in taken]
    fixed = {*determined_by(table.frame, stimulus, others), *determined_by(table.frame, [rater], others)}
    numbers = [
        profile
        for name, profile in table.columns.items()
        if name not in taken and profile.numeric and not _is_other(profile) and name not in fixed
    ]
    texts = [
        profile
        for name, profile in table.columns.items()
        if name not in taken and not profile.numeric and not profile.moments and name not in fixed
    ]
    named = [p for p in [*numbers, *texts] if name_score(p, "value") >= SIMILAR]
    about = [p for p in numbers if {*p.words} & CONSTRUCTS]
    chosen = named or about
    if named and about and not single and all(len(p.words) == 1 for p in named) and len(named) == 1:
        chosen = named
    doubts: list[str] = []
    if not chosen:
        whole = [p for p in numbers if p.distinct <= _MOST_ANSWERS and not p.is_id]
        # All of one constant table: nothing varies, and the name has to do.
        chosen = whole or [
            p
            for n, p in table.columns.items()
            if n not in taken and p.numeric and name_score(p, "value") >= SIMILAR
        ]
        if chosen and name_score(chosen[0], "value") < SIMILAR:
            doubts.append(f"no column is clearly named like an answer; '{chosen[0].name}' is the best guess")
    if not chosen:
        constant = [p for n, p in table.columns.items() if n not in taken and (
            name_score(p, "value") >= SIMILAR or (p.numeric and {*p.words} & CONSTRUCTS))]  # fmt: skip
        chosen = constant
    if not chosen:
        return None, doubts
    if single and len(chosen) > 1:
        doubts.append(f"'{chosen[1].name}' could be the answer as well as '{chosen[0].name}'")
        chosen = chosen[:1]
    rest = [p.name for p in numbers if p not in chosen and p.distinct <= _MOST_ANSWERS]
    first = chosen[0]
    score = name_score(first, "value") or (SIMILAR if {*first.words} & CONSTRUCTS else WEAK)
    return (
        RoleGuess(
            role="value",
            column=",".join(profile.name for profile in chosen),
            score=score,
            evidence=evidence(first, score),
            runner_up=rest[0] if rest else None,
        ),
        doubts,
    )


def _is_other(profile: ColumnProfile) -> bool:
    """Whether a column of numbers holds something besides answers, by its name: times, places, ages."""
    roles = ("at", "seconds", "position", "repeat", "background", "sd")
    named = any(name_score(profile, role) >= SIMILAR for role in roles)
    return (
        (named and name_score(profile, "value") < SIMILAR)
        or profile.words[-1:] == ("index",)
        or profile.is_id
    )


def _facts_of_stimuli(table: Table, stimulus: list[str], taken: set[str]) -> list[RoleGuess]:
    """Systems, intents and prompts: named so, and the same in all rows of a stimulus."""
    fixed = {*determined_by(table.frame, stimulus, list(table.columns)), *stimulus}
    out: list[RoleGuess] = []
    for role in ("system", "intent", "prompt"):
        own = [(p, s) for p, s in table.scored(role) if s >= SIMILAR and p.name in fixed]
        own = [(p, s) for p, s in own if p.name not in taken or (p.name in stimulus and len(stimulus) > 1)]
        if own and own[0][0].distinct > 1 and own[0][0].filled == own[0][0].rows:
            out.append(guess(role, own))
    return out


def _settings(
    table: Table, rater: RoleGuess, stimulus: RoleGuess, question: RoleGuess | None, values: RoleGuess
) -> dict[str, str]:
    settings: dict[str, str] = {}
    frame = table.frame
    parts = stimulus.column.split("+")
    empty = [part for part in parts if table.columns[part].filled < table.columns[part].rows]
    if empty:
        settings["where"] = f"{empty[0]}!="
        cells = pl.col(empty[0]).cast(pl.String).str.strip_chars().fill_null("")
        frame = frame.filter(cells != "")
    key = [rater.column, *parts, *([question.column] if question else [])]
    if frame.select(key).is_duplicated().any():
        numbered = table.named("repeat", *key)
        settings["repeat"] = "order" if numbered is None or numbered.low != 0 else numbered.name
    scale = usual_scale([table.columns[name] for name in values.column.split(",")])
    if scale:
        settings["scale"] = scale
    return settings


def usual_scale(answers: list[ColumnProfile]) -> str | None:
    """The usual scale whose two ends both occur among whole-numbered answers, as an option states it."""
    lows = [p.low for p in answers if p.low is not None]
    highs = [p.high for p in answers if p.high is not None]
    if not lows or len(lows) < len(answers) or not all(p.whole for p in answers):
        return None
    limits = (min(lows), max(highs))
    return f"{limits[0]:g}-{limits[1]:g}" if limits in USUAL_SCALES and limits[0] >= 0 else None


def _without_rater(table: Table, stimuli: list[tuple[ColumnProfile, float]]) -> Proposal | None:
    """One answer per row, but nobody knows whose."""
    named = [(p, s) for p, s in stimuli if p.repeats and s >= SIMILAR and p.distinct <= 0.67 * p.rows]
    if not named:
        return None
    stimulus = guess("stimulus", named)
    values, doubts = _values(table, {stimulus.column}, stimulus.column, [stimulus.column], single=False)
    if values is None:
        return None
    scale = usual_scale([table.columns[name] for name in values.column.split(",")])
    return Proposal(
        format="long",
        layout="one answer per row, raters unknown",
        guesses=(
            stimulus,
            values,
            *_facts_of_stimuli(table, [stimulus.column], {values.column, stimulus.column}),
        ),
        settings={"rater": NO_RATER, **({"scale": scale} if scale else {})},
        doubts=("no column names the rater", *doubts),
    )


# One row per stimulus


def _key(table: Table) -> tuple[RoleGuess, list[str]] | None:
    """The stimulus of a table with one row each."""
    found = ranked((p, s + (0.5 if p.media else 0.0)) for p, s in _all_scores(table, "stimulus") if p.unique)
    if not found:
        return None
    best = guess("stimulus", found)
    return best, _doubts(best)


def _means(table: Table) -> Proposal | None:
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
        doubts = [*doubts, f"'{plain[0].name}' holds decimals: means are assumed"]
    elif len(means) == 1 and len(means[0].words) == 1:
        guesses.append(guess("mean", [(means[0], 1.0)]))
        for role in ("sd", "n"):
            if (own := table.named(role, stimulus.column, means[0].name)) is not None and own.numeric:
                guesses.append(guess(role, [(own, 1.0)]))
    guesses += _facts_of_unique(table, {guess.column for guess in guesses})
    return Proposal(
        format="means", layout="one row per stimulus with means", guesses=tuple(guesses), doubts=tuple(doubts)
    )


def _facts_of_unique(table: Table, taken: set[str]) -> list[RoleGuess]:
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


def _votes(table: Table) -> Proposal | None:
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
    named = stimulus.score >= SIMILAR
    return Proposal(
        format="votes", layout="one row per item with a count per category", guesses=(stimulus, column),
        doubts=tuple(doubts if named else [*doubts]) + (() if same or len(words) > 1 else ("counts are assumed",)),
    )  # fmt: skip
