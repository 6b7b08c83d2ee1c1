"""What the names of answer columns say in a table with one row per rater or stimulus: which question, which stimulus.

Qualtrics numbers its columns. A matrix gives ``Q3_1``, a question with a row per statement; a loop gives ``1_Q3``, the number
of the round first; side by side gives ``Q5#1_2``, a question with columns. Which part is the stimulus shows in the texts of
its second line, ``How pleasant was it? - Clip 3``: whichever part names clips, or is the same wherever the other changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from heartfelt.formats.column_profiles import ColumnProfile, words_of
from heartfelt.formats.roles import (
    CONSTRUCTS,
    SIMILAR,
    VOCABULARY,
    ProfiledTable,
    Proposal,
    RoleGuess,
    evidence,
    name_score,
)

QUESTION_FIRST, QUESTION_LAST = "{{question}}_{{{other}}}", "{{{other}}}_{{question}}"
_DEFAULT_NAME = re.compile(r"Q(?:ID)?\d+(?:\.\d+)?(?:#\d+)?", re.IGNORECASE)
_LOOP = re.compile(r"\d+_[^\d_].*")
_PARTS = re.compile(r"(.+?)_(.+)")
_QUESTION_WORDS = re.compile(
    r"\?|^(?:how|is|are|do|does|did|to what|what|which|would|please indicate|i |it |this |the )", re.IGNORECASE
)
_SEPARATORS = ("_", ".", "-", " ", "/", "|", ": ")
_COMPLETE = 0.8
_MOST_ANSWERS = 101
_MOST_WORDS = 12
_STATED_BETWEEN = " - "
_NAMES_ALONE = "the names alone do not tell questions from stimuli"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSubject:
    """What one column of answers is about: the question, and the stimulus or the rater."""

    column: str
    question: str
    other: str


class ColumnTexts(NamedTuple):
    """The texts of questions, and of stimuli or raters, by their ids."""

    questions: Mapping[str, str]
    others: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesReading:
    """The answer columns as their names were understood, the pattern behind it, and whether it could be the other way round."""

    cells: tuple[ColumnSubject, ...]
    pattern: str
    turned: str = ""
    """The pattern that reads the names the other way round."""
    doubt: str | None = None
    texts: ColumnTexts = field(default_factory=lambda: ColumnTexts({}, {}))
    """What the file says of questions and stimuli besides their ids."""


def read_names(columns: Sequence[str], texts: Mapping[str, str], column_role: str) -> NamesReading | None:
    """How the names of answer columns read without a pattern: they end in a digit, and a question has several of them."""
    loops = [name for name in columns if _LOOP.fullmatch(name)]
    rounds = {name.partition("_")[0] for name in loops}
    first, last = QUESTION_FIRST.format(other=column_role), QUESTION_LAST.format(other=column_role)
    if column_role == "stimulus" and len(rounds) > 1:
        cells = [
            ColumnSubject(column=name, question=name.partition("_")[2], other=name.partition("_")[0]) for name in loops
        ]
        return _reading(cells, last, first, None, texts)
    split = [(name, match) for name in columns if name[-1:].isdigit() and (match := _PARTS.fullmatch(name))]
    times = Counter(match[1] for _, match in split)
    several = [(name, match) for name, match in split if times[match[1]] > 1]
    if several:
        turned, doubt = (False, None) if column_role == "rater" else _orientation([m for _, m in several], texts)
        split = several
    else:  # a slider per stimulus: Q3_1, Q4_1, Q5_1
        split = [(name, match) for name, match in split if _DEFAULT_NAME.fullmatch(match[1])]
        turned, doubt = True, None if texts else _NAMES_ALONE
        if column_role == "rater" or len(split) < 2 or len({match[2] for _, match in split}) > 1:
            return None
    cells = [
        ColumnSubject(column=name, question=match[2 if turned else 1], other=match[1 if turned else 2])
        for name, match in split
    ]
    pattern, reverse = (last, first) if turned else (first, last)
    return _reading(cells, pattern, reverse, doubt, texts)


def _reading(
    cells: list[ColumnSubject], pattern: str, turned: str, doubt: str | None, texts: Mapping[str, str]
) -> NamesReading | None:
    if not cells:
        return None
    return NamesReading(cells=tuple(cells), pattern=pattern, turned=turned, doubt=doubt, texts=texts_of(cells, texts))


def texts_of(cells: Sequence[ColumnSubject], texts: Mapping[str, str]) -> ColumnTexts:
    """The parts of the columns' texts that all columns of a question share, and the rest where it belongs to a stimulus."""
    parts = {c.column: texts[c.column].split(_STATED_BETWEEN) for c in cells if texts.get(c.column)}
    shared: dict[str, list[str]] = {}
    for cell in cells:
        if cell.column in parts:
            before = shared.get(cell.question, parts[cell.column])
            shared[cell.question] = [part for part in before if part in parts[cell.column]]
    texts_of_subject: dict[str, set[str]] = {}
    for cell in cells:
        own_parts = [part for part in parts.get(cell.column, []) if part not in shared[cell.question]]
        if own_parts:
            texts_of_subject.setdefault(cell.other, set()).add(_STATED_BETWEEN.join(own_parts))
    # An instruction above all questions tells none of them apart.
    common = set.intersection(*map(set, shared.values())) if len(shared) > 1 else set()
    question_parts = {
        name: [part for part in all_parts if part not in common] or all_parts for name, all_parts in shared.items()
    }
    questions = {name: _STATED_BETWEEN.join(text_parts) for name, text_parts in question_parts.items() if text_parts}
    return ColumnTexts(
        questions,
        {name: subject_texts.pop() for name, subject_texts in texts_of_subject.items() if len(subject_texts) == 1},
    )


