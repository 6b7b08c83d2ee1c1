"""Small inputs go without compiled loops: the two ways give the same numbers, and small studies load no compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest

import heartfelt
from heartfelt import stats
from heartfelt.media.images.duplicates import duplicate_groups
from heartfelt.screening.permutations import change as _change
from heartfelt.screening.permutations import change_kernels as _kernels_change
from heartfelt.screening.permutations import dependence
from heartfelt.screening.permutations.dependence_kernels import count_as_strong
from heartfelt.screening.sequences import alignment as _alignment
from heartfelt.screening.sequences import alignment_kernels as _kernels_alignment
from heartfelt.stats.aggregate import _kernels_aggregate
from heartfelt.stats.agreement.kernels import _kernels_agreement, _kernels_resampling
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled import _kernels_leaving_out, _kernels_reliability
from heartfelt.stats.compiled import kernel as _compiled
from heartfelt.stats.compiled._kernels_resample import below
from heartfelt.stats.compiled.kernel import SMALL, Kernel, compiled
from heartfelt.stats.compiled.shuffles import numbers_below, successive_shuffles
from heartfelt.stats.reliability.halves import split_at_once, split_compiled
from heartfelt.stats.reliability.reml import inverse_by_rows

SOURCE = "the compiled loop, called directly"
HOW = (6, 3.0, 0.7)


def kernel(function: Callable[..., Any]) -> Kernel:
    assert isinstance(function, Kernel)
    return function


def sequence(rng: np.random.Generator, trials: int) -> Floats:
    values = rng.normal(size=(trials, 2))
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def ratings(seed: int, items: int = 12, raters: int = 7) -> tuple[Ints, Ints, Floats]:
    """Ratings sorted by item, some items with one rating: item, rater and value."""
    rng = np.random.default_rng(seed)
    pairs = [(i, r) for i in range(items) for r in rng.permutation(raters)[: 1 + i % raters]]
    item, rater = np.array(pairs).T
    return item, rater, rng.integers(1, 8, item.size).astype(np.float64) + 0.1 * item


def grouped(seed: int) -> tuple[Ints, Ints, Ints, Floats]:
    item, rater, value = ratings(seed)
    starts, _ = _kernels_reliability.group(item, 12)
    return starts, item, rater, value


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small calls are interpreted, however many there were in earlier tests."""
    monkeypatch.setattr(_compiled, "ALWAYS", False)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("heartfelt."):
            for part in list(vars(module).values()):
                if isinstance(part, Kernel):
                    monkeypatch.setattr(part, "_interpreted_so_far", 0)


def test_a_loop_that_is_called_again_and_again_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    @compiled(interpret_below=10, interpret_in_all=20)
    def total(values: Any) -> Any:
        out = np.uint8(250)
        for value in values:
            out += np.uint8(value)
        return out

    nine = np.full(9, 1, np.uint8)
    assert [total(nine) for _ in range(5)] == [3, 3, 3, 259, 259], "interpreted until 20 numbers are reached"

    @compiled(interpret_below=10)
    def other(values: Any) -> Any:
        return np.uint8(255) + np.uint8(values.size)

    monkeypatch.setattr(_compiled, "ALWAYS", True)
    assert other(nine) == 264


def test_a_kernel_is_interpreted_below_its_limit_and_compiled_from_there() -> None:
    @compiled(interpret_below=10)
    def total(values: Any) -> Any:
        out = np.uint8(250)
        for value in values:
            out += np.uint8(value)
        return out

    # Compiled code widens bytes; what both forms are given to do is chosen here so that they can be told apart.
    assert total(np.full(9, 1, np.uint8)) == np.uint8(3)
    assert total(np.full(10, 1, np.uint8)) == 260
    assert kernel(total).interpreted(np.full(10, 1, np.uint8)) == np.uint8(4)


def test_arrays_inside_tuples_count() -> None:
    @compiled(interpret_below=10)
    def sizes(pair: Any) -> Any:
        out = np.uint8(255)
        out += np.uint8(len(pair))
        return out

    assert sizes((np.zeros(4), np.zeros(5))) == 1
    assert sizes((np.zeros(5), np.zeros(5))) == 257


def test_shuffles_of_all_draws_at_once_are_those_drawn_one_by_one() -> None:
    state, order, ends = np.uint64(12345), np.arange(9), np.arange(8, 0, -1)
    expected = []
    for _ in range(40):
        for i in ends.tolist():
            state, j = below(np.uint64(state), i + 1)
            order[i], order[j] = order[j], order[i]
        expected.append(order.copy())
    drawn = numbers_below(12345, 40, ends + 1)
    assert np.array_equal(successive_shuffles(9, ends, drawn), expected)


