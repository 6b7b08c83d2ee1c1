"""Simulated raters of studies with sets, traces or drafts: they judge planted strengths, follow planted courses and verify.

A category that is called like the stimulus's intent is chosen by most raters who look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from heartfelt.collect import Collection
from heartfelt.collect.commands import ShowTrial
from heartfelt.collect.simulated_answers import attention_answer, simulated_answer, simulated_pages
from heartfelt.collect.simulation import Departure, SimulatedRater, TrialReply
from heartfelt.errors import InputError
from heartfelt.simulate import (
    Habits,
    RaterMix,
    StrengthOptions,
    Verifier,
    VerifierMix,
    judge,
    match,
    raters,
    strengths,
    trace,
    verifiers,
)
from heartfelt.streams import stream
from heartfelt.study import Scale
from heartfelt.study.conditions import shown_questions
from heartfelt.study.set_scale import Choice, Preference, SetScale, Trace
from heartfelt.web.verifiers import DraftedFields

_ATTENTION_SECONDS = 2.0
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
    collection: Collection, count: int, mix: RaterMix, options: JudgeOptions, about: Mapping[str, Any], seed: int
) -> list[SimulatedRater]:
    """Raters for the study. Those who do not look answer at random, or always choose the first (``straightline``)."""
    judge_of = _Judge(collection, options, seed)
    people = raters(count, mix, seed=seed).iter_rows(named=True)
    verifying = verifiers(count, options.verifying, seed=seed)
    return [judge_of.rater(row, person, about) for row, person in zip(people, verifying, strict=True)]


class _Judge:
    def __init__(self, collection: Collection, options: JudgeOptions, seed: int) -> None:
        self._collection, self._study = collection, collection.study
        self._habits, self._seed = options.habits, seed
        self._drafts = DraftedFields(collection, options.verifying, seed)
        stimuli = collection.opened.stimuli
        intents = stimuli.select("stimulus", "intent") if "intent" in stimuli.columns else pl.DataFrame()
        self._intent: dict[str, str | None] = dict(intents.iter_rows())
        self._intended = {
            question: {intent: self._log_odds(question, value) for intent, value in values.items()}
            for question, values in options.intended.items()
        }
        tables = {q.id: strengths(stimuli, options.strengths, question=q.id, seed=seed) for q in self._study.asked}
        self._strength: dict[str, dict[str, float]] = {
            question: dict(table.select("stimulus", "strength").iter_rows()) for question, table in tables.items()
        }
        lengths = stimuli.select("stimulus", "duration") if "duration" in stimuli.columns else pl.DataFrame()
        self._durations: dict[str, float | None] = dict(lengths.iter_rows())

    def _log_odds(self, question: str, value: float) -> float:
        low, high = self._study.scale_of(question).bounds() or (0.0, 1.0)
        share = min(max((value - low) / (high - low), 0.02), 0.98)
        return math.log(share / (1.0 - share))

    def rater(self, row: Mapping[str, Any], person: Verifier, about: Mapping[str, Any]) -> SimulatedRater:
        """A rater who perceives with noise of their own."""
        rng = stream(self._seed, "rehearsal", row["rater"])
        stays = None if not row["hazard"] else int(rng.geometric(row["hazard"]))
        lag = max(0.0, self._habits.lag + _LAG_SPREAD * float(rng.standard_normal()))
        habits = replace(self._habits, noise=self._habits.noise * row["noise"], lag=lag)

        def answer(trial: ShowTrial) -> TrialReply | Departure:
            if stays is not None and trial.number > stays:
                return "vanish"
            names = [self._stimulus(media) for media in _media(trial)]
            values = {
                question: self._answer(question, trial, names, row["kind"], rng, habits)
                for question in trial.questions
                if question not in trial.machine
            }
            verified = self._drafts.verified(trial, names[0], person, rng)
            values |= verified.values
            seconds = float(row["pace"] * np.exp(0.2 * rng.standard_normal()))
            if trial.words is not None:
                values, seconds = values | attention_answer(self._study, trial.words), _ATTENTION_SECONDS
            accepted = {
                q: draft for q, draft in trial.machine.items() if draft and verified.verdicts.get(q) == "accepted"
            }
            shown = shown_questions(self._study, trial.questions, {**accepted, **values})
            values = {name: value for name, value in values.items() if name in shown}
            verdicts = {name: verdict for name, verdict in verified.verdicts.items() if name in shown}
            heard = sum(self._durations.get(name) or 0.0 for name in names)
            log = {name: field_log for name, field_log in verified.log.items() if name in shown}
            seconds += sum(field_log.seconds or 0.0 for field_log in log.values())
            return TrialReply(values=values, seconds=seconds, duration=heard + seconds, verdicts=verdicts, fields=log)

        pages = simulated_pages(self._study, rng, about)
        return SimulatedRater(name=row["rater"], answer=answer, about=about, page_seconds=5.0, questionnaire=pages)

    def _stimulus(self, media: str | None) -> str:
        file = self._collection.media(media or "")
        if file is None:
            raise InputError(f"The study serves no media '{media}'.", "Check its media files.")
        return file.stimulus

    def _answer(
        self, question: str, trial: ShowTrial, names: list[str], kind: str, rng: np.random.Generator, habits: Habits
    ) -> Any:
        scale = self._study.scale_of(question)
        judged = [
            name for index, name in enumerate(names) if not trial.members or trial.members[index].kind == "judged"
        ]
        if kind == "straightline":
            return _first(scale, len(judged), rng)
        if isinstance(scale, Trace):
            trace_habits = habits if kind in _LOOKING else Habits(noise=4.0)
            about = names[0] if kind in _LOOKING else f"nothing {rng.integers(1000)}"
            return trace(scale, about, question, self._durations.get(names[0]), rng, trace_habits, seed=self._seed)
        intent, codes = self._intent.get(names[0]), scale.codes()
        if intent in codes and kind in _LOOKING and not trial.members:
            as_intended = rng.random() < _AS_INTENDED
            return intent if as_intended else str(rng.choice(sorted(codes)))
        strengths, by_intent = self._strength[question], self._intended.get(question, {})
        planted = [
            strengths[name] + by_intent.get(str(self._intent.get(name)), 0.0) if kind in _LOOKING else 0.0
            for name in judged
        ]
        if len(judged) == 1 < len(names) and judged[0] in {
            name for name, member in zip(names, trial.members, strict=True) if member.kind == "reference"
        }:
            planted = [_NO_DIFFERENCE if kind in _LOOKING else 0.0]
        if trial.members and trial.members[-1].kind == "x":
            return match(judged.index(names[-1]), planted[0] - planted[1], rng, habits)
        if isinstance(scale, SetScale) or (scale.bounds() is not None and not scale.codes()):
            return judge(scale, planted, rng, habits)
        return simulated_answer(scale, rng)


def _media(trial: ShowTrial) -> list[str | None]:
    return [member.media for member in trial.members] or [trial.media]


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
