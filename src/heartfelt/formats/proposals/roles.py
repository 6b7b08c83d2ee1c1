"""Which column of somebody's table plays which role: a guess with its evidence, the runner-up, and what is doubtful.

A guess rests on the noun a name ends in (``evaluator_id`` is an evaluator, ``rating_type`` a type) and on the cells: raters and
stimuli come back in several rows, a system is the same in all rows of a stimulus. A :class:`Proposal` is certain where every
role was recognised by name, the cells agree, and no other column could play the role as well.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from heartfelt.formats.proposals.column_profiles import ColumnProfile

VOCABULARY: Mapping[str, frozenset[str]] = {
    role: frozenset(nouns.split())
    for role, nouns in {
        "rater": "rater evaluator listener participant subject worker annotator judge user respondent voter assessor observer"
        " labeler labeller coder turker viewer reviewer subj ppt pid person expert tester panelist panellist proband"
        " responder informant student username member crowdworker userid workerid raterid listenerid",
        "stimulus": "stimulus stim item clip file filename wav wavname audio image img picture photo video sample track song"
        " utterance utt excerpt sound recording snippet piece segment melody tune frame movie artwork wavfile audiofile"
        " imagefile itemid clipid path url wavpath filepath",
        "value": "value rating score response answer label mos opinion vote grade judgment judgement star likert ratingscore",
        "question": "question dimension attribute criterion scale aspect metric measure type construct questionnaire facet",
        "system": "system model condition generator method algorithm algo codec vocoder engine architecture synthesizer tts"
        " variant",
        "intent": "intent emotion target",
        "prompt": "prompt caption",
        "at": "at time timestamp date datetime created submitted finished tstamp",
        "seconds": "second rt duration latency elapsed ms",
        "position": "position order trial",
        "repeat": "repeat repetition repet replication",
        "mean": "mean mos avg average",
        "sd": "sd std stdev stddev variance var se sem ci",
        "n": "n count votes total annotator rater",
        "winner": "winner preferred preference choice chosen vote better selected selection outcome result win pick",
        "loser": "loser",
        "tie": "tie tied draw",
        "construct": "valence arousal dominance pleasure pleasantness pleasant energy tension quality naturalness natural"
        " similarity intelligibility clarity noisiness coloration discontinuity loudness appeal realism aesthetics aesthetic"
        " alignment align matching relevance liking like preference beauty creativity musicality coherence fidelity emotion"
        " happiness sadness anger fear joy surprise disgust calm calmness familiarity expressiveness prosody overall fluency"
        " adequacy enjoyment musical impression textual aesthetic",
        "background": "age gender sex country language nationality education device browser year income ethnicity",
    }.items()
}
"""The nouns that columns with each role are named after."""
_ENDINGS = {role: tuple(noun for noun in nouns if len(noun) > 3) for role, nouns in VOCABULARY.items()}
"""Nouns that speak for a role at the end of a longer word too, such as ``audiosample``."""
CONSTRUCTS = VOCABULARY["construct"]
"""What ratings are usually about: nouns of columns that hold answers."""
_RATER_NAMES = {("response", "id"), ("session", "id"), ("prolific", "pid"), ("prolific", "id"), ("assignment", "id")}
_COUNTED = {"n", "num", "number", "count", "total", "no"}
"""First words of names such as ``num_annotators``, which count people and name none."""
_WEAK_NAMES = {"rater": {"id", "name", "code"}, "stimulus": {"id", "name", "key", "index"}}
NO_RATER = "none"
"""The value of the option ``rater`` where a table does not say who rated."""
NAMED, SIMILAR, WEAK = 1.0, 0.7, 0.3
"""How far a name speaks for a role: it is the role's own noun, it ends in such a noun, it could be anything's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGuess:
    """The column that probably plays a role, how sure that is (0 to 1), why, and which column comes next."""

    role: str
    column: str
    """As the option of the format takes it: several columns with commas, or joined with a plus sign."""
    score: float
    evidence: str
    runner_up: str | None = None

    def sentence(self) -> str:
        """The guess in words: ``rater = evaluator_id: its name; 12 different texts in 60 rows …``."""
        alternative = f" (or: {self.runner_up})" if self.runner_up else ""
        return f"{self.role} = {self.column}: {self.evidence}{alternative}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """How a table can be read: the format with its options, the evidence, and what speaks against reading it at once."""

    format: str
    layout: str
    """What a row is, in words."""
    guesses: tuple[RoleGuess, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    """Options that name no column, such as rows=stimulus."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """What is uncertain, by the option that would settle it."""
    remarks: tuple[str, ...] = ()
    """What else to know before the table is read this way, such as columns that are not used."""

    @property
    def certain(self) -> bool:
        """Whether the table may be read this way without asking."""
        return not self.doubts

    @property
    def options(self) -> dict[str, str]:
        return {guess.role: guess.column for guess in self.guesses} | dict(self.settings)

    def with_options(self, stated: Mapping[str, str]) -> Proposal:
        """The proposal with options that a person stated: they replace guesses and settle doubts."""
        return replace(
            self,
            guesses=tuple(guess for guess in self.guesses if guess.role not in stated),
            settings={**self.settings, **stated},
            doubts={option: doubt for option, doubt in self.doubts.items() if option not in stated},
        )

    def lines(self) -> list[str]:
        doubts = (f"not certain: {text}" for text in self.doubts.values())
        return [*(guess.sentence() for guess in self.guesses), *doubts, *self.remarks]

    def command(self, source: str, folder: str) -> str:
        """The command that reads ``source`` this way into ``folder``, to copy."""
        maps = (f"--map {shlex.quote(f'{name}={value}')}" for name, value in self.options.items())
        return " ".join(["heartfelt import", self.format, shlex.quote(source), shlex.quote(folder), *maps])

    def call(self, source: str) -> str:
        """The same in Python; ``source`` is an expression."""
        keyed: dict[str, dict[str, str]] = {}
        arguments = [source, repr(self.format)]
        for name, value in self.options.items():
            family, dot, key = name.partition(".")
            if dot:
                keyed.setdefault(family, {})[key] = value
            else:
                arguments.append(f"{name}={value!r}")
        arguments += [f"{family}={values!r}" for family, values in keyed.items()]
        return f"heartfelt.read({', '.join(arguments)})"


def name_score(profile: ColumnProfile, role: str) -> float:
    """How far a column's name speaks for a role."""
    words = tuple(word for word in profile.words if not word.isdigit())
    if words in _RATER_NAMES:
        return NAMED if role == "rater" else 0.0
    return 0.0 if _is_ruled_out(profile, words, role) else _noun_score(profile, words, role)


