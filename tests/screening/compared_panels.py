"""Panels of raters who compare systems in pairs: honest ones who differ in taste, care and habits, and planted careless ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

STUDY = parse_study(
    "name: pairs\nscales: {which: {type: choice, ties: true}}\n"
    "questions: [{id: better, text: Which is better, scale: which}]\nsets: {type: pair}\n"
)


def panel_of_pairs(
    raters: int,
    each: int,
    *,
    systems: int = 6,
    prompts: int = 10,
    spread: float = 0.8,
    careless: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Snapshot:
    """Honest raters share strengths (SD ``spread``) up to tastes (SD 0.4), care (a factor of 0.6 to 1.6), an order effect of
    0.2 with SD 0.3, and shares of ties from 0 to 30%. ``careless`` names raters and what they do: ``first``, ``tie``, ``random``.
    """
    rng = np.random.default_rng([seed, raters, each])
    strengths = spread * rng.normal(size=systems)
    rows = []
    for rater in range(raters):
        name = f"r{rater:02}"
        kind = (careless or {}).get(name, "")
        taste = strengths + 0.4 * rng.normal(size=systems)
        care, order, tie = rng.uniform(0.6, 1.6), 0.2 + 0.3 * rng.normal(), rng.uniform(0, 0.3)
        for trial in range(each):
            a, b = rng.choice(systems, 2, replace=False).tolist()
            prompt = int(rng.integers(prompts))
            value = float(rng.random() < 1 / (1 + np.exp(-(care * (taste[a] - taste[b]) + order))))
            value = 0.5 if rng.random() < tie else value
            if kind:
                value = {"first": 1.0, "tie": 0.5, "random": float(rng.integers(2))}[kind]
            for place, (system, own) in enumerate(((a, value), (b, 1.0 - value)), 1):
                rows.append((name, f"s{system}/{prompt}", "better", own, f"t{trial}", place, trial + 1))
    table = pl.DataFrame(
        rows, schema=["rater", "stimulus", "question", "value", "trial", "place", "position"], orient="row"
    )
    stimuli = pl.DataFrame(
        [
            {"stimulus": f"s{s}/{p}", "system": f"s{s}", "prompt": f"p{p}"}
            for s in range(systems)
            for p in range(prompts)
        ]
    )
    return Snapshot.build(STUDY, stimuli=stimuli, ratings=table)
