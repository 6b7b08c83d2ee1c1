"""Dawid-Skene: the paper's own data, a calculation by hand, rising likelihood, planted truth."""

from __future__ import annotations

from math import log, prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.stats import aggregate

SOURCE = "Dawid & Skene (1979), table 1 (data) and table 2 (class shares); EM written out with plain loops"

# One string per patient: observer 1 three times, then observers 2 to 5.
TABLE = (
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111",
    "2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111",
    "2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432",
    "1111111 1111111 1212111 2322222 1211111 2222222",
)
PATIENTS = [patient for line in TABLE for patient in line.split()]


def anaesthetists() -> tuple[list[int], list[int], list[int]]:
    rows = [
        (max(1, column - 1), patient, int(answer))
        for patient, answers in enumerate(PATIENTS, 1)
        for column, answer in enumerate(answers)
    ]
    return [r for r, _, _ in rows], [p for _, p, _ in rows], [a for _, _, a in rows]


def em_by_loops(
    rater: list[int], item: list[int], answer: list[int], k: int, steps: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64], list[float]]:
    items, raters = sorted(set(item)), sorted(set(rater))
    counts = np.zeros((len(items), len(raters), k))
    for r, i, a in zip(rater, item, answer, strict=True):
        counts[items.index(i), raters.index(r), a - 1] += 1
    posterior = counts.sum(1) / counts.sum((1, 2))[:, None]
    trace = []
    for _ in range(steps):
        shares = posterior.mean(0)
        table = np.einsum("it,irc->rtc", posterior, counts)
        table /= np.maximum(table.sum(2, keepdims=True), 1e-300)
        joint = np.array(
            [
                [
                    shares[t] * prod(table[r, t, c] ** counts[i, r, c] for r in range(len(raters)) for c in range(k))
                    for t in range(k)
                ]
                for i in range(len(items))
            ]
        )
        trace.append(sum(log(x) for x in joint.sum(1)))
        posterior = joint / joint.sum(1, keepdims=True)
    return shares, table, posterior, trace


@pytest.mark.slow
def test_the_paper() -> None:
    rater, item, answer = anaesthetists()
    result = aggregate.dawid_skene(rater, item, answer, tolerance=1e-12)
    assert result.converged
    assert result.priors is not None
    assert np.round(result.priors, 2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert len(result.items) == 45
    assert result.counts.tolist() == [7] * 45


def test_every_step_equals_plain_loops() -> None:
    rater, item, answer = anaesthetists()
    shares, table, posterior, trace = em_by_loops(rater, item, answer, 4, 12)
    result = aggregate.dawid_skene(rater, item, answer, tolerance=0.0, limit=12)
    assert result.priors == pytest.approx(shares, abs=1e-12)
    assert result.confusion is not None
    assert result.confusion == pytest.approx(table, abs=1e-12)
    assert result.support == pytest.approx(posterior, abs=1e-12)
    assert result.log_likelihoods == pytest.approx(trace, abs=1e-9)
    assert result.iterations == 12
    assert not result.converged
    assert result.notes[0].startswith("not converged after 12 iterations")


def test_one_step_by_hand() -> None:
    # Items x, y, z; raters a, b; answers (p, p), (p, q), (q, q). Vote shares: x (1, 0), y (1/2, 1/2), z (0, 1).
    # Class shares 1/2, 1/2. a answers p to x and y, q to z: where p is true always p; where q is true p to
    # half of y, q to z: 1/3, 2/3. b mirrors a: where p is true 2/3, 1/3; where q is true always q.
    # Joint of y: p 1/2 * 1 * 1/3 = 1/6, q 1/2 * 1/3 * 1 = 1/6; of x: p 1/2 * 1 * 2/3 = 1/3; of z: q 1/3.
    result = aggregate.dawid_skene(
        ["a", "b", "a", "b", "a", "b"], ["x", "x", "y", "y", "z", "z"], ["p", "p", "p", "q", "q", "q"], limit=1
    )
    assert result.support == pytest.approx(np.array([[1, 0], [0.5, 0.5], [0, 1]]), abs=1e-12)
    assert result.confusion is not None
    assert result.confusion[0] == pytest.approx(np.array([[1, 0], [1 / 3, 2 / 3]]))
    assert result.confusion[1] == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))
    assert result.log_likelihood == pytest.approx(3 * log(1 / 3))
    assert list(result.values) == ["p", "p", "q"]
    assert result.accuracy == pytest.approx([(1 + 2 / 3) / 2, (2 / 3 + 1) / 2])


ratings = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=80)


@pytest.mark.slow
@given(ratings, st.sampled_from([0.0, 0.1, 1.0]))
@settings(deadline=None, max_examples=50)
def test_likelihood_never_falls(rows: list[tuple[int, int, int]], smoothing: float) -> None:
    result = aggregate.dawid_skene(
        [r for r, _, _ in rows],
        [i for _, i, _ in rows],
        [c for _, _, c in rows],
        smoothing=smoothing,
        tolerance=0.0,
        limit=60,
    )
    steps = np.diff(result.log_likelihoods)
    assert (steps >= -1e-9 * np.abs(result.log_likelihoods[0]) - 1e-9).all()
    assert result.support.sum(axis=1) == pytest.approx(1.0)


