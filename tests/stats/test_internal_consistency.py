"""Cronbach's alpha and McDonald's omega, against published figures, the intraclass correlation they equal, and known truth."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.reliability.internal_consistency import cronbach_alpha, mcdonald_omega, omega_of
from tests.facts import mentions

SOURCE = "Shrout & Fleiss (1979), table 2 and table 4: ICC(3,4) = .91, which is alpha with judges as items"
PUBLISHED = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
FELDT = "Feldt's interval is that of ICC(C,k) in McGraw & Wong (1996): F with 5 and 15 degrees of freedom"


def test_alpha_of_published_data() -> None:
    alpha = cronbach_alpha(PUBLISHED)
    assert alpha.value == pytest.approx(0.909, abs=5e-4)
    # F = 11.027 (Shrout & Fleiss, table 3); F(.975; 5, 15) = 3.576, F(.975; 15, 5) = 6.428 (tables of F).
    assert alpha.low == pytest.approx(1 - 3.576 / 11.027, abs=1e-3)
    assert alpha.high == pytest.approx(1 - 1 / (11.027 * 6.428), abs=1e-3)
    assert dict(alpha.counts) == {"raters": 6, "items": 4}


def test_people_who_left_an_item_out_do_not_count() -> None:
    holes = np.vstack([PUBLISHED, [[1.0, np.nan, 9.0, 2.0]]])
    assert cronbach_alpha(holes) == cronbach_alpha(PUBLISHED)


def test_omega_recovers_known_loadings_and_equals_alpha_where_they_are_equal() -> None:
    loadings, unique = np.array([0.9, 0.7, 0.5, 0.3]), np.array([0.4, 0.6, 0.9, 1.1])
    covariance = np.outer(loadings, loadings) + np.diag(unique)
    assert omega_of(covariance) == pytest.approx(2.4**2 / (2.4**2 + 3.0), abs=1e-6)
    equal = 0.5 * np.ones((4, 4)) + 0.5 * np.eye(4)
    assert omega_of(equal) == pytest.approx(4 / 3 * (1 - 4 / equal.sum()), abs=1e-6)


def test_why_there_is_no_figure() -> None:
    two = PUBLISHED[:, :2]
    assert mentions(mcdonald_omega(two).why_missing, "2 items", "3")
    assert mentions(cronbach_alpha(PUBLISHED[:2]).why_missing, "2 raters", "3")
    assert mentions(cronbach_alpha(np.ones((5, 3))).why_missing, "everybody", "score")
    assert mentions(mcdonald_omega(np.ones((5, 3))).why_missing, "item", "answer")
    assert mentions(cronbach_alpha(np.tile([[1.0], [2.0], [4.0]], 3)).why_no_interval, "items", "answers")


def test_the_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    truth = 4 * 0.5 / (1 + 3 * 0.5)
    inside = 0
    for _ in range(400):
        answers = rng.normal(size=(40, 1)) * np.sqrt(0.5) + rng.normal(size=(40, 4)) * np.sqrt(0.5)
        alpha = cronbach_alpha(answers)
        assert alpha.low is not None
        assert alpha.high is not None
        inside += alpha.low <= truth <= alpha.high
    assert 0.92 <= inside / 400 <= 0.98
