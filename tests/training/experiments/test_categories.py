"""Experiments on a question with categories: accuracy and macro F1 next to their ceiling, checked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.api.experiments import setting_values
from heartfelt.errors import InputError
from heartfelt.report.pages.experiments import markdown_table, write_experiment
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import parse_study
from heartfelt.training.experiments import (
    expected_seconds,
    plan_ablation,
    plan_learning_curve,
    plan_sweep,
    plan_transfer,
    run_plan,
    run_sweep,
)
from tests.training.experiments.studies import setup_of
from tests.training.studies import STUDY, WIDTH, value_of


def feelings(folder: Path, *, kinds: int = 3, wrong: float = 0.2, words: str = "calm, happy, sad") -> Snapshot:
    """Files whose largest of the first three numbers decides what most raters choose; one vote in five is at random."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, stimuli, ratings = stream(7, "categories"), [], []
    for place in range(60):
        name, x = f"{'AB'[place % 2]}_{place:03d}x.wav", rng.normal(0, 1, WIDTH)
        np.savetxt(folder / name, x, fmt="%.6f")
        stimuli.append({"stimulus": name, "system": "AB"[place % 2], "path": name})
        for rater in range(5):
            code = int(rng.integers(kinds)) if rng.random() < wrong else int(x[:kinds].argmax())
            ratings.append({"rater": f"r{rater}", "stimulus": name, "question": "feeling", "value": float(code)})
    text = STUDY.replace(
        "{type: points, points: 9, anchors: {1: very unpleasant, 9: very pleasant}}",
        f"{{type: categories, categories: [{words}]}}",
    ).replace("id: valence,", "id: feeling,")
    text = text.replace(", axis: valence}", "}")
    return Snapshot.build(
        parse_study(text, "feelings"),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="feelings", media_root=folder),
    )


@pytest.mark.slow
def test_categories_are_scored_by_accuracy_next_to_the_ceiling(tmp_path: Path) -> None:
    snapshot = feelings(tmp_path / "media")
    setup = setup_of(tmp_path, snapshot, resamples=200)
    plan = plan_ablation(setup, ["first"], ["without", "only"])
    assert expected_seconds(setup, plan, tmp_path / "out") is not None
    assert not (tmp_path / "out").exists()
    made = run_plan(setup, plan, tmp_path / "out")
    only, without, chance = (made.row(name) for name in ("only first", "without first", "shuffled labels"))
    assert only.accuracy is not None
    assert only.macro_f1 is not None
    # By hand: the share of tested stimuli whose predicted code is the mode of the votes.
    condition = next(each for each in plan.conditions if each.name == "only first")
    right = []
    for cell in condition.cells[0]:
        predicted = setup.fit.fit_and_predict(cell).of("feeling")
        right += list(predicted == setup.pool.truth["feeling"][cell.test])
    assert value_of(only.accuracy) == pytest.approx(float(np.mean(right)))
    assert only.n == 60
    assert value_of(only.score) > 0.75 > 0.55 > value_of(without.score)
    assert value_of(chance.score) < 0.6
    assert value_of(only.score) <= value_of(only.ceiling) + 0.05
    assert only.pearson.value is None
    assert "categories" in (only.pearson.why_missing or "")
    most = made.row("most frequent training label")
    assert 0.2 < value_of(most.score) < 0.6
    assert value_of(most.second) < value_of(most.score)
    write_experiment(made, tmp_path / "out")
    assert "| accuracy | SD over seeds | difference | macro F1 |" in "\n".join(markdown_table(made))
    assert "accuracy" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    table = pl.read_csv(tmp_path / "out" / "table.csv")
    assert table.filter(condition="only first")["accuracy"].item() == pytest.approx(value_of(only.score), abs=1e-6)
    known = expected_seconds(setup, plan, tmp_path / "out")
    assert known is not None
    assert known[1] == made.cells
    curve = plan_learning_curve(setup, "ratings", (1, 5))
    grown = run_plan(setup, curve, tmp_path / "curve")
    assert [row.accuracy is not None for row in grown.rows] == [True] * len(grown.rows)
    search = run_sweep(setup, plan_sweep(setup, {"keep": ["first", "rest"]}, inner=2), tmp_path / "sweep")
    assert search.selections[0].outer == search.row("chosen on validation folds").accuracy
    assert {each.name: each.chosen for each in search.tried} == {"keep=first": 3, "keep=rest": 0}


@pytest.mark.slow
def test_sources_must_offer_the_same_categories(tmp_path: Path) -> None:
    first = feelings(tmp_path / "a")
    with pytest.raises(InputError, match=r"'feeling'.*calm, happy and sad"):
        setup_of(tmp_path, first, feelings(tmp_path / "b", words="calm, happy, angry"))
    with pytest.raises(InputError, match=r"'feeling'.*stimulus.*label"):
        setup_of(tmp_path, feelings(tmp_path / "c", kinds=1))
    setup = setup_of(tmp_path, first, feelings(tmp_path / "d"))
    assert plan_transfer(setup).conditions[0].tested_on == "first"


def test_a_name_with_a_comma_stays_whole() -> None:
    names = ["signal", "signal, levelled", "rhythm, levelled", "tags"]
    assert setting_values("signal,tags", names) == ["signal", "tags"]
    assert setting_values("signal, levelled,tags", names) == ["signal, levelled", "tags"]
    assert setting_values("tags+signal, levelled+rhythm, levelled, signal", names) == [
        "tags+signal, levelled+rhythm, levelled",
        "signal",
    ]
