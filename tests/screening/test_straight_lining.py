"""Raters who give one answer throughout: found however many they are, and not where one answer is right."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import RULES, screen
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.screening.styles import Design, as_snapshot, constant_study, latent_answers, on_scale

RULE = "straight-lining"


def flagged(snap: Snapshot) -> set[str]:
    return set(RULES[RULE].apply(snap).filter("flagged")["rater"].to_list())


def first(n: int) -> set[str]:
    return {f"r{rater:03d}" for rater in range(n)}


@pytest.mark.slow
@pytest.mark.parametrize("answer", [None, 5.0], ids=["each their own answer", "all the same answer"])
@pytest.mark.parametrize("many", [1, 4, 8, 12, 18, 22])
def test_straight_liners_are_left_out_however_many_they_are(many: int, answer: float | None) -> None:
    panel = screen(constant_study(Design(24, 60, 24), 1, many, answer), "default, collusion=off")
    assert set(panel.dropped) == first(many)
    assert panel.counts.retained == 24 - many


@pytest.mark.slow
def test_a_panel_of_straight_liners_and_careless_raters_keeps_to_its_limit_for_the_others() -> None:
    snap = constant_study(Design(24, 60, 24), 2, 12)
    rng = np.random.default_rng(5)
    random = pl.col("rater").is_in([f"r{rater:03d}" for rater in range(12, 16)])
    noise = pl.Series(rng.integers(1, 10, snap.ratings.height).astype(float))
    ratings = snap.ratings.with_columns(value=pl.when(random).then(noise).otherwise("value"))
    made = Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=ratings)
    panel = screen(made, "default, collusion=off")
    assert len(panel.dropped) > 12
    careless = len(panel.dropped) - 12
    limited = screen(made, "default, collusion=off, at_most_dropped=0.05")
    assert set(limited.dropped) == first(12)
    assert any(f"{careless} of 12 raters, more than its limit of 5%" in note for note in limited.notes)


def test_nearly_one_answer_is_one_answer() -> None:
    snap = constant_study(Design(24, 60, 24), 3, 2)
    slip = (pl.col("rater") == "r000") & pl.col("position").is_in([7, 31])
    ratings = snap.ratings.with_columns(value=pl.when(slip).then(10 - pl.col("value")).otherwise("value"))
    assert flagged(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=ratings)) == first(2)


def presence(raters: int, often: float, *, never: int = 0, seed: int = 0, size: int = 60) -> Snapshot:
    """Yes/no answers about something seldom there; the first ``never`` raters never see it."""
    rng = np.random.default_rng(seed)
    text = "name: p\nscales: {y: {type: yes-no}}\nquestions: [{id: is, text: is, scale: y}]\n"
    truth = rng.random(size) < often
    rows = [
        (f"r{r:03d}", f"s{s}", "is", float(r >= never and truth[s] and rng.random() < 0.8), place)
        for r in range(raters)
        for place, s in enumerate(rng.permutation(size), 1)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position"], orient="row")
    return Snapshot.build(parse_study(text), stimuli=ratings.select("stimulus").unique(), ratings=ratings)


@pytest.mark.slow
@pytest.mark.parametrize("often", [0.0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("never", [0, 6, 12, 20])
def test_a_question_whose_answer_is_nearly_always_no_flags_nobody(often: float, never: int) -> None:
    for seed in range(3):
        assert flagged(presence(24, often, never=never, seed=seed)) == set()


def test_always_no_is_noticed_where_the_others_often_say_yes() -> None:
    assert flagged(presence(24, 0.5, never=3, size=120)) == first(3)


def test_one_answer_may_be_right_where_the_others_agree_on_nothing() -> None:
    snap = presence(24, 0.0)
    rng = np.random.default_rng(1)
    noise = pl.Series(rng.integers(0, 2, snap.ratings.height).astype(float))
    odd = pl.col("rater").is_in(["r020", "r021", "r022", "r023"])
    ratings = snap.ratings.with_columns(value=pl.when(odd).then(noise).otherwise("value"))
    table = RULES[RULE].apply(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=ratings))
    assert not table["flagged"].any()
    assert table["why_missing"].drop_nulls().str.contains("do not agree about the stimuli").all()
    assert table["why_missing"].drop_nulls().len() == 20


@pytest.mark.parametrize(("constant", "judged"), [(5, True), (6, False)])
def test_from_half_the_raters_on_one_answer_may_be_right(constant: int, judged: bool) -> None:
    """Twelve raters of whom five or six settle on one answer; the others answer at random."""
    rng = np.random.default_rng(4)
    shown = [rng.permutation(40) for _ in range(12)]
    given = [rng.integers(1, 10, (40, 1)).astype(np.float64) for _ in range(12)]
    for own in given[:constant]:
        own[:] = 5.0
    snap = as_snapshot(Design(12, 40, 12, questions=1), shown, given)
    assert flagged(snap) == (first(constant) if judged else set())


def test_one_question_left_at_its_default_is_not_straight_lining() -> None:
    design = Design(24, 60, 24)
    rng = np.random.default_rng(2)
    shown, latent = latent_answers(design, rng)
    given = [on_scale(own, design.points) for own in latent]
    given[0][:, 1] = 5
    assert flagged(as_snapshot(design, shown, given)) == set()


@pytest.mark.slow
def test_who_could_not_be_judged_is_counted_with_the_reason() -> None:
    panel = screen(constant_study(Design(24, 60, 24), 1, 12), "default, collusion=off")
    rules = {row["rule"]: row for row in panel.to_json()["rules"]}
    information = rules["informativeness"]
    assert information["not_judged"] == 12
    assert list(information["why_not_judged"].values()) == [12]
    assert "straight-lining" in next(iter(information["why_not_judged"]))
    assert rules["response-time"]["not_judged"] == 24
    assert rules["response-time"]["why_not_judged"] == {"no response times were recorded": 24}
    assert all(row["judged"] + row["not_judged"] == 24 for row in rules.values())
    assert set(panel.not_judged().filter(pl.col("rule") == "informativeness")["rater"]) == first(12)
