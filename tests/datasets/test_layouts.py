"""emolia-bench's files and MusicEval's table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from heartfelt.datasets.emolia.bench.benchmark_files import band, write_emolia_bench
from heartfelt.datasets.musiceval.layout import COLUMNS, eight_figures, table, write_musiceval
from heartfelt.datasets.musiceval.reader import MusicEvalFormat
from heartfelt.errors import InputError
from heartfelt.formats.format import system_scores
from heartfelt.predictors import cases, predictor_from, run
from heartfelt.scoring import ItemSelection, ScoreOptions, score, truth_of
from heartfelt.snapshot import Snapshot
from tests.datasets.emolia_data import dim, emo
from tests.facts import mentions
from tests.scoring import made

SOURCE = "the contract's columns; scipy.stats on the answer file; votes and decisions counted by hand in emolia_data.py"
_AFTER = "benchmark_bucket,n_raters,majority_present,audio_path,prompt,similarity,pred_present,ok,error"
EMO = f"file_name,queried_emotion,task_type,{_AFTER}"
DIM = f"file_name,dimension,level,polarity,{_AFTER}"
ANNOTATIONS = (
    "annotation_id,username,source_emotion,queried_emotion,task_type,file_name,rating,reaction_time_ms,sample_time_ms,"
    "created_at"
)


def bench(snapshot: Snapshot, folder: Path, options: ScoreOptions, failed: tuple[str, ...] = ()) -> Path:
    truth = truth_of(snapshot, options)
    answer = run(predictor_from("sham"), cases(snapshot, items=truth.items)).table
    gone = pl.col("stimulus").is_in(list(failed))
    answer = answer.with_columns(
        pl.when(gone).then(None).otherwise("score").alias("score"),
        pl.when(gone).then(pl.lit("HTTP 500")).otherwise("problem").alias("problem"),
        (pl.col("ok") & ~gone).alias("ok"),
    )
    (target,) = write_emolia_bench(snapshot, answer, score(truth, answer, options), folder, options)
    return target


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def strict(path: Path) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    return results


@pytest.mark.slow
@pytest.mark.parametrize(("make", "header", "by"), [(emo, EMO, "task_type"), (dim, DIM, "polarity")])
def test_the_file_set(tmp_path: Path, make: Any, header: str, by: str) -> None:
    snapshot = make(tmp_path / "in")
    folder = bench(snapshot, tmp_path / "out", ScoreOptions(resamples=200))
    assert folder == tmp_path / "out" / "benchmark_outputs" / snapshot.source.format
    files = {path.name for path in folder.iterdir()}
    assert files == {
        "predictions.csv",
        f"metrics_by_{by}.csv",
        "metrics_by_benchmark_bucket.csv",
        "summary.json",
        "report.md",
    }
    assert (folder / "predictions.csv").read_text().splitlines()[0] == header
    rows = read(folder / "predictions.csv")
    assert {row["ok"] for row in rows} == {"True"}
    assert all((float(row["similarity"]) > 0) == (row["pred_present"] == "1") for row in rows)
    answer = strict(folder / "summary.json")
    assert answer["n"] == len(rows)
    held = [row for row in rows if row["benchmark_bucket"] != "tied"]
    assert answer["n_tied"] == len(rows) - len(held)
    right = {"0": [0, 0], "1": [0, 0]}
    for row in held:
        right[row["majority_present"]][0] += row["pred_present"] == row["majority_present"]
        right[row["majority_present"]][1] += 1
    assert answer["balanced_accuracy"] == pytest.approx(sum(a / b for a, b in right.values()) / 2)
    assert answer["band"] == band(answer["balanced_accuracy"])
    sliced = read(folder / f"metrics_by_{by}.csv")
    assert sum(int(row["n"]) for row in sliced) == len(rows)
    assert mentions((folder / "report.md").read_text(), "`majority_present`", "0")


@pytest.mark.slow
def test_failed_rows_stay_and_count(tmp_path: Path) -> None:
    options = ScoreOptions(ceilings=False, resamples=200)
    folder = bench(emo(tmp_path / "in"), tmp_path / "out", options, failed=("f1.mp3",))
    (row,) = [row for row in read(folder / "predictions.csv") if row["file_name"] == "f1.mp3"]
    assert (row["ok"], row["error"], row["similarity"], row["pred_present"]) == ("False", "HTTP 500", "", "")
    answer = strict(folder / "summary.json")
    assert (answer["n"], answer["n_failed"]) == (7, 1)
    assert answer["n_scored"] + answer["n_failed"] + answer["n_tied"] == 7
    assert answer["balanced_accuracy_with_failures"] < answer["balanced_accuracy"]
    assert answer["errors"] == {"HTTP 500": 1}
    assert "HTTP 500: 1" in (folder / "report.md").read_text()


@pytest.mark.slow
def test_published_ties_and_selections(tmp_path: Path) -> None:
    snapshot = emo(tmp_path / "in")
    forced = bench(snapshot, tmp_path / "forced", ScoreOptions(ceilings=False, resamples=200, ties="lowest"))
    assert strict(forced / "summary.json")["n_tied"] == 0
    chosen = ScoreOptions(ceilings=False, resamples=200, selection=ItemSelection(full_coverage=3), threshold=0.5)
    folder = bench(snapshot, tmp_path / "chosen", chosen)
    rows = read(folder / "predictions.csv")
    assert {row["file_name"] for row in rows} == {"f1.mp3", "f2.mp3", "f5.mp3", "f6.mp3"}
    assert all((float(row["similarity"]) > 0.5) == (row["pred_present"] == "1") for row in rows)
    assert strict(folder / "summary.json")["threshold"] == 0.5
    flagged = bench(
        dim(tmp_path / "dim"),
        tmp_path / "flagged",
        ScoreOptions(ceilings=False, resamples=200, selection=ItemSelection(exclude_flagged=True)),
    )
    assert "0" not in {row["n_raters"] for row in read(flagged / "predictions.csv")}
    assert len(read(flagged / "predictions.csv")) == 4


def test_bands() -> None:
    assert [band(x) for x in (0.5, 0.55, 0.65, 0.75, 0.85, 1.0, None)] == [
        "bad",
        "weak",
        "medium",
        "good",
        "excellent",
        "excellent",
        None,
    ]


class Release:
    """A small release in the challenge's files: 6 systems of 5 clips, with an answer file."""

    def __init__(self, folder: Path) -> None:
        draw = np.random.default_rng(8)
        self.folder = folder
        (folder / "sets").mkdir(parents=True)
        (folder / "system_mos").mkdir()
        names = [f"audiomos2025-track1-S{s:03d}_P{p:03d}" for s in range(1, 7) for p in range(1, 6)]
        self.system = np.array([name[-9:-5] for name in names])
        self.truth = np.clip(
            np.round(draw.normal(3, 0.6, (30, 2)) + draw.normal(0, 0.5, (6, 2)).repeat(5, axis=0), 2), 1, 5
        )
        self.said = self.truth + draw.normal(0, 0.5, (30, 2))
        lines = [f"{n}.wav,{a:.2f},{b:.2f}" for n, (a, b) in zip(names, self.truth, strict=True)]
        (folder / "sets" / "dev_mos_list.txt").write_text("\n".join(lines) + "\n")
        self.mos = {f"S{s:03d}": (2.0 + 0.2 * s, 4.0 - 0.3 * s) for s in range(1, 7)}
        (folder / "system_mos" / "system_mos_phase1.csv").write_text(
            "".join(f"{s},{a},{b}\n" for s, (a, b) in self.mos.items())
        )
        answers = [f"{n},{a!r},{b!r}" for n, (a, b) in zip(names, self.said.tolist(), strict=True)]
        self.answer = folder / "answer.txt"
        self.answer.write_text("\n".join(answers) + "\n")

    def figures(self, column: int, given: bool) -> dict[str, float]:
        x, y = self.truth[:, column], self.said[:, column]
        systems = sorted(self.mos)
        message = np.array([y[self.system == s].mean() for s in systems])
        true = np.array([self.mos[s][column] if given else x[self.system == s].mean() for s in systems])
        out: dict[str, float] = {}
        for level, (a, b) in {"U": (x, y), "S": (true, message)}.items():
            out |= {f"{level}_MSE": float(np.mean((a - b) ** 2)), f"{level}_LCC": float(stats.pearsonr(a, b)[0])}
            out |= {f"{level}_SRCC": float(stats.spearmanr(a, b)[0]), f"{level}_KTAU": float(stats.kendalltau(a, b)[0])}
        return out


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True])
def test_musicevals_eight_figures_from_an_answer_file(tmp_path: Path, given: bool) -> None:
    release = Release(tmp_path / "in")
    snapshot = MusicEvalFormat().read(release.folder, {})
    options = ScoreOptions(ceilings=False, resamples=200)
    if given:
        path = release.folder / "system_mos" / "system_mos_phase1.csv"
        options = ScoreOptions(resamples=200, systems=system_scores(path), systems_from=f"the file {path.name}")
    predictor = predictor_from(f"file:{release.answer}")
    answer = run(predictor, cases(snapshot)).table
    assert answer["ok"].all()
    scores = score(snapshot, answer, options)
    result = eight_figures(scores)
    (model,) = result
    for column, question in enumerate(("impression", "alignment")):
        expected = release.figures(column, given)
        assert {name: float(result[model][question][name]) for name in COLUMNS} == pytest.approx(expected)
    assert table(result).columns == ["model", "dimension", *COLUMNS]
    write_musiceval(scores, tmp_path)
    message = strict(tmp_path / "musiceval.json")
    assert message["system_truth"] == ("the file system_mos_phase1.csv" if given else "the scored clips")
    mine = message["models"][model]["impression"]
    assert mine["coverage"]["answered"] == 30
    assert mine["with_failures"]["U_LCC"] == mine["U_LCC"]
    assert (
        (tmp_path / "musiceval.csv")
        .read_text()
        .startswith("model,dimension,U_MSE,U_LCC,U_SRCC,U_KTAU,S_MSE,S_LCC,S_SRCC,S_KTAU")
    )


