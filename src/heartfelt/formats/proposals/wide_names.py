"""What the names of answer columns say in a table with one row per rater or stimulus: which question, which stimulus.

Qualtrics numbers its columns. A matrix gives ``Q3_1``, a question with a row per statement; a loop gives ``1_Q3``, the number
of the round first; side by side gives ``Q5#1_2``, a question with columns. Which part is the stimulus shows in the texts of
its second line, ``How pleasant was it? - Clip 3``: whichever part names clips, or is the same wherever the other changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import PurePath
from typing import NamedTuple

from heartfelt.formats.proposals.column_profiles import ColumnProfile, words_of
from heartfelt.formats.proposals.roles import (
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
_LOOP = re.compile(r"(\d+)_([^\d_].*)")
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
    first, last = QUESTION_FIRST.format(other=column_role), QUESTION_LAST.format(other=column_role)
    rounds = _rounds(columns) if column_role == "stimulus" else []
    if rounds:
        return _reading(rounds, last, first, None, texts)
    matches = [match for name in columns if name[-1:].isdigit() and (match := _PARTS.fullmatch(name))]
    several, turned, doubt = _answers_named(matches, texts, column_role)
    question, subject = (2, 1) if turned else (1, 2)
    cells = [ColumnSubject(column=match[0], question=match[question], other=match[subject]) for match in several]
    return _reading(cells, *((last, first) if turned else (first, last)), doubt, texts)


def _answers_named(
    matches: list[re.Match[str]], texts: Mapping[str, str], column_role: str
) -> tuple[list[re.Match[str]], bool, str | None]:
    """The names that are read, whether their first part is the stimulus, and why that may be wrong."""
    times = Counter(match[1] for match in matches)
    several = [match for match in matches if times[match[1]] > 1]
    if column_role == "rater":
        return several, False, None
    if several:
        return several, *_orientation(several, texts)
    return _sliders(matches), True, None if texts else _NAMES_ALONE


def _rounds(columns: Sequence[str]) -> list[ColumnSubject]:
    """The columns of a loop, whose names begin with the number of the round; none where there is one round only."""
    matches = filter(None, map(_LOOP.fullmatch, columns))
    cells = [ColumnSubject(column=match[0], question=match[2], other=match[1]) for match in matches]
    return cells if len({cell.other for cell in cells}) > 1 else []


def _sliders(matches: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """A slider per stimulus: ``Q3_1``, ``Q4_1``, ``Q5_1``."""
    sliders = [match for match in matches if _DEFAULT_NAME.fullmatch(match[1])]
    return sliders if len(sliders) > 1 and len({match[2] for match in sliders}) == 1 else []


def _reading(
    cells: list[ColumnSubject], pattern: str, turned: str, doubt: str | None, texts: Mapping[str, str]
) -> NamesReading | None:
    if not cells:
        return None
    return NamesReading(cells=tuple(cells), pattern=pattern, turned=turned, doubt=doubt, texts=texts_of(cells, texts))


def texts_of(cells: Sequence[ColumnSubject], texts: Mapping[str, str]) -> ColumnTexts:
    """The parts of the columns' texts that all columns of a question share, and the rest where it belongs to a stimulus."""
    parts = {cell: texts[cell.column].split(_STATED_BETWEEN) for cell in cells if texts.get(cell.column)}
    shared = _shared_parts(parts)
    texts_of_subject: dict[str, set[str]] = {}
    for cell, cell_parts in parts.items():
        own_parts = [part for part in cell_parts if part not in shared[cell.question]]
        if own_parts:
            texts_of_subject.setdefault(cell.other, set()).add(_STATED_BETWEEN.join(own_parts))
    others = {name: subject_texts.pop() for name, subject_texts in texts_of_subject.items() if len(subject_texts) == 1}
    return ColumnTexts(_texts_of_questions(shared), others)


