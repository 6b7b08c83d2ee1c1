"""A proposal for a table with one answer per row, or one row per rater and stimulus with a column per question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from heartfelt.formats.column_profiles import ColumnProfile, determined_by, share_unique
from heartfelt.formats.roles import (
    CONSTRUCTS,
    NAMED,
    NO_RATER,
    SIMILAR,
    WEAK,
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

USUAL_SCALES = ((1, 5), (1, 7), (1, 9), (1, 10), (0, 10), (0, 100), (1, 3), (1, 4), (1, 6))
REPEATED = "some raters answered the same more than once; all these answers are used"
_MOST_QUESTIONS = 40
_ALMOST_UNIQUE = 0.98
_MOST_ANSWERS = 101
_TEXT_OF_A_CELL = 60
_CAPTION = 0.4
"""What a column of captions scores as the stimulus: more than one that could be anything, less than one that is named so."""


def long_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no two columns name raters and stimuli that come back."""
    one_row_each = any(p.unique and p.rows > 1 and table.score(p, "rater") >= NAMED for p in table.columns.values())
    if one_row_each or table.texts:  # a survey: one row per rater
        return None
    raters, stimuli = (
        ranked((profile, _id_score(table, profile, role)) for profile in table.columns.values())
        for role in ("rater", "stimulus")
    )
    pair = _best_pair(table, raters, stimuli)
    if pair is None:
        return _without_rater(table, stimuli)
    rater, stimulus = pair
    parts = stimulus.column.split("+")
    used_columns = {rater.column, *parts}
    question = _question(table, [rater.column, *parts])
    if question is not None:
        used_columns.add(question.column)
    values, doubts = _values(table, used_columns, [[rater.column], parts], single=question is not None)
    if values is None:
        return None
    answers = values.column.split(",")
    guesses = (rater, stimulus, *([question] if question else []), values)
    key = [rater.column, *parts, *([question.column] if question else [])]
    settings = _settings(table, key, parts, answers)
    doubts = {**uncertain(rater), **uncertain(stimulus), **doubts}
    if settings.get("repeat") == "order":
        doubts["repeat"] = REPEATED
    if "where" in settings:
        doubts["where"] = f"rows without a stimulus are left out ({settings['where']})"
    return Proposal(
        format="long",
        layout="one answer per row" if len(answers) == 1 else "one row per rater and stimulus",
        guesses=(*guesses, *_facts_of_stimuli(table, parts, {*used_columns, *answers})),
        settings=settings,
        doubts=doubts,
    )


def _can_be_id(profile: ColumnProfile) -> bool:
    about = {"value", "background", "sd", "seconds", "position"} | (set() if profile.is_id else {"n", "winner"})
    named = any(name_score(profile, role) >= SIMILAR for role in about)
    rated = any(name_score(profile, role) >= SIMILAR for role in ("rater", "stimulus"))
    decimals = profile.numeric and not profile.whole
    answers = profile.noun in CONSTRUCTS or (bool({*profile.words} & CONSTRUCTS) and not profile.is_id)
    return not decimals and not profile.moments and (rated or not named) and not answers


def _id_score(table: ProfiledTable, profile: ColumnProfile, role: str) -> float:
    """How far the name speaks for the role, and a little for cells that look the part."""
    score = name = table.score(profile, role)
    if role in table.stated or profile.name in table.stated.values():
        return score
    if not _can_be_id(profile) or (role == "rater" and profile.media):
        return 0.0
    if role == "stimulus" and profile.media:
        score += 0.5
    if not profile.repeats:
        score -= 0.3
    if profile.noun == "path" and not profile.media:
        score -= 0.2
    if name >= SIMILAR:
        return score
    if role == "stimulus" and name_score(profile, "prompt") >= SIMILAR and table.named("stimulus") is None:
        return score + _CAPTION  # captions serve as keys where nothing else names what was rated
    rivals = {"rater", "stimulus", "system", "question", "prompt", "intent", "repeat"} - {role}
    if any(name_score(profile, rival) >= SIMILAR for rival in rivals):
        return 0.0
    if profile.repeats and profile.length <= _TEXT_OF_A_CELL:
        few = profile.numeric and profile.distinct <= 10 and profile.low is not None and profile.low >= 0
        score += 0.05 if few else 0.25
    return score