@pytest.mark.slow
def test_a_study_of_categories_has_no_such_table() -> None:
    snapshot, truth = made.presence(stimuli=12)
    rows = [{"stimulus": s, "question": q, "value": v} for (s, q), v in truth.items()]
    with pytest.raises(InputError, match="MusicEval's table"):
        eight_figures(score(snapshot, made.predictions("m", rows), ScoreOptions(ceilings=False, resamples=200)))


@pytest.mark.slow
def test_the_published_sham_vector_comes_through(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    name = "DE_B00003_S00243_W000006.mp3"
    lines = [
        f"{k},{who},Affection,Affection,affirmative,{name},strongly_present,9,9,2026-04-15 11:00:00"
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    lines += [
        f"{k + 9},{who},Pain,Affection,ultimate,other.mp3,not_present,9,9,2026-04-15 11:00:00"
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    (folder / "annotations.csv").write_text("\n".join([ANNOTATIONS, *lines]) + "\n")
    from heartfelt.datasets.emolia.reader import EmoliaEmo

    target = bench(EmoliaEmo().read(folder, {}), tmp_path / "out", ScoreOptions(ceilings=False, resamples=200))
    row = next(row for row in read(target / "predictions.csv") if row["file_name"] == name)
    assert float(row["similarity"]) == -0.40344649551861933
    assert row["prompt"] == "Speech audio in which the speaker expresses or conveys Affection."
