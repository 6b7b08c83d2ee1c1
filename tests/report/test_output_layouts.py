"""Answers of a bench in the files of other tools, and back: ``--as answers`` and ``--as inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.report.bench.write import run_bench
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import BenchOptions
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.predictors.servers import Reply, serving
from tests.predictors.studies import snapshot
from tests.scoring.compared import arena, courses

PARTS = ("stimulus", "question", "value", "score", "answer", "ok")


def options(layout: str, *questions: str) -> BenchOptions:
    return BenchOptions(score=ScoreOptions(resamples=100), layout=layout, questions=questions or None)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return snapshot(tmp_path_factory.mktemp("study"), 4)


def rated(request: dict[str, Any], count: int) -> Reply:
    """A chat model that answers every question, and refuses the audio of the third request."""
    del count
    asked = request["messages"][1]["content"][-1]["text"]
    answers = {"How pleasant": 6.5, "Which mood": "grief", "Does it fit": "yes"}
    form = {
        f"q{place}": {"reason": "it sounds so", "answer": next(a for words, a in answers.items() if words in line)}
        for place, line in enumerate((line for line in asked.splitlines() if line[:1] == "q" and ":" in line), 1)
    }
    choice = {"message": {"role": "assistant", "content": json.dumps(form)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 40, "completion_tokens": 12}
    return Reply(body=json.dumps({"model": "seer-1", "choices": [choice], "usage": usage}).encode())


def test_a_chat_models_bench_becomes_a_log_that_comes_back_the_same(data: Snapshot, tmp_path: Path) -> None:
    """The log holds what was sent and written; inspect_ai 0.3.285 read it when this was written (``read_eval_log``)."""
    with serving(rated) as served:
        spec = f"seer=chat:seer@{served.url.rsplit('/', 1)[0]}/v1"
        done = run_bench(data, [spec, "low=constant:2"], tmp_path / "bench", options("inspect", "valence", "mood"))
    log = json.loads((tmp_path / "bench" / "inspect" / "seer.json").read_text())
    assert (log["version"], log["status"], log["eval"]["model"]) == (2, "success", "seer")
    assert log["eval"]["dataset"]["sample_ids"] == [sample["id"] for sample in log["samples"]]
    first = log["samples"][0]
    assert first["metadata"] == {"stimulus": "clip_000.wav", "question": "valence"}
    assert "How pleasant is it?" in first["input"]
    assert json.loads(first["output"]["completion"])["q1"]["answer"] == 6.5
    assert first["output"]["usage"] == {"input_tokens": 40, "output_tokens": 12, "total_tokens": 52}
    assert first["scores"]["prediction"]["explanation"] == "it sounds so"
    assert first["target"] == "8"
    assert log["stats"]["model_usage"]["seer"]["input_tokens"] == 40 * len(served.requests)
    again = run(predictor_from(f"{tmp_path / 'bench' / 'inspect' / 'seer.json'}"), cases(data, ["valence", "mood"]))
    before = done.predictions.filter(model="seer")
    assert again.table.select(PARTS).equals(before.select(PARTS))
    assert again.table["reason"].to_list() == before["reason"].to_list()


def test_scores_off_the_scale_and_failures_come_back_from_a_log(data: Snapshot, tmp_path: Path) -> None:
    rows = [{"key": "clip_000", "mcd": 4.25}, {"key": "clip_001", "mcd": 3.5}]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run_bench(data, f"{tmp_path / 'v.jsonl'}", tmp_path / "bench", options("inspect", "valence"))
    again = run(predictor_from(f"{tmp_path / 'bench' / 'inspect' / 'mcd.json'}"), cases(data, ["valence"]))
    assert again.table.select(*PARTS, "problem").equals(done.predictions.select(*PARTS, "problem"))
    assert again.table["score"].to_list() == [4.25, 3.5, None, None]


def test_every_part_of_a_prediction_comes_back_from_a_log(data: Snapshot, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"stimulus": "clip_000", "question": "mood", "shares": {"joy": 0.6, "grief": 0.4}, "answer": "joy"},
        {"stimulus": "clip_000", "question": "valence", "value": 5.25, "low": 4, "high": 6.5, "note": "unsure"},
        {"stimulus": "clip_001", "question": "valence", "value": 5, "reason": "it is loud"},
        {"stimulus": "clip_001", "question": "fits", "value": 0.7, "score": 1.5},
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run_bench(
        data, f"m={tmp_path / 'p.jsonl'}", tmp_path / "bench", options("inspect", "valence", "fits", "mood")
    )
    again = run(predictor_from(f"{tmp_path / 'bench' / 'inspect' / 'm.json'}"), cases(data))
    run_only = ["model", "seconds", "call", "attempts"]
    assert again.table.drop(run_only, strict=False).equals(done.predictions.drop(run_only, strict=False))
    assert again.ledger.height == 0


@pytest.mark.parametrize(
    "rows",
    [
        [{"first": "B00", "second": "A00", "probability": 0.3, "tie": 0.1}],
        [{"first": "A00", "second": "B00", "winner": "first"}, {"first": "B00", "second": "A00", "winner": "first"}],
    ],
)
def test_predictions_of_pairs_come_back_from_a_log_and_from_a_table(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    pairs = arena(prompts=1, raters=3)[0]
    _comes_back(pairs, rows, tmp_path)


def test_predictions_of_traces_come_back_from_a_log_and_from_a_table(tmp_path: Path) -> None:
    traces, truth = courses(stimuli=2, raters=2, seconds=5)
    _comes_back(
        traces,
        [{"stimulus": name, "samples": [*course[:-1], None], "rate": 2, "start": 1} for name, course in truth.items()],
        tmp_path,
    )


def _comes_back(source: Snapshot, rows: list[dict[str, Any]], folder: Path) -> None:
    (folder / "p.jsonl").write_text("\n".join(json.dumps(row, default=float) for row in rows))
    done = run_bench(source, f"m={folder / 'p.jsonl'}", folder / "bench", options("inspect"))
    assert done.predictions["ok"].any()
    done.predictions.write_csv(folder / "table.csv")
    for path in (folder / "bench" / "inspect" / "m.json", folder / "table.csv"):
        predictor = predictor_from(str(path))
        again = run(predictor, cases(source, compares=predictor.compares)).table
        for name in again.columns:
            if name not in {"model", "seconds", "call", "attempts"}:
                assert again[name].to_list() == done.predictions[name].to_list(), (path.name, name)


def test_a_score_edited_in_inspect_counts_as_edited(data: Snapshot, tmp_path: Path) -> None:
    run_bench(data, "m=constant:4", tmp_path / "bench", options("inspect", "valence"))
    path = tmp_path / "bench" / "inspect" / "m.json"
    log = json.loads(path.read_text())
    log["samples"][0]["scores"]["prediction"] |= {"value": 6, "history": [{"value": 4}, {"value": 6}]}
    path.write_text(json.dumps(log))
    assert run(predictor_from(str(path)), cases(data, ["valence"])).table["value"].to_list()[:2] == [6.0, 4.0]


def test_answers_become_the_answer_file_of_a_challenge(data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("stimulus,valence\nclip_000,4.5\nclip_001,x\nclip_002,6\nclip_003,7\n")
    run_bench(data, f"m=file:{tmp_path / 'p.csv'}", tmp_path / "bench", options("answers", "valence"))
    folder = tmp_path / "bench" / "answers" / "m"
    assert (folder / "answer.txt").read_text() == "clip_000,4.5\nclip_002,6.0\nclip_003,7.0\n"
    assert (folder / "missing.txt").read_text() == "clip_001.wav\n"
    again = run(predictor_from(f"{folder / 'answer.txt'}"), cases(data, ["valence"]))
    assert again.table["value"].to_list() == [4.5, None, 6.0, 7.0]


@pytest.mark.parametrize("layout", ["answers", "inspect"])
def test_models_with_similar_or_long_names_have_files_of_their_own(layout: str, data: Snapshot, tmp_path: Path) -> None:
    names = ["a b", "a/b", "A_B", "n" * 130 + "1", "n" * 130 + "2", "鳥" * 100, "..", "plain"]
    models = [f"{name}=constant:{place + 1}" for place, name in enumerate(names)]
    run_bench(data, models, tmp_path / "bench", options(layout, "valence"))
    files = list((tmp_path / "bench" / layout).iterdir())
    assert len({file.stem.casefold() for file in files}) == len(names)
    assert {"plain", "plain.json"} & {file.name for file in files}


@pytest.mark.parametrize("layout", ["answers", "inspect"])
def test_models_with_similar_names_have_files_of_their_own(layout: str, data: Snapshot, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 60) / ("y" * 60)
    long.mkdir(parents=True)
    for name, value in (("a", 3), ("b", 7)):
        (long / f"{name}.csv").write_text(f"stimulus,value\nclip_000,{value}\n")
    models = ["m/1=constant:3", "m 1=constant:7", str(long / "a.csv"), str(long / "b.csv")]
    done = run_bench(data, models, tmp_path / "bench", options(layout, "valence"))
    written = sorted((tmp_path / "bench" / layout).rglob("answer.txt" if layout == "answers" else "*.json"))
    again = [run(predictor_from(str(path)), cases(data, ["valence"])).table["value"][0] for path in written]
    assert sorted(again) == [3.0, 3.0, 7.0, 7.0]
    homes = [one.folder for one in done.runs]
    assert len(set(homes)) == 4


def test_stimuli_that_differ_in_their_ending_keep_it_in_an_answer_file(tmp_path: Path) -> None:
    study = parse_study(
        "name: s\nscales:\n  five: {type: points, points: 5}\nquestions: [{id: q, text: Q, scale: five}]\n"
    )
    names = ["a.wav", "a.mp3", "b.wav"]
    ratings = [
        {"rater": who, "stimulus": name, "question": "q", "value": float(1 + at)}
        for who in ("r1", "r2")
        for at, name in enumerate(names)
    ]
    twins = Snapshot.build(study, stimuli=pl.DataFrame({"stimulus": names}), ratings=pl.DataFrame(ratings))
    run_bench(twins, "m=constant:4", tmp_path / "bench", options("answers"))
    answers = tmp_path / "bench" / "answers" / "m" / "answer.txt"
    assert answers.read_text() == "a.wav,4.0\na.mp3,4.0\nb,4.0\n"
    assert run(predictor_from(str(answers)), cases(twins)).counts["answered"] == 3


def test_a_study_without_numbers_has_no_answer_file(data: Snapshot, tmp_path: Path) -> None:
    study = data.study.changed(questions=[data.study.question("mood")])
    ratings = data.ratings.filter(pl.col("question") == "mood")
    moods = Snapshot.build(study, stimuli=data.stimuli, ratings=ratings)
    with pytest.raises(HeartfeltError, match=r"answer.*file"):
        run_bench(moods, "constant", tmp_path / "bench", options("answers"))


def test_the_four_answers_of_audiomos_come_back(tmp_path: Path) -> None:
    read = heartfelt.read(FORMATS["audiomos"].example(tmp_path / "in"))
    run_bench(read, "m=constant:4", tmp_path / "bench", options("answers"))
    answers = tmp_path / "bench" / "answers" / "m" / "answer.txt"
    assert answers.read_text().splitlines()[0] == "audiomos2025-track2-sysA1-uttdev0,4.0,4.0,4.0,4.0"
    again = run(predictor_from(str(answers)), cases(read))
    assert again.counts["answered"] == 4 * read.counts["stimuli"]