def _orientation(matches: Sequence[re.Match[str]], texts: Mapping[str, str]) -> tuple[bool, str | None]:
    """Whether the first part of the names is the stimulus, and why that may be wrong."""
    prefixes = list(dict.fromkeys(match[1] for match in matches))
    if not all(_DEFAULT_NAME.fullmatch(prefix) for prefix in prefixes):
        numbered = all(_names_stimulus(prefix) for prefix in prefixes)
        return numbered and len(prefixes) > 1, None
    if any("#" in prefix for prefix in prefixes):
        return False, None
    stems: dict[str, set[str]] = {prefix: set() for prefix in prefixes}
    statements: dict[str, set[str]] = {prefix: set() for prefix in prefixes}
    for match in matches:
        text = texts.get(match[0], "")
        if _STATED_BETWEEN in text:
            stem, _, statement = text.rpartition(_STATED_BETWEEN)
            stems[match[1]].add(stem.strip())
            statements[match[1]].add(statement.strip())
    listed = [text for statement_texts in statements.values() for text in statement_texts]
    stem_texts = [text for stem_list in stems.values() for text in stem_list]
    if not listed:
        return False, _NAMES_ALONE
    points = _share(_names_stimulus, listed) - _share(_names_stimulus, stem_texts)
    points += (_share(_asks, stem_texts) - _share(_asks, listed)) / 2
    same_stem = len(prefixes) > 1 and len(set(stem_texts)) == 1
    points -= 1.0 if same_stem else 0.0
    if abs(points) < 0.25:
        return False, f"neither '{stem_texts[0]}' nor '{listed[0]}' is clearly the name of a stimulus"
    return points < 0, None


def _share(test: object, texts: Sequence[str]) -> float:
    return sum(bool(test(text)) for text in texts) / len(texts) if callable(test) and texts else 0.0


def _names_stimulus(text: str) -> bool:
    """Whether a text names one stimulus: a file, or a noun such as clip with a number or a letter."""
    words = words_of(text)
    media = bool(re.search(r"\.(?:wav|mp3|flac|ogg|png|jpe?g|webp|gif|mp4)\b", text, re.IGNORECASE))
    nouns = VOCABULARY["stimulus"] | VOCABULARY["system"]
    numbered = any(
        word in nouns and (following.isdigit() or len(following) == 1) for word, following in pairwise(words)
    )
    return media or numbered or (len(words) == 1 and bool(re.fullmatch(r"[A-Za-z]{0,4}\d+", text.strip())))


def _asks(text: str) -> bool:
    """Whether a text asks something: a question, or what ratings are usually about."""
    words = set(words_of(text))
    return bool(_QUESTION_WORDS.search(text.strip())) or bool(words & (CONSTRUCTS | {"very", "not"}))


def wide_proposal(table: ProfiledTable) -> Proposal | None:
    """A proposal for a table with one row per rater, or per stimulus, and one column per item."""
    columns = table.columns
    answers = [p for p in columns.values() if _is_answer(p)]
    if len(answers) < 2:  # answers in words, as surveys export them too
        answers = [p for p in columns.values() if p.repeats and p.distinct <= _MOST_WORDS and p.name[-1:].isdigit()]
    if len(answers) < 2:
        return None
    rows, key, doubts = _row(columns, answers)
    column_role = "stimulus" if rows == "rater" else "rater"
    usual = read_names([profile.name for profile in answers], table.texts, column_role)
    matched = answers
    if usual is not None:
        pattern, matched = usual.pattern, [columns[cell.column] for cell in usual.cells]
        doubts |= {"pattern": f"{usual.doubt}; the other way round: {usual.turned}"} if usual.doubt else {}
    elif (grid := _grid(answers, column_role)) is not None:
        pattern = grid
    else:
        pattern, matched = f"{{{column_role}}}", _numbered(answers)
        if len(matched) < 3:
            return None
        if any(_DEFAULT_NAME.fullmatch(profile.name) for profile in matched):
            doubts["pattern"] = "the columns are only numbered; some may not be answers"
    settings = {"rows": rows, "pattern": pattern}
    # With a pattern of one name only, every other column fits it too.
    remaining = [p.name for p in columns.values() if p not in matched and (key is None or p.name != key.column)]
    fits = remaining if pattern == f"{{{column_role}}}" else [name for name in remaining if _fits(pattern, name)]
    if fits:
        settings[f"{rows}_columns"] = ",".join(fits)
    return Proposal(
        format="wide",
        layout=f"one row per {rows} and one column per {'item' if '{question}' in pattern else column_role}",
        guesses=(key,) if key is not None else (),
        settings=settings,
        doubts=doubts,
    )


