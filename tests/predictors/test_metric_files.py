"""Files with several metrics of each stimulus: VERSA's results and wide tables, each metric a model."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import HeartfeltError
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.predictors.files.metric_files import ColumnMetric, read_lines
from heartfelt.predictors.interface.predictor import Ask
from heartfelt.report.bench.write import run_bench
from heartfelt.scoring import ScoreOptions, Scores
from heartfelt.scoring.bench import Bench, BenchOptions, bench
from heartfelt.scoring.bench.pinned import ScoringRequest, answer_to
from heartfelt.scoring.bench.prediction_file import FileScorer
from heartfelt.serialization import read_json
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.scale import Points
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.studies import snapshot
from tests.scoring.compared import arena
from tests.web.challenge.made import benchmark

FEW = BenchOptions(score=ScoreOptions(resamples=100), questions=("valence",))
TRUTH = {f"clip_{i:03}.wav": (7 if (i // 2) % 2 == 0 else 3) + (1 if i % 2 == 0 else 0) for i in range(8)}
"""The mean of the three raters of the small study."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return snapshot(tmp_path_factory.mktemp("study"), 8)


def versa(**more: Any) -> list[dict[str, Any]]:
    """Results as VERSA writes them: numbers, recognised text, infinity, what is missing, and no order."""
    return [
        {"key": name, "utmos": 1 + mean / 2, "mcd": 12.0 - mean, "sir": float("inf") if mean == 8 else mean,
         "whisper_hyp_text": "hello", "universa_wer": 0.9 - mean / 10, "nisqa": {"mos": mean / 2}, **more}
        for name, mean in sorted(TRUTH.items(), key=lambda pair: pair[1])
    ]  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]], *, python: bool = False) -> Path:
    path.write_text("".join((str(row) if python else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


def correlation(scores: Scores, model: str) -> float | None:
    found = scores.find("valence", model, "pearson")
    return None if found is None else found.estimate.value


def test_every_metric_of_versas_results_is_a_model(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "versa.jsonl", versa())
    done = bench(data, str(path), FEW)
    assert done.scores.models == ("utmos", "mcd", "sir", "universa_wer", "nisqa.mos")
    assert correlation(done.scores, "utmos") == pytest.approx(1.0)
    assert correlation(done.scores, "mcd") == pytest.approx(-1.0)
    assert correlation(done.scores, "universa_wer") == pytest.approx(-1.0)
    reasons = dict(done.scores.ledger.select("what", "reason").rows())
    assert reasons == {"column": "versa.jsonl: 'whisper_hyp_text' holds text, so it is no metric"}
    problems = done.predictions.filter(model="sir", ok=False)["problem"].unique().to_list()
    assert problems == ["the file's sir is inf"]
    assert any(note.startswith("Lower is better of mcd and universa_wer:") for note in done.scores.notes)
    assert done.scores.model_info["mcd"].display_name == "mcd (lower is better)"


def test_a_mean_opinion_score_is_moved_onto_the_scale_and_anything_else_is_a_score(
    data: Snapshot, tmp_path: Path
) -> None:
    done = bench(data, f"file:{write(tmp_path / 'v.jsonl', versa())}", FEW)
    row = done.predictions.filter(stimulus="clip_000.wav")
    assert row.filter(model="utmos")["value"].item() == 9.0
    assert mentions(row.filter(model="utmos")["note"].item(), "1", "5 onto", "9")
    assert row.filter(model="mcd").select("value", "score").row(0) == (None, 4.0)


@pytest.mark.parametrize("python", [False, True])
def test_both_ways_versa_has_written_its_lines_give_the_same(python: bool, tmp_path: Path) -> None:
    rows = versa(vad=[[0.1, 2.0]], nothing=None, nan=float("nan"))
    read = read_lines([write(tmp_path / "result.txt", rows, python=python)])
    assert str(read) == str(read_lines([write(tmp_path / "other.jsonl", rows)]))
    assert read[0]["nisqa.mos"] == 1.5


def test_numbers_of_numpy_and_torch_in_python_text_are_read_and_nothing_is_run(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    path.write_text("{'key': 'a', 'x': np.float32(1.5), 'y': tensor(-2.0), 'z': open('gone', 'w'), 'w': Infinity}\n")
    assert read_lines([path]) == [{"key": "a", "x": 1.5, "y": -2.0, "z": "open('gone', 'w')", "w": float("inf")}]
    assert not Path("gone").exists()


def test_the_files_of_several_ranks_and_of_cpu_and_gpu_are_one(data: Snapshot, tmp_path: Path) -> None:
    rows = versa()
    write(tmp_path / "result.1.txt", rows[:5], python=True)
    write(tmp_path / "result.2.txt", rows[5:])
    write(tmp_path / "utt_result.gpu.txt", [{"key": row["key"], "pesq": row["utmos"]} for row in rows])
    done = bench(data, f"file[metrics=pesq+utmos]:{tmp_path}", FEW)
    assert done.scores.models == ("pesq", "utmos")
    assert set(done.predictions["ok"]) == {True}
    write(tmp_path / "utt_result.z.txt", [{"key": rows[0]["key"], "pesq": -1}])
    with pytest.raises(HeartfeltError, match=r"utt_result\.z\.txt.*line 1.*'clip_003\.wav'"):
        predictor_from(f"file:{tmp_path}")


def ledger(done: Bench) -> dict[str, str]:
    return {reason: what for what, reason in done.scores.ledger.select("what", "reason").rows()}


@pytest.mark.parametrize("ending", ["jsonl", "txt", "csv"])
def test_text_that_looks_like_numbers_is_no_metric(ending: str, data: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / f"v.{ending}"
    rows = versa(whisper_hyp_text="7", ref_text="12")
    if ending == "csv":
        pl.DataFrame(rows).select("key", "utmos", "whisper_hyp_text", "ref_text").write_csv(path)
    else:
        write(path, rows, python=ending == "txt")
    done = bench(data, f"file:{path}", FEW)
    assert {"whisper_hyp_text", "ref_text"}.isdisjoint(done.scores.models)
    assert "utmos" in done.scores.models
    for name in ("whisper_hyp_text", "ref_text"):
        assert f"v.{ending}: '{name}' holds text that looks like numbers, so it is no metric" in ledger(done)


def test_what_versa_says_of_its_own_run_is_no_metric(data: Snapshot, tmp_path: Path) -> None:
    """SOURCE: RESERVED_FIELDS and is_score_field of versa/result_summary.py."""
    facts = {"seed": 42, "provenance": {"sample_rate": 16000}, "_source_file": 3, "protocol_version": 1.5}
    path = write(tmp_path / "v.jl", [{"key": row["key"], "utmos": row["utmos"], **facts} for row in versa()])
    done = bench(data, f"file:{path}", FEW)
    assert done.scores.models == ("utmos",)
    assert {reason.split("'")[1] for reason in ledger(done)} == {
        "seed", "provenance.sample_rate", "_source_file", "protocol_version",
    }  # fmt: skip
    assert bench(data, f"file[metrics=seed]:{path}", FEW).scores.models == ("seed",)


def test_numbers_in_quotation_marks_are_numbers_where_all_are_or_where_they_are_chosen(
    data: Snapshot, tmp_path: Path
) -> None:
    quoted = [{"key": row["key"], "utmos": str(row["utmos"])} for row in versa()]
    path = write(tmp_path / "q.jsonl", quoted)
    assert correlation(bench(data, f"{path}", FEW).scores, "utmos") == pytest.approx(1.0)
    mixed = write(tmp_path / "m.jsonl", [{**row, "pesq": 1.0 + at} for at, row in enumerate(quoted)])
    assert bench(data, f"{mixed}", FEW).scores.models == ("pesq",)
    done = bench(data, f"{mixed}[metrics=utmos]", FEW)
    assert correlation(done.scores, "utmos") == pytest.approx(1.0)


def test_why_no_column_is_a_metric_is_said(data: Snapshot, tmp_path: Path) -> None:
    rows = [{"key": name, "utmos": float("nan"), "speech": True} for name in TRUTH]
    with pytest.raises(HeartfeltError, match=r"'utmos'.*'speech'"):
        bench(data, f"{write(tmp_path / 'v.jsonl', rows)}", FEW)


def test_every_file_of_a_folder_of_results_is_read_or_in_the_ledger(data: Snapshot, tmp_path: Path) -> None:
    """The folders are those of VERSA's launch_local.sh; its logs begin with its settings."""
    rows, score = versa(), tmp_path / "score"
    for folder in ("result", "logs", ".ipynb_checkpoints"):
        (score / folder).mkdir(parents=True)
    metrics = [{"wav": row["key"], "utmos": row["utmos"]} for row in rows]
    write(score / "result" / "a.result.gpu.txt", metrics[:5])
    write(score / "result" / "b.result.gpu.txt", metrics[5:], python=True)
    write(score / "result" / "a.result.cpu.txt", [{"wav": row["key"], "pesq": 1.0} for row in rows])
    write(score / ".ipynb_checkpoints" / "a-checkpoint.txt", [{**metrics[0], "utmos": 9.0}])
    (score / "logs" / "gpu.log").write_text("{'name': 'mcd_f0'}\nLoading\n")
    (score / "result" / "c.result.gpu.txt").write_text("")
    (score / "result" / "e.jsonl").write_text("\n \n")
    (score / "result" / "d.jsonl.gz").write_bytes(gzip.compress(b"{}"))
    (score / "avg_result.txt").write_text("utmos: 3\n")
    (score / "gone.txt").symlink_to(score / "nowhere")
    shutil.copy(Path(__file__).parent / "inspect_logs" / "mood.json", score)
    done = bench(data, f"file:{score}", FEW)
    assert done.scores.models == ("pesq", "utmos")
    assert correlation(done.scores, "utmos") == pytest.approx(1.0)
    told = {
        reason.removeprefix("score: '").removesuffix(", so it was not read")
        for reason, what in ledger(done).items()
        if what == "file"
    }
    assert told == {
        ".ipynb_checkpoints/a-checkpoint.txt' is hidden",
        "logs/gpu.log' is a log",
        "result/c.result.gpu.txt' is empty",
        "result/e.jsonl' is empty",
        "result/d.jsonl.gz' is compressed",
        "avg_result.txt' does not have one object per line",
        "gone.txt' is no file",
        "mood.json' is a log of inspect_ai",
    }
    assert mentions(done.scores.notes, "8 entries", "ledger.csv")


def test_a_folder_without_results_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(HeartfeltError, match=r"object.*empty"):
        predictor_from(f"file:{tmp_path}")
    (tmp_path / "avg.txt").write_text("utmos: 3")
    with pytest.raises(HeartfeltError, match=r"'avg\.txt'.*object"):
        predictor_from(f"file:{tmp_path}")


def test_metrics_are_chosen_reversed_and_labelled(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "versa.jsonl", versa())
    done = bench(data, [f"{path}[metrics=mcd+utmos,negate=lower]", f"new=file[metrics=utmos]:{path}"], FEW)
    assert done.scores.models == ("mcd", "utmos", "new utmos")
    assert correlation(done.scores, "mcd") == pytest.approx(1.0)
    assert done.predictions.filter(model="mcd")["note"].unique().to_list() == [
        "mcd with its sign reversed: lower is better"
    ]
    assert not any("Lower is better" in note for note in done.scores.notes)
    with pytest.raises(HeartfeltError, match="has no metric 'utmoss'") as caught:
        bench(data, f"{path}[metrics=utmoss]", FEW)
    assert "utmos" in caught.value.fix
    with pytest.raises(HeartfeltError, match=r"models.*'utmos'"):
        bench(data, [f"{path}[metrics=utmos]", f"file[metrics=utmos+mcd]:{path}"], FEW)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json"])
def test_a_wide_table_of_metrics_works_likewise(ending: str, data: Snapshot, tmp_path: Path) -> None:
    table = pl.DataFrame([{"Audio File": f"/data/{r['key']}", "utmos": r["utmos"], "mcd": r["mcd"]} for r in versa()])
    path = tmp_path / f"metrics.{ending}"
    if ending == "parquet":
        table.write_parquet(path)
    elif ending == "json":
        table.write_json(path)
    else:
        table.write_csv(path, separator="\t" if ending == "tsv" else ",")
    done = heartfelt.bench(data, str(path))
    assert done.scores.models == ("utmos", "mcd")
    assert correlation(done.scores, "utmos") == pytest.approx(1.0)
    problems = set(done.predictions.filter(question="mood")["problem"])
    assert problems == {f"{name} is a number, and this question has other answers" for name in ("utmos", "mcd")}


@pytest.mark.parametrize("name", ["key", "utt", "utt_id", "wav", "wavid", "filename", "file", "path", "clip", "audio"])
def test_the_stimulus_has_many_names(name: str, data: Snapshot, tmp_path: Path) -> None:
    rows = "\n".join(f"C:\\sounds\\{stimulus},{mean}" for stimulus, mean in TRUTH.items())
    path = tmp_path / "p.csv"
    path.write_text(f"{name},prediction\n{rows}\n")
    done = run(predictor_from(str(path)), cases(data, ["valence"]))
    assert done.counts["answered"] == 8


def test_of_several_columns_the_one_that_names_stimuli_is_used(data: Snapshot, tmp_path: Path) -> None:
    rows = "\n".join(f"{place},{stimulus},{mean}" for place, (stimulus, mean) in enumerate(TRUTH.items()))
    (tmp_path / "p.csv").write_text(f"id,key,value\n{rows}\n")
    assert run(predictor_from(f"{tmp_path / 'p.csv'}"), cases(data, ["valence"])).counts["answered"] == 8


def test_sheets_results_are_its_answers(data: Snapshot, tmp_path: Path) -> None:
    """SOURCE: results.csv of sheet/bin/inference.py (its assets/example_results.csv)."""
    rows = "\n".join(f"/data/{name},sysA,{name[:-4]},4.5,{mean / 2}" for name, mean in TRUTH.items())
    (tmp_path / "results.csv").write_text(f"wav_path,system_id,sample_id,avg_score,answer\n{rows}\n")
    done = bench(data, f"{tmp_path / 'results.csv'}", FEW)
    assert done.scores.models == (f"file:{tmp_path / 'results.csv'}",)
    assert done.predictions.filter(stimulus="clip_000.wav")["value"].item() == 4.0


def test_columns_with_a_usual_name_of_predictions_stay_one_model(data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("stimulus,valence,utmos\nclip_000,4,1\n")
    (tmp_path / "q.csv").write_text("stimulus,score,seconds_used\nclip_000,4,1\n")
    done = bench(data, [f"{tmp_path / 'p.csv'}", f"{tmp_path / 'q.csv'}"], FEW)
    assert done.scores.models == (f"file:{tmp_path / 'p.csv'}", f"file:{tmp_path / 'q.csv'}")


def test_several_metrics_asked_as_one_model_are_refused_with_their_names(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "v.jsonl", versa())
    with pytest.raises(HeartfeltError, match="holds 5 metrics: utmos, mcd") as caught:
        run(predictor_from(str(path)), cases(data, ["valence"]))
    assert caught.value.fix == f"Say which: file[metrics=utmos]:{path}."
    chosen = predictor_from(f"{path}[metrics=utmos]")
    assert run(chosen, cases(data, ["valence"])).counts["answered"] == 8
    assert pickle.loads(pickle.dumps(chosen)).identity == chosen.identity


@check_all(
    ("content", "problem"),
    [
        (b"", "holds no predictions|is empty"),
        (b'{"key": "a", "x": 1}\n{"key": "b", "x"', r"v.jsonl, line 2: .*the last line: the file seems to be cut off"),
        (b'{"key": "a", "x": 1, "x": 2}\n', "line 1: the name 'x' is there twice"),
        (b"{'key': 'a', 'x': 1, 'x': 2}\n", "line 1: the name 'x' is there twice"),
        (b'{"key": "a", "x": {"y": 1}, "x.y": 2}\n', r"line 1: the name 'x\.y' is there twice"),
        (b'{"key": "a", "x.y": 2, "x": {"y": 1}}\n', r"line 1: the name 'x\.y' is there twice"),
        (b'{"key": "a", "x": 1}\n[1]\n', "line 2: this is no object"),
        (b'{"key": "a", "x": "high"}\n', "has no column of predictions"),
        (b'{"key": "clip_000", "x": 1}\n{"key": "clip_000.wav", "x": 1}\n', "row 2: .*two predictions for 'valence'"),
        (b"\xff\xfe\x00", "v.jsonl"),
        (b"{" * 5000, "line 1"),
        (b"{'key': 'a', 'x': 1or}\n", "line 1: this is not valid JSON"),
    ],
)
def test_damaged_lines_are_named(content: bytes, problem: str, data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_bytes(content)
    with pytest.raises(HeartfeltError, match=problem):
        bench(data, f"{tmp_path / 'v.jsonl'}", FEW)


def test_a_file_that_is_not_there_is_named_as_a_file() -> None:
    with pytest.raises(HeartfeltError, match="There is no file nowhere"):
        predictor_from("nowhere.jsonl")


@pytest.mark.slow
def test_of_a_pair_the_lower_number_wins_where_lower_is_better(tmp_path: Path) -> None:
    """Raters' preferences follow a planted strength: a distance that falls with it must choose as a quality that grows with it."""
    judged, truth = arena(prompts=4)
    rows = [{"key": name, "mcd": -strength, "pesq": strength} for name, strength in truth.items()]
    done = bench(judged, f"{write(tmp_path / 'v.jsonl', rows)}", BenchOptions(score=ScoreOptions(resamples=100)))
    found = [done.scores.find("better", model) for model in ("mcd", "pesq")]
    values = [score.estimate.value or 0.0 for score in found if score is not None]
    assert len(values) == 2
    assert values[0] == values[1] > 0.6
    assert done.predictions.filter(model="mcd")["score"].to_list() == list(truth.values())
    assert all("lower is better" in note for note in done.predictions.filter(model="mcd")["note"])


def test_directions_are_found_by_the_metrics_name() -> None:
    lower = {"mcd", "universa_mcd", "f0rmse", "whisper_wer", "espnet_wer_delete", "cdpam_distance"}
    assert {
        name
        for name in (*lower, "utmos", "pesq", "power", "answer", "f0corr")
        if ColumnMetric.named(name).lower_is_better
    } == lower
    assert ColumnMetric.named("arecho_mcd").lower_is_better
    assert ColumnMetric.named("WER").lower_is_better
    assert (ColumnMetric.named("UTMOS").low, ColumnMetric.named("sigmos_ovrl").high) == (1.0, 5.0)
    assert ColumnMetric.named("arecho_audiobox_aesthetics_PQ").high == 10.0
    ask = Ask(question="quality", scale=Points(type="points", points=5), text="")
    assert ColumnMetric.named("mcd").prediction(4.0, ask).score == 4.0
    assert ColumnMetric.named("utmos").prediction(5.5, ask).value == 5.0


@pytest.mark.slow
def test_the_command_scores_every_metric_against_a_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frozen = benchmark()
    frozen.write(tmp_path / "benchmark")
    items = frozen.items.filter(question="valence", split="test")
    rows = [
        {"key": s, "utmos": 1 + (label - 1) / 2, "mcd": -label} for s, label in items.select("stimulus", "label").rows()
    ]
    command = ["score", str(tmp_path / "benchmark"), str(write(tmp_path / "versa.jsonl", rows)), "--part", "test"]
    assert main([*command, "--resamples", "100", "--out", str(tmp_path / "out")]) == 0
    scores = read_json(tmp_path / "out" / "scores.json", Scores)
    assert scores.models == ("utmos", "mcd")
    assert correlation(scores, "utmos") == pytest.approx(1.0)
    assert "Lower is better of mcd" in capsys.readouterr().out
    verified = main([*command, "--resamples", "100", "--verify", str(tmp_path / "out")])
    assert verified == 0
    with pytest.raises(HeartfeltError, match="holds 2 metrics"):
        FileScorer.of(frozen, ScoreOptions(part="test")).read(tmp_path / "versa.jsonl")


def test_scoring_says_why_entries_of_a_file_were_not_used_and_takes_folders(tmp_path: Path) -> None:
    frozen, folder = benchmark(), tmp_path / "results"
    items = frozen.items.filter(question="valence", split="test")["stimulus"].to_list()
    rows: list[dict[str, Any]] = [{"key": name, "utmos": 1.0 + at % 5} for at, name in enumerate(items)]
    folder.mkdir()
    strangers: list[dict[str, Any]] = [{"key": "x1", "utmos": 1}, {"key": "x2", "utmos": 1}, {"utmos": 3}]
    write(folder / "result.1.txt", rows[:3])
    write(folder / "result.2.txt", [*rows[3:], *strangers])
    (folder / "avg_result.txt").write_text("utmos: 3")
    write(tmp_path / "all.jsonl", [*strangers, *rows])
    frozen.write(tmp_path / "benchmark")
    options = ScoreOptions(part="test", resamples=100)
    done = [
        answer_to(ScoringRequest(str(tmp_path / "benchmark"), str(path), options))
        for path in (folder, tmp_path / "all.jsonl")
    ]
    unread = (
        "1 entry of the file could not be used: 'avg_result.txt' does not have one object per line, so it was not read."
    )
    strange = [
        "1 entry of the file could not be used: a row names no stimulus.",
        "2 entries of the file could not be used: no stimulus that is asked about has this name.",
    ]
    told = [[note for note in pinned.scores.notes if "could not be used" in note] for pinned in done]
    assert told == [[unread, *strange], strange]
    assert done[0].manifest.scored.predictions == done[1].manifest.scored.predictions


def test_columns_named_like_a_question_that_is_not_asked_are_no_metrics(data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("stimulus,valence\nclip_000,4\n")
    asked = BenchOptions(score=ScoreOptions(resamples=100), questions=("fits",))
    with pytest.raises(HeartfeltError, match="has no column of predictions"):
        bench(data, f"{tmp_path / 'p.csv'}", asked)


def test_a_metric_of_an_earlier_bench_keeps_its_direction(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "versa.jsonl", versa())
    run_bench(data, f"{path}[metrics=mcd]", tmp_path / "bench", FEW)
    done = run_bench(data, "constant:5", tmp_path / "bench", FEW)
    assert done.scores.models == ("mcd", "constant:5")
    assert any(note.startswith("Lower is better of mcd:") for note in done.scores.notes)
