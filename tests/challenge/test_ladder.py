"""The ladder: ten thousand adaptive submissions gain less than the stated bound, and the bound itself holds.

Labels of 2,000 items are hidden; the ladder scores one half, and what an attack reached is compared with the other half, which no
answer ever depended on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.challenge.ladder import (
    STEPS,
    Rung,
    effective_items,
    most_gain,
    overstatement,
    rungs_of,
    step_for,
    variance_proxy,
)
from heartfelt.errors import InputError
from heartfelt.scoring import ScoreOptions, tasks_of, truth_of
from tests.challenge.made import STUDY, benchmark

Floats = npt.NDArray[np.float64]
Score = Callable[[Floats, Floats], float]
SUBMISSIONS = 10_000
HALF = 1_000
SOURCE = (
    "Blum and Hardt (2015), ICML: the majority attack; math.comb and the formula of docs/challenge.md by hand"
)


def accuracy(labels: Floats, predicted: Floats) -> float:
    return float(np.mean(labels == predicted))


def pearson(labels: Floats, predicted: Floats) -> float:
    x, y = labels - labels.mean(), predicted - predicted.mean()
    return float((x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum()))


class Hidden:
    """Labels of two halves; only what the ladder publishes of the first one is ever returned."""

    def __init__(self, labels: Floats, score: Score, rung: Rung) -> None:
        self.labels, self.score, self.rung = labels, score, rung
        self.steps: int | None = None
        self.submissions = self.changes = 0
        self.best: Floats = np.zeros(labels.size)

    def submit(self, predicted: Floats) -> bool:
        """Whether the published score rose."""
        self.submissions += 1
        now = self.rung.published(self.steps, self.score(self.labels[:HALF], predicted[:HALF]))
        rose, self.steps = now != self.steps, now
        if rose:
            self.changes, self.best = self.changes + 1, predicted.copy()
        return rose

    def raw(self, predicted: Floats) -> float:
        """What a leaderboard without a ladder would say."""
        return self.score(self.labels[:HALF], predicted[:HALF])

    def gain(self) -> float:
        """Published minus the same submission's score on the half that nothing depended on."""
        value = self.rung.value(self.steps)
        return 0.0 if value is None else value - self.score(self.labels[HALF:], self.best[HALF:])


def majority(hidden: Hidden, rng: np.random.Generator, raw: bool = False) -> Floats:
    """Blum and Hardt's attack: the majority of all random submissions that were told to be better than chance."""
    votes = np.zeros(hidden.labels.size)
    for _ in range(SUBMISSIONS - 1):
        guess = rng.integers(0, 2, hidden.labels.size).astype(np.float64)
        if hidden.raw(guess) > 0.5 if raw else hidden.submit(guess):
            votes += 2 * guess - 1
    final = (votes > 0).astype(np.float64)
    hidden.submit(final)
    return final


def flips(hidden: Hidden, rng: np.random.Generator, start: Floats) -> None:
    """Hill-climbing: flip a few or many answers, and keep what raised the published score."""
    best = start.copy()
    hidden.submit(best)
    for _ in range(SUBMISSIONS - 1):
        chosen = rng.integers(0, best.size, int(rng.choice([1, 3, 10, 30, 100, 300, 1000])))
        trial = best.copy()
        trial[chosen] = 1 - trial[chosen]
        if hidden.submit(trial):
            best = trial


def nudges(hidden: Hidden, rng: np.random.Generator, start: Floats) -> None:
    """The same for numbers: add noise to some predictions, and keep what raised the published score."""
    best = start.copy()
    hidden.submit(best)
    for _ in range(SUBMISSIONS - 1):
        chosen = rng.integers(0, best.size, int(rng.choice([1, 10, 100, 1000, 2000])))
        trial = best.copy()
        trial[chosen] += rng.normal(0, rng.choice([0.2, 1.0, 3.0]), chosen.size)
        if hidden.submit(trial):
            best = trial


def held_to_the_bound(hidden: Hidden, honest: float) -> None:
    rungs = [hidden.rung]
    assert hidden.submissions == SUBMISSIONS
    after = overstatement(hidden.rung, rungs, SUBMISSIONS, hidden.changes)
    stated = most_gain(rungs, SUBMISSIONS, {hidden.rung.task: honest})[hidden.rung.task]
    assert hidden.gain() <= after <= max(stated, 0.0) < 0.3
    # Adaptive submissions do not climb: what is published stays within the bound of the honest score.
    value = hidden.rung.value(hidden.steps)
    assert value is None or value <= honest + stated


