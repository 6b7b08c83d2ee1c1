"""Paired comparisons that R packages ship: every row is used, and the figures are R's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt import stats
from heartfelt.analysis.compared_sets.strengths import comparison_results
from heartfelt.labels import first_answers
from heartfelt.labels.strengths import Contest, contest
from heartfelt.screening.rules.sets.comparisons import compared
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.stats.comparison.judges.consistency import count_triads

pytestmark = pytest.mark.data
SOURCE = (
    "R 4.2. citations: BTm(cbind(win1, win2), j1, j2, refcat = 'Biometrika') of BradleyTerry2. sound: glm(binomial) of wins by pair"
    " (= psychotools::btmodel), jackknife over the 40 listeners. cems, soundfields: optim(BFGS) of Davidson's likelihood, jackknife"
    " over the 303 students. icehockey, lizards: glm(binomial) of result, ties as half a win, a column of ones for the order and"
    " with one tie of each lizard with strength 0. wine: psych::ICC"
)


@pytest.fixture(scope="module")
def paired(shared_data: Path) -> Path:
    folder = shared_data / "paired"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    return folder


def compare(path: Path, **options: str) -> Contest:
    snapshot = heartfelt.read(path, "long", **options)
    fitted = contest(snapshot, "preference", "stimulus")
    assert fitted is not None
    return fitted


def answers(path: Path, *votes: str) -> int:
    """How many answers the file holds: its rows, or the sum of its columns of votes."""
    table = pl.read_csv(path)
    return table.height if not votes else int(sum(table[name].sum() for name in votes))


def strengths(fitted: Contest) -> dict[str, float]:
    return {str(name): float(fitted.result.strength(name)) for name in fitted.result.names}


def errors(fitted: Contest) -> dict[str, float]:
    spread = fitted.result.covariance
    assert spread is not None
    return {str(name): math.sqrt(spread.variance({at: 1.0})[0]) for at, name in enumerate(fitted.result.names)}


def test_citations(paired: Path) -> None:
    fitted = compare(paired / "citations.csv", first="j1", second="j2", votes="win1,win2", rater="none")
    assert fitted.pairs.height == answers(paired / "citations.csv", "win1", "win2") == 3727
    assert fitted.notes == ("No effect of the order is estimated: the order of presentation was not recorded.",)
    difference = fitted.result.difference("JRSS-B", "Biometrika")
    assert float(difference.estimate) == pytest.approx(0.2689540558, abs=1e-7)
    assert difference.p_value == pytest.approx(1.463521e-4, rel=1e-4)


def test_sound_quality(paired: Path) -> None:
    fitted = compare(paired / "sound.csv", first="a", second="b", winner="winner", rater="id")
    assert fitted.pairs.height == answers(paired / "sound.csv") == 21_924
    assert strengths(fitted) == pytest.approx(
        {
            "Matrix": 0.6167114803, "Mono": -1.8628553924, "Original": 0.6128934795, "PhantomMono": -1.2799931669,
            "Stereo": 0.7485647602, "Upmix1": 0.4907963907, "Upmix2": 0.2470460947, "WideStereo": 0.4268363539,
        },
        abs=1e-6,
    )  # fmt: skip
    # R refits without each listener; here it is one step of Newton's method each.
    by_jackknife = {"Stereo": 0.06743308, "Original": 0.07446226, "Mono": 0.16456425, "Upmix2": 0.07812140}
    own = errors(fitted)
    assert {name: own[name] for name in by_jackknife} == pytest.approx(by_jackknife, rel=0.02)
    difference = fitted.result.difference("Stereo", "Matrix").estimate
    half = 0.08047463 * 2.0226909  # t with 39 degrees of freedom
    assert float(difference.high or 0) - float(difference) == pytest.approx(half, rel=0.02)


def test_sound_quality_on_four_programmes(paired: Path) -> None:
    options = {"first_system": "a", "second_system": "b", "prompt": "progmat", "winner": "winner", "rater": "id"}
    snapshot = heartfelt.read(paired / "sound.csv", "long", **options)
    fitted = contest(snapshot, "preference", "system")
    assert fitted is not None
    assert fitted.pairs.height == 21_924
    assert strengths(fitted)["Stereo"] == pytest.approx(0.7485647602, abs=1e-6)
    assert fitted.result.counts["stimuli"] == 4
    (note,) = [note for note in snapshot.source.notes if "further answers" in note]
    assert "'time' and 'repet'" in note


@pytest.mark.parametrize(
    ("order", "values", "error"),
    [
        ("unknown", {"London": 1.07137490, "Paris": 0.28110673, "Stockholm": -0.75142714}, 0.072644730),
        ("known", {"London": 1.08063164, "Paris": 0.28611804, "Stockholm": -0.76080886}, 0.082510812),
    ],
)
def test_cems(paired: Path, order: str, values: dict[str, float], error: float) -> None:
    options = {"first": "school1", "second": "school2", "votes": "win1,win2,tied", "rater": "student"}
    snapshot = heartfelt.read(paired / "cems.csv", **options)
    assert snapshot.ledger["reason"].to_list() == ["no answer"] * 91
    fitted = contest(snapshot, "preference", "stimulus")
    assert fitted is not None
    table = fitted.pairs
    assert table.height == answers(paired / "cems.csv") - 91 == 4454
    assert table["rater"].n_unique() == 303
    if order == "known":
        # The schools are listed in one order, so that no analysis takes it for that of presentation; the model itself can.
        columns = heartfelt.read(paired / "cems.csv", **options, order="known").ratings
        ordered = columns.filter(columns["place"] == 1).join(
            columns.filter(columns["place"] == 2), on=["rater", "trial"], suffix="_other"
        )
        result = stats.davidson(
            ordered["rater"], ordered["stimulus"], ordered["stimulus_other"], ordered["value"], order_effect=True
        )
        assert float(result.order_effect.estimate) == pytest.approx(-0.010486363, abs=1e-5)
    else:
        result = fitted.result
    assert {name: float(result.strength(name)) for name in values} == pytest.approx(values, abs=1e-5)
    assert result.covariance is not None
    own = math.sqrt(result.covariance.variance({result.names.index("London"): 1.0})[0])
    assert own == pytest.approx(error, rel=0.01)


def test_sound_fields(paired: Path) -> None:
    fitted = compare(paired / "soundfields.csv", first="field1", second="field2", votes="win1,win2,tie", rater="none")
    assert fitted.pairs.height == answers(paired / "soundfields.csv", "win1", "win2", "tie") == 560
    assert float(fitted.result.tie) == pytest.approx(0.68163088, abs=1e-5)
    assert strengths(fitted)["110"] == pytest.approx(0.860678436, abs=1e-5)
    assert errors(fitted)["001"] == pytest.approx(0.21265991, rel=1e-4)


def test_ice_hockey_has_an_order(paired: Path) -> None:
    fitted = compare(paired / "icehockey.csv", first="visitor", second="opponent", value="result", rater="none")
    table = fitted.pairs
    assert table.height == answers(paired / "icehockey.csv") == 1083
    assert fitted.result.model == "Davidson"
    assert float(fitted.result.order_effect.estimate) < 0
    halves = stats.bradley_terry(None, table["first"], table["second"], table["value"], order_effect=True)
    order = halves.order_effect
    assert float(order.estimate) == pytest.approx(-0.3817433164, abs=1e-6)
    assert order.p_value == pytest.approx(2.476235e-08, rel=1e-3)
    values = {name: float(halves.strength(name)) for name in ("Denver", "Miami", "Air Force")}
    expected = {"Denver": 1.612331137, "Miami": 1.577377100, "Air Force": -1.167813016}
    assert values == pytest.approx(expected, abs=1e-6)


def test_winners_and_losers_of_lizards_have_none(paired: Path) -> None:
    snapshot = heartfelt.read(
        paired / "lizards.csv", "long", first="winner", second="loser", winner="winner", rater="none"
    )
    (result,) = comparison_results(snapshot)
    assert result.order is None
    assert result.trials == answers(paired / "lizards.csv") == 100
    fitted = contest(snapshot, "preference", "stimulus")
    assert fitted is not None
    table = fitted.pairs
    penalised = stats.bradley_terry(None, table["first"], table["second"], table["value"], penalty=1.0)
    expected = {"lizard016": 2.698703617, "lizard040": 2.601483810, "lizard073": 2.256953640}
    values = {name: float(penalised.strength(name)) + 0.03792238063 for name in expected}
    assert values == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("stimulus", ["bottle", "temp+contact"])
def test_wine(paired: Path, stimulus: str) -> None:
    options: dict[str, Any] = {"rater": "judge", "stimulus": stimulus, "value": "rating", "scale": "1-5"}
    if stimulus != "bottle":
        options["repeat"] = "order"
    snapshot = heartfelt.read(paired / "wine.csv", "long", **options)
    table = first_answers(snapshot)
    assert snapshot.ratings.height == answers(paired / "wine.csv") == 72
    if stimulus == "bottle":
        result = stats.icc(table["rater"], table["stimulus"], table["value"])
        assert float(result.icc2) == pytest.approx(0.3884591928, abs=1e-6)
        assert float(result.icc2k) == pytest.approx(0.8511223444, abs=1e-6)
    else:
        # Two bottles of each kind: a judge's two ratings are averaged, and none is lost.
        assert table.height == 36
        assert float(table["value"].mean()) == pytest.approx(float(snapshot.ratings["value"].mean()))  # type: ignore[arg-type]  # means of numbers


def test_triads_of_musav(shared_data: Path) -> None:
    """Counted by hand from the file: 1,356 triads that one annotator decided completely, 34 of them circular."""
    view = RatingsView.of(heartfelt.read(shared_data / "musav" / "annotations.arousal.all"))
    (answers,) = compared(view)
    data = answers.coded
    own = [
        count_triads(data, ((answers.rater == rater) & (data.value != 0.5)).nonzero()[0])
        for rater in range(len(view.raters))
    ]
    assert sum(each.count for each in own if each is not None) == 1356
    assert sum(each.circular for each in own if each is not None) == 34
