"""Predicted strengths: rank correlations with those that people's comparisons give."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import labels
from heartfelt.predictors.answers.sets import set_name
from heartfelt.scoring import ScoreOptions, score, truth_of
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.stats import spearman
from heartfelt.streams import stream
from heartfelt.study import parse_study
from tests.scoring.compared import PAIRS, arena
from tests.scoring.made import predictions

QUICK = ScoreOptions(ceilings=False)


def round_robin(stimuli: int = 10, raters: int = 5, seed: int = 0) -> tuple[Snapshot, dict[str, float]]:
    """Every two stimuli compared by every rater, so that stimuli have strengths of their own."""
    draw = stream(seed, "tests", "round robin")
    study = parse_study(
        PAIRS.replace("SCALE", "which").replace(
            "{type: pair, rule: by-prompt}", "{type: pair, rule: by-prompt, by: []}"
        ),
        "robin",
    )
    truth = {f"s{k}": float(draw.normal(0, 1)) for k in range(stimuli)}
    rows = []
    names = list(truth)
    for rater in range(raters):
        for a, one in enumerate(names):
            for other in names[a + 1 :]:
                won = draw.random() < 1 / (1 + np.exp(truth[other] - truth[one]))
                for place, (name, value) in enumerate(((one, float(won)), (other, float(not won))), 1):
                    key = {"rater": f"r{rater}", "trial": f"r{rater}-{one}-{other}", "stimulus": name}
                    rows.append({**key, "question": "better", "value": value, "place": place})
    table = [{"stimulus": name, "system": "ABC"[k % 3], "prompt": "p"} for k, name in enumerate(names)]
    made = Snapshot.build(
        study, stimuli=pl.DataFrame(table), ratings=pl.DataFrame(rows), source=Source(format="simulation", name="robin")
    )
    return made, truth


def scalar(truth: dict[str, float], model: str = "scalar") -> pl.DataFrame:
    return predictions(model, [{"stimulus": s, "question": "better", "value": v} for s, v in truth.items()])


@pytest.mark.slow
def test_the_correlation_is_with_the_labels() -> None:
    snapshot, truth = round_robin()
    scores = score(snapshot, scalar(truth))
    found = scores.find("better (strength)", "scalar")
    assert found is not None
    known = labels(snapshot).table.filter(pl.col("value").is_not_null())
    expected = spearman(known["value"].to_numpy(), np.array([truth[name] for name in known["stimulus"]]))
    assert found.with_failures.value == pytest.approx(expected.value)
    assert found.with_failures.low is not None
    assert found.ceiling.value is not None
    assert 0.7 < found.ceiling.value < 1
    shifted = score(snapshot, scalar({name: 100 + 5 * number for name, number in truth.items()}), QUICK)
    again = shifted.find("better (strength)", "scalar")
    assert again is not None
    assert again.with_failures.value == pytest.approx(found.with_failures.value)
    by_system = scores.find("better (strength)", "scalar", "spearman", "system")
    assert by_system is not None


@pytest.mark.slow
def test_a_model_that_predicts_pairs_has_the_strengths_of_its_choices() -> None:
    snapshot, truth = round_robin()
    rows = []
    for one, other in truth_of(snapshot).pairs.items.select("one", "other").iter_rows():
        won = float(truth[one] > truth[other])
        members = json.dumps({one: won, other: 1 - won})
        rows.append({"stimulus": set_name((one, other)), "question": "better", "members": members})
    table = pl.concat([scalar(truth), predictions("judge", rows)], how="diagonal")
    scores = score(snapshot, table, QUICK)
    both = [scores.find("better (strength)", model) for model in ("scalar", "judge")]
    assert both[0] is not None
    assert both[1] is not None
    assert both[0].with_failures.value == pytest.approx(both[1].with_failures.value)
    assert scores.coverage["judge"]["better (strength)"].notes == {"strengths fitted to its predicted choices": 10}


@pytest.mark.slow
def test_systems_have_strengths_where_stimuli_have_none() -> None:
    """Compared within each prompt, stimuli of different prompts are not linked."""
    snapshot, truth = arena()
    scores = score(snapshot, scalar(truth), QUICK)
    coverage = scores.coverage["scalar"]["better (strength)"]
    assert (coverage.items, coverage.answered) == (3, 3)
    assert coverage.notes == {"the mean over the system's stimuli": 3}
    found = scores.find("better (strength)", "scalar")
    assert found is not None
    assert found.with_failures.value == pytest.approx(1.0)
    (rank,) = scores.ranked("better (strength)")
    assert (rank.beats_chance, rank.place) == (None, None)
    few = "3 items can be rearranged in only 6 ways, too few for a p-value below .05"
    assert rank.why_none == f"chance cannot be tested: {few}"


@pytest.mark.slow
def test_stimuli_that_were_not_predicted_count_as_the_mean() -> None:
    snapshot, truth = round_robin()
    scores = score(snapshot, scalar({name: v for name, v in truth.items() if name != "s0"}), QUICK)
    coverage = scores.coverage["scalar"]["better (strength)"]
    assert (coverage.items, coverage.answered) == (10, 9)
    found = scores.find("better (strength)", "scalar")
    assert found is not None
    assert found.with_failures.counts["pairs"] == 10
    assert found.estimate.counts["pairs"] == 9
