"""Files of predictions about pairs, sets, systems and traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors import Run, cases, predictor_from, run
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.predictors.studies import snapshot
from tests.scoring.compared import arena, courses, rankings


def asked(snapshot: Snapshot, path: Path, options: str = "") -> Run:
    with predictor_from(f"file{f'[{options}]' if options else ''}:{path}") as predictor:
        return run(predictor, cases(snapshot, compares=predictor.compares))


def written(folder: Path, text: str, name: str = "pairs.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def told(done: Run, column: str, pair: str = "A00|B00") -> Any:
    (text,) = done.table.filter(pl.col("stimulus") == pair)[column]
    return json.loads(text)


def problem(done: Run, pair: str = "A00|B00") -> str:
    return str(done.table.filter(pl.col("stimulus") == pair)["problem"][0])


@pytest.fixture(scope="module")
def pairs() -> Snapshot:
    return arena(prompts=1, raters=2)[0]


@pytest.mark.slow
def test_probabilities_in_either_order(pairs: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path, "first,second,probability,tie\nB00,A00,0.3,0.1\nA00,C00.wav,0.9,0\n")
    done = asked(pairs, path)
    assert told(done, "shares") == {"B00": 0.3, "A00": pytest.approx(0.6), "tie": 0.1}
    assert told(done, "shares", "A00|C00") == {"A00": 0.9, "C00": pytest.approx(0.1), "tie": 0.0}
    assert mentions(problem(done, "B00|C00"), "file", "prediction", "item")


@pytest.mark.slow
def test_winners_and_differences(pairs: Snapshot, tmp_path: Path) -> None:
    done = asked(pairs, written(tmp_path, "first,second,winner\nA00,B00,B00\nC00,A00,first\nB00,C00,tie\n"))
    assert told(done, "members") == {"A00": 0.0, "B00": 1.0}
    assert told(done, "members", "A00|C00") == {"C00": 1.0, "A00": 0.0}
    assert told(done, "members", "B00|C00") == {"B00": 0.5, "C00": 0.5}
    graded = asked(pairs, written(tmp_path, "stimulus_a,stimulus_b,value\nB00,A00,3\n", "graded.csv"))
    members = told(graded, "members")
    assert members["B00"] - members["A00"] == 3.0


def test_columns_by_other_names(pairs: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path, "x,y,p1\nA00,B00,0.7\n")
    done = asked(pairs, path, "first=x,second=y,probability=p1")
    assert told(done, "shares")["A00"] == 0.7


def test_verdicts_in_both_orders_give_a_position_bias(pairs: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path, "first,second,winner\nA00,B00,first\nB00,A00,first\nA00,C00,A00\nC00,A00,A00\n")
    done = asked(pairs, path)
    assert told(done, "members") == {"A00": 0.5, "B00": 0.5}
    assert told(done, "orders") == [1.0, 1.0]
    assert told(done, "members", "A00|C00") == {"A00": 1.0, "C00": 0.0}
    assert told(done, "orders", "A00|C00") == [1.0, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("first,second,probability\nA00,A00,0.5\n", "row 1: the stimulus 'A00' is paired with itself"),
        (
            "first,second,probability\nA00,B00,0.7\nB00,A00,0.7\n",
            "row 2: the predictions for 'A00' and 'B00' contradict each other in the two orders",
        ),
        (
            "first,second,probability\nA00,B00,0.7\nA00,B00,0.7\n",
            "row 2: the pair 'A00', 'B00' has two predictions for 'better'",
        ),
        ("first,second,model\nA00,B00,m\n", "has no column of predictions about its pairs"),
    ],
)
def test_files_that_cannot_be_used_say_why(pairs: Snapshot, tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        asked(pairs, written(tmp_path, text))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1.4", "the file's probability 1.4 does not lie between 0 and 1"),
        ("-0.1", "the file's probability -0.1 does not lie between 0 and 1"),
        ("", "the file's cell for this pair is empty or not a number"),
        ("high", "the file's cell for this pair is empty or not a number"),
    ],
)
def test_a_cell_that_cannot_be_used_is_that_pairs_problem(
    pairs: Snapshot, tmp_path: Path, row: str, words: str
) -> None:
    done = asked(pairs, written(tmp_path, f"first,second,probability\nA00,B00,{row}\nA00,C00,0.5\n"))
    assert problem(done) == words
    assert told(done, "shares", "A00|C00") == {"A00": 0.5, "C00": 0.5}


def test_agreeing_orders_are_one_prediction_and_strangers_are_in_the_ledger(pairs: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path, "first,second,probability\nA00,B00,0.7\nB00,A00,0.3\nA00,Z99,0.5\n")
    done = asked(pairs, path)
    assert told(done, "shares") == {"A00": 0.7, "B00": pytest.approx(0.3)}
    assert done.ledger["stimulus"].to_list() == ["A00|Z99"]


@pytest.mark.slow
def test_values_of_the_members_of_sets(tmp_path: Path) -> None:
    snapshot, truth = rankings(prompts=2, raters=2)
    rows = [f"s{name[1:].lstrip('0') or '0'},{name},{rank}" for name, rank in truth.items()]
    done = asked(snapshot, written(tmp_path, "\n".join(["set,stimulus,value", *rows[:-1]])))
    assert told(done, "members", "A00|B00|C00|D00") == {
        name: pytest.approx(truth[name]) for name in ("A00", "B00", "C00", "D00")
    }
    assert mentions(problem(done, "A01|B01|C01|D01"), "file", "value", "'D01'")
    done = asked(snapshot, written(tmp_path, "\n".join(["set,stimulus,value", *rows, "s0,X,1"])))
    assert done.counts["failed"] == 0
    assert done.ledger.select("stimulus", "reason").rows() == [
        ("X", "pairs.csv: the set 'A00|B00|C00|D00' has no stimulus of this name")
    ]
    with pytest.raises(InputError, match=r"'s0'.*'A00'"):
        asked(snapshot, written(tmp_path, "set,stimulus,value\ns0,A00,1\ns0,A00,2\n"))


@pytest.mark.slow
def test_heartfelts_own_predictions_of_sets_are_read_again(pairs: Snapshot, tmp_path: Path) -> None:
    first = asked(pairs, written(tmp_path, "first,second,winner\nA00,B00,first\nB00,A00,first\nA00,C00,tie\n"))
    path = tmp_path / "predictions.parquet"
    first.table.write_parquet(path)
    again = asked(pairs, path)
    for column in ("members", "orders"):
        assert again.table[column].to_list() == first.table[column].to_list()


@pytest.mark.slow
def test_strengths_by_stimulus_by_axis_and_by_system(pairs: Snapshot, tmp_path: Path) -> None:
    long = asked(pairs, written(tmp_path, "stimulus,value\nA00,1\nB00,2\nC00,3\n"))
    assert long.table["value"].to_list() == [1.0, 2.0, 3.0]
    axis = asked(pairs, written(tmp_path, "stimulus,question,value\nA00,arousal,1\nB00,arousal,2\n"))
    assert axis.table["value"].to_list() == [1.0, 2.0, None]
    assert axis.table["note"][0] == "from the file's 'arousal'"
    wide = asked(pairs, written(tmp_path, "stimulus,arousal,valence\nA00,4,9\nB00,5,9\nC00,6,9\n"))
    assert wide.table["value"].to_list() == [4.0, 5.0, 6.0]
    system = asked(pairs, written(tmp_path, "system,value\nA,1\nB,2\nC,3\n"))
    assert system.table["value"].to_list() == [1.0, 2.0, 3.0]
    assert system.table["note"][0] == "the value of A"


@pytest.mark.slow
def test_traces_by_time_by_sample_and_as_lists(tmp_path: Path) -> None:
    snapshot, truth = courses(stimuli=2, raters=2, seconds=5)
    lines = [f"{name},{0.5 * k},{v}" for name, course in truth.items() for k, v in enumerate(course)]
    timed = asked(snapshot, written(tmp_path, "\n".join(["stimulus,time,value", *lines])))
    row = timed.table.row(0, named=True)
    assert (row["rate"], row["start"]) == (2.0, 0.0)
    assert json.loads(row["samples"]) == pytest.approx(truth["c0"])
    assert row["value"] == pytest.approx(sum(truth["c0"]) / 10)
    numbered = [f"{name},{k},{v}" for name, course in truth.items() for k, v in enumerate(course) if k != 3]
    counted = asked(snapshot, written(tmp_path, "\n".join(["stimulus,sample,value", *numbered])), "rate=2")
    samples = json.loads(counted.table["samples"][0])
    assert samples[3] is None
    assert samples[:3] == pytest.approx(truth["c0"][:3])
    assert counted.table["rate"][0] == 2.0
    records = [{"stimulus": name, "samples": course, "rate": 2} for name, course in truth.items()]
    listed = asked(snapshot, written(tmp_path, json.dumps(records), "traces.json"))
    assert json.loads(listed.table["samples"][1]) == pytest.approx(truth["c1"])
    table = pl.DataFrame(records)
    table.write_parquet(tmp_path / "traces.parquet")
    assert asked(snapshot, tmp_path / "traces.parquet").table["samples"].equals(listed.table["samples"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("stimulus,time,value\nc0,0,1\nc0,0,1\n", "has two values at one moment"),
        ("stimulus,time,value\nc0,0,1\nc0,1,1\nc0,2.5,1\n", "are not evenly spaced"),
        ("stimulus,time,value\nc0,soon,1\n", "row 1: 'soon' is not a time"),
        ("stimulus,time,value\nc0,0,1\n", "are not evenly spaced"),
    ],
)
def test_traces_that_cannot_be_used_say_why(tmp_path: Path, text: str, problem: str) -> None:
    snapshot, _ = courses(stimuli=2, raters=2, seconds=5)
    with pytest.raises(InputError, match=problem):
        asked(snapshot, written(tmp_path, text))


def test_a_trace_for_an_ordinary_question_is_a_problem(pairs: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps([{"stimulus": "A00", "samples": [1, 2]}]), "t.json")
    done = asked(pairs, path)
    assert mentions(done.table["problem"][0], "file", "trace", "question")


@pytest.mark.parametrize("content", ["{}", "[1]", "nonsense"])
def test_json_that_is_no_list_of_objects_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"list of objects|cannot be read as JSON"):
        predictor_from(f"file:{written(tmp_path, content, 'x.json')}")


def test_a_column_called_set_means_nothing_where_stimuli_were_judged_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "set,stimulus,question,value\ntest,clip_000.wav,valence,7\n")
    done = asked(snapshot(tmp_path / "study", 1), path)
    assert done.table.filter(pl.col("question") == "valence")["value"].to_list() == [7.0]
