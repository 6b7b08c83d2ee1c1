"""A proposal for a table with one answer per row, or one row per rater and stimulus with a column per question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

import polars as pl

from heartfelt.formats.proposals.column_profiles import ColumnProfile, determined_by, share_unique
from heartfelt.formats.proposals.roles import (
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
    is_named_like,
    name_score,
    ranked,
    uncertain,
)

USUAL_SCALES = ((1, 5), (1, 7), (1, 9), (1, 10), (0, 10), (0, 100), (1, 3), (1, 4), (1, 6))
REPEATED = "some raters answered the same more than once; all these answers are used"
_NEVER_IDS = ("value", "background", "sd", "seconds", "position")
_ID_ROLES = frozenset({"rater", "stimulus", "system", "question", "prompt", "intent", "repeat"})
_NO_ANSWERS = ("at", "seconds", "position", "repeat", "background", "sd")
_MOST_QUESTIONS = 40
_ALMOST_UNIQUE = 0.98
_MOST_ANSWERS = 101
_TEXT_OF_A_CELL = 60
_CAPTION = 0.4
"""What a column of captions scores as the stimulus: more than one that could be anything, less than one that is named so."""


def long_proposal(table: ProfiledTable) -> Proposal | None:
    """The proposal, or None where no two columns name raters and stimuli that come back."""
    if _is_survey(table):
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
    question = _question(table, [rater.column, *parts])
    questions = [] if question is None else [question]
    key = [rater.column, *parts, *(named.column for named in questions)]
    values, doubts = _values(table, {*key}, [[rater.column], parts], single=bool(questions))
    if values is None:
        return None
    answers = values.column.split(",")
    settings = _settings(table, key, parts, answers)
    return Proposal(
        format="long",
        layout="one answer per row" if len(answers) == 1 else "one row per rater and stimulus",
        guesses=(rater, stimulus, *questions, values, *_facts_of_stimuli(table, parts, {*key, *answers})),
        settings=settings,
        doubts={**uncertain(rater), **uncertain(stimulus), **doubts, **_doubts_about(settings)},
    )


def _is_survey(table: ProfiledTable) -> bool:
    """Whether the table has one row per rater."""
    one_row_each = any(p.unique and p.rows > 1 and table.score(p, "rater") >= NAMED for p in table.columns.values())
    return one_row_each or bool(table.texts)


def _doubts_about(settings: dict[str, str]) -> dict[str, str]:
    doubts = {"repeat": REPEATED, "where": f"rows without a stimulus are left out ({settings.get('where')})"}
    return {option: doubt for option, doubt in doubts.items() if option in settings}


def _can_be_id(profile: ColumnProfile) -> bool:
    if profile.moments or (profile.numeric and not profile.whole):
        return False
    if profile.noun in CONSTRUCTS or (not profile.is_id and not CONSTRUCTS.isdisjoint(profile.words)):
        return False
    excluded = _NEVER_IDS if profile.is_id else (*_NEVER_IDS, "n", "winner")
    return is_named_like(profile, ("rater", "stimulus")) or not is_named_like(profile, excluded)


def _id_score(table: ProfiledTable, profile: ColumnProfile, role: str) -> float:
    """How far the name speaks for the role, and a little for cells that look the part."""
    name = table.score(profile, role)
    if role in table.stated or profile.name in table.stated.values():
        return name
    if not _can_be_id(profile) or (role == "rater" and profile.media):
        return 0.0
    score = _with_cells(name, profile, role)
    if name >= SIMILAR:
        return score
    if role == "stimulus" and _serves_as_key(table, profile):
        return score + _CAPTION
    if is_named_like(profile, _ID_ROLES - {role}):
        return 0.0
    return score + _score_of_repeats(profile)


def _with_cells(score: float, profile: ColumnProfile, role: str) -> float:
    """The score of a name, more where the cells look like stimuli and less where they do not."""
    if role == "stimulus" and profile.media:
        score += 0.5
    if not profile.repeats:
        score -= 0.3
    if profile.noun == "path" and not profile.media:
        score -= 0.2
    return score


def _serves_as_key(table: ProfiledTable, profile: ColumnProfile) -> bool:
    """Whether a column holds captions, which serve as keys where nothing else names what was rated."""
    return is_named_like(profile, ["prompt"]) and table.named("stimulus") is None


def _score_of_repeats(profile: ColumnProfile) -> float:
    if not profile.repeats or profile.length > _TEXT_OF_A_CELL:
        return 0.0
    few = profile.numeric and profile.distinct <= 10 and profile.low is not None and profile.low >= 0
    return 0.05 if few else 0.25


def _best_pair(
    table: ProfiledTable, raters: list[tuple[ColumnProfile, float]], stimuli: list[tuple[ColumnProfile, float]]
) -> tuple[RoleGuess, RoleGuess] | None:
    """The rater and the stimulus that name a row best: by their own scores, and by how few rows share both."""
    best_score, best = -inf, None
    for (rater, rater_score), (stimulus, stimulus_score) in product(raters[:5], stimuli[:5]):
        alone = rater.unique or (stimulus.unique and rater_score < SIMILAR)
        if rater.name == stimulus.name or alone or max(rater_score, stimulus_score) < WEAK:
            continue
        score = rater_score + stimulus_score + 0.5 * share_unique(table.frame, [rater.name, stimulus.name])
        # Equal but for rounding: the pair that comes first stays.
        if score > best_score + 1e-9:
            best_score, best = score, (rater, stimulus)
    if best is None:
        return None
    rater, stimulus = best
    first, second = (
        guess(role, _put_first(candidates, chosen, {rater.name, stimulus.name}))
        for role, candidates, chosen in (("rater", raters, rater), ("stimulus", stimuli, stimulus))
    )
    return first, _joined(table, first, second)


def _put_first(
    candidates: list[tuple[ColumnProfile, float]], chosen: ColumnProfile, used_names: set[str]
) -> list[tuple[ColumnProfile, float]]:
    """The chosen candidate, then those that play no part yet."""
    first = [pair for pair in candidates if pair[0] is chosen]
    return first + [pair for pair in candidates if pair[0].name not in used_names]


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
    named, numbers = _answer_candidates(table, used_columns, keys)
    chosen = named or numbers
    if not chosen:
        return None, {}
    doubt = "" if named else f"no column is clearly named like an answer; '{chosen[0].name}' is the best guess"
    if len(chosen) > 1 and (single or not _alike(chosen)):
        doubt = f"'{chosen[1].name}' could be the answer as well as '{chosen[0].name}'"
        chosen = chosen[:1]
    return _answers_of(table, chosen, numbers), {"value": doubt} if doubt else {}


def _answers_of(table: ProfiledTable, chosen: list[ColumnProfile], numbers: list[ColumnProfile]) -> RoleGuess:
    score = max(table.score(chosen[0], "value"), WEAK if CONSTRUCTS.isdisjoint(chosen[0].words) else SIMILAR)
    return RoleGuess(
        role="value",
        column=",".join(profile.name for profile in chosen),
        score=score,
        evidence=evidence(chosen[0], score),
        runner_up=next((profile.name for profile in numbers if profile not in chosen), None),
    )


def _answer_candidates(
    table: ProfiledTable, used_columns: set[str], keys: list[list[str]]
) -> tuple[list[ColumnProfile], list[ColumnProfile]]:
    """The columns named like answers, and those of numbers that differ between the rows of every key."""
    free_columns = {name: profile for name, profile in table.columns.items() if name not in used_columns}
    fixed = {name for key in keys for name in determined_by(table.frame, key, list(free_columns))}
    varying = [profile for name, profile in free_columns.items() if name not in fixed]
    named = _named_answers(table, varying) or _named_answers(table, list(free_columns.values()))
    return named, list(filter(_may_be_answer, varying))


def _may_be_answer(profile: ColumnProfile) -> bool:
    return profile.numeric and not _is_other(profile) and profile.distinct <= _MOST_ANSWERS


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
    numbering = profile.is_id or profile.words[-1:] == ("index",)
    return numbering or (is_named_like(profile, _NO_ANSWERS) and name_score(profile, "value") < SIMILAR)


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
    return settings | _usual_scale_of(table, answers)


def _usual_scale_of(table: ProfiledTable, answers: list[str]) -> dict[str, str]:
    scale = usual_scale([table.columns[name] for name in answers])
    return {"scale": scale} if scale else {}


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
    facts = _facts_of_stimuli(table, [stimulus.column], {*answers, stimulus.column})
    return Proposal(
        format="long",
        layout="one answer per row, raters unknown",
        guesses=(stimulus, values, *facts),
        settings={"rater": NO_RATER, **_usual_scale_of(table, answers)},
        doubts={"rater": "no column names the rater", **doubts},
    )
