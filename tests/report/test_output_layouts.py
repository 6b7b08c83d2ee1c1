"""Answers of a bench in the files of other tools, and back: ``--as answers`` and ``--as inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.benchmark import BenchOptions
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.report.bench.write import run_bench
from heartfelt.scoring import ScoreOptions
from heartfelt.snapshot import Snapshot
from tests.predictors.servers import Reply, serving
from tests.predictors.studies import snapshot

PARTS = ("stimulus", "question", "value", "score", "answer", "ok")


def options(layout: str, *questions: str) -> BenchOptions:
    return BenchOptions(ScoreOptions(resamples=100), layout=layout, questions=questions or None)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return snapshot(tmp_path_factory.mktemp("study"), 4)


def rated(request: dict[str, Any], count: int) -> Reply:
    """A chat model that answers every question, and refuses the audio of the third request."""
    del count
    asked = request["messages"][1]["content"][-1]["text"]
    answers = {"How pleasant": 6.5, "Which mood": "grief", "Does it fit": "yes"}
    form = {
        f"q{place}": {
            "reason": "it sounds so",
            "answer": next(a for words, a in answers.items() if words in line),
        }
        for place, line in enumerate(
            (line for line in asked.splitlines() if line[:1] == "q" and ":" in line), 1
        )
    }
    choice = {"message": {"role": "assistant", "content": json.dumps(form)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 40, "completion_tokens": 12}
    return Reply(body=json.dumps({"model": "seer-1", "choices": [choice], "usage": usage}).encode())


def test_a_chat_models_bench_becomes_a_log_that_comes_back_the_same(data: Snapshot, tmp_path: Path) -> None:
    """The log holds what was sent and written; inspect_ai 0.3.285 read it when this was written (``read_eval_log``)."""
    with serving(rated) as served:
        spec = f"seer=chat:seer@{served.url.rsplit('/', 1)[0]}/v1"
        done = run_bench(
            data, [spec, "low=constant:2"], tmp_path / "bench", options("inspect", "valence", "mood")
        )
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
    again = run(
        predictor_from(f"{tmp_path / 'bench' / 'inspect' / 'seer.json'}"), cases(data, ["valence", "mood"])
    )
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


def test_answers_become_the_answer_file_of_a_challenge(data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("stimulus,valence\nclip_000,4.5\nclip_001,x\nclip_002,6\nclip_003,7\n")
    run_bench(data, f"m=file:{tmp_path / 'p.csv'}", tmp_path / "bench", options("answers", "valence"))
    folder = tmp_path / "bench" / "answers" / "m"
    assert (folder / "answer.txt").read_text() == "clip_000,4.5\nclip_002,6.0\nclip_003,7.0\n"
    assert (folder / "missing.txt").read_text() == "clip_001.wav\n"
    again = run(predictor_from(f"{folder / 'answer.txt'}"), cases(data, ["valence"]))
    assert again.table["value"].to_list() == [4.5, None, 6.0, 7.0]


@pytest.mark.parametrize("layout", ["answers", "inspect"])
def test_models_with_similar_or_long_names_have_files_of_their_own(
    layout: str, data: Snapshot, tmp_path: Path
) -> None:
    names = ["a b", "a/b", "A_B", "n" * 130 + "1", "n" * 130 + "2", "鳥" * 100, "..", "plain"]
    models = [f"{name}=constant:{place + 1}" for place, name in enumerate(names)]
    run_bench(data, models, tmp_path / "bench", options(layout, "valence"))
    files = list((tmp_path / "bench" / layout).iterdir())
    assert len({file.stem.casefold() for file in files}) == len(names)
    assert {"plain", "plain.json"} & {file.name for file in files}


def test_a_study_without_numbers_has_no_answer_file(data: Snapshot, tmp_path: Path) -> None:
    study = data.study.changed(questions=[data.study.question("mood")])
    ratings = data.ratings.filter(pl.col("question") == "mood")
    moods = Snapshot.build(study, stimuli=data.stimuli, ratings=ratings)
    with pytest.raises(HeartfeltError, match="asks nothing that an answer file can hold"):
        run_bench(moods, "constant", tmp_path / "bench", options("answers"))


def test_the_four_answers_of_audiomos_come_back(tmp_path: Path) -> None:
    read = heartfelt.read(FORMATS["audiomos"].example(tmp_path / "in"))
    run_bench(read, "m=constant:4", tmp_path / "bench", options("answers"))
    answers = tmp_path / "bench" / "answers" / "m" / "answer.txt"
    assert answers.read_text().splitlines()[0] == "audiomos2025-track2-sysA1-uttdev0,4.0,4.0,4.0,4.0"
    again = run(predictor_from(str(answers)), cases(read))
    assert again.counts["answered"] == 4 * read.counts["stimuli"]