def _shared_parts(parts: Mapping[ColumnSubject, list[str]]) -> dict[str, list[str]]:
    """The parts that all columns of a question share, by question."""
    shared: dict[str, list[str]] = {}
    for cell, cell_parts in parts.items():
        shared[cell.question] = [part for part in shared.get(cell.question, cell_parts) if part in cell_parts]
    return shared


def _texts_of_questions(shared: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The texts without an instruction above all questions, which tells none of them apart."""
    common = set.intersection(*map(set, shared.values())) if len(shared) > 1 else set()
    parts = {name: [part for part in question if part not in common] or question for name, question in shared.items()}
    return {name: _STATED_BETWEEN.join(question) for name, question in parts.items() if question}


def _orientation(matches: Sequence[re.Match[str]], texts: Mapping[str, str]) -> tuple[bool, str | None]:
    """Whether the first part of the names is the stimulus, and why that may be wrong."""
    prefixes = list(dict.fromkeys(match[1] for match in matches))
    if not all(map(_DEFAULT_NAME.fullmatch, prefixes)):
        return len(prefixes) > 1 and all(map(_names_stimulus, prefixes)), None
    if any("#" in prefix for prefix in prefixes):
        return False, None
    stems, statements = _stems_and_statements(matches, texts)
    if not statements:
        return False, _NAMES_ALONE
    points = _share(_names_stimulus, statements) - _share(_names_stimulus, stems)
    points += (_share(_asks, stems) - _share(_asks, statements)) / 2
    points -= 1.0 if len(prefixes) > 1 and len(set(stems)) == 1 else 0.0
    if abs(points) < 0.25:
        return False, f"neither '{stems[0]}' nor '{statements[0]}' is clearly the name of a stimulus"
    return points < 0, None


def _stems_and_statements(matches: Sequence[re.Match[str]], texts: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The two ends of the columns' texts, each once for every first part of a name."""
    split = [(match[1], texts.get(match[0], "").rpartition(_STATED_BETWEEN)) for match in matches]
    # Equal texts of one prefix count once, those of different prefixes as often as there are.
    stems, statements = (
        [text for _, text in dict.fromkeys((prefix, parts[end].strip()) for prefix, parts in split if parts[1])]
        for end in (0, 2)
    )
    return stems, statements


def _share(test: Callable[[str], bool], texts: Sequence[str]) -> float:
    return sum(map(test, texts)) / len(texts) if texts else 0.0


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
    answers = _answer_columns(columns.values())
    if len(answers) < 2:
        return None
    rows, key, doubts = _row(columns, answers)
    column_role = "stimulus" if rows == "rater" else "rater"
    pattern, matched, doubt = _named_columns(table, answers, column_role)
    if not matched:
        return None
    settings = {"rows": rows, "pattern": pattern}
    used_names = {profile.name for profile in matched} | ({key.column} if key is not None else set())
    # With a pattern of one name only, every other column fits it too.
    fits = [
        name for name in columns if name not in used_names and (pattern == f"{{{column_role}}}" or _fits(pattern, name))
    ]
    if fits:
        settings[f"{rows}_columns"] = ",".join(fits)
    return Proposal(
        format="wide",
        layout=f"one row per {rows} and one column per {'item' if '{question}' in pattern else column_role}",
        guesses=(key,) if key is not None else (),
        settings=settings,
        doubts=doubts | ({"pattern": doubt} if doubt else {}),
    )


def _answer_columns(profiles: Iterable[ColumnProfile]) -> list[ColumnProfile]:
    """The columns of numbers that may be answers, or those of a few words, as surveys export answers too."""
    columns = list(profiles)
    numbers = [profile for profile in columns if _is_answer(profile)]
    if len(numbers) > 1:
        return numbers
    return [p for p in columns if p.repeats and p.distinct <= _MOST_WORDS and p.name[-1:].isdigit()]


def _named_columns(
    table: ProfiledTable, answers: list[ColumnProfile], column_role: str
) -> tuple[str, list[ColumnProfile], str | None]:
    """The pattern of the names, the columns that fit it, and what is doubtful about it; no columns where there is none."""
    usual = read_names([profile.name for profile in answers], table.texts, column_role)
    if usual is not None:
        matched = [table.columns[cell.column] for cell in usual.cells]
        return usual.pattern, matched, usual.doubt and f"{usual.doubt}; the other way round: {usual.turned}"
    grid = _grid(answers, column_role)
    if grid is not None:
        return grid, answers, None
    numbered = _numbered(answers)
    only_numbered = any(_DEFAULT_NAME.fullmatch(profile.name) for profile in numbered)
    doubt = "the columns are only numbered; some may not be answers" if only_numbered else None
    return f"{{{column_role}}}", numbered if len(numbered) > 2 else [], doubt


def _is_answer(profile: ColumnProfile) -> bool:
    if not profile.numeric or profile.distinct > _MOST_ANSWERS or profile.is_id or profile.noun == "column":
        return False
    about = ("background", "at", "seconds", "sd", "n", "rater")
    named = any(profile.noun in VOCABULARY[role] for role in about)
    return not named or profile.words[-1].isdigit()


def _row(
    columns: Mapping[str, ColumnProfile], answers: Sequence[ColumnProfile]
) -> tuple[str, RoleGuess | None, dict[str, str]]:
    """What a row is, the column of its id, and what is doubtful about that."""
    ids = {role: _ids_of_rows(columns, answers, role) for role in ("rater", "stimulus")}
    best = {role: max(scores.values(), default=0.0) for role, scores in ids.items()}
    by_rater = sum(not VOCABULARY["rater"].isdisjoint(profile.words) for profile in answers)
    rows = "stimulus" if best["stimulus"] > best["rater"] or by_rater > len(answers) / 2 else "rater"
    doubts = {} if best[rows] >= SIMILAR else {"id": f"no column clearly names the {rows} of a row"}
    if not ids[rows]:
        return rows, None, doubts
    key = max((columns[name] for name in ids[rows]), key=lambda p: name_score(p, rows) + p.media)
    score = name_score(key, rows)
    return rows, RoleGuess(role="id", column=key.name, score=score, evidence=evidence(key, score)), doubts


def _ids_of_rows(columns: Mapping[str, ColumnProfile], answers: Sequence[ColumnProfile], role: str) -> dict[str, float]:
    """The columns whose cells all differ and whose names could be a role's, with how far they speak for it."""
    scores = {name: name_score(p, role) for name, p in columns.items() if p.unique and p not in answers}
    return {
        name: score + (0.5 if columns[name].media and role == "stimulus" else 0.0)
        for name, score in scores.items()
        if score > 0
    }


def _grid(answers: Sequence[ColumnProfile], column_role: str) -> str | None:
    """The pattern under which the names are questions by stimuli (or raters), nearly all combinations of them."""
    share, pattern = max(_grids(answers, column_role), key=lambda grid: grid[0], default=(0.0, ""))
    return pattern if share >= _COMPLETE else None


def _grids(answers: Sequence[ColumnProfile], column_role: str) -> Iterator[tuple[float, str]]:
    """Each pattern under which some of the names are a grid, with the share of the names that are in it."""
    for mark, split in product(_SEPARATORS, (str.partition, str.rpartition)):
        parts = [split(profile.name, mark) for profile in answers if mark in profile.name]
        lefts, rights = ({part[side] for part in parts} for side in (0, 2))
        # A pattern splits at the first mark.
        ambiguous = split is str.rpartition and any(mark in prefix for prefix in lefts)
        if not ambiguous and _is_grid(lefts, rights, len(parts)):
            yield len(parts) / len(answers), _oriented(lefts, rights, mark, column_role)


def _is_grid(lefts: set[str], rights: set[str], columns: int) -> bool:
    """Whether columns are nearly all combinations of these names; a single question must be named like one."""
    if columns < 2 or len(lefts) * len(rights) > columns / _COMPLETE:
        return False
    return len(lefts) > 1 or any(not CONSTRUCTS.isdisjoint(words_of(name)) for name in lefts)


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
