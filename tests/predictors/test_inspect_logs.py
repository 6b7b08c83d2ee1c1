"""Logs of inspect_ai as predictions; the files in ``inspect_logs`` were written by inspect_ai itself (see its README)."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from heartfelt.errors import HeartfeltError
from heartfelt.predictors import Run, cases, predictor_from, run
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import BenchOptions, bench
from heartfelt.snapshot import Snapshot
from tests.cases import check_all
from tests.predictors.studies import snapshot

LOGS = Path(__file__).parent / "inspect_logs"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return snapshot(tmp_path_factory.mktemp("study"), 4)


def ran(path: Path, data: Snapshot, *questions: str, options: str = "") -> Run:
    return run(predictor_from(f"{path}{options}"), cases(data, questions))


def answers(done: Run) -> dict[str, list[Any]]:
    rows = done.table.select("stimulus", "value", "answer", "note", "problem").rows()
    return {name.removesuffix(".wav"): rest for name, *rest in rows}


def sample(id: str, epoch: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": id, "epoch": epoch, "input": "?", "target": "", "output": {"completion": ""}, **more}


def log(path: Path, samples: list[dict[str, Any]], status: str = "success", **plan: Any) -> Path:
    head = {"version": 2, "status": status, "eval": {"run_id": "r", **plan}}
    path.write_text(json.dumps({**head, "samples": samples}))
    return path


def test_epochs_are_averaged_and_an_error_is_said(data: Snapshot) -> None:
    """The file is compressed with Zstandard, as inspect_ai writes it now."""
    assert {info.compress_type for info in zipfile.ZipFile(LOGS / "pleasantness.eval").infolist()} == {93}
    assert answers(ran(LOGS / "pleasantness.eval", data, "valence")) == {
        "clip_000": [7.5, None, "mean of 2 epochs", None],
        "clip_001": [3.5, None, "mean of 2 epochs", None],
        "clip_002": [6.0, None, "mean of 1 epoch; 1 of 2 failed", None],
        "clip_003": [None, None, None, "the file holds no prediction for this item"],
    }


def test_letters_of_choices_become_categories(data: Snapshot) -> None:
    done = answers(ran(LOGS / "mood.json", data, "mood"))
    assert [rest[1] for rest in done.values()] == ["joy", "calm", "grief", None]
    assert done["clip_001"][0] == 2.0
    # The samples name their question, so the log is known to say nothing of another.
    both = ran(LOGS / "mood.json", data, "mood", "valence")
    assert both.counts["answered"] == 3


def test_a_bench_takes_a_log_like_any_file(data: Snapshot) -> None:
    done = bench(
        data,
        f"judge={LOGS / 'pleasantness.eval'}",
        BenchOptions(score=ScoreOptions(resamples=100), questions=("valence",)),
    )
    assert done.scores.coverage["judge"]["valence"].answered == 3


def test_what_was_answered_is_the_scorers_answer_its_number_or_the_models_words(data: Snapshot, tmp_path: Path) -> None:
    path = log(tmp_path / "log.json", [
        sample("clip_000", scores={"s": {"value": "C", "answer": "4"}}),
        sample("clip_001", scores={"s": {"value": 6.5}}),
        sample("clip_002", scores={"s": {"value": "I"}}, output={"completion": "Rating: 3"}),
        sample("clip_003", output={"completion": "between 3 and 4"}),
    ])  # fmt: skip
    assert answers(ran(path, data, "valence")) == {
        "clip_000": [4.0, None, None, None],
        "clip_001": [6.5, None, None, None],
        "clip_002": [3.0, None, "the only number in the answer", None],
        "clip_003": [None, None, None, "the log's answer 'between 3 and 4' is not a number"],
    }


def test_scorers_may_be_named_like_questions_or_return_a_value_for_each(data: Snapshot, tmp_path: Path) -> None:
    for scores in (
        {"valence": {"value": 5}, "mood": {"value": "calm"}},
        {"judge": {"value": {"valence": 5, "mood": "calm"}}},
    ):
        path = log(tmp_path / "log.json", [sample("clip_001", scores=scores)])
        done = ran(path, data, "valence", "mood").table.filter(ok=True)
        assert done.select("stimulus", "question", "value").rows() == [
            ("clip_001.wav", "valence", 5.0),
            ("clip_001.wav", "mood", 2.0),
        ]


def test_the_most_frequent_category_of_the_epochs_counts(data: Snapshot, tmp_path: Path) -> None:
    said = ["joy", "calm", "Calm", "grief", "joy", "calm"]
    path = log(tmp_path / "l.json", [sample("clip_000", n, scores={"s": {"answer": a}}) for n, a in enumerate(said)])
    assert answers(ran(path, data, "mood"))["clip_000"][:3] == [2.0, "calm", "answered in 3 of 6 epochs"]


def test_one_of_several_scorers_is_named(data: Snapshot, tmp_path: Path) -> None:
    path = log(tmp_path / "l.json", [sample("clip_000", scores={"a": {"value": 1}, "b": {"value": 2}})])
    assert answers(ran(path, data, "valence", options="[scorer=b]"))["clip_000"][0] == 2.0
    with pytest.raises(HeartfeltError, match=r"score.*'c'") as caught:
        ran(path, data, "valence", options="[scorer=c]")
    assert "a" in caught.value.fix
    with pytest.raises(HeartfeltError, match="has 2 scorers: a and b") as caught:
        ran(path, data, "valence")
    assert caught.value.fix == f"Say which: file[scorer=a]:{path}."
    with pytest.raises(HeartfeltError, match="does not say which question"):
        ran(path, data, "valence", "mood", options="[scorer=a]")


def test_a_sample_without_the_score_is_a_failed_prediction(data: Snapshot, tmp_path: Path) -> None:
    path = log(tmp_path / "l.json", [
        sample("clip_000", scores={"a": {"value": 1}, "b": {"value": 2}}),
        sample("clip_001", scores={"a": {"value": 3}}, output={"completion": "9"}),
        sample("clip_002", output={"completion": "9"}),
    ])  # fmt: skip
    done = answers(ran(path, data, "valence", options="[scorer=b]"))
    assert done["clip_000"][0] == 2.0
    assert done["clip_001"][3] == done["clip_002"][3] == "the sample has no score of 'b'"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "the scorer's value is nan"),
        (float("-inf"), "the scorer's value is -inf"),
        ([1, 2], "the scorer's value is a list and not one answer"),
        (
            {"pleasant": 4, "calm": 2},
            "the scorer's value has parts (pleasant and calm), and none is called like a question",
        ),
    ],
)
def test_what_the_model_wrote_does_not_stand_for_a_score_that_is_no_answer(
    value: Any, problem: str, data: Snapshot, tmp_path: Path
) -> None:
    """inspect_ai writes NaN for samples that a scorer left unscored."""
    path = log(tmp_path / "l.json", [sample("clip_000", scores={"s": {"value": value}}, output={"completion": "9"})])
    assert answers(ran(path, data, "valence"))["clip_000"] == [None, None, None, problem]


def test_scorers_and_parts_that_answer_nothing_are_in_the_ledger(data: Snapshot, tmp_path: Path) -> None:
    both = {"valence": {"value": 4}, "fluency": {"value": 9}}
    path = log(tmp_path / "l.json", [sample("clip_000", scores=both), sample("clip_001", scores=both)])
    done = ran(path, data, "valence", "mood")
    assert done.ledger.select("what", "reason").rows() == [
        ("score", "l.json: the scorer 'fluency' is no question that is asked")
    ]
    parts = {"judge": {"value": {"valence": 5, "vallence": 4}}, "other": {"value": 1}}
    path = log(tmp_path / "m.json", [sample("clip_000", scores=parts)])
    done = ran(path, data, "valence")
    assert answers(done)["clip_000"][0] == 5.0
    assert done.ledger["reason"].to_list() == [
        "m.json: the scorer 'other' was not used",
        "m.json: 'vallence' of the scorer 'judge' is no question that is asked",
    ]


def test_a_failed_sample_fails_in_every_question_its_scorers_answer(data: Snapshot, tmp_path: Path) -> None:
    path = log(tmp_path / "l.json", [
        sample("clip_000", scores={"valence": {"value": 4}, "mood": {"value": "joy"}}),
        sample("clip_001", error={"message": "timed\nout"}),
        sample("clip_002", scores={"valence": {"value": 5}}),
        sample("clip_003", scores={"valence": {"value": 5}}, invalidation={"reason": "a wrong file"}),
    ])  # fmt: skip
    done = ran(path, data, "valence", "mood").table
    assert dict(done.filter(question="valence").select("stimulus", "problem").rows()) == {
        "clip_000.wav": None, "clip_001.wav": "timed out", "clip_002.wav": None,
        "clip_003.wav": "the sample was declared invalid: a wrong file",
    }  # fmt: skip
    assert dict(done.filter(question="mood").select("stimulus", "problem").rows()) == {
        "clip_000.wav": None, "clip_001.wav": "timed out", "clip_002.wav": "the sample has no score of 'mood'",
        "clip_003.wav": "the sample was declared invalid: a wrong file",
    }  # fmt: skip


@check_all(
    ("status", "plan", "reason"),
    [
        ("success", {}, None),
        ("success", {"dataset": {"samples": 9, "sample_ids": ["clip_000", "clip_001"]}}, None),
        (
            "error",
            {"dataset": {"samples": 4}, "config": {"epochs": 2}},
            "the run was not finished (status 'error'): it holds 2 of 8 samples",
        ),
        ("cancelled", {}, "the run was not finished (status 'cancelled'): it holds 2 samples"),
        ("success", {"dataset": {"samples": 4}}, "the log is not complete: it holds 2 of 4 samples"),
    ],
)
@check_all("ending", ["json", "eval", "begun.eval"])
def test_an_unfinished_log_is_said_to_be_one(
    ending: str, status: str, plan: Any, reason: str | None, data: Snapshot, tmp_path: Path
) -> None:
    samples = [sample(name, scores={"s": {"value": 4}}) for name in ("clip_000", "clip_001")]
    path = log(tmp_path / "l.json", samples, status, **plan)
    if ending != "json":
        head = json.loads(path.read_text())
        path = tmp_path / "l.eval"
        with zipfile.ZipFile(path, "w") as archive:
            name = "_journal/start.json" if ending == "begun.eval" else "header.json"
            archive.writestr(name, json.dumps({part: head[part] for part in ("version", "status", "eval")}))
            for part in samples:
                archive.writestr(f"samples/{part['id']}_epoch_1.json", json.dumps(part))
    done = ran(path, data, "valence")
    assert answers(done)["clip_001"][0] == 4.0
    assert done.ledger["reason"].to_list() == ([] if reason is None else [f"{path.name}: {reason}"])


def test_a_log_that_never_ended_has_begun(data: Snapshot, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "l.eval", "w") as archive:
        archive.writestr("_journal/start.json", '{"version": 2, "eval": {"dataset": {"samples": 4}}}')
        archive.writestr("samples/a.json", json.dumps(sample("clip_000", scores={"s": {"value": 4}})))
    done = ran(tmp_path / "l.eval", data, "valence")
    assert done.ledger.select("what", "reason").rows() == [
        ("log", "l.eval: the run was not finished (status 'started'): it holds 1 of 4 samples")
    ]


def test_two_samples_about_one_stimulus_are_no_epochs(data: Snapshot, tmp_path: Path) -> None:
    about: dict[str, Any] = {"metadata": {"stimulus": "clip_000"}, "scores": {"s": {"value": 4}}}
    path = log(tmp_path / "l.json", [sample("1", **about), sample("2", **about)])
    with pytest.raises(HeartfeltError, match=r"1.*2 both.*'valence'.*'clip_000'"):
        ran(path, data, "valence")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I, GPT-4, cannot rate this.", None),
        ("I, GPT-4, say 6.", 6.0),
        ("between 5-7", None),
        ("It is \u22123 points off", -3.0),
        ("around 1e-3", None),
        ("**5.5**", 5.5),
    ],
)
def test_the_only_number_is_one_that_was_said(text: str, value: float | None, data: Snapshot, tmp_path: Path) -> None:
    path = log(tmp_path / "l.json", [sample("clip_000", output={"completion": text})])
    assert answers(ran(path, data, "valence"))["clip_000"][0] == value


def truncated(path: Path) -> None:
    path.write_bytes((LOGS / "pleasantness.eval").read_bytes()[:9000])


def flipped(path: Path) -> None:
    content = bytearray((LOGS / "pleasantness.eval").read_bytes())
    for place in range(1500, 4000, 50):
        content[place] ^= 0xFF
    path.write_bytes(bytes(content))


def without_samples(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")


def of_another_kind(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/a_epoch_1.json", '{"name": "a"}')


def half_a_sample(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/a_epoch_1.json", '{"id": "a", "epo')


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in "ab":
            archive.writestr(f"samples/{name}.json", json.dumps(sample("clip_000")))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (truncated, "not a complete log of inspect_ai"),
        (flipped, "not a complete log|not valid JSON"),
        (without_samples, "holds no predictions"),
        (of_another_kind, "this is no sample of inspect_ai"),
        (half_a_sample, "a_epoch_1.json: this is not valid JSON"),
        (twice, "the sample 'clip_000' has epoch 1 twice"),
        (lambda path: path.write_bytes(b""), "not a complete log of inspect_ai"),
        (lambda path: path.mkdir(), "x.eval"),
    ],
)
def test_damaged_logs_are_refused_in_words(damage: Any, problem: str, data: Snapshot, tmp_path: Path) -> None:
    damage(tmp_path / "x.eval")
    with pytest.raises(HeartfeltError, match=problem):
        ran(tmp_path / "x.eval", data, "valence")


def test_a_json_file_that_is_no_log_is_read_as_one_of_predictions(data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('[{"key": "clip_000", "value": 4}]')
    assert answers(ran(tmp_path / "p.json", data, "valence"))["clip_000"][0] == 4.0
    shutil.copy(LOGS / "mood.json", tmp_path / "copy.json")
    assert ran(tmp_path / "copy.json", data, "mood").counts["answered"] == 3
