"""Whether the printed interval of a power covers the power of real studies, for pilots of 10, 25 and 50 raters.

Truth, pilots and studies are drawn here in plain numpy, without the plan's own simulation: normal systems, stimuli, raters, tastes
and noise, rounded to nine points. The true power of the design is the share of pairs of systems that the model of the ratings (the
one behind the report's verdict) finds in many such studies. Each pilot is planned by ``plan_study``, as the command does.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.planning import PlanOptions, plan_study
from heartfelt.planning.forecasts import share_estimate
from heartfelt.snapshot import Snapshot
from heartfelt.stats.inference import mixed_model
from heartfelt.study import Study, load_study
from heartfelt.wording import interval

PILOTS = (10, 25, 50)
SYSTEMS = ("A", "B", "C")
TRIALS = 12
YAML = """
name: power
scales: {nine: {type: points, points: 9}}
questions: [{id: appeal, text: How much do you like it?, scale: nine}]
systems: [{id: A}, {id: B}, {id: C}]
design: {ratings_per_item: 6, stimuli_per_rater: 12, minimum_ratings: 2}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is so, in points: effects of the systems, and variances."""

    effects: tuple[float, ...]
    stimulus: float = 0.3
    rater: float = 0.5
    taste: float = 0.15
    residual: float = 1.3
    stated: float | None = None
    """The effect the plan is told; the pilot's own where None."""

    def ratings(self, clips: int, raters: int, rng: np.random.Generator) -> pl.DataFrame:
        """One study: every rater rates ``TRIALS`` clips, each clip about as often as the others."""
        systems = len(self.effects)
        system = np.repeat(np.arange(systems), clips)
        rounds = -(-raters * TRIALS // system.size)
        clip = np.concatenate([rng.permutation(system.size) for _ in range(rounds)])[: raters * TRIALS]
        rater = np.repeat(np.arange(raters), TRIALS)
        taste = np.sqrt(self.taste) * rng.standard_normal((raters, systems))
        value = 5.0 + np.array(self.effects)[system][clip]
        value += np.sqrt(self.stimulus) * rng.standard_normal(system.size)[clip]
        value += np.sqrt(self.rater) * rng.standard_normal(raters)[rater]
        value += taste[rater, system[clip]] + np.sqrt(self.residual) * rng.standard_normal(rater.size)
        names = np.array(SYSTEMS)[system]
        return pl.DataFrame(
            {
                "rater": [f"r{number}" for number in rater],
                "stimulus": [f"{names[number]}{number}" for number in clip],
                "system": names[clip],
                "question": ["appeal"] * rater.size,
                "value": np.clip(np.rint(value), 1, 9),
            }
        )

    def power(self, studies: int, seed: int) -> float:
        """Share of pairs of differing systems that the model of the ratings finds."""
        rng, shares = np.random.default_rng(seed), []
        for _ in range(studies):
            table = self.ratings(CLIPS, RATERS, rng)
            taste = table.select(pl.struct("rater", "system").rank("dense")).to_series()
            random = {"rater": table["rater"], "stimulus": table["stimulus"], "taste": taste}
            fitted = mixed_model(table["value"], {"system": table["system"]}, random, means_of="system")
            if fitted.pairs is None:
                continue
            of = dict(zip(SYSTEMS, self.effects, strict=True))
            shares.append(np.mean([bool(pair.significant) for pair in fitted.pairs.pairs if of[pair.a] != of[pair.b]]))
        return float(np.mean(shares))


TRUTHS = {
    "a stated difference of 0.7": Truth(effects=(0.35, -0.35, 0.35), stated=0.7),
    "differences from the pilot": Truth(effects=(0.6, -0.2, -0.4)),
    "stimuli alike, tastes strong": Truth(effects=(0.5, -0.5, 0.5), stimulus=0.05, taste=0.5, stated=1.0),
}
CLIPS, RATERS, PER_CLIP = 16, 24, 6


def study_folder(base: Path) -> Path:
    """The planned study: three systems of 16 clips, six ratings each."""
    base.mkdir(exist_ok=True)
    (base / "study.yaml").write_text(YAML, encoding="utf-8")
    rows = ["stimulus,system", *(f"{name}{k},{name}" for name in SYSTEMS for k in range(CLIPS))]
    (base / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return base


def pilot_of(truth: Truth, raters: int, study: Study, rng: np.random.Generator) -> Snapshot:
    """A pilot: eight clips of each system."""
    table = truth.ratings(8, raters, rng)
    stimuli = table.unique("stimulus", maintain_order=True).select("stimulus", "system")
    return Snapshot.build(study, stimuli=stimuli, ratings=table.drop("system"))


def covered(
    truth: Truth, raters: int, pilots: int, folder: Path, studies: int = 200
) -> tuple[npt.NDArray[np.float64], float]:
    """Per pilot: value, low and high of the printed power; and the seconds a plan took."""
    study, rows, began = load_study(folder), [], time.perf_counter()
    for number in range(pilots):
        pilot = pilot_of(truth, raters, study, np.random.default_rng([raters, number]))
        options = PlanOptions(
            raters=(RATERS,),
            ratings=(PER_CLIP,),
            effect=truth.stated,
            power=0.01,  # reached at once, so that no further design is looked for
            studies=studies,
            seed=number,
            workers=1,
        )
        made = plan_study(folder, options, pilot=pilot).designs[0]
        power = made.questions["appeal"].power
        rows.append([power.value or 0.0, power.low or 0.0, power.high or 0.0])
    return np.array(rows), (time.perf_counter() - began) / pilots


def main() -> None:
    pilots = int(os.environ.get("PILOTS", "40"))
    with TemporaryDirectory() as temporary:
        folder = study_folder(Path(temporary) / "study")
        for name, truth in TRUTHS.items():
            exact = truth.power(600, 1)
            print(f"{name}: true power {exact:.3f}")
            for raters in PILOTS:
                rows, seconds = covered(truth, raters, pilots, folder)
                hit = (rows[:, 1] <= exact) & (exact <= rows[:, 2])
                known = share_estimate(int(hit.sum()), pilots, "coverage")
                width = rows[:, 2] - rows[:, 1]
                print(
                    f"  {raters:2} raters: coverage {interval(known, bare=True)} of {pilots}; middle {rows[:, 0].mean():.3f}"
                    f" (sd {rows[:, 0].std():.3f}); median width {np.median(width):.2f}; below {np.mean(exact > rows[:, 2]):.2f},"
                    f" above {np.mean(exact < rows[:, 1]):.2f}; {seconds:.1f} s a plan",
                    flush=True,
                )


if __name__ == "__main__":
    main()
