"""Consistency of comparisons: circular triads, side bias, agreement with the others, and transitivity.

* **Circular triads** (Kendall and Babington Smith 1940): a over b, b over c, c over a. Of the triads a rater judged
  completely, guessing
  makes a quarter circular. The p-value of guessing is the share of random answers, drawn for the same pairs, with as few
  circular triads. ``zeta`` is 1 without any circular triad and 0 at the most there can be, where every pair was judged once.
* **Side bias**: the share of first choices among a rater's decided comparisons, against the share of all other raters, by an
  exact test (Fisher's).
* **Agreement with the others**: the share of a rater's decided comparisons that go the way of the strengths fitted
  without the rater.
* **Transitivity**: strengths put every pair on one line. The deviance of the saturated model (each pair its own probability) from
  Bradley and Terry's tests whether one line is enough; its distribution is simulated from the fitted strengths, since
  pairs are judged
  only a few times each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.stats._bounds import wilson
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_floats
from heartfelt.stats.comparison.pairs import (
    Cells,
    Comparisons,
    add_up,
    as_comparisons,
    check_choices,
    connection,
    judged_sets,
)
from heartfelt.stats.comparison.strengths.fit import StrengthProblem, fit
from heartfelt.stats.comparison.strengths.links import BRADLEY_TERRY
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

DRAWS = 2_000
TRIADS_AT_MOST = 2_000_000
"""Triads of one rater up to which they are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterConsistency:
    """What one rater's comparisons say about the rater."""

    rater: Any
    comparisons: int
    ties: int
    triads: int
    """Triads of contestants of which the rater decided all three pairs."""
    circular: int
    zeta: float | None
    """Kendall's coefficient, where the rater decided every pair of some contestants exactly once."""
    p_guessing: float | None
    """Probability of so few circular triads, or fewer, by guessing."""
    first_share: float | None
    """Share of first choices among decided comparisons; None where the order of presentation is not known."""
    p_side: float | None
    """Of the hypothesis that the rater prefers the first as often as the others do."""
    agreement: float | None
    """Share of decided comparisons in line with the others' strengths."""
    p_chance: float | None
    """Probability of so much agreement, or more, by guessing."""


def rater_consistency(
    rater: Ids, first: Ids, second: Ids, value: Values, *, ordered: bool = True, seed: int = 0
) -> list[RaterConsistency]:
    """The consistency of every rater; ``ordered`` says whether the first of two was presented first."""
    from heartfelt.stats.compiled._kernels_reliability import group

    data = as_comparisons(rater, first, second, value)
    check_choices(data.value)
    assert data.rater is not None  # a column of raters is required
    starts, order = group(data.rater, data.raters)
    decided = data.value != 0.5
    firsts = np.bincount(data.rater[decided], data.value[decided], minlength=data.raters)
    decisions = np.bincount(data.rater[decided], minlength=data.raters)
    out = []
    for number, strengths in enumerate(strengths_without_each(data)):
        rows = order[starts[number] : starts[number + 1]]
        decided_rows = rows[decided[rows]]
        triads, circular, p_guessing = circular_triads(data, decided_rows, seed + number)
        share = float(firsts[number] / decisions[number]) if ordered and decisions[number] else None
        agreement, p_chance = _with_others(data, strengths, decided_rows)
        out.append(
            RaterConsistency(
                rater=data.rater_names[number],
                comparisons=int(rows.size),
                ties=int(rows.size - decided_rows.size),
                triads=triads,
                circular=circular,
                zeta=zeta(data, decided_rows, circular),
                p_guessing=p_guessing,
                first_share=share,
                p_side=_side(firsts, decisions, number) if ordered else None,
                agreement=agreement,
                p_chance=p_chance,
            )
        )
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Triads:
    """The triads of contestants of which a rater decided all three pairs."""

    edges: Ints
    """For each triad i < j < k the numbers of its pairs (i, j), (j, k) and (i, k)."""
    pairs: int
    circular: int

    @property
    def count(self) -> int:
        return int(self.edges.shape[0])


