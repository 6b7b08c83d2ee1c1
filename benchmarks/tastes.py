"""Raters with tastes for systems: how often the model of the ratings finds a difference that is not there, how often its
intervals hold, and how wide they are beside what the model without tastes and the two-way jackknife give.

The table of docs/stats/coverage.md comes from ``HEARTFELT_BENCH=full`` (about a quarter of an hour).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtrit

from heartfelt.analysis.systems.two_way import Changes, difference, error_of, mean_changes, stimuli_of
from heartfelt.stats.inference import mixed_model

FULL = os.environ.get("HEARTFELT_BENCH") == "full"
STUDIES = 400 if FULL else 20
SYSTEMS, PER_SYSTEM = 4, 10
SPREAD = {"stimulus": 0.4, "rater": 0.6, "residual": 0.9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A design: everybody rates all forty stimuli, or sixteen of them drawn by lot."""

    raters: int
    tastes: float
    complete: bool


def draw(panel: Panel, rng: np.random.Generator) -> pl.DataFrame:
    """Ratings of systems that do not differ."""
    stimuli = SYSTEMS * PER_SYSTEM
    system_of = np.repeat(np.arange(SYSTEMS), PER_SYSTEM)
    size = stimuli if panel.complete else 16
    stimulus = np.concatenate([rng.permutation(stimuli)[:size] for _ in range(panel.raters)])
    rater = np.repeat(np.arange(panel.raters), size)
    system = system_of[stimulus]
    value = SPREAD["stimulus"] * rng.normal(size=stimuli)[stimulus]
    value += SPREAD["rater"] * rng.normal(size=panel.raters)[rater] + SPREAD["residual"] * rng.normal(size=rater.size)
    value += panel.tastes * rng.normal(size=(panel.raters, SYSTEMS))[rater, system]
    names = pl.DataFrame({"rater": rater, "item": stimulus, "system": system, "intent": 0}).cast(pl.String)
    return names.with_columns(value=value)


def jackknife_pairs(table: pl.DataFrame) -> list[tuple[float, float]]:
    """Each difference of two systems over its standard error's 95% reach, and the width of its interval."""
    items = table.group_by("item", maintain_order=True).agg(pl.first("system", "intent"), mean=pl.mean("value"))
    data = stimuli_of(items, [table], ["mean"], None)
    parts = []
    for name in sorted(set(items["system"])):
        part = mean_changes(data, (items["system"] == name).to_numpy(), lambda mean, _: mean[:, 0])
        assert isinstance(part, Changes)
        parts.append(part)
    out = []
    for i in range(len(parts)):
        for j in range(i):
            apart = difference(parts[i], parts[j])
            error = error_of(apart)
            assert not isinstance(error, str)
            reach = float(stdtrit(error.df, 0.975)) * error.value
            out.append((abs(apart.value) / reach, 2 * reach))
    return out


def measure(panel: Panel, studies: int = STUDIES) -> dict[str, float]:
    """Type I errors, coverage of differences, and widths beside 3.92 times the spread of the estimates."""
    rng = np.random.default_rng([panel.raters, round(100 * panel.tastes), panel.complete])
    tests: dict[str, list[bool]] = {"with": [], "without": []}
    held: dict[str, list[bool]] = {"model": [], "jackknife": []}
    widths: dict[str, list[float]] = {"model": [], "jackknife": []}
    gaps = []
    for _ in range(studies):
        table = draw(panel, rng)
        random = {"rater": table["rater"], "stimulus": table["item"]}
        plain = mixed_model(table["value"], {"system": table["system"]}, random)
        taste = table["rater"] + " " + table["system"]
        model = mixed_model(table["value"], {"system": table["system"]}, {**random, "taste": taste}, means_of="system")
        tests["without"].append((plain.effects[0].p or 1.0) < 0.05)
        tests["with"].append((model.effects[0].p or 1.0) < 0.05)
        for pair in model.pairs.pairs if model.pairs else ():
            reach = float(stdtrit(pair.df or 1.0, 0.975)) * float(pair.standard_error or 0.0)
            gaps.append(float(pair.estimate))
            held["model"].append(abs(float(pair.estimate)) < reach)
            widths["model"].append(2 * reach)
        for share, width in jackknife_pairs(table):
            held["jackknife"].append(share < 1)
            widths["jackknife"].append(width)
    ideal = 3.92 * float(np.std(gaps))
    return {
        "type I": float(np.mean(tests["with"])),
        "type I without tastes": float(np.mean(tests["without"])),
        "coverage": float(np.mean(held["model"])),
        "width": float(np.mean(widths["model"])) / ideal,
        "jackknife coverage": float(np.mean(held["jackknife"])),
        "jackknife width": float(np.mean(widths["jackknife"])) / ideal,
    }


def main() -> None:
    print(f"{STUDIES} studies per row; {SYSTEMS} systems that do not differ; widths beside 3.92 sd of the differences")
    for complete in (True, False):
        for raters in (6, 12, 24):
            for tastes in (0.0, 0.35, 0.7):
                panel = Panel(raters=raters, tastes=tastes, complete=complete)
                figures = "  ".join(f"{name} {value:.3f}" for name, value in measure(panel).items())
                print(
                    f"{'complete' if complete else 'sparse':9} {raters:3} raters, tastes {tastes:.2f}: {figures}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
