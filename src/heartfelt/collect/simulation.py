"""Simulated raters: the one client that plays a rater, against a collection in this process or over HTTP.

``visit`` walks through a session step by step; what the rater answers comes from a ``SimulatedRater``, and where commands go
is up to a ``SessionClient``. ``run_visits`` schedules many visits on a simulated clock, so that the same seed gives the same
history every time.

``simulate_collection`` tries out a design before anybody is paid: the real assignment and the real store, a clock that runs
ahead. People come at random moments, several at a time. Each trial takes about as long as the study expects. Some leave
early: half of those say so, the others just vanish, and their leases expire. The result is how many ratings every stimulus
has in the end.
"""

from __future__ import annotations

import heapq
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import polars as pl

from heartfelt.collect.collection import Collection
from heartfelt.collect.messages import commands
from heartfelt.collect.messages.errors import StudyClosed
from heartfelt.collect.options import SimulationOptions
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.media.probe import AT_HAND
from heartfelt.progress import Progress
from heartfelt.simulate.sessions.participants import Participant, TrialAnswers
from heartfelt.simulate.sessions.random_answers import random_rater
from heartfelt.streams import stream

_START = 1_767_225_600.0
_TOGETHER = 6.0


# --- one visit --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Clock:
    """A clock that shows the time it was set to."""

    now: float

    def __call__(self) -> float:
        """The simulated time, in seconds since 1970."""
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReply(TrialAnswers):
    """Answers with everything that is logged about how they came; else one play of everything, on a computer."""

    log: commands.TrialLog


SimulatedRater: TypeAlias = Participant[commands.ShowTrial]


@dataclass(frozen=True, slots=True)
class Visit:
    """The outcome of a visit: how many answers were stored, and how it ended (None for a rater who vanished)."""

    name: str
    answers: int
    ending: str | None


class SessionClient(Protocol):
    """Where a simulated rater's commands go."""

    rater: str

    def arrive(self) -> commands.Step:
        """Arrive, and return the first step; raises ``StudyClosed`` if the study admits nobody."""

    def send(self, command: commands.Command[Any]) -> commands.Step:
        """Do a command of the rater, and return the next step."""

    def quietest_tones(self, trials: int) -> Sequence[int]:
        """What somebody with headphones hears in the headphone check: the place of the quietest tone in each round."""

    def close(self) -> None:
        """Release what the client holds."""


class CollectionClient:
    """A client of a collection in this process."""

    def __init__(
        self, collection: Collection, name: str, device: Mapping[str, str | int | float | bool] | None = None
    ) -> None:
        self.rater = ""
        self._collection = collection
        self._name = name
        self._device = device or {}

    def arrive(self) -> commands.Step:
        """Arrive under the simulated rater's name."""
        arrival = commands.Arrive(recruiter="simulated", person=self._name, device=self._device)
        self.rater = self._collection.do(arrival).rater
        return self.send(commands.Next(self.rater))

    def send(self, command: commands.Command[Any]) -> commands.Step:
        result = self._collection.do(command)
        return cast(commands.Step, result.next_step if isinstance(result, commands.Receipt) else result)

    def quietest_tones(self, trials: int) -> Sequence[int]:
        """The right answers, as the collection knows them."""
        return self._collection.quietest_tones(self.rater)[:trials]

    def close(self) -> None:
        """Nothing is held."""


def visit(client: SessionClient, rater: SimulatedRater, done: Callable[[Visit], None]) -> Iterator[float]:
    """One visit, command by command; yields the simulated seconds until the next one."""
    answers = 0
    try:
        try:
            step = client.arrive()
        except StudyClosed:
            done(Visit(rater.name, 0, "turned away"))
            return
        while not isinstance(step, commands.SessionEnd) or step.ending == "later":
            if not isinstance(step, commands.ShowTrial):
                yield (isinstance(step, commands.SessionEnd) and step.opens_in) or rater.page_seconds
                step = client.send(_continue(client, rater, step))
                continue
            reply = rater.answer(step)
            if not isinstance(reply, TrialAnswers):
                if reply == "leave":
                    client.send(commands.Leave(client.rater))
                done(Visit(rater.name, answers, None))
                return
            yield reply.duration
            step = client.send(_answer(client.rater, f"{rater.name}-{step.trial}", step, reply))
            answers += 1
        done(Visit(rater.name, answers, step.ending))
    finally:
        client.close()


def _continue(client: SessionClient, rater: SimulatedRater, step: commands.Step) -> commands.Command[commands.Step]:
    """How a rater continues from a page that is not a trial, or when the next session has opened."""
    if isinstance(step, commands.SessionEnd):
        return commands.Next(client.rater)
    tones = client.quietest_tones(step.trials) if isinstance(step, commands.AskHeadphones) else ()
    return page_reply(client.rater, step, rater.about, rater.questionnaire, tones)


def _answer(rater: str, key: str, trial: commands.ShowTrial, reply: TrialAnswers) -> commands.Answer:
    if isinstance(reply, TrialReply):
        log = reply.log
    else:
        fields = {
            name: commands.FieldLog(seconds=effort.seconds, keystrokes=effort.keystrokes)
            for name, effort in reply.efforts.items()
        }
        log = commands.TrialLog(seconds=reply.seconds, plays=1, device="computer", fields=fields)
    return commands.Answer(rater, trial.trial, key=key, values=reply.values, verdicts=reply.verdicts, log=log)