def _is_answer(profile: ColumnProfile) -> bool:
    about = ("background", "at", "seconds", "sd", "n", "rater")
    named = any(profile.noun in VOCABULARY[role] and not profile.words[-1].isdigit() for role in about)
    return (
        profile.numeric
        and profile.distinct <= _MOST_ANSWERS
        and not profile.is_id
        and not named
        and profile.noun != "column"
    )


def _row(
    columns: Mapping[str, ColumnProfile], answers: Sequence[ColumnProfile]
) -> tuple[str, RoleGuess | None, dict[str, str]]:
    """What a row is, the column of its id, and what is doubtful about that."""
    raters, stimuli = (
        [p for p in columns.values() if p.unique and p not in answers and name_score(p, role) > 0]
        for role in ("rater", "stimulus")
    )
    by_rater = sum({*p.words} & VOCABULARY["rater"] != set() for p in answers)
    best = {
        role: max(
            (name_score(p, role) + (0.5 if p.media and role == "stimulus" else 0.0) for p in candidates), default=0.0
        )
        for role, candidates in (("rater", raters), ("stimulus", stimuli))
    }
    rows = "stimulus" if best["stimulus"] > best["rater"] or by_rater > len(answers) / 2 else "rater"
    candidates = raters if rows == "rater" else stimuli
    doubts = {} if best[rows] >= SIMILAR else {"id": f"no column clearly names the {rows} of a row"}
    if not candidates:
        return rows, None, doubts
    key = max(candidates, key=lambda p: name_score(p, rows) + p.media)
    score = name_score(key, rows)
    return rows, RoleGuess(role="id", column=key.name, score=score, evidence=evidence(key, score)), doubts


def _grid(answers: Sequence[ColumnProfile], column_role: str) -> str | None:
    """The pattern under which the names are questions by stimuli (or raters), nearly all combinations of them."""
    best: tuple[float, str] | None = None
    for mark in _SEPARATORS:
        for split in (str.partition, str.rpartition):
            parts = [split(p.name, mark) for p in answers if mark in p.name]
            lefts, rights = ({part[side] for part in parts} for side in (0, 2))
            if len(parts) < 2 or not lefts or len(lefts) * len(rights) > len(parts) / _COMPLETE:
                continue
            if len(lefts) == 1 and not {*words_of(next(iter(lefts)))} & CONSTRUCTS:
                continue
            pattern = _oriented(lefts, rights, mark, column_role)
            if split is str.rpartition and any(mark in prefix for prefix in lefts):
                continue  # a pattern splits at the first mark
            score = len(parts) / len(answers)
            if best is None or score > best[0]:
                best = (score, pattern)
    return best[1] if best is not None and best[0] >= _COMPLETE else None


def _oriented(lefts: set[str], rights: set[str], mark: str, column_role: str) -> str:
    def speaks_for_other(names: set[str]) -> float:
        nouns = VOCABULARY[column_role]
        role_count = sum(
            bool({*words_of(name)} & nouns) or PurePath(name).suffix != "" or name.isdigit() for name in names
        )
        construct_count = sum(bool({*words_of(name)} & CONSTRUCTS) for name in names)
        return (role_count - construct_count) / len(names) + 0.1 * (len(names) > 1)

    first_is_other = speaks_for_other(lefts) > speaks_for_other(rights)
    names = (f"{{{column_role}}}", "{question}") if first_is_other else ("{question}", f"{{{column_role}}}")
    return mark.join(names)


def _numbered(answers: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """The largest group of columns whose names differ in a number only, or that are called like media files."""
    groups: dict[str, list[ColumnProfile]] = {}
    for profile in answers:
        stem = "file" if PurePath(profile.name).suffix.lower() in {".wav", ".mp3", ".png", ".jpg", ".jpeg"} else ""
        groups.setdefault(stem or re.sub(r"\d+", "#", profile.name), []).append(profile)
    return max(groups.values(), key=len)


def _fits(pattern: str, name: str) -> bool:
    expression = re.escape(pattern)
    for part in ("question", "stimulus", "rater"):
        expression = expression.replace(re.escape(f"{{{part}}}"), ".+")
    return re.fullmatch(expression, name) is not None