@pytest.mark.slow
def test_ten_thousand_adaptive_submissions_gain_less_than_the_stated_bound() -> None:
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 2, 2 * HALF).astype(np.float64)
    step = step_for(HALF, SUBMISSIONS, 0.5)
    rung = Rung("t", "accuracy", "", HALF, HALF, 0.5, step)
    attacked = Hidden(labels, accuracy, rung)
    majority(attacked, rng)
    held_to_the_bound(attacked, 0.5)
    # The same attack on raw scores wins: it is the ladder that stops it.
    bare = Hidden(labels, accuracy, rung)
    final = majority(bare, rng, raw=True)
    stated = most_gain([rung], SUBMISSIONS, {"t": 0.5})["t"]
    assert bare.raw(final) - accuracy(labels[HALF:], final[HALF:]) > max(2 * stated, 0.3)
    for honest in (0.5, 0.7):
        model = np.where(rng.random(labels.size) < honest, labels, 1 - labels)
        climbed = Hidden(labels, accuracy, rung)
        flips(climbed, rng, model)
        held_to_the_bound(climbed, honest)
    # With a step far below the noise of the score, the same climb gets far: the step matters.
    careless = Hidden(labels, accuracy, Rung("t", "accuracy", "", HALF, HALF, 0.5, 0.001))
    flips(careless, rng, labels * 0)
    assert careless.gain() > 0.3


@pytest.mark.slow
def test_ten_thousand_nudges_of_numbers_gain_less_than_the_stated_bound() -> None:
    rng = np.random.default_rng(12)
    labels = np.clip(np.round(rng.normal(5, 1.5, 2 * HALF), 1), 1, 9)
    n = effective_items("pearson", labels[:HALF], [{str(at)} for at in range(HALF)])
    assert HALF / 6 < n <= HALF / 4
    rung = Rung("valence", "pearson", "", HALF, n, 0.0, step_for(n, SUBMISSIONS, 0.0))
    for honest in (0.0, 0.6):
        noise = rng.normal(0, 1, labels.size)
        z = (labels - labels.mean()) / labels.std()
        climbed = Hidden(labels, pearson, rung)
        nudges(climbed, rng, honest * z + math.sqrt(1 - honest**2) * noise)
        rungs, k = [rung], SUBMISSIONS
        stated = most_gain(rungs, k, {"valence": honest})["valence"]
        assert climbed.gain() <= overstatement(rung, rungs, k, climbed.changes) <= max(stated, 0.0) < 0.6
    # A single item with all the weight: as sub-Gaussian as the labels, so no larger than the bound either.
    spikes = Hidden(labels, pearson, rung)
    for at in range(HALF):
        spikes.submit(np.eye(1, 2 * HALF, at)[0])
    assert spikes.changes == 0


def test_the_bound_is_the_formula_and_covers_the_best_of_many_guesses() -> None:
    rung = Rung("t", "accuracy", "", 400, 400, 0.5, 0.05)
    assert (rung.start, rung.values) == (10, 10)
    k, b, delta = 1000, 3, 0.05
    inside = math.log(k) + math.log(math.comb(k, 2) * math.comb(10, 2)) + math.log(b * (b + 1) / delta)
    assert overstatement(rung, [rung], k, b) == pytest.approx(math.sqrt(inside / 800), rel=1e-12)
    two = [rung, Rung("u", "pearson", "", 400, 100, 0.0, 0.1)]
    inside = math.log(2 * k) + math.log(math.comb(2 * k, 2) * math.comb(20, 2)) + math.log(12 / delta)
    assert overstatement(two[1], two, k, b) == pytest.approx(math.sqrt(inside / 200), rel=1e-12)
    assert overstatement(rung, [rung], k, 0) == 0.0
    # The best of 1,000 guesses, 300 times: above the bound of one change no more often than stated.
    rng = np.random.default_rng(3)
    best = rng.binomial(400, 0.5, (300, k)).max(axis=1) / 400 - 0.5
    assert np.mean(best > overstatement(rung, [rung], k, 1)) <= 0.05
    assert best.max() > 0.6 * overstatement(rung, [rung], k, 1), "and it is not far above what happens"


def test_scores_are_published_rounded_down_above_chance_and_never_fall() -> None:
    rung = Rung("t", "accuracy", "", 100, 100, 0.42, 0.1)
    assert rung.start == 5
    published: int | None = None
    seen = []
    for score in (None, float("nan"), 0.4, 0.599999, 0.6 - 1e-12, 0.55, 0.69, 0.9999, 0.7, 1.0, 0.2):
        published = rung.published(published, score)
        seen.append(rung.value(published))
    assert seen == [None, None, None, None, 0.6, 0.6, 0.6, 0.9, 0.9, 1.0, 1.0]
    assert rung.values == 5


