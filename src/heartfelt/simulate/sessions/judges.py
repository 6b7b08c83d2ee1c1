"""Raters of studies with sets, traces or drafts: they judge planted strengths, follow planted courses and verify drafts.

A category that is called like the stimulus's intent is chosen by most raters who look. Which drafts are right is planted too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.machine_values import machine_values
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.simulate.judgements import Habits, StrengthOptions, judge, match, strengths, trace
from heartfelt.simulate.people import RaterMix, raters
from heartfelt.simulate.sessions.participants import Departure, FieldEffort, Participant, Trial, TrialAnswers
from heartfelt.simulate.sessions.random_answers import attention_answer, simulated_answer, simulated_pages
from heartfelt.simulate.verification import Verifier, VerifierMix, field_truth, verifiers, verify
from heartfelt.streams import stream
from heartfelt.study import Scale
from heartfelt.study.consistency.conditions import shown_questions
from heartfelt.study.scales.set_scale import Choice, Preference, SetScale, Trace

ATTENTION_SECONDS = 2.0
"""What an attention trial takes."""
PAGE_SECONDS = 5.0
"""What a page that is not a trial takes."""
_LAG_SPREAD = 0.3
_LOOKING = frozenset({"honest", "extreme"})
_AS_INTENDED = 0.7
_NO_DIFFERENCE = 4.0
"""In log-odds, how good the reference seems to a rater who judges it against itself."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What is planted for raters who judge sets, follow clips and verify drafts, and how they do it."""

    strengths: StrengthOptions = field(default_factory=StrengthOptions)
    habits: Habits = field(default_factory=Habits)
    verifying: VerifierMix = field(default_factory=VerifierMix)
    intended: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By question, the value on its scale that each intent conveys; what is not named is drawn."""


def judges(
    opened: OpenStudy,
    stimulus_of: Mapping[str, str],
    count: int,
    mix: RaterMix,
    options: JudgeOptions,
    about: Mapping[str, object],
    seed: int,
) -> list[Participant[Trial]]:
    """Raters for a study. Those who do not look answer at random, or always choose the first (``straightline``).

    ``stimulus_of`` has the stimulus of every media id that trials show.
    """
    panel = _Judges(opened, stimulus_of, options, seed)
    people = raters(count, mix, seed=seed).iter_rows(named=True)
    verifying = verifiers(count, options.verifying, seed=seed)
    return [panel.rater(row, person, about) for row, person in zip(people, verifying, strict=True)]


def stimulus_shown(stimulus_of: Mapping[str, str], media: str | None) -> str:
    """The stimulus behind a media id."""
    if media is None or media not in stimulus_of:
        raise InputError(f"The study serves no media '{media}'.", "Check its media files.")
    return stimulus_of[media]


def trials_stayed(hazard: float, rng: np.random.Generator) -> float:
    """How many trials a rater answers before they leave."""
    return math.inf if not hazard else int(rng.geometric(hazard))


def column_by_stimulus(stimuli: pl.DataFrame, column: str) -> dict[str, Any]:
    """A column of the manifest by stimulus; empty if it has none."""
    return dict(stimuli.select("stimulus", column).iter_rows()) if column in stimuli.columns else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """One rater in session: what kind they are, how they perceive, and what they do with drafts."""

    kind: str
    habits: Habits
    verifier: Verifier
    rng: np.random.Generator

    @property
    def looks(self) -> bool:
        """Whether the answers are about the stimuli at all."""
        return self.kind in _LOOKING


class _Judges:
    """What is planted in a study, and the raters who meet it."""

    def __init__(self, opened: OpenStudy, stimulus_of: Mapping[str, str], options: JudgeOptions, seed: int) -> None:
        self._study, self._stimulus_of = opened.study, stimulus_of
        self._habits, self._seed = options.habits, seed
        self._drafts = DraftedFields(opened, options.verifying, seed)
        self._intent: dict[str, str | None] = column_by_stimulus(opened.stimuli, "intent")
        self._durations: dict[str, float | None] = column_by_stimulus(opened.stimuli, "duration")
        self._intended = {
            question: {intent: self._log_odds(question, value) for intent, value in values.items()}
            for question, values in options.intended.items()
        }
        tables = {
            q.id: strengths(opened.stimuli, options.strengths, question=q.id, seed=seed) for q in self._study.asked
        }
        self._strength: dict[str, dict[str, float]] = {
            question: dict(table.select("stimulus", "strength").iter_rows()) for question, table in tables.items()
        }

    def _log_odds(self, question: str, value: float) -> float:
        low, high = self._study.scale_of(question).bounds() or (0.0, 1.0)
        share = min(max((value - low) / (high - low), 0.02), 0.98)
        return math.log(share / (1.0 - share))

    def rater(self, row: Mapping[str, Any], verifier: Verifier, about: Mapping[str, object]) -> Participant[Trial]:
        """A rater who perceives with noise of their own."""
        rng = stream(self._seed, "rehearsal", row["rater"])
        stays = trials_stayed(row["hazard"], rng)
        lag = max(0.0, self._habits.lag + _LAG_SPREAD * float(rng.standard_normal()))
        habits = replace(self._habits, noise=self._habits.noise * row["noise"], lag=lag)
        person = _Judge(kind=row["kind"], habits=habits, verifier=verifier, rng=rng)

        def answer(trial: Trial) -> TrialAnswers | Departure:
            return "vanish" if trial.number > stays else self._reply(trial, person, row["pace"])

        pages = simulated_pages(self._study, rng, about)
        return Participant(
            name=row["rater"], answer=answer, about=about, page_seconds=PAGE_SECONDS, questionnaire=pages
        )

    def _reply(self, trial: Trial, person: _Judge, pace: float) -> TrialAnswers:
        media = [member.media for member in trial.members] or [trial.media]
        names = [stimulus_shown(self._stimulus_of, opaque) for opaque in media]
        asked = [question for question in trial.questions if question not in trial.machine]
        # Draws come in a fixed order (answers, drafts, time): another order would be another study for the same seed.
        values = {question: self._answer(question, trial, names, person) for question in asked}
        verified = self._drafts.verified(trial, names[0], person.verifier, person.rng)
        values |= verified.values
        seconds = float(pace * np.exp(0.2 * person.rng.standard_normal()))
        if trial.words is not None:
            values, seconds = values | attention_answer(self._study, trial.words), ATTENTION_SECONDS
        # A draft that is accepted as it is counts as the answer that later questions depend on.
        accepted = {q: draft for q, draft in trial.machine.items() if draft and verified.verdicts.get(q) == "accepted"}
        shown = shown_questions(self._study, trial.questions, {**accepted, **values})
        efforts = {name: effort for name, effort in verified.efforts.items() if name in shown}
        seconds += sum(effort.seconds for effort in efforts.values())
        heard = sum(self._durations.get(name) or 0.0 for name in names)
        return TrialAnswers(
            values={name: value for name, value in values.items() if name in shown},
            seconds=seconds,
            duration=heard + seconds,
            verdicts={name: verdict for name, verdict in verified.verdicts.items() if name in shown},
            efforts=efforts,
        )

    def _answer(self, question: str, trial: Trial, names: Sequence[str], person: _Judge) -> Any:
        scale, rng = self._study.scale_of(question), person.rng
        kinds = [member.kind for member in trial.members] or ["judged"]
        judged = [name for name, kind in zip(names, kinds, strict=True) if kind == "judged"]
        if person.kind == "straightline":
            return _first(scale, len(judged), rng)
        if isinstance(scale, Trace):
            return self._course(scale, question, names[0], person)
        intent, codes = self._intent.get(names[0]), scale.codes()
        if intent in codes and person.looks and not trial.members:
            return intent if rng.random() < _AS_INTENDED else str(rng.choice(sorted(codes)))
        references = {name for name, kind in zip(names, kinds, strict=True) if kind == "reference"}
        planted = self._planted(question, judged, references) if person.looks else [0.0] * len(judged)
        if kinds[-1] == "x":
            return match(judged.index(names[-1]), planted[0] - planted[1], rng, person.habits)
        if isinstance(scale, SetScale) or (scale.bounds() is not None and not codes):
            return judge(scale, planted, rng, person.habits)
        return simulated_answer(scale, rng)

    def _planted(self, question: str, judged: Sequence[str], references: Set[str]) -> list[float]:
        """How strong each judged stimulus is under a question, in log-odds."""
        if len(judged) == 1 and judged[0] in references:
            return [_NO_DIFFERENCE]
        strengths, by_intent = self._strength[question], self._intended.get(question, {})
        return [strengths[name] + by_intent.get(str(self._intent.get(name)), 0.0) for name in judged]

    def _course(self, scale: Trace, question: str, stimulus: str, person: _Judge) -> dict[str, list[float | None]]:
        """A course over time; whoever does not look follows the course of nothing."""
        habits = person.habits if person.looks else Habits(noise=4.0)
        about = stimulus if person.looks else f"nothing {person.rng.integers(1000)}"
        return trace(scale, about, question, self._durations.get(stimulus), person.rng, habits, seed=self._seed)


def _first(scale: Scale, members: int, rng: np.random.Generator) -> Any:
    """What somebody answers who always chooses the first."""
    if isinstance(scale, Choice):
        return 0
    if isinstance(scale, Preference):
        return -1
    if isinstance(scale, Trace):
        return {"samples": [(scale.low + scale.high) / 2.0] * 100}
    if not isinstance(scale, SetScale) and (scale.bounds() is None or scale.codes()):
        return simulated_answer(scale, rng)
    return judge(scale, [50.0 - 5.0 * index for index in range(max(1, members))], rng, Habits(noise=0.0))


# --- drafts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verified:
    """What a rater makes of the drafts of one trial; ``values`` holds only what they entered themselves."""

    values: Mapping[str, str | float]
    verdicts: Mapping[str, Literal["accepted", "fixed"]]
    efforts: Mapping[str, FieldEffort]


class DraftedFields:
    """The drafts of a study with the truth behind each."""

    def __init__(self, opened: OpenStudy, mix: VerifierMix, seed: int) -> None:
        self._study, self._mix = opened.study, mix
        drafts = {item: value for item, (value, *_) in machine_values(opened).items()}
        self._others: dict[str, list[str]] = {}
        for (_, question), value in drafts.items():
            self._others.setdefault(question, []).append(value)
        self.truth = {
            (stimulus, question): field_truth(
                self._study.scale_of(question),
                value,
                self._others[question],
                mix,
                stream(seed, "rehearsal", "truth", stimulus, question),
            )
            for (stimulus, question), value in drafts.items()
        }

    def verified(self, trial: Trial, stimulus: str, person: Verifier, rng: np.random.Generator) -> Verified:
        """What a person makes of the drafts of a trial, withheld ones included."""
        by_question = {
            question: verify(
                self._study.scale_of(question),
                self.truth[stimulus, question],
                draft,
                self._others[question],
                person,
                self._mix,
                rng,
            )
            for question, draft in trial.machine.items()
            if question in trial.questions
        }
        return Verified(
            {question: answer.value for question, answer in by_question.items() if answer.value is not None},
            {question: answer.verdict for question, answer in by_question.items() if answer.verdict is not None},
            {
                question: FieldEffort(round(answer.seconds, 3), answer.keystrokes)
                for question, answer in by_question.items()
            },
        )