def page_reply(
    rater: str,
    step: commands.Step,
    about: Mapping[str, Any],
    questionnaire: Callable[[commands.AskQuestionnaire], Mapping[str, object]] | None = None,
    tones: Sequence[int] = (),
) -> commands.Command[commands.Step]:
    """How a cooperative rater continues from a page that is not a trial; without ``tones`` they guess in a headphone check."""
    if isinstance(step, commands.AskConsent):
        return commands.GiveConsent(rater, True, tuple(step.boxes))
    if isinstance(step, commands.AskDemographics):
        return commands.Demographics(rater, dict(about))
    if isinstance(step, commands.AskQuestionnaire):
        answers = {} if questionnaire is None else questionnaire(step)
        return commands.Questionnaire(rater, step.time, step.questions, answers)
    if isinstance(step, commands.AskHeadphones):
        return commands.Headphones(rater, step.probe, tones or [1] * step.trials)
    return commands.Ready(rater)


def run_visits(
    visits: Sequence[Iterator[float]],
    clock: Clock,
    *,
    starts: Sequence[float] | None = None,
    at_once: int = 8,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Run visits on a simulated clock: from given moments, or in order with ``at_once`` of them at a time."""
    waiting = list(enumerate(visits))[::-1]
    present: list[tuple[float, int, Iterator[float]]] = []
    while waiting or present:
        while waiting and (starts is not None or len(present) < at_once):
            number, visitor = waiting.pop()
            start = clock.now + number % at_once if starts is None else starts[number]
            heapq.heappush(present, (start, number, visitor))
        at, number, visitor = heapq.heappop(present)
        # The clock never goes back: a visit that was to begin earlier begins now.
        clock.now = max(clock.now, at)
        pause = next(visitor, None)
        if pause is None:
            done()
        else:
            heapq.heappush(present, (clock.now + pause, number, visitor))


# --- trying out a design ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOutcome:
    """The result of a simulated collection. Counts are complete ratings per stimulus or set, or per item where asked
    singly; in each arm that shows it."""

    stimuli: int
    ratings: int
    lost_stimuli: int
    """Stimuli with fewer ratings than the study needs for a label."""
    min: int
    max: int
    raters: int
    left: int
    """Raters who left early."""
    turned_away: int
    """People who came when nothing was left to do."""
    histogram: dict[int, int]
    days: float = field(metadata={"skip": True})


def simulate_collection(
    folder: Path | str, options: SimulationOptions | None = None, progress: Progress | None = None
) -> SimulationOutcome:
    """Collect for the study in ``folder`` with simulated raters, in a temporary store. Media are not needed."""
    options, opened = options or SimulationOptions(), open_study(folder)
    study = opened.study
    if options.trials is not None:
        design = study.design.model_copy(update={"stimuli_per_rater": options.trials})
        study = study.changed(design=design)
    # Without paths, so that a design can be tried before its media are made.
    bare = opened.stimuli.drop(AT_HAND, strict=False)
    clock = Clock(_START)
    with (
        tempfile.TemporaryDirectory(prefix="heartfelt-") as temporary,
        Collection.open(
            replace(opened, study=study, stimuli=bare),
            database=f"sqlite:///{temporary}/simulated.sqlite",
            clock=clock,
            options=commands.CollectOptions(seed=options.seed, durable=False),
        ) as collection,
    ):
        return _run(collection, options, clock, progress)


def _run(
    collection: Collection, options: SimulationOptions, clock: Clock, progress: Progress | None
) -> SimulationOutcome:
    study, coverage = collection.study, collection.coverage()
    sessions, largest = study.design.sessions, coverage.largest_arm
    # What everybody gets fills no quota.
    common = coverage.items.filter(pl.col("stimulus").is_in(study.design.always))["stimulus"].n_unique()
    visits_each = sessions.count if sessions and sessions.stimuli == "new" else 1
    per_rater = max(min((study.design.stimuli_per_rater or largest) * visits_each - common, largest), 1)
    raters = options.raters or math.ceil(coverage.wanted / per_rater / (1 - options.dropout / 2))
    hazard = 1 - (1 - options.dropout) ** (1 / per_rater)
    rng = stream(options.seed, "collect", "simulation")
    gaps = rng.exponential(per_rater * study.design.expected_seconds / _TOGETHER, raters)
    done: list[Visit] = []

    def report() -> None:
        if progress is not None:
            progress("simulating raters", len(done), raters)

    visits = []
    for number in range(raters):
        client = CollectionClient(collection, str(number))
        visits.append(visit(client, random_rater(study, number, hazard, options.seed), done.append))
    run_visits(visits, clock, starts=(_START + np.cumsum(gaps)).tolist(), done=report)
    days = (clock.now - _START) / 86400
    clock.now += 1e6
    return _outcome(collection, Counter(visit.ending for visit in done), days)


def _outcome(collection: Collection, endings: Counter[str | None], days: float) -> SimulationOutcome:
    coverage, design = collection.coverage(), collection.study.design
    counts = coverage.items.select("stimulus", ratings=pl.col("complete") + pl.col("extra"))
    numbers = (coverage.counts["complete"] + coverage.counts["extra"]).to_list()
    return SimulationOutcome(
        stimuli=counts["stimulus"].n_unique(),
        ratings=sum(numbers),
        lost_stimuli=counts.filter(pl.col("ratings") < design.minimum_ratings)["stimulus"].n_unique(),
        min=min(numbers, default=0),
        max=max(numbers, default=0),
        raters=coverage.raters,
        left=endings[None],
        turned_away=endings["turned away"],
        histogram=dict(sorted(Counter(numbers).items())),
        days=days,
    )