@pytest.mark.slow
def test_rungs_follow_from_the_benchmark() -> None:
    truth = truth_of(benchmark(), ScoreOptions(part="test"))
    tasks, _ = tasks_of(STUDY, ["valence", "mood", "fear"])
    rungs = {each.task: each for each in rungs_of(truth, tasks, 100)}
    assert set(rungs) == {"valence", "mood", "fear", "fear (degree)"}
    items = benchmark().part("test")
    for name in ("valence", "mood", "fear"):
        assert rungs[name].items == items.filter(question=name).height
    mood = items.filter(question="mood")
    assert rungs["mood"].effective == pytest.approx(mood.height)
    most = max(mood["label"].value_counts()["count"].to_list())
    assert rungs["mood"].chance == pytest.approx(most / mood.height)
    yes = int((items.filter(question="fear")["label"] > 0).sum())
    no = rungs["fear"].items - yes
    assert rungs["fear"].effective == pytest.approx(4 / (1 / yes + 1 / no))
    assert all(each.step in STEPS for each in rungs.values())
    assert rungs["valence"].effective <= rungs["valence"].items / 4
    assert {each.step for each in rungs_of(truth, tasks, 100, 0.05)} == {0.05}
    with pytest.raises(InputError, match="step must lie"):
        rungs_of(truth, tasks, 100, 0.7)


def test_items_about_a_stimulus_count_as_one() -> None:
    labels = np.repeat([0.0, 1.0] * 5, 100)
    alone, shared = [{str(at)} for at in range(1000)], [{str(at // 100)} for at in range(1000)]
    for metric, whole in (
        ("accuracy", 1.0),
        ("balanced_accuracy", 1.0),
        ("trace_ccc", 0.25),
        ("pearson", 0.25),
    ):
        assert effective_items(metric, labels, alone) == pytest.approx(1000 * whole)
        assert effective_items(metric, labels, shared) == pytest.approx(10 * whole)
    # All pairs of 12 stimuli: each stimulus has a part in 11 of 66 pairs, so the shares are 12 times 1/6.
    pairs = [{str(a), str(b)} for a in range(12) for b in range(a)]
    assert effective_items("choice_accuracy", np.zeros(66), pairs, np.ones(66)) == pytest.approx(3.0)
    # The best of 1,000 rankings of 12 stimuli shows why pairs may not be counted as independent.
    rng = np.random.default_rng(5)
    first, second = np.tril_indices(12, -1)
    best = np.empty(100)
    for at in range(100):
        places = np.argsort(rng.random((1000, 12)), axis=1)
        best[at] = ((places[:, first] > places[:, second]).mean(axis=1)).max() - 0.5
    counted, honest = (Rung("t", "", "", 66, n, 0.5, 0.25) for n in (66.0, 3.0))
    assert np.mean(best > overstatement(counted, [counted], 1000, 1)) > 0.5
    assert np.mean(best > overstatement(honest, [honest], 1000, 1)) <= 0.05


def test_the_variance_proxy_of_known_distributions() -> None:
    # Both are strictly sub-Gaussian: the proxy is the variance, which is 1 after standardising.
    assert variance_proxy(np.array([0.0, 1.0] * 50)) == pytest.approx(1.0, abs=1e-9)
    assert variance_proxy(np.linspace(0, 1, 2001)) == pytest.approx(1.0, abs=1e-3)
    # Kearns and Saul (1998): for a coin with p = 0.1 the proxy is (1 - 2p) / (2 ln((1 - p) / p)), here over the variance p (1 - p).
    coin = np.array([1.0] + [0.0] * 9)
    assert variance_proxy(coin) == pytest.approx(0.8 / (2 * math.log(9)) / 0.09, rel=2e-3)


def test_the_table_of_the_page_is_what_is_computed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "challenge.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| ([\d,]+) \| ([\d,]+) \| (\.\d+) \| (\.\d+) \| (\.\d+) \| (\.\d+) \|$", page)
    assert len(rows) == 4
    for items, sent, *numbers in rows:
        n, k = int(items.replace(",", "")), int(sent.replace(",", ""))
        step = step_for(n, k, 0.5)
        rung = Rung("t", "accuracy", "", n, n, 0.5, step)
        bounds = [round(overstatement(rung, [rung], k, changes), 3) for changes in (1, 2, 3)]
        assert [float(number) for number in numbers] == [step, *bounds]
    assert ", ".join(f"{step:g}".lstrip("0") for step in STEPS) in page.replace("\n", " ")
