"""A rehearsal: simulated raters, some of them careless, fill a study through its own pages.

What each would say of every stimulus is planted beforehand (:mod:`heartfelt.simulate`); which stimuli they meet, and in which
order, is the study's own doing. Those who copy come last: they give what another gave, in the order it was given.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from heartfelt.collect.simulation import Clock
from heartfelt.errors import InputError
from heartfelt.progress import Progress
from heartfelt.simulate import DesignOptions, RaterMix, TruthOptions, raters, ratings, truth
from heartfelt.simulate.answers import copied
from heartfelt.streams import stream
from heartfelt.study import Study
from heartfelt.web.visitors import Heard, Said, Unblinded, Visit, Visitor, receive

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot
    from heartfelt.web.rater.blinding import Blinding


FIRST_ARRIVAL = 1_767_603_600.0
"""When the first simulated rater arrives: 5 January 2026, 9:00 UTC."""


@dataclass(frozen=True, slots=True)
class RehearsalOptions:
    """Who comes, and what is planted."""

    raters: int = 36
    mix: RaterMix = field(default_factory=RaterMix)
    planted: TruthOptions = field(default_factory=TruthOptions)
    at_once: int = 8
    seed: int = 0


def rehearse(
    folder: Path, options: RehearsalOptions | None = None, progress: Progress | None = None
) -> tuple[list[Visit], Snapshot]:
    """Serve the study, let simulated raters through its door, and freeze what they said.

    The study keeps simulated time and draws from the seed, so that the same seed gives the same snapshot.
    """
    from heartfelt.collect import Collection, CollectOptions
    from heartfelt.web.app import create_app
    from heartfelt.web.beside import served
    from heartfelt.web.options import WebOptions

    options = options or RehearsalOptions()
    clock = Clock(FIRST_ARRIVAL)
    with Collection.open(folder, clock=clock, options=CollectOptions(seed=options.seed)) as collection:
        # Keys of its own: the study's are made, and told, when it is first served to people.
        web = WebOptions(secrets.token_bytes(32), address_per_minute=0, rater_per_minute=0, access_log=False)
        crowd = _Crowd(collection.study, collection.opened.stimuli, options)

        lengths = _lengths(collection.opened.stimuli)
        app = create_app(collection, web)
        blinding: Blinding = app.state.blinding

        def hear(media: str) -> Heard:
            played = collection.media(blinding.media_of(media) or "")
            if played is None:
                raise InputError(f"The study serves no media '{media}'.", "Check its media files.")
            return Heard(played.stimulus, lengths.get(played.stimulus, 0.0))

        known = Unblinded(hear, blinding.question_of)
        with served(app) as url:
            visits: list[Visit] = []
            for wave in crowd.waves():
                before = len(visits)
                tell = (
                    None
                    if progress is None
                    else (lambda doing, done, _, n=before: progress(doing, n + done, options.raters))
                )
                visits += receive(
                    url, wave, collection.study, known, clock, at_once=options.at_once, progress=tell
                )
        return visits, collection.snapshot()


def _lengths(stimuli: pl.DataFrame) -> dict[str, float]:
    """How long each clip lasts, in seconds, where that is known."""
    if "duration" not in stimuli.columns:
        return {}
    return dict(stimuli.select("stimulus", pl.col("duration").fill_null(0.0)).iter_rows())


class _Crowd:
    """The simulated raters of a study: what each would say of everything."""

    def __init__(self, study: Study, stimuli: pl.DataFrame, options: RehearsalOptions) -> None:
        self._study = study
        self._options = options
        axes = {q.id: study.reference(str(q.axis)) for q in study.asked if q.axis}
        if not axes:
            raise InputError(
                "Simulated raters need questions with an axis of the intents.",
                "Rehearse a study that has such questions.",
            )
        known = stimuli.select("stimulus", "system", "intent").with_columns(
            pl.col("intent").replace_strict(reference, return_dtype=pl.Float64, default=None).alias(question)
            for question, reference in axes.items()
        )
        self._questions = list(axes)
        self._people = raters(
            options.raters, options.mix, questions=options.planted.questions, seed=options.seed
        )
        low, high = study.scale_of(self._questions[0]).bounds() or (1.0, 9.0)
        # Everybody would say something of everything; who leaves early is a matter of the visit.
        stay = self._people.with_columns(
            pl.lit(0.0).alias("hazard"), pl.lit(None, pl.String).alias("colluder_of")
        )
        self._design = DesignOptions(
            per_rater=stimuli.height, distinct_cells=(), scale_low=low, scale_high=high
        )
        said = ratings(
            truth(known, options.planted, seed=options.seed), stay, self._design, seed=options.seed
        )
        self._said: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        for rater, stimulus, question, value, seconds in said.select(
            "rater", "stimulus", "question", "value", "seconds"
        ).iter_rows():
            self._said.setdefault((rater, stimulus), {})[question] = (value, seconds)
        self._given: dict[str, list[list[float]]] = {}

    def waves(self) -> list[list[Visitor]]:
        """Those who answer for themselves, then those who copy."""
        rows = self._people.iter_rows(named=True)
        visitors = [(row["colluder_of"], self._visitor(row)) for row in rows]
        return [
            [visitor for source, visitor in visitors if source is None],
            [visitor for source, visitor in visitors if source is not None],
        ]

    def _visitor(self, row: Mapping[str, Any]) -> Visitor:
        rng = stream(self._options.seed, "rehearsal", row["rater"])
        stays = None if not row["hazard"] else int(rng.geometric(row["hazard"]))
        about = {one.id: self._fact(one.type, one.choices, rng) for one in self._study.demographics}
        say = self._copying(row, rng) if row["colluder_of"] is not None else self._own(row["rater"])
        return Visitor(row["rater"], say, about, stays)

    def _fact(self, kind: str, choices: list[str], rng: np.random.Generator) -> Any:
        if kind == "number":
            return int(rng.integers(20, 60))
        if kind == "choice":
            return str(rng.choice(choices))
        return ["en"] if kind == "languages" else "simulated"

    def _own(self, rater: str) -> Any:
        self._given[rater] = []

        def say(stimulus: str, trial: int) -> Said:
            answers = self._said[rater, stimulus]
            if trial:
                self._given[rater].append([answers[question][0] for question in self._questions])
            values = {question: value for question, (value, _) in answers.items()}
            return Said(values, sum(seconds for _, seconds in answers.values()))

        return say

    def _copying(self, row: Mapping[str, Any], rng: np.random.Generator) -> Any:
        def say(stimulus: str, trial: int) -> Said:
            own = self._said[row["rater"], stimulus]
            model = np.array(self._given[row["colluder_of"]])
            if model.size and trial:
                lost = stream(self._options.seed, "rehearsal", "copy", row["rater"])
                here = copied(model, trial, self._design, lost)[trial - 1]
                values = dict(zip(self._questions, here.tolist(), strict=True))
            else:
                values = {question: value for question, (value, _) in own.items()}
            return Said(values, float(rng.uniform(0.5, 2.0)))

        return say
