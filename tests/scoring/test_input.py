"""What cannot be scored is said with a reason or a fix, never as a number."""

from __future__ import annotations

import json

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import labels
from heartfelt.scoring import ItemSelection, ScoreOptions, score, truth_of
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.scoring import made

FEW = ScoreOptions(resamples=200)


def rows(snapshot: Snapshot, **said: object) -> list[dict[str, object]]:
    return [{**r, **said} for r in snapshot.items.select("stimulus", "question").to_dicts()]


@pytest.mark.slow
def test_constant_predictions_have_errors_but_no_correlation() -> None:
    snapshot, _ = made.numbers(per_cell=2)
    result = score(snapshot, made.predictions("flat", rows(snapshot, value=5.0)), FEW)
    each, error = result.find("valence", "flat"), result.find("valence", "flat", "rmse")
    assert each is not None
    assert error is not None
    assert mentions(each.estimate.why_missing, "predictions", "vary")
    assert error.estimate.value is not None
    assert mentions(result.ranks[0].why_none, "predictions", "vary")
    assert json.loads(json.dumps(made.as_json(result), allow_nan=False))["ranks"][0]["why_none"]


@pytest.mark.slow
def test_one_item_and_no_answer() -> None:
    snapshot, _ = made.numbers(per_cell=1)
    options = ScoreOptions(resamples=200, selection=ItemSelection(limit=1))
    drawn = truth_of(snapshot, options).items["stimulus"][0]
    first = [row for row in rows(snapshot, value=4.0) if row["stimulus"] == drawn]
    single = score(snapshot, made.predictions("one", first), options)
    for each in single.scores:
        assert each.estimate.value is None
        assert each.estimate.why_missing
    silent = score(snapshot, made.predictions("none", rows(snapshot, problem="gone")), FEW)
    for each in silent.scores:
        assert each.estimate.value is None
        assert each.with_failures.value is None
    assert silent.coverage["none"]["valence"].answered == 0
    json.dumps(made.as_json(silent), allow_nan=False)


@pytest.mark.slow
def test_predictions_of_something_else() -> None:
    snapshot, _ = made.numbers(per_cell=1)
    other = made.predictions("m", [{"stimulus": "elsewhere", "question": "valence", "value": 1.0}])
    with pytest.raises(InputError, match=r"prediction.*item.*'felt'") as caught:
        score(snapshot, other, FEW)
    assert "stimulus and question" in caught.value.fix.casefold()


def test_the_same_prediction_twice() -> None:
    snapshot, _ = made.numbers(per_cell=1)
    twice = pl.concat([made.predictions("m", rows(snapshot, value=1.0))] * 2)
    with pytest.raises(InputError, match="share their key"):
        score(snapshot, twice, FEW)


@pytest.mark.slow
def test_missing_predictions_are_failures() -> None:
    snapshot, _ = made.numbers(per_cell=2)
    result = score(snapshot, made.predictions("m", rows(snapshot, value=3.0)[:10]), FEW)
    covered = result.coverage["m"]["valence"]
    assert (covered.items, covered.answered) == (48, 10)
    assert covered.problems == {"no prediction was given": 38}


def test_a_study_without_labels() -> None:
    snapshot, _ = made.numbers(per_cell=1)
    empty = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings.clear())
    with pytest.raises(InputError, match=r"item.*'felt'.*label"):
        truth_of(empty)


@pytest.mark.slow
def test_labels_need_their_snapshot() -> None:
    snapshot, truth = made.numbers(per_cell=2)
    answer = made.predictions("m", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()])
    with pytest.raises(InputError, match="Pass the snapshot"):
        score(labels(snapshot), answer, FEW)
    with_it = score(labels(snapshot), answer, FEW, snapshot=snapshot)
    assert made.as_json(with_it)["scores"] == made.as_json(score(snapshot, answer, FEW))["scores"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "Use 5"),
        ({"resamples": 5}, "Use 10,000"),
        ({"confidence": 1.0}, "0.95"),
        ({"ties": "highest"}, "missing"),
        ({"slices": ("colour",)}, "There are"),
        ({"part": "test"}, "freeze a benchmark"),
        ({"selection": ItemSelection(unanimous=True)}, "unanimous"),
        ({"selection": ItemSelection(exclude_flagged=True)}, "flagged"),
        ({"selection": ItemSelection(full_coverage=99)}, "less strict"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], words: str) -> None:
    snapshot, _ = made.numbers(per_cell=1)
    with pytest.raises(InputError) as caught:
        score(snapshot, made.predictions("m", rows(snapshot, value=1.0)), ScoreOptions(**options))  # type: ignore[arg-type]  # wrong on purpose
    assert words in caught.value.fix


@pytest.mark.slow
def test_a_selection_leaves_rows_in_the_ledger() -> None:
    snapshot, _ = made.presence(stimuli=20, raters=3)
    truth = truth_of(snapshot, ScoreOptions(selection=ItemSelection(unanimous=True, limit=5)))
    assert truth.items.height == 5
    assert truth.items["unanimous"].all()
    why = truth.ledger.filter(pl.col("stage") == "score")["reason"].value_counts().to_dicts()
    assert {row["reason"] for row in why} == {"not unanimous", "not in the sample of 5 items (seed 0)"}
    assert sum(row["count"] for row in why) == 35


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scores() -> None:
    snapshot, truth = made.numbers(per_cell=2)
    answer = made.predictions(
        "m", [{"stimulus": n, "question": "valence", "value": v + len(n)} for n, v in truth.items()]
    )
    first, again = (json.dumps(made.as_json(score(snapshot, answer, FEW))) for _ in range(2))
    assert first == again
    other = score(snapshot, answer, ScoreOptions(resamples=200, seed=1))
    assert json.dumps(made.as_json(other)) != first


@pytest.mark.slow
def test_a_model_that_does_not_speak_of_a_task_is_no_failure() -> None:
    snapshot, truth = made.presence(stimuli=20)
    keys = [{"stimulus": s, "question": q} for s, q in truth]
    values = [{**key, "value": value} for key, value in zip(keys, truth.values(), strict=True)]
    scores = [{**key, "score": value - 0.5} for key, value in zip(keys, truth.values(), strict=True)]
    both = pl.concat([made.predictions("degrees", values), made.predictions("similar", scores)])
    result = score(snapshot, both, ScoreOptions(resamples=200, ceilings=False))
    assert [rank.model for rank in result.ranked("presence (degree)")] == ["degrees"]
    assert set(result.coverage["similar"]) == {"presence"}
    assert mentions(result.notes, "similar", "'presence (degree)'")
    alone = score(snapshot, made.predictions("similar", scores), ScoreOptions(resamples=200, ceilings=False))
    assert [task.id for task in alone.tasks] == ["presence"]
    assert mentions(alone.notes, "model", "'presence (degree)'")
