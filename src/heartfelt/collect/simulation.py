"""A collection with simulated people: the real assignment and the real store, a clock that runs ahead.

People come at random moments, several at a time. Each trial takes about as long as the study expects. Some leave before
they are through: half of those say so, the others just vanish, and their leases run out. What comes out is how many
ratings every stimulus has at the end, which is what a design stands or falls by.
"""

from __future__ import annotations

import heapq
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.collect.collection import Collection
from heartfelt.collect.commands import (
    Answer,
    Arrive,
    AskConsent,
    AskDemographics,
    AskHeadphones,
    Consent,
    Demographics,
    Headphones,
    Heard,
    Leave,
    Next,
    Ready,
    ShowInstructions,
    ShowTrial,
    Step,
    TakeBreak,
    TheEnd,
)
from heartfelt.collect.errors import StudyClosed
from heartfelt.collect.options import CollectOptions
from heartfelt.errors import InputError
from heartfelt.formats.manifest import OpenStudy, open_study
from heartfelt.media.probe import AT_HAND
from heartfelt.progress import Progress
from heartfelt.streams import stream
from heartfelt.study import Scale, Study

_START = 1_767_225_600.0
_TOGETHER = 6.0
_SPREAD = 0.35


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """Who comes, for how long, and how many of them leave early."""

    raters: int | None = None
    """People who come; as many as the design needs if None."""
    trials: int | None = None
    """Trials each of them gets; what the design says if None."""
    dropout: float = 0.0
    """Share of the people who leave before they are through, at any trial alike."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise InputError(
                f"A dropout of {self.dropout:g} cannot be.", "Give a share from 0 to below 1, such as 0.2."
            )
        if (self.raters is not None and self.raters < 1) or (self.trials is not None and self.trials < 1):
            raise InputError("A simulation needs raters and trials.", "Give at least 1 of each.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a simulated collection came to. Counts are complete ratings per stimulus, or per item where asked singly."""

    stimuli: int
    ratings: int
    lost_stimuli: int
    """Stimuli with fewer ratings than the study needs for a label."""
    min: int
    max: int
    histogram: dict[int, int]
    raters: int
    left: int
    """Raters who left before they were through."""
    turned_away: int
    """People who came when nothing was left to do."""
    days: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        names = ("stimuli", "ratings", "lost_stimuli", "min", "max", "raters", "left", "turned_away")
        out: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {**out, "histogram": {str(key): value for key, value in self.histogram.items()}}


