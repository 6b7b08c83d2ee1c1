"""Simulations with known truth behind agreement by part: ``python -m benchmarks.agreement_by_part [PART] [RUNS]``.

PART is ``worth`` (coverage and width of intervals of the worth in ratings), ``prompts`` (the same where items share prompts),
``errors`` (type I error and power of comparing one part with the rest, coverage of their difference), ``calibration`` (coverage of
slopes and biases under noisy labels), ``biases`` (the same where raters differ and stimuli share prompts), ``stack`` (how often
combining models is called better), ``speed`` or ``all``. Prints the tables of docs/stats/coverage.md.
"""

from __future__ import annotations

import sys
import time
import zlib
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from heartfelt.scoring.comparison.label_raters import LabelRaters
from heartfelt.scoring.comparison.part_errors import Gaps, ModelErrors, part_errors, system_biases
from heartfelt.stats.ceilings.raters_worth import RatersWorth, raters_worth
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.prediction.calibration_line import calibration_line
from heartfelt.stats.prediction.stacking import stacked
from heartfelt.stats.ratings import Ratings, as_ratings

DESIGNS = ((24, 6, 6), (48, 8, 8), (48, 20, 5), (100, 10, 10), (100, 40, 5), (400, 60, 6))
"""Stimuli, raters and ratings per stimulus."""
NOISE = 1.5