@pytest.mark.slow
@pytest.mark.parametrize("strata", [1, 3])
@pytest.mark.parametrize("cross", [True, False])
def test_shuffled_strength(strata: int, cross: bool) -> None:
    rng = np.random.default_rng(strata)
    y, x = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    stratum = rng.integers(0, strata, 20)
    order = np.argsort(stratum, kind="stable")
    start = np.searchsorted(stratum[order], stratum[order])
    arguments = (y, x, order, start, cross, 400, 99)
    counted = dependence.count_as_strong_at_once(*arguments)
    assert 0 < counted < 400
    assert counted == count_as_strong(*arguments)


@pytest.mark.slow
def test_alignments() -> None:
    rng = np.random.default_rng(4)
    sizes = np.array([30, 25, 13, 28])
    edges = np.concatenate([[0], np.cumsum(sizes)])
    values, stimulus = sequence(rng, edges[-1]), rng.integers(0, 40, edges[-1])
    values[edges[1] : edges[2]] = values[: sizes[1]] + 0.1
    covariance = np.array([np.cov(rng.normal(size=(2, 9))) for _ in sizes])
    covariance[3] = 0.0
    first, second = np.triu_indices(4, 1)
    listed = (values, stimulus, edges, covariance, first, second, HOW)
    scores = _kernels_alignment.score_pairs(*listed)
    assert scores.max() > 10.0
    np.testing.assert_allclose(_alignment.score_pairs(*listed), scores, rtol=1e-12)
    a, b, sa, sb = values[:30], values[30:55], stimulus[:30], stimulus[30:55]
    assert _alignment.align(a, b, sa, sb, HOW, 0.8) == pytest.approx(
        _kernels_alignment.align(a, b, sa, sb, HOW, 0.8), rel=1e-12
    )
    drawn = (a, b, sa, HOW, 0.8, 5, 60, 3)
    np.testing.assert_allclose(
        _alignment.surrogate_scores(*drawn), _kernels_alignment.surrogate_scores(*drawn), rtol=1e-12
    )
    turned = (a, b, sa, (2, 3.0, 0.7), 0.8)
    assert _alignment.best_elsewhere(*turned) == pytest.approx(_kernels_alignment.best_elsewhere(*turned), rel=1e-12)
    assert np.array_equal(_alignment.path(a, b, sa, sb, HOW, 0.8), _kernels_alignment.path(a, b, sa, sb, HOW, 0.8))


@pytest.mark.slow
@pytest.mark.parametrize("follows", [0, 12, 24])
def test_chance_of_a_change(follows: int) -> None:
    rng = np.random.default_rng(follows)
    x = rng.normal(size=(24, 2))
    y = rng.normal(size=(24, 2))
    y[:follows] += 2.0 * x[:follows]
    seen = (rng.random((24, 2)) < 0.9).astype(np.float64)
    x, y = x * seen, y * seen
    units = np.stack([seen, y, x, y * y, x * x, x * y], axis=-1)
    how = (np.arange(8, 17), np.array([0.01, 0.02]), 7.0)
    ratios = _kernels_change.evidence_by_place(units, units.sum(0), np.arange(24), *how)
    np.testing.assert_allclose(_change.evidence_by_place(units[None], *how)[0], ratios, atol=1e-11)
    chances = [module.change_chance(units, *how, 10, 700, 8) for module in (_change, _kernels_change)]
    assert chances[0] == pytest.approx(chances[1], rel=1e-12)


@pytest.mark.slow
def test_split_halves() -> None:
    starts, _, rater, value = grouped(5)

    def sums(split: Callable[..., float | None]) -> list[Floats]:
        out = [np.zeros(12), np.zeros(7), np.zeros(value.size)]
        total = split(starts, rater, value, np.random.default_rng(6), 50, *out)
        assert total is not None
        return [np.array([total]), *out]

    for small, large in zip(sums(split_at_once), sums(split_compiled), strict=True):
        np.testing.assert_allclose(small, large, rtol=1e-12, atol=1e-12)
    constant = np.ones(value.size)
    nothing = [np.zeros(12), np.zeros(7), np.zeros(value.size)]
    assert split_at_once(starts, rater, constant, np.random.default_rng(6), 2, *nothing) is None
    assert split_compiled(starts, rater, constant, np.random.default_rng(6), 2, *nothing) is None