def _best_pair(
    table: ProfiledTable, raters: list[tuple[ColumnProfile, float]], stimuli: list[tuple[ColumnProfile, float]]
) -> tuple[RoleGuess, RoleGuess] | None:
    """The rater and the stimulus that name a row best: by their own scores, and by how few rows share both."""
    best: tuple[float, ColumnProfile, ColumnProfile] | None = None
    for rater, rater_score in raters[:5]:
        for stimulus, stimulus_score in stimuli[:5]:
            alone = rater.unique or (stimulus.unique and rater_score < SIMILAR)
            if rater.name == stimulus.name or alone or max(rater_score, stimulus_score) < WEAK:
                continue
            unique = share_unique(table.frame, [rater.name, stimulus.name])
            score = rater_score + stimulus_score + 0.5 * unique
            if best is None or score > best[0] + 1e-9:
                best = (score, rater, stimulus)
    if best is None:
        return None
    _, rater, stimulus = best
    chosen_names = {rater.name, stimulus.name}
    first, second = (
        guess(
            role,
            [
                *(pair for pair in candidates if pair[0] is chosen),
                *(pair for pair in candidates if pair[0].name not in chosen_names),
            ],
        )
        for role, candidates, chosen in (("rater", raters, rater), ("stimulus", stimuli, stimulus))
    )
    return first, _joined(table, first, second)


def _joined(table: ProfiledTable, rater: RoleGuess, stimulus: RoleGuess) -> RoleGuess:
    """The stimulus, or the stimulus and the system where only both together name what was rated."""
    system = table.named("system", rater.column, stimulus.column)
    keys = [rater.column, stimulus.column]
    if system is None or system.distinct < 2 or share_unique(table.frame, keys) >= _ALMOST_UNIQUE:
        return stimulus
    if determined_by(table.frame, [stimulus.column], [system.name]):
        return stimulus
    return replace(
        stimulus,
        column=f"{stimulus.column}+{system.name}",
        evidence=f"a row is about both: '{stimulus.column}' comes with several '{system.name}'",
        runner_up=stimulus.column,
    )


def _question(table: ProfiledTable, key: list[str]) -> RoleGuess | None:
    """A column that names the question, where the rows need one or its name says so."""
    doubled = share_unique(table.frame, key) < _ALMOST_UNIQUE
    candidates = [
        (profile, score)
        for profile, score in table.scored("question", *key)
        if score >= SIMILAR
        and profile.distinct <= _MOST_QUESTIONS
        and not profile.numeric
        and profile.filled == profile.rows
    ]
    return guess("question", candidates) if candidates and (doubled or candidates[0][1] >= NAMED) else None


def _values(
    table: ProfiledTable, used_columns: set[str], keys: list[list[str]], *, single: bool
) -> tuple[RoleGuess | None, dict[str, str]]:
    """The columns of answers, and what is doubtful about them."""
    free_columns = [profile for name, profile in table.columns.items() if name not in used_columns]
    names = [profile.name for profile in free_columns]
    fixed = {name for key in keys for name in determined_by(table.frame, key, names)}
    varying = [profile for profile in free_columns if profile.name not in fixed]
    doubts: dict[str, str] = {}
    chosen = _named_answers(table, varying) or _named_answers(table, free_columns)
    numbers = [p for p in varying if p.numeric and not _is_other(p) and p.distinct <= _MOST_ANSWERS]
    if not chosen and numbers:
        chosen = numbers
        doubts["value"] = f"no column is clearly named like an answer; '{numbers[0].name}' is the best guess"
    if not chosen:
        return None, doubts
    if len(chosen) > 1 and (single or not _alike(chosen)):
        doubts["value"] = f"'{chosen[1].name}' could be the answer as well as '{chosen[0].name}'"
        chosen = chosen[:1]
    unchosen = [profile.name for profile in numbers if profile not in chosen]
    score = max(table.score(chosen[0], "value"), SIMILAR if {*chosen[0].words} & CONSTRUCTS else WEAK)
    column = ",".join(profile.name for profile in chosen)
    runner_up = unchosen[0] if unchosen else None
    because = evidence(chosen[0], score)
    return RoleGuess(role="value", column=column, score=score, evidence=because, runner_up=runner_up), doubts


