"""How often stimuli are perceived as intended, deviation by quadrant, and the ellipses of quadrants with their overlaps.

The perceived quadrant is that of a stimulus's mean ratings on both axes. A mean exactly on a midline belongs to neither side: it
is counted as ``on a midline`` and is not a hit. An ellipse holds 95% of the stimuli of a system and quadrant; the overlap of
two has a bootstrap interval over the stimuli of both (``stats.geometry``).

By chance means that the intents are reassigned at random among the stimuli of each system: every system keeps its
intents and keeps what was perceived, but which belongs to which is random. The expected share is exact. The p-value
is one-sided, from 1,999 such reassignments (up to 2,000 stimuli), else from the normal distribution with their exact
variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionPlane
from heartfelt.analysis.findings.parts import (
    ALL,
    ChanceTest,
    ConfusionTable,
    Overlap,
    QuadrantEllipse,
    QuadrantMeans,
    QuadrantResults,
)
from heartfelt.analysis.systems.means import Scores
from heartfelt.analysis.systems.two_way import Bools, Matrix, Stimuli, estimate, mean_changes, stimuli_of
from heartfelt.stats.columns.triples import Floats, Ints, code
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.geometry import Ellipse, ellipse, overlap
from heartfelt.streams import stream

MIDLINE = "on a midline"
HIT = "share of stimuli whose mean ratings lie in the intended quadrant"
DRAWS = 1999
MOST_DRAWN = 2000
METHOD = "intents reassigned at random within systems"


def quadrants(material: AnalysisData, scores: Scores, seed: int) -> QuadrantResults | None:
    """Deviation by quadrant, the confusion of intended with perceived quadrants, and the hit rate."""
    plane = material.plane
    if isinstance(plane, str):
        return None
    landed = _landed(material, plane, seed)
    everything, of_system = np.ones(landed.intended.size, dtype=np.bool_), landed.of_system()
    rows = _by_quadrant(scores, plane)
    return QuadrantResults(
        names=plane.names,
        axes=plane.axes,
        midpoints=plane.midpoints,
        of_intent=plane.of_intent,
        by_quadrant=tuple(row for row in rows if row.system == ALL),
        by_system_quadrant=tuple(row for row in rows if row.system != ALL),
        confusion=landed.confusion(),
        hit_rate=landed.hit_rate(everything),
        hit_rate_by_chance=landed.chance(everything),
        hit_rate_by_system={name: landed.hit_rate(chosen) for name, chosen in of_system.items()},
        hit_rate_by_system_by_chance={name: landed.chance(chosen) for name, chosen in of_system.items()},
        hit_rate_by_quadrant={
            name: landed.hit_rate(landed.intended == index) for index, name in enumerate(plane.names)
        },
    )


def _landed(material: AnalysisData, plane: QuestionPlane, seed: int) -> _Landed:
    items, by_id = _items(material, plane), {question.id: question for question in material.questions}
    axes = [by_id[name] for name in plane.axes]
    reason = axes[0].why_no_raters or axes[1].why_no_raters
    data = stimuli_of(items, [question.ratings for question in axes], ["x", "y"], reason)
    intended = np.array([plane.names.index(name) for name in items["quadrant"]], dtype=np.int64)
    return _Landed(plane, data, intended, items["system"], seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Landed:
    """Where stimuli were meant to be on the plane, as places among its quadrants, and where they were perceived."""

    plane: QuestionPlane
    data: Stimuli
    intended: Ints
    system: pl.Series
    seed: int

    @property
    def perceived(self) -> list[str]:
        """The quadrant of every stimulus's mean ratings, or the midline."""
        columns = (*self.plane.names, MIDLINE)
        return [columns[index] for index in _perceived(self.data.mean, self.plane)]

    def of_system(self) -> dict[str, Bools]:
        """The stimuli of each system."""
        names = [name for name in self.system.drop_nulls().unique().sort() if name]
        return {name: (self.system == name).fill_null(False).to_numpy() for name in names}

    def confusion(self) -> ConfusionTable:
        """Intended against perceived."""
        names = self.plane.names
        pairs = [(names[a], b) for a, b in zip(self.intended, self.perceived, strict=True)]
        return confusion(names, (*names, MIDLINE), pairs)

    def hit_rate(self, chosen: Bools) -> Estimate:
        """The share of the chosen stimuli that are perceived as intended."""

        def hits(mean: Matrix, at: Ints) -> Floats:
            return np.asarray(_perceived(mean, self.plane) == self.intended[at], dtype=np.float64)

        return estimate(mean_changes(self.data, chosen, hits), HIT, "share")

    def chance(self, chosen: Bools) -> ChanceTest | None:
        """Chance for the chosen stimuli."""
        at, perceived = np.flatnonzero(chosen).tolist(), self.perceived
        return chance_of_hits(
            [self.plane.names[self.intended[k]] for k in at],
            [None if perceived[k] == MIDLINE else perceived[k] for k in at],
            self.system.gather(at).to_list(),
            self.seed,
        )


