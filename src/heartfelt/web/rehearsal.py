"""A rehearsal: simulated raters, some of them careless, fill a study over HTTP through its own pages.

What each would answer for every stimulus is planted beforehand (:mod:`heartfelt.simulate`); which stimuli they get, and in
which order, is up to the study. Raters who copy come last: they give the answers of another, in the order they were given.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.commands import ShowTrial
from heartfelt.collect.simulated_answers import attention_answer, simulated_demographics, simulated_pages
from heartfelt.collect.simulation import Clock, Departure, SimulatedRater, TrialReply, Visit, run_visits, visit
from heartfelt.errors import InputError
from heartfelt.progress import Progress
from heartfelt.simulate import (
    DesignOptions,
    Habits,
    RaterMix,
    StrengthOptions,
    TruthOptions,
    VerifierMix,
    raters,
    ratings,
    truth,
)
from heartfelt.simulate.answers import copied
from heartfelt.streams import stream
from heartfelt.study import Study
from heartfelt.study.conditions import shown_questions
from heartfelt.study.set_scale import Trace
from heartfelt.web.judges import JudgeOptions, judges

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot

FIRST_ARRIVAL = 1_767_603_600.0
"""When the first simulated rater arrives: 5 January 2026, 9:00 UTC."""
_PAGE_SECONDS = 5.0
_ATTENTION_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """The simulated raters, and what is planted."""

    raters: int = 36
    mix: RaterMix = field(default_factory=RaterMix)
    planted: TruthOptions = field(default_factory=TruthOptions)
    strengths: StrengthOptions = field(default_factory=StrengthOptions)
    """What is planted in a study with sets or drafts."""
    habits: Habits = field(default_factory=Habits)
    """How raters judge sets and follow clips."""
    verifying: VerifierMix = field(default_factory=VerifierMix)
    """How good drafts are, and how raters verify them."""
    intended: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """In a study with drafts: by question, the value on its scale that each intent conveys."""
    at_once: int = 8
    collecting: CollectOptions = field(default_factory=CollectOptions)
    seed: int = 0


def rehearse(
    folder: Path, options: RehearsalOptions | None = None, progress: Progress | None = None
) -> tuple[list[Visit], Snapshot]:
    """Serve the study, let simulated raters take part, and freeze their ratings.

    The study runs on simulated time and draws from the seed, so that the same seed gives the same snapshot.
    """
    from heartfelt.web.app import create_app
    from heartfelt.web.client import HttpClient
    from heartfelt.web.options import WebOptions
    from heartfelt.web.serve import serve_in_thread

    options = options or RehearsalOptions()
    clock, collecting = Clock(FIRST_ARRIVAL), replace(options.collecting, seed=options.seed)
    with Collection.open(folder, clock=clock, options=collecting) as collection:
        # Temporary keys: the study's own are made, and shown, when it is first served to people.
        web = WebOptions(secret=secrets.token_bytes(32), address_per_minute=0, rater_per_minute=0, access_log=False)
        app = create_app(collection, web)
        visits: dict[str, Visit] = {}

        def report() -> None:
            if progress is not None:
                progress("simulated raters answer", len(visits), options.raters)

        def done(outcome: Visit) -> None:
            visits[outcome.name] = outcome

        with serve_in_thread(app) as url:
            waves = _waves(collection, options)
            for wave in waves:
                clients = [(HttpClient(url, app.state.blinding), rater) for rater in wave]
                running = [visit(client, rater, done) for client, rater in clients]
                run_visits(running, clock, at_once=options.at_once, done=report)
        return [visits[rater.name] for wave in waves for rater in wave], collection.snapshot()


def _waves(collection: Collection, options: RehearsalOptions) -> list[list[SimulatedRater]]:
    """The raters of a study, those who depend on others after them."""
    study, seed = collection.study, options.seed
    single_answers = study.sets is None and not any(isinstance(scale, Trace) for scale in study.scales.values())
    if single_answers and not any(question.machine_first for question in study.asked):
        return _Crowd(collection, options).waves()
    rng = stream(seed, "rehearsal", "about")
    about = _about(study, rng)
    judging = JudgeOptions(options.strengths, options.habits, options.verifying, options.intended)
    return [judges(collection, options.raters, options.mix, judging, about, seed)]


class _Crowd:
    """The simulated raters of a study, with planted answers to everything."""

    def __init__(self, collection: Collection, options: RehearsalOptions) -> None:
        self._collection = collection
        self._study: Study = collection.study
        self._options = options
        stimuli = collection.opened.stimuli
        lengths = stimuli.select("stimulus", "duration") if "duration" in stimuli.columns else pl.DataFrame()
        self._durations: dict[str, float] = dict(lengths.fill_null(0.0).iter_rows())
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
        seed = options.seed
        self._people = raters(options.raters, options.mix, questions=options.planted.questions, seed=seed)
        low, high = self._study.scale_of(self._questions[0]).bounds() or (1.0, 9.0)
        # Everybody has an answer to everything; leaving early is a matter of the visit.
        stay = self._people.with_columns(pl.lit(0.0).alias("hazard"), pl.lit(None, pl.String).alias("colluder_of"))
        self._design = DesignOptions(per_rater=stimuli.height, distinct_cells=(), scale_low=low, scale_high=high)
        planted = ratings(truth(facts, options.planted, seed=seed), stay, self._design, seed=seed)
        self._planted: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        columns = planted.select("rater", "stimulus", "question", "value", "seconds")
        for rater, stimulus, question, value, seconds in columns.iter_rows():
            self._planted.setdefault((rater, stimulus), {})[question] = (value, seconds)
        self._given: defaultdict[str, list[list[float]]] = defaultdict(list)

    def waves(self) -> list[list[SimulatedRater]]:
        """Raters who answer for themselves, then those who copy."""
        people = [(row["colluder_of"], self._rater(row)) for row in self._people.iter_rows(named=True)]
        return [
            [rater for source, rater in people if source is None],
            [rater for source, rater in people if source is not None],
        ]

    def _rater(self, row: Mapping[str, Any]) -> SimulatedRater:
        rng = stream(self._options.seed, "rehearsal", row["rater"])
        stays = None if not row["hazard"] else int(rng.geometric(row["hazard"]))
        about = _about(self._study, rng)

        def answer(trial: ShowTrial) -> TrialReply | Departure:
            if stays is not None and trial.number > stays:
                return "vanish"
            file = self._collection.media(trial.media or "")
            if file is None:
                raise InputError(f"The study serves no media '{trial.media}'.", "Check its media files.")
            number = 0 if trial.kind == "practice" or trial.words is not None else trial.number
            values, seconds = self._reply(row, rng, file.stimulus, number)
            if trial.words is not None:
                values, seconds = values | attention_answer(self._study, trial.words), _ATTENTION_SECONDS
            shown = shown_questions(self._study, trial.questions, values)
            shown_values = {name: values[name] for name in trial.questions if name in shown}
            return TrialReply(
                values=shown_values, seconds=seconds, duration=self._durations.get(file.stimulus, 0.0) + seconds
            )

        pages = simulated_pages(self._study, rng, about)
        return SimulatedRater(
            name=row["rater"], answer=answer, about=about, page_seconds=_PAGE_SECONDS, questionnaire=pages
        )

    def _reply(
        self, row: Mapping[str, Any], rng: np.random.Generator, stimulus: str, number: int
    ) -> tuple[dict[str, Any], float]:
        """A rater's values and seconds for the stimulus of trial ``number`` (0 for trials that are not ratings)."""
        rater, source = row["rater"], row["colluder_of"]
        planted = self._planted[rater, stimulus]
        values: dict[str, Any] = {question: value for question, (value, _) in planted.items()}
        if source is None:
            if number:
                self._given[rater].append([values[question] for question in self._questions])
            return values, sum(seconds for _, seconds in planted.values())
        model = np.array(self._given[source])
        if model.size and number:
            lost = stream(self._options.seed, "rehearsal", "copy", rater)
            copy = copied(model, number, self._design, lost)[number - 1]
            values = dict(zip(self._questions, copy.tolist(), strict=True))
        return values, float(rng.uniform(0.5, 2.0))


def _about(study: Study, rng: np.random.Generator) -> dict[str, Any]:
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