def _named_answers(table: ProfiledTable, columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """The columns named like answers; else those of numbers named after what ratings are usually about."""
    named = [p for p in columns if table.score(p, "value") >= SIMILAR and not p.moments]
    return named or [p for p in columns if p.numeric and {*p.words} & CONSTRUCTS and not _is_other(p)]


def _alike(answers: Sequence[ColumnProfile]) -> bool:
    """Whether columns may hold answers to several questions: names of more than one word or of constructs, one range."""
    named = all(len(profile.words) > 1 or {*profile.words} & CONSTRUCTS for profile in answers)
    return named and len({profile.numeric for profile in answers}) == 1


def _is_other(profile: ColumnProfile) -> bool:
    """Whether a column of numbers holds something besides answers, by its name: times, places, ages."""
    roles = ("at", "seconds", "position", "repeat", "background", "sd")
    named = any(name_score(profile, role) >= SIMILAR for role in roles)
    numbering = profile.is_id or profile.words[-1:] == ("index",)
    return numbering or (named and name_score(profile, "value") < SIMILAR)


def _facts_of_stimuli(table: ProfiledTable, stimulus: list[str], used_columns: set[str]) -> list[RoleGuess]:
    """Systems, intents and prompts: named so, and the same in all rows of a stimulus."""
    fixed = {*determined_by(table.frame, stimulus, list(table.columns)), *(stimulus if len(stimulus) > 1 else ())}
    free = fixed - used_columns | fixed & {*stimulus}
    return facts_of_stimuli(table, lambda p: p.distinct > 1 and p.name in free)


def _settings(table: ProfiledTable, key: list[str], stimulus: list[str], answers: list[str]) -> dict[str, str]:
    """Rows to leave out, how repeated answers are numbered, and the scale where both of its ends occur."""
    settings: dict[str, str] = {}
    frame = table.frame
    empty = [part for part in stimulus if table.columns[part].filled < table.columns[part].rows]
    if empty:
        settings["where"] = f"{empty[0]}!="
        frame = frame.filter(pl.col(empty[0]).cast(pl.String).str.strip_chars().fill_null("") != "")
    if frame.select(key).is_duplicated().any():
        settings["repeat"] = "order"
    scale = usual_scale([table.columns[name] for name in answers])
    return {**settings, "scale": scale} if scale else settings


def usual_scale(answers: Sequence[ColumnProfile]) -> str | None:
    """The usual scale whose two ends both occur among whole-numbered answers, as an option states it."""
    lows, highs = (
        [limit for limit in limits if limit is not None]
        for limits in zip(*((p.low, p.high) for p in answers), strict=True)
    )
    if len(lows) < len(answers) or not all(profile.whole for profile in answers):
        return None
    limits = (min(lows), max(highs))
    return f"{limits[0]:g}-{limits[1]:g}" if limits in USUAL_SCALES else None


def _without_rater(table: ProfiledTable, stimuli: list[tuple[ColumnProfile, float]]) -> Proposal | None:
    """One answer per row, but nobody knows whose."""
    if any(profile.unique and (profile.media or score >= NAMED) for profile, score in stimuli):
        return None
    named = [(profile, score) for profile, score in stimuli if profile.repeats and score >= SIMILAR]
    if not named:
        return None
    stimulus = guess("stimulus", named)
    values, doubts = _values(table, {stimulus.column}, [[stimulus.column]], single=False)
    if values is None:
        return None
    answers = values.column.split(",")
    scale = usual_scale([table.columns[name] for name in answers])
    facts = _facts_of_stimuli(table, [stimulus.column], {*answers, stimulus.column})
    return Proposal(
        format="long",
        layout="one answer per row, raters unknown",
        guesses=(stimulus, values, *facts),
        settings={"rater": NO_RATER, **({"scale": scale} if scale else {})},
        doubts={"rater": "no column names the rater", **doubts},
    )
