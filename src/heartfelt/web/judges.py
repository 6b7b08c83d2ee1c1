"""Simulated raters of studies with sets or traces: they judge planted strengths and follow planted courses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from heartfelt.collect import Collection
from heartfelt.collect.commands import ShowTrial
from heartfelt.collect.simulation import Departure, SimulatedRater, TrialReply, simulated_answer
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.simulate import Habits, RaterMix, StrengthOptions, judge, match, raters, strengths, trace
from heartfelt.streams import stream
from heartfelt.study import Scale, Study
from heartfelt.study.model import AttentionProbe, say
from heartfelt.study.set_scale import TIE, Choice, Preference, SetScale, Trace

_ATTENTION_SECONDS = 2.0
_LAG_SPREAD = 0.3
_LOOKING = frozenset({"honest", "extreme"})


def judges(
    collection: Collection,
    count: int,
    mix: RaterMix,
    planted: StrengthOptions,
    habits: Habits,
    about: Mapping[str, Any],
    seed: int,
) -> list[SimulatedRater]:
    """Raters for the study. Those who do not look answer at random, or always choose the first (``straightline``)."""
    judge_of = _Judge(collection, planted, habits, seed)
    people = raters(count, mix, seed=seed).iter_rows(named=True)
    return [judge_of.rater(row, about) for row in people]


class _Judge:
    def __init__(self, collection: Collection, planted: StrengthOptions, habits: Habits, seed: int) -> None:
        self._collection, self._study = collection, collection.study
        self._habits, self._seed = habits, seed
        stimuli = collection.opened.stimuli
        tables = {q.id: strengths(stimuli, planted, question=q.id, seed=seed) for q in self._study.asked}
        self._strength: dict[str, dict[str, float]] = {
            question: dict(table.select("stimulus", "strength").iter_rows())
            for question, table in tables.items()
        }
        lengths = stimuli.select("stimulus", "duration") if "duration" in stimuli.columns else pl.DataFrame()
        self._durations: dict[str, float | None] = dict(lengths.iter_rows())

    def rater(self, row: Mapping[str, Any], about: Mapping[str, Any]) -> SimulatedRater:
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
            }
            seconds = float(row["pace"] * np.exp(0.2 * rng.standard_normal()))
            if trial.words is not None:
                values, seconds = values | attention_answer(self._study, trial.words), _ATTENTION_SECONDS
            heard = sum(self._durations.get(name) or 0.0 for name in names)
            return TrialReply(values, seconds, heard + seconds)

        return SimulatedRater(row["rater"], answer, about, page_seconds=5.0)

    def _stimulus(self, media: str | None) -> str:
        file = self._collection.media(media or "")
        if file is None:
            raise InputError(f"The study serves no media '{media}'.", "Check its media files.")
        return file.stimulus

    def _answer(
        self,
        question: str,
        trial: ShowTrial,
        names: list[str],
        kind: str,
        rng: np.random.Generator,
        habits: Habits,
    ) -> Any:
        scale = self._study.scale_of(question)
        judged = [
            name
            for place, name in enumerate(names)
            if not trial.members or trial.members[place].kind == "judged"
        ]
        if kind == "straightline":
            return _first(scale, len(judged), rng)
        if isinstance(scale, Trace):
            own = habits if kind in _LOOKING else Habits(noise=4.0)
            about = names[0] if kind in _LOOKING else f"nothing {rng.integers(1000)}"
            return trace(scale, about, question, self._durations.get(names[0]), rng, own, seed=self._seed)
        known = self._strength[question]
        planted = [known[name] if kind in _LOOKING else 0.0 for name in judged]
        if trial.members and trial.members[-1].kind == "x":
            return match(judged.index(names[-1]), planted[0] - planted[1], rng, habits)
        if isinstance(scale, SetScale) or (scale.bounds() is not None and not scale.codes()):
            return judge(scale, planted, rng, habits)
        return simulated_answer(scale, rng)


def attention_answer(study: Study, words: str) -> dict[str, Any]:
    """The question an attention trial is about, and what the page sends for the answer it asks for."""
    for probe in study.probes:
        if isinstance(probe, AttentionProbe) and words in {
            say(probe.text, language) for language in study.languages
        }:
            # The researcher counts places from 1, the page from 0.
            place = isinstance(study.scale_of(probe.question), Choice) and probe.answer != TIE
            return {probe.question: int(float(probe.answer)) - 1 if place else probe.answer}
    raise HeartfeltError(
        "An attention trial came that matches no probe of the study.", "Check the study's probes."
    )


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
    return judge(scale, [50.0 - 5.0 * place for place in range(max(1, members))], rng, Habits(noise=0.0))
