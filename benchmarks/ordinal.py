"""Cumulative link mixed models: false alarms of the test of systems, coverage of all pairs, and processor time.

Systems are equal; raters, stimuli and raters' tastes for systems differ (sd .5, .5 and as shown; residual .9; five points). The
figures of docs/stats come from ``HEARTFELT_BENCH=full python -m benchmarks ordinal`` (about three minutes).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.stats.inference import cumulative_link_model

DATA_SETS = 400 if os.environ.get("HEARTFELT_BENCH") == "full" else 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How many raters, stimuli and systems; every rater rates all stimuli unless ``per_stimulus`` of them do."""

    raters: int
    stimuli: int = 48
    systems: int = 4
    per_stimulus: int | None = None
    taste: float = 0.5

    def draw(self, rng: np.random.Generator) -> tuple[npt.NDArray[np.float64], dict[str, npt.NDArray[np.int64]]]:
        """Ratings and the ids of their raters, stimuli, systems and tastes."""
        count = self.per_stimulus or self.raters
        stimulus = np.repeat(np.arange(self.stimuli), count)
        rater = np.concatenate(
            [rng.choice(self.raters, count, replace=False) for _ in range(self.stimuli)], dtype=np.int64
        )
        system = stimulus % self.systems
        taste = rater * self.systems + system
        latent = 0.5 * rng.normal(size=self.raters)[rater] + 0.5 * rng.normal(size=self.stimuli)[stimulus]
        latent += self.taste * rng.normal(size=self.raters * self.systems)[taste]
        latent += 0.9 * rng.normal(size=rater.size)
        ids = {"rater": rater, "stimulus": stimulus, "system": system, "taste": taste}
        return np.clip(np.round(3 + latent), 1, 5), ids


DESIGNS = (
    Design(raters=6),
    Design(raters=12, taste=0.0),
    Design(raters=12),
    Design(raters=24),
    Design(raters=12, stimuli=60, per_stimulus=6),
)
LARGE = (
    Design(raters=24, stimuli=500, systems=5),
    Design(raters=100, stimuli=120, systems=10),
    Design(raters=60, stimuli=2000, systems=10, per_stimulus=6),
)


def alarms(design: Design) -> tuple[float, float, float, int]:
    """Shares of data sets with p < .05 by chi-square and by F, with all pairs covered, and how many were not fitted."""
    rng = np.random.default_rng([design.raters, design.stimuli, int(10 * design.taste)])
    rows, missing = [], 0
    for _ in range(DATA_SETS):
        rating, ids = design.draw(rng)
        groups = {name: ids[name] for name in ("rater", "stimulus", "taste")}
        result = cumulative_link_model(rating, {"system": ids["system"].astype(str)}, groups)
        effect = result.effect("system")
        if effect.p is None or effect.p_f is None:
            missing += 1
            continue
        covered = not any(pair.significant for pair in result.differences("system").pairs)
        rows.append((effect.p < 0.05, effect.p_f < 0.05, covered))
    chi_square, f, covered_share = np.mean(rows, axis=0).tolist()
    return chi_square, f, covered_share, missing


def main() -> None:
    print(f"{DATA_SETS} data sets each    false alarms: chi-square, F    all pairs covered    not fitted")
    for design in DESIGNS:
        chi_square, f, covered, missing = alarms(design)
        print(f"{design!s:90s} {chi_square:.3f} {f:.3f} {covered:.3f} {missing}", flush=True)
    for design in LARGE:
        rating, ids = design.draw(np.random.default_rng(0))
        groups = {name: ids[name] for name in ("rater", "stimulus", "taste")}
        start = time.process_time()
        cumulative_link_model(rating, {"system": ids["system"].astype(str)}, groups)
        print(f"{rating.size:,} ratings, {design}: {time.process_time() - start:.2f} s", flush=True)


if __name__ == "__main__":
    main()
