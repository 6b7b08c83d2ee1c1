"""Predicted conveyance of a few clips, worked out by hand; Student's quantiles from SciPy."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl
import pytest
import scipy.stats

from heartfelt.scoring.conveyance import Evidence, KnownError, PredictedConveyance, predicted_conveyance

INTENTS = {"valence": {"happy": 8.0, "sad": 2.0}, "arousal": {"happy": 7.0, "sad": 3.0}}


def evidence(
    predictions: Mapping[str, Mapping[str, float]], errors: Mapping[str, KnownError] | None = None
) -> Evidence:
    """Clips called ``system intent number``, with their predictions by question."""
    names = list(predictions)
    return Evidence(
        stimuli=pl.DataFrame(
            {
                "stimulus": names,
                "system": [name.split()[0] for name in names],
                "intent": [name.split()[1] for name in names],
            }
        ),
        predictions=pl.DataFrame(
            [
                {"stimulus": name, "question": question, "value": value}
                for name, values in predictions.items()
                for question, value in values.items()
            ]
        ),
        references=INTENTS,
        midpoints={"valence": 5.0, "arousal": 5.0},
        errors=errors or {},
        confidence=0.9,
    )


VALENCES = {"A happy 1": 7.0, "A happy 2": 9.0, "A sad 1": 3.0, "A sad 2": 4.0, "B happy 1": 5.0, "B sad 1": 5.0}
CLIPS = {name: {"valence": value} for name, value in VALENCES.items()}


def deviations(result: PredictedConveyance) -> dict[str, float | None]:
    return {row.system: row.deviation.value for row in result.deviation_by_system}


def test_deviations_are_means_of_prediction_less_reference() -> None:
    result = predicted_conveyance(evidence(CLIPS))
    assert deviations(result) == pytest.approx({"all": 0.5, "A": 0.75, "B": 0.0})
    cells = {(row.system, row.intent): row.deviation.value for row in result.deviation_by_cell}
    assert cells == pytest.approx({("A", "happy"): 0.0, ("A", "sad"): 1.5, ("B", "happy"): -3.0, ("B", "sad"): 3.0})
    assert (result.stimuli, result.rated) == (6, 0)
    assert result.quadrants is None


def test_clips_of_no_known_system_count_among_all() -> None:
    asked = evidence(CLIPS, {"valence": KnownError(0.0, 0.0, 0.0, 30)})
    nameless = pl.when(pl.col("system") == "A").then("system").alias("system")
    result = predicted_conveyance(
        Evidence(
            stimuli=asked.stimuli.with_columns(nameless),
            predictions=asked.predictions,
            references=INTENTS,
            midpoints=asked.midpoints,
            errors=asked.errors,
            confidence=0.9,
        )
    )
    (row,) = result.deviation_by_system
    assert (row.system, row.deviation.value, row.deviation.counts) == ("A", 0.75, {"predicted": 4})
    assert row.deviation.high is not None
    assert row.deviation.high - 0.75 == pytest.approx(scipy.stats.t.ppf(0.95, 29) * math.sqrt(2.5 / 2 / 4))


def test_the_only_system_is_not_repeated_as_all() -> None:
    result = predicted_conveyance(evidence({name: row for name, row in CLIPS.items() if name[0] == "A"}))
    assert list(deviations(result)) == ["A"]


def test_the_known_error_widens_by_what_systems_cells_and_stimuli_share() -> None:
    error = KnownError(0.5, 0.3, 0.8, 6)
    result = predicted_conveyance(evidence(CLIPS, {"valence": error}))
    by_system = {row.system: row.deviation for row in result.deviation_by_system}
    # Within cells of A: (7, 9) about 8 and (3, 4) about 3.5, with 4 - 2 degrees of freedom.
    spread_of_a = (1 + 1 + 0.25 + 0.25) / 2 / 4
    error_of_a = 0.5**2 + 0.3**2 * (0.5**2 + 0.5**2) + 0.8**2 / 4
    # Of all six clips four are of A; of the four cells two hold two clips.
    spread_of_all = (1 + 1 + 0.25 + 0.25) / 2 / 6
    error_of_all = 0.5**2 * ((4 / 6) ** 2 + (2 / 6) ** 2) + 0.3**2 * (2 * (2 / 6) ** 2 + 2 * (1 / 6) ** 2) + 0.8**2 / 6
    # Where every cell holds one clip, their spread about their mean stands in.
    spread_of_b = 9.0 / 2
    error_of_b = 0.5**2 + 0.3**2 * (0.5**2 + 0.5**2) + 0.8**2 / 2
    for system, variance in {
        "A": spread_of_a + error_of_a,
        "all": spread_of_all + error_of_all,
        "B": spread_of_b + error_of_b,
    }.items():
        deviation = by_system[system]
        assert deviation.low is not None
        assert deviation.value is not None
        half = scipy.stats.t.ppf(0.95, 5) * math.sqrt(variance)
        assert deviation.value - deviation.low == pytest.approx(half)


def test_one_system_behind_the_known_error_leaves_one_degree_of_freedom() -> None:
    result = predicted_conveyance(evidence(CLIPS, {"valence": KnownError(1.0, 0.0, 0.0, 1)}))
    (deviation,) = [row.deviation for row in result.deviation_by_system if row.system == "A"]
    assert deviation.high is not None
    half = scipy.stats.t.ppf(0.95, 1) * math.sqrt(2.5 / 2 / 4 + 1.0)
    assert deviation.high == pytest.approx(0.75 + half)


def test_slopes_and_their_intervals() -> None:
    clips = {
        "A happy 1": {"arousal": 8.0},
        "A happy 2": {"arousal": 6.0},
        "A calm 1": {"arousal": 4.0},
        "A sad 1": {"arousal": 4.0},
        "A sad 2": {"arousal": 2.0},
        "B happy 1": {"arousal": 4.0},
        "B sad 1": {"arousal": 3.0},
    }
    asked = evidence(clips, {"arousal": KnownError(0.7, 0.3, 0.8, 6)})
    references = {"arousal": {"happy": 7.0, "calm": 5.0, "sad": 3.0}}
    result = predicted_conveyance(
        Evidence(
            stimuli=asked.stimuli,
            predictions=asked.predictions,
            references=references,
            midpoints=asked.midpoints,
            errors=asked.errors,
            confidence=0.9,
        )
    )
    slopes = {row.system: row.slope for row in result.slopes}
    assert slopes["B"].value is None
    assert slopes["B"].counts == {"predicted": 2, "intents": 2}
    assert slopes["A"].counts == {"predicted": 5, "intents": 3}
    # References of A less their mean: 2, 2, 0, -2, -2; predictions: 8, 6, 4, 4, 2 with the mean 4.8.
    slope = (2 * 8 + 2 * 6 - 2 * 4 - 2 * 2) / 16
    assert slopes["A"].value == pytest.approx(slope) == 1.0
    residuals = [8 - 4.8 - 2, 6 - 4.8 - 2, 4 - 4.8, 4 - 4.8 + 2, 2 - 4.8 + 2]
    own = sum(4 * residuals[at] ** 2 for at in (0, 1, 3, 4)) / 16**2 * 5 / 3
    variance = own + 0.3**2 * 2 * (4 / 16) ** 2 + 0.8**2 / 16
    assert slopes["A"].high is not None
    assert slopes["A"].high - slope == pytest.approx(scipy.stats.t.ppf(0.95, 1) * math.sqrt(variance))


def test_quadrants_are_counted_by_sign_and_midlines_apart() -> None:
    clips = {
        "A happy 1": {"valence": 6.0, "arousal": 6.0},  # where it was meant to be
        "A happy 2": {"valence": 4.0, "arousal": 6.0},  # low valence
        "A sad 1": {"valence": 4.0, "arousal": 4.0},  # where it was meant to be
        "A sad 2": {"valence": 6.0, "arousal": 4.0},  # high valence
        "B sad 1": {"valence": 5.0, "arousal": 4.0},  # on a midline
    }
    found = predicted_conveyance(evidence(clips)).quadrants
    assert found is not None
    assert found.rows == (
        "high valence, high arousal",
        "low valence, high arousal",
        "low valence, low arousal",
        "high valence, low arousal",
    )
    assert len(found.columns) == 5
    assert found.counts == ((1, 1, 0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 1, 1, 1), (0, 0, 0, 0, 0))
    rates = {system: (rate.value, rate.counts) for system, rate in found.hit_rate.items()}
    assert rates == {"all": (0.4, {"predicted": 5}), "A": (0.5, {"predicted": 4}), "B": (0.0, {"predicted": 1})}
    low, high = scipy.stats.binomtest(2, 5).proportion_ci(0.95, method="wilson")
    assert (found.hit_rate["all"].low, found.hit_rate["all"].high) == pytest.approx((low, high))


def test_ratings_of_several_clips_are_used_and_of_one_are_not() -> None:
    answers = {"A happy 1": (8.0, 9.0), "A happy 2": (8.0, 8.0), "A sad 1": (1.0, 2.0), "A sad 2": (3.0, 4.0)}
    ratings = pl.DataFrame(
        [
            {"rater": rater, "stimulus": stimulus, "question": "valence", "value": value}
            for stimulus, values in answers.items()
            for rater, value in zip(("r1", "r2"), values, strict=True)
        ]
    )
    asked = evidence(CLIPS)

    def rated(table: pl.DataFrame) -> PredictedConveyance:
        return predicted_conveyance(
            Evidence(
                stimuli=asked.stimuli,
                predictions=asked.predictions,
                references=INTENTS,
                midpoints=asked.midpoints,
                ratings=table,
                confidence=0.9,
            )
        )

    both = rated(ratings)
    assert both.rated == 4
    by_system = {row.system: row for row in both.deviation_by_system}
    alone = by_system["A"].ratings_alone
    assert alone is not None
    assert alone.value == pytest.approx((0.5 + 0.0 - 0.5 + 1.5) / 4)
    assert alone.confidence == 0.9
    assert by_system["B"].ratings_alone is None
    slopes = {row.system: row.ratings_alone for row in both.slopes}
    assert slopes["A"] is not None
    assert slopes["A"].value == pytest.approx(((8.5 + 8) / 2 - (1.5 + 3.5) / 2) / (8 - 2))
    assert slopes["A"].low is None  # two raters leave no degree of freedom
    assert slopes["A"].why_no_interval
    third = ratings.filter(pl.col("rater") == "r1").with_columns(pl.lit("r3").alias("rater"), pl.col("value") - 0.5)
    (slope,) = [row.ratings_alone for row in rated(pl.concat([ratings, third])).slopes if row.system == "A"]
    assert slope is not None
    assert slope.low is not None
    assert slope.confidence == 0.9
    two = rated(ratings.filter(pl.col("stimulus").str.ends_with("1")))
    (pair,) = [row.ratings_alone for row in two.deviation_by_system if row.system == "A"]
    assert pair is not None
    assert pair.value == pytest.approx((0.5 - 0.5) / 2)
    one = rated(ratings.filter(pl.col("stimulus") == "A sad 1"))
    assert all(row.ratings_alone is None for row in one.deviation_by_system)


def test_three_clips_have_a_slope_and_every_number_says_how_it_was_made() -> None:
    three = {"A happy 1": {"valence": 7.0}, "A happy 2": {"valence": 8.0}, "A sad 1": {"valence": 3.0}}
    result = predicted_conveyance(evidence(three, {"valence": KnownError(0.5, 0.3, 0.8, 6)}))
    (row,) = result.slopes
    assert row.slope.value == pytest.approx((7.5 - 3.0) / (8.0 - 2.0))
    estimates = [row.slope, *(row.deviation for row in (*result.deviation_by_system, *result.deviation_by_cell))]
    assert len(estimates) == 1 + 1 + 2
    for estimate in estimates:
        assert estimate.method
        assert estimate.counts["predicted"] > 0
        assert estimate.interval
        assert estimate.confidence == 0.9
