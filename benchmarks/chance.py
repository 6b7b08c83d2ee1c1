"""How often predictors are said to beat chance, knowing nothing or something: ``python -m benchmarks.chance [PART] [RUNS]``.

PART is ``tests`` (the tests of no association, for numbers and for three categories), ``studies`` (whole studies through
``score``, and who is ranked for these and for other systems), ``choices`` (predicted choices), ``baselines`` (their mean scores on
labels that are noise) or ``all``. Two-sided tests at .05; a predictor beats chance where it is also better than chance. Prints the
tables of ``docs/stats/association.md``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from heartfelt.labels import labels
from heartfelt.predictors import cases, predictor_from
from heartfelt.predictors.interface.predictor import PREDICTIONS
from heartfelt.scoring import ScoreOptions, score
from heartfelt.snapshot import Snapshot
from heartfelt.stats.comparison.predicted.hits import hits, mean_hits
from heartfelt.stats.inference.no_association import Earnings, no_association, no_association_over_systems
from heartfelt.stats.prediction.jackknife import spread_of
from heartfelt.streams import stream
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Points
from heartfelt.study.study import System

Draw: TypeAlias = np.random.Generator
Made: TypeAlias = tuple[Any, Any]
"""Labels and predictions."""


def noise(draw: Draw, of: Any, shared: float) -> Made:
    """Labels and predictions that have nothing to do with each other; both depend on the system."""
    count = of.max() + 1
    x = (shared > 0) * draw.normal(size=count)[of] + draw.normal(size=of.size)
    return x, shared * draw.normal(size=count)[of] + draw.normal(size=of.size)


def slopes(draw: Draw, of: Any, spread: float) -> Made:
    """Right in some systems and wrong in others, with a mean correlation of 0."""
    r = np.clip(draw.normal(0, spread, of.max() + 1), -0.95, 0.95)[of]
    x = draw.normal(size=of.size)
    return x, r * x + np.sqrt(1 - r * r) * draw.normal(size=of.size)


def half(draw: Draw, of: Any, system: float) -> Made:
    """A correlation of .5 within and between systems, whose levels have an SD of ``system``."""
    a, b = draw.normal(size=(2, of.max() + 1))
    e, f = draw.normal(size=(2, of.size))
    other = math.sqrt(0.75)
    return system * a[of] + e, system * (0.5 * a + other * b)[of] + 0.5 * e + other * f


CASES: dict[str, tuple[Callable[[Draw, Any, float], Made], float]] = {
    "noise": (noise, 0.0),
    "noise, errors shared within systems": (noise, 3.0),
    "noise, right in some systems": (slopes, 0.4),
    "r = .5": (half, 0.0),
    "r = .5, systems differ": (half, 1.0),
}
DESIGNS = {
    "4 x 12": np.repeat(np.arange(4), 12),
    "6 x 8": np.repeat(np.arange(6), 8),
    "12 x 4": np.repeat(np.arange(12), 4),
    "6 of 2 to 18": np.repeat(np.arange(6), [2, 3, 5, 8, 12, 18]),
}


def of_tests(runs: int) -> None:
    print(
        "| predictor | systems x clips | jackknife | freely shuffled | these systems | other systems | categories, these | other |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, (make, level) in CASES.items():
        for design, of in DESIGNS.items():
            draw = stream(1, "chance", name, design)
            said = np.zeros(6)
            for run in range(runs):
                x, y = make(draw, of, level)
                one = np.zeros(of.size, np.int64)
                a, b = (np.digitize(column, np.quantile(column, [1 / 3, 2 / 3])) for column in (x, y))
                weight = 1 / np.bincount(a, minlength=3)
                given = [Earnings(label=x, predicted=y, system=system) for system in (one, of)]
                sides = Earnings(label=a, predicted=b, system=of, weight=weight)
                spread = spread_of("pearson", x, y)[1]
                p = [
                    None if spread is None else spread.p(0.0),
                    no_association(given[0], seed=run, resamples=999).value,
                    no_association(given[1], seed=run, resamples=999).value,
                    no_association_over_systems(given[1], seed=run).value,
                    no_association(sides, seed=run, resamples=999).value,
                    no_association_over_systems(sides, seed=run).value,
                ]
                better = float(np.corrcoef(x, y)[0, 1]) > 0, bool(np.mean(a == b) > 1 / 3)
                said += [each is not None and each <= 0.05 and better[place > 3] for place, each in enumerate(p)]
            print(f"| {name} | {design} | {' | '.join(f'{share:.3f}' for share in said / runs)} |", flush=True)


def of_studies(runs: int) -> None:
    print("| predictors | ranked | ranked first for other systems |\n|---|---|---|")
    of = DESIGNS["6 x 8"]
    for name in ("noise, errors shared within systems", "r = .5"):
        make, level = CASES[name]
        draw = stream(2, "chance", "studies", name)
        ranked = first = 0
        for _ in range(runs):
            x, y = make(draw, of, level)
            truth = np.clip(5 + 1.2 * x, 1, 9)
            (rank,) = score(study(of, truth), predicted(5 + 0.4 * y), ScoreOptions(ceilings=False, slices=())).ranks
            ranked += rank.place is not None
            first += rank.over_systems.best == 1
        print(f"| {name} | {ranked} of {runs} | {first} of {runs} |", flush=True)


def study(of: Any, truth: Any) -> Snapshot:
    """Labels of clips of some systems."""
    names = [f"s{place}" for place in range(of.size)]
    made = Study(
        name="made",
        systems=[System(id=f"m{system}") for system in range(of.max() + 1)],
        scales={"nine": Points(type="points", points=9)},
        questions=[Question(id="valence", text="?", scale="nine")],
    )
    stimuli = pl.DataFrame({"stimulus": names, "system": [f"m{system}" for system in of]})
    means = pl.DataFrame({"stimulus": names, "question": "valence", "mean": truth})
    return Snapshot.build(made, stimuli=stimuli, means=means)


def predicted(values: Any) -> pl.DataFrame:
    """One model's predictions."""
    known = {"stimulus": [f"s{place}" for place in range(values.size)], "value": values}
    constant = {"model": "m", "question": "valence", "ok": True, "attempts": 1}
    frame = pl.DataFrame(known).with_columns(pl.lit(value).alias(name) for name, value in constant.items())
    missing = [column for column in PREDICTIONS.columns if column.name not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=column.dtype).alias(column.name) for column in missing)


