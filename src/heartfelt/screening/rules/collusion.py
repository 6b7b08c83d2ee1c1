"""Collusion: pairs of raters whose answers run in parallel, position by position, although they were played different stimuli.

*Score.* Two sequences are aligned locally within a band of offsets, allowing for lost trials at a price; the score is
in nats (``heartfelt.screening.sequences.alignment_kernels``). Under independence the chance of a score falls off exponentially
(Karlin and Altschul 1990; Smith and Waterman 1981 for the alignment).

*Null.* Either sequence is cut into short blocks that are shuffled and run backwards: this keeps a rater's values,
their autocorrelation and the relation between the questions, and destroys any longer stretch. A Gumbel distribution
is fitted to the surrogates' scores by moments, its spread taken two standard errors wider than estimated, and with a
tail never steeper than 0.85 a nat (1 is exact for likelihood ratios without gaps). So no score below
``log(pairs / level) / 0.85`` can be significant, and only the few pairs above it need surrogates. A rater whose answers
do not reach that score even against an exact copy of themselves is not judged: so few answers agree by chance too often.

*Family.* Bonferroni over all pairs of raters long enough. A pair that is joined costs two raters and reads as an accusation,
and its p-value lies beyond what surrogates can show, so the level is ``STRICTER`` times ``alpha``: the chance that any two
independent raters are joined is at most 0.01 where ``alpha`` is 0.05. A pair must further hold (a) when what the stimuli
predict is removed from both sequences (p < 0.05), and (b) at its own place: sequences of a regular pattern match as well
when rotated, copies do not. Where raters met similar stimuli in a similar order, careful raters run in parallel too; then
the residual sequences are compared in the first place. Pairs are examined from the highest score down; one that would join
raters already in a group is passed over.

Raters joined by a pair, directly or through others, share a group. Whether answers were copied, entered twice or logged
under the wrong stimuli, the numbers cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from heartfelt.screening.rule import Reasons, RuleOptions, RuleVerdicts, evidence_of
from heartfelt.screening.sequences.comparable import LEAST_TRIALS, Sequences, candidate_pairs, comparable_sequences
from heartfelt.screening.view.ratings import Bools, RatingsView, remembered
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.streams import derived_seed
from heartfelt.wording import listed, number, p_value

EULER = 0.5772156649015329
GUMBEL_KURTOSIS = 5.4
STEEPEST = 0.85
STRICTER = 0.2
CONFIRM = 0.05
ELSEWHERE = 0.6
MOST_EXAMINED = 20
NEARLY_IDENTICAL = 0.9
"""The share of equal answers from which two sequences are called nearly identical."""

COULD_BE_CHANCE = "even an exact copy of so few answers could be chance among so many raters"

PAIR_COLUMNS = {
    "rater": pl.String,
    "other": pl.String,
    "score": pl.Float64,
    "needed": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "p_residual": pl.Float64,
    "elsewhere": pl.Float64,
    "trials": pl.Int64,
    "correlation": pl.Float64,
    "equal": pl.Float64,
    "expected_equal": pl.Float64,
    "first_offset": pl.Int64,
    "last_offset": pl.Int64,
    "copies": pl.Boolean,
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ParallelPairs:
    """The result of comparing all pairs. ``best[i]`` is the highest score of ``rater[i]`` with anybody, ``copy[i]`` the score
    of an exact copy of their answers.
    """

    rater: Ints
    trials: Ints
    best: Floats
    copy: Floats
    pairs: int
    compared: int
    floor: float
    table: pl.DataFrame
    groups: tuple[tuple[str, ...], ...]
    unexamined: int


@remembered
def parallel_pairs(view: RatingsView, options: RuleOptions) -> ParallelPairs | str:
    """Compare the raters' sequences, or say why that is not possible. The options are complete."""
    sequences = comparable_sequences(view)
    if isinstance(sequences, str):
        return sequences
    size = sequences.rater.size
    pairs = size * (size - 1) // 2
    comparison = _Comparison(view, sequences, pairs, options)
    floor = float(np.log(pairs / comparison.level) / STEEPEST)
    first, second = candidate_pairs(sequences, comparison.how[0])
    values = sequences.residual if sequences.shared_order else sequences.raw
    scores = comparison.alignment.score_pairs(
        values, sequences.stimulus, sequences.edges, sequences.covariance, first, second, comparison.how
    )
    best = np.zeros(size)
    np.maximum.at(best, first, scores)
    np.maximum.at(best, second, scores)
    # No tail is steeper than STEEPEST: a score below the floor cannot be significant, whatever its surrogates.
    above = np.flatnonzero(scores > floor)
    above = above[np.argsort(-scores[above], kind="stable")]
    examined = above[: MOST_EXAMINED * size]
    rows, group = [], np.arange(size)
    for i, j in zip(first[examined].tolist(), second[examined].tolist(), strict=True):
        if group[i] == group[j]:
            continue
        rows.append(comparison.examine(i, j))
        if rows[-1]["copies"]:
            group[group == group[i]] = group[j]
    table = pl.DataFrame(rows, schema=PAIR_COLUMNS, orient="row").sort("p_adjusted", "rater", "other")
    together = [np.flatnonzero(group == g) for g in np.unique(group)]
    named = [tuple(sorted(view.raters[sequences.rater[i]] for i in group)) for group in together if group.size > 1]
    ordered = tuple(sorted(named, key=lambda names: (-len(names), names)))
    unexamined = above.size - examined.size
    return ParallelPairs(
        rater=sequences.rater,
        trials=np.diff(sequences.edges),
        best=best,
        copy=comparison.exact_copies(values),
        pairs=pairs,
        compared=int(first.size),
        floor=floor,
        table=table,
        groups=ordered,
        unexamined=unexamined,
    )


