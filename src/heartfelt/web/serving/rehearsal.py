"""A rehearsal: simulated raters, some of them careless, fill a study over HTTP through its own pages.

What each would answer for every stimulus is planted beforehand (:mod:`heartfelt.simulate`); which stimuli they get, and in
which order, is up to the study. Raters who copy come last: they give the answers of another, in the order they were given.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.simulation import Clock, Visit, run_visits, visit
from heartfelt.progress import Progress
from heartfelt.simulate import Habits, RaterMix, StrengthOptions, TruthOptions, VerifierMix
from heartfelt.simulate.sessions.crowd import Crowd, about_rater
from heartfelt.simulate.sessions.judges import JudgeOptions, judges
from heartfelt.simulate.sessions.participants import Participant, Trial
from heartfelt.streams import stream
from heartfelt.study.scales.set_scale import Trace

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot

FIRST_ARRIVAL = 1_767_603_600.0
"""When the first simulated rater arrives: 5 January 2026, 9:00 UTC."""


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
    from heartfelt.web.requests.options import WebOptions
    from heartfelt.web.serving.app import create_app
    from heartfelt.web.serving.client import HttpClient
    from heartfelt.web.serving.serve import serve_in_thread

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
            # Those who copy need the answers of others: each wave starts when the one before is through.
            waves = _waves(collection, options)
            for wave in waves:
                clients = [(HttpClient(url, app.state.blinding), rater) for rater in wave]
                running = [visit(client, rater, done) for client, rater in clients]
                run_visits(running, clock, at_once=options.at_once, done=report)
        return [visits[rater.name] for wave in waves for rater in wave], collection.snapshot()


def _waves(collection: Collection, options: RehearsalOptions) -> list[list[Participant[Trial]]]:
    """The raters of a study, those who depend on others after them."""
    study, seed = collection.study, options.seed
    stimulus_of = {media: stimulus for stimulus, media in collection.media_ids().items()}
    single_answers = study.sets is None and not any(isinstance(scale, Trace) for scale in study.scales.values())
    if single_answers and not any(question.machine_first for question in study.asked):
        crowd = Crowd(collection.opened, stimulus_of, options.raters, options.mix, options.planted, seed)
        return crowd.waves()
    about = about_rater(study, stream(seed, "rehearsal", "about"))
    judging = JudgeOptions(options.strengths, options.habits, options.verifying, options.intended)
    return [judges(collection.opened, stimulus_of, options.raters, options.mix, judging, about, seed)]