def of_choices(runs: int) -> None:
    """Values of stimuli that are noise, or correlate .5 with their strengths: does the larger one win?"""
    print("| stimuli | pairs | raters | values are noise | r = .5 |\n|---|---|---|---|---|")
    for stimuli, pairs, raters in ((12, 40, 8), (30, 90, 10)):
        rates = []
        for r in (0.0, 0.5):
            draw = stream(3, "chance", "choices", stimuli, int(10 * r))
            said = 0
            for _ in range(runs):
                strength, other = draw.normal(size=(2, stimuli))
                value = r * strength + math.sqrt(1 - r * r) * other
                first, second = np.array([draw.choice(stimuli, 2, replace=False) for _ in range(pairs)]).T
                first, second = np.repeat(first, raters), np.repeat(second, raters)
                rater = np.tile(np.arange(raters), pairs)
                won = (draw.random(first.size) < 1 / (1 + np.exp(strength[second] - strength[first]))).astype(float)
                right = hits(value[first] - value[second], won)
                result = mean_hits(rater, first, second, right, np.full(right.size, 0.5))
                said += float(result.estimate) > 0 and float(result.p) <= 0.05
            rates.append(f"{said / runs:.3f}")
        print(f"| {stimuli} | {pairs} | {raters} | {' | '.join(rates)} |", flush=True)


def of_baselines(runs: int) -> None:
    print("| systems x clips | mean r of system-mean, from the other half | leaving each clip out |\n|---|---|---|")
    for design, of in DESIGNS.items():
        draw = stream(4, "chance", "baselines", design)
        means: list[tuple[float, float]] = []
        for _ in range(runs):
            truth = np.clip(5 + draw.normal(size=of.size), 1, 9)
            data = study(of, truth)
            predictor = predictor_from("system-mean")
            predictor.learn(data, labels(data).table)
            made = [predictor.predict_one(case, ask).value for case in cases(data) for ask in case.asks]
            sums, sizes = np.bincount(of, weights=truth)[of], np.bincount(of)[of]
            left_out = (sums - truth) / (sizes - 1)
            means.append((_r(truth, np.array(made, np.float64)), _r(truth, left_out)))
        fair, former = np.mean(means, axis=0)
        print(f"| {design} | {fair:+.3f} | {former:+.3f} |", flush=True)


def _r(x: Any, y: Any) -> float:
    return float(np.corrcoef(x, y)[0, 1])


PARTS = {"tests": of_tests, "studies": of_studies, "choices": of_choices, "baselines": of_baselines}


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.isdigit()]
    runs = next((int(word) for word in sys.argv[1:] if word.isdigit()), 400)
    for name, part in PARTS.items():
        if not words or words[0] in (name, "all"):
            part(runs)
            print()


if __name__ == "__main__":
    main()