def simulate_collection(
    folder: Path | str,
    options: SimulationOptions | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Collect for the study in ``folder`` with simulated people, in a store that is thrown away. Media need not be there."""
    return simulate(open_study(folder), options, progress)


def simulate(
    opened: OpenStudy,
    options: SimulationOptions | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """The same for a study that was read already."""
    options = options or SimulationOptions()
    study = opened.study
    if options.trials is not None:
        design = study.design.model_copy(update={"stimuli_per_rater": options.trials})
        study = study.changed(design=design)
    # The paths are taken away, so that a design can be tried before its media are made.
    bare = opened.stimuli.drop([name for name in AT_HAND if name in opened.stimuli.columns])
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as room:
        now = Clock(_START)
        with Collection.of(
            replace(opened, study=study, stimuli=bare),
            database=f"sqlite:///{room}/simulated.sqlite",
            clock=now,
            options=CollectOptions(seed=options.seed, durable=False),
        ) as collection:
            return _Town(collection, options, now).run(progress)


class Clock:
    """A clock that shows the time it was set to, for simulated people."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """The simulated time, in seconds since 1970."""
        return self.now


class _Town:
    """The people around a collection, each at their own pace."""

    def __init__(self, collection: Collection, options: SimulationOptions, clock: Clock) -> None:
        self._collection = collection
        self._study = collection.study
        self._clock = clock
        self._options = options
        self._rng = stream(options.seed, "collect", "simulation")
        layout = collection.coverage()
        per_rater = min(self._study.design.stimuli_per_rater or layout.units, layout.units) or 1
        self._trials = per_rater
        self._raters = options.raters or math.ceil(layout.wanted / per_rater / (1 - options.dropout / 2))
        self._hazard = 1 - (1 - options.dropout) ** (1 / per_rater)
        self.left = self.turned_away = 0

    def run(self, progress: Progress | None) -> Outcome:
        """Let everybody come, rate and go."""
        expected = self._study.design.expected_seconds
        gaps = self._rng.exponential(self._trials * expected / _TOGETHER, self._raters)
        moments = _START + np.cumsum(gaps)
        waiting: list[tuple[float, int, Iterator[float]]] = [
            (float(at), number, self._person(number)) for number, at in enumerate(moments)
        ]
        heapq.heapify(waiting)
        gone = 0
        while waiting:
            at, number, person = heapq.heappop(waiting)
            self._clock.now = max(self._clock.now, at)
            wait = next(person, None)
            if wait is None:
                gone += 1
                if progress is not None:
                    progress("simulating raters", gone, self._raters)
            else:
                heapq.heappush(waiting, (self._clock.now + wait, number, person))
        days = (self._clock.now - _START) / 86400
        self._clock.now += 1e6
        return self._outcome(days)

    def _person(self, number: int) -> Iterator[float]:
        """One person, step by step; yields the seconds until they act again."""
        do = self._collection.do
        rng = stream(self._options.seed, "collect", "person", number)
        try:
            rater = do(Arrive(recruiter="simulated", person=str(number))).rater
        except StudyClosed:
            self.turned_away += 1
            return
        step: Step = do(Next(rater))
        while not isinstance(step, TheEnd):
            if not isinstance(step, ShowTrial):
                yield 20.0
                step = self._before(rater, step)
                continue
            if rng.random() < self._hazard:
                self.left += 1
                if rng.random() < 0.5:
                    do(Leave(rater))
                return
            took = self._study.design.expected_seconds * float(np.exp(_SPREAD * rng.standard_normal()))
            yield took
            values = {q: simulated_answer(self._study.scale_of(q), rng) for q in step.questions}
            receipt = do(
                Answer(rater, step.trial, f"{number}-{step.trial}", values, heard=Heard(seconds=took))
            )
            assert receipt.then is not None
            step = receipt.then

    def _before(self, rater: str, step: Step) -> Step:
        if isinstance(step, AskConsent):
            return self._collection.do(Consent(rater, True))
        if isinstance(step, AskDemographics):
            return self._collection.do(Demographics(rater, simulated_demographics(self._study)))
        if isinstance(step, AskHeadphones):
            right = [0] * step.trials
            return self._collection.do(Headphones(rater, step.probe, right, right))
        assert isinstance(step, ShowInstructions | TakeBreak)
        return self._collection.do(Ready(rater))

    def _outcome(self, days: float) -> Outcome:
        coverage = self._collection.coverage()
        rated = coverage.items.with_columns(all=coverage.items["complete"] + coverage.items["extra"])
        counts = rated.select("stimulus", "question", "all")
        if self._study.design.questions_per_page == "all":
            counts = counts.unique("stimulus", keep="first", maintain_order=True)
        numbers = counts["all"].to_list()
        least = self._study.design.minimum_ratings
        histogram: dict[int, int] = {}
        for number in numbers:
            histogram[number] = histogram.get(number, 0) + 1
        lost = counts.filter(counts["all"] < least)["stimulus"].n_unique()
        return Outcome(
            stimuli=counts["stimulus"].n_unique(),
            ratings=sum(numbers),
            lost_stimuli=lost,
            min=min(numbers, default=0),
            max=max(numbers, default=0),
            histogram=dict(sorted(histogram.items())),
            raters=coverage.raters,
            left=self.left,
            turned_away=self.turned_away,
            days=days,
        )


def simulated_demographics(study: Study) -> dict[str, Any]:
    """Answers about a person that let them in."""
    out: dict[str, Any] = {}
    for one in study.demographics:
        if one.type == "number":
            out[one.id] = max(30.0, one.at_least or 0.0)
        else:
            out[one.id] = one.choices[0] if one.choices else "simulated"
    return out


def simulated_answer(scale: Scale, rng: np.random.Generator) -> Any:
    """Any answer the scale takes."""
    labels, bounds = scale.labels(), scale.bounds()
    if labels:
        return float(rng.choice(sorted(labels)))
    if bounds is not None:
        low, high = bounds
        return (
            int(rng.integers(int(low), int(high) + 1))
            if getattr(scale, "points", None)
            else float(rng.uniform(low, high))
        )
    if scale.level == "text":
        return " ".join(["simulated"] * max(1, getattr(scale, "min_words", 1)))
    least: float | None = getattr(scale, "low", None)
    return float(rng.normal()) if least is None else float(least + rng.exponential())
