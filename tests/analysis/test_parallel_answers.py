from __future__ import annotations

import polars as pl

from heartfelt.analysis.panel.parallel_answers import MOST_RATERS, parallel_answers
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Points

ANSWERS = [3, 7, 1, 9, 4, 8, 2, 6, 5, 9, 1, 7]


def snapshot(sequences: dict[str, list[int]]) -> Snapshot:
    study = Study(
        name="s", scales={"nine": Points(type="points", points=9)}, questions=[Question(id="q", text="?", scale="nine")]
    )
    rows = [
        {"rater": rater, "stimulus": f"{rater}-{place}", "question": "q", "value": float(value), "position": place}
        for rater, values in sequences.items()
        for place, value in enumerate(values, 1)
    ]
    stimuli = pl.DataFrame({"stimulus": [row["stimulus"] for row in rows]})
    # Rows in another order: the position counts.
    return Snapshot.build(
        study,
        stimuli=stimuli,
        ratings=pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=1),
        source=Source(format="t", name="t"),
    )


def lined(sequences: dict[str, list[int]]) -> list[list[float | None]]:
    made = parallel_answers(snapshot(sequences), list(sequences))
    return [[None if trial is None else trial.answers["q"] for trial in line] for line in made.lines]


def test_copies_stand_below_each_other() -> None:
    assert lined({"a": ANSWERS, "b": ANSWERS}) == [ANSWERS, ANSWERS]


def test_a_lost_trial_leaves_a_gap() -> None:
    first, second = lined({"a": ANSWERS, "b": ANSWERS[:4] + ANSWERS[5:]})
    assert first == ANSWERS
    assert second == [*ANSWERS[:4], None, *ANSWERS[5:]]


def test_a_trial_too_many_opens_a_column_for_everybody() -> None:
    lines = lined({"a": ANSWERS, "b": [*ANSWERS[:6], 1, *ANSWERS[6:]], "c": ANSWERS})
    assert lines[0] == lines[2] == [*ANSWERS[:6], None, *ANSWERS[6:]]
    assert lines[1] == [*ANSWERS[:6], 1, *ANSWERS[6:]]


def test_nothing_is_lost_or_moved_past_another() -> None:
    sequences = {"a": ANSWERS, "b": [9, 9, *ANSWERS[1:7], 5, 5], "c": ANSWERS[::-1]}
    for values, line in zip(sequences.values(), lined(sequences), strict=True):
        assert [value for value in line if value is not None] == values


def test_a_crowd_is_cut_and_counted() -> None:
    made = parallel_answers(snapshot({f"r{n}": ANSWERS for n in range(11)}), [f"r{n}" for n in range(11)])
    assert len(made.raters) == MOST_RATERS
    assert made.left_out == 11 - MOST_RATERS


def test_raters_without_answers_are_no_lines() -> None:
    made = parallel_answers(snapshot({"a": ANSWERS}), ["nobody"])
    assert (made.raters, made.lines, made.left_out) == ((), (), 1)