class _Comparison:
    """What the examination of every pair shares. ``how`` is what the compiled loops take: band, gap and rho."""

    def __init__(self, view: RatingsView, sequences: Sequences, pairs: int, options: RuleOptions) -> None:
        self.view, self.sequences, self.pairs, self.options = view, sequences, pairs, options
        self.how = (int(options.number("band")), options.number("gap"), options.number("rho"))
        self.level = STRICTER * options.alpha
        # Compiling takes longer than NumPy needs for a small panel; numbers agree to rounding.
        module = (
            "heartfelt.screening.sequences.alignment"
            if view.is_small
            else "heartfelt.screening.sequences.alignment_kernels"
        )
        self.alignment: Any = import_module(module)

    def exact_copies(self, values: Floats) -> Floats:
        """The score of each rater's answers against an exact copy of them about other stimuli."""
        sequences, rho = self.sequences, self.how[2]
        by_trial = np.where(np.isnan(values), 0.0, rho / (1.0 + rho) * values**2 - 0.5 * np.log1p(-rho * rho))
        total = np.add.reduceat(by_trial.sum(axis=1), sequences.edges[:-1])
        weight = [float(self.alignment.pair_weight(covariance, covariance)) for covariance in sequences.covariance]
        return np.asarray(total * weight)

    def examine(self, i: int, j: int) -> dict[str, object]:
        sequences = self.sequences
        weight = float(self.alignment.pair_weight(sequences.covariance[i], sequences.covariance[j]))
        score, centre, steep = self._calibrate(i, j, sequences.shared_order, weight)
        p = p_residual = _tail(score, centre, steep)
        if not sequences.shared_order:
            p_residual = _tail(*self._calibrate(i, j, True, weight))
        a, b = sequences.of(i, sequences.shared_order), sequences.of(j, sequences.shared_order)
        elsewhere = float(self.alignment.best_elsewhere(a, b, sequences.stimuli_of(i), self.how, weight)) / score
        adjusted = min(1.0, p * self.pairs)
        return {
            "rater": self._name(i),
            "other": self._name(j),
            "score": score,
            "needed": centre + (float(-np.log(-np.log1p(-self.level / self.pairs))) - EULER) / steep,
            "p": p,
            "p_adjusted": adjusted,
            "p_residual": p_residual,
            "elsewhere": elsewhere,
            **self._describe(i, j, weight),
            "copies": adjusted < self.level and p_residual < CONFIRM and elsewhere < ELSEWHERE,
        }

    def _name(self, index: int) -> str:
        return self.view.raters[int(self.sequences.rater[index])]

    def _calibrate(self, i: int, j: int, residual: bool, weight: float) -> tuple[float, float, float]:
        """The pair's score, and mean and steepness of the Gumbel fitted to its surrogates."""
        a, b = self.sequences.of(i, residual), self.sequences.of(j, residual)
        sa, sb = self.sequences.stimuli_of(i), self.sequences.stimuli_of(j)
        block, draws = int(self.options.number("block")), int(self.options.number("draws"))

        def surrogates(a: Floats, b: Floats, sa: Ints, way: str) -> Floats:
            # The seed names both raters, so that surrogates do not depend on which other pairs are examined.
            names = (self._name(i), self._name(j))
            seed = derived_seed(self.options.seed, "panel", "collusion", *names, way)
            scores: Floats = self.alignment.surrogate_scores(a, b, sa, self.how, weight, block, draws, seed)
            return scores

        null = np.concatenate([surrogates(a, b, sa, "second"), surrogates(b, a, sb, "first")])
        # Two standard errors on top: among many pairs, the one whose spread came out too small would stand out.
        spread = float(null.std()) * (1.0 + 2.0 * np.sqrt((GUMBEL_KURTOSIS - 1.0) / 4.0 / null.size))
        steep = min(STEEPEST, float(np.pi / (spread * np.sqrt(6)))) if spread > 0 else STEEPEST
        return float(self.alignment.align(a, b, sa, sb, self.how, weight)), float(null.mean()), steep

    def _describe(self, i: int, j: int, weight: float) -> dict[str, float]:
        """Positions aligned, correlation over them, share of equal answers, the share expected by chance, and offsets.

        By chance, any answer of one rater to a question may meet any answer of the other.
        """
        sequences = self.sequences
        a, b = sequences.of(i, sequences.shared_order), sequences.of(j, sequences.shared_order)
        steps = self.alignment.path(a, b, sequences.stimuli_of(i), sequences.stimuli_of(j), self.how, weight)[::-1]
        u, v = a[steps[:, 0]].ravel(), b[steps[:, 1]].ravel()
        both = np.isfinite(u) & np.isfinite(v)
        u, v = u[both] - u[both].mean(), v[both] - v[both].mean()
        scale = float(np.sqrt((u @ u) * (v @ v)))
        first_answers = sequences.answers[sequences.edges[i] + steps[:, 0]]
        second_answers = sequences.answers[sequences.edges[j] + steps[:, 1]]
        both_answered = np.isfinite(first_answers) & np.isfinite(second_answers)
        offsets = steps[:, 1] - steps[:, 0]
        return {
            "trials": len(steps),
            "correlation": float(u @ v) / scale if scale > 0 else 0.0,
            "equal": float((first_answers == second_answers)[both_answered].mean()),
            "expected_equal": equal_by_chance(first_answers, second_answers, both_answered),
            "first_offset": int(offsets[0]),
            "last_offset": int(offsets[-1]),
        }