def stream(*names: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def ratings(
    rng: np.random.Generator, design: tuple[int, int, int], levels: float, gains: float, strength: float
) -> tuple[Ratings, Floats]:
    """Ratings of stimuli whose true values have unit variance, and a model that correlates with these by ``strength``."""
    items, raters, each = design
    true, level = rng.normal(size=items), rng.normal(0, levels**0.5, raters)
    gain = rng.normal(1, gains, raters)
    model = strength * true + np.sqrt(1 - strength**2) * rng.normal(size=items)
    item = np.repeat(np.arange(items), each)
    rater = np.concatenate([rng.permutation(raters)[:each] for _ in range(items)])
    value = gain[rater] * true[item] + level[rater] + rng.normal(0, NOISE**0.5, item.size)
    d = as_ratings(rater, item, value)
    return d, model[np.array(d.items, dtype=np.int64)]


def ends(result: RatersWorth) -> tuple[float, float]:
    """The bounds, infinite where there is no upper one."""
    if result.at_least is not None:
        return result.at_least, np.inf
    return (result.raters.low or 0.0), (0.0 if result.raters.high is None else result.raters.high)


def worth(runs: int) -> None:
    print(f"{runs} studies per cell: coverage, share above and below, without upper end, value and interval (medians)")
    for design in DESIGNS:
        for levels, gains in ((0.0, 0.0), (0.5, 0.0), (0.5, 0.35)):
            for strength in (0.0, 0.3, 0.6, 0.85, 0.95):
                rng = stream(design, levels, gains, strength)
                true = (levels + NOISE + gains**2) * strength**2 / (1 - strength**2)
                results = [raters_worth(*ratings(rng, design, levels, gains, strength)) for _ in range(runs)]
                low, high = np.array([ends(result) for result in results]).T
                values = [np.inf if r.raters.value is None else r.raters.value for r in results]
                print(
                    f"{design} levels {levels} gains {gains} r {strength}: true {true:.2f}, "
                    f"{np.mean((low <= true) & (true <= high)):.3f}, {np.mean(low > true):.3f}, {np.mean(high < true):.3f}, "
                    f"{np.mean(np.isinf(high)):.2f}, {np.median(values):.2f} [{np.median(low):.2f}, {np.median(high):.2f}]",
                    flush=True,
                )


def prompts(runs: int) -> None:
    print(
        f"{runs} studies per cell: coverage of the worth in ratings with prompts as groups, and of items alone (true .84)"
    )
    for count, systems, shared in ((12, 12, 0.0), (12, 12, 0.5), (24, 6, 0.5)):
        rng, hits = stream(count, systems, shared), np.zeros(2)
        prompt = np.repeat(np.arange(count), systems)
        item = np.repeat(np.arange(prompt.size), 6)
        for _ in range(runs):
            true, off = (
                shared**0.5 * rng.normal(size=count)[prompt] + (1 - shared) ** 0.5 * rng.normal(size=prompt.size)
                for _ in range(2)
            )
            rater = np.concatenate([rng.permutation(30)[:6] for _ in range(prompt.size)])
            d = as_ratings(rater, item, true[item] + rng.normal(0, NOISE**0.5, item.size))
            order = np.array(d.items, dtype=np.int64)
            for at, group in enumerate((prompt[order], None)):
                low, high = ends(raters_worth(d, (0.6 * true + 0.8 * off)[order], group=group))
                hits[at] += low <= NOISE * 0.36 / 0.64 <= high
        print(f"{count} prompts by {systems} systems, {shared} shared: {hits / runs}", flush=True)


def errors(runs: int) -> None:
    print(
        f"{runs} studies per cell: share with p < .05 for one part that is like the rest or worse, coverage of the difference and"
        " of its own error, any part of any column after Holm"
    )
    # Prompts, systems, prompts in the part (0: the part is a system), raters in the part and elsewhere.
    designs = (
        (48, 1, 4),
        (48, 1, 12),
        (200, 1, 50),
        (12, 6, 4),
        (24, 6, 6),
        (60, 3, 10),
        (12, 6, 0),
        (24, 6, 0),
        (60, 3, 0),
    )
    for prompts, systems, inside in designs:
        for shared in (0.0, 0.5, 0.9) if systems > 1 else (0.0,):
            for counts in ((3, 3), (8, 8), (3, 10), (2, 12)):
                for extra in (0.0, 0.6) if systems > 1 else (0.0, 0.6, 1.0):
                    design = prompts, systems, inside, shared, counts, extra
                    print(f"{design}: {_errors_of_design(design, runs)}", flush=True)


def _errors_of_design(design: tuple[int, int, int, float, tuple[int, int], float], runs: int) -> str:
    prompts, systems, inside, shared, counts, extra = design
    rng, found, covers, of_error, any_part = stream(*design), 0, 0, 0, 0
    prompt, system = np.divmod(np.arange(prompts * systems), systems)
    part = prompt < inside if inside else system == 0
    raters = np.where(part, *counts).astype(np.float64)
    spread = np.where(part, 0.6 + extra, 0.6)
    columns = {
        "part": ["a" if row else "b" for row in part],
        "six": [str(row // max(prompts // 6, 1)) for row in prompt],
        "system": [str(row) for row in system],
        "thirds": [str(row) for row in rng.integers(0, 3, part.size)],
    }
    true = (0.6 + extra) ** 2 - 0.36
    for _ in range(runs):
        of_prompt = rng.normal(size=prompts)[prompt]
        off = spread * (shared**0.5 * of_prompt + (1 - shared) ** 0.5 * rng.normal(size=part.size))
        noise = rng.normal(size=part.size) * 1.2 / raters**0.5
        squared = 1.44 / raters * rng.chisquare(raters - 1) / (raters - 1)
        rows = part_errors(
            ModelErrors(
                model="m", task="t", wrong=(off + noise) ** 2, noise=squared, stimulus=np.arange(part.size), squared=True,
                ratings=raters, group=prompt if systems > 1 else None, unit="prompts" if systems > 1 else "stimuli",
            ),
            columns, 0.95,
        )  # fmt: skip
        first = rows[0]
        found += (first.p or 1.0) < 0.05
        any_part += any(row.differs for row in rows)
        low, high = first.excess.low, first.excess.high
        covers += (low is None or low <= true) and (high is None or high >= true)
        own = ((0.6 + extra) ** 2 + 1.44 / counts[0]) ** 0.5
        of_error += (first.error.low or 0.0) <= own <= (first.error.high or np.inf)
    return f"{found / runs:.3f}, {covers / runs:.3f}, {of_error / runs:.3f}, {any_part / runs:.3f}"


def calibration(runs: int) -> None:
    print(f"{runs} studies per cell: coverage of slope and bias, mean slope (true .7), labels with noise")
    for items, clusters in ((20, 20), (48, 48), (200, 200), (200, 4), (200, 8), (200, 20)):
        for noise in (0.0, 0.5, 1.0):
            rng, hits, slopes = stream(items, clusters, noise), np.zeros(2), []
            for _ in range(runs):
                code = np.arange(items) % clusters
                x = rng.normal(size=items)
                shared = rng.normal(0, 0.5, clusters)[code] if clusters < items else 0.0
                label = 0.7 * x + 1 + 0.5 * rng.normal(size=items) + noise * rng.normal(size=items) + shared
                line = calibration_line(label, x, code if clusters < items else None)
                slopes.append(float(line.slope))
                for at, (estimate, true) in enumerate(((line.slope, 0.7), (line.bias, -1.0))):
                    hits[at] += float(estimate.low or 0) <= true <= float(estimate.high or 0)
            print(
                f"{items} items, {clusters} units, label noise {noise}: {hits / runs}, {np.mean(slopes):.3f}",
                flush=True,
            )


def biases(runs: int) -> None:
    print(
        f"{runs} studies per cell: coverage of the bias of a system, over all stimuli, of the slope; the first without raters;"
        " share of studies where any unbiased system is called biased (Holm), and without raters"
    )
    for stimuli, systems, raters, each in ((48, 4, 6, 6), (96, 6, 12, 6), (96, 6, 30, 10), (240, 6, 24, 24)):
        for prompts in (0, 12):
            for levels in (0.0, 0.7):
                rng, hits, called = stream(stimuli, raters, prompts, levels), np.zeros(4), np.zeros(2)
                for _ in range(runs):
                    rows, answers, predicted = _rated(rng, stimuli, systems, raters, each, prompts, levels)
                    label, every = rows["truth"].to_numpy(), np.ones(stimuli, np.bool_)
                    group = np.arange(stimuli) // systems % prompts if prompts else np.arange(stimuli)
                    panel = LabelRaters.of(rows, answers)
                    assert panel is not None
                    gaps = Gaps(label=label, predicted=predicted, group=group)
                    alone = system_biases(gaps, rows["system"].to_list(), 0.95)
                    both = replace(gaps, of_raters=partial(panel.of_bias, predicted=predicted))
                    found = system_biases(both, rows["system"].to_list(), 0.95)
                    line = calibration_line(label, predicted, group, raters=panel.of_line(every, predicted))
                    estimates = ((found[0].bias, 0.0), (line.bias, 0.0), (line.slope, 0.7), (alone[0].bias, 0.0))
                    for at, (estimate, true) in enumerate(estimates):
                        hits[at] += float(estimate.low or 0) <= true <= float(estimate.high or 0)
                    called += [any(row.differs for row in rows) for rows in (found, alone)]
                print(
                    f"{stimuli} stimuli, {systems} systems, {raters} raters, {each} per stimulus, {prompts} prompts,"
                    f" levels {levels}: {hits / runs}, {called / runs}",
                    flush=True,
                )


def _rated(
    rng: np.random.Generator, stimuli: int, systems: int, raters: int, each: int, prompts: int, levels: float
) -> tuple[pl.DataFrame, pl.DataFrame, Floats]:
    """Rows with labels, single ratings, and predictions whose slope is .7 and bias 0; prompts share half of their error."""
    predicted = rng.normal(size=stimuli)
    shared = rng.normal(size=max(prompts, 1))[np.arange(stimuli) // systems % prompts] if prompts else 0.0
    true = 0.7 * predicted + 0.4 * (shared + rng.normal(size=stimuli))
    level = rng.normal(0, levels, raters)
    item = np.repeat(np.arange(stimuli), each)
    rater = np.concatenate([rng.permutation(raters)[:each] for _ in range(stimuli)])
    value = true[item] + level[rater] + rng.normal(size=item.size)
    names = pl.Series("stimulus", [f"s{name}" for name in range(stimuli)])
    rows = pl.DataFrame(
        {
            "stimulus": names,
            "question": ["q"] * stimuli,
            "system": [f"S{name % systems}" for name in range(stimuli)],
            "intent": pl.Series([None] * stimuli, dtype=pl.String),
            "truth": np.bincount(item, value) / each,
        }
    )
    answers = pl.DataFrame(
        {
            "rater": [f"r{name}" for name in rater],
            "stimulus": names.gather(item),
            "question": ["q"] * item.size,
            "value": value,
            "known": [True] * item.size,
        }
    )
    return rows, answers, predicted


def predictions(kind: str, true: Floats, shared: Floats, rng: np.random.Generator) -> Floats:
    """Models of one study, one per column."""
    size, first = true.size, true + rng.normal(size=true.size)
    match kind:
        case "independent errors":
            columns = [true + 1.2 * rng.normal(size=size) + 0.4 * shared for _ in range(3)]
        case "copies of one":
            columns = [first, 2 * first + 1, first]
        case "one and noisier copies":
            columns = [first, first + rng.normal(size=size), first + 0.3 * rng.normal(size=size)]
        case "one and noise":
            columns = [first, *rng.normal(size=(5, size))]
        case _:
            columns = [*rng.normal(size=(4, size))]
    return np.column_stack(columns)


def stack(runs: int) -> None:
    print(f"{runs} studies per cell: mean difference, share called better and worse at p < .05")
    kinds = ("independent errors", "copies of one", "one and noisier copies", "one and noise", "noise alone")
    for items, groups in ((48, 48), (200, 200), (200, 12), (200, 5)):
        for kind in kinds:
            rng, gains, better, worse = stream(items, groups, kind), [], 0, 0
            for run in range(runs):
                code = np.arange(items) % groups
                shared = rng.normal(size=groups)[code]
                true = rng.normal(size=items) + (0.5 * shared if groups < items else 0.0)
                label = true + 0.4 * rng.normal(size=items)
                columns = predictions(kind, true, shared if groups < items else np.zeros(items), rng)
                result = stacked(label, columns, tuple("abcdef"[: columns.shape[1]]), code, seed=run)
                gains.append(result.difference.value or 0.0)
                small = result.p.value is not None and result.p.value < 0.05
                better += small and gains[-1] > 0
                worse += small and gains[-1] < 0
            print(
                f"{items} items, {groups} groups, {kind}: {np.mean(gains):+.3f}, {better / runs:.3f}, {worse / runs:.3f}",
                flush=True,
            )


def speed(_: int) -> None:
    for size in (12_000, 120_000, 1_000_000):
        d, model = ratings(stream(size), (size // 6, max(size // 300, 40), 6), 0.5, 0.0, 0.6)
        raters_worth(d, model)
        started = time.perf_counter()
        raters_worth(d, model)
        print(f"worth in ratings, {size:,} ratings: {time.perf_counter() - started:.2f} s for each further model")


PARTS = {
    "worth": worth,
    "prompts": prompts,
    "errors": errors,
    "calibration": calibration,
    "biases": biases,
    "stack": stack,
    "speed": speed,
}


def main() -> None:
    chosen = sys.argv[1] if len(sys.argv) > 1 else "all"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    for name, part in PARTS.items():
        if chosen in ("all", name):
            print(f"== {name} ==")
            part(runs)


if __name__ == "__main__":
    main()
