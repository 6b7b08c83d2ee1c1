"""What a plan predicts next to what published ratings show, figure by figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Floats
from heartfelt.planning.pilots.pilot import Pilot, estimate_pilot, rating_table
from heartfelt.planning.pilots.statistics import statistics
from heartfelt.planning.simulated.design import PlannedDesign, StudyContents, layout_of
from heartfelt.planning.simulated.incidence import Incidence
from heartfelt.planning.simulated.simulation import (
    FIGURES,
    Studies,
    draw_people,
    interval_width,
    model_errors,
    simulate_question,
    system_pairs,
)
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import code
from heartfelt.study import Question, Study
from heartfelt.study.scales.scale import Points

KEYS = ("alpha", "icc1k", "label_error", "difference_width", "mean_width", "pairs")


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A published study: its ratings, its design as numbers, and who rated what."""

    snapshot: Snapshot
    material: StudyContents
    design: PlannedDesign
    incidence: Incidence

    @property
    def questions(self) -> list[str]:
        return [question.id for question in self.snapshot.study.asked]


def published(snapshot: Snapshot, minimum: int) -> Published:
    """The stimuli that were rated, in numbers, and the incidence of the ratings."""
    first = snapshot.study.asked[0].id
    ratings = snapshot.ratings.filter(pl.col("question") == first)
    rated = snapshot.stimuli.filter(pl.col("stimulus").is_in(ratings["stimulus"].unique().to_list()))
    names: dict[str, list[str]] = {
        column: sorted(rated[column].unique().to_list()) if column in rated.columns else [""]
        for column in ("system", "intent")
    }
    codes = [
        np.array([names[column].index(name) for name in rated[column].to_list()], np.int64)
        if column in rated.columns
        else np.zeros(rated.height, np.int64)
        for column in ("system", "intent")
    ]
    systems, intents = tuple(names["system"]), tuple(names["intent"])
    material = StudyContents(
        systems=systems,
        intents=intents,
        system=codes[0],
        intent=codes[1],
        distinct=(),
        per_rater=None,
        ratings=1,
        minimum=minimum,
    )
    raters, place = code(ratings["rater"]), {name: at for at, name in enumerate(rated["stimulus"].to_list())}
    unit = np.array([place[name] for name in ratings["stimulus"].to_list()], np.int64)
    order = np.argsort(raters.codes, kind="stable")
    incidence = Incidence(
        rater=raters.codes[order],
        unit=unit[order],
        position=np.ones(unit.size, np.int64),
        raters=raters.count,
        left=0,
        turned_away=0,
        first=np.zeros_like(unit),
    )
    design = PlannedDesign(
        systems=systems,
        intents=intents,
        clips=1.0,
        stimuli=rated.height,
        ratings=1,
        per_rater=1,
        raters=raters.count,
        own=True,
    )
    return Published(snapshot, material, design, incidence)


def shown(about: Published, question: str) -> dict[str, float]:
    """What the published ratings show."""
    table = rating_table(about.snapshot, question)
    who, what = code(table["rater"]), code(table["stimulus"])
    parts = [code(table[column]) for column in ("system", "intent")]
    of = [np.zeros(what.count, np.int64) for _ in parts]
    for each, part in zip(of, parts, strict=True):
        each[what.codes] = part.codes
    value = table["value"].to_numpy().astype(np.float64)
    systems, intents = parts[0].count, parts[1].count
    nobody = np.zeros(who.count, np.bool_)
    head, jackknife, effects, cover, _, moves = statistics(
        who.codes, what.codes, value, nobody, of[0], of[1], systems, intents, about.material.minimum
    )
    pairs, width = system_pairs(effects[:systems], model_errors(head, cover, jackknife, moves))
    known = dict(zip(FIGURES, head.tolist(), strict=True))
    return {name: known[name] for name in KEYS[:3]} | {
        "difference_width": width,
        "mean_width": interval_width(jackknife),
        "pairs": float(pairs.sum()),
    }


def predicted(about: Published, pilot: Pilot, studies: int, seed: int = 0) -> dict[str, dict[str, Floats]]:
    """The same figures of simulated studies with the published incidence."""
    rng = np.random.default_rng(seed)
    people = draw_people([about.incidence], pilot.shares(studies, rng), (0.0, 0.0), rng)
    options = PlanOptions(policy="flag-only")
    layout = layout_of(about.material, about.design)
    out = {}
    for question in about.questions:
        made = simulate_question(
            layout,
            [about.incidence],
            pilot.questions[question],
            about.material,
            options,
            people,
            rng,
            about.material.systems,
        )
        out[question] = figures(made)
    return out


def figures(made: Studies) -> dict[str, Floats]:
    return {name: made.figures[name] for name in KEYS[:3]} | {
        "difference_width": made.difference_width,
        "mean_width": made.mean_width,
        "pairs": made.detected.sum(axis=1),
    }


def covered(about: Published, raters: int, choices: int, studies: int) -> dict[tuple[str, str], float]:
    """How often the 95% range predicted from ``raters`` random raters contains what all ratings show."""
    people = sorted(about.snapshot.ratings["rater"].unique().to_list())
    truth = {question: shown(about, question) for question in about.questions}
    hits = {(question, name): 0 for question in about.questions for name in KEYS}
    for seed in range(choices):
        chosen = np.random.default_rng(seed).choice(people, raters, replace=False).tolist()
        ratings = about.snapshot.ratings.filter(pl.col("rater").is_in(chosen))
        part = Snapshot.build(about.snapshot.study, stimuli=about.snapshot.stimuli, ratings=ratings)
        for question, made in predicted(about, estimate_pilot(part), studies, seed).items():
            for name in KEYS:
                low, high = np.nanquantile(made[name], [0.025, 0.975])
                hits[question, name] += bool(low <= truth[question][name] <= high)
    return {key: count / choices for key, count in hits.items()}


def vcc2018(folder: Path) -> Snapshot:
    """Opinion scores of converted speech; the first part of a file's name is its system."""
    parts = [pl.read_csv(path) for path in sorted((folder / "vcc2018").glob("vcc2018_*_data.csv"))]
    table = pl.concat(parts).with_columns(system=pl.col("WAV_PATH").str.extract(r"^([A-Z0-9]+)_"))
    study = Study(
        name="vcc2018",
        scales={"mos": Points(type="points", points=5)},
        questions=[Question(id="quality", text="How natural is it?", scale="mos")],
    )
    ratings = table.select(
        rater="JUDGE", stimulus="WAV_PATH", question=pl.lit("quality"), value=pl.col("MOS").cast(pl.Float64)
    )
    stimuli = table.unique("WAV_PATH", maintain_order=True).select(stimulus="WAV_PATH", system="system")
    return Snapshot.build(study, stimuli=stimuli, ratings=ratings)