def planted(
    seed: int, raters: int = 40
) -> tuple[list[str], list[int], list[str], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    items, per = 600, 7
    names = np.array(["calm", "joy", "sad"])
    truth = rng.choice(3, items, p=[0.5, 0.3, 0.2])
    skill = rng.uniform(0.35, 0.95, raters)
    item = np.repeat(np.arange(items), per)
    rater = np.concatenate([rng.permutation(raters)[:per] for _ in range(items)])
    wrong = (truth[item] + rng.integers(1, 3, item.size)) % 3
    answer = np.where(rng.random(item.size) < skill[rater], truth[item], wrong)
    # A fifth of the raters swap joy and sad throughout: votes cannot tell, confusion matrices can.
    swapped = np.isin(rater, np.arange(raters // 5))
    answer = np.where(swapped, np.array([0, 2, 1])[answer], answer)
    return [f"r{r:02d}" for r in rater], item.tolist(), names[answer].tolist(), truth, skill


def hard(seed: int, items: int, raters: int, k: int, skill: float) -> tuple[Any, Any, Any]:
    """Three answers an item by raters who know little: EM creeps, and lingers at saddles."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 3)
    rater = np.concatenate([rng.permutation(raters)[:3] for _ in range(items)])
    truth = rng.integers(0, k, items)
    right = rng.random(item.size) < skill
    return rater, item, np.where(right, truth[item], rng.integers(0, k, item.size))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "items", "raters", "k", "skill"), [(0, 400, 30, 4, 0.4), (1, 2000, 60, 8, 0.5)])
def test_convergence_means_that_the_likelihood_has_stopped_rising(
    seed: int, items: int, raters: int, k: int, skill: float
) -> None:
    answers = hard(seed, items, raters, k, skill)
    result = aggregate.dawid_skene(*answers)
    assert result.converged
    longer = aggregate.dawid_skene(*answers, tolerance=1e-15, limit=20_000)
    assert result.log_likelihood is not None
    assert longer.log_likelihood is not None
    assert longer.log_likelihood - result.log_likelihood < 1e-3
    assert list(longer.values) == list(result.values)
    # After forty steps it is still on its way, and must say so.
    short = aggregate.dawid_skene(*answers, limit=40)
    assert not short.converged
    assert "raised the log likelihood" in short.notes[0]


def test_smoothing_may_be_a_whole_number() -> None:
    rater, item, answer, _, _ = planted(8)
    for whole in (0, 1):
        a, b = (aggregate.dawid_skene(rater, item, answer, smoothing=s) for s in (whole, float(whole)))
        assert a.log_likelihood == b.log_likelihood
        assert list(a.values) == list(b.values)


@pytest.mark.slow
def test_acceleration_ends_where_plain_em_does() -> None:
    rater, item, answer = anaesthetists()
    _, _, posterior, trace = em_by_loops(rater, item, answer, 4, 200)
    result = aggregate.dawid_skene(rater, item, answer)
    assert result.log_likelihood == pytest.approx(trace[-1], abs=1e-5)
    assert result.support == pytest.approx(posterior, abs=1e-3)


def test_planted_truth_is_recovered_better_than_by_votes() -> None:
    rater, item, answer, truth, skill = planted(5)
    result = aggregate.dawid_skene(rater, item, answer)
    votes = aggregate.mode(rater, item, answer, ties="lowest")
    names = np.array(["calm", "joy", "sad"])
    right = np.mean(np.array(result.values) == names[truth])
    assert right > 0.9
    assert right > np.mean(np.array(votes.values) == names[truth]) + 0.02
    assert result.priors == pytest.approx([0.5, 0.3, 0.2], abs=0.05)
    confusion = result.confusion
    assert confusion is not None
    order = np.argsort(np.array(result.raters))
    diagonal = np.array([np.trace(confusion[r]) / 3 for r in order])
    assert np.corrcoef(diagonal[8:], skill[8:])[0, 1] > 0.9
    assert all(confusion[r, 1, 2] > confusion[r, 1, 1] for r in order[:8] if skill[np.where(order == r)[0][0]] > 0.5)


def test_posterior_is_calibrated() -> None:
    rater, item, answer, truth, _ = planted(6)
    result = aggregate.dawid_skene(rater, item, answer, smoothing=0.1)
    right = np.array(result.values) == np.array(["calm", "joy", "sad"])[truth]
    # Maximum likelihood is a little sure of itself.
    assert result.shares.mean() == pytest.approx(right.mean(), abs=0.03)


def test_order_of_rows_and_names_do_not_matter() -> None:
    rater, item, answer, _, _ = planted(7)
    order = np.random.default_rng(1).permutation(len(rater))
    plain = aggregate.dawid_skene(rater, item, answer)
    mixed = aggregate.dawid_skene([rater[i] for i in order], [item[i] for i in order], [answer[i] for i in order])
    assert mixed.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-9)
    assert dict(zip(mixed.items, mixed.values, strict=True)) == dict(zip(plain.items, plain.values, strict=True))


def test_edges() -> None:
    assert len(aggregate.dawid_skene([], [], []).items) == 0
    each = aggregate.dawid_skene(["a"], ["x"], ["yes"])
    assert list(each.values) == ["yes"]
    alike = aggregate.dawid_skene(list("aabb"), list("xyxy"), ["no"] * 4)
    assert alike.shares == pytest.approx([1.0, 1.0])
    assert alike.converged
    holes = aggregate.dawid_skene(list("aab"), list("xyx"), ["no", None, "no"])
    assert holes.left_out == 1
    many = aggregate.dawid_skene(np.arange(10_000), np.arange(10_000) % 500, np.arange(10_000) % 3)
    assert many.support.sum(axis=1) == pytest.approx(1.0)
    with pytest.raises(InputError, match="limit=0"):
        aggregate.dawid_skene(["a"], ["x"], [1], limit=0)
    with pytest.raises(InputError, match="too large"):
        aggregate.dawid_skene(np.arange(600), np.arange(600), np.random.default_rng(0).normal(size=600))