def _tail(score: float, centre: float, steep: float) -> float:
    return float(-np.expm1(-np.exp(-(steep * (score - centre) + EULER))))


def equal_by_chance(first_answers: Floats, second_answers: Floats, both_answered: Bools) -> float:
    """The share of equal answers if the aligned answers of either rater came in any order, question by question."""
    total = 0.0
    for c in range(first_answers.shape[1]):
        a, b = first_answers[both_answered[:, c], c], second_answers[both_answered[:, c], c]
        if a.size:
            levels, times = np.unique(a, return_counts=True)
            total += sum(int(n) * int((b == v).sum()) for v, n in zip(levels, times, strict=True)) / a.size
    return total / max(int(both_answered.sum()), 1)


def judge_collusion(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    result = parallel_pairs(view, options)
    if isinstance(result, str):
        return result
    size = len(view.raters)
    best, needed, trials = np.full(size, np.nan), np.full(size, result.floor), np.zeros(size, dtype=np.int64)
    best[result.rater], trials[result.rater] = result.best, result.trials
    too_short = set(result.rater[result.copy <= result.floor].tolist())
    swapped = result.table.rename({"rater": "other", "other": "rater"}).select(result.table.columns)
    both = pl.concat([result.table, swapped]).sort("p_adjusted", descending=True)
    nearest = {row["rater"]: row for row in both.iter_rows(named=True)}
    p = np.full(size, np.nan)
    groups: list[str | None] = [None] * size
    partners: dict[int, list[str]] = {}
    group_number = {name: at for at, members in enumerate(result.groups, 1) for name in members}
    for rater, name in enumerate(view.raters):
        if name in nearest:
            row = nearest[name]
            best[rater], needed[rater], p[rater] = row["score"], row["needed"], row["p_adjusted"]
        if name in group_number:
            groups[rater] = f"copies-{group_number[name]}"
            partners[rater] = [member for member in result.groups[group_number[name] - 1] if member != name]
    flagged = np.array([group is not None for group in groups], dtype=bool)

    def words(rater: int) -> str:
        if not flagged[rater]:
            return "No other rater's answers run in parallel with these."
        return _sentence(partners[rater], nearest[view.raters[rater]])

    reasons: Reasons = [
        _why_not(view, rater)
        if not trials[rater]
        else COULD_BE_CHANCE
        if rater in too_short and not flagged[rater]
        else None
        for rater in range(size)
    ]
    weight = np.where(flagged, evidence_of(p), 0.0)
    return [
        RuleVerdicts(
            rater=None,
            n=trials,
            words=words,
            why=reasons,
            value=best,
            threshold=needed,
            p=p,
            flagged=flagged,
            evidence=weight,
            group=groups,
        )
    ]


def _why_not(view: RatingsView, rater: int) -> str:
    if not view.ordered[rater]:
        return "the order of presentation is not known"
    rows = slice(view.edges[rater], view.edges[rater + 1])
    trials = np.unique(view.trial[rows][view.first[rows]])
    return f"fewer than {LEAST_TRIALS} trials" if trials.size < LEAST_TRIALS else "the answers do not vary"


def _sentence(partners: list[str], pair: Mapping[str, Any]) -> str:
    moved = "" if pair["first_offset"] == pair["last_offset"] == 0 else ", with small shifts"
    near = " (nearly identical)" if pair["equal"] >= NEARLY_IDENTICAL else ""
    return (
        f"The answers run in parallel with those of {listed(partners)}{near}, about different stimuli: with {pair['other']} they"
        f" correlate {number(pair['correlation'], 2)} over {pair['trials']} positions{moved}, and the answers are equal in"
        f" {100 * pair['equal']:.0f}%, where {100 * pair['expected_equal']:.0f}% are expected by chance"
        f" ({p_value(pair['p_adjusted'])} over all pairs)."
    )
