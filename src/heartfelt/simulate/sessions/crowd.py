"""Raters with planted answers to every single stimulus, on questions that measure an axis of the intents.

Raters who copy give the answers of another, in the order they were given; so they come after those who rate for themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.simulate.answers import copied, ratings
from heartfelt.simulate.conveyed import TruthOptions, truth
from heartfelt.simulate.design import DesignOptions
from heartfelt.simulate.people import RaterMix, raters
from heartfelt.simulate.sessions.judges import (
    ATTENTION_SECONDS,
    PAGE_SECONDS,
    column_by_stimulus,
    stimulus_shown,
    trials_stayed,
)
from heartfelt.simulate.sessions.participants import Departure, Participant, Trial, TrialAnswers
from heartfelt.simulate.sessions.random_answers import (
    attention_answer,
    shown_values,
    simulated_demographics,
    simulated_pages,
)
from heartfelt.streams import stream
from heartfelt.study import Study


class Crowd:
    """The simulated raters of a study, with planted answers to everything.

    ``stimulus_of`` has the stimulus of every media id that trials show.
    """

    def __init__(
        self,
        opened: OpenStudy,
        stimulus_of: Mapping[str, str],
        count: int,
        mix: RaterMix,
        planted: TruthOptions,
        seed: int,
    ) -> None:
        self._study, self._stimulus_of, self._seed = opened.study, stimulus_of, seed
        stimuli = opened.stimuli
        self._durations: dict[str, float | None] = column_by_stimulus(stimuli, "duration")
        axes = {q.id: self._study.reference(str(q.axis)) for q in self._study.asked if q.axis}
        if not axes:
            raise InputError(
                "Simulated raters need questions with an axis of the intents.",
                "Rehearse a study that has such questions.",
            )
        facts = stimuli.select("stimulus", "system", "intent").with_columns(
            pl.col("intent").replace_strict(reference, return_dtype=pl.Float64, default=None).alias(question)
            for question, reference in axes.items()
        )
        self._questions = list(axes)
        self._people = raters(count, mix, questions=planted.questions, seed=seed)
        low, high = self._study.scale_of(self._questions[0]).bounds() or (1.0, 9.0)
        # Everybody has an answer to everything; leaving early is a matter of the visit.
        stay = self._people.with_columns(pl.lit(0.0).alias("hazard"), pl.lit(None, pl.String).alias("colluder_of"))
        self._design = DesignOptions(per_rater=stimuli.height, distinct_cells=(), scale_low=low, scale_high=high)
        answers = ratings(truth(facts, planted, seed=seed), stay, self._design, seed=seed)
        self._planted: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        columns = answers.select("rater", "stimulus", "question", "value", "seconds")
        for rater, stimulus, question, value, seconds in columns.iter_rows():
            self._planted.setdefault((rater, stimulus), {})[question] = (value, seconds)
        self._given: defaultdict[str, list[list[float]]] = defaultdict(list)

    def waves(self) -> list[list[Participant[Trial]]]:
        """Raters who answer for themselves, then those who copy."""
        people = [(row["colluder_of"], self._rater(row)) for row in self._people.iter_rows(named=True)]
        return [
            [rater for source, rater in people if source is None],
            [rater for source, rater in people if source is not None],
        ]

    def _rater(self, row: Mapping[str, Any]) -> Participant[Trial]:
        rng = stream(self._seed, "rehearsal", row["rater"])
        stays = trials_stayed(row["hazard"], rng)
        about = about_rater(self._study, rng)

        def answer(trial: Trial) -> TrialAnswers | Departure:
            if trial.number > stays:
                return "vanish"
            stimulus = stimulus_shown(self._stimulus_of, trial.media)
            number = 0 if trial.kind == "practice" or trial.words is not None else trial.number
            values, seconds = self._reply(row, rng, stimulus, number)
            if trial.words is not None:
                values, seconds = values | attention_answer(self._study, trial.words), ATTENTION_SECONDS
            duration = (self._durations.get(stimulus) or 0.0) + seconds
            return TrialAnswers(values=shown_values(self._study, trial, values), seconds=seconds, duration=duration)

        pages = simulated_pages(self._study, rng, about)
        return Participant(
            name=row["rater"], answer=answer, about=about, page_seconds=PAGE_SECONDS, questionnaire=pages
        )

    def _reply(
        self, row: Mapping[str, Any], rng: np.random.Generator, stimulus: str, number: int
    ) -> tuple[dict[str, Any], float]:
        """A rater's values and seconds for the stimulus of trial ``number`` (0 for trials that are not ratings)."""
        rater, source = row["rater"], row["colluder_of"]
        planted = self._planted[rater, stimulus]
        values: dict[str, float] = {question: value for question, (value, _) in planted.items()}
        if source is None:
            if number:
                self._given[rater].append([values[question] for question in self._questions])
            return values, sum(seconds for _, seconds in planted.values())
        model = np.array(self._given[source])
        if model.size and number:
            lost = stream(self._seed, "rehearsal", "copy", rater)
            copy = copied(model, number, self._design, lost)[number - 1]
            values = dict(zip(self._questions, copy.tolist(), strict=True))
        return values, float(rng.uniform(0.5, 2.0))


def about_rater(study: Study, rng: np.random.Generator) -> Mapping[str, object]:
    """A rater's answers about themselves, such that no screener of the study holds."""
    if study.screeners:
        return simulated_demographics(study, rng)
    return {fact.id: _fact(fact.type, fact.choices, rng) for fact in study.demographics}


def _fact(kind: str, choices: list[str], rng: np.random.Generator) -> Any:
    if kind == "number":
        return int(rng.integers(20, 60))
    if kind == "choice":
        return str(rng.choice(choices))
    return ["en"] if kind == "languages" else "simulated"