def _by_quadrant(scores: Scores, plane: QuestionPlane) -> list[QuadrantMeans]:
    """Deviation and absolute deviation of every quadrant, over all systems and for each."""
    rows: list[QuadrantMeans] = []
    for question, score in scores.items():
        if not score.question.referenced:
            continue
        for name in plane.names:
            inside = score.where("quadrant", name)
            for system in [ALL, *score.question.systems]:
                chosen = inside if system == ALL else inside & score.where("system", system)
                rows.append(
                    QuadrantMeans(
                        quadrant=name,
                        system=system,
                        question=question,
                        n_stimuli=int(np.count_nonzero(chosen)),
                        deviation=score.estimate(chosen, "signed"),
                        absolute_deviation=score.estimate(chosen, "absolute"),
                    )
                )
    return rows


def _items(material: AnalysisData, plane: QuestionPlane) -> pl.DataFrame:
    """The stimuli that have a quadrant and a mean on both axes."""
    by_id = {question.id: question for question in material.questions}
    first, second = (by_id[name].items for name in plane.axes)
    with_quadrant = first.drop_nulls("quadrant").select(
        "item", "system", "intent", "quadrant", pl.col("mean").alias("x")
    )
    second_means = second.select("item", pl.col("mean").alias("y"))
    return with_quadrant.join(second_means, on="item", how="inner", maintain_order="left")


def _perceived(mean: Matrix, plane: QuestionPlane) -> Ints:
    """The place of each mean among the quadrants; one past the last for means on a midline."""
    x, y = (np.sign(np.round(mean[:, k] - plane.midpoints[k], 9)) for k in (0, 1))
    out = np.full(mean.shape[0], len(plane.names), dtype=np.int64)
    for index, name in enumerate(plane.names):
        side = plane.sides[name]
        out[(x == side[0]) & (y == side[1])] = index
    return out


def ellipses(
    material: AnalysisData, resamples: int, seed: int
) -> tuple[tuple[QuadrantEllipse, ...], tuple[Overlap, ...]] | None:
    """Ellipses of every system and quadrant, and their overlaps within a system."""
    plane = material.plane
    if isinstance(plane, str):
        return None
    items = _items(material, plane)
    drawn_ellipses: list[QuadrantEllipse] = []
    overlaps: list[Overlap] = []
    for system in sorted({name for name in items["system"].to_list() if name}) or [ALL]:
        of_system = items if system == ALL else items.filter(items["system"] == system)
        clouds = {}
        for name in plane.names:
            cloud = of_system.filter(of_system["quadrant"] == name)
            clouds[name] = (cloud["x"].to_numpy(), cloud["y"].to_numpy())
            drawn_ellipses.append(_ellipse(system, name, ellipse(*clouds[name])))
        overlaps += [
            Overlap(system, a, b, overlap(clouds[a], clouds[b], resamples=resamples, seed=seed))
            for a, b in combinations(plane.names, 2)
        ]
    return tuple(drawn_ellipses), tuple(overlaps)