def test_inverse_by_rows() -> None:
    rows = np.random.default_rng(7).normal(size=(30, 12))
    matrix: Floats = rows.T @ rows
    chol = np.linalg.cholesky(matrix).astype(np.float64)
    inverse: Any = np.linalg.inv(matrix)
    np.testing.assert_allclose(inverse_by_rows(chol), inverse, rtol=1e-10)
    np.testing.assert_allclose(
        np.tril(inverse_by_rows(chol)), np.tril(_kernels_reliability.inverse_of_factor(chol)), atol=1e-13
    )


def interpretable() -> dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]]:
    """Loops that run interpreted on small inputs, and arguments made anew for each call (some are written to)."""
    starts, item, rater, value = grouped(8)
    codes, one = np.stack([rater, 7 + item % 3], axis=1), np.ones((item.size, 1))
    zeros = np.zeros_like
    sums = np.stack([np.bincount(item), np.bincount(item, value)], axis=1).astype(np.float64)
    of_raters = np.stack([np.bincount(rater), np.bincount(rater, value)], axis=1).astype(np.float64)
    leaving = (item, rater, value, np.arange(12), sums, of_raters, sums, np.linspace(5.0, 50.0, 10))
    by_rater = np.argsort(rater, kind="stable")
    rater_starts = np.searchsorted(rater[by_rater], np.arange(8))
    lists = _kernels_reliability.level_lists(starts, codes, one, 10)
    factor = np.linspace(0.1, 0.6, 12)
    return {
        "group": (_kernels_reliability.group, lambda: (rater, 7)),
        "repeated_pairs": (_kernels_reliability.repeated_pairs, lambda: (starts, np.arange(item.size), rater, 7)),
        "level_lists": (_kernels_reliability.level_lists, lambda: (starts, codes, one, 10)),
        "pairs_add": (_kernels_reliability.pairs_add, lambda: (*lists, factor, np.zeros((11, 11)))),
        "add_ones": (_kernels_reliability.add_ones, lambda: (np.sort(codes, 1)[:, ::-1].copy(), np.zeros((11, 11)))),
        "gather": (_kernels_reliability.gather, lambda: (codes, value, 11)),
        "group_sums": (_kernels_reliability.group_sums, lambda: (starts, value)),
        "shrink": (_kernels_reliability.shrink, lambda: (starts, value, factor)),
        "fitted": (_kernels_reliability.fitted, lambda: (codes, np.linspace(0.0, 1.0, 11))),
        "spread": (_kernels_reliability.spread, lambda: (starts, factor)),
        "without_ratings": (_kernels_leaving_out.without_ratings, lambda: (leaving, 0, item.size)),
        "without_groups": (_kernels_leaving_out.without_groups, lambda: (rater_starts, by_rater, True, leaving)),
        "agreement group": (_kernels_agreement.group, lambda: (item, 12, rater.astype(np.int32), value)),
        "grouped_duplicate": (_kernels_agreement.grouped_duplicate, lambda: (starts, rater, 7)),
        "participants": (_kernels_agreement.participants, lambda: (starts, rater, 7, 2)),
        "add_scores": (
            _kernels_agreement.add_scores,
            lambda: (starts, rater, value, zeros(value), zeros(value), np.zeros((7, 4))),
        ),
        "add_categories": (_kernels_agreement.add_categories, lambda: (starts, rater, 7, zeros(value), zeros(value))),
        "taken": (_kernels_agreement.votes_leaving, lambda: (starts, rater, rater)),
        "totals": (_kernels_resampling.totals, lambda: (starts, value, value + 1.0)),
        "deletions": (_kernels_resampling.deletions, lambda: (starts, rater, value, 30.0 * value, np.ones((7, 4)), -1)),
        "plurality": (_kernels_aggregate.plurality, lambda: (starts, rater, 7)),
    }


INTERPRETABLE = interpretable()


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERPRETABLE)
def test_interpreted_and_compiled_loops_give_the_same_numbers(name: str) -> None:
    function, arguments = INTERPRETABLE[name]
    assert kernel(function).interpret_below >= SMALL
    results = []
    for call in (kernel(function).interpreted, kernel(function).compiled):
        given = arguments()
        results.append([call(*given), *(part for part in given if isinstance(part, np.ndarray))])
    for interpreted, machine in zip(*results, strict=True):
        _same(interpreted, machine)


def _same(first: Any, second: Any) -> None:
    if isinstance(first, tuple):
        for left, right in zip(first, second, strict=True):
            _same(left, right)
    elif first is not None:
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


