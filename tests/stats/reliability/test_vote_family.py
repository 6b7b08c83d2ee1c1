"""The smooth family of votes: its likelihood against SciPy, its ceiling against drawn panels, and where it refuses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from heartfelt.analysis.findings.parts import Ceilings
from heartfelt.analysis.text.verdict import _ceiling
from heartfelt.stats.ceilings import vote_family
from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ceilings.vote_ceiling import with_chance
from heartfelt.stats.ceilings.vote_family import LEANS, LOG_CONCENTRATIONS, UNDECIDED, smooth_ceiling
from heartfelt.stats.ceilings.yardsticks import winners
from heartfelt.stats.estimate import Estimate
from tests.analysis.test_levels import missing_reliability

SOURCE = "scipy.stats.dirichlet_multinomial; panels drawn from known shares"
CRITICAL = 3.841458820694124


def test_the_likelihood_is_a_mixture_of_dirichlet_multinomials() -> None:
    rows, items = np.array([[3, 1, 0], [2, 2, 1], [0, 0, 5]]), np.array([4.0, 1.0, 2.0])
    shares = np.array([0.5, 0.3, 0.2])
    found = vote_family._log_likelihoods(rows, items, shares)
    counts = [stats.multinomial.logpmf(row, row.sum(), shares) - (row @ np.log(shares)) for row in rows]
    for w, u, c in ((0, 0, 8), (0, 5, 3), (2, 7, 10), (5, 11, 15)):
        lean, concentration = LEANS[u], np.exp(LOG_CONCENTRATIONS[c])
        expected = 0.0
        for row, times, orders in zip(rows, items, counts, strict=True):
            undecided = stats.dirichlet_multinomial.pmf(row, concentration * shares, row.sum())
            leaning = sum(
                share
                * stats.dirichlet_multinomial.pmf(
                    row, concentration * ((1 - lean) * shares + lean * np.eye(3)[j]), row.sum()
                )
                for j, share in enumerate(shares)
            )
            mixed = UNDECIDED[w] * undecided + (1 - UNDECIDED[w]) * leaning
            expected += times * (np.log(mixed) - orders)
        assert found[w, u, c] == pytest.approx(expected, rel=1e-9)


def _votes(seed: int, items: int, votes: int, kind: str) -> tuple[npt.NDArray[np.float64], float]:
    """Votes per item and category, and the share of labels that are the items' long-run category."""
    rng = np.random.default_rng(seed)
    if kind == "Dirichlet":
        shares = rng.dirichlet(np.full(4, 0.6), items)
    else:
        clear = 0.9 * np.eye(4)[rng.integers(0, 4, items)] + 0.025
        undecided = rng.dirichlet(np.full(4, 8.0), items)
        shares = np.where((rng.random(items) < 0.5)[:, None], clear, undecided)
    counts = rng.multinomial(votes, shares).astype(np.float64)
    won = winners(counts)
    return counts, float(np.mean(shares.argmax(axis=1)[won >= 0] == won[won >= 0]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Dirichlet", "clear and undecided"])
def test_the_ceiling_covers_what_an_oracle_scores_in_few_votes(kind: str) -> None:
    hits, widths = [], []
    for seed in range(6):
        counts, reached = _votes(seed, 100, 4, kind)
        made = smooth_ceiling(counts, "accuracy", CRITICAL, 0.95, 0)
        assert made.low is not None
        assert made.high is not None
        hits.append(made.low <= reached <= made.high)
        widths.append(made.high - made.low)
    assert sum(hits) >= 5
    # Bounds without a shape are .4 to .5 wide here.
    assert np.mean(widths) < 0.33


def test_votes_that_no_member_gives_have_no_interval_and_say_why() -> None:
    # Two, two and one vote for every item: far more even than drawn votes can be.
    rng = np.random.default_rng(0)
    counts = rng.permuted(np.tile([2.0, 2.0, 1.0], (300, 1)), axis=1)
    counts[:60] = rng.permuted(np.tile([5.0, 0.0, 0.0], (60, 1)), axis=1)
    made = smooth_ceiling(counts, "accuracy", CRITICAL, 0.95, 0)
    assert made.value is not None
    assert made.low is None
    assert "does not describe" in str(made.why_no_interval)
    tied = smooth_ceiling(np.tile([1.0, 1.0], (5, 1)), "accuracy", CRITICAL, 0.95, 0)
    assert "every item is tied" in str(tied.why_missing)
    same = smooth_ceiling(np.tile([4.0, 0.0], (5, 1)), "accuracy", CRITICAL, 0.95, 0)
    assert "all votes are the same" in str(same.why_missing)


def test_it_stands_next_to_the_bounds_without_a_shape() -> None:
    counts, _ = _votes(3, 60, 3, "Dirichlet")
    item, answer = (np.repeat(part, counts.astype(int).ravel()) for part in np.indices(counts.shape).reshape(2, -1))
    rater = np.arange(item.size) % 3
    both = ceiling(rater, item, answer, metric="macro_f1")
    assert both.smooth is not None
    assert both.smooth.low is not None
    assert both.smooth.high is not None
    assert both.overall.low is not None
    assert both.overall.high is not None
    assert both.smooth.high - both.smooth.low < both.overall.high - both.overall.low
    assert "check" in both.smooth.interval
    assert both.smooth.counts["items"] == 60
    assert ceiling(rater, item, answer.astype(float)).smooth is None


def test_the_verdict_prints_both() -> None:
    bounds, smooth = Estimate(value=0.7, low=0.42, high=0.91), Estimate(value=0.72, low=0.6, high=0.8)
    gone = Estimate.missing("no order")

    def sentence(smooth: Estimate | None) -> str:
        top = Ceilings(correlation=gone, accuracy=bounds, accuracy_smooth=smooth)
        return _ceiling("emotion", missing_reliability(ceiling=top), "")

    assert sentence(smooth) == (
        "emotion accuracy = .72 [.60, .80] if items' votes follow a smooth family, .70 [.42, .91] with no shape assumed"
    )
    assert sentence(smooth.without_interval("misfit")) == sentence(None) == "emotion accuracy = .70 [.42, .91]"


@pytest.mark.parametrize("gain", [0.0, 0.1, 0.9])
def test_the_ceiling_spans_what_members_within_range_score(gain: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members stand for their scores here; a panel may gain up to ``gain``, of which the value takes half."""
    seen = []
    scores = SimpleNamespace(
        best=(0.6, 0.0, 0.0), within_range=[(0.5, 0.0, 0.0), (0.7, 0.0, 0.0)], draw=lambda point, _: point[0]
    )
    monkeypatch.setattr(vote_family, "fit_family", lambda *_: scores)
    monkeypatch.setattr(vote_family, "_expected_score", lambda points, *_: points)
    monkeypatch.setattr(vote_family, "_fit_p", lambda *arguments: seen.append(arguments[3]))
    counts = np.array([[3, 1, 0], [2, 2, 0], [0, 1, 4], [1, 3, 0]])
    found = smooth_ceiling(counts, "accuracy", 8.0, 0.9, 0, gain)
    value = min(0.6 + gain / 2, 1.0)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == with_chance(value, 0.5, min(0.7 + gain, 1.0), 3, 0.9)
    assert seen == pytest.approx([8.0 / stats.norm.ppf(0.95) ** 2])