def _is_ruled_out(profile: ColumnProfile, words: tuple[str, ...], role: str) -> bool:
    """Whether a name cannot stand for a role: ids are no answers, and what counts people names none of them."""
    if role in {"value", "mean"}:
        return profile.is_id
    return role in {"rater", "stimulus"} and bool(words) and words[0] in _COUNTED


def _noun_score(profile: ColumnProfile, words: tuple[str, ...], role: str) -> float:
    nouns = VOCABULARY[role]
    if profile.noun in nouns:
        return SIMILAR if {*words} - nouns - {"id", "name"} else NAMED
    id_of = role in {"rater", "stimulus", "system"} and profile.is_id and not nouns.isdisjoint(words)
    if id_of or profile.noun.endswith(_ENDINGS[role]):
        return SIMILAR
    could_be = not profile.noun and _WEAK_NAMES.get(role, set()).intersection(words[-1:])
    return WEAK if could_be else 0.0


def is_named_like(profile: ColumnProfile, roles: Iterable[str]) -> bool:
    """Whether a column's name says that it plays one of these roles."""
    return any(name_score(profile, role) >= SIMILAR for role in roles)


def ranked(candidates: Iterable[tuple[ColumnProfile, float]]) -> list[tuple[ColumnProfile, float]]:
    """Candidates for a role, the best first; equal scores in the order of the columns."""
    return sorted((pair for pair in candidates if pair[1] > 0), key=lambda pair: -pair[1])


def evidence(profile: ColumnProfile, name: float) -> str:
    """Why a column plays its role, in words."""
    return f"{'its name; ' if name >= SIMILAR else ''}{profile.facts()}"


def guess(role: str, candidates: list[tuple[ColumnProfile, float]]) -> RoleGuess:
    """The best of the candidates, with the second as runner-up."""
    profile, score = candidates[0]
    return RoleGuess(
        role=role,
        column=profile.name,
        score=min(score, 1.0),
        evidence=evidence(profile, name_score(profile, role)) if role in VOCABULARY else profile.facts(),
        runner_up=candidates[1][0].name if len(candidates) > 1 else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledTable:
    """The rows that a proposal rests on, and the profile of each column."""

    frame: pl.DataFrame
    columns: dict[str, ColumnProfile]
    stated: Mapping[str, str] = field(default_factory=dict)
    """Columns that a person named for a role."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of the question of each column, where the file has such a line."""

    def score(self, profile: ColumnProfile, role: str) -> float:
        """How far a column's name, or what a person stated, speaks for a role."""
        if role in self.stated:
            return 2.0 if self.stated[role] == profile.name else 0.0
        return 0.0 if profile.name in self.stated.values() else name_score(profile, role)

    def scored(self, role: str, *excluded: str | None) -> list[tuple[ColumnProfile, float]]:
        """The columns by how far their names speak for a role."""
        return ranked((p, self.score(p, role)) for n, p in self.columns.items() if n not in excluded)

    def named(self, role: str, *excluded: str | None) -> ColumnProfile | None:
        """The column whose name speaks most for a role, if one does."""
        best = [profile for profile, score in self.scored(role, *excluded) if score >= SIMILAR]
        return best[0] if best else None


def facts_of_stimuli(table: ProfiledTable, fits: Callable[[ColumnProfile], bool]) -> list[RoleGuess]:
    """Systems, intents and prompts: columns that are named so, filled in every row, and that ``fits`` accepts."""
    candidates = {
        role: [(p, s) for p, s in table.scored(role) if s >= SIMILAR and p.filled == p.rows and fits(p)]
        for role in ("system", "intent", "prompt")
    }
    return [guess(role, named) for role, named in candidates.items() if named]


def uncertain(best: RoleGuess) -> dict[str, str]:
    """The doubt about a guess that no name speaks for."""
    if best.score >= SIMILAR:
        return {}
    return {best.role: f"no column is clearly named like a {best.role}; '{best.column}' is the best guess"}