def small_votes() -> tuple[Ints, Ints, Ints]:
    rng = np.random.default_rng(11)
    pairs = [(r, i) for i in range(14) for r in rng.permutation(6)[: 2 + i % 5]]
    rater, item = np.array(pairs).T
    return rater, item, rng.integers(0, 3, item.size)


def small_comparisons() -> tuple[Ints, Ints, Floats]:
    rng = np.random.default_rng(12)
    first, second = rng.integers(0, 4, (2, 60))
    second = np.where(first == second, (second + 1) % 4, second)
    return first, second, rng.choice([0.0, 0.5, 1.0], 60)


def studies() -> dict[str, Callable[[], Any]]:
    """Functions of the library on small inputs, which between them run the loops not compared above."""
    rater, item, vote = small_votes()
    number = vote + 0.5 * item
    sets = [frozenset({int(v), int(v + i) % 4}) for v, i in zip(vote, item, strict=True)]
    first, second, won = small_comparisons()
    rng = np.random.default_rng(13)
    hashes = list(rng.integers(0, 256, (12, 32), dtype=np.uint8))
    return {
        "pairs": lambda: stats.cohen_kappa(rater, item, vote),
        "balanced": lambda: stats.pairwise_balanced_accuracy(rater, item, vote),
        "fleiss": lambda: stats.fleiss_kappa(rater, item, vote),
        "gwet": lambda: stats.gwet_ac1(rater, item, vote),
        "majority": lambda: stats.leave_one_out(rater, item, vote),
        "exact": lambda: stats.exact_agreement(rater, item, vote),
        "nominal": lambda: stats.alpha(rater, item, vote, level="nominal"),
        "sets": lambda: stats.alpha(rater, item, sets, level="jaccard"),
        "mode": lambda: stats.mode(rater, item, vote),
        "p910": lambda: stats.p910(rater, item, number),
        "bt500": lambda: stats.bt500(rater, item, number),
        "ties": lambda: stats.davidson(None, first, second, won),
        "strengths": lambda: stats.bradley_terry(None, first, second, np.ceil(won)),
        "duplicates": lambda: duplicate_groups([*hashes, hashes[3] ^ np.uint8(1)]),
    }


CASES = studies()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_small_studies_get_the_numbers_of_compiled_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreted = CASES[name]()
    monkeypatch.setattr(Kernel, "__call__", lambda self, *given: self.compiled(*given))
    _same_content(interpreted, CASES[name]())


def _same_content(first: Any, second: Any) -> None:
    if is_dataclass(first):
        for part in fields(first):
            _same_content(getattr(first, part.name), getattr(second, part.name))
    elif isinstance(first, float | np.ndarray) and np.asarray(first).dtype.kind == "f":
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)
    elif isinstance(first, tuple | list):
        for left, right in zip(first, second, strict=True):
            _same_content(left, right)
    elif isinstance(first, np.ndarray):
        assert np.array_equal(first, second)


def test_every_loop_that_may_be_interpreted_is_compared_here(monkeypatch: pytest.MonkeyPatch) -> None:
    used = {kernel(function) for function, _ in INTERPRETABLE.values()}
    usual = Kernel.interpreted

    def noted(self: Kernel, *given: Any) -> Any:
        used.add(self)
        return usual(self, *given)

    monkeypatch.setattr(Kernel, "interpreted", noted)
    for case in CASES.values():
        case()
    modules = [name for _, name, _ in walk_packages(heartfelt.__path__, "heartfelt.") if "._kernels_" in name]
    named = {
        part
        for module in modules
        for part in vars(import_module(module)).values()
        if isinstance(part, Kernel) and part.interpret_below
    }
    assert len(named) > 30
    assert sorted(part.__name__ for part in named - used) == []


CODE = """
import sys
from heartfelt.analysis import analyze
from heartfelt.simulate import DesignOptions, stimuli, study_ratings
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
study = parse_study(
    "name: t\\nscales:\\n  nine: {type: points, points: 9}\\nquestions:\\n"
    "  - {id: valence, text: V, scale: nine}\\n  - {id: arousal, text: A, scale: nine}\\n"
)
clips = stimuli(per_cell=1)
rated = study_ratings(clips, 24, design=DesignOptions(per_rater=24), seed=5).ratings
made = analyze(Snapshot.build(study, stimuli=clips.select("stimulus", "system", "intent"), ratings=rated))
assert made.summary.reliability
print("numba" in sys.modules)
"""


@pytest.mark.slow
def test_a_small_study_is_analysed_without_the_compiler() -> None:
    variables = {name: value for name, value in os.environ.items() if name != "HEARTFELT_COMPILE"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.split() == ["False"]
