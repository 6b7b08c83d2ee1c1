from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt import simulate
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.simulate import PRESENCE, DesignOptions, VoterMix
from heartfelt.tables import RATINGS

FOUR = ("calm", "glad", "sad", "angry")
MANY = pl.DataFrame({"stimulus": [f"s{k:04d}" for k in range(3_000)]})
ALL = DesignOptions(per_rater=3_000, distinct_cells=())


def test_the_planted_confusion_is_in_the_votes() -> None:
    truth = simulate.category_truth(MANY, FOUR, prior=(0.4, 0.3, 0.2, 0.1), seed=1)
    crowd = simulate.voters(6, FOUR, VoterMix(accuracy=0.7, accuracy_sd=0.1), seed=1)
    votes = simulate.votes(truth, crowd, ALL, seed=1).join(truth, on=["stimulus", "question"])
    for index, name in enumerate(crowd.table["rater"]):
        own = votes.filter(rater=name)
        table = np.zeros((4, 4))
        np.add.at(table, (own["code"].to_numpy(), own["value"].cast(pl.Int64).to_numpy()), 1)
        rows = table.sum(axis=1, keepdims=True)
        planted = crowd.confusion[index]
        error = np.sqrt(planted * (1 - planted) / rows)
        assert np.all(np.abs(table / rows - planted) <= 4.5 * error + 1e-3)


def test_confusion_rows_sum_to_one_and_have_the_planted_accuracy() -> None:
    crowd = simulate.voters(2_000, FOUR, VoterMix(accuracy=0.75, accuracy_sd=0.1), seed=2)
    assert np.allclose(crowd.confusion.sum(axis=2), 1.0)
    assert crowd.confusion.min() >= 0
    right = crowd.confusion[:, np.arange(4), np.arange(4)]
    assert right.mean() == pytest.approx(0.75, abs=4 * 0.1 / np.sqrt(8_000))
    assert right.std() == pytest.approx(0.1, rel=0.05)
    exact = simulate.voters(3, FOUR, VoterMix(accuracy=0.75, accuracy_sd=0.0)).confusion
    assert np.allclose(exact[:, np.arange(4), np.arange(4)], 0.75)


def test_presence_has_its_own_sensitivity_and_specificity() -> None:
    crowd = simulate.voters(500, PRESENCE, VoterMix(accuracy=0.8, accuracy_sd=0.1), seed=3)
    assert crowd.categories == ("absent", "present")
    assert abs(np.corrcoef(crowd.confusion[:, 0, 0], crowd.confusion[:, 1, 1])[0, 1]) < 0.2
    assert np.allclose(crowd.confusion[:, 0, 1], 1 - crowd.confusion[:, 0, 0])


def test_the_prior_is_planted_and_rows_may_come_in_any_order() -> None:
    truth = simulate.category_truth(MANY, FOUR, prior=(0.4, 0.3, 0.2, 0.1), questions=("first", "second"), seed=4)
    shares = truth.filter(question="first")["code"].value_counts(normalize=True).sort("code")["proportion"]
    assert shares.to_list() == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=4 * np.sqrt(0.24 / 3_000))
    back = simulate.category_truth(
        MANY.reverse(), FOUR, prior=(0.4, 0.3, 0.2, 0.1), questions=("first", "second"), seed=4
    )
    assert back.sort("question", "stimulus").equals(truth.sort("question", "stimulus"))
    assert not truth.filter(question="first")["code"].equals(truth.filter(question="second")["code"])
    assert (pl.Series(FOUR).gather(truth["code"]) == truth["true"]).all()


def test_kinds_of_voters() -> None:
    mix = VoterMix(shares={"random": 0.2, "constant": 0.2, "swapped": 0.2}, accuracy=0.9, accuracy_sd=0.02)
    crowd = simulate.voters(10, FOUR, mix, seed=5)
    truth = simulate.category_truth(MANY, FOUR, seed=5)
    votes = simulate.votes(truth, crowd, ALL, seed=5).join(truth, on=["stimulus", "question"])
    right = {
        kind: [
            votes.filter(rater=name).select((pl.col("value") == pl.col("code")).mean()).item()
            for name in crowd.table.filter(kind=kind)["rater"]
        ]
        for kind in simulate.VOTER_KINDS
    }
    assert {kind: len(result) for kind, result in right.items()} == {
        "honest": 4,
        "random": 2,
        "constant": 2,
        "swapped": 2,
    }
    assert min(right["honest"]) > 0.85
    assert right["random"] == pytest.approx([0.25, 0.25], abs=0.04)
    assert max(right["swapped"]) < 0.1
    for name in crowd.table.filter(kind="constant")["rater"]:
        assert votes.filter(rater=name)["answer"].n_unique() == 1
    for name in crowd.table.filter(kind="swapped")["rater"]:
        own = votes.filter(rater=name)
        assert np.mean((own["code"].to_numpy() + 1) % 4 == own["value"].to_numpy()) > 0.85


def test_votes_keep_the_contract_and_the_design() -> None:
    stimuli = simulate.stimuli(per_cell=3)
    truth = simulate.category_truth(stimuli, questions=("joy", "sadness"), prior=(0.6, 0.4))
    design = DesignOptions(per_rater=20, per_stimulus=3)
    votes = simulate.votes(truth, simulate.voters(30), design)
    assert RATINGS.check(votes, "test").equals(votes)
    assert votes.group_by("stimulus", "question").len()["len"].unique().to_list() == [3]
    assert (votes["answer"] == pl.Series(PRESENCE).gather(votes["value"].cast(pl.Int64))).all()
    assert votes.equals(simulate.votes(truth, simulate.voters(30), design))
    assert not votes.equals(simulate.votes(truth, simulate.voters(30), design, seed=1))


def test_votes_skip_what_is_not_asked() -> None:
    truth = simulate.category_truth(MANY.head(20), questions=("joy", "sadness"))
    part = truth.filter(~((pl.col("question") == "joy") & (pl.col("stimulus") < "s0010")))
    votes = simulate.votes(part, simulate.voters(4))
    assert votes.group_by("question").len().sort("question")["len"].to_list() == [40, 80]


def test_impossible_votes_are_refused() -> None:
    with pytest.raises(InputError, match="not categories"):
        simulate.voters(3, ("one",))
    with pytest.raises(InputError, match="not categories"):
        simulate.voters(3, "ab")
    with pytest.raises(InputError, match="prior"):
        simulate.category_truth(MANY, FOUR, prior=(0.5, 0.5))
    with pytest.raises(InputError, match="column 'stimulus'"):
        simulate.category_truth(pl.DataFrame({"x": ["a"]}), FOUR)
    with pytest.raises(UnknownNameError, match="'constant'"):
        VoterMix(shares={"constnat": 0.1})
    with pytest.raises(InputError, match="impossible"):
        VoterMix(accuracy=0.99, accuracy_sd=0.3)
    with pytest.raises(InputError, match="category_truth"):
        simulate.votes(MANY, simulate.voters(2))
    with pytest.raises(InputError, match="at least one"):
        simulate.voters(0)