def count_triads(data: Comparisons, rows: Ints) -> Triads | None:
    """A rater's complete triads and how many are circular; None where there may be more than ``TRIADS_AT_MOST``.

    A pair that was judged several times counts with its majority, and not at all without one.
    """
    size = len(data.names)
    low, high = (end(data.first[rows], data.second[rows]) for end in (np.minimum, np.maximum))
    lean = np.where(data.first[rows] == low, 1.0, -1.0) * (2.0 * data.value[rows] - 1.0)
    keys, pair = np.unique(low * size + high, return_inverse=True)
    lead = np.bincount(pair, lean, minlength=keys.size)
    keys, sign = keys[lead != 0], np.sign(lead[lead != 0])
    above: dict[int, dict[int, int]] = {}
    for number, key in enumerate(keys.tolist()):
        above.setdefault(key // size, {})[key % size] = number
    # A bound of the triads that costs no more than the pairs, before any is listed.
    least = sum(min(len(of), len(above.get(j, ()))) for of in above.values() for j in of)
    if least > TRIADS_AT_MOST:
        return None
    edges = [
        (number, above[j][k], of[k])
        for of in above.values()
        for j, number in of.items()
        if j in above
        for k in of.keys() & above[j].keys()
    ]
    index = np.array(edges, np.int64).reshape(-1, 3)
    return Triads(index, int(keys.size), int(_is_circular(sign, index).sum()))


def circular_triads(data: Comparisons, rows: Ints, seed: int) -> tuple[int, int, float | None]:
    """Complete triads, circular ones, and the probability of so few by guessing."""
    triads = count_triads(data, rows)
    if triads is None or not triads.count:
        return 0, 0, None
    rng = stream(seed, "comparison", "triads")
    guesses = rng.choice(np.array([-1, 1], np.int8), (DRAWS, triads.pairs))
    random = _is_circular(guesses, triads.edges).sum(axis=-1)
    return triads.count, triads.circular, float((1 + (random <= triads.circular).sum()) / (1 + DRAWS))


def _is_circular(sign: Any, edges: Ints) -> Any:
    """Whether i over j, j over k and k over i, or all three the other way round."""
    ij, jk, ik = (sign[..., edges[:, side]] for side in range(3))
    return (ij == jk) & (jk == -ik)


def zeta(data: Comparisons, rows: Ints, circular: int) -> float | None:
    """Kendall's coefficient of consistence, where every pair of the contestants met was decided exactly once."""
    size = np.unique(np.concatenate([data.first[rows], data.second[rows]])).size
    low, high = (np.minimum(data.first[rows], data.second[rows]), np.maximum(data.first[rows], data.second[rows]))
    once = np.unique(low * len(data.names) + high).size == rows.size
    if size < 3 or not once or rows.size != size * (size - 1) // 2:
        return None
    most = (size**3 - size) / 24 if size % 2 else (size**3 - 4 * size) / 24
    return 1.0 - circular / most


def _side(firsts: Any, decisions: Ints, number: int) -> float | None:
    """Fisher's exact test of a rater's share of first choices against the other raters'."""
    from scipy.stats import fisher_exact

    rater_firsts, all_own = int(firsts[number]), int(decisions[number])
    other_firsts, all_rest = int(firsts.sum()) - rater_firsts, int(decisions.sum()) - all_own
    if not all_own or not all_rest:
        return None
    return float(
        fisher_exact(np.array([[rater_firsts, all_own - rater_firsts], [other_firsts, all_rest - other_firsts]])).pvalue
    )


def strengths_without_each(data: Comparisons) -> Iterator[Floats | None]:
    """For each rater, the strengths of the contestants from everybody else, with a tie with an average contestant added to each;
    None where nobody else compared anything.
    """
    from heartfelt.stats.compiled._kernels_reliability import group

    assert data.rater is not None  # a column of raters is required
    size = len(data.names)
    swapped = data.first > data.second
    low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
    value = np.where(swapped, 1.0 - data.value, data.value)
    pairs, cell = np.unique(low * size + high, return_inverse=True)
    outcome = cell * 3 + np.where(value == 1.0, 0, np.where(value == 0.5, 1, 2))
    total = np.bincount(outcome, minlength=3 * pairs.size)
    starts, order = group(data.rater, data.raters)
    for number in range(data.raters):
        rater_counts = np.bincount(outcome[order[starts[number] : starts[number + 1]]], minlength=total.size)
        sums = (total - rater_counts).reshape(-1, 3).astype(np.float64)
        compared = sums.sum(axis=1) > 0
        if not compared.any():
            yield None
            continue
        cells = Cells(pairs[compared] // size, pairs[compared] % size, sums[compared])
        yield fit(StrengthProblem(cells=cells, link=BRADLEY_TERRY, size=size, penalty=1.0)).strengths


def _with_others(data: Comparisons, strengths: Floats | None, rater_rows: Ints) -> tuple[float | None, float | None]:
    """Share of decided comparisons in line with the strengths of the others, and how likely guessing gives as much."""
    from scipy.special import bdtrc

    if strengths is None or not rater_rows.size:
        return None, None
    difference = strengths[data.first[rater_rows]] - strengths[data.second[rater_rows]]
    decided = np.abs(difference) > 1e-9
    if not decided.any():
        return None, None
    agrees = int(((difference[decided] > 0) == (data.value[rater_rows][decided] == 1.0)).sum())
    total = int(decided.sum())
    return agrees / total, 1.0 if agrees == 0 else float(bdtrc(agrees - 1, total, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitivity:
    """The test whether one line of strengths describes all pairs."""

    deviance: float | None = None
    pairs: int
    df: int
    p_value: float | None = None
    why_missing: str | None = None


def transitivity(
    first: Ids, second: Ids, value: Values, *, rater: Ids | None = None, draws: int = 999, seed: int = 0
) -> Transitivity:
    """Test Bradley and Terry's model against one probability per pair, ties as half a win.

    With ``rater``, a rater's several answers to one pair are not independent: the deviance is divided by their design effect (Rao
    and Scott 1984).
    """
    from scipy.special import expit

    data = as_comparisons(rater, first, second, value)
    check_choices(data.value)
    size = len(data.names)
    cells = add_up(data) if data.size else None
    df = 0 if cells is None else cells.first.size - size + 1
    if cells is None or df < 1:
        reason = "there are no more pairs than a line of strengths fits exactly"
        pairs = 0 if cells is None else int(cells.first.size)
        return Transitivity(pairs=pairs, df=max(df, 0), why_missing=reason)
    won, lost = cells.sums[:, 0] + cells.sums[:, 1] / 2, cells.sums[:, 2] + cells.sums[:, 1] / 2
    if not connection(cells.first, cells.second, won, lost, data.names).complete:
        return Transitivity(pairs=cells.first.size, df=df, why_missing="some strengths have no finite estimate")
    problem = StrengthProblem(cells=cells, link=BRADLEY_TERRY, size=size)
    result = fit(problem)
    total = won + lost
    probability = expit(problem.differences(result.strengths, 0.0))
    observed = _deviance(won, total, probability)
    tested = observed / _design_effect(data)
    rng = stream(seed, "comparison", "transitivity")
    larger = 0
    for _ in range(draws):
        wins = rng.binomial(np.rint(total).astype(np.int64), probability).astype(np.float64)
        sums = np.column_stack([wins, np.zeros_like(wins), np.rint(total) - wins])
        again = replace(problem, cells=replace(cells, sums=sums), penalty=1e-6)
        fitted = expit(again.differences(fit(again).strengths, 0.0))
        larger += _deviance(wins, np.rint(total), fitted) >= tested - 1e-9
    return Transitivity(deviance=observed, pairs=int(cells.first.size), df=df, p_value=(1 + larger) / (1 + draws))


def _design_effect(data: Comparisons) -> float:
    """How much more the shares of pairs vary than independent answers would make them: 1 where nobody judged a pair twice."""
    if data.rater is None:
        return 1.0
    sets = judged_sets(data)
    clusters, cluster = np.unique(sets.codes * data.raters + data.rater, return_inverse=True)
    if clusters.size == data.size:
        return 1.0
    share = np.bincount(sets.codes, sets.value) / np.bincount(sets.codes)
    residual = np.bincount(cluster, sets.value - share[sets.codes])
    raters = np.bincount(clusters // data.raters)
    several = raters > 1
    variance = (
        np.bincount(clusters // data.raters, residual**2)[several] * (raters / np.maximum(raters - 1.0, 1.0))[several]
    )
    independent = np.bincount(sets.codes, share[sets.codes] * (1.0 - share[sets.codes]))[several]
    return max(float(variance.sum() / independent.sum()), 1.0) if independent.sum() > 0 else 1.0


def _deviance(won: Floats, total: Floats, probability: Floats) -> float:
    from scipy.special import rel_entr

    expected, missed = total * probability, total * (1 - probability)
    return 2.0 * float(np.sum(rel_entr(won, expected) + rel_entr(total - won, missed)))


def first_choices(value: Values, *, confidence: float = 0.95) -> Estimate:
    """Share of first choices among decided comparisons, with Wilson's interval."""
    values = as_floats(value)
    decided = values[np.isfinite(values) & (values != 0.5)]
    counts = {"comparisons": int(values.size), "decided": int(decided.size)}
    if not decided.size:
        return Estimate.missing("no comparison was decided", "share of first choices", counts)
    low, high = wilson(float((decided > 0.5).sum()), decided.size, confidence)
    share = float((decided > 0.5).mean())
    estimate = Estimate(value=share, method="share of first choices", counts=counts)
    return estimate.with_interval(low, high, "Wilson", confidence)