def _ellipse(system: str, quadrant: str, shape: Ellipse) -> QuadrantEllipse:
    return QuadrantEllipse(
        system=system,
        quadrant=quadrant,
        centre=shape.centre if shape.points else None,
        semi_axes=None if shape.is_missing else shape.semi_axes,
        angle=None if shape.is_missing else shape.angle,
        area=shape.area,
        confidence=shape.confidence,
        n_points=shape.points,
        n_left_out=shape.left_out,
        why_missing=shape.why_missing,
    )


def confusion(rows: Sequence[str], columns: Sequence[str], pairs: Sequence[tuple[str, str]]) -> ConfusionTable:
    """How many stimuli of each intended name (rows) were perceived as which (columns)."""
    counts = [[0] * len(columns) for _ in rows]
    row_of, column_of = ({name: at for at, name in enumerate(names)} for names in (rows, columns))
    for intended, perceived in pairs:
        counts[row_of[intended]][column_of[perceived]] += 1
    return ConfusionTable(
        labels=tuple(columns),
        rows=tuple(rows),
        columns=tuple(columns),
        counts=tuple(map(tuple, counts)),
        proportions=tuple(tuple(n / sum(row) if sum(row) else None for n in row) for row in counts),
    )


def chance_of_hits(
    intended: Sequence[str], perceived: Sequence[str | None], system: Sequence[str | None], seed: int
) -> ChanceTest | None:
    """Chance for stimuli with these intended and perceived names; None where there are no stimuli."""
    if not intended:
        return None
    a, b, size = _coded(intended, perceived)
    group = code([name or "" for name in system]).codes
    expected, variance = _moments(a, b, group, size)
    hits = int(np.count_nonzero(a == b))
    share = expected / a.size
    if variance <= 1e-12:
        return ChanceTest(share, None, METHOD, "every reassignment of the intents gives the same number of hits")
    if a.size > MOST_DRAWN:
        from scipy.special import ndtr

        return ChanceTest(share, float(ndtr(-(hits - 0.5 - expected) / math.sqrt(variance))), f"{METHOD}, normal")
    as_many = int(np.count_nonzero(_hits_of_draws(a, b, group, seed) >= hits))
    return ChanceTest(share, (1 + as_many) / (1 + DRAWS), METHOD)


def _coded(intended: Sequence[str], perceived: Sequence[str | None]) -> tuple[Ints, Ints, int]:
    """Codes of both, -1 for what is perceived as nothing, and how many codes there are."""
    every = dict.fromkeys([*intended, *(name or "" for name in perceived)])
    names = {name: index for index, name in enumerate(every)}
    a = np.array([names[name] for name in intended], np.int64)
    b = np.array([names[name] if name else -1 for name in perceived], np.int64)
    return a, b, len(names)


def _hits_of_draws(a: Ints, b: Ints, group: Ints, seed: int) -> Ints:
    """The number of hits in each random reassignment of the intents within groups."""
    rng = stream(seed, "analysis", "chance of hits")
    counted = np.zeros(DRAWS, np.int64)
    for group_index in range(int(group.max()) + 1):
        members = np.flatnonzero(group == group_index)
        permuted = rng.permuted(np.broadcast_to(a[members], (DRAWS, members.size)), axis=1)
        counted += np.count_nonzero(permuted == b[members], axis=1)
    return counted


def _moments(a: Ints, b: Ints, group: Ints, size: int) -> tuple[float, float]:
    """Mean and variance of the hits over all reassignments (Hoeffding 1951)."""
    mean, variance = 0.0, 0.0
    for group_index in range(int(group.max()) + 1):
        in_group = group == group_index
        n = int(np.count_nonzero(in_group))
        intended_counts = np.bincount(a[in_group], minlength=size).astype(np.float64)
        perceived_counts = np.bincount(b[in_group][b[in_group] >= 0], minlength=size).astype(np.float64)
        both = float(intended_counts @ perceived_counts)
        mean += both / n
        if n > 1:
            with_none = np.append(perceived_counts, n - perceived_counts.sum())
            deviations = (
                np.eye(size, size + 1)
                - (perceived_counts / n)[:, None]
                - np.append(intended_counts, 0.0) / n
                + both / n**2
            )
            variance += float(intended_counts @ deviations**2 @ with_none) / (n - 1)
    return mean, variance
